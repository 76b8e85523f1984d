"""The order of the rows of an epoch, which `cgrun --shuffle` chooses."""


def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
    return z ^ z >> 31


def permutation(rows, seed, epoch):
    """As runtime/base/permutation.h documents it."""
    golden = 0x9e3779b97f4a7c15
    state = mix((seed + (epoch + 1) * golden) % 2**64)
    order = list(range(rows))
    for i in range(rows - 1, 0, -1):
        state = (state + golden) % 2**64
        j = mix(state) * (i + 1) >> 64
        order[i], order[j] = order[j], order[i]
    return order

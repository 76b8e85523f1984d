"""Reverse-mode differentiation of NumPy programs, to compare gradients of graphs with.

A `Value` holds an f64 array and how its gradient goes on to what it was made of. `gradients` walks
all values in the reverse of the order in which they were made. Nothing of it is the compiler's: no
tape of calls, no rule, no order of sums.

`RULES` has the names of the rules. One that is named in `planted` gives wrong gradients, so that a
test can show that it would see that. `rounding` is applied to every value and gradient.
"""
import numpy as np

made = []          # every value, in order
planted = set()    # names of rules that are wrong on purpose
used = set()       # names of rules that a gradient went through
kinks = []         # the least distances from where a rule is not differentiable, of all executions
rounding = np.asarray


class Value:
    def __init__(self, array, parents=(), rule=None, back=None):
        self.array = rounding(np.asarray(array, np.float64))
        self.parents, self.rule, self.back = parents, rule, back
        made.append(self)

    def __getitem__(self, at):
        def back(gy):
            g = np.zeros(self.array.shape)
            g[at] = gy
            return [g]
        return Value(self.array[at], [self], "view", back)

    def __add__(self, other):
        return _apply("add", np.add, self, other, lambda gy, a, b: (gy, gy))

    def __sub__(self, other):
        return _apply("subtract", np.subtract, self, other, lambda gy, a, b: (gy, -gy))

    def __mul__(self, other):
        return _apply("multiply", np.multiply, self, other, lambda gy, a, b: (gy * b, gy * a))

    def __truediv__(self, other):
        return _apply("divide", np.divide, self, other,
                      lambda gy, a, b: (gy / b, -gy * a / (b * b)))

    def __matmul__(self, other): return matmul(self, other)
    __radd__, __rmul__ = __add__, __mul__


def value(x):
    return x if isinstance(x, Value) else Value(x)


def _unbroadcast(g, shape):
    g = g.sum(tuple(range(g.ndim - len(shape))))
    for axis, size in enumerate(shape):
        if size == 1 and g.shape[axis] != 1:
            g = g.sum(axis, keepdims=True)
    return g


def _apply(rule, forward, a, b, back):
    a, b = value(a), value(b)

    def both(gy):
        ga, gb = back(gy, a.array, b.array)
        return [_unbroadcast(ga, a.array.shape), _unbroadcast(gb, b.array.shape)]
    return Value(forward(a.array, b.array), [a, b], rule, both)


def _unary(rule, x, y, back):
    return Value(y, [x], rule, lambda gy: [back(gy)])


def matmul(a, b, transpose_a=False, transpose_b=False):
    left = a.array.swapaxes(-1, -2) if transpose_a else a.array
    right = b.array.swapaxes(-1, -2) if transpose_b else b.array

    def back(gy):
        ga, gb = gy @ right.swapaxes(-1, -2), left.swapaxes(-1, -2) @ gy
        return [_unbroadcast(ga.swapaxes(-1, -2) if transpose_a else ga, a.array.shape),
                _unbroadcast(gb.swapaxes(-1, -2) if transpose_b else gb, b.array.shape)]
    return Value(left @ right, [a, b], "matmul", back)


def _kink(distances):
    distances = np.abs(distances[distances != 0])
    if distances.size:
        kinks.append(distances.min())


def relu(x):
    _kink(x.array)
    return _unary("relu", x, np.maximum(x.array, 0), lambda gy: gy * (x.array > 0))


def choose(x, limit, a, b):
    """`where(x > limit, a, b)`."""
    _kink(x.array - limit)
    first = x.array > limit
    return _apply("where", lambda a, b: np.where(first, a, b), a, b,
                  lambda gy, a, b: (gy * first, gy * ~first))


def square(x): return _unary("square", x, x.array ** 2, lambda gy: 2 * gy * x.array)
def copy(x): return _unary("copy", x, x.array, lambda gy: gy)
def stop(x): return Value(x.array)
def transpose(x): return _unary("transpose", x, x.array.T, lambda gy: gy.T)


def reshape(x, shape):
    return _unary("reshape", x, x.array.reshape(shape), lambda gy: gy.reshape(x.array.shape))


def permute(x, order):
    back = np.argsort(order)
    return _unary("permute", x, x.array.transpose(order), lambda gy: gy.transpose(back))


def tanh(x):
    y = rounding(np.tanh(x.array))  # the gradient is by the result, as it is kept
    return _unary("tanh", x, y, lambda gy: gy * (1 - y * y))


def exp(x):
    y = rounding(np.exp(x.array))
    return _unary("exp", x, y, lambda gy: gy * y)


def softmax(x):
    e = np.exp(x.array - x.array.max(-1, keepdims=True))
    y = rounding(e / e.sum(-1, keepdims=True))
    return _unary("softmax", x, y, lambda gy: y * (gy - (gy * y).sum(-1, keepdims=True)))


def layer_norm(x, epsilon):
    centered = x.array - x.array.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centered ** 2).mean(-1, keepdims=True) + epsilon)
    y = centered * scale
    return _unary("layer_norm", x, y, lambda gy: scale * (
        gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True)))


def cross_entropy(x, label):
    e = np.exp(x.array - x.array.max(-1, keepdims=True))
    p, hot = e / e.sum(-1, keepdims=True), np.eye(x.array.shape[-1])[label]
    return _unary("cross_entropy", x, -np.log((p * hot).sum(-1)), lambda gy: gy[..., None] *
                  (p - hot))


def total(x, axis=None):
    back = lambda gy: np.broadcast_to(gy if axis is None else np.expand_dims(gy, axis),
                                      x.array.shape)
    return _unary("sum", x, x.array.sum(axis), back)


def mean(x):
    return _unary("mean", x, x.array.mean(), lambda gy: np.full(x.array.shape,
                                                                gy / x.array.size))


def stack(xs):
    return Value(np.stack([x.array for x in xs]), xs, "stack", list)


def concat(xs):
    ends = np.cumsum([len(x.array) for x in xs])[:-1]
    return Value(np.concatenate([x.array for x in xs]), xs, "concat",
                 lambda gy: np.split(gy, ends))


def gradients(loss, wanted):
    """The gradients of `loss`, a scalar, with respect to each of the values `wanted`."""
    found = {id(loss): np.ones(())}
    for made_value in reversed(made):
        gy = found.get(id(made_value))
        if gy is None or not made_value.parents:
            continue
        used.add(made_value.rule)
        for parent, g in zip(made_value.parents, made_value.back(gy)):
            if made_value.rule in planted:
                g = g * 1.25
            found[id(parent)] = rounding(found.get(id(parent), 0) + g)
    return [np.asarray(found.get(id(w), np.zeros(w.array.shape))) for w in wanted]


def reset():
    """Forgets all values, and which rules were used."""
    made.clear()
    used.clear()

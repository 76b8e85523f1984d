#!/usr/bin/python3
"""Trains the 64-32-10 network of digits.cgraph with NumPy and writes digits.safetensors.

Plain stochastic gradient descent with momentum, weight decay and a falling rate on the
cross-entropy of softmax; a training image is shifted by up to one pixel now and then, since there
are only 1,437. Deterministic for one version of NumPy and its BLAS; the result is committed.
"""
import numpy as np

from model import LAST_WRITERS, WEIGHTS, hidden, load_data, save_safetensors, scores

SEED, EPOCHS, BATCH, RATE, MOMENTUM, DECAY = 1, 200, 32, 0.1, 0.9, 1e-3


def initial(random):
    def dense(inputs, outputs):
        return (random.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs)).astype(np.float32)
    return {"fc1.weight": dense(64, 32), "fc1.bias": np.zeros(32, np.float32),
            "fc2.weight": dense(32, 10), "fc2.bias": np.zeros(10, np.float32)}


def shifted(random, x):
    """Every image moved by -1, 0 or 1 pixels each way, half of the time."""
    padded = np.pad(x.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    move = random.integers(-1, 2, (len(x), 2)) * (random.random((len(x), 1)) < 0.5)
    rows = np.arange(8)[None, :] + 1 + move[:, :1]
    columns = np.arange(8)[None, :] + 1 + move[:, 1:]
    return padded[np.arange(len(x))[:, None, None], rows[:, :, None],
                  columns[:, None, :]].reshape(-1, 64)


def gradients(weights, x, y):
    z = hidden(weights, x)
    h = np.maximum(z, 0)
    s = h @ weights["fc2.weight"] + weights["fc2.bias"]
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    g = p / np.float32(len(y))
    gz = (g @ weights["fc2.weight"].T) * (z > 0)
    return {"fc1.weight": x.T @ gz, "fc1.bias": gz.sum(axis=0),
            "fc2.weight": h.T @ g, "fc2.bias": g.sum(axis=0)}


def train(images, labels):
    random = np.random.default_rng(SEED)
    weights = initial(random)
    speed = {name: np.zeros_like(w) for name, w in weights.items()}
    for epoch in range(EPOCHS):
        rate = np.float32(RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS)))
        order = random.permutation(len(labels))
        for first in range(0, len(order), BATCH):
            batch = order[first:first + BATCH]
            gradient = gradients(weights, shifted(random, images[batch]), labels[batch])
            for name in weights:
                decay = np.float32(DECAY) * weights[name] if name.endswith("weight") else 0
                speed[name] = np.float32(MOMENTUM) * speed[name] - rate * (gradient[name] + decay)
                weights[name] = weights[name] + speed[name]
    return weights


def accuracy(weights, images, labels):
    return (scores(weights, images).argmax(axis=1) == labels).mean()


def main():
    images, labels, test, training = load_data()
    weights = train(images[training], labels[training])
    save_safetensors(WEIGHTS, weights)
    print(f"training images {accuracy(weights, images[training], labels[training]):.2%}, "
          f"test images {accuracy(weights, images[test], labels[test]):.2%}")
    # The test images are by the same writers as the others. How it does on new writers takes a
    # network that has not seen them, which is not kept.
    old, new = slice(None, -LAST_WRITERS), slice(-LAST_WRITERS, None)
    other = train(images[old], labels[old])
    print(f"trained without the writers of the last {LAST_WRITERS} images, on those: "
          f"{accuracy(other, images[new], labels[new]):.2%}")


if __name__ == "__main__":
    main()

"""The digits of examples/digits, as the trainings here take them."""
import pathlib

import numpy as np

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def batches(rows, steps):
    """f32[steps * rows, 64] and i64[steps * rows]: the first images that are for training."""
    images, labels = np.load(DIGITS / "images.npy"), np.load(DIGITS / "labels.npy")
    chosen = np.setdiff1d(np.arange(len(labels)), np.load(DIGITS / "test_indices.npy"))
    chosen = chosen[:steps * rows]
    assert len(chosen) == steps * rows
    return images[chosen], labels[chosen]


def pairs(test=False):
    """f32[10 * n, 64] and i64[10 * n, 5]: an image of each digit and its name in letters, n times."""
    images, labels = np.load(DIGITS / "images.npy"), np.load(DIGITS / "labels.npy")
    kept = np.load(DIGITS / "test_indices.npy")
    if not test:
        kept = np.setdiff1d(np.arange(len(labels)), kept)
    of_digit = [kept[labels[kept] == digit] for digit in range(10)]
    n = min(len(each) for each in of_digit)
    chosen = np.stack([each[:n] for each in of_digit], axis=1).reshape(-1)
    letters = [[ord(c) - ord("a") + 1 for c in name] + [0] * (5 - len(name)) for name in NAMES]
    return images[chosen], np.array(letters, np.int64)[labels[chosen]]

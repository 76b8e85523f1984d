"""The digits of examples/digits, and a text, as the trainings here take them."""
import json
import pathlib

import numpy as np

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def batches(rows, steps, group=None):
    """The first images that are for training, f32[steps * rows, 64] and i64[steps * rows], or in
    groups, f32[n, group, 64] and i64[n, group]."""
    images, labels = np.load(DIGITS / "images.npy"), np.load(DIGITS / "labels.npy")
    chosen = np.setdiff1d(np.arange(len(labels)), np.load(DIGITS / "test_indices.npy"))
    chosen = chosen[:steps * rows]
    assert len(chosen) == steps * rows
    if group:
        chosen = chosen.reshape(-1, group)
    return images[chosen], labels[chosen]


def pairs(test=False):
    """An image of each digit and its name in letters, n times: f32[10 * n, 64], i64[10 * n, 5]."""
    images, labels = np.load(DIGITS / "images.npy"), np.load(DIGITS / "labels.npy")
    kept = np.load(DIGITS / "test_indices.npy")
    if not test:
        kept = np.setdiff1d(np.arange(len(labels)), kept)
    of_digit = [kept[labels[kept] == digit] for digit in range(10)]
    n = min(len(each) for each in of_digit)
    chosen = np.stack([each[:n] for each in of_digit], axis=1).reshape(-1)
    letters = [[ord(c) - ord("a") + 1 for c in name] + [0] * (5 - len(name)) for name in NAMES]
    return images[chosen], np.array(letters, np.int64)[labels[chosen]]


def texts(steps, rows, tokens):
    """Pieces of the text of the GPL, of which every Debian has a copy, and the characters that come
    next: i64[steps * rows, tokens] each."""
    text = np.frombuffer(pathlib.Path("/usr/share/common-licenses/GPL-3").read_bytes(), np.uint8)
    starts = np.random.default_rng(1).integers(0, len(text) - tokens - 1, steps * rows)
    pieces = np.stack([text[start:start + tokens + 1] for start in starts]).astype(np.int64) % 128
    return np.ascontiguousarray(pieces[:, :-1]), np.ascontiguousarray(pieces[:, 1:])


def read_state(path):
    """The f32 tensors of a .safetensors file, as arrays by their names."""
    content = pathlib.Path(path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8:8 + length]).items():
        if entry.get("dtype") == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(content[begin:end], np.float32).reshape(entry["shape"])
    return tensors


def load(module, weights, prefix, part=0, parts=1):
    """Gives a module of PyTorch's the weights whose names begin so, or one of some equal parts."""
    module.load_state_dict({name: weights[prefix + name].chunk(parts)[part]
                            for name in module.state_dict()})

#!/usr/bin/python3
"""Writes the handwritten digits that scikit-learn ships as .npy files beside this script.

images.npy        f32[1797, 64]: 8 x 8 images, row by row, 0 (white) to 1 (black)
labels.npy        i64[1797]
test_indices.npy  i64[360]: a shuffled fifth, sorted, that train.py does not look at

Needs scikit-learn (`pip install scikit-learn`); the results are committed, so nobody else does.
"""
import pathlib

import numpy as np
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20240229

digits = load_digits()
images = (digits.data / 16.0).astype(np.float32)
labels = digits.target.astype(np.int64)
shuffled = np.random.RandomState(SEED).permutation(len(labels))
test = np.sort(shuffled[:-(-len(labels) // 5)]).astype(np.int64)

np.save(HERE / "images.npy", images)
np.save(HERE / "labels.npy", labels)
np.save(HERE / "test_indices.npy", test)
print(f"images {images.shape}, labels {labels.shape}, test indices {test.shape}")

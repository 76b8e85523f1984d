#!/usr/bin/python3
"""Writes the digits for training as .npy files into the current folder: train_x and train_y, 1,408
images in steps of 64, and test_x and test_y, those that no training sees."""
import numpy as np

from model import load_data

STEPS, BATCH = 22, 64


def main():
    images, labels, test, training = load_data()
    training = training[:STEPS * BATCH]
    for name, chosen in [("train", training), ("test", test)]:
        np.save(f"{name}_x.npy", images[chosen])
        np.save(f"{name}_y.npy", labels[chosen])


if __name__ == "__main__":
    main()

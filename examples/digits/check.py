#!/usr/bin/python3
"""Compares what the pipeline found with NumPy and with the truth; the exit code says whether it
holds.

    check.py --scores scores.npy --labels labels.npy [--weights trained.safetensors --gelu]

Required: scores that differ from NumPy's by at most 1e-5 of the largest score, every label equal to
NumPy's, and at least 98 % right of the test images, which the training never saw.
"""
import argparse
import sys

import numpy as np

from model import WEIGHTS, gelu, load_data, load_safetensors, relu, scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scores", required=True, help=".npy of f32[n, 10]")
    parser.add_argument("--labels", required=True, help=".npy of i64[n]")
    parser.add_argument("--weights", default=WEIGHTS, help="a .safetensors with fc1 and fc2")
    parser.add_argument("--gelu", action="store_true", help="between the layers, instead of relu")
    arguments = parser.parse_args()
    found_scores, found_labels = np.load(arguments.scores), np.load(arguments.labels)

    images, labels, test, _ = load_data()
    # In f64, so that only the rounding of what was run is measured.
    trained = load_safetensors(arguments.weights)
    weights = {name: w.astype(np.float64) for name, w in trained.items()}
    expected = scores(weights, images.astype(np.float64), gelu if arguments.gelu else relu)
    if found_scores.shape != expected.shape or found_labels.shape != labels.shape:
        print(f"wrong shapes: scores {found_scores.shape}, labels {found_labels.shape}; expected "
              f"{expected.shape} and {labels.shape}")
        return 1
    right = found_labels == labels
    difference = np.abs(found_scores - expected).max() / np.abs(expected).max()
    unequal = int((found_labels != expected.argmax(axis=1)).sum())
    checks = [
        (difference <= 1e-5,
         f"scores differ from NumPy's by at most {difference:.1e} of the largest"),
        (unequal == 0, f"{unequal} of {len(labels)} labels differ from NumPy's"),
        (right[test].mean() >= 0.98, f"{right[test].mean():.2%} right of the {len(test)} test "
         f"images"),
    ]
    for holds, text in checks:
        print(f"{'ok  ' if holds else 'FAIL'} {text}")
    print(f"     {right.mean():.2%} right of all {len(labels)}, most of which the training saw")
    return 0 if all(holds for holds, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())

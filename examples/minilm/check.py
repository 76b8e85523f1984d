#!/usr/bin/python3
"""Encodes sentences of many lengths by compiled plans, and compares with NumPy and, where it is
installed, with PyTorch; the exit code says whether all vectors are equal within 1e-5.

    check.py [--build build/release] [--weights build/minilm]

To compare with PyTorch, run it by build/torch-venv/bin/python, which scripts/setup --torch makes.
"""
import argparse
import importlib.util
import pathlib
import sys

import numpy as np

from encoder import ROOT, Encoder, expect_files, pad
from reference import NumPyEncoder, TorchEncoder

sys.path.append(str(ROOT / "examples"))
from checkpoints import read_safetensors  # noqa: E402

TOLERANCE = 1e-5
SENTENCES = [
    "", "Graphs!", "A cat sits on the mat.", "Eine Katze sitzt auf der Matte.",
    "The quick brown fox jumps over the lazy dog.", "Où est la bibliothèque? Là-bas, à côté.",
    "In 1843 Ada Lovelace published notes on Charles Babbage's Analytical Engine.",
    "日本語の文 and emoji 🙂 and a word that nobody knows: floccinaucinihilipilification",
    "We the People of the United States, in Order to form a more perfect Union, establish Justice, "
    "insure domestic Tranquility, provide for the common defence, promote the general Welfare, and "
    "secure the Blessings of Liberty to ourselves and our Posterity, do ordain and establish this "
    "Constitution for the United States of America.",
]
# T and P: on one device, divided one way, the other way, and both ways.
DIVISIONS = [(1, 1), (2, 1), (1, 3), (2, 2), (4, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--weights", type=pathlib.Path, default=ROOT / "build" / "minilm")
    options = parser.parse_args()
    expect_files(options.weights)
    weights = read_safetensors(options.weights / "model.safetensors")
    references = {"NumPy": NumPyEncoder(weights)}
    if importlib.util.find_spec("torch"):
        references["PyTorch"] = TorchEncoder(weights)
    else:
        print("SKIPPED: the comparison with PyTorch, which this Python does not have "
              "(scripts/setup --torch)")
    encoder = Encoder(options.weights, options.build)
    tokens, mask = pad([encoder.tokenizer(text) for text in SENTENCES], 128)
    expected = {name: each.encode(tokens, mask) for name, each in references.items()}
    wrong = 0
    for shards, stages in DIVISIONS:
        got = Encoder(options.weights, options.build, shards, stages).encode(SENTENCES)
        for name, vectors in expected.items():
            off = np.abs(got - vectors).max()
            holds = got.shape == vectors.shape and off <= TOLERANCE
            wrong += not holds
            print(f"{'ok  ' if holds else 'FAIL'} {shards} x {stages} devices: {len(got)} vectors, "
                  f"{off:.1e} from {name}'s at most")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

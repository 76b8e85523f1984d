"""Texts to vectors: tokens in Python, all else by a compiled plan.

Sentences are sorted by length and padded to one of a few lengths, each with a plan of its own,
since shapes are static; a micro-batch has about as many tokens whatever the length is.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from tokenizer import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LENGTHS = (16, 32, 64, 128, 256)
TOKENS = 1024  # of a micro-batch, at most


def expect_files(folder):
    """Ends the program with a sentence where the model or its vocabulary is not there."""
    for name in ("model.safetensors", "vocab.txt"):
        if not (folder / name).exists():
            sys.exit(f"there is no {folder / name}: examples/minilm/fetch.py fetches it (84 MB)")


class Encoder:
    def __init__(self, weights, build=ROOT / "build" / "release", shards=2, stages=2,
                 micro_batches=4, defines=(), run_flags=()):
        """`weights`: the folder with the model and its vocabulary; `build`: that with cgc and
        cgrun. `defines`: further consts of the program."""
        self.weights, self.build = pathlib.Path(weights), pathlib.Path(build)
        self.micro_batches = micro_batches
        self.defines = {"T": shards, "P": stages, "M": micro_batches, **dict(defines)}
        self.run_flags = run_flags
        self.tokenizer = Tokenizer(self.weights / "vocab.txt")

    def encode(self, texts):
        """Returns a vector of length 1 for each text: f32[n, 384]."""
        tokens = [self.tokenizer(text, LENGTHS[-1]) for text in texts]
        vectors, shorter = [None] * len(texts), 0
        with tempfile.TemporaryDirectory() as folder:
            for length in LENGTHS:
                rows = [i for i, t in enumerate(tokens) if shorter < len(t) <= length]
                shorter = length
                if rows:
                    found = self.encode_rows([tokens[i] for i in rows], length,
                                             pathlib.Path(folder))
                    for i, vector in zip(rows, found):
                        vectors[i] = vector
        return np.stack(vectors)

    def encode_rows(self, tokens, length, folder):
        """Encodes rows of at most `length` tokens."""
        batch = min(TOKENS // length, -(-len(tokens) // self.micro_batches))
        rows = -(-len(tokens) // (batch * self.micro_batches)) * batch * self.micro_batches
        padded, mask = pad(tokens + [self.tokenizer("")] * (rows - len(tokens)), length)
        shape = (-1, batch, length)  # micro-batches
        plan = folder / f"{length}.cgplan"
        self.compile(plan, B=batch, S=length)
        vectors = self.run(plan, padded.reshape(shape), mask.reshape(shape), folder)
        return vectors.reshape(rows, -1)[:len(tokens)]

    def compile(self, plan, **sizes):
        defines = [word for name, value in {**self.defines, **sizes}.items()
                   for word in ("-D", f"{name}={value}")]
        call([self.build / "cgc", "compile", "-q", HERE / "minilm.cgraph", *defines, "-o", plan])

    def run(self, plan, tokens, mask, folder):
        """Runs a plan over all micro-batches, as many at a time as it takes."""
        np.save(folder / "tokens.npy", tokens)
        np.save(folder / "mask.npy", mask)
        words = [word for name in ("tokens", "mask")
                 for word in ("--input", f"{name}={folder / name}.npy", "--batch", name)]
        call([self.build / "cgrun", "-q", plan, "--weights", self.weights, *words, "--output",
              f"result={folder / 'vectors.npy'}", *self.run_flags])
        return np.load(folder / "vectors.npy")


def pad(tokens, length):
    """Rows of tokens as i64[n, length], padded with 0, and f32[n, length]: 1 where a token is."""
    padded = np.zeros((len(tokens), length), np.int64)
    for row, found in zip(padded, tokens):
        row[:len(found)] = found
    lengths = np.array([len(found) for found in tokens])
    return padded, (np.arange(length) < lengths[:, None]).astype(np.float32)


def call(command):
    done = subprocess.run([str(word) for word in command], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0].name} ends with {done.returncode}: {done.stderr}")

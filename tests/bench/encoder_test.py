#!/usr/bin/python3
"""bench/gpu/encoder.cgraph, which is measured on GPUs, computes an encoder: small, on CPU threads,
against NumPy with the same weights.

  encoder_test.py --cgc cgc --cgrun cgrun
"""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reference"))
from normal import normal  # noqa: E402

BATCH, N, LAYERS, H, E = 2, 5, 3, 4, 8
D, F = H * E, 4 * H * E


def layer_norm(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x):
    return x.reshape(BATCH, N, H, E).transpose(0, 2, 1, 3)


def forward(x, seed):
    def weights(i, *shape):
        return normal(seed + i, shape).astype(np.float64) * 0.05

    q, k, v = (heads(part) for part in
               np.split(x @ weights(0, D, 3 * D) + weights(1, 3 * D), 3, axis=2))
    # The program's scale is that of 32 numbers a head, as in MiniLM.
    seen = softmax(q @ k.transpose(0, 1, 3, 2) * 0.17677670) @ v
    seen = seen.transpose(0, 2, 1, 3).reshape(BATCH, N, D)
    gain, bias = normal(seed + 8, (2, D)) * 0.1 + 1, normal(seed + 9, (2, D)) * 0.1
    h = layer_norm(x + seen @ weights(2, D, D) + weights(3, D), gain[0], bias[0])
    inner = gelu(h @ weights(4, D, F) + weights(5, F))
    return layer_norm(h + inner @ weights(6, F, D) + weights(7, D), gain[1], bias[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--cgrun", required=True)
    options = parser.parse_args()
    x = np.random.default_rng(3).standard_normal((BATCH, N, D)).astype(np.float32)
    expected = x.astype(np.float64)
    for layer in range(LAYERS):
        expected = forward(expected, 100 * layer)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "x.npy", x)
        defines = [word for key, value in {"BATCH": BATCH, "N": N, "LAYERS": LAYERS, "H": H,
                                           "E": E}.items() for word in ("-D", f"{key}={value}")]
        subprocess.run([options.cgc, "compile", "-q", ROOT / "bench/gpu/encoder.cgraph", "-o",
                        folder / "p.cgplan", *defines], check=True)
        subprocess.run([options.cgrun, folder / "p.cgplan", "-q", "--device-map", "gpu[0]=cpu:0",
                        "--input", f"x={folder / 'x.npy'}", "--output",
                        f"result={folder / 'y.npy'}"], check=True)
        got = np.load(folder / "y.npy")
    off = np.abs(got - expected).max()
    print(f"{got.size} numbers, {off:.2g} off at most")
    assert got.shape == expected.shape and off < 1e-5, off
    assert np.abs(expected - x).max() > 0.1  # it does something


if __name__ == "__main__":
    main()

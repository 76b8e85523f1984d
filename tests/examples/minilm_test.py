#!/usr/bin/python3
"""examples/minilm: its tokenizer; a small encoder of the same kind with random weights, divided
over devices in several ways, against NumPy; and, where examples/minilm/fetch.py has put the real
weights into build/minilm, what examples/minilm/check.py says of them.

  minilm_test.py --build build/release
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "minilm"
sys.path[:0] = [str(EXAMPLE), str(EXAMPLE.parent), str(ROOT / "tests" / "support")]
import expectations  # noqa: E402
import fetch  # noqa: E402
from checkpoints import read_safetensors, write_safetensors  # noqa: E402
from encoder import Encoder, pad  # noqa: E402
from expectations import expect  # noqa: E402
from reference import NumPyEncoder  # noqa: E402
from tokenizer import Tokenizer, words  # noqa: E402

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "graph", "##s", "##ical", "draw", "##ing", ",",
          "naive", "$", "5", "日", "本"]
LAYERS, HEADS, WIDTH, INNER, WORDS, POSITIONS = 2, 4, 32, 128, 100, 64
SIZES = {"LAYERS": LAYERS, "HEADS": HEADS, "E": WIDTH // HEADS, "WORDS": WORDS,
         "POSITIONS": POSITIONS}
TEXTS = ["graphs", "a graph, drawing", "", "graphical drawings " * 9, "a " * 29 + "graph"]


def tokens_of_sentences(folder):
    tokenizer = Tokenizer(folder / "vocab.txt")
    for text, expected in [
            ("Graphs", "[CLS] graph ##s [SEP]"), ("", "[CLS] [SEP]"),
            ("a  graphical\tDRAWING", "[CLS] a graph ##ical draw ##ing [SEP]"),
            ("a,graph", "[CLS] a , graph [SEP]"), ("naïve nai\u0308ve", "[CLS] naive naive [SEP]"),
            ("$5", "[CLS] $ 5 [SEP]"), ("日本", "[CLS] 日 本 [SEP]"),
            ("a graphz 55", "[CLS] a [UNK] [UNK] [SEP]"), ("a\0\u200b\ufffd", "[CLS] a [SEP]")]:
        got = tokenizer(text)
        expect(got == [PIECES.index(piece) for piece in expected.split()],
               f"the tokens of {text!r} are {got}, not {expected}")
    expect(tokenizer("a " * 50, longest=9) == [2] + [4] * 7 + [3], "not cut to 9 tokens")
    expect(words("don't—stop") == ["don", "'", "t", "—", "stop"], "the words of don't—stop")
    expect(tokenizer("a" * 101) == [2, 1, 3], "a word of 101 letters is not unknown")


def save_random_weights(path):
    random, tensors = np.random.default_rng(7), {}

    def add(name, *shape):
        tensors[name] = (random.standard_normal(shape) * 0.2).astype(np.float32)

    def add_linear(name, outputs, inputs):
        add(f"{name}.weight", outputs, inputs)
        add(f"{name}.bias", outputs)

    def add_norm(name):
        add(f"{name}.weight", WIDTH)
        tensors[f"{name}.weight"] += 1
        add(f"{name}.bias", WIDTH)

    for name, rows in (("word", WORDS), ("position", POSITIONS), ("token_type", 2)):
        add(f"embeddings.{name}_embeddings.weight", rows, WIDTH)
    add_norm("embeddings.LayerNorm")
    for layer in (f"encoder.layer.{i}" for i in range(LAYERS)):
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            add_linear(f"{layer}.attention.{name}", WIDTH, WIDTH)
        add_norm(f"{layer}.attention.output.LayerNorm")
        add_linear(f"{layer}.intermediate.dense", INNER, WIDTH)
        add_linear(f"{layer}.output.dense", WIDTH, INNER)
        add_norm(f"{layer}.output.LayerNorm")
    write_safetensors(path, tensors)


def small_encoder(build, folder):
    save_random_weights(folder / "model.safetensors")
    reference = NumPyEncoder(read_safetensors(folder / "model.safetensors"), HEADS)
    tokenizer = Tokenizer(folder / "vocab.txt")
    expected = reference.encode(*pad([tokenizer(text) for text in TEXTS], POSITIONS))
    apart = np.abs(expected - expected[0]).max(1)[1:].min()
    expect(apart > 0.05, f"texts are encoded alike, {apart} apart")
    for shards, stages, micro_batches, flags in [
            (1, 1, 1, []), (2, 1, 2, []), (1, 2, 3, []), (4, 2, 1, ["--workers", "1"]),
            (2, 2, 4, []), (2, 2, 4, ["--processes", "device"])]:
        encoder = Encoder(folder, build, shards, stages, micro_batches, SIZES, flags)
        got = encoder.encode(TEXTS)
        off = np.abs(got - expected).max()
        expect(got.shape == expected.shape and off < 1e-5,
               f"T={shards} P={stages} M={micro_batches} {flags}: {off} off")


def real_encoder(build):
    if not fetch.is_there(fetch.FOLDER):
        print("SKIPPED: the real weights: examples/minilm/fetch.py has not fetched them")
        return
    torch = ROOT / "build" / "torch-venv" / "bin" / "python"
    done = subprocess.run([torch if torch.exists() else sys.executable, EXAMPLE / "check.py",
                           "--build", build], capture_output=True, text=True)
    print(done.stdout, end="")
    expect(done.returncode == 0, "examples/minilm/check.py fails", done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
        tokens_of_sentences(folder)
        small_encoder(build, folder)
    real_encoder(build)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Finds the programs of Debian that do what a sentence says: the nearest of thousands of
descriptions, each of which all-MiniLM-L6-v2 has made a vector of.

    search.py [--texts FILE] [SENTENCE ...]

The descriptions are those of programs in `apt-cache dumpavail`, or the lines of a file. Their
vectors are kept beside the weights until the descriptions change.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

from encoder import ROOT, Encoder, expect_files

QUESTIONS = ["draw a diagram of nodes and edges", "cut a video into pieces", "look at the stars",
             "write music as notes on paper", "which process eats all my memory?",
             "keep files on two computers the same", "read text out of a scanned page",
             "learn to type faster"]


def descriptions():
    """The programs that Debian's tags say a use of: lines as `graphviz: rich set of graph drawing
    tools`."""
    done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True)
    found = {}
    for record in done.stdout.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)", record, re.M))
        tags = fields.get("Tag", "")
        if "role::program" in tags and "use::" in tags and "role::dummy" not in tags:
            found[fields["Package"]] = fields["Description"].split("\n")[0]
    if not found:
        sys.exit("apt-cache knows no packages: `apt-get update` fetches their descriptions; or "
                 "give --texts FILE")
    return [f"{name}: {text}" for name, text in sorted(found.items())]


def vectors_of(texts, folder, encoder):
    """The vectors of the texts, from a file if it was made of the same ones."""
    kept, path = folder / "texts.txt", folder / "vectors.npy"
    content = "\n".join(texts)
    if path.exists() and kept.exists() and kept.read_text() == content:
        return np.load(path)
    start = time.monotonic()
    vectors = encoder.encode(texts)
    seconds = time.monotonic() - start
    print(f"{len(texts)} descriptions encoded in {seconds:.0f} s, {len(texts) / seconds:.0f} in a "
          "second", flush=True)
    np.save(path, vectors)
    kept.write_text(content)
    return vectors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE")
    parser.add_argument("--weights", type=pathlib.Path, default=ROOT / "build" / "minilm")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--texts", type=pathlib.Path, help="a file with a text in each line")
    parser.add_argument("--best", type=int, default=3)
    options = parser.parse_args()
    texts = options.texts.read_text().splitlines() if options.texts else descriptions()
    expect_files(options.weights)
    encoder = Encoder(options.weights, options.build)
    vectors = vectors_of(texts, options.weights, encoder)
    sentences = options.sentences or QUESTIONS
    for sentence, likeness in zip(sentences, encoder.encode(sentences) @ vectors.T):
        print(f"\n{sentence}")
        for i in np.argsort(-likeness)[:options.best]:
            print(f"  {likeness[i]:.2f}  {texts[i]}")


if __name__ == "__main__":
    main()

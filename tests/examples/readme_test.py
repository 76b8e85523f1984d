#!/usr/bin/python3
"""The commands that the READMEs of the examples give: each block of `sh` runs as it stands, in a
copy of the examples beside the scripts and the build of this folder.

  readme_test.py --torch build/torch-venv/bin/python3

Skipped without PyTorch, which they need. What installs something is not run, nor what needs weights
that have not been fetched.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Weights without which the blocks of an example's README are not run.
WEIGHTS = {"smollm2": "build/smollm2/q4_1/model.safetensors"}
INSTALLS = re.compile(r"^(scripts/setup|pip install)\b.*$", re.MULTILINE)


def run(readme, folder):
    """Runs the blocks of a README in a copy; returns how many there were, and failures."""
    failures = []
    blocks = [INSTALLS.sub("", block) for block in BLOCK.findall(readme.read_text())]
    for block in blocks:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, text=True,
                              capture_output=True, timeout=240, check=False)
        if done.returncode != 0:
            failures.append(f"{readme.relative_to(ROOT)}: exit code {done.returncode}\n{block}"
                            f"{done.stdout}{done.stderr}")
    return len(blocks), failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--torch", required=True, help="a Python that has PyTorch")
    options = parser.parse_args()
    if not os.path.exists(options.torch):
        print(f"SKIPPED: the commands of the examples' READMEs: there is no {options.torch}; "
              "scripts/setup --torch installs PyTorch")
        return SKIPPED
    count, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", f"{folder}/examples")
        for name in ("build", "scripts"):
            os.symlink(ROOT / name, f"{folder}/{name}")
        for readme in sorted((ROOT / "examples").glob("*/README.md")):
            weights = WEIGHTS.get(readme.parent.name)
            if weights and not (ROOT / weights).exists():
                print(f"SKIPPED: {readme.relative_to(ROOT)}: there is no {weights}")
                continue
            blocks, failed = run(readme, folder)
            count += blocks
            failures += failed
    print("\n".join(failures + [f"{count} blocks of commands, {len(failures)} failed"]))
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""examples/training/check.py, in this Python and in one that has PyTorch, where there is one; how
many digits clip.cgraph names rightly; and what the schedule fsdp does by the simulator: a gather
ahead of its block hides behind another block, for the memory of the weights of one block more.

  training_examples_test.py --cgc build/release/cgc --cgrun build/release/cgrun
                            [--torch build/torch-venv/bin/python3]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "training"
sys.path[:0] = [str(FOLDER), str(ROOT / "tests" / "support")]
import data  # noqa: E402
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

# Blocks whose gathers take a third of the time that their products do.
LARGE = {"D": 4, "BLOCKS": 8, "B": 4096, "E": 1024, "F": 4096}
BLOCK = 2 * LARGE["E"] * LARGE["F"] * 4  # bytes of its weights


def checked(python, cgrun, steps, torch):
    """Runs check.py and looks at what it says."""
    done = subprocess.run([python, FOLDER / "check.py", "--cgrun", cgrun, "--steps", str(steps)],
                          capture_output=True, text=True, timeout=500,
                          env=os.environ | {"OMP_NUM_THREADS": "1"})
    expect(done.returncode == 0, f"check.py fails: {done.stdout}{done.stderr}")
    count, wrong = map(int, re.search(r"training: (\d+) checks, (\d+) wrong", done.stdout).groups())
    expect(count >= 18 and wrong == 0, done.stdout)
    expect(("without PyTorch" in done.stdout) != torch, f"with PyTorch: {torch}: {done.stdout}")


def notices_a_fault(cgrun, folder):
    """check.py fails where a copy of an example computes something else on several devices."""
    for path in FOLDER.iterdir():
        if path.is_file():
            text = path.read_text().replace('/ "digits"', f'/ "{ROOT}/examples/digits"')
            (folder / path.name).write_text(text.replace("loss + 0.1 * balance, of",
                                                         "loss + 0.1 * D * balance, of"))
    done = subprocess.run([sys.executable, folder / "check.py", "moe", "--cgrun", cgrun],
                          capture_output=True, text=True, timeout=300)
    expect(done.returncode == 1 and "D=2, and one device: WRONG" in done.stdout,
           f"a fault is not noticed: {done.stdout}{done.stderr}")


def names_digits(cgrun, folder):
    """Trained on pairs, clip.cgraph finds the names of images that it has not seen."""
    def call(*words):
        done = subprocess.run([cgrun, "-q", FOLDER / "clip.cgraph", "--graph", *words],
                              capture_output=True, text=True, timeout=300)
        expect(done.returncode == 0, done.stderr)

    def inputs(test):
        words = ["--output", f"result={folder}/result.npy"]
        for name, array in zip(("x", "names"), data.pairs(test)):
            np.save(folder / f"{name}.npy", array)
            words += ["--input", f"{name}={folder}/{name}.npy", "--batch", name]
        return words

    def share():
        call("classify", "--load-state", state, *inputs(True))
        found = np.load(folder / "result.npy")
        expect(len(found) > 200, f"{len(found)} images")
        return (found == np.arange(len(found)) % 10).mean()

    state = folder / "state.safetensors"
    call("step", "-n", "0", "--save-state", state)
    before = share()
    call("step", "--epochs", "4", "--load-state", state, "--save-state", state, *inputs(False))
    after = share()
    expect(before < 0.3 and after > 0.9, f"{before} and {after} of the names are right")


def simulated(cgc, schedule):
    """The makespan in ps, and the bytes of the device that has the most."""
    flags = [word for name, value in LARGE.items() for word in ("-D", f"{name}={value}")]
    done = subprocess.run([cgc, "simulate", "-q", FOLDER / "fsdp.cgraph", *flags, "--schedule",
                           schedule, "--json"], capture_output=True, text=True, timeout=300)
    expect(done.returncode == 0, done.stderr)
    graph = json.loads(done.stdout)["graphs"][0]
    return graph["makespan_ps"], max(device["memory_bytes"] for device in graph["devices"])


def prefetch(cgc):
    times, sizes = zip(*[simulated(cgc, f"fsdp({ahead})") for ahead in range(3)])
    in_order = simulated(cgc, "program")[0]
    expect(times[1] < 0.93 * times[0], f"one block ahead hides no gather: {times}")
    expect(times[2] < 0.93 * times[0], f"two blocks ahead hide no gather: {times}")
    expect(times[0] < in_order, f"fsdp(0) is slower than program order: {times[0]}, {in_order}")
    for ahead in (1, 2):
        more = sizes[ahead] - sizes[ahead - 1]
        expect(BLOCK < more < 3 * BLOCK, f"the {ahead}. block ahead takes {more} bytes: {sizes}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--torch", help="a Python that has PyTorch")
    options = parser.parse_args()
    checked(sys.executable, options.cgrun, 20, torch=False)
    with tempfile.TemporaryDirectory() as folder:
        notices_a_fault(options.cgrun, pathlib.Path(folder))
        names_digits(options.cgrun, pathlib.Path(folder))
    prefetch(options.cgc)
    has_torch = options.torch and os.path.exists(options.torch)
    if has_torch:
        checked(options.torch, options.cgrun, 20, torch=True)
    print(f"training examples: {expectations.checks} checks"
          + ("" if has_torch else ", none of them with PyTorch"))


if __name__ == "__main__":
    main()

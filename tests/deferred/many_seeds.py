#!/usr/bin/python3
"""Every example, every conformance program and random graphs under many seeds of the deferred
device, compared with the CPU to the last bit.

  many_seeds.py --cgc build/release/cgc --many-seeds build/release/tests/many_seeds

CGRAPH_SEEDS says how many seeds each program gets; without it a few, as a sample. `--part I/N`
takes every N-th program, from the I-th on.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "property"))
import random_graphs  # noqa: E402

SAMPLE = 6  # one for each way in which devices may be deferred
PER_FILE = 20


def programs(folder, graphs):
    """Paths of programs; of random ones so many that they have `graphs` graphs."""
    # No graph; libraries that nobody has built; weights that nobody has fetched; PyTorch.
    without = ("stages.cgraph", "native.cgraph", "on_gpu.cgraph", "minilm.cgraph",
               "smollm2.cgraph", "dense.cgraph", "q8_0.cgraph", "q4_1.cgraph",
               "torch_actors.cgraph")
    found = [p for p in sorted((ROOT / "examples").rglob("*.cgraph")) if p.name not in without]
    found += [p for p in sorted((ROOT / "tests" / "conformance").glob("*.cgraph"))
              if p.name != "large.cgraph"]
    for seed in range(1, 1 + -(-graphs // PER_FILE)):
        path = folder / f"random_{seed}.cgraph"
        path.write_text(random_graphs.make_file(seed, PER_FILE)[0])
        found.append(path)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--many-seeds", required=True)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--first", type=int, default=1, help="seed")
    options = parser.parse_args()
    seeds = int(os.environ.get("CGRAPH_SEEDS", SAMPLE))
    part, parts = map(int, options.part.split("/"))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [options.many_seeds, "--seeds", str(seeds), "--first", str(options.first)]
        taken = programs(folder, options.graphs)[part::parts]
        for i, path in enumerate(taken):
            plan = folder / f"{i}_{path.stem}.cgplan"
            done = subprocess.run([options.cgc, "compile", "-q", str(path), "-o", str(plan)],
                                  capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{path} does not compile:\n{done.stderr}")
            command += [str(plan), str(path.parent)]
        done = subprocess.run(command)
    if "CGRAPH_SEEDS" not in os.environ:
        print(f"A SAMPLE: {seeds} seeds a program. CGRAPH_SEEDS=1000 gives each a thousand.")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

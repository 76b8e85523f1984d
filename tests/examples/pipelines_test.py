#!/usr/bin/python3
"""The pipelines of examples/pipeline: simulated makespans against what is published of their
schedules, and the losses of training on the digits, which no schedule may change.

  pipelines_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "examples" / "pipeline"
SIZES = [(4, 8), (4, 10), (4, 16), (8, 24)]      # devices, micro-batches
# Makespans where a forward and either half of a backward take 1, in chunks of a device's share.
UNIT = {"gpipe": [33, 39, 57, 93], "one_f_one_b": [33, 39, 57, 93],
        "zb_h1": [27, 33, 51, 79], "zb_h2": [27, 33, 51, 79], "zb_v": [25.5, 31.5, 49.5, 75.5],
        "dualpipe_v": [25.5, 31.5, 49.5, 75.5]}
CHUNKS = {"zb_v": 2, "interleaved": 2, "dualpipe_v": 2}


def profile(folder, chunks, whole, other=0):
    """A file with the times of a stage's calls; everything else takes none, or `other`."""
    times = {"forward": 1, "backward": whole, "backward_input": 1, "backward_weight": 1}
    path = pathlib.Path(folder) / f"profile{chunks}_{whole}_{other}.json"
    path.write_text(json.dumps({"unit": "ns", "default": other,
                                "calls": {f"Stage.{k}": t / chunks for k, t in times.items()}}))
    return path


def makespan(cgc, folder, name, devices, batches, whole=2, other=0, flags=()):
    times = profile(folder, CHUNKS.get(name, 1), whole, other)
    done = subprocess.run([cgc, "simulate", PIPELINES / f"{name}.cgraph", "-D", f"P={devices}",
                           "-D", f"M={batches}", "--profile", times, "--json", *flags],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"{name} {devices}x{batches}: {done.stderr}")
    return json.loads(done.stdout)["graphs"][0]["makespan_ps"] / 1000


def published(cgc, folder):
    """Sentences about makespans that differ, and how many were looked at."""
    faults, checked = [], 0

    def expect(what, got, wanted):
        nonlocal checked
        checked += 1
        if got != wanted:
            faults.append(f"{what}: {got}, not {wanted}")

    for name, wanted in UNIT.items():
        for (devices, batches), value in zip(SIZES, wanted):
            expect(f"{name} {devices}x{batches}",
                   makespan(cgc, folder, name, devices, batches), value)
    for devices, batches in [(2, 2), (2, 8), (4, 8), (8, 16), (4, 32)]:
        expect(f"1F1B {devices}x{batches}", makespan(cgc, folder, "one_f_one_b", devices, batches),
               (batches + devices - 1) * 3)
    # Fused, the two halves of a backward are one call of 2.
    for (devices, batches), value in zip(SIZES[:2], UNIT["one_f_one_b"]):
        expect(f"1F1B of fused halves {devices}x{batches}",
               makespan(cgc, folder, "zb_h1", devices, batches,
                        flags=["--schedule", "one_f_one_b_fused(P)"]), value)
    # Whatever time travelling takes, nothing blocks; and the more, the later.
    before = 0
    for other in [0.05, 0.25, 0.5, 2, 10]:
        value = makespan(cgc, folder, "zb_v", 4, 8, other=other)
        expect(f"zb_v ends later when transfers take {other}", value > before, True)
        before = value
    return faults, checked


def losses(cgc, cgrun, folder, name, stages, steps=40):
    """The loss of each step, in a pipeline of so many stages in all."""
    plan = pathlib.Path(folder) / f"{name}.cgplan"
    devices = stages // CHUNKS.get(name, 1)
    subprocess.run([cgc, "compile", PIPELINES / f"{name}.cgraph", "-D", f"P={devices}", "-o", plan,
                    "-q", "--effort", "5"], check=True, timeout=300)
    digits = ROOT / "examples" / "digits"
    for data, source in [("x", "images"), ("label", "labels")]:
        np.save(f"{folder}/{data}.npy", np.load(digits / f"{source}.npy")[:32 * steps])
    subprocess.run([cgrun, plan, "--input", f"x={folder}/x.npy", "--input",
                    f"label={folder}/label.npy", "--batch", "x", "--batch", "label", "--output",
                    f"result={folder}/loss.npy", "-q"], check=True, timeout=300)
    return np.load(f"{folder}/loss.npy")


def trained(cgc, cgrun, folder):
    names = sorted(path.stem for path in PIPELINES.glob("*.cgraph") if path.stem != "stages")
    curves = {name: losses(cgc, cgrun, folder, name, 4) for name in names}
    first = curves[names[0]]
    faults = [f"{name} gives other losses than {names[0]}: {abs(curve - first).max()}"
              for name, curve in curves.items() if not np.array_equal(curve, first)]
    if not first[-5:].mean() < 0.6 * first[0]:
        faults.append(f"the loss does not go down: {first}")
    return faults, len(names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        faults, checked = published(options.cgc, folder)
        differ, curves = trained(options.cgc, options.cgrun, folder)
    faults += differ
    for fault in faults:
        print(fault)
    print(f"pipelines: {checked} makespans, {curves} curves, {len(faults)} wrong")
    sys.exit(1 if faults or not checked or not curves else 0)


if __name__ == "__main__":
    main()

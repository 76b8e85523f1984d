#!/usr/bin/python3
"""The pipelines of examples/pipeline, whose backwards are derived, against the same ones written by
hand (by_hand/), by every schedule.

The makespans of simulations are equal, and so are, to the bit, the losses and weights after three
steps: as scheduled, in program order, in processes, with two executions in flight. The memory of
the fullest device and that of all devices are no more than by hand.

  pipelines_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tensor_files  # noqa: E402

DERIVED = pathlib.Path(__file__).resolve().parents[2] / "examples" / "pipeline"
BY_HAND = pathlib.Path(__file__).resolve().parent / "by_hand"
NAMES = sorted(path.stem for path in DERIVED.glob("*.cgraph") if path.stem != "stages")
CHUNKS = {"interleaved": 2, "zb_v": 2, "dualpipe_v": 2}  # stages on each device
P, M, D, ROWS, STEPS = 4, 8, 64, 4, 3                    # as the programs have them


class Test:
    weights = (".w",)  # how their names end

    def __init__(self, options, folder, width=D):
        self.options, self.folder = options, pathlib.Path(folder)
        self.faults, self.checked = [], 0
        rng = np.random.default_rng(3)
        np.save(self.folder / "x.npy", rng.normal(size=(M * ROWS, width)).astype(np.float32))
        np.save(self.folder / "label.npy", rng.integers(0, width, M * ROWS))

    def expect(self, what, holds, detail=""):
        self.checked += 1
        if not holds:
            self.faults.append(f"{what}: {detail}")

    def write(self, name, programs, attributes="", rate="0.05"):
        """The program, with other attributes of its graph and another rate of learning."""
        (self.folder / "stages.cgraph").write_text((programs / "stages.cgraph").read_text())
        text = (programs / f"{name}.cgraph").read_text()
        if text.count("-> f32 using ") != 1 or text.count("0.05") != 1:
            sys.exit(f"{programs.name}/{name}.cgraph has not one graph with `using` and one rate")
        text = text.replace("-> f32 using ", f"-> f32 {attributes} using ").replace("0.05", rate)
        path = self.folder / "pipeline.cgraph"
        path.write_text(text)
        return path

    def run(self, *command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              timeout=300, cwd=self.folder)
        if done.returncode:
            self.expect(" ".join(map(str, command[1:])), False, done.stderr)
        return done

    def simulated(self, name, programs):
        """The makespan and the memory of each device."""
        path = self.write(name, programs)
        times = {f"Stage.{m}": 1 for m in ("forward", "backward_input", "backward_weight")}
        (self.folder / "times.json").write_text(json.dumps(
            {"unit": "ms", "default": 0, "calls": times | {"Stage.backward": 2}}))
        done = self.run(self.options.cgc, "simulate", path, "--profile", "times.json", "--json")
        if done.returncode:
            return None
        graph = json.loads(done.stdout)["graphs"][0]
        return graph["makespan_ps"], [d["memory_bytes"] for d in graph["devices"]]

    def trained(self, path, *flags):
        """The bits of the loss and of the weights after some steps."""
        done = self.run(self.options.cgrun, "-q", path, "--input", "x=x.npy", "--input",
                        "label=label.npy", "-n", STEPS, "--save-state", "state.safetensors",
                        "--output", "result=loss.npy", *flags)
        if done.returncode:
            return None
        states = tensor_files.read(self.folder / "state.safetensors")
        weights = {key: a.tobytes() for key, a in states.items() if key.endswith(self.weights)}
        return np.load(self.folder / "loss.npy").tobytes(), weights

    def planted(self):
        """Weights that learn faster must be found to differ."""
        slow, fast = (self.trained(self.write("gpipe", DERIVED, rate=rate), "--workers", "1")
                      for rate in ("0.05", "0.06"))
        if not slow or not fast or slow[0] == fast[0] or slow[1] == fast[1]:
            sys.exit("self-test: weights that learn faster were not found")

    def dealt(self, name):
        """One plan gives the same bits on any number of workers, whether it carries partitions or
        was compiled for a number of its own."""
        source, plan = self.write(name, DERIVED), self.folder / "pipeline.cgplan"
        wanted = self.trained(source, "--workers", "1")
        for flags in ([], ["--workers", "4"], ["--workers", "2"]):
            self.run(self.options.cgc, "compile", "-q", source, "-o", plan, *flags)
            text = self.run(self.options.cgc, "plan", plan).stdout
            self.expect(f"{name} {flags}: partitions", flags or "for 3 workers: lanes of" in text)
            for workers in (1, 2, 3, 4, 7):
                got = self.trained(plan, "--workers", workers)
                self.expect(f"{name} {flags} on {workers} workers", got and got == wanted,
                            "other bits")

    def pipeline(self, name):
        by_hand, derived = self.simulated(name, BY_HAND), self.simulated(name, DERIVED)
        if not by_hand or not derived:
            return
        self.expect(f"{name}: makespan", by_hand[0] == derived[0], f"{derived[0]}, by hand "
                    f"{by_hand[0]}")
        for what, of in [("fullest device", max), ("all devices", sum)]:
            self.expect(f"{name}: memory of {what}", of(derived[1]) <= of(by_hand[1]),
                        f"{derived[1]}, by hand {by_hand[1]}")
        wanted = self.trained(self.write(name, BY_HAND), "--workers", "1")
        self.expect(f"{name}: weights by hand",
                    wanted and len(wanted[1]) == CHUNKS.get(name, 1) * P)
        for what, attributes, flags in [
                ("one worker", "", ["--workers", "1"]), ("workers", "", []),
                ("three workers", "", ["--workers", "3"]),
                ("processes", "", ["--processes", "2"]),
                ("two in flight", "inflight 2", ["--workers", "2"]),
                ("program order", "", ["--schedule", "program"])]:
            got = self.trained(self.write(name, DERIVED, attributes), *flags)
            if got and wanted:
                self.expect(f"{name}, {what}: loss", got[0] == wanted[0], "other bits")
                self.expect(f"{name}, {what}: weights", got[1] == wanted[1], "other bits of " + ", "
                            .join(k for k in wanted[1] if got[1].get(k) != wanted[1][k]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        test = Test(parser.parse_args(), folder)
        test.planted()
        for name in NAMES:
            test.pipeline(name)
        for name in ("zb_v", "one_f_one_b"):
            test.dealt(name)
    for fault in test.faults:
        print(fault)
    print(f"derived pipelines: {test.checked} checks of {len(NAMES)} schedules, "
          f"{len(test.faults)} wrong; 1 planted case")
    sys.exit(1 if test.faults or not test.checked else 0)


if __name__ == "__main__":
    main()

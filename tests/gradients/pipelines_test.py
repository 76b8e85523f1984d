#!/usr/bin/python3
"""Pipelines whose backwards are derived, against the same ones written by hand, by every schedule.

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

P, M, D, ROWS, STEPS = 4, 8, 64, 4, 3
HEAD = f"""import std.tensor
import std.nn
import std.grad
import std.schedules
const P = {P}
const M = {M}
const S = STAGES
const D = {D}
const ROWS = {ROWS}
"""
BY_HAND = """
actor Stage(seed: int) {
  state w: f32[D, D] = normal(seed: seed) * 0.15
  state gw: f32[D, D] = zeros()
  method forward(x: f32[n, D]) -> (y: f32[n, D], saved: (f32[n, D], f32[n, D])) {
    let z = x @ w
    return (y: relu(z), saved: (x, z))
  }
  method backward(saved: (f32[n, D], f32[n, D]), gy: f32[n, D]) -> f32[n, D] {
    let gz = relu_grad(saved[1], gy)
    gw += matmul(saved[0], gz, transpose_a: true)
    return matmul(gz, w, transpose_b: true)
  }
  method backward_input(
    saved: (f32[n, D], f32[n, D]),
    gy: f32[n, D]
  ) -> (gx: f32[n, D], saved: (f32[n, D], f32[n, D])) {
    let gz = relu_grad(saved[1], gy)
    return (gx: matmul(gz, w, transpose_b: true), saved: (saved[0], gz))
  }
  method backward_weight(saved: (f32[n, D], f32[n, D])) {
    gw += matmul(saved[0], saved[1], transpose_a: true)
  }
  method update(rate: f32) {
    w -= rate * gw
    gw = zeros()
  }
}
actor Loss() {
  method loss(y: f32[n, D], label: i64[n]) -> (loss: f32, g: f32[n, D]) {
    let each = cross_entropy(y, label)
    return (loss: mean(each), g: cross_entropy_grad(y, label, full<f32[n]>(1.0 / n)))
  }
}
place stage[s in 0..S] = Stage(s) on gpu[DEVICE]
place last = Loss() on gpu[DEVICE_OF_LAST]
graph step(x: f32[M * ROWS, D], label: i64[M * ROWS]) -> f32 ATTRIBUTES {
  var losses = []
  for m in 0..M {
    var h = x[m * ROWS..(m + 1) * ROWS]
    var saved = []
    for each in stage {
      let (y, keep) = each.forward(h)
      h = y
      saved = saved + [keep]
    }
    let (loss, gy) = last.loss(h, label[m * ROWS..(m + 1) * ROWS])
    losses = losses + [loss]
    var g = gy
    for i in 0..S {
BACKWARD
    }
  }
  for each in stage { each.update(0.05) }
  return mean(stack(losses))
}
"""
WHOLE = "      g = stage[S - 1 - i].backward(saved[S - 1 - i], g)"
HALVES = """      let (gx, keep) = stage[S - 1 - i].backward_input(saved[S - 1 - i], g)
      g = gx
      stage[S - 1 - i].backward_weight(keep)"""
DERIVED = """
actor Stage(seed: int) {
  param w: f32[D, D] = normal(seed: seed) * 0.15
  method forward(x: f32[n, D]) -> f32[n, D] { return relu(x @ w) }
  method update(g: f32[D, D], rate: f32) { w -= rate * g }
}
place stage[s in 0..S] = Stage(s) on gpu[DEVICE]
graph step(x: f32[M * ROWS, D], label: i64[M * ROWS]) -> f32 ATTRIBUTES {
  var losses = []
  for m in 0..M {
    var h = x[m * ROWS..(m + 1) * ROWS]
    for each in stage { h = each.forward(h) }
    losses = losses + [mean(cross_entropy(h, label[m * ROWS..(m + 1) * ROWS]))]
  }
  let loss = stack(losses)
  let g = grad(sum(loss), of: stage)
  for (each, part) in zip(stage, g) { each.update(part.w, 0.05) }
  return mean(loss)
}
"""
V = "if s < P { s } else { S - 1 - s }"
# name -> (schedule, stages on each device, device of a stage, device of the last, halved backwards)
SCHEDULES = {
    "gpipe": ("gpipe()", 1, "s", "P - 1", False),
    "one_f_one_b": ("one_f_one_b(P)", 1, "s", "P - 1", False),
    "interleaved": ("interleaved(P, S / P) with (mb = m, chunk = s / P)", 2, "s % P", "P - 1",
                    False),
    "zb_h1": ("zb_h1(P)", 1, "s", "P - 1", True),
    "zb_h2": ("zb_h2(P)", 1, "s", "P - 1", True),
    "zb_v": ("zb_v(P) with (chunk = s / P)", 2, V, "0", True),
    "dualpipe_v": ("dualpipe_v(P, M) with (mb = m, chunk = s / P)", 2, V, "0", True),
    "auto": ("auto", 1, "s", "P - 1", True),
}


class Test:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.faults, self.checked = [], 0
        rng = np.random.default_rng(3)
        np.save(self.folder / "x.npy", rng.normal(size=(M * ROWS, D)).astype(np.float32))
        np.save(self.folder / "label.npy", rng.integers(0, D, M * ROWS))

    def expect(self, what, holds, detail=""):
        self.checked += 1
        if not holds:
            self.faults.append(f"{what}: {detail}")

    def write(self, name, text, attributes):
        using, chunks, device, last, halved = SCHEDULES[name]
        text = HEAD.replace("STAGES", f"{chunks} * P") + text
        for word, meant in [("DEVICE_OF_LAST", last), ("DEVICE", device),
                            ("BACKWARD", HALVES if halved else WHOLE),
                            ("ATTRIBUTES", f"{attributes} using {using}")]:
            text = text.replace(word, meant)
        path = self.folder / "pipeline.cgraph"
        path.write_text(text)
        return path

    def run(self, *command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              timeout=300, cwd=self.folder)
        if done.returncode:
            self.expect(" ".join(map(str, command[1:])), False, done.stderr)
        return done

    def simulated(self, name, text):
        """The makespan and the memory of each device."""
        path = self.write(name, text, "")
        times = {f"Stage.{m}": 1 for m in ("forward", "backward_input", "backward_weight")}
        (self.folder / "times.json").write_text(json.dumps(
            {"unit": "ms", "default": 0, "calls": times | {"Stage.backward": 2}}))
        done = self.run(self.options.cgc, "simulate", path, "--profile", "times.json", "--json")
        if done.returncode:
            return None
        graph = json.loads(done.stdout)["graphs"][0]
        return graph["makespan_ps"], [d["memory_bytes"] for d in graph["devices"]]

    def trained(self, name, text, attributes, *flags):
        """The bits of the loss and of the weights after some steps."""
        path = self.write(name, text, attributes)
        done = self.run(self.options.cgrun, "-q", path, "--input", "x=x.npy", "--input",
                        "label=label.npy", "-n", STEPS, "--save-state", "state.safetensors",
                        "--output", "result=loss.npy", *flags)
        if done.returncode:
            return None
        states = tensor_files.read(self.folder / "state.safetensors")
        weights = {key: a.tobytes() for key, a in states.items() if key.endswith(".w")}
        return np.load(self.folder / "loss.npy").tobytes(), weights

    def planted(self):
        """Weights that learn faster must be found to differ."""
        slow, fast = (self.trained("gpipe", text, "", "--workers", "1")
                      for text in (DERIVED, DERIVED.replace("0.05", "0.06")))
        if not slow or not fast or slow[0] == fast[0] or slow[1] == fast[1]:
            sys.exit("self-test: weights that learn faster were not found")

    def pipeline(self, name):
        by_hand, derived = self.simulated(name, BY_HAND), self.simulated(name, DERIVED)
        if not by_hand or not derived:
            return
        self.expect(f"{name}: makespan", by_hand[0] == derived[0], f"{derived[0]}, by hand "
                    f"{by_hand[0]}")
        for what, of in [("fullest device", max), ("all devices", sum)]:
            self.expect(f"{name}: memory of {what}", of(derived[1]) <= of(by_hand[1]),
                        f"{derived[1]}, by hand {by_hand[1]}")
        wanted = self.trained(name, BY_HAND, "", "--workers", "1")
        stages = SCHEDULES[name][1] * P
        self.expect(f"{name}: weights by hand", wanted and len(wanted[1]) == stages)
        for what, attributes, flags in [
                ("one worker", "", ["--workers", "1"]), ("workers", "", []),
                ("processes", "", ["--processes", "2"]),
                ("two in flight", "inflight 2", ["--workers", "2"]),
                ("program order", "", ["--schedule", "program"])]:
            got = self.trained(name, DERIVED, attributes, *flags)
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
        for name in SCHEDULES:
            test.pipeline(name)
    for fault in test.faults:
        print(fault)
    print(f"derived pipelines: {test.checked} checks of {len(SCHEDULES)} schedules, "
          f"{len(test.faults)} wrong; 1 planted case")
    sys.exit(1 if test.faults or not test.checked else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""`cgrun --check-effects` executes a program in its order, in program order and in the opposite
one: it finds a method that changes more than its clause says, and takes sums in another order for
equal.

  effects_test.py --cgrun build/release/cgrun
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

KEEPER = """
import numpy


class Keeper:
    def __init__(self):
        self.kept, self.total, self.last = {}, numpy.zeros(4, numpy.float32), 0.0

    def put(self, x, mb):
        self.kept[mb] = numpy.array(x)
        self.last = float(mb)  # of all keys
        return self.kept[mb] * 2

    def take(self, x, mb):
        y = self.kept.pop(mb)
        self.total += y / 3
        return y + numpy.asarray(x)

    def size(self):
        return numpy.float32(len(self.kept))

    def newest(self):
        return numpy.float32(self.last)

    def sum(self):
        return self.total
"""
PROGRAM = """
import std.tensor
actor Keeper() {
  method put(x: f32[4], mb: int) -> f32[4] = extern "python:keeper:Keeper.put" PUT
  method take(x: f32[4], mb: int) -> f32[4] = extern "python:keeper:Keeper.take" keyed by (mb)
  method look() -> f32 = extern "python:keeper:Keeper.LOOK" reads object
  method sum() -> f32[4] = extern "python:keeper:Keeper.sum" reads object
}
actor Sum() {
  state total: f32 = 0
  method add(x: f32[4]) { total = total + sum(x) }
}
place keeper = Keeper() on cpu[0]
place total = Sum() on cpu[1]
graph step(x: f32[6, 4]) -> (taken: f32[6, 4], look: f32, sum: f32[4]) {
  let put = [keeper.put(x[mb], mb: mb) for mb in 0..6]
  let look = keeper.look()
  let taken = [keeper.take(put[mb], mb: mb) for mb in 0..6]
  for mb in 0..6 { total.add(taken[mb]) }
  return (taken: stack(taken), look: look, sum: keeper.sum())
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    cgrun, checks = parser.parse_args().cgrun, 0
    # cgrun takes the first python3: here the one that has NumPy.
    python = pathlib.Path(sys.executable).parent
    environment = dict(os.environ, PATH=f"{python}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "keeper.py").write_text(KEEPER)
        np.save(folder / "x.npy", np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32))

        def run(look, put, *flags, path="keeper.cgraph"):
            (folder / "keeper.cgraph").write_text(PROGRAM.replace("LOOK", look)
                                                  .replace("PUT", put))
            done = subprocess.run(
                [cgrun, path, "--check-effects", "--lib", "./keeper.py", "--input", "x=x.npy",
                 "-n", "3", *flags], cwd=folder, capture_output=True, text=True, timeout=120,
                env=environment)
            return done.returncode, done.stdout + done.stderr

        cases = [
            # What is kept for a key, and sums in any order.
            (("size", "keyed by (mb)"), 0, "effects: the same 4 results in three orders, but for "
             "the output `sum` by "),
            # What is said wrong: `put` changes what is not of its key.
            (("newest", "keyed by (mb)"), 1, "the output `look` (up to 1.0e+00 of the greatest "
             "element) differs between program order and the execution in the opposite order"),
            # The same, where nothing is said, and where it is said right.
            (("newest", ""), 0, "effects: the same 4 results in three orders"),
            (("newest", "writes object"), 0, "effects: the same 4 results in three orders"),
            # Executions in flight keep what clauses ask for, too.
            (("newest", "writes object", "--inflight", "2", "--workers", "2"), 0,
             "effects: the same 4 results in three orders"),
            (("size", "", "--output", "sum=s.npy"), 2, "--check-effects excludes --output"),
            (("size", "", "--input", "other=-"), 2, "--input other=- can be read once; name a "
             "file"),
            (("size", "", "--schedule", "auto"), 0, "effects: the same 4 results"),
        ]
        for words, code, text in cases:
            got, said = run(*words)
            checks += 1
            if got != code or text not in said:
                sys.exit(f"{words}: exit code {got}, not {code}, or not {text!r}:\n{said}")
        got, said = run("size", "", path="keeper.cgplan")
        if got != 2 or "a plan has one order" not in said:
            sys.exit(f"a plan: {got}\n{said}")
    print(f"effects: {checks + 1} checks")


if __name__ == "__main__":
    main()

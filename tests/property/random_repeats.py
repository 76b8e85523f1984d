#!/usr/bin/python3
"""Random graphs that repeat, run by cgrun and evaluated directly.

The generator writes graphs that end with `repeat`: what stands before the rounds, values that
rounds read of it, `var`s that go on from round to round, lists of these, bounded inputs, conditions
of the body and from before it, limits that are constants or inputs. The evaluator executes the same
statements on Python's integers. Rows, and the states after the run, must be equal, in every way of
execution.

  random_repeats.py --cgc build/release/cgc --cgrun build/release/cgrun [--count 60] [--seed 1]
      [--mpi openmpi] [--emulated build/release/emulated:build/release]

Without --mpi each is run by one thread, by several, and by a process for each device; with it by a
process for each node. With --emulated its devices are gpus, of which each has a GPU.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import mpirun  # noqa: E402
import tensor_files  # noqa: E402

ACTOR = """import std.tensor
const BOUND = 6
actor Cell(k: int) {
  state sum_: i64 = k
  state last: i64[2] = zeros()
  method add(x: i64) -> i64 {
    sum_ = (sum_ * 3 + x) % 997
    last = stack([x, sum_])
    return sum_
  }
  method peek() -> i64 { return sum_ }
  method mix(x: i64, y: i64) -> i64 { return (x * 5 + y * k + 1) % 1009 }
  method total(v: i64[n]) -> i64 { return sum(v) % 101 }
  method scale(v: i64[n], by: i64) -> i64[n] { return (v * 2 + by) % 499 }
}
"""


class Cell:
    def __init__(self, k):
        self.k, self.sum, self.last = k, k, [0, 0]

    def add(self, x):
        self.sum = (self.sum * 3 + x) % 997
        self.last = [x, self.sum]
        return self.sum

    def peek(self):
        return self.sum

    def mix(self, x, y):
        return (x * 5 + y * self.k + 1) % 1009

    def total(self, v):
        return sum(v) % 101

    def scale(self, v, by):
        return [(e * 2 + by) % 499 for e in v]


class Program:
    """A graph as text, and as steps on an environment and cells."""

    def __init__(self, rng, kind, nodes):
        self.rng, self.count = rng, rng.randint(1, 3)
        where = [f"node[{i % nodes}].{kind}[{i // nodes}]" if nodes > 1 else f"{kind}[{i}]"
                 for i in range(max(self.count, nodes))]
        places = [f"place p{i} = Cell({rng.randint(1, 9)}) on {device}\n"
                  for i, device in enumerate(where)]
        self.count = len(places)
        self.ks = [int(p.split("Cell(")[1].split(")")[0]) for p in places]
        self.names = 0
        self.scalars, self.vectors = ["a", "b"], ["x"]
        before, self.before = [], []
        for _ in range(rng.randint(0, 4)):
            self.statement(before, self.before)
        self.vars = []
        for _ in range(rng.randint(0, 3)):
            self.variable(before, self.before)
        self.yields_first = rng.random() < 0.5
        row = self.row()
        if self.yields_first:
            before.append(f"yield (s: {row[0]}, v: {row[1]})")
        self.first_row = row
        own = (list(self.scalars), list(self.vectors))
        body, self.body = [], []
        for _ in range(rng.randint(1, 5)):
            self.statement(body, self.body)
        for var in self.vars:
            if rng.random() < 0.8:
                self.assign(body, self.body, var)
        self.until(body, own)
        self.round_row = self.row()
        body.append(f"yield (s: {self.round_row[0]}, v: {self.round_row[1]})")
        self.limit = rng.choice([0, 1, 2, 5, 9, 9, 9])
        self.most = rng.choice([None, None, self.limit, rng.randint(0, self.limit)])
        limit = "limit " + (f"{self.limit}" if self.most is None else f"most <= {self.limit}")
        inner = "".join(f"    {line}\n" for line in body)
        self.text = (ACTOR + "".join(places) +
                     "graph run(a: i64, b: i64, x: i64[n <= BOUND]" +
                     (", most: i64" if self.most is not None else "") +
                     ") -> (s: i64, v: i64[n]) {\n" +
                     "".join(f"  {line}\n" for line in before) +
                     f"  repeat until {self.condition} {limit} {{\n{inner}  }}\n}}\n")

    def new(self):
        self.names += 1
        return f"v{self.names}"

    def scalar(self):
        """An expression of a scalar, and how it is computed."""
        rng = self.rng
        i, x, y = rng.randrange(self.count), rng.choice(self.scalars), rng.choice(self.scalars)
        v = rng.choice(self.vectors)
        return rng.choice([
            (f"p{i}.add({x})", lambda e, cells: cells[i].add(e[x])),
            (f"p{i}.add({x})", lambda e, cells: cells[i].add(e[x])),
            (f"p{i}.peek()", lambda e, cells: cells[i].peek()),
            (f"p{i}.mix({x}, {y})", lambda e, cells: cells[i].mix(e[x], e[y])),
            (f"p{i}.total({v})", lambda e, cells: cells[i].total(e[v])),
            (f"({x} + {y} * 2) % 97", lambda e, cells: (e[x] + e[y] * 2) % 97)])

    def vector(self):
        i, by = self.rng.randrange(self.count), self.rng.choice(self.scalars)
        v = self.rng.choice(self.vectors)
        return f"p{i}.scale({v}, {by})", lambda e, cells: cells[i].scale(e[v], e[by])

    def statement(self, lines, steps):
        is_vector = self.rng.random() < 0.25
        text, make = self.vector() if is_vector else self.scalar()
        name = self.new()
        lines.append(f"let {name} = {text}")
        steps.append(lambda e, cells: e.__setitem__(name, make(e, cells)))
        (self.vectors if is_vector else self.scalars).append(name)

    def variable(self, lines, steps):
        kind, name = self.rng.choice(["scalar", "vector", "list"]), self.new()
        if kind == "list":
            (one, first), (two, second) = self.scalar(), self.scalar()
            lines.append(f"var {name} = [{one}, {two}]")

            def make(e, cells):
                e[f"{name}[0]"] = first(e, cells)
                e[f"{name}[1]"] = second(e, cells)
            steps.append(make)
            self.scalars += [f"{name}[0]", f"{name}[1]"]
        else:
            text, value = self.vector() if kind == "vector" else self.scalar()
            lines.append(f"var {name} = {text}")
            steps.append(lambda e, cells: e.__setitem__(name, value(e, cells)))
            (self.vectors if kind == "vector" else self.scalars).append(name)
        self.vars.append((kind, name))

    def assign(self, lines, steps, var):
        kind, name = var
        target = f"{name}[{self.rng.randrange(2)}]" if kind == "list" else name
        text, value = self.vector() if kind == "vector" else self.scalar()
        lines.append(f"{target} = {text}")
        steps.append(lambda e, cells: e.__setitem__(target, value(e, cells)))

    def until(self, body, own):
        """A condition of the body, one from before it, which is asked first, or none."""
        divisor = self.rng.randint(2, 5)
        kind = self.rng.choice(["body", "body", "body", "before", "before", "never"])
        self.asks_first = kind != "body"
        if kind == "never":
            self.condition, self.holds = "false", lambda e: False
            return
        x = self.rng.choice(self.scalars if kind == "body" else own[0])
        text = f"{x} % {divisor} == 1"
        self.holds = lambda e: e[x] % divisor == 1
        if kind == "body":
            body.append(f"let done = {text}")
        self.condition = "done" if kind == "body" else text

    def row(self):
        return self.rng.choice(self.scalars), self.rng.choice(self.vectors)

    def evaluate(self, inputs):
        """The rows, whether the condition held, and the cells after the run."""
        cells, rows = [Cell(k) for k in self.ks], []
        e = {name: inputs[name] for name in ("a", "b", "x")}
        for step in self.before:
            step(e, cells)
        if self.yields_first:
            rows.append((e[self.first_row[0]], list(e[self.first_row[1]])))
        done = self.asks_first and self.holds(e)
        for _ in range(self.limit if self.most is None else self.most):
            if done:
                break
            for step in self.body:
                step(e, cells)
            rows.append((e[self.round_row[0]], list(e[self.round_row[1]])))
            done = self.holds(e)
        return rows, done, cells


def run(options, folder, plan, program, inputs, way):
    state = folder / "state.safetensors"
    state.unlink(missing_ok=True)
    values = dict(inputs) | ({} if program.most is None else {"most": program.most})
    command = [options.cgrun, plan, "--json", "-q", "--save-state", str(state)]
    for name, value in values.items():
        command += ["--input", f"{name}={value}"]
    environment = dict(os.environ)
    if options.mpi:
        mpi = mpirun.Mpi(options.mpi)
        command, environment = mpi.line(2, command), mpi.environment("repeats")
    if options.emulated:
        environment |= {"LD_LIBRARY_PATH": options.emulated,
                        "CGRAPH_EMULATION": f"devices=4,seed={options.seed},protect=0"}
        command.append("--require-gpu")
    done = subprocess.run([str(word) for word in command + way], capture_output=True, text=True,
                          timeout=120, env=environment)
    if done.returncode != 0:
        return done.stdout + done.stderr
    result = json.loads(done.stdout)
    rows, holds, cells = program.evaluate(inputs)
    outputs = result["outputs"]
    got = list(zip(outputs["s"]["data"], outputs["v"]["data"]))
    wanted = {f"p{i}.sum_": [cell.sum] for i, cell in enumerate(cells)} | \
             {f"p{i}.last": cell.last for i, cell in enumerate(cells)}
    states = {name: array.ravel().tolist() for name, array in tensor_files.read(state).items()}
    used = {name: states.get(name) for name in wanted}
    if got != rows or result["done"] != holds or used != wanted:
        return (f"rows {got}\nnot  {rows}\ndone {result['done']}, not {holds}\nstates {used}\n"
                f"not    {wanted}")
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--cgrun", required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CGRAPH_SEED", "1")))
    parser.add_argument("--mpi")
    parser.add_argument("--emulated", help="where libcuda.so.1 of the emulation is")
    options = parser.parse_args()
    rounds, runs, done_early = 0, 0, 0
    ways = [[]] if options.mpi else [["--workers", "1"], [], ["--processes", "device"]]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number in range(options.count):
            rng = random.Random(f"{options.seed} {number}")
            program = Program(rng, "gpu" if options.emulated else "cpu", 2 if options.mpi else 1)
            source, plan = folder / "r.cgraph", folder / "r.cgplan"
            source.write_text(program.text)
            made = subprocess.run([options.cgc, "compile", "-q", source, "-o", plan,
                                   "--no-warn", "W0501", "--no-warn", "W0301"],
                                  capture_output=True, text=True, timeout=60)
            if made.returncode != 0:
                sys.exit(f"FAILED: --seed {options.seed}, number {number} does not compile:\n"
                         f"{made.stderr}\n{program.text}")
            inputs = {"a": rng.randint(0, 50), "b": rng.randint(0, 50),
                      "x": [rng.randint(0, 50) for _ in range(rng.randint(1, 6))]}
            for way in ways:
                wrong = run(options, folder, plan, program, inputs, way)
                if wrong:
                    sys.exit(f"FAILED: --seed {options.seed}, number {number}, {' '.join(way)}, "
                             f"inputs {inputs}, most {program.most}:\n{wrong}\n{program.text}")
                runs += 1
            rows, done, _ = program.evaluate(inputs)
            rounds += len(rows)
            done_early += done
    print(f"random repeats: {options.count} programs, {runs} runs, {rounds} rows, {done_early} "
          "done before their limit")
    sys.exit(0 if rounds and done_early else 1)


if __name__ == "__main__":
    main()

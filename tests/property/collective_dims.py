#!/usr/bin/python3
"""Collectives over any dimension, of random shapes, against NumPy: what each participant gets, and
the gradient of what it gave, in threads and in a process for each device. A program has several
graphs, each with one collective of tensors of its own shapes, some of them of a tuple, some with a
dimension whose extent is known only while running. With `--emulated` the places are on emulated
GPUs, of which each run does its work in another order.

  collective_dims.py --cgc build/release/cgc --cgrun build/release/cgrun [--count 20] [--seed 1]
      [--emulated build/release/emulated:build/release]
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

KINDS = ["all_gather", "gather", "reduce_scatter", "scatter", "all_to_all"]
TOLERANCE = 1e-5


def cut(x, parts, dim):
    return np.split(x, parts, axis=dim)


def evaluate(kind, xs, split, concat, root):
    """What each participant gets; of gather one array, the root's."""
    parts = len(xs)
    if kind in ("all_gather", "gather"):
        whole = np.concatenate(xs, axis=concat)
        return whole if kind == "gather" else [whole] * parts
    if kind == "reduce_scatter":
        total = xs[0]
        for x in xs[1:]:
            total = total + x
        return cut(total, parts, split)
    if kind == "scatter":
        return cut(xs[root], parts, split)
    pieces = [cut(x, parts, split) for x in xs]
    return [np.concatenate([p[rank] for p in pieces], axis=concat) for rank in range(parts)]


def transposed(kind, gys, split, concat):
    """The gradients of what the participants gave; of scatter that of the root's array."""
    parts = len(gys)
    if kind == "all_gather":
        return cut(sum(gys), parts, concat)
    if kind == "reduce_scatter":
        return [np.concatenate(gys, axis=split)] * parts
    if kind == "scatter":
        return np.concatenate(gys, axis=split)
    return evaluate("all_to_all", gys, concat, split, 0)


class Case:
    """One graph: a collective of a tensor, or of a tuple of two."""

    def __init__(self, rng, number):
        self.number, self.kind = number, rng.choice(KINDS)
        self.parts = rng.choice([1, 2, 3, 4])
        self.root = rng.randrange(self.parts) if self.kind == "gather" else 0
        rank = rng.randint(1, 4)
        self.split, self.concat = rng.randrange(rank), rng.randrange(rank)
        if self.kind != "all_to_all" or rng.random() < 0.4:
            self.concat = self.split
        self.shapes = [self.shape(rng, rank) for _ in range(rng.choice([1, 1, 2]))]
        free = [d for d in range(rank) if d not in (self.split, self.concat)]
        self.bounded = rng.choice(free) if free and rng.random() < 0.3 else None
        if self.bounded is not None:  # one dimension of all tensors
            for shape in self.shapes:
                shape[self.bounded] = self.shapes[0][self.bounded]
        self.from_end = rng.random() < 0.3
        self.rank = rank
        self.graded = self.kind != "gather" and self.bounded is None and len(self.shapes) == 1

    def shape(self, rng, rank):
        shape = [rng.choice([1, 1, 2, 3, 5]) for _ in range(rank)]
        if self.kind in ("reduce_scatter", "scatter", "all_to_all"):
            shape[self.split] *= self.parts
        return shape

    def type(self, shape, bound=True):
        dims = [str(d) for d in shape]
        if self.bounded is not None:
            # the bound is above the extent, so that what is not there is never moved
            dims[self.bounded] = f"n <= {shape[self.bounded] + 2}" if bound else "n"
        return f"f32[{', '.join(dims)}]"

    def result_shape(self, shape):
        shape = list(shape)
        if self.kind in ("reduce_scatter", "scatter", "all_to_all"):
            shape[self.split] //= self.parts
        if self.kind in ("all_gather", "gather", "all_to_all"):
            shape[self.concat] *= self.parts
        return shape

    def dims_text(self):
        end = self.rank if self.from_end else 0
        if self.split == self.concat:
            return f"dim: {self.split - end}"
        return f"split_dim: {self.split - end}, concat_dim: {self.concat - end}"

    def inputs(self):
        return [f"x{r}_{t}" for r in range(self.parts) for t in range(len(self.shapes))]

    def call(self):
        k, n, tuples = self.number, self.parts, len(self.shapes) > 1
        value = lambda r: ", ".join(f"p[{r}].f{k}_{t}(x{r}_{t})" for t in range(len(self.shapes)))
        values = [f"({value(r)})" if tuples else value(r) for r in range(n)]
        places = f"p[0..{n}]"
        if self.kind == "scatter":
            return f"scatter({values[0]}, to: {places}, {self.dims_text()})"
        more = {"reduce_scatter": "sum, ", "gather": f"root: {self.root}, "}.get(self.kind, "")
        return f"{self.kind}([{', '.join(values)}], {more}{self.dims_text()})"

    def text(self):
        """The methods, and the graphs: what is got, and a gradient."""
        k, n = self.number, self.parts
        methods = ""
        parameters, grads = [], []
        for t, shape in enumerate(self.shapes):
            methods += (f"  method f{k}_{t}(x: {self.type(shape)}) -> {self.type(shape, False)} "
                        "{ return x * 2.0 }\n")
        seen = False
        for r in range(n):
            for t, shape in enumerate(self.shapes):
                parameters.append(f"x{r}_{t}: {self.type(shape, not seen)}")
                seen = True
        made = [self.type(self.result_shape(s), False) for s in self.shapes]
        each = f"({', '.join(made)})" if len(made) > 1 else made[0]
        result = each if self.kind == "gather" else f"[{each}; {n}]"
        graphs = (f"graph g{k}({', '.join(parameters)}) -> {result} "
                  f"{{ return {self.call()} }}\n")
        if self.graded:
            weights = [f"w{r}: {made[0]}" for r in range(n)]
            losses = " + ".join(f"sum(y[{r}] * w{r})" for r in range(n))
            of = ", ".join(f"x{r}_0" for r in range(1 if self.kind == "scatter" else n))
            count = 1 if self.kind == "scatter" else n
            graphs += (f"graph d{k}({', '.join(parameters + weights)}) -> "
                       f"[{self.type(self.shapes[0])}; {count}] {{\n  let y = {self.call()}\n"
                       f"  return grad({losses}, of: [{of}])\n}}\n")
        return methods, graphs


def run(command, cwd, variables):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120,
                          env={**os.environ, **variables})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def outputs(cgrun, folder, graph, inputs, flags, variables):
    """The outputs of a graph, flat, in the order of the program."""
    given = []
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
        given += ["--input", f"{name}={name}.npy"]
    text = run([cgrun, "-q", "p.cgraph", "--graph", graph, "--json", *given, *flags], folder,
               variables)
    return [np.array(each["data"], np.float32) for each in json.loads(text)["outputs"].values()]


def compare(case, what, given, wanted, program):
    if len(given) != len(wanted):
        raise AssertionError(f"{case.kind} {what}: {len(given)} outputs, not {len(wanted)}")
    for i, (mine, theirs) in enumerate(zip(given, wanted)):
        mine = mine.reshape(theirs.shape) if mine.size == theirs.size else mine
        if mine.shape != theirs.shape or not np.allclose(mine, theirs, TOLERANCE, TOLERANCE):
            raise AssertionError(f"{case.kind} {what}, output {i}:\n{mine}\nis not\n{theirs}\n"
                                 f"{program}")


def check(cgrun, folder, case, rng, program, flags, variables):
    """Compares the results of a case, and its gradients; returns how many arrays it compared."""
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    xs = [[numbers.integers(-9, 9, s).astype(np.float32) for s in case.shapes]
          for _ in range(case.parts)]
    inputs = {f"x{r}_{t}": x for r, row in enumerate(xs) for t, x in enumerate(row)}
    each = [evaluate(case.kind, [2 * xs[r][t] for r in range(case.parts)], case.split,
                     case.concat, case.root) for t in range(len(case.shapes))]
    wanted = each if case.kind == "gather" else [
        each[t][r] for r in range(case.parts) for t in range(len(case.shapes))]
    given = outputs(cgrun, folder, f"g{case.number}", inputs, flags, variables)
    compare(case, flags, given, wanted, program)
    if not case.graded:
        return len(wanted)
    weights = [numbers.integers(-9, 9, case.result_shape(case.shapes[0])).astype(np.float32)
               for _ in range(case.parts)]
    inputs |= {f"w{r}": w for r, w in enumerate(weights)}
    back = transposed(case.kind, weights, case.split, case.concat)
    back = [2 * g for g in ([back] if case.kind == "scatter" else back)]
    given = outputs(cgrun, folder, f"d{case.number}", inputs, flags, variables)
    compare(case, f"gradient {flags}", given, back, program)
    return len(wanted) + len(back)


def emulation(folders, seed):
    """The environment of a run on emulated GPUs."""
    libraries = ":".join(map(os.path.abspath, folders.split(":")))
    return {"LD_LIBRARY_PATH": libraries,
            "CGRAPH_EMULATION": f"devices=4,seed={seed},protect=0,channels={8 * (seed % 2)},"
                                f"peers={seed // 2 % 2}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cgc", type=pathlib.Path, required=True)
    parser.add_argument("--cgrun", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--emulated", metavar="FOLDERS", help="with the libraries of emulated GPUs")
    arguments = parser.parse_args()
    cgrun = arguments.cgrun.resolve()
    compared, kinds = 0, set()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        rng = random.Random(seed)
        cases = [Case(rng, number) for number in range(4)]
        parts = [case.text() for case in cases]
        program = ("import std.tensor\nactor P() {\n" + "".join(m for m, _ in parts) +
                   "}\nplace p[i in 0..4] = P() on cpu[i]\n" + "".join(g for _, g in parts))
        if arguments.emulated:
            program = program.replace("on cpu[", "on gpu[")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "p.cgraph").write_text(program)
            for case in cases:
                flags, variables = rng.choice([[], [], ["--processes", "device"]]), {}
                if arguments.emulated:
                    flags = ["--require-gpu"]
                    variables = emulation(arguments.emulated, rng.randint(1, 1 << 30))
                try:
                    compared += check(cgrun, folder, case, rng, program, flags, variables)
                except AssertionError as wrong:
                    sys.exit(f"seed {seed}: {wrong}")
                kinds.add((case.kind, bool(flags), case.graded))
    wrong = evaluate("all_gather", [np.zeros((2, 3)), np.ones((2, 3))], 0, 0, 0)[0]
    assert not np.array_equal(wrong.ravel(), np.concatenate([np.zeros((2, 3)), np.ones((2, 3))],
                                                            axis=1).ravel())
    print(f"collective dims: {compared} arrays compared, {len(kinds)} kinds of cases")
    if compared == 0 or {kind for kind, _, _ in kinds} != set(KINDS):
        sys.exit("not every collective was tried")


if __name__ == "__main__":
    main()

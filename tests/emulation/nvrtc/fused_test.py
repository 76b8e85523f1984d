#!/usr/bin/python3
"""Fused chains on an emulated GPU: compiled to one kernel, their results have the bits of the same
operations run one after another, there and on the CPU (of NaNs, any).

  fused_test.py --cgc build/release/cgc --cgrun build/release/cgrun \\
      --libraries build/release/emulated:build/release [--seed 1] [--chains 20]

The chains are random trees of every elementwise operation and dtype. A second load compiles
nothing; what is wrong on disk is compiled again.
"""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
REPORT = re.compile(r"emulated NVRTC: (\d+) programs compiled, (\d+) failed")
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.float32,
         "i32": np.int32, "i64": np.int64, "u8": np.uint8, "i8": np.int8, "bool": np.bool_}
FLOATS = ("f16", "bf16", "f32", "f64")
NUMBERS = FLOATS + ("i8", "u8", "i32", "i64")
CLASSES = {"kFloat": FLOATS, "kNumber": NUMBERS, "kBool": ("bool",), "kAny": tuple(NUMPY)}
SHAPES = [(6, 8), (5, 7), (3, 4, 16)]


def operations():
    """(kind, name in plans, dtypes) of every row of operations.def."""
    text = (ROOT / "runtime/device/cpu/kernels/elementwise/operations.def").read_text()
    rows = re.findall(r'^(BINARY|COMPARE|UNARY|SELECT|TERNARY)\("(\w+)", \w+, (\w+)\)', text, re.M)
    return [(kind, name, CLASSES[dtypes]) for kind, name, dtypes in rows]


class Chain:
    """A random tree of operations, those first that no chain has, and the inputs that it reads."""

    rows_used = {}  # how often each operation is there, in all chains

    def __init__(self, number, dice, rows):
        self.name, self.dice, self.rows = f"c{number}", dice, rows
        self.shape = dice.choice(SHAPES)
        self.inputs = {}  # name -> (dtype, shape)
        self.dtype = tuple(NUMPY)[number % len(NUMPY)]
        self.steps = dice.randrange(4, 13)
        self.text = self.tree(self.dtype)
        self.outside = "f32" if self.dtype == "bf16" else self.dtype
        if self.dtype == "bf16":
            self.text = f"cast<f32>({self.text})"

    def tree(self, dtype, whole=False):
        """An expression; `whole`: none of its inputs is broadcast."""
        self.steps -= 1
        if self.steps < 0 or len(self.inputs) > 8:
            return self.leaf(dtype, whole)
        choices = [row for row in self.rows if dtype in row[2] and row[0] != "COMPARE"]
        if dtype == "bool":
            choices += [row for row in self.rows if row[0] == "COMPARE"]
        choices += [("CAST", "cast", None)] * 3
        least = min(self.rows_used.get(row[1], 0) for row in choices)
        kind, name, dtypes = self.dice.choice(
            [row for row in choices if self.rows_used.get(row[1], 0) <= least])
        self.rows_used[name] = self.rows_used.get(name, 0) + 1
        if kind == "CAST":
            other = self.dice.choice([d for d in NUMPY if d != dtype])
            return f"cast<{dtype}>({self.tree(other, whole)})"
        if kind == "UNARY":
            return f"{name}({self.tree(dtype, whole)})"
        if kind == "SELECT":
            return (f"where({self.tree('bool', whole)}, {self.tree(dtype, whole)}, "
                    f"{self.tree(dtype, whole)})")
        if kind == "TERNARY":
            return f"{name}({', '.join(self.tree(dtype, whole) for _ in range(3))})"
        inner = self.dice.choice(dtypes) if kind == "COMPARE" else dtype
        whole = whole or name.endswith("_grad")  # takes operands of one shape
        return f"{name}({self.tree(inner, whole)}, {self.tree(inner, whole)})"

    def leaf(self, dtype, whole):
        if self.inputs and self.dice.random() < 0.3:
            known = [name for name, (of, shape) in self.inputs.items()
                     if of == dtype and (shape == self.shape or not whole)]
            if known:
                return self.read(self.dice.choice(known), dtype)
        # The first has the whole shape, so that the result has it; others may be broadcast.
        shape = self.shape
        if self.inputs and not whole and self.dice.random() < 0.5:
            shape = self.dice.choice([self.shape[1:], self.shape[-1:], (1,) * len(self.shape),
                                      self.shape[:-1] + (1,)])
        name = f"x{len(self.inputs)}"
        self.inputs[name] = (dtype, shape)
        return self.read(name, dtype)

    @staticmethod
    def read(name, dtype):
        return f"cast<bf16>({name})" if dtype == "bf16" else name

    def declared(self, prefix=""):
        return ", ".join(f"{prefix}{name}: {'f32' if dtype == 'bf16' else dtype}"
                         f"[{', '.join(map(str, shape))}]"
                         for name, (dtype, shape) in self.inputs.items())

    def result(self):
        return f"{self.outside}[{', '.join(map(str, self.shape))}]"


def array_of(dtype, shape, numbers):
    if dtype == "bool":
        return numbers.integers(0, 2, shape).astype(np.bool_)
    if dtype in FLOATS:
        x = numbers.standard_normal(shape) * 3
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-6]
        x = np.where(numbers.random(shape) < 0.2, numbers.choice(special, shape), x)
        return x.astype(NUMPY[dtype])
    info = np.iinfo(NUMPY[dtype])
    small = numbers.integers(max(info.min, -9), 10, shape)
    return np.where(numbers.random(shape) < 0.3,
                    numbers.integers(info.min, info.max, shape, endpoint=True), small
                    ).astype(NUMPY[dtype])


def program(chains):
    methods = [f"  method {c.name}({c.declared()}) -> {c.result()} {{\n    return {c.text}\n  }}"
               for c in chains]
    inputs = ", ".join(c.declared(f"{c.name}_") for c in chains)
    calls = ", ".join(f"{c.name}: a.{c.name}({', '.join(f'{c.name}_{x}' for x in c.inputs)})"
                      for c in chains)
    results = ", ".join(f"{c.name}: {c.result()}" for c in chains)
    return ("import std.tensor\nimport std.nn\nimport std.grad\nactor A() {\n" + "\n".join(methods)
            + f"\n}}\nplace a = A() on gpu[0]\ngraph g({inputs}) -> ({results}) {{\n"
            f"  return ({calls})\n}}\n")


class Bench:
    def __init__(self, options, folder, chains, numbers):
        self.options, self.folder, self.chains = options, folder, chains
        (folder / "p.cgraph").write_text(program(chains))
        subprocess.run([options.cgc, "compile", "-q", "p.cgraph", "-o", "p.cgplan"], cwd=folder,
                       check=True, timeout=120)
        self.line = [options.cgrun, "p.cgplan", "-q", "--timeout", "100"]
        for chain in chains:
            for name, (dtype, shape) in chain.inputs.items():
                array = array_of(dtype, shape, numbers)
                np.save(folder / f"{chain.name}_{name}.npy", array)
                self.line += ["--input", f"{chain.name}_{name}={chain.name}_{name}.npy"]
            self.line += ["--output", f"{chain.name}=r_{chain.name}.npy"]

    def run(self, nvrtc, cache, *flags):
        """Returns the results, and how many programs were compiled."""
        environment = dict(os.environ, LD_LIBRARY_PATH=self.options.libraries,
                           CGRAPH_EMULATION="seed=3", CGRAPH_EMULATED_NVRTC=f"{nvrtc},report=1",
                           CGRAPH_CACHE_DIR=str(cache))
        done = subprocess.run([*self.line, *flags], cwd=self.folder, env=environment,
                              capture_output=True, text=True, timeout=300, check=False)
        expect(done.returncode == 0, f"exits with {done.returncode}: {done.stderr}")
        report = REPORT.search(done.stderr)
        results = [np.load(self.folder / f"r_{chain.name}.npy") for chain in self.chains]
        return results, report and (int(report[1]), int(report[2]))

    def compare(self, some, others, what):
        for chain, a, b in zip(self.chains, some, others):
            if a.dtype.kind == "f":
                a, b = (np.where(np.isnan(x), np.array(np.nan, x.dtype), x) for x in (a, b))
            expect(a.tobytes() == b.tobytes(), f"{what}: {chain.name} differs: {chain.text}")


def expect(holds, message):
    if not holds:
        sys.exit(f"FAILED: {message}")


def chains_have_their_bits(bench, cache):
    apart, report = bench.run("compile=0", cache, "--require-gpu")
    expect(report[0] == 0 and report[1] > 0, f"chains are compiled: {report}")
    chains = report[1]
    expect(chains > len(bench.chains) / 2, f"only {chains} of {len(bench.chains)} are chains")
    expect(not list(cache.glob("*")), "what failed to compile is kept")
    fused, report = bench.run("compile=1", cache, "--require-gpu")
    expect(report == (chains, 0), f"{chains} chains, compiled and failed: {report}")
    bench.compare(fused, apart, "in one kernel")
    cpu, _ = bench.run("compile=0", cache, "--device-map", "gpu[0]=cpu:0")
    bench.compare(fused, cpu, "on the CPU")
    return chains


def second_load_compiles_nothing(bench, cache, chains):
    files = sorted(cache.glob("*"))
    expect(len(files) == chains, f"{len(files)} files of {chains} chains")
    first, report = bench.run("compile=1", cache, "--no-capture")
    expect(report == (0, 0), f"the second load compiles: {report}")
    whole = files[0].read_bytes()
    files[0].write_bytes(whole[:-100])
    damaged = bytearray(files[1].read_bytes())
    damaged[len(damaged) // 2] ^= 1
    files[1].write_bytes(damaged)
    files[2].write_bytes(b"somebody else's")
    again, report = bench.run("compile=1", cache)
    expect(report == (3, 0), f"3 damaged files, compiled and failed: {report}")
    bench.compare(first, again, "after damage")
    expect(files[0].read_bytes()[:48] == whole[:48], "the file is not written again")


def other_libraries(bench, folder):
    """A library that is too old, one that does not know the GPU, and a folder that is none."""
    apart, report = bench.run("compile=1,version=11080", folder / "none")
    expect(report == (0, 0), f"an old library compiles: {report}")
    (folder / "file").write_text("no folder")
    ptx, report = bench.run("compile=1,newest=80", folder / "file")
    expect(report[0] > 0 and report[1] == 0, f"for an older GPU: {report}")
    bench.compare(ptx, apart, "as PTX")
    expect((folder / "file").read_text() == "no folder", "the file is overwritten")


DYNAMIC = """import std.tensor
import std.nn
actor A() {
  method given(x: f32[n <= 9, 4], b: f32[4]) -> f32[n, 4] { return exp(x + b) * x }
  method made(x: f32[9, 4], k: i64, b: f32[4]) -> f32[m <= 9, 4] {
    let part = slice(x, dim: 0, from: 0, length: k)
    return relu(part * b) + tanh(part)
  }
}
place a = A() on gpu[0]
graph g(x: f32[n <= 9, 4], y: f32[9, 4], k: i64, b: f32[4])
    -> (given: f32[n, 4], made: f32[m <= 9, 4]) {
  return (given: a.given(x, b), made: a.made(y, k, b))
}
"""


def extents_of_executions(options, folder, numbers):
    """Extents that an input gives, and that the GPU makes; a chain whose operand is poisoned."""
    (folder / "d.cgraph").write_text(DYNAMIC)
    subprocess.run([options.cgc, "compile", "-q", "d.cgraph", "-o", "d.cgplan"], cwd=folder,
                   check=True, timeout=120)
    y, b = (numbers.standard_normal(shape).astype(np.float32) for shape in ((9, 4), (4,)))
    np.save(folder / "y.npy", y)
    np.save(folder / "b.npy", b)
    for n, k, compiled in ((3, 5, 2), (9, 9, 0), (0, 0, 0), (4, 10, 0)):
        np.save(folder / "x.npy", y[:n])
        outcomes = []
        for nvrtc in ("compile=0", "compile=1"):
            environment = dict(os.environ, LD_LIBRARY_PATH=options.libraries,
                               CGRAPH_EMULATION=f"seed={n + 1}", CGRAPH_CACHE_DIR=str(folder),
                               CGRAPH_EMULATED_NVRTC=f"{nvrtc},report=1")
            line = [options.cgrun, "d.cgplan", "-q", "--require-gpu", "--timeout", "60",
                    "--input", "x=x.npy", "--input", "y=y.npy", "--input", "b=b.npy",
                    "--input", f"k={k}", "--output", "given=1.npy", "--output", "made=2.npy"]
            done = subprocess.run(line, cwd=folder, env=environment, capture_output=True,
                                  text=True, timeout=100, check=False)
            expect(done.returncode == (1 if k > 9 else 0), done.stderr)
            report = REPORT.search(done.stderr)
            expect(nvrtc == "compile=0" or int(report[1]) == compiled, f"compiled: {report[0]}")
            results = [] if done.returncode else [np.load(folder / f"{i}.npy") for i in (1, 2)]
            outcomes.append([x.tobytes() for x in results])
            if k > 9:
                expect("the dimension `length` is 10, and must be from 0 to 9" in done.stderr,
                       done.stderr)
            expect(k > 9 or [x.shape[0] for x in results] == [n, k], "extents")
        expect(outcomes[0] == outcomes[1], f"results differ with extents {n} and {k}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("cgc", "cgrun"):
        parser.add_argument(f"--{name}", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chains", type=int, default=20)
    options = parser.parse_args()
    dice, numbers = random.Random(options.seed), np.random.default_rng(options.seed)
    rows = operations()
    expect(len(rows) == 39, f"{len(rows)} operations")
    chains = [Chain(number, dice, rows) for number in range(options.chains)]
    missing = {name for _, name, _ in rows} - set(Chain.rows_used)
    expect(options.chains < 20 or not missing, f"no chain has {sorted(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "cache").mkdir()
        bench = Bench(options, folder, chains, numbers)
        fused = chains_have_their_bits(bench, folder / "cache")
        second_load_compiles_nothing(bench, folder / "cache", fused)
        few = folder / "few"
        few.mkdir()
        other_libraries(Bench(options, few, chains[:1], numbers), few)
        extents_of_executions(options, few, numbers)
    print(f"fused: {fused} chains of {sum(Chain.rows_used.values())} operations have their bits")


if __name__ == "__main__":
    main()

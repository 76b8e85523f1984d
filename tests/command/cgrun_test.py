#!/usr/bin/python3
"""cgrun as users and scripts meet it: exit codes, messages, results, batches, signals.

  cgrun_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import collections
import io
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import traces as traces_support  # noqa: E402
from expectations import expect, says  # noqa: E402

PROGRAM = """import std.tensor
import std.debug

actor A(k: int) {
  state i: i64 = k
  method add(x: i64[n <= 8]) -> i64[n] { return x + i }
  method count(x: i64) -> i64 { i += x return i }
  method fail_if(x: i64, y: i64) -> i64 { check(x != y, "x equals y") return x }
  method nap(ms: i64) -> i64 { sleep(ms) return ms }
  method look(x: f32[2, 2]) -> f32[2, 2] { probe("x", x) return x * 0.5 }
  method total(x: f32[n <= 4, 3]) -> (f32[n, 3], f32) { return (x + x, sum(x)) }
  method either(a: bool[3], b: bool[3]) -> bool[3] { return logical_or(a, b) }
  method first(x: i64[n <= 8]) -> i64[n] { check(sum(x) < 91, "too much") return x }
}
place a = A(10) on cpu[0]
place b = A(20) on gpu[1]

graph add(x: i64[n <= 8]) -> i64[n] { return a.add(x) }
graph count(x: i64) -> i64 inflight 3 { return b.count(a.count(x)) }
graph fail(x: i64, y: i64) -> i64 { return a.fail_if(x, y) }
graph nap(ms: i64) -> i64 { return a.nap(ms) }
graph impatient(ms: i64) -> i64 timeout 1s { return a.nap(ms) }
graph look(x: f32[2, 2]) -> f32[2, 2] { return b.look(x) }
graph total(x: f32[n <= 4, 3]) -> (twice: f32[n, 3], all: f32) {
  let (t, s) = a.total(x)
  return (twice: t, all: s)
}
graph either(a_: bool[3], b_: bool[3]) -> bool[3] { return b.either(a_, b_) }
graph first(x: i64[n <= 8]) -> i64[n] inflight 2 { return a.first(x) }
graph row(x: f32[2, 3], y: f32[2]) -> f32[2, 3] { return x * 2.0 }
"""


# That gpus run on CPU threads, where they do; gpu_test.py is about it.
NOTE = re.compile(r"^cgrun: note: .* on (a CPU thread|CPU threads): .*\n", re.M)


class Cgrun:
    """Runs in a folder of its own, which is also where temporary files would be."""

    def __init__(self, options, folder):
        self.cgc, self.cgrun, self.folder = options.cgc, options.cgrun, pathlib.Path(folder)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        (self.folder / "program.cgraph").write_text(PROGRAM)
        done = subprocess.run([self.cgc, "compile", "program.cgraph", "-o", "program.cgplan"],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"FAILED: the program does not compile\n{done.stderr}")

    def start(self, *arguments, **kwargs):
        environment = dict(os.environ, TMPDIR=str(self.temporary))
        return subprocess.Popen([self.cgrun, *map(str, arguments)], cwd=self.folder,
                                env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)

    def __call__(self, *arguments, status=0, stdin=b""):
        """Runs to the end; (standard output, standard error) as text."""
        process = self.start(*arguments, stdin=subprocess.PIPE)
        out, error = (text.decode() for text in process.communicate(stdin, timeout=60))
        error = NOTE.sub("", error)
        expect(process.returncode == status,
               f"{arguments}: exit code {process.returncode}, not {status}\n{out}{error}")
        expect(not list(self.temporary.iterdir()),
               f"{arguments} left {list(self.temporary.iterdir())}")
        return out, error

    def graph(self, name, *arguments, **kwargs):
        return self("program.cgplan", "--graph", name, *arguments, **kwargs)


def literals_and_text(run):
    expect(run.graph("add", "--input", "x=[1, -2,3]")[0] == "result: i64[3] = [11  8 13]\n",
           "a list")
    expect(run.graph("add", "--input", " x = [1, -2,3] ")[0] == "result: i64[3] = [11  8 13]\n",
           "spaces around the name and the value")
    expect(run.graph("add", "--input", "x=[]")[0] == "result: i64[0] = []\n", "an empty list")
    expect(run.graph("count", "--input", "x=+5")[0] == "result: i64 = 35\n", "a number")
    out, error = run.graph("look", "--input", "x=[[1,2.5],[-inf,1e-3]]")
    expect(out == "result: f32[2, 2] =\n[[5.00e-01 1.25e+00]\n [    -inf 5.00e-04]]\n", out)
    says(error, "probe x: f32[2, 2]")
    out, _ = run.graph("look", "--input", "x=[[nan,inf],[-inf,4]]", "--json")
    expect(json.loads(out)["outputs"]["result"]["data"] == [["NaN", "Infinity"],
                                                            ["-Infinity", 2.0]], out)
    out, _ = run.graph("either", "--input", "a_=[true,false,0]", "--input", "b_=[false,1,false]")
    expect(out == "result: bool[3] = [ true  true false]\n", out)
    out, _ = run.graph("either", "--input", "a_=[True,False,0]", "--input", "b_=[false,1,False]")
    expect(out == "result: bool[3] = [ true  true false]\n", out)
    says(run.graph("either", "--input", "a_=yes", "--input", "b_=[false,1,false]", status=2)[1],
         "`yes` is no bool, which is true or false, nor a file, whose name ends in .npy")
    out, _ = run.graph("look", "--input", "x=[[1e-50,-1e-400],[1e-45,1e-40]]", "--json")
    expect(json.loads(out)["outputs"]["result"]["data"][0] == [0, 0], f"rounded: {out}")
    says(run.graph("look", "--input", "x=[[1e50,0],[0,0]]", status=2)[1], "is outside of f32")
    np.save(run.folder / "piped.npy", np.array([1, -2, 3]))
    os.mkfifo(run.folder / "pipe")
    writer = subprocess.Popen(["sh", "-c", "cat piped.npy > pipe"], cwd=run.folder)
    expect(run.graph("add", "--input", "x=pipe")[0] == "result: i64[3] = [11  8 13]\n",
           "a pipe of another name, as <(...) has")
    writer.wait()
    for value, told in {"1.5": "`1.5` is no i64, which is a whole number", "[1,b]": "`b` is no i64",
                        "((1,2))": "a list is written in brackets", "x": "nor a file"}.items():
        says(run.graph("add", "--input", f"x={value}", status=2)[1], told)
    expect(run.graph("count", "--input", "x=5", "--timeout", "5s")[0] == "result: i64 = 35\n", "5s")
    says(run.graph("count", "--input", "x=5", "--timeout", "5m", status=2)[1], "expected seconds")
    (run.folder / "halved.cgraph").write_text("const H = 7\nconst K = H // 2\n"
                                              "graph g(x: i64) -> i64 { return x }\n")
    out, error = run("halved.cgraph", "--input", "x=1")
    expect(out == "result: i64 = 1\n" and "W0201" in error and "proved" not in error,
           "warnings of a source are shown, and no summary")
    expect(run("halved.cgraph", "--input", "x=1", "-q")[1] == "", "-q")
    says(run("halved.cgraph", "--input", "x=1", "-v")[1], "halved.cgraph: 1 graph", "1 worker")
    says(run.graph("count", "--input", "x=1", "-n", "0", status=2)[1],
         "-n 0 executes nothing; with --save-state it writes the initial states")
    says(run.graph("count", "--input", "x=1", "-n", "-1", status=2)[1],
         "-n -1: expected a number from 0 on")
    says(run.graph("count", "--input", "x=1", "-n", status=2)[1], "-n needs a number")
    for value, words in {
            "[1,2": "`,` or `]` is expected", "[1,[2]]": "a number is expected, as before",
            "[1.5]": "`1.5` is no i64", "[9223372036854775808]": "is outside of i64",
            "[[1]]": "it has 2 dimensions, expected 1", "[[1],[1,2]]": "has 2 elements",
            "3": "it has 0 dimensions, expected 1", "[1] 2": "the end is expected",
            "[" * 20: "at most 8 dimensions", "[x]": "`x` is no i64",
            "[1,2,3,4,5,6,7,8,9]": "dimension 0 is 9, expected at most 8",
    }.items():
        says(run.graph("add", "--input", f"x={value}", status=2)[1], "input x: i64[n <= 8]", words)
    np.save(run.folder / "rows.npy", np.ones((2, 9), np.int64))
    says(run.graph("add", "--input", "x=rows.npy", status=1)[1],
         "input x: i64[n <= 8]: rows.npy, i64[2, 9], does not fit: it has 2 dimensions, expected 1")


def halves(run):
    """f16 and bf16: as lists rounded to nearest even, as files in the bytes that NumPy has."""
    for dtype in ("f16", "bf16"):
        (run.folder / f"{dtype}.cgraph").write_text(
            "import std.tensor\n"
            f"graph g(x: {dtype}[4]) -> (wide: f32[4], same: {dtype}[4]) {{\n"
            "  return (wide: cast<f32>(x), same: x)\n}\n")
    # Halfway between neighbours: to the even one, below and above.
    out, _ = run("f16.cgraph", "--input", "x=[2049, 2051, 6e-8, inf]", "--json")
    expect(json.loads(out)["outputs"]["wide"]["data"] ==
           [2048.0, 2052.0, float(np.float16(6e-8)), "Infinity"], out)
    out, _ = run("bf16.cgraph", "--input", "x=[257, 259, 1e38, nan]", "--json")
    expect(json.loads(out)["outputs"]["wide"]["data"][:2] == [256.0, 260.0], out)
    says(run("f16.cgraph", "--input", "x=[65520, 1, 1, 1]", status=2)[1],
         "`65520` is outside of f16")
    says(run("bf16.cgraph", "--input", "x=[1e39, 1, 1, 1]", status=2)[1],
         "`1e39` is outside of bf16")
    bits = np.array([1.0, -2.5, 3e38, 0.0], np.float32).view(np.uint32)
    raw = (bits >> 16).astype(np.uint16)
    np.save(run.folder / "raw.npy", raw.view("V2"))
    run("bf16.cgraph", "--input", "x=raw.npy", "--output", "same=same.npy", "--output",
        "wide=wide.npy")
    back = np.load(run.folder / "same.npy")
    expect(back.dtype == np.dtype("V2") and np.array_equal(back.view(np.uint16), raw), back)
    expect(np.array_equal(np.load(run.folder / "wide.npy").view(np.uint32), bits >> 16 << 16),
           "bf16 read as it is")
    np.save(run.folder / "wide.npy", np.ones(4, np.float32))
    says(run("bf16.cgraph", "--input", "x=wide.npy", status=1)[1],
         "wide.npy holds f32", "x.astype(ml_dtypes.bfloat16)")


def kernels(run):
    """An op that no kernel computes is reported where the program asks for it."""
    (run.folder / "kernel.cgraph").write_text(
        "import std.tensor\n"
        'op mine<T: number>(x: T[*s]) -> T[*s] kernel "min_dimm"\n'
        'op wrong<T: number>(x: T[*s]) -> T[*s] kernel "matmul"\n'
        "graph unknown(x: f32[4]) -> f32[4] { return mine(x) }\n"
        "graph arity(x: f32[4]) -> f32[4] { return wrong(x) }\n")
    says(run("kernel.cgraph", "--graph", "unknown", "--input", "x=[1,2,3,4]", status=1)[1],
         "kernel.cgraph:4:", "there is no CPU kernel `min_dimm` (did you mean `min_dim`?)",
         "std/*.cgraph")
    says(run("kernel.cgraph", "--graph", "arity", "--input", "x=[1,2,3,4]", status=1)[1],
         "kernel.cgraph:5:",
         "kernel `matmul`: it takes 2 tensors and makes 1, and is given 1 and asked for 1")


def files(run):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(run.folder / "x.npy", x)
    out, _ = run.graph("total", "--input", "x=x.npy", "--output", "twice=twice.npy")
    expect(out == "", "what is written is not printed as well")
    twice = np.load(run.folder / "twice.npy")
    expect(twice.dtype == np.float32 and np.array_equal(twice, 2 * x), "an output as .npy")
    run.graph("total", "--input", "x=x.npy", "--output", "all=all.npy")
    total = np.load(run.folder / "all.npy")
    expect(total.shape == () and total == x.sum(), "a single number as .npy")
    buffer = io.BytesIO()
    np.save(buffer, x)
    out, _ = run.graph("total", "--input", "x=-", "--json", stdin=buffer.getvalue())
    told = json.loads(out)
    expect(told["outputs"]["twice"] == {"type": "f32[4, 3]", "dtype": "f32", "dims": [4, 3],
                                        "data": (2 * x).tolist()}, out)
    expect(told["outputs"]["all"]["data"] == 66.0 and told["executions"] == 1, out)
    np.save(run.folder / "wrong.npy", x.astype(np.float64))
    says(run.graph("total", "--input", "x=wrong.npy", status=1)[1], "wrong.npy holds f64",
         "x.astype(np.float32)")
    np.save(run.folder / "fortran.npy", np.asfortranarray(x))
    says(run.graph("total", "--input", "x=fortran.npy", status=1)[1], "Fortran order")
    says(run.graph("total", "--input", "x=none.npy", status=3)[1], "cannot read none.npy")
    says(run.graph("total", "--input", "x=x.npy", "--output", "all=no/folder.npy", status=3)[1],
         "cannot write no/folder.npy")


def usage(run):
    says(run("--help")[0], "--input", "Exit codes:")
    says(run("--version")[0], "cgrun ")
    for arguments, words in {
            (): "FILE", ("--inptu", "x=3"): "did you mean `--input`?", ("more.cgplan",): "one FILE",
            ("--isolate", "actor"): "unknown flag `--isolate`", ("--timeout", "-1"): "--timeout",
            ("-D", "N=3"): "needs a .cgraph", ("--input", "x"): "expected NAME=",
            ("--input", "x=1", "--input", "x=2"): "--input x is there twice",
            ("-n", "0"): "-n 0 executes nothing",
            ("--json", "-v"): "exclude each other",
    }.items():
        file = ["program.cgplan"] if arguments else []
        says(run(*file, *arguments, status=2)[1], words)
    # An input or const as if it were a flag; no flag that only looks alike.
    (run.folder / "rates.cgraph").write_text(
        "const N = 2  // const LOG = 3, graph f(loss: f32)\n"
        "graph step(x: f32[N], pair: (rat: f32, b: f32), learning_rate: f32) -> f32[N] {\n"
        "  return x * learning_rate * pair.b\n}\n"
        "graph other(rate: f32) -> f32 { return rate }\n")
    subprocess.run([run.cgc, "compile", "-q", "rates.cgraph"], cwd=run.folder, check=True)
    for words, meant in {
            "FILE --rate 0.1": "--input rate=0.1", "--rate 0.1 FILE": "--input rate=0.1",
            "FILE --rate=[1,2] -q": "--input rate=[1,2]", "FILE --rate -2": "--input rate=-2",
            "--rate FILE": "--input rate=VALUE", "FILE --x -q": "--input x=VALUE",
            "FILE --learning-rate 1": "--input learning_rate=1", "FILE --rat 0.1": None,
            "FILE --loss 1": None, "FILE --lr 1": None, "FILE --decay 1": None,
            "FILE --trce f": "--trace", "FILE --timeuot 2": "--timeout", "FILE --N 8": "-D N=8",
            "FILE --LOG 8": "--log"}.items():
        for file in ("rates.cgraph", "rates.cgplan"):
            if file.endswith("plan") and meant and meant.startswith("-D"):
                meant = None
            flag = next(word for word in words.split() if word.startswith("--"))
            told = run(*words.replace("FILE", file).split(), status=2)[1]
            hint = f" (did you mean `{meant}`?)" if meant else "; `cgrun --help` lists them"
            expect(told == f"cgrun: error: unknown flag `{flag}`{hint}\n", told)
    # What a refused command line would have written is not missed.
    for words in (["--graph", "add"], ["--graph", "none"], ["-D", "NONE=1", "--graph", "add"],
                  ["--graph", "add", "--input", "x=[1]", "--trace", "p.json"],
                  ["--graph", "add", "--input", "x=[1]", "--output", "result=p.json"],
                  ["--graph", "add", "--input", "x=[1]", "--output", "none=y.npy"],
                  ["--graph", "add", "--input", "x=[1]", "--device-map", "gpu[7]=cpu:0"]):
        told = run("program.cgraph", "--profile", "p.json", "--save-state", "s.safetensors", *words,
                   status=2)[1]
        expect("error: " in told and " not written" not in told, told)
    (run.folder / "wrong.cgraph").write_text("graph g() {\n")
    says(run("wrong.cgraph", "--profile", "p.json", "--trace", "p.json", status=1)[1],
         "note: p.json is not written, as nothing was measured")
    says(run("program.cgplan", status=2)[1], "pick one with --graph: add, count")
    for file in ("program.cgplan", "program.cgraph"):
        says(run(file, "--graph", "coutn", "--input", "x=1", status=2)[1], "coutn",
             "(did you mean `count`?)")
    told = run("program.cgraph", "--call", "coutn", "--input", "x=1", status=2)[1]
    expect("no graph `coutn`" in told and "--graph" not in told, told)
    says(run.graph("add", "--input", "x=[1]", "--output", "resutl=z.npy", status=2)[1],
         "did you mean `result`?")
    says(run.graph("add", "--inptu", "x=[1]", status=2)[1], "cgrun: error: ",
         "did you mean `--input`?")
    says(run.graph("add", status=2)[1], "needs the input x: i64[n <= 8]")
    says(run.graph("add", "--input", "z=1", "--input", "x=[1]", status=2)[1],
         "it has x: i64[n <= 8]")
    says(run.graph("add", "--input", "x=[1]", "--output", "z=z.npy", status=2)[1], "it has result")
    says(run("none.cgplan", status=3)[1], "none.cgplan")
    (run.folder / "text.cgplan").write_text("no plan")
    says(run("text.cgplan", status=1)[1], "text.cgplan")
    says(run.graph("count", "--input", "x=1", "--inflight", "9", status=2)[1], "--inflight 9")
    says(run.graph("fail", status=2)[1], "needs the inputs x: i64[], y: i64[]; ",
         "give --input x=NUMBER --input y=NUMBER")
    says(run.graph("fail", "--input", "xs=1", "--input", "y=1", status=2)[1], "did you mean `x`?")
    says(run.graph("add", "--input", "x=[1]", "--output", "result=y.txt", status=2)[1],
         "--output result=y.txt: an output by itself is written as .npy")
    says(run.graph("add", "--input", "x=[1]", "--output", "result=-", status=2)[1],
         "--output result=-: an output is written to a file", "leave the flag out")
    says(run.graph("add", "--input", "x=[1]", "--weights", "no/folder", status=3)[1],
         "--weights no/folder: there is no such folder")


def failures_as_json(run):
    """Standard output with --json is one object, whatever fails and when."""
    (run.folder / "broken.cgraph").write_text("graph g(x: i64) -> i64 { return y }\n")
    for status, words, arguments in [
            (2, "did you mean `--input`?", ["program.cgplan", "--json", "--inptu", "x=3"]),
            (2, "--workers 0: expected a number from 1 to 1024",
             ["program.cgplan", "--workers", "0", "--json"]),
            (2, "several graphs", ["program.cgplan", "--json"]),
            (2, "needs the input x", ["program.cgplan", "--json", "--graph", "add"]),
            (3, "none.cgplan", ["none.cgplan", "--json"]),
            (1, "broken.cgraph does not compile", ["broken.cgraph", "--json", "--input", "x=1"]),
            (3, "none.cgraph does not compile", ["none.cgraph", "--json"]),
            (1, "x equals y", ["program.cgplan", "--json", "--graph", "fail", "--input", "x=1",
                               "--input", "y=1"]),
            (0, None, ["program.cgplan", "--json", "--graph", "add", "--input", "x=[1]"])]:
        out, error = run(*arguments, status=status)
        told = json.loads(out)
        expect(told["exit_code"] == status, f"{arguments}: {out}")
        if words is None:
            expect("error" not in told and error == "", f"{arguments}: {out}{error}")
            continue
        says(told["error"], words)
        says(error, "cgrun: error: ")
    told = json.loads(run("broken.cgraph", "--json", "--input", "x=1", status=1)[0])
    expect([d["code"] for d in told["diagnostics"]] == ["E0301"], str(told))


def batches(run):
    x = np.arange(21, dtype=np.int64)
    np.save(run.folder / "x.npy", x)
    out, error = run.graph("first", "--input", "x=x.npy", "--batch", "x", "--output",
                           "result=y.npy",
                           status=1)
    says(error, "too much", "in slice 2 of 3")
    expect(not (run.folder / "y.npy").exists(), "a failed batch writes nothing")
    _, error = run.graph("add", "--input", "x=x.npy", "--batch", "x", "--output", "result=y.npy")
    expect(np.array_equal(np.load(run.folder / "y.npy"), x + 10), "a batch with a remainder")
    says(error, "3 executions, 0 errors", "p50", "p99", "executions/s")
    for count in (0, 1, 8, 16):
        np.save(run.folder / "x.npy", x[:count])
        run.graph("add", "--input", "x=x.npy", "--batch", "x", "--output", "result=y.npy", "-q")
        expect(np.array_equal(np.load(run.folder / "y.npy"), x[:count] + 10), f"a batch of {count}")
    rows = np.arange(30, dtype=np.float32).reshape(10, 3)
    np.save(run.folder / "x.npy", rows)
    run.graph("total", "--input", "x=x.npy", "--batch", "x", "--output", "twice=t.npy", "--output",
              "all=a.npy")
    expect(np.array_equal(np.load(run.folder / "t.npy"), 2 * rows), "rows joined")
    sums = [rows[0:4].sum(), rows[4:8].sum(), rows[8:].sum()]
    expect(np.load(run.folder / "a.npy").tolist() == sums, "single numbers become a dimension")
    says(run.graph("row", "--input", "x=x.npy", "--input", "y=[1,2]", status=1)[1],
         "--batch slices it")
    np.save(run.folder / "y.npy", np.zeros(10, np.float32))
    run.graph("row", "--input", "x=x.npy", "--input", "y=y.npy", "--batch", "x", "--batch", "y",
              "--output", "result=r.npy")
    expect(np.array_equal(np.load(run.folder / "r.npy"), 2 * rows), "two inputs in step")
    np.save(run.folder / "x.npy", rows[:9])
    says(run.graph("row", "--input", "x=x.npy", "--input", "y=[1,2]", "--batch", "x", status=1)[1],
         "9 rows cannot be cut into slices of 2", "n <= 2")
    _, error = run.graph("row", "--input", "x=x.npy", "--input", "y=[1,2]", status=1)
    says(error, "dimension 0 is 9, expected 2")
    expect("--batch" not in error, "no advice that would be refused", error)
    says(run.graph("count", "--input", "x=1", "--batch", "x", status=2)[1], "no dimension to slice")


def every_pass(run):
    """--every with --batch: each pass is joined, and the passes are stacked."""
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(run.folder / "rows.npy", rows)
    (run.folder / "passes.cgraph").write_text(
        "import std.tensor\nactor A() { state i: f32 = 0.0\n"
        "  method more(x: f32[n, 2]) -> (rows: f32[n, 2], turn: f32) {\n"
        "    i += 1.0\n    return (rows: x + i, turn: i) } }\nplace a = A() on cpu[0]\n"
        "graph g(x: f32[n <= 2, 2]) -> (rows: f32[n, 2], turn: f32) { return a.more(x) }\n")
    run("passes.cgraph", "-q", "--input", "x=rows.npy", "--batch", "x", "-n", "2", "--every",
              "--output", "rows=r.npy", "--output", "turn=t.npy")
    turns = np.array([[[1], [1], [2]], [[3], [3], [4]]])
    expect(np.array_equal(np.load(run.folder / "r.npy"), rows + turns), "the rows of each pass")
    expect(np.load(run.folder / "t.npy").tolist() == [[1, 2], [3, 4]], "a number of each slice")


def repeats(run):
    (run.folder / "sub.cgraph").write_text(
        "import std.tensor\nactor A() { state i: i64 = ones()\n"
        "  method count(x: i64) -> i64 { i += x return i } }\nplace a = A() on cpu[0]\n"
        "graph g(x: i64) -> i64 { return a.count(x) }\n")
    out, error = run.graph("count", "--input", "x=1", "-n", "10", "--warmup", "2", "--json")
    told = json.loads(out)
    # a counts 12 ones from 10, and b adds up what a gives: 20 + 11 + 12 + ... + 22.
    expect(told["outputs"]["result"]["data"] == 20 + sum(range(11, 23)), out)
    expect(told["executions"] == 10 and told["latency_ns"]["p50"] > 0 and told["errors"] == 0, out)
    says(error, "10 executions, 0 errors")
    out, _ = run.graph("count", "--input", "x=1", "-n", "3", "--every", "--json")
    expect(json.loads(out)["outputs"]["result"]["data"] == [31, 43, 56], out)
    run.graph("count", "--input", "x=1", "-n", "3", "--warmup", "1", "--every", "--output",
              "result=every.npy", "-q")
    expect(np.load(run.folder / "every.npy").tolist() == [43, 56, 70], "every execution's output")
    says(run.graph("fail", "--input", "x=3", "--input", "y=3", "-n", "2", "--every", "--output",
                   "result=gap.npy", status=1)[1], "in execution 1 of 2", "no gap")
    expect(not (run.folder / "gap.npy").exists(), "outputs with a gap")
    every_pass(run)
    out, error = run.graph("fail", "--input", "x=3", "--input", "y=3", status=1)
    says(error, "a.fail_if", "program.cgraph:", "x equals y")
    _, error = run.graph("fail", "--input", "x=3", "--input", "y=3", "-n", "5", status=1)
    says(error, "5 executions, 5 errors", "in 5 of 5 executions, the first is number 1")
    expect(error.count("x equals y") == 1, "equal messages are said once")
    _, error = run.graph("fail", "--input", "x=3", "--input", "y=3", "-n", "5", "--warmup", "2",
                         status=1)
    says(error, "x equals y", "in execution 1 of 2 before those that are measured")
    out, _ = run.graph("fail", "--input", "x=3", "--input", "y=3", "--json", status=1)
    expect("x equals y" in json.loads(out)["error"], out)
    run("sub.cgraph", "--input", "x=1", "--profile", "sub.json")
    told = subprocess.run([run.cgc, "simulate", "sub.cgraph", "--profile", "sub.json"],
                          cwd=run.folder, capture_output=True, text=True)
    expect(told.returncode == 0 and told.stderr == "", f"a profile of a run: {told.stderr}")
    run.graph("count", "--input", "x=1", "-n", "20", "--profile", "profile.json")
    profile = json.loads((run.folder / "profile.json").read_text())
    expect(profile["unit"] == "ns" and profile["calls"].get("A.count", 0) > 0, str(profile))
    # Of several instances each one's time too, and cgc takes all of the names.
    calls = profile["calls"]
    expect(min(calls["a.count"], calls["b.count"]) <= calls["A.count"]
           <= max(calls["a.count"], calls["b.count"]), str(profile))
    told = subprocess.run([run.cgc, "simulate", "program.cgplan", "--graph", "count", "--profile",
                           "profile.json"], cwd=run.folder, capture_output=True, text=True)
    expect(told.returncode == 0 and told.stderr == "", f"a profile of instances: {told.stderr}")
    # Times of calls with other shapes; another number of calls alone is no warning.
    (run.folder / "shaped.cgraph").write_text(
        "import std.tensor\nconst T = 1\nconst N = 1\n"
        "actor A() {\n  state w: f32[8, 8] = iota()\n"
        "  method f(x: f32[T, 8]) -> f32[T, 8] { return x @ w }\n}\nplace a = A() on cpu[0]\n"
        "graph g(x: f32[T, 8]) -> [f32[T, 8]; N] { return [a.f(x) for i in 0..N] }\n")
    run("shaped.cgraph", "--input", "x=[[1,1,1,1,1,1,1,1]]", "--profile", "shaped.json")
    for flags, warning in ((("-D", "N=2"), ""), (
            ("-D", "T=3"),
            "cgc: warning: shaped.json: `A.f` was not measured with the shapes that the program's "
            "calls have; the profile is of a run with T = 1, and the program has T = 3; measure "
            "the program with `cgrun --profile`\n")):
        told = subprocess.run([run.cgc, "simulate", "shaped.cgraph", *flags, "--profile",
                               "shaped.json"], cwd=run.folder, capture_output=True, text=True)
        expect(told.returncode == 0 and told.stderr == warning, f"{flags}: {told.stderr}")
    # Where it was measured, and a note where that was another machine.
    profile = json.loads((run.folder / "shaped.json").read_text())
    machine = profile["measured"]["machine"]
    expect(machine["cores"] == len(os.sched_getaffinity(0)) and "gpus" not in machine, machine)
    here = f"{machine['cpu']}, {machine['cores']} core{'s' * (machine['cores'] != 1)}"
    for changed, there in (({"cores": 1000}, f"{machine['cpu']}, 1000 cores"),
                           ({"cpu": "Z80", "gpus": ["VGA"]}, f"Z80, {here.split(', ')[-1]}, VGA"),
                           ({}, None)):
        profile["measured"]["machine"] = machine | changed
        (run.folder / "there.json").write_text(json.dumps(profile))
        for command in (["compile"], ["simulate"], ["viz", "-o", "there.svg"]):
            for flags in ([], ["-q"]):
                line = [run.cgc, *command, "shaped.cgraph", *flags, "--profile", "there.json"]
                told = subprocess.run(line, cwd=run.folder, capture_output=True, text=True)
                note = (f"cgc: note: there.json: measured on another machine ({there}) than this "
                        f"one ({here}); for times of this one measure here with `cgrun --profile`")
                expect(told.returncode == 0, told.stderr)
                expect((note in told.stderr) == (there is not None and not flags), told.stderr)
                expect(there or "note: there.json" not in told.stderr, told.stderr)
    says(run.graph("add", "--input", "x=[1]", "-v")[1], "worker", "0 allocations after the start")
    told = json.loads(out)
    expect(told["latency_ns"] is None and told["errors"] == 1, "a failed run has no latency")
    # What cannot be written is found out before anything runs.
    for flags in (["--profile", "no/folder.json"], ["--profile", "."],
                  ["--output", "result=no/x.npy"]):
        start = time.monotonic()
        _, error = run.graph("nap", "--input", "ms=20000", *flags, status=3)
        says(error, "cgrun: error: cannot write ")
        expect(time.monotonic() - start < 10, f"{flags} is found out after the run")
    _, error = run.graph("count", "--input", "x=1", "-n", "1")
    says(error, "1 execution, 0 errors")


def traces(run):
    """Traces: each lane is a thread, with one thing at a time, in every execution that counts."""
    assert traces_support.self_test() > 5
    for flags, executions in (([], {0}), (["-n", "5", "--warmup", "2"], {2, 3, 4, 5, 6}),
                              (["-n", "4", "--workers", "1", "--inflight", "1"], {0, 1, 2, 3}),
                              (["-n", "4", "--workers", "3"], {0, 1, 2, 3})):
        run.graph("count", "--input", "x=1", *flags, "--trace", "t.json")
        text = (run.folder / "t.json").read_text()
        expect(traces_support.faults(text) == [], f"{flags}: {traces_support.faults(text)}")
        events = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X"]
        expect({e["args"]["execution"] for e in events} == executions, f"{flags}: executions")
        for kernel in ("a.count", "b.count"):
            of = [e for e in events if e["cat"] == "method" and e["name"] == kernel]
            of = of or [e for e in events if e["cat"] == "call" and f"of {kernel}" in e["name"]]
            expect(len(of) >= len(executions), f"{flags}: {len(of)} events of {kernel}")
    run.graph("nap", "--input", "ms=60", "--trace", "t.json", "--profile", "p.json")
    events = json.loads((run.folder / "t.json").read_text())["traceEvents"]
    slept = [e["dur"] for e in events if e["ph"] == "X" and "nap" in e["name"]]
    expect(max(slept) >= 60000, f"a nap of 60 ms in microseconds: {slept}")
    # What a receive waits for its sender is not time in which anything is received.
    (run.folder / "late.cgraph").write_text(
        "import std.tensor\nimport std.debug\nactor A() {\n"
        "  method nap(x: i64) -> i64 { sleep(80) return x }\n"
        "  method next(x: i64) -> i64 { return x + 1 } }\n"
        "place a = A() on gpu[0]\nplace b = A() on gpu[1]\n"
        "graph g(x: i64) -> i64 { return b.next(a.nap(x)) }\n")
    run("late.cgraph", "-q", "--input", "x=1", "--workers", "3", "--trace", "t.json")
    events = json.loads((run.folder / "t.json").read_text())["traceEvents"]
    waited = [(e["args"]["waited_us"], e["dur"]) for e in events
              if e["ph"] == "X" and e["name"].startswith("receive ")]
    expect(max(waited, default=(0, 0))[0] > 40000, f"receives and their waits: {waited}")
    expect(all(dur - wait < 30000 for wait, dur in waited), f"receives and their waits: {waited}")
    # A profile says the same of it; one of a warm run leaves the first executions out.
    profile = json.loads((run.folder / "p.json").read_text())
    expect(profile["calls"]["A.nap"] >= 60e6, str(profile))
    (run.folder / "warm.cgraph").write_text(
        "import std.tensor\nimport std.debug\nactor A() { state ms: i64 = 300\n"
        "  method nap() -> i64 { sleep(ms) ms = 0 return 1 } }\nplace a = A() on cpu[0]\n"
        "graph g() -> i64 { return a.nap() }\n")
    for warmup, least, most in (([], 50e6, 500e6), (["--warmup", "1"], 0, 40e6)):
        run("warm.cgraph", "-n", "4", *warmup, "--profile", "p.json")
        mean = json.loads((run.folder / "p.json").read_text())["calls"]["A.nap"]
        expect(least <= mean <= most, f"{warmup}: {mean}")
    says(run.graph("nap", "--input", "ms=1", "--trace", "no/t.json", status=3)[1], "cannot write")
    traces_of_failed_runs(run)


def long_traces(run):
    """A trace of many executions has the first ones, whole, and says how many."""
    _, error = run.graph("count", "--input", "x=1", "-n", "60000", "--trace", "t.json")
    said = re.search(r"note: t\.json has the first (\d+) executions alone", error)
    expect(said is not None, f"a long trace: {error}")
    text = (run.folder / "t.json").read_text()
    expect(len(text) < 120_000_000, f"a trace of {len(text)} bytes")
    executions = collections.Counter(e["args"]["execution"] for e in json.loads(text)["traceEvents"]
                                     if "execution" in e.get("args", {}))
    expect(sorted(executions) == list(range(int(said[1]))), f"{len(executions)}, not {said[1]}")
    expect(len(set(executions.values())) == 1, f"not all are whole: {executions.most_common(3)}")


def traces_of_failed_runs(run):
    """What was measured until a run failed is written and marked; of no run, it is said."""
    (run.folder / "fails.cgraph").write_text(
        "import std.tensor\nactor A() { state w: f32[4] = ones()\n"
        "  method at(i: i64) -> f32[1] { return slice(w, dim: 0, from: i, length: 1) } }\n"
        "place a = A() on cpu[0]\ngraph g(i: i64) -> f32[1] { return a.at(i) }\n")
    files = ("--trace", "f.json", "--profile", "fp.json")
    ended = {}
    for index in (1, 9):
        _, error = run("fails.cgraph", "-n", "3", "--input", f"i={index}", *files,
                       status=1 if index == 9 else 0)
        ended[index] = [json.loads((run.folder / "f.json").read_text())["otherData"].get("run"),
                        json.loads((run.folder / "fp.json").read_text()).get("run")]
        told = "note: fp.json and f.json have what was measured until the run failed"
        expect((told in error) == (index == 9), error)
    expect(ended == {1: [None, None], 9: ["failed", "failed"]}, ended)
    # Outputs that are not written are named, whether the run goes on after the failure or not.
    for flags, words in ((["-n", "3", "--input", "i=9"], "3 executions, the first is number 1"),
                         (["-n", "1", "--input", "i=9"], "a.at"),
                         (["-n", "2", "--every", "--input", "i=9"],
                          "in execution 1 of 2; --every leaves no gap\n1 of 2 executions is over, "
                          "1 of them has failed")):
        out, error = run("fails.cgraph", *flags, "--json", "--output", "result=f.npy", status=1)
        says(error, words, "note: f.npy is not written, since the run has failed\n")
        expect(not (run.folder / "f.npy").exists() and json.loads(out)["outputs"] == {}, out)
    done = subprocess.run([run.cgc, "simulate", "-q", "fails.cgraph", "--profile", "fp.json"],
                          cwd=run.folder, capture_output=True, text=True)
    expect(done.returncode == 0, done.stderr)
    (run.folder / "f.json").unlink()
    run("fails.cgraph", "--input", "j=1", "--trace", "f.json", status=2)
    expect(not (run.folder / "f.json").exists(), "a trace of nothing")
    # A kernel that does not return: another thread writes what there is.
    run.graph("nap", "--input", "ms=60000", "--timeout", "0.3", "--trace", "f.json", status=1)
    expect(json.loads((run.folder / "f.json").read_text())["otherData"]["run"] == "failed",
           "the trace of a run that was timed out")


def sources(run):
    out, _ = run("program.cgraph", "--graph", "add", "--input", "x=[1]")
    expect(out == "result: i64[1] = [11]\n", out)
    for flags in (["-D", "K=5"], ["-I", "."], ["--schedule", "program"], ["--lanes", "peer"],
                  ["--overlap"], ["--no-overlap"], ["--topology", "dgx"],
                  ["--no-warn", "W0301"]):
        says(run.graph("add", "--input", "x=[1]", *flags, status=2)[1],
             f"{flags[0]} needs a .cgraph: a plan is already compiled")
    (run.folder / "const.cgraph").write_text(
        "import std.tensor\nconst K = 1\ngraph g(x: i64) -> i64 { return x + K }\n")
    out, error = run("const.cgraph", "--input", "x=1", "-D", "K=5", "--no-overlap", "--inflight",
                     "2")
    expect(out == "result: i64 = 6\n" and error == "", out + error)
    (run.folder / "unread.cgraph").write_text("graph g(x: i64, y: i64) -> i64 { return x }\n")
    says(run("unread.cgraph", "--input", "x=1", "--input", "y=1")[1], "[W0301]")
    out, error = run("unread.cgraph", "--input", "x=1", "--input", "y=1", "--no-warn", "W0301")
    expect(out == "result: i64 = 1\n" and error == "", out + error)
    (run.folder / "broken.cgraph").write_text("graph g(x: i64) -> i64 { return y }\n")
    says(run("broken.cgraph", "--input", "x=1", status=1)[1], "broken.cgraph:1:33", "[E")
    run("none.cgraph", status=3)
    (run.folder / "sub").mkdir()
    (run.folder / "sub" / "weights.cgraph").write_text(
        'import std.tensor\nactor A() { state w: f32[2] = load("w.safetensors", "w")\n'
        "  method get() -> f32[2] { return w } }\nplace a = A() on cpu[0]\n"
        "graph g() -> f32[2] { return a.get() }\n")
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    data = len(header).to_bytes(8, "little") + header + np.array([1.5, -2], np.float32).tobytes()
    (run.folder / "sub" / "w.safetensors").write_bytes(data)
    expect(run("sub/weights.cgraph")[0] == "result: f32[2] = [ 1.5 -2. ]\n",
           "weights beside the source")
    says(run("sub/weights.cgraph", "--weights", ".", status=3)[1], "w.safetensors", "a.state w")
    source = run.folder / "sub" / "weights.cgraph"
    # What a saved state has, no file of weights is needed for; of another state it is, and of one
    # that is computed of what was loaded.
    run("sub/weights.cgraph", "--save-state", "kept.safetensors")
    kept = ("--weights", ".", "--load-state", "kept.safetensors")
    expect(run("sub/weights.cgraph", *kept)[0] == "result: f32[2] = [ 1.5 -2. ]\n",
           "a saved state instead of weights")
    expect(run("sub/weights.cgraph", *kept, "--processes", "device")[0]
           == "result: f32[2] = [ 1.5 -2. ]\n", "a saved state instead of weights of a process")
    whole = source.read_text()
    for more in ('state v: f32[2] = load("w.safetensors", "w")',
                 'state v: f32[2] = load("w.safetensors", "w") * 2.0'):
        source.write_text(whole.replace("  method", f"  {more}\n  method").replace("{ return w",
                                                                                  "{ return w + v"))
        says(run("sub/weights.cgraph", *kept, status=3)[1], "cannot read ./w.safetensors")
        says(run("sub/weights.cgraph", "--weights", ".", status=3)[1], "a.state w (",
             "; w.safetensors is also loaded by a.state v (sub/weights.cgraph:3:")
    source.write_text(whole.replace('"w")', '"W")') +
                      "place b[i in 0..2] = A() on cpu[i]\n"
                      "graph more() -> (f32[2], f32[2]) { return (b[0].get(), b[1].get()) }\n")
    says(run("sub/weights.cgraph", "--call", "g", status=1)[1],
         "; `W` of w.safetensors is also loaded by b[0].state w (sub/weights.cgraph:2:19) and 1 "
         "other state")
    source.write_text(whole.replace('"w")', '"W")'))
    says(run("sub/weights.cgraph", status=1)[1], "a.state w (sub/weights.cgraph:2:19): ",
         "has no tensor `W` (did you mean `w`?)")
    shards(run, data)


def shards(run, data):
    """A checkpoint in several files, with an index as Hugging Face writes it: the program names the
    index, or what the whole checkpoint would be called."""
    folder = run.folder / "shards"
    folder.mkdir()
    index = folder / "model.safetensors.index.json"
    names = {"w": "model-00001-of-00002.safetensors", "v": "model-00002-of-00002.safetensors"}

    def program(file, tensor="v"):
        (folder / "p.cgraph").write_text(
            f'import std.tensor\nactor A() {{ state w: f32[2] = load("{file}", "w")\n'
            f'  state v: f32[2] = load("{file}", "{tensor}")\n'
            "  method get() -> f32[2] { return w - v } }\nplace a = A() on cpu[0]\n"
            "graph g() -> f32[2] { return a.get() }\n")
    index.write_text(json.dumps({"metadata": {"total_size": 16}, "weight_map": names}))
    (folder / names["w"]).write_bytes(data)
    (folder / names["v"]).write_bytes(data.replace(b'"w"', b'"v"')[:-8] +
                                      np.array([0.5, 1], np.float32).tobytes())
    for file in ("model.safetensors", index.name):
        program(file)
        for flags in ([], ["--processes", "2"]):
            expect(run("shards/p.cgraph", *flags)[0] == "result: f32[2] = [ 1. -3.]\n", file)
    program("model.safetensors", "u")
    says(run("shards/p.cgraph", status=1)[1], f"{index.name}: its `weight_map` has no tensor `u`")
    program("model.safetensors")
    for content, *words in [
            ("[", "no index of shards: it is no JSON object"),
            ('{"w": 1}', "it has no `weight_map`"),
            (json.dumps({"weight_map": {**names, "v": 7}}), "the file of tensor `v` is 7"),
            (json.dumps({"weight_map": {**names, "v": "../v.safetensors"}}), "beside the index"),
            (json.dumps({"weight_map": {**names, "v": ".."}}), "beside the index"),
            ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "Git LFS")]:
        index.write_text(content)
        says(run("shards/p.cgraph", status=1)[1], index.name, *words)
    index.write_text(json.dumps({"weight_map": {**names, "v": "gone.safetensors"}}))
    says(run("shards/p.cgraph", status=3)[1], "gone.safetensors", "weight files are looked up")
    (folder / "model.safetensors").write_bytes(data)  # the whole checkpoint goes first
    says(run("shards/p.cgraph", status=1)[1], "model.safetensors has no tensor `v`")


def reports_while_loading(run):
    """SIGUSR1 before anything runs: what is being loaded."""
    os.mkfifo(run.folder / "slow.cgplan")
    process = run.start("slow.cgplan", "--graph", "nap", "--input", "ms=1", "--trace", "i.json")
    time.sleep(0.5)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    expect(process.returncode == 130, f"exit code {process.returncode}\n{error}")
    says(error.decode(), "nothing runs yet: loading slow.cgplan, reading it for ",
         "i.json is not written")


def interrupts(run):
    for sent in (signal.SIGINT, signal.SIGTERM):
        process = run.start("program.cgplan", "--graph", "nap", "--input", "ms=400", "-n", "1000",
                            "--trace", "i.json", "--output", "result=i.npy")
        time.sleep(0.6)
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.2)
        process.send_signal(sent)
        start = time.monotonic()
        _, error = process.communicate(timeout=20)
        expect(process.returncode == 130, f"exit code {process.returncode} after {sent}\n{error}")
        expect(time.monotonic() - start < 5, f"took {time.monotonic() - start} s to end")
        says(error.decode(), "a.nap", "interrupted; ", " of 1000 executions ", "one is lost\n",
             "i.npy is not written, since the run was interrupted")
        expect(not (run.folder / "i.npy").exists(), "results of an interrupted run are written")
        expect(json.loads((run.folder / "i.json").read_text())["otherData"]["run"] ==
               "interrupted", "the trace of a run that was interrupted")
    # Twice: at once, although a kernel still runs, which is said before.
    process = run.start("program.cgplan", "--graph", "nap", "--input", "ms=60000")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    told = b""
    while b"interrupt again" not in told:
        told += os.read(process.stderr.fileno(), 1000)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    expect(process.returncode == 130, f"exit code {process.returncode} after two interrupts")
    # Two in a row, as timeout(1) sends them to a process and to its group, are one.
    process = run.start("program.cgplan", "--graph", "nap", "--input", "ms=50", "-n", "1000")
    time.sleep(0.5)
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=20)
    expect(process.returncode == 130, f"exit code {process.returncode} after SIGTERM thrice")
    says(error.decode(), "error: interrupted; ", " of 1000 executions ")
    expect("twice" not in error.decode(), error.decode())
    # Of a graph that repeats, rounds are counted.
    (run.folder / "endless.cgraph").write_text(
        "import std.tensor\nactor A() { method f(x: f32) -> f32 { return x + 1.0 } }\n"
        "place a = A() on cpu[0]\ngraph g(x: f32) -> f32 {\n  var y = x\n"
        "  repeat until y < 0.0 limit 1000000000 {\n    y = a.f(y)\n    yield y\n  }\n}\n")
    process = run.start("endless.cgraph", "--input", "x=1", "--stream", "result")
    process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    told = re.search(r"error: interrupted; [1-9]\d* rounds? (is|are) over\n", error.decode())
    expect(told is not None, error.decode())
    # Before anything runs, here while an input is awaited: with --json that is said, too.
    process = run.start("program.cgplan", "--graph", "add", "--input", "x=-", "--json",
                        stdin=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    out, error = process.stdout.read(), process.stderr.read()
    expect(process.returncode == 130, f"exit code {process.returncode} before the run\n{error}")
    said = json.loads(out)
    expect(said["exit_code"] == 130 and "interrupted" in said["error"], f"said {out}")
    # While cgc compiles.
    (run.folder / "long.cgraph").write_text(
        "import std.tensor\ngraph g(x: i64) -> i64 {\n  var h = x\n"
        "  for i in 0..200000 { h = h + 1 }\n  return h\n}\n")
    for send in (lambda process: process.send_signal(signal.SIGTERM),
                 lambda process: [os.killpg(process.pid, signal.SIGTERM) for _ in range(2)],
                 lambda process: os.killpg(process.pid, signal.SIGKILL)):
        process = run.start("long.cgraph", "--input", "x=1", start_new_session=True)
        time.sleep(0.2)
        send(process)
        _, error = process.communicate(timeout=60)
        expect(process.returncode in (130, -signal.SIGKILL),
               f"exit code {process.returncode} while compiling\n{error.decode()}")
        expect("twice" not in error.decode() and "bug" not in error.decode(), error.decode())
        expect(not list(run.temporary.iterdir()), f"left {list(run.temporary.iterdir())}")
    # While a plan is awaited that nobody writes.
    os.mkfifo(run.folder / "pipe.cgplan")
    process = run.start("pipe.cgplan", "--graph", "add", "--input", "x=[1]")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    _, error = process.communicate(timeout=20)
    expect(process.returncode == 130, f"exit code {process.returncode} before the plan")
    expect(time.monotonic() - start < 5, "an interrupt before the plan takes long")
    says(error.decode(), "interrupted before the first execution")


def deadlines(run):
    start = time.monotonic()
    _, error = run.graph("impatient", "--input", "ms=20000", "--workers", "1", status=1)
    expect(time.monotonic() - start < 10, "a graph's timeout ends the run")
    says(error, "timeout", "a.nap")
    run.graph("impatient", "--input", "ms=10")
    # So does a kernel that never returns: with one worker it holds the thread that waits for it.
    for workers in ("1", "2"):
        start = time.monotonic()
        out, error = run.graph("nap", "--input", "ms=1000000000", "--workers", workers, "--timeout",
                               "1",
                               "--json", status=1)
        expect(time.monotonic() - start < 10, "--timeout ends a kernel that never returns")
        says(error, "nothing has moved for 1 s", "a.nap", "is running")
        expect("nothing has moved" in json.loads(out)["error"], out)
    # The report is drawn where that is asked for, but for states that are not initialised.
    _, error = run.graph("nap", "--input", "ms=1000000000", "--timeout", "1", "--wait-graph",
                         "w.dot", status=1)
    says(error, "what has work left is ", "which is inside a.nap of execution 1 of `nap`",
         "note: w.dot shows who waits for whom")
    says((run.folder / "w.dot").read_text(), "digraph waits {", "a.nap", "peripheries=2")
    says(run.graph("nap", "--input", "ms=1", "--wait-graph", "w.txt", status=2)[1],
         "--wait-graph w.txt: name a file that ends in .dot, .svg, .png or .pdf")
    run.graph("nap", "--input", "ms=1", "--wait-graph", "none/w.dot", status=3)
    (run.folder / "endless.cgraph").write_text(
        "import std.tensor\nimport std.debug\nfn nap(ms: i64) -> i64 { sleep(ms) return ms }\n"
        "actor A() { state s: i64 = nap(1000000000) method get() -> i64 { return s } }\n"
        "place a = A() on cpu[0]\ngraph g() -> i64 { return a.get() }\n")
    start = time.monotonic()
    _, error = run("endless.cgraph", "--timeout", "1", "--wait-graph", "e.dot", status=1)
    expect(time.monotonic() - start < 10, "--timeout ends a start that never ends")
    says(error, "nothing has moved for 1 s", "of the initialisation", "is running",
         "note: e.dot is not written")


def slow_files(run):
    """No pipe outlasts --timeout, and a process that is stopped has not been slow."""
    os.mkfifo(run.folder / "pipe.npy")
    os.mkfifo(run.folder / "pipe.cgplan")
    os.mkfifo(run.folder / "w.safetensors")
    (run.folder / "loads.cgraph").write_text(
        'import std.tensor\nactor A() { state w: f32[2] = load("w.safetensors", "w")\n'
        "  method get() -> f32[2] { return w } }\nplace a = A() on cpu[0]\n"
        "graph g() -> f32[2] { return a.get() }\n")
    for line, words in ((["program.cgplan", "--graph", "add", "--input", "x=pipe.npy"],
                         "cannot read pipe.npy: nothing has come for 1 s"),
                        (["pipe.cgplan"], "pipe.cgplan: nothing has come for 1 s"),
                        (["loads.cgraph"], "w.safetensors is no regular file")):
        start = time.monotonic()
        says(run(*line, "--timeout", "1", status=1)[1], words)
        expect(time.monotonic() - start < 10, f"{line} outlasts its timeout")
    # One that comes late is read.
    process = run.start("program.cgplan", "--graph", "add", "--input", "x=pipe.npy")
    time.sleep(0.3)
    with open(run.folder / "pipe.npy", "wb") as pipe:
        buffer = io.BytesIO()
        np.save(buffer, np.array([1, 2], np.int64))
        pipe.write(buffer.getvalue())
    out, _ = process.communicate(timeout=20)
    expect(out == b"result: i64[2] = [11 12]\n", f"through a pipe: {out}")
    # So short a time is not for ever.
    start = time.monotonic()
    run.graph("nap", "--input", "ms=30000", "--timeout", "4e-10", status=1)
    expect(time.monotonic() - start < 20, "--timeout 4e-10 is for ever")
    process = run.start("program.cgplan", "--graph", "nap", "--input", "ms=500", "-n", "6",
                        "--timeout", "1.5")
    time.sleep(0.3)
    for _ in range(2):
        process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.2)
    _, error = process.communicate(timeout=60)
    expect(process.returncode == 0, f"stopped for a while: {process.returncode}\n{error.decode()}")


def many_failures(run):
    """Different messages are kept up to a number, and a product of flags does not wrap around."""
    (run.folder / "many.cgraph").write_text(
        "import std.tensor\nactor A() {\n  state i: i64 = 100\n  state t: f32[4, 4] = zeros()\n"
        "  method tick() -> i64 { i += 1 return i }\n"
        "  method get(i_: i64) -> f32[k <= 4, 4] {\n"
        "    return slice(t, dim: 0, from: i_, length: 1)\n  }\n}\nplace a = A() on cpu[0]\n"
        "graph g() -> f32[k <= 4, 4] { return a.get(a.tick()) }\n")
    out, error = run("many.cgraph", "-n", "300", "--json", status=1)
    told = json.loads(out)
    expect(told["errors"] == 300, out)
    firsts = [failure["first"] for failure in told["failures"]]
    expect(firsts == sorted(firsts), f"in the order of appearance: {firsts}")
    expect(len(firsts) <= 16, f"{len(firsts)} messages")
    expect(sum(f["count"] for f in told["failures"]) + told["other_failures"] == 300, out)
    expect(error.count("cgrun: error: ") == len(firsts) + (told["other_failures"] > 0), error)
    expect(told["other_failures"] > 0, f"the messages are equal: {error}")
    says(error, "more failed executions with messages other than these 16")
    (run.folder / "empty.cgraph").write_text(
        "graph g(x: f32[2, 0]) -> f32[2, 0] { return x }\n")
    np.save(run.folder / "x.npy", np.zeros((1 << 25, 0), np.float32))
    says(run("empty.cgraph", "--input", "x=x.npy", "--batch", "x", "-n", str(1 << 40),
             status=2)[1], "-n 1099511627776: so many passes over 16777216 slices")


def meant_otherwise(run):
    """Flags of other tools are answered with the flag to use here."""
    np.save(run.folder / "x.npy", np.ones((4, 3), np.float32))
    np.savez(run.folder / "x.npz", x=np.ones((4, 3), np.float32))
    (run.folder / "x.csv").write_text("1,2\n")
    (run.folder / "w.safetensors").write_bytes(b"")
    x = ("--input", "x=x.npy")
    for arguments, words in (
            (["--input", "x=x.npz"], 'np.save("x.npy", np.load("x.npz")["x"])'),
            (["--input", "x=x.csv"], "x.csv is a file of another kind"),
            (["--input", "x", "x.npy"], "--input x x.npy: write --input x=x.npy, in one word"),
            (["--input", "x", "=", "x.npy"], "--input x = x.npy: write --input x=x.npy, in one"),
            (["--input", "x=", "x.npy"], "--input x= x.npy: write --input x=x.npy, in one word"),
            (["--input", "x", "=x.npy"], "--input x =x.npy: write --input x=x.npy, in one word"),
            (["--input", " = 3"], "--input  = 3: expected NAME="),
            ([*x, "--batch", "4"], "--batch names the input that is cut into slices"),
            ([*x, "--batch-size", "4"], "cgrun --batch NAME"), ([*x, "-O3"], "no levels of"),
            ([*x, "--threads", "4"], "cgrun --workers N"),
            ([*x, "--each"], "cgrun --every gives"),
            ([*x, "--topology", "dgx"], "--topology needs a .cgraph"),
            ([*x, "--weights", "w.safetensors"], "it is a file; pass the folder")):
        says(run.graph("total", *arguments, status=2)[1], words)
    (run.folder / "list.cgraph").write_text(
        "import std.tensor\n"
        "graph g(x: f32[2]) -> [f32[2]; 3] { return [x, x * 2.0, x * 3.0] }\n"
        "graph nested(x: f32[2]) -> [[f32[2]; 1]; 1] { return [[x]] }\n")
    run("list.cgraph", "--graph", "g", "--input", "x=[1,2]", "--output", "result=y.npy")
    says(run("list.cgraph", "--graph", "nested", "--input", "x=[1,2]", "--output", "result=z.npy",
             status=2)[1], "has no such output", "it has result[0][0]")
    expect(not (run.folder / "z.npy").exists(), "written all the same")
    expect(np.load(run.folder / "y.npy").tolist() == [[1, 2], [2, 4], [3, 6]], "a list as one file")
    _, error = run("list.cgraph", "--graph", "g", "--input", "x=[1,2]", "-n", "3")
    says(error, "3 executions, 0 errors, ", "s, ", " executions/s; latency p50")
    for word, words in (("run", "`cgrun FILE` runs"), ("build", "`cgc compile FILE`"),
                        ("check -O3 x.cgraph", "no levels of optimisation"),
                        ("compile --batch-size 4 x.cgraph", "cgrun --batch NAME"),
                        ("compile --inputs x.cgraph", "there is no flag `--inputs`")):
        done = subprocess.run([run.cgc, *word.split()], capture_output=True, text=True)
        expect(done.returncode == 2, f"cgc {word}: {done.returncode}")
        says(done.stderr, words)
    for code in ("507", "e0507", "E507"):
        done = subprocess.run([run.cgc, "explain", code], capture_output=True, text=True)
        expect(done.returncode == 0 and done.stdout.startswith("E0507: "), f"explain {code}")


def printed_as_numpy(run):
    """Arrays are printed in the characters that NumPy prints, seeded ones of all magnitudes."""
    dtypes = {"f32": np.float32, "f64": np.float64}
    (run.folder / "print.cgraph").write_text("".join(
        f"graph g_{name}(x: {name}[n <= 8, m <= 8]) -> {name}[n, m] {{ return x }}\n"
        for name in dtypes))
    subprocess.run([run.cgc, "compile", "print.cgraph", "-q"], cwd=run.folder, check=True)
    rng = np.random.default_rng(1)
    arrays = [[0.999353, -1.99872, 0.498533], [1, 2, 3], [0.1, 0.2, 1 / 3], [np.nan, 1, -np.inf],
              [0, 0], [-0.0, 5], [1e-5, 1], [1e8, 1], [99999, 1], [1e-4, 0.1], [1001, 1], [1000, 1],
              [np.inf, np.nan], [65504, 1.5], [1e30, 1e-30], [123456.789, 0.5]]
    for _ in range(20):
        arrays.append(rng.normal(size=4) * 10.0 ** rng.integers(-6, 7))
        arrays.append(rng.normal(size=4) * 10.0 ** rng.integers(-3, 4, size=4))
        arrays.append(rng.integers(-2000, 2000, size=5) / 8)
    for name, dtype in dtypes.items():
        for array in arrays:
            with np.errstate(over="ignore"):
                x = np.array(array, dtype)
            x = np.stack([x, x[::-1]])
            np.save(run.folder / "x.npy", x)
            out, _ = run("print.cgplan", "--graph", f"g_{name}", "--input", "x=x.npy")
            wanted = np.array2string(x, max_line_width=100)
            expect(out.split("=\n", 1)[1] == wanted + "\n", f"{name}:\n{out}NumPy:\n{wanted}")


def device_maps(run):
    """Logical devices bound to cores; what is not there is refused by name."""
    out, error = run.graph("count", "--input", "x=1", "--device-map", "cpu[0]=cpu:0,gpu[1]=cpu:0",
                           "-v")
    says(out, "= 31")
    says(error, "1 worker,")
    says(run.graph("count", "--input", "x=1", "--device-map", "gpu[1]=cpu:0")[0], "= 31")
    says(run.graph("count", "--input", "x=1", "--device-map", "gpu[1]=cpu:60000", status=3)[1],
         "--device-map gpu[1]=cpu:60000: this machine has", "cores")
    for value, *words in [("gpu[0]=cpu:0", "no device `gpu[0]`", "cpu[0], gpu[1]"),
                          ("cpu[0]=cuda:0", "cpu[0] is no gpu"),
                          ("gpu[1]=cpu:x", "`cpu:x` is no physical device"),
                          ("gpu[1]=cpu:-1", "no physical device"),
                          ("gpu[1]=gpu:0", "no physical device"),
                          ("caller=cpu:0", "no device `caller`"),
                          ("gpu[1]", "LOGICAL=PHYSICAL"),
                          ("gpu[1]=cpu:0,", "LOGICAL=PHYSICAL"),
                          ("gpu[1]=cpu:0,gpu[1]=cpu:1", "contradict")]:
        says(run.graph("count", "--input", "x=1", "--device-map", value, status=2)[1],
             "--device-map", *words)
    says(run.graph("count", "--input", "x=1", "--device-map", "gpu[1]=cpu:0", "--workers", 2,
                   status=2)[1], "--device-map excludes --workers")

    def compiles(value):
        return subprocess.run([run.cgc, "compile", "program.cgraph", "-o", "mapped.cgplan",
                               "--device-map", value], cwd=run.folder, capture_output=True,
                              text=True)
    expect(compiles("cpu[0]=cpu:7,gpu[1]=cpu:7").returncode == 0, "cgc --device-map")
    listing = subprocess.run([run.cgc, "plan", "mapped.cgplan"], cwd=run.folder,
                             capture_output=True,
                             text=True).stdout
    expect("worker 0" in listing and "worker 1" not in listing, "one worker in the plan")
    says(run("mapped.cgplan", "--graph", "count", "--input", "x=1")[0], "= 31")
    unknown = compiles("gpu[5]=cpu:0")
    expect(unknown.returncode == 2 and "no device `gpu[5]`" in unknown.stderr,
           "cgc: unknown device")


def more_workers_than_cores(run):
    """A note says what it costs, if they were asked for."""
    few = sorted(os.sched_getaffinity(0))[:2]
    (run.folder / "busy.cgraph").write_text(
        "import std.tensor\nactor A() { method f(x: i64) -> i64 { return x + 1 } }\n"
        "place a[i in 0..8] = A() on cpu[i]\n"
        "graph g(x: i64) -> [i64; 8] { return [p.f(x) for p in a] }\n")
    for cores in range(1, len(few) + 1):
        def noted(*flags, cores=cores):
            done = subprocess.run(
                [run.cgrun, "busy.cgraph", "--input", "x=1", *flags], cwd=run.folder,
                capture_output=True, text=True, check=True, timeout=60,
                preexec_fn=lambda: os.sched_setaffinity(0, few[:cores]))
            expect(done.stdout.count("= 2") == 8, done.stdout)
            return [line for line in done.stderr.splitlines() if "workers on" in line]
        lines = noted("--workers", "4")
        expect(len(lines) == 1, f"not one note: {lines}")
        says(lines[0], f"cgrun: note: 4 workers on {cores} core", "take turns",
             "leave out --workers")
        for flags in ([], ["-q", "--workers", "4"], ["--workers", str(cores)]):
            expect(not noted(*flags), f"a note with {flags} on {cores}: {noted(*flags)}")


def lost_output(run):
    """No input is overwritten, no file written twice, and a full disk never goes unnoticed."""
    def cgc(*arguments):
        return subprocess.run([run.cgc, *arguments], cwd=run.folder, capture_output=True, text=True)
    for line in (["compile", "program.cgraph", "-o", "./program.cgraph"],
                 ["viz", "program.cgplan", "--graph", "add", "-o", "program.cgplan"],
                 ["plan", "program.cgplan", "-o", "program.cgplan"]):
        done = cgc(*line)
        expect(done.returncode == 2, f"{line} exits with {done.returncode}")
        says(done.stderr, "is the file that is read")
    expect((run.folder / "program.cgraph").read_text() == PROGRAM, "the program was overwritten")
    (run.folder / "library.cgraph").write_text("fn one() -> int { return 1 }\n")
    importing = "import library\n" + PROGRAM
    (run.folder / "importing.cgraph").write_text(importing)
    np.save(run.folder / "x.npy", np.ones((2, 3), np.float32))
    (run.folder / "other").symlink_to(run.folder)
    os.link(run.folder / "program.cgraph", run.folder / "linked")
    kept = {name: (run.folder / name).read_bytes() for name in
            ("program.cgraph", "program.cgplan", "library.cgraph", "x.npy", "importing.cgraph")}
    for line in (["compile", "program.cgraph", "--emit", "plan=program.cgraph"],
                 ["compile", "program.cgraph", "-o", "o.cgplan", "--emit", "plan=./o.cgplan"],
                 ["compile", "importing.cgraph", "-o", "library.cgraph"],
                 ["compile", "importing.cgraph", "--emit", "graph=other/library.cgraph"],
                 ["compile", "program.cgraph", "-o", "linked"],
                 ["simulate", "program.cgplan", "--graph", "add", "--trace",
                  "other/program.cgplan"]):
        done = cgc(*line)
        expect(done.returncode == 2, f"{line} exits with {done.returncode}")
        says(done.stderr, "name another one")
    total = ("--graph", "total", "--input", "x=x.npy")
    for line, words in (
            (["program.cgraph", *total, "--profile", "program.cgraph"], "--profile program.cgraph"),
            (["program.cgplan", *total, "--trace", "./program.cgplan"], "--trace ./program.cgplan"),
            (["program.cgplan", *total, "--trace", "other/x.npy"], "is the file that is read as "
             "--input x"),
            (["program.cgplan", *total, "--output", "twice=x.npy"], "--output twice=x.npy"),
            (["program.cgplan", *total, "--output", "twice=q.npy", "--output", "all=./q.npy"],
             "--output twice goes to that file already"),
            (["program.cgplan", *total, "--output", "twice=q.npy", "--output", "all=other/q.npy"],
             "--output twice goes to that file already"),
            (["program.cgplan", *total, "--profile", "q", "--trace", "q"],
             "--profile goes to that file already")):
        says(run(*line, status=2)[1], words, "name another one")
    for name, content in kept.items():
        expect((run.folder / name).read_bytes() == content, f"{name} was overwritten")
    expect(not (run.folder / "q.npy").exists() and not (run.folder / "o.cgplan").exists(), "files")
    for command in ([run.cgc, "plan", "--json", "program.cgplan"],
                    [run.cgrun, "program.cgplan", "--graph", "count", "--input", "x=1"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, cwd=run.folder, stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        expect(done.returncode == 3, f"{command} exits with {done.returncode}")
        says(done.stderr, "cannot write to standard output")


def whole_files(run):
    """An output is the old file or the new one: with a full disk, and wherever a run is killed."""
    (run.folder / "large.cgraph").write_text(
        "import std.tensor\ngraph g() -> (x: f32[1000000], y: f32[1000000]) {\n"
        "  return (x: zeros() on cpu[0], y: ones() on cpu[0])\n}\n")
    subprocess.run([run.cgc, "compile", "large.cgraph", "-q"], cwd=run.folder, check=True)
    old = {"x.npy": b"old x", "y.npy": b"old y", "t.json": b"old t"}
    line = ("large.cgplan", "--output", "x=x.npy", "--output", "y=y.npy", "--trace", "t.json")

    def put_old():
        for name, content in old.items():
            (run.folder / name).write_bytes(content)

    def limit():  # of a file's size, as a full disk gives it: an error of write()
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = {*os.listdir(run.folder), *old}
    for name, content in old.items():
        put_old()
        process = run.start(*line, preexec_fn=limit)
        error = process.communicate(timeout=60)[1].decode()
        expect(process.returncode == 3, f"a full disk: exit code {process.returncode}\n{error}")
        says(error, "cannot write x.npy: File too large")
        expect((run.folder / name).read_bytes() == content, f"a full disk has changed {name}")
        expect(set(os.listdir(run.folder)) == before, "a full disk leaves files")
    (run.folder / "x.npy").chmod(0o640)
    start = time.monotonic()
    run(*line)
    took = time.monotonic() - start
    new = {name: (run.folder / name).stat().st_size for name in old}
    expect((run.folder / "x.npy").stat().st_mode & 0o777 == 0o640, "its rights have changed")
    killed = 0
    for i in range(40):
        put_old()
        process = run.start(*line)
        time.sleep(took * i / 30)
        process.kill()
        process.communicate(timeout=60)
        killed += process.returncode == -signal.SIGKILL
        for name, content in old.items():
            there = (run.folder / name).read_bytes()
            whole = there.endswith(b"}\n") if name == "t.json" else len(there) == new[name]
            expect(there == content or whole, f"a kill leaves {len(there)} bytes of {name}")
    expect(killed > 3, f"only {killed} runs were killed")


def inflight(run):
    """--inflight is about the graph that runs, whatever the others are compiled for."""
    run.graph("first", "--inflight", "2", "--input", "x=[1,2]")
    _, error = run.graph("add", "--inflight", "2", "--input", "x=[1]", status=2)
    says(error, "graph add is compiled for 1 execution in flight")


def damaged(run):
    """What is wrong with a plan names its file, whoever reads it."""
    def cgc(*words):
        return subprocess.run([run.cgc, *words], cwd=run.folder, capture_output=True, text=True)

    whole = (run.folder / "program.cgplan").read_bytes()
    text = cgc("plan", "--json", "program.cgplan").stdout

    def changed(change):
        plan = json.loads(text)
        change(plan)
        (run.folder / "bad.json").write_text(json.dumps(plan))
        made = cgc("plan", "--from-json", "bad.json", "-o", "bad.cgplan")
        expect(made.returncode == 0, made.stderr)
        return (run.folder / "bad.cgplan").read_bytes()

    def unproved(plan):
        for instruction in plan["graphs"][0]["instructions"]:
            instruction["certificate_position"] = 0

    for data, said, printed in (
            (whole[:100], "the plan is damaged", True), (b"no plan", "not a plan", True),
            (changed(lambda plan: plan["graphs"][0].update(inflight=0)), "inflight is 0", True),
            (changed(lambda plan: plan["lanes"][0].update(device=99)), "lane 0 has a device", True),
            (changed(lambda plan: plan["graphs"].clear()), "the plan has no graph", False),
            (changed(unproved), "the plan is not proved", False)):
        (run.folder / "bad.cgplan").write_bytes(data)
        told = run("bad.cgplan", "--graph", "add", "--input", "x=[1]", status=1)[1]
        expect(told.startswith("cgrun: error: bad.cgplan: ") and said in told, told)
        for command in (["plan", "bad.cgplan"], ["simulate", "bad.cgplan"],
                        ["viz", "bad.cgplan", "--graph", "add", "-o", "bad.svg"]):
            done = cgc(*command)
            expect(done.returncode == 1 or not printed, done.stderr)
            if done.returncode == 1:
                expect(done.stderr.startswith("cgc: error: bad.cgplan: "), done.stderr)
        says(cgc("verify", "bad.cgplan").stderr, "bad.cgplan: ")


TESTS = [literals_and_text, halves, kernels, files, usage, failures_as_json, batches, repeats,
         traces, long_traces, sources, reports_while_loading, interrupts, deadlines, device_maps,
         more_workers_than_cores, lost_output, whole_files, inflight, slow_files, many_failures,
         meant_otherwise, printed_as_numpy, damaged]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    options = parser.parse_args()
    for test in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            test(Cgrun(options, folder))
    expect(expectations.checks > 100, f"only {expectations.checks} checks")
    print(f"{len(TESTS)} tests, {expectations.checks} checks")


if __name__ == "__main__":
    main()

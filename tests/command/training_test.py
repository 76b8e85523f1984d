#!/usr/bin/python3
"""Trainings from the command line: cgrun --epochs, --shuffle, --save-every, --log and --eval.

States are integers that depend on every row and on the order of all rows, and Python computes them
again: of each file that is left, wherever a run was killed, they must be those of one moment
between executions, which the file names.

  training_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--processes 2] [--seed S]
  training_test.py --cgc ... --cgrun ... --mpi openmpi   # an actor on each of two machines
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect, says  # noqa: E402
from permutation import permutation  # noqa: E402

PROGRAM = """import std.debug
import std.tensor
actor Mixer(k: int) {
  state h: i64 = k
  state seen: i64[4] = zeros()
  state rows: i64 = 0
  method mix(x: i64[n], y: i64[n, 2]) -> (last: i64, share: f32) {
    check(sum(x) < 1000000000, "x is too large")
    let place: i64[n] = iota()
    h = (h * 31 + sum(x * (place + 1)) + sum(y)) % 1000003
    seen = (seen * 7 + h) % 10007
    rows += n
    return (last: h, share: cast<f32>(h % 97) / 97.0)
  }
  method look(x: i64[n]) -> (right: i64, mean: f32) {
    return (right: h % 5 + sum(x), mean: mean(cast<f32>(x)))
  }
}
place first = Mixer(3) on gpu[0]
place second = Mixer(5) on gpu[1]
graph step(x: i64[n <= 4], y: i64[n, 2]) -> (loss: f32, last: i64, flag: bool, x: i64[n])
    inflight 3 {
  let a = first.mix(x, y)
  let b = second.mix(x + a.last, y)
  return (loss: b.share, last: b.last, flag: a.last > b.last, x: x)
}
graph look(x: i64[n <= 3]) -> (right: i64, mean: f32, all: i64[n]) inflight 2 {
  let l = second.look(x)
  return (right: l.right, mean: l.mean, all: x)
}
graph nap(ms: i64) -> i64 {
  sleep(ms)
  let a = first.mix(reshape(ms, shape: [1]), zeros<i64[1, 2]>())
  return a.last
}
graph pair(x: i64[n <= 3], other: i64[n]) -> i64 { return sum(x + other) }
graph fixed(x: i64[4]) -> i64[4] { return x * 2 }
graph wide(x: i64[n <= 8, 8192]) -> i64[n] inflight 2 { return sum(x, dim: 1) }
graph count(by: i64) -> i64 {
  let a = first.mix(reshape(by, shape: [1]), zeros<i64[1, 2]>())
  return a.last
}
"""
ROWS, SLICE, SEED = 22, 4, 9
OF_EPOCH = -(-ROWS // SLICE)


def read(path):
    """Reads a .safetensors file: its tensors by name, and its metadata."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    kinds = {"I64": np.int64}
    tensors = {name: np.frombuffer(data[8 + length:][slice(*entry["data_offsets"])],
                                   kinds[entry["dtype"]]).reshape(entry["shape"])
               for name, entry in header.items()}
    expect(8 + length + max(e["data_offsets"][1] for e in header.values()) == len(data), "whole")
    return tensors, metadata


class Model:
    """What the actors compute, in Python."""

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.states = [self.initial()]
        self.outputs = []

    @staticmethod
    def initial():
        return {f"{place}.{name}": value
                for place, k in (("first", 3), ("second", 5))
                for name, value in (("h", k), ("seen", [0] * 4), ("rows", 0))}

    def step(self, rows):
        state = dict(self.states[-1])

        def mixed(place, x, y):
            total = sum(v * (i + 1) for i, v in enumerate(x)) + int(y.sum())
            h = (state[f"{place}.h"] * 31 + total) % 1000003
            state[f"{place}.h"] = h
            state[f"{place}.seen"] = [(s * 7 + h) % 10007 for s in state[f"{place}.seen"]]
            state[f"{place}.rows"] += len(x)
            return h

        x, y = [int(v) for v in self.x[rows]], self.y[rows]
        a = mixed("first", x, y)
        b = mixed("second", [v + a for v in x], y)
        self.states.append(state)
        self.outputs.append({"loss": np.float32(b % 97) / np.float32(97), "last": b,
                             "flag": int(a > b), "x": x})

    def run(self, epochs, shuffle=None, drop_last=False):
        for epoch in range(epochs):
            order = list(range(ROWS)) if shuffle is None else permutation(ROWS, shuffle, epoch)
            for begin in range(0, ROWS, SLICE):
                rows = order[begin:begin + SLICE]
                if len(rows) == SLICE or not drop_last:
                    self.step(rows)
        return self

    def is_at(self, tensors, made):
        return all(np.array_equal(tensors[name], value)
                   for name, value in self.states[made].items())


class Runs:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.mpi = mpirun.Mpi(args.mpi) if args.mpi else None
        program = PROGRAM
        if self.mpi:
            program = re.sub(r"gpu\[(\d)\]", r"node[\1].gpu[0]", PROGRAM)
            expect(program != PROGRAM, "the actors are elsewhere")
        (folder / "p.cgraph").write_text(program)
        subprocess.run([args.cgc, "compile", "-q", folder / "p.cgraph", "-o", folder / "p.cgplan"],
                       check=True, timeout=60)
        rng = np.random.default_rng(1)
        self.x = rng.integers(-50, 50, ROWS)
        self.y = rng.integers(-50, 50, (ROWS, 2))
        np.save(folder / "x.npy", self.x)
        np.save(folder / "y.npy", self.y)
        np.save(folder / "test.npy", np.arange(1, 9))

    def line(self, *flags):
        words = [self.args.cgrun, self.folder / "p.cgplan", *flags]
        if self.args.processes:
            words += ["--processes", self.args.processes]
        words = [str(word) for word in words]
        return self.mpi.line(2, words) if self.mpi else words

    def environment(self, mark):
        return self.mpi.environment(mark) if self.mpi else {**os.environ, mpirun.MARK: mark}

    def run(self, *flags, status=0):
        done = mpirun.run_marked(self.line(*flags), self.environment, 60)
        expect(done.returncode == status, f"{flags} ends with {done.returncode}",
               done.stdout + done.stderr)
        return done

    def data(self):
        return ["--graph", "step", "--input", f"x={self.folder}/x.npy", "--batch", "x",
                "--input", f"y={self.folder}/y.npy", "--batch", "y"]

    def step(self, *flags, status=0):
        return self.run(*self.data(), *flags, status=status)


def lines_of(text):
    """The lines of a log, as dicts."""
    return [dict(word.split("=", 1) for word in line.split(" "))
            for line in text.splitlines() if line.startswith("execution=")]


def shuffled(runs):
    """Rows come as documented, those of all inputs alike; every epoch has all of them."""
    for flags, shuffle, drop in (([], None, False), (["--shuffle", "9"], 9, False),
                                 (["--shuffle", "0", "--drop-last"], 0, True),
                                 (["--drop-last"], None, True),
                                 (["--shuffle", str(2**64 - 1)], 2**64 - 1, False)):
        states, out = runs.folder / "s.safetensors", runs.folder / "x_out.npy"
        done = runs.step("--epochs", "3", "--save-state", states, "--output", f"x={out}", *flags)
        model = Model(runs.x, runs.y).run(3, shuffle, drop)
        made = 3 * (ROWS // SLICE if drop else OF_EPOCH)
        tensors, metadata = read(states)
        expect(model.is_at(tensors, made), f"the states of {flags}", tensors)
        last = [v for o in model.outputs[2 * made // 3:] for v in o["x"]]
        expect(np.load(out).tolist() == last, "the outputs are those of the last epoch, as taken")
        if not drop:
            expect(sorted(last) == sorted(runs.x.tolist()), "an epoch has each row once")
        note = "--drop-last leaves out 2 of 22 rows in each epoch" + \
            (", the last" if shuffle is None else ", not always the same")
        expect((note in done.stderr) == drop, done.stderr)
        wanted = {"cgraph.executions": str(made), "cgraph.graph": "step",
                  "cgraph.executions_of_epoch": str(made // 3), "cgraph.rows": str(ROWS),
                  "cgraph.rows_of_execution": str(SLICE)}
        if shuffle is not None:
            wanted["cgraph.shuffle"] = str(shuffle)
        expect(metadata == wanted, f"metadata is {metadata}")
    # -n takes the same rows as before, and says nothing of a position.
    runs.step("-n", "3", "--save-state", states)
    tensors, metadata = read(states)
    expect(Model(runs.x, runs.y).run(3).is_at(tensors, 3 * OF_EPOCH) and metadata == {}, "-n")


def remainders(runs):
    """Rows that do not fill a slice are an error that names the mends, or left out."""
    line = ["--graph", "fixed", "--input", f"x={runs.folder}/x.npy", "--batch", "x"]
    says(runs.run(*line, status=1).stderr, "22 rows cannot be cut into slices of 4; declare a "
         "bounded dimension, as n <= 4, for the last one, or leave it out, by --drop-last")
    out = runs.folder / "o.npy"
    runs.run(*line, "--drop-last", "--output", f"result={out}")
    expect(np.array_equal(np.load(out), 2 * runs.x[:20]), "20 of 22 rows")
    short = runs.folder / "short.npy"
    np.save(short, runs.x[:3])
    done = runs.run("--graph", "fixed", "--input", f"x={short}", "--batch", "x", "--drop-last",
                    status=1)
    says(done.stderr, "3 rows cannot be cut into slices of 4")
    expect("by --drop-last" not in done.stderr, "no mend that would be none", done.stderr)


def logged(runs):
    """Lines have means of floats, the last of other numbers, over the executions between lines."""
    model = Model(runs.x, runs.y).run(4, SEED)
    done = runs.step("--epochs", "4", "--shuffle", str(SEED), "--log", "loss,last", "--log", "flag",
                     "--log-every", "5", "-q", "--output", f"loss={runs.folder}/l.npy")
    lines = lines_of(done.stderr)
    expect([line["execution"] for line in lines] == ["5", "10", "15", "20", "24"], lines)
    expect([line["epoch"] for line in lines] == ["1", "2", "3", "4", "4"], lines)
    for i, line in enumerate(lines):
        outputs = model.outputs[5 * i:5 * i + 5]
        mean = np.mean([float(o["loss"]) for o in outputs])
        expect(list(line) == ["execution", "epoch", "loss", "last", "flag", "executions/s",
                              "rows/s"], list(line))
        expect(line["loss"] == f"{mean:.6g}", f"{line} and {mean}")
        expect(line["last"] == str(outputs[-1]["last"]), line)
        expect(line["flag"] == str(outputs[-1]["flag"]), line)
        expect(float(line["executions/s"]) > 0 and float(line["rows/s"]) > 0, line)
    expect(done.stdout == "", "results are not printed where they are written", done.stdout)
    lines = lines_of(runs.step("--epochs", "2", "--log", "loss").stderr)
    expect([line["execution"] for line in lines] == ["6", "12"], "a line for each epoch", lines)
    line = ["--graph", "count", "--input", "by=2", "--log", "result"]
    lines = lines_of(runs.run(*line, "-n", "250").stderr)
    expect([line["execution"] for line in lines] == ["100", "200", "250"], "a line for each 100")
    expect("epoch" not in lines[0] and "rows/s" not in lines[0], lines[0])
    lines = lines_of(runs.run(*line, "--epochs", "2").stderr)
    expect(lines[0]["epoch"] == "2", "an epoch without --batch is one execution", lines)


def evaluated(runs):
    model = Model(runs.x, runs.y).run(3)
    given = ["--eval", "look", "--input", f"look.x={runs.folder}/test.npy", "--batch", "look.x"]
    done = runs.step("--epochs", "3", *given, "--eval-every", "7", "-q",
                     "--save-state", runs.folder / "s.safetensors")
    lines = lines_of(done.stderr)
    expect([line["execution"] for line in lines] == ["7", "14", "18"], "and at the end", lines)
    for line in lines:
        h = model.states[int(line["execution"])]["second.h"]
        expect(list(line) == ["execution", "epoch", "look.right", "look.mean", "seconds"], line)
        # Three slices of 3, 3 and 2 rows: integers add up, floats are means over rows.
        expect(line["look.right"] == str(36 + 3 * (h % 5)), f"{line}, h is {h}")
        expect(line["look.mean"] == "4.5", line)
    expect(model.is_at(read(runs.folder / "s.safetensors")[0], 18), "training goes on unchanged")
    given[given.index("--batch"):] = []
    done = runs.step("--epochs", "1", *given, status=1)
    says(done.stderr, "dimension 0 is 8, expected at most 3; if its rows are independent, --batch "
         "slices it")
    # What was trained is kept where an evaluation fails.
    kept = runs.folder / "kept.safetensors"
    done = runs.step("--epochs", "1", "--eval", "pair", "--input", "pair.x=[1,2]", "--input",
                     "other=[1,2,3]", "--eval-every", "4", "--save-state", kept, status=1)
    says(done.stderr, "it is one dimension", "in --eval pair after 4 executions",
         "kept.safetensors has the states after 4 executions")
    expect(model.is_at(read(kept)[0], 4), "states of a run whose evaluation failed")
    # What is batched is of one graph; any other input is of both that have it.
    done = runs.step("--epochs", "1", "--eval", "look", status=2)
    says(done.stderr, "graph look needs the input x: i64[n <= 3]; give --input look.x=PATH.npy")
    done = runs.run("--graph", "step", "--input", "x=[1,2]", "--input", "y=[[1,2],[3,4]]", "-n",
                    "2", "--eval", "look", "--log", "last")
    expect([line.get("look.mean") for line in lines_of(done.stderr)] == ["1.5", None],
           "x is of both", done.stderr)


def of_states(runs):
    """-n 0 writes the initial states, and needs no inputs for that."""
    path = runs.folder / "initial.safetensors"
    runs.run("--graph", "step", "-n", "0", "--save-state", path)
    tensors, metadata = read(path)
    expect(Model(runs.x, runs.y).is_at(tensors, 0) and metadata == {}, tensors)
    runs.step("-n", "0", "--save-state", path)
    expect(Model(runs.x, runs.y).is_at(read(path)[0], 0), "with inputs, too")
    done = runs.step("--epochs", "2", "--load-state", path, "--save-state", path)
    says(done.stderr, "does not say where a run was in its data, so this run begins with the first "
         "row")
    done = runs.step("--epochs", "2", "--load-state", path, "--save-state", path, "--output",
                     f"loss={runs.folder}/none.npy")
    says(done.stderr, "was saved after the last execution of 2 epochs, and nothing is left to "
         "execute", "none.npy is not written, since nothing was executed")
    done = runs.step("--epochs", "3", "--load-state", path, "--save-state", path)
    says(done.stderr, "was saved after 12 of 18 executions, and this run goes on behind them, in "
         "epoch 3 of 3")
    expect(Model(runs.x, runs.y).run(3).is_at(read(path)[0], 18), "2 epochs and 1 are 3")
    again = runs.folder / "again.safetensors"
    runs.step("--epochs", "1", "--load-state", path, "--from-start", "--save-state", again)
    tensors, metadata = read(again)
    expect(tensors["first.rows"] == 4 * ROWS and metadata["cgraph.executions"] == "6", metadata)


def refused(runs):
    """Flags that contradict each other, the program or a file: exit code 2, and what to do."""
    path, there = runs.folder / "there.safetensors", runs.folder / "moved.npy"
    runs.step("--epochs", "2", "--shuffle", "1", "--save-state", path)
    load = ["--load-state", path]
    short = runs.folder / "short.safetensors"
    np.save(there, runs.x[:20])
    cases = [
        (["-n", "0"], "-n 0 executes nothing; with --save-state it writes the initial states"),
        (["-n", "0", "--save-state", short, "--log", "loss"], "-n 0 excludes --log"),
        (["-n", "0", "--save-state", short, "--output", "loss=l.npy"], "-n 0 excludes --output"),
        (["--epochs", "0"], "--epochs 0: expected a number from 1 on"),
        (["--epochs", "x"], "--epochs x: expected a number"),
        (["--epochs", "2", "-n", "2"], "--epochs excludes -n"),
        (["--epochs", "2", "--warmup", "2"], "--epochs excludes --warmup"),
        (["--epochs", str(1 << 40)], None),
        (["--shuffle", "1"], "--shuffle needs --epochs"),
        (["--shuffle", "-1", "--epochs", "2"], "--shuffle -1: expected a number"),
        (["--save-every", "2"], "--save-every needs --save-state, which names the file"),
        (["--log-every", "2"], "--log-every needs --log"),
        (["--eval-every", "2"], "--eval-every needs --eval"),
        (["--from-start", "--epochs", "2"], "--from-start needs --load-state"),
        (["--log", "lss"], "--log lss: graph step has no such output (did you mean `loss`?); it "
         "has loss, last, flag, x"),
        (["--log", "loss,"], "--log: expected the name of an output"),
        (["--log", "x"], "--log x: it is i64[n <= 4], and a line has room for a number"),
        (["--eval", "lok"], "--eval lok: "),
        (["--eval", "step"], "--eval step: --graph names it already"),
        (["--eval", "fixed", "--input", "fixed.x=[1,2,3,4]"], "--eval fixed: none of its outputs "
         "is a number"),
        (["--eval", "look", "--input", "look.z=1"], "--input look.z: neither graph has such an "
         "input (did you mean `look.x`?); they have "),
        (["--eval", "look", "--batch", "look.z"], "--batch look.z: neither graph has such an "),
        (["--epochs", "3", *load], "it was saved after 12 executions of graph step over 22 rows, 4 "
         "at a time, 6 executions an epoch, with --shuffle 1, and this run is of graph step over "
         "22 rows, 4 at a time, 6 executions an epoch; give the same inputs and flags"),
        (["--epochs", "1", "--shuffle", "1", *load], "--epochs 1: these are 6 executions"),
        (["--epochs", "3", "--shuffle", "1", "--drop-last", *load], "5 executions an epoch"),
    ]
    for flags, text in cases:
        if text is None:
            continue  # so many executions may be counted; others are not reached
        says(runs.step(*flags, status=2).stderr, text)
    for flag, text in (("--checkpoint-every", "--save-every N"), ("--seed", "--shuffle SEED"),
                       ("--resume", "--load-state FILE"), ("--eval-steps", "--eval-every N"),
                       ("--log-interval", "--log-every N")):
        says(runs.step(flag, "3", status=2).stderr, f"unknown flag `{flag}`", text)
    says(runs.run("--graph", "count", "--input", "by=1", "--epochs", "2", "--shuffle", "1",
                  status=2).stderr, "--shuffle needs --batch")
    says(runs.run("--call", "count", "--input", "by=1", "--save-every", "2", status=2).stderr,
         "--call excludes --save-every: it executes several graphs")
    data = [word.replace("x.npy", "moved.npy").replace("y.npy", "moved_y.npy")
            for word in runs.data()]
    np.save(runs.folder / "moved_y.npy", runs.y[:20])
    says(runs.run(*data, "--epochs", "3", "--shuffle", "1", *load, status=2).stderr,
         "over 22 rows", "over 20 rows", "--from-start")
    # Within an epoch: -n begins with the first row, --every cannot join parts of epochs.
    halfway = runs.folder / "halfway.safetensors"
    rewrite(path, halfway, {"cgraph.executions": "8"})
    says(runs.step("-n", "1", "--load-state", halfway).stderr, "was saved after 8 executions, "
         "within an epoch, and -n begins with the first row; --epochs goes on behind them")
    says(runs.step("--epochs", "3", "--shuffle", "1", "--every", "--load-state", halfway,
                   status=2).stderr, "--every gives the outputs of whole epochs")
    for value in ("", "-1", "x", "1.5", "9" * 30, "1 "):
        rewrite(path, halfway, {"cgraph.executions": value})
        says(runs.step("--epochs", "3", "--shuffle", "1", "--load-state", halfway,
                       status=1).stderr, "of cgraph.executions, which is no number from 0 on")
    rewrite(path, halfway, {"cgraph.executions_of_epoch": "0"})
    says(runs.step("--epochs", "3", "--shuffle", "1", "--load-state", halfway, status=1).stderr,
         "`0` of cgraph.executions_of_epoch, which is no number from 1 on")


def rewrite(path, to, metadata):
    """Copies a file, with other metadata."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header["__metadata__"].update(metadata)
    text = json.dumps(header).encode()
    pathlib.Path(to).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length:])


def failed(runs):
    """The first execution that fails ends the run, and the states before it stay in the file."""
    bad = runs.x.copy()
    bad[13] = 1 << 40
    np.save(runs.folder / "bad.npy", bad)
    data = [word.replace("x.npy", "bad.npy") for word in runs.data()]
    path = runs.folder / "kept.safetensors"
    done = runs.run(*data, "--epochs", "2", "--save-every", "2", "--save-state", path, status=1)
    says(done.stderr, "x is too large", f"{path} has the states after 2 executions")
    tensors, metadata = read(path)
    expect(metadata["cgraph.executions"] == "2" and Model(runs.x, runs.y).run(1).is_at(tensors, 2),
           metadata)
    done = runs.run("--graph", "count", "--input", "by=1000000000", "-n", "4", "--save-every", "1",
                    "--save-state", path, status=1)
    says(done.stderr, "in execution 1 of 4")
    # A file that cannot be written ends nothing but the last time.
    full = runs.folder / "full.safetensors"
    full.symlink_to("/dev/full")
    done = runs.step("--epochs", "2", "--save-every", "5", "--save-state", full, "--log", "last",
                     status=3)
    expect(done.stderr.count(f"cannot write {full}: No space left on device") == 3, done.stderr)
    says(done.stderr, "after 5 executions; the run goes on", "after 10 executions; the run goes on")
    expect([line["execution"] for line in lines_of(done.stderr)] == ["6", "12"], done.stderr)


def large(runs):
    """The rows of a file of a GiB or more are read when they are wanted, and take no memory."""
    rows, path, out = 16500, runs.folder / "large.npy", runs.folder / "sums.npy"
    some = {0: 5, 7: 8, 8: 9, 4096: 11, 16499: 13}
    with open(path, "wb") as file:  # with holes
        np.lib.format.write_array_header_1_0(file, {"descr": "<i8", "fortran_order": False,
                                                    "shape": (rows, 8192)})
        begin = file.tell()
        for row, value in some.items():
            file.seek(begin + row * 65536)
            file.write(np.arange(value, value + 8192, dtype=np.int64).tobytes())
    wanted = np.zeros(rows, np.int64)
    for row, value in some.items():
        wanted[row] = np.arange(value, value + 8192).sum()
    line = ["--graph", "wide", "--input", f"x={path}", "--batch", "x"]
    for flags, order in (([], np.arange(rows)),
                         (["--epochs", "1", "--shuffle", "3"], permutation(rows, 3, 0))):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        runs.run(*line, *flags, "--output", f"result={out}")
        expect(np.array_equal(np.load(out), wanted[order]), f"the rows of {flags}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        expect(peak < max(before, 300 << 10), f"a run took {peak} KiB")
    os.truncate(path, path.stat().st_size - 8)
    says(runs.run(*line, status=1).stderr, "large.npy: its header promises 1081344000 bytes of "
         "elements, and 1081343992 follow")
    os.truncate(path, begin + rows * 65536)
    run = mpirun.Started(runs.line(*line, "--epochs", "1000000"), runs.environment)
    time.sleep(0.5)
    os.truncate(path, 1 << 20)
    done = run.finish("a run whose file becomes shorter", 30)
    expect(done.returncode == 1 and "large.npy has become shorter while it was read" in done.stderr,
           f"{done.returncode}", done.stderr)
    path.unlink()


def killed(runs, times, kinds, seed):
    """Kills runs at random moments, lets each go on, and compares the file that is left, after each
    kill, and that of the end with what an undisturbed run writes."""
    rng, epochs = random.Random(seed), 40 if runs.args.small else 400
    flags = ["--epochs", str(epochs), "--shuffle", str(SEED), "--save-every", "7", "-q"]
    whole = runs.folder / "whole.safetensors"
    begin = time.monotonic()
    runs.step(*flags, "--save-state", whole)
    seconds = time.monotonic() - begin
    model = Model(runs.x, runs.y).run(epochs, SEED)
    expect(model.is_at(read(whole)[0], epochs * OF_EPOCH), "the undisturbed run")
    kills, ends, path = 0, 0, runs.folder / "killed.safetensors"
    goes_on, made = [], 0
    where = []
    while kills < times or made < epochs * OF_EPOCH:
        run = mpirun.Started(runs.line(*runs.data(), *flags, *goes_on, "--save-state", str(path)),
                             runs.environment)
        kind = rng.choice(kinds) if kills < times else None
        if kind is not None:
            time.sleep(rng.uniform(0, 0.8 * seconds))
            killed_at = [run.process.pid]
            if runs.mpi and kind == signal.SIGKILL:
                killed_at = mpirun.programs(run.mark, runs.args.cgrun)[:1]
            for pid in killed_at:
                try:
                    os.kill(pid, kind)
                except ProcessLookupError:
                    pass  # it has ended
        done = run.finish(f"{kind} of {run.line}, --seed {seed}", 60)
        if path.exists():
            tensors, metadata = read(path)
            before, made = made, int(metadata["cgraph.executions"])
            expect(made >= before and model.is_at(tensors, made),
                   f"the states after {kind} are those after {made} executions, --seed {seed}",
                   done.stderr)
            goes_on = ["--load-state", str(path)]
            if kind in (signal.SIGINT, signal.SIGTERM) and not runs.mpi:
                # Before cgrun has blocked them, signals end it as any other program.
                unblocked = done.returncode == -kind and made == before
                expect(done.returncode in (0, 130) or unblocked,
                       f"{kind} ends with {done.returncode}, --seed {seed}", done.stderr)
            elif kind == signal.SIGKILL and not runs.mpi:
                expect(made in (before, epochs * OF_EPOCH) or made % 7 == 0,
                       f"only an interrupt saves after {made}, --seed {seed}")
        kills += kind is not None
        where.append(made)
        if made == epochs * OF_EPOCH:
            ends += 1
            expect(path.read_bytes() == whole.read_bytes(), f"the same bits, --seed {seed}")
            if kills < times:
                path.unlink()
                goes_on, made = [], 0
    expect(ends > 0 and len(set(where)) > min(5, times // 3), f"killed at {where}")
    left = sorted(p.name for p in runs.folder.glob("killed*"))
    expect(left[0] == path.name, f"{left}")
    print(f"{kills} kills, {ends} times to the end, the files left were after {where}")


def interrupted(runs):
    """An interrupt ends the run between two executions, with 130; a second one ends it at once."""
    path, slow_path = runs.folder / "stopped.safetensors", runs.folder / "slow.safetensors"

    def nap(ms):
        return mpirun.Started(runs.line("--graph", "nap", "--input", f"ms={ms}", "--epochs", "3",
                                        "--save-every", "5", "--save-state", str(slow_path)),
                              runs.environment)

    # What is in flight is waited for, also where it takes longer than other interrupts may.
    begin, slow = time.monotonic(), nap(11500)
    time.sleep(0.7)
    slow.process.send_signal(signal.SIGTERM)
    line = runs.line(*runs.data(), "--epochs", str(1 << 30), "--save-every", str(1 << 39),
                     "--save-state", str(path))
    for kind in (signal.SIGINT, signal.SIGTERM):
        path.unlink(missing_ok=True)
        run = mpirun.Started(line, runs.environment)
        time.sleep(0.7)
        run.process.send_signal(kind)
        done = run.finish(f"{kind} of {line}", 30)
        expect(done.returncode == 130, f"{kind} ends with {done.returncode}", done.stderr)
        made = int(read(path)[1]["cgraph.executions"])
        says(done.stderr, f"{path} has the states after {made} executions", "interrupted")
        expect(made > 6, f"only {made} executions in 0.7 s")
        expect(Model(runs.x, runs.y).run(-(-made // OF_EPOCH)).is_at(read(path)[0], made), "states")
    done = slow.finish("a long execution", 30)
    says(done.stderr, "waiting for the executions in flight, and for states to be saved; interrupt "
         "again to end at once", f"{slow_path} has the states after 1 execution")
    expect(done.returncode == 130 and time.monotonic() - begin > 11.5, done.stderr)
    tensors, metadata = read(slow_path)
    expect(tensors["first.rows"] == 1 and metadata["cgraph.executions"] == "1", metadata)
    slow_path.unlink()
    begin, slow = time.monotonic(), nap(20000)
    for _ in range(2):
        time.sleep(0.9)
        slow.process.send_signal(signal.SIGINT)
    done = slow.finish("a second interrupt", 10)
    expect(done.returncode == 130 and not slow_path.exists(), done.stderr)
    says(done.stderr, "interrupted twice: ended at once")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=pathlib.Path)
    parser.add_argument("--cgrun", required=True, type=pathlib.Path)
    parser.add_argument("--processes")
    parser.add_argument("--mpi", choices=sorted(mpirun.PACKAGES))
    parser.add_argument("--small", action="store_true", help="what devices matter to")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args, pathlib.Path(folder))
        if not args.mpi and not args.processes:
            for test in (shuffled, evaluated) if args.small else (
                    large, shuffled, remainders, logged, evaluated, of_states, refused, failed):
                test(runs)
        if not args.mpi:
            interrupted(runs)
        killed(runs, args.kills, [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], args.seed)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Collectives among emulated GPUs, by the emulated NCCL and without it, against CPU threads.

  nccl_test.py --cgc build/release/cgc --cgrun build/release/cgrun \\
      --libraries build/release/emulated:build/release [--seed 1]

Every kind, reduction and dtype on 2, 4 and 8 GPUs has the CPU's bits, whether NCCL is there or an
older one that is not used; what NCCL was asked to do is counted. Then: extents that come with the
input, poisoned values, one thread for all GPUs, other orders of addition, memory that is
registered, several communicators, two ranks on one GPU, errors of NCCL.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "u8": np.uint8,
          "i32": np.int32, "i64": np.int64, "bool": np.bool_, "bf16": None}
REDUCTIONS = ["sum", "prod", "min", "max", "avg"]
CONNECTS = "send of 1 of type 7"  # what is sent when a communicator is made

class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.registered = []  # what the last run registered with NCCL
        self.connected = set()  # the communicators that it made

    def compile(self, name, text):
        source, plan = self.folder / f"{name}.cgraph", self.folder / f"{name}.cgplan"
        source.write_text(text)
        done = subprocess.run([self.options.cgc, "compile", source, "--no-rewrite", "-o", plan],
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"{name} does not compile", done.stderr)
        return plan

    def run(self, plan, outputs, inputs, gpus=0, nccl="", flags=(), seed=None, environment=None,
            emulation="", interrupt=0):
        """Returns (exit code, what was said, the outputs' bytes, what NCCL was asked to do)."""
        trace = self.folder / "trace"
        trace.unlink(missing_ok=True)
        environment = dict(os.environ, **(environment or {}))
        if gpus:
            seed = self.options.seed if seed is None else seed
            environment["LD_LIBRARY_PATH"] = self.options.libraries
            environment["CGRAPH_EMULATION"] = f"devices={gpus},seed={seed}{emulation}"
            environment["CGRAPH_EMULATED_NCCL"] = f"trace={trace}" + (f",{nccl}" if nccl else "")
        line = [self.options.cgrun, plan, "-q", *flags]
        line += ["--timeout", "20"] if "--timeout" not in flags else []
        line += ["--require-gpu"] if gpus else []
        dealt = {"--workers", "--device-map"} & set(flags)
        line += ["--processes", "1"] if gpus and not dealt else []
        for name, value in inputs.items():
            path = self.folder / f"in_{len(line)}.npy"
            np.save(path, value)
            line += ["--input", f"{name}={path}"]
        for i, name in enumerate(outputs):
            (self.folder / f"out_{i}.npy").unlink(missing_ok=True)
            line += ["--output", f"{name}={self.folder}/out_{i}.npy"]
        done = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        if interrupt:
            time.sleep(interrupt)
            done.send_signal(signal.SIGINT)
        done.stdout, done.stderr = done.communicate(timeout=120)
        values = []
        if done.returncode == 0:
            values = [(self.folder / f"out_{i}.npy").read_bytes() for i in range(len(outputs))]
        lines = trace.read_text().splitlines() if trace.exists() else []
        self.registered = [line for line in lines if line.startswith("registered")]
        self.connected = {line.split()[-1] for line in lines if CONNECTS in line}
        return done.returncode, done.stdout + done.stderr, values, \
            [line for line in lines if line.startswith("NCCL's") and CONNECTS not in line]


def everything(dtype, members):
    """A program with every kind and reduction, and the names of its results."""
    each = f"[a[r].give(x[r]) for r in 0..{members}]"
    n = 6 * members
    results = []

    def add(name, call, elements, many):
        kind = f"{dtype}[{elements}]"
        results.append((name, call, f"[{kind}; {members}]" if many else kind))

    root = members - 1
    if dtype != "bool":
        for reduction in REDUCTIONS:
            if reduction == "avg" and dtype not in ("f32", "f64", "f16", "bf16"):
                continue
            add(f"all_reduce_{reduction}", f"all_reduce({each}, {reduction})", n, True)
            add(f"reduce_scatter_{reduction}", f"reduce_scatter({each}, {reduction})", 6, True)
            add(f"reduce_{reduction}", f"reduce({each}, {reduction}, root: {root})", n, False)
    add("all_gather", f"all_gather({each})", n * members, True)
    add("all_to_all", f"all_to_all({each})", n, True)
    add("gather", f"gather({each}, root: {root})", n * members, False)
    add("broadcast", f"broadcast(a[{root}].give(x[{root}]), to: a)", n, True)
    add("scatter", f"scatter(a[{root}].give(x[{root}]), to: a)", 6, True)
    text = "import std.tensor\n"
    text += f"actor A() {{ method give(x: {dtype}[n]) -> {dtype}[n] {{ return x }} }}\n"
    text += f"place a[r in 0..{members}] = A() on gpu[r]\n"
    text += f"graph g(x: [{dtype}[{n}]; {members}]) -> ("
    text += ", ".join(f"{name}: {kind}" for name, _, kind in results) + ") {\n"
    text += "  barrier(a)\n"
    text += "".join(f"  let r_{name} = {call}\n" for name, call, _ in results)
    text += "  return (" + ", ".join(f"{name}: r_{name}" for name, _, _ in results) + ")\n}\n"
    names = []
    for name, _, kind in results:
        names += [f"{name}[{r}]" for r in range(members)] if kind.startswith("[") else [name]
    return text, names, [name for name, _, _ in results]


def numbers(dtype, count, random):
    if dtype == "bool":
        return random.randint(0, 2, count).astype(np.bool_)
    if dtype == "bf16":
        wide = random.randn(count).astype(np.float32).view(np.uint32)
        return (wide >> 16).astype(np.uint16).view("V2")
    if np.issubdtype(DTYPES[dtype], np.floating):
        return random.randn(count).astype(DTYPES[dtype])
    return random.randint(0, 100, count).astype(DTYPES[dtype])


def try_everything(runner, dtype, members):
    text, outputs, calls = everything(dtype, members)
    plan = runner.compile(f"{dtype}_{members}", text)
    random = np.random.RandomState(members)
    inputs = {f"x[{r}]": numbers(dtype, 6 * members, random) for r in range(members)}
    code, said, wanted, _ = runner.run(plan, outputs, inputs)
    expect(code == 0, f"{dtype} on CPU threads", said)
    code, said, got, launches = runner.run(plan, outputs, inputs, gpus=members)
    expect(code == 0, f"{dtype} on {members} GPUs", said)
    for name, a, b in zip(outputs, wanted, got):
        expect(a == b, f"{dtype} on {members} GPUs: {name} has other bits than on CPU threads")
    expect(len(launches) == members * len(calls),
           f"{dtype} on {members} GPUs: {len(launches)} launches for {len(calls)} collectives",
           "\n".join(launches))
    return plan, outputs, inputs, wanted


def try_without(runner, plan, outputs, inputs, wanted):
    """NCCL that is too old, or no library, is not used; results are the same."""
    code, said, got, launches = runner.run(plan, outputs, inputs, gpus=4, nccl="version=21800")
    expect(code == 0 and got == wanted and not launches, "with an old NCCL", said)
    libraries = runner.folder / "none"
    libraries.mkdir()
    (libraries / "libnccl.so.2").write_text("no library")
    before = runner.options.libraries
    runner.options.libraries = f"{libraries}:{before}"
    code, said, got, launches = runner.run(plan, outputs, inputs, gpus=4)
    runner.options.libraries = before
    expect(code == 0 and got == wanted and not launches, "without NCCL", said)
    for nccl, words in (("", "NCCL  2.28.9"),
                        ("version=21800", "NCCL  none: libnccl.so.2 is of version 2.18.0, and "
                                          "2.19.0 or newer is needed")):
        done = subprocess.run([runner.options.cgrun, "--devices"], capture_output=True, text=True,
                              env=dict(os.environ, LD_LIBRARY_PATH=before,
                                       CGRAPH_EMULATED_NCCL=nccl))
        expect(words in done.stdout, "cgrun --devices", done.stdout + done.stderr)


def try_threads(runner, plan, outputs, inputs, wanted):
    """One thread that issues for all GPUs, and several seeds."""
    for workers in ("1", "2", "3"):
        for seed in (1, 2, 3):
            code, said, got, launches = runner.run(plan, outputs, inputs, gpus=4, seed=seed,
                                                   flags=("--workers", workers))
            expect(code == 0 and got == wanted and launches, f"with {workers} workers", said)


def try_ring(runner, plan, outputs, inputs, wanted):
    """Another order of addition changes f32 by rounding only."""
    code, said, _, _ = runner.run(plan, outputs, inputs, gpus=4, nccl="order=ring")
    expect(code == 0, "in the order of a ring", said)
    different = 0
    for i, name in enumerate(outputs):
        got = np.load(runner.folder / f"out_{i}.npy")
        (runner.folder / "wanted.npy").write_bytes(wanted[i])
        other = np.load(runner.folder / "wanted.npy")
        expect(np.allclose(got, other, rtol=1e-5, atol=1e-5), f"{name} in the order of a ring")
        different += got.tobytes() != other.tobytes()
    expect(different != 0, "the order of a ring changes nothing")


EXTENTS = """import std.tensor
actor A() { method give(x: f32[n, 4]) -> f32[n, 4] { return x } }
place a[r in 0..4] = A() on gpu[r]
graph g(x: f32[n <= 16, 4]) -> (sums: [f32[n, 4]; 4], sent: [f32[n, 4]; 4]) inflight 2 {
  let xs = broadcast(x, to: a)
  let ys = [p.give(v) for (p, v) in zip(a, xs)]
  return (sums: all_reduce(ys, sum), sent: broadcast(ys[2], to: a))
}
"""


def try_extents(runner):
    plan = runner.compile("extents", EXTENTS)
    outputs = [f"{name}[{r}]" for name in ("sums", "sent") for r in range(4)]
    for n in (0, 1, 5, 16):
        inputs = {"x": np.random.RandomState(n).randn(n, 4).astype(np.float32)}
        code, said, wanted, _ = runner.run(plan, outputs, inputs)
        expect(code == 0, "extents on CPU threads", said)
        code, said, got, launches = runner.run(plan, outputs, inputs, gpus=4, seed=n)
        expect(code == 0 and got == wanted, f"{n} rows on GPUs", said)
        expect(bool(launches) == (n != 0), f"{n} rows: {len(launches)} launches")


POISON = """import std.tensor
import std.debug
actor A(rank: int) {
  state w: f32[4] = ones()
  method may_fail(x: f32[4], wrong: bool[]) -> f32[4] {
    check(wrong == false, "told to")
    return x + rank
  }
  method give(x: f32[4]) -> f32[4] { return x }
  method apply(x: f32[4]) -> f32[4] { w = w + x  return w }
}
place a[r in 0..4] = A(r) on gpu[r]
graph g(x: f32[4], wrong: bool[]) -> (mine: f32[4], yours: [f32[4]; 4]) inflight 2 {
  let xs = [if r == 1 { a[r].may_fail(x, wrong) } else { a[r].give(x) } for r in 0..4]
  let ys = KIND
  return (mine: a[3].give(x), yours: [a[r].apply(ys[r]) for r in 0..4])
}
"""
POISONED = {"all_reduce": "all_reduce(xs, sum)", "broadcast": "broadcast(xs[1], to: a)",
            "gathered": "broadcast(reduce(xs, sum, root: 2), to: a)",
            "all_to_all": "all_to_all(xs)"}


def try_poison(runner):
    outputs = ["mine"] + [f"yours[{r}]" for r in range(4)]
    for name, call in POISONED.items():
        plan = runner.compile(name, POISON.replace("KIND", call))
        for wrong in (False, True):
            inputs = {"x": np.arange(4, dtype=np.float32), "wrong": np.array(wrong)}
            code, wanted_said, wanted, _ = runner.run(plan, outputs, inputs)
            expect((code != 0) == wrong, f"{name} on CPU threads", wanted_said)
            for seed in range(1, 5):
                got_code, said, got, launches = runner.run(plan, outputs, inputs, gpus=4, seed=seed)
                expect(got_code == code and got == wanted and launches, f"{name}, wrong: {wrong}",
                       said)
                expect(said == wanted_said, f"{name} fails with other words", said + wanted_said)


ALIKE = """import std.tensor
actor A() {
  state w: f32[16] = zeros()
  method give(x: f32[16]) -> f32[16] { return x * 2 }
  method add(x: f32[16]) -> f32[16] { w = w + x  return w }
}
place a[r in 0..4] = A() on gpu[r]
graph g(x: [f32[16]; 4]) -> (sums: [f32[16]; 4]) inflight 2 {
  let ys = [a[r].give(x[r]) for r in 0..4]
  let sums = all_reduce(ys, sum)
  return (sums: all_reduce([a[r].add(sums[r]) for r in 0..4], max))
}
"""


def try_registering(runner, plan, outputs, inputs, wanted):
    """Values of collectives lie in memory that NCCL knows, as far as its version can, where each
    GPU has a thread of its own; results are the same."""
    alike = runner.compile("alike", ALIKE)
    random = np.random.RandomState(7)
    alike_inputs = {f"x[{r}]": random.randn(16).astype(np.float32) for r in range(4)}
    alike_outputs = [f"sums[{r}]" for r in range(4)]
    code, said, alike_wanted, _ = runner.run(alike, alike_outputs, alike_inputs,
                                             flags=("-n", "5"))
    expect(code == 0, "alike on CPU threads", said)
    both = ((alike, alike_outputs, alike_inputs, alike_wanted, ("-n", "5", "--workers", "5")),
            (plan, outputs, inputs, wanted, ("--workers", "5")))
    for nccl, kinds in (("", ("a window of ", "")), ("version=22600", ("", "")),
                        ("version=21900", ("", "")), ("memory=none", (None, None)),
                        ("memory=some", (None, None))):
        for (name, outs, ins, right, flags), kind in zip(both, kinds):
            for seed in (1, 2, 3):
                code, said, got, launches = runner.run(name, outs, ins, gpus=4, nccl=nccl,
                                                       seed=seed, flags=flags)
                what = f"{name.stem}, registered by NCCL {nccl or 'of today'}"
                expect(code == 0 and got == right, what, said)
                expect(bool(launches) and
                       all(("on registered memory" in line) == (kind is not None)
                           for line in launches), what, "\n".join(launches))
                expect(len(runner.registered) == (4 if kind is not None else 0) and
                       all(re.match(rf"registered {kind}\d+ bytes", line)
                           for line in runner.registered), what, "\n".join(runner.registered))
    code, said, got, launches = runner.run(alike, alike_outputs, alike_inputs, gpus=4,
                                           flags=("-n", "5", "--workers", "5"),
                                           emulation=",peers=0")
    expect(code == 0 and got == alike_wanted and launches and not runner.registered,
           "nothing is registered where GPUs do not reach each other", said)
    for workers in ("1", "2", "3"):
        code, said, got, launches = runner.run(alike, alike_outputs, alike_inputs, gpus=4,
                                               flags=("-n", "5", "--workers", workers))
        expect(code == 0 and got == alike_wanted and launches and not runner.registered,
               f"nothing is registered with {workers} threads for 4 GPUs", said)


SLOW = """import std.tensor
import std.debug
actor A() { method give(x: f32[16]) -> f32[16] { return x } }
actor Slow() {
  method nap(x: f32[16]) -> f32[16] {
    sleep(4000)
    return x
  }
}
place a[r in 0..2] = A() on gpu[r]
place slow = Slow() on cpu[0]
graph g(x: f32[16]) -> [f32[16]; 2] {
  return all_reduce([a[0].give(x), a[1].give(slow.nap(x))], sum)
}
"""


def try_time_out(runner):
    """One GPU's thread waits for the other's to issue, which waits for a CPU. A time-out and an
    interrupt end both."""
    plan = runner.compile("slow", SLOW)
    start = time.monotonic()
    code, said, _, launches = runner.run(plan, ["result[0]", "result[1]"],
                                         {"x": np.zeros(16, np.float32)}, gpus=2,
                                         flags=("--timeout", "1", "--workers", "4"))
    expect(code != 0 and "nothing has moved" in said and len(runner.registered) == 2 and
           not launches, f"a time-out while members wait for each other: exit code {code}", said)
    code, said, _, _ = runner.run(plan, ["result[0]", "result[1]"],
                                  {"x": np.zeros(16, np.float32)}, gpus=2,
                                  flags=("--workers", "4"), interrupt=2)
    expect(code != 0 and len(runner.registered) == 2, "an interrupt while they do", said)
    expect(time.monotonic() - start < 60, "the end takes a minute")


LEFT = """import std.tensor
actor A() {
  method make(x: f32[8]) -> f32[8] { return x + 1 }
  method use(x: f32[N]) -> f32[N] { return x * 2 }
}
place a[r in 0..2] = A() on gpu[r]
graph g(x: f32[8]) -> f32[N] {
  let all = KIND(a[0].make(x), to: a)
  return a[1].use(all[1])
}
"""


def try_left_out(runner):
    """A root that leaves its own output out, here within a machine. (The compiler says it of
    messages between machines alone.)"""
    for kind, extent in (("broadcast", "8"), ("scatter", "4")):
        plan = runner.compile(kind, LEFT.replace("KIND", kind).replace("N", extent))
        text = subprocess.run([runner.options.cgc, "plan", plan, "--json"], capture_output=True,
                              text=True, check=True).stdout
        said = json.loads(text)
        left = 0
        for graph in said["graphs"]:
            for part in graph["parts"]:
                if part["part"] == "collective" and part.get("inputs") and part.get("outputs"):
                    part["outputs"] = 0
                    left += 1
        expect(left == 1, f"{kind}: {left} roots", text[:2000])
        (runner.folder / "left.json").write_text(json.dumps(said))
        subprocess.run([runner.options.cgc, "plan", "--from-json", runner.folder / "left.json",
                        "-o", plan], check=True, capture_output=True)
        inputs = {"x": np.arange(8, dtype=np.float32)}
        code, said, wanted, _ = runner.run(plan, ["result"], inputs)
        expect(code == 0, f"{kind} without the root's output on CPU threads", said)
        for workers in ("1", "3"):
            code, said, got, launches = runner.run(plan, ["result"], inputs, gpus=2,
                                                   flags=("--workers", workers))
            expect(code == 0 and got == wanted and launches, f"{kind} without the root's output",
                   said)


def try_environment(runner):
    """A user's NCCL_LAUNCH_ORDER_IMPLICIT=0: of several communicators of a GPU one is NCCL's."""
    two = runner.compile("two", TWO)
    ins = {f"x[{r}]": np.arange(8, dtype=np.float32) + r for r in range(4)}
    outs = [f"pairs[{r}]" for r in range(4)] + [f"all[{r}]" for r in range(4)]
    code, said, right, _ = runner.run(two, outs, ins)
    expect(code == 0, "two communicators on CPU threads", said)
    for order, kinds in ((None, 2), ("0", 1)):
        environment = {} if order is None else {"NCCL_LAUNCH_ORDER_IMPLICIT": order}
        code, said, got, launches = runner.run(two, outs, ins, gpus=4, environment=environment)
        found = {re.search(r"of rank \d+ of (\d+)", line)[1] for line in launches}
        expect(code == 0 and got == right and len(found) == kinds,
               f"NCCL_LAUNCH_ORDER_IMPLICIT={order}", said + "\n".join(launches))
    done = subprocess.run([runner.options.cgrun, "--devices"], capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=runner.options.libraries,
                                   NCCL_LAUNCH_ORDER_IMPLICIT="0"))
    expect('NCCL  2.28.9, but carries out one communicator of each GPU: '
           'NCCL_LAUNCH_ORDER_IMPLICIT is "0"' in done.stdout, "cgrun --devices", done.stdout)


TWO = """import std.tensor
actor A() { method give(x: f32[8]) -> f32[8] { return x } }
place a[r in 0..4] = A() on gpu[r]
graph g(x: [f32[8]; 4]) -> (pairs: [f32[8]; 4], all: [f32[8]; 4]) {
  let ys = [a[r].give(x[r]) for r in 0..4]
  let first = all_reduce([ys[0], ys[1]], sum)
  let second = all_reduce([ys[2], ys[3]], sum)
  return (pairs: [if r < 2 { first[r] } else { second[r - 2] } for r in 0..4],
          all: all_reduce(ys, sum))
}
"""


BARRIER = """import std.tensor
actor A() { method give(x: f32[8]) -> f32[8] { return x } }
place a[r in 0..4] = A() on gpu[r]
graph g(x: [f32[8]; 4]) -> [f32[8]; 2] {
  barrier(a)
  let ys = [a[r].give(x[r]) for r in 0..4]
  return SUMS
}
"""


def try_barrier(runner):
    """A communicator of which NCCL has no collective is not made, so that an NCCL that keeps no
    order between several carries out those of another."""
    ins = {f"x[{r}]": np.arange(8, dtype=np.float32) + r for r in range(4)}
    outs = [f"result[{r}]" for r in range(2)]
    for name, sums, made in (("barrier", "[ys[0], ys[1]]", 0),
                             ("barrier_and_sum", "all_reduce([ys[0], ys[1]], sum)", 1)):
        plan = runner.compile(name, BARRIER.replace("SUMS", sums))
        code, said, right, _ = runner.run(plan, outs, ins)
        expect(code == 0, f"{name} on CPU threads", said)
        for nccl in ("", "version=22500"):
            code, said, got, launches = runner.run(plan, outs, ins, gpus=4, nccl=nccl)
            expect(code == 0 and got == right and len(runner.connected) == made and
                   len(launches) == 2 * made, f"{name}, NCCL {nccl}: {runner.connected}",
                   said + "\n".join(launches))


def try_one_gpu(runner):
    """Two ranks on one GPU: NCCL's since 2.30, where the environment asks for it; else ours."""
    plan = runner.compile("pair", ALIKE.replace("4", "2"))
    ins = {f"x[{r}]": np.arange(16, dtype=np.float32) - r for r in range(2)}
    outs = [f"sums[{r}]" for r in range(2)]
    code, said, right, _ = runner.run(plan, outs, ins)
    expect(code == 0, "a pair on CPU threads", said)
    asked = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}
    one = ("--device-map", "gpu[0]=cuda:0,gpu[1]=cuda:0")
    for nccl, environment, carried in (("version=23000", asked, True), ("version=23000", {}, False),
                                       ("version=22900", asked, False)):
        for seed in (1, 2, 3):
            code, said, got, launches = runner.run(plan, outs, ins, gpus=1, nccl=nccl, flags=one,
                                                   seed=seed, environment=environment)
            expect(code == 0 and got == right and bool(launches) == carried and
                   not runner.registered, f"two ranks on one GPU, {nccl} {environment}",
                   said + "\n".join(launches))


def try_errors(runner, plan, outputs, inputs):
    """A launch that fails: NCCL's words, exit code 1, soon, and no GPU hangs."""
    for fail in (5, 9, 20):
        code, said, _, _ = runner.run(plan, outputs, inputs, gpus=4, nccl=f"fail={fail}")
        expect(code == 1 and "NCCL reports: unhandled system error" in said,
               f"launch {fail} fails: exit code {code}", said)


def main():
    parser = argparse.ArgumentParser()
    for name in ("cgc", "cgrun", "libraries"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, pathlib.Path(folder))
        for members in (2, 4, 8):
            for dtype in DTYPES:
                tried = try_everything(runner, dtype, members)
                if (dtype, members) == ("f32", 4):
                    f32 = tried
        try_without(runner, *f32)
        try_threads(runner, *f32)
        try_ring(runner, *f32)
        try_registering(runner, *f32)
        try_time_out(runner)
        try_environment(runner)
        try_barrier(runner)
        try_one_gpu(runner)
        try_left_out(runner)
        try_extents(runner)
        try_poison(runner)
        try_errors(runner, *f32[:3])
    print(f"NCCL: {expectations.checks} checks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Behaviour of both commands and the engine when the system refuses memory, threads or files.

  resources_test.py --cgc build/release/cgc --cgrun build/release/cgrun \\
      --fail build/release/tests/libfail_nth.so [--engine build/release/tests/load_engine] [--full]

With --engine what is tried is Engine::LoadFile() in a program of its own, without it the commands.
They run first under the limits of address space and threads; then the n-th call of one kind fails
(fail_nth.cpp), once or from then on: every n with --full, else a seeded sample of them, and how
many of how many is printed. Whatever fails: no signal, no hang, no bug reported, an exit code of
the documented ones, a sentence where it is not 0, and of every output the old file or the complete
new one.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

PROGRAM = """import std.tensor
actor A(k: float) {
  state w: f32[4] = load("w.safetensors", "w")
  method f(x: f32[4]) -> f32[4] { w += x return w * k }
}
place a = A(2.0) on cpu[0]
place b = A(3.0) on gpu[0]
graph g(x: f32[4]) -> (y: f32[4], z: f32[4]) { return (y: a.f(x), z: b.f(a.f(x))) }
"""
LARGE = """import std.tensor
graph g(x: i64) -> i64 {
  var h = x
  for i in 0..200000 { h = h + 1 }
  return h
}
"""
KINDS = ["alloc", "mmap", "open", "read", "write", "close", "stat", "rename", "thread", "dlopen",
         "spawn", "share"]
OLD = b"what stood here before\n"
ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534
failures = []


def failed(what):
    failures.append(what)
    print(f"FAILED: {what}")


def run(line, folder, environment=None, before=None):
    """(exit code or None of a hang, standard error)."""
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, timeout=60, preexec_fn=before,
                              env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stderr.decode(errors="replace")


def judge(what, code, error, codes):
    """Says what is wrong with an ending; whether it is right."""
    if code is None:
        failed(f"{what} hangs")
    elif code < 0:
        failed(f"{what} ends with signal {-code}\n{error}")
    elif code not in codes:
        failed(f"{what}: exit code {code}, expected {codes}\n{error}")
    elif "bug" in error:
        failed(f"{what} calls it a bug\n{error}")
    else:
        return True
    return False


def limits(options, folder):
    """Address space and threads by the system's own limits."""
    cases = 0
    for command, least in ((options.cgc, 20), (options.cgrun, 11)):
        line = [command, "compile", "p.cgraph"] if command == options.cgc else [
            command, "p.cgplan", "--input", "x=[1,2,3,4]"]
        for megabytes in (least, 25, 30, 35, 40, 60, 100, 300, 500):
            def limit(size=megabytes << 20):
                resource.setrlimit(resource.RLIMIT_AS, (size, size))
            code, error = run(line, folder, before=limit)
            cases += 1
            # What the system says before there is a program is not the program's.
            if code == 127 and "error while loading shared libraries" in error:
                continue
            judge(f"{line} with {megabytes} MB", code, error, (0, 3))
            if code == 3 and "error: " not in error:
                failed(f"{line} with {megabytes} MB says nothing")
    for line in ([options.cgc, "compile", "large.cgraph", "-o", "large.cgplan"],
                 [options.cgc, "check", "large.cgraph"],
                 [options.cgrun, "large.cgraph", "--input", "x=1"]):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (800 << 20, 800 << 20))
        code, error = run(line, folder, before=limit)
        cases += 1
        if judge(f"{line} with 800 MB", code, error, (3,)) and "out of memory" not in error:
            failed(f"{line} with 800 MB: {error}")
    if os.geteuid() != 0:
        print("SKIPPED: limits of threads, which root alone can give to a user without any")
        return cases
    cgc, cgrun = reachable(options, folder)
    for threads in range(1, 7):
        for line in ([cgrun, "p.cgplan", "--input", "x=[1,2,3,4]"],
                     [cgrun, "p.cgraph", "--input", "x=[1,2,3,4]"],
                     [cgc, "check", "p.cgraph"]):
            def limit(threads=threads):
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
            code, error = run(line, folder, before=limit)
            cases += 1
            judge(f"{line} with {threads} threads", code, error, (0, 3))
    return cases


def reachable(options, folder):
    """The commands, where every user may run them: the repository may be in root's home."""
    installed = pathlib.Path(folder) / "installed"
    (installed / "bin").mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "stdlib", installed / "share/cgraph/stdlib", dirs_exist_ok=True)
    for path in (installed, *installed.rglob("*")):
        path.chmod(0o755)
    return [shutil.copy(command, installed / "bin") for command in (options.cgc, options.cgrun)]


def safetensors():
    header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack("<4f", 1, 2, 3, 4)


class Loop:
    """The n-th failure of every kind in one command line."""

    def __init__(self, options, folder, line, outputs, codes=(0, 1, 2, 3), kinds=None):
        self.options, self.folder, self.line, self.outputs = options, folder, line, outputs
        self.codes, self.kinds = codes, kinds or KINDS
        self.name = " ".join([pathlib.Path(line[0]).name, *line[1:]])
        self.endings = collections.Counter()

    def start(self, order):
        return run(self.line, self.folder,
                   {"CGRAPH_FAIL": order, "LD_PRELOAD": self.options.fail})

    def counts(self):
        """Calls of each kind, and what the outputs are when nothing fails."""
        for output in self.outputs:
            (self.folder / output).write_bytes(OLD)
        code, error = self.start(f"count:{self.folder}/counts")
        if code != 0:
            sys.exit(f"FAILED: {self.name} without a failure: exit code {code}\n{error}")
        self.good = {output: (self.folder / output).read_bytes() for output in self.outputs}
        self.files = set(os.listdir(self.folder))
        lines = (self.folder / "counts").read_text().split("\n")
        return {kind: int(count) for kind, count in (line.split() for line in lines if line)}

    def one(self, order):
        for output in self.outputs:
            (self.folder / output).write_bytes(OLD)
        code, error = self.start(order)
        self.endings[code] += 1
        what = f"{self.name} with {order}"
        if not judge(what, code, error, self.codes):
            return
        if code != 0 and not error and not order.startswith("write"):
            failed(f"{what}: exit code {code} and not a word")
        if "cannot read w.safetensors" in error and code != 3:
            failed(f"{what}: exit code {code} for weights that cannot be read\n{error}")
        for output in self.outputs:
            there = (self.folder / output).read_bytes()
            if there != self.good[output] and (code == 0 or there != OLD):
                failed(f"{what}: exit code {code}, {output} has {len(there)} bytes of "
                       f"{len(self.good[output])}")
        if stray := set(os.listdir(self.folder)) - self.files:
            failed(f"{what}: leaves {stray}")
            for each in stray:
                (self.folder / each).unlink()

    def run(self, rng):
        total = tried = 0
        for kind, count in self.counts().items():
            if kind not in self.kinds:
                continue
            orders = [f"{kind}:{n}{after}" for n in range(1, count + 1) for after in ("", "+")]
            sample = self.options.sample
            chosen = orders if self.options.full or len(orders) <= sample else rng.sample(orders,
                                                                                         sample)
            for order in chosen:
                self.one(order)
            total, tried = total + len(orders), tried + len(chosen)
        endings = ", ".join(f"{count} with {code}" for code, count in sorted(
            self.endings.items(), key=str))
        print(f"{self.name}: {tried} of {total} failures tried; exit codes: {endings}")
        return tried


def loops(options, folder):
    rng = random.Random(options.seed)
    x = ["--input", "x=[1,2,3,4]"]
    outputs = ["--output", "y=y.npy", "--output", "z=z.npy", "--profile", "p.json", "--trace",
               "t.json"]
    all_loops = [
        ([options.cgc, "compile", "p.cgraph", "-o", "new.cgplan"], ["new.cgplan"]),
        ([options.cgc, "compile", "p.cgraph", "-o", "new.cgplan", "--emit", "plan=p.txt"],
         ["new.cgplan", "p.txt"]),
        ([options.cgc, "viz", "p.cgplan", "-o", "p.svg"], ["p.svg"]),
        ([options.cgc, "simulate", "p.cgplan", "--trace", "s.json"], ["s.json"]),
        ([options.cgrun, "p.cgplan", *x, *outputs], []),  # whose times differ
        ([options.cgrun, "p.cgplan", *x, "--output", "y=y.npy", "--processes", "2"], ["y.npy"]),
        ([options.cgrun, "p.cgraph", *x, "--output", "y=y.npy"], ["y.npy"]),
        ([options.cgrun, "p.cgplan", *x, "--output", "y=y.npy", "--output", "z=z.npy"],
         ["y.npy", "z.npy"]),
    ]
    if options.engine:
        all_loops = [([options.engine, "p.cgplan"], [])]
    tried = 0
    for line, written in all_loops:
        if options.only and options.only not in " ".join(line):
            continue
        tried += Loop(options, folder, line, written).run(rng)
    return tried


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("cgc", "cgrun", "fail"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    parser.add_argument("--engine", type=os.path.abspath, help="load_engine")
    parser.add_argument("--full", action="store_true", help="every failure instead of a sample")
    parser.add_argument("--sample", type=int, default=12, help="failures of a kind in a command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="command lines that contain this")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        (folder / "p.cgraph").write_text(PROGRAM)
        (folder / "large.cgraph").write_text(LARGE)
        (folder / "w.safetensors").write_bytes(safetensors())
        code, error = run([options.cgc, "compile", "p.cgraph"], folder)
        if code != 0:
            sys.exit(f"FAILED: the program does not compile\n{error}")
        cases = 0 if options.only or options.engine else limits(options, folder)
        tried = loops(options, folder)
    print(f"{cases} limits, {tried} failures of calls, {len(failures)} failed")
    sys.exit(1 if failures or tried == 0 else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Methods in native code: what they are given, what may go wrong in them, and what is said of it.

  native_test.py --cgc build/release/cgc --cgrun build/release/cgrun --folder build/release/tests

The libraries of tests/native are in the folder. Faults are those of a table: what the method does,
how a run ends that has all in one process, and how one ends whose devices have a process each.
"""
import argparse
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

PROGRAM = """import std.tensor
actor Trial(factor: float, name: str, list: [int; 2]) {
  state bias: f32[3] = zeros()
  method act(what: i64[1]) -> i64[2] = extern "libcgraph_trial.so:trial_act" reads bias
  method scale(x: f32[n <= 4, 3], by: float = 2.0) -> (y: f32[n, 3], sum: f32)
    = extern "libcgraph_trial.so:trial_scale" reads bias cost(flops: 6 * n, bytes: 24 * n)
  method learn(x: f32[n <= 4, 3]) = extern "libcgraph_trial.so:trial_learn" writes bias
  method dtypes(a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: bf16[2],
                h: f32[2], i: f64[2]) -> i64[9] = extern "libcgraph_trial.so:trial_dtypes"
  method flags(x: f32[3]) -> bool[3] = extern "libcgraph_trial.so:trial_flags" reads bias
  method plain(x: f32[3]) -> f32[3] { return x + bias }
}
place t[i in 0..2] = Trial(1.5, "x{i}", [i, 7]) on cpu[i]
graph act(what: i64[1], other: i64[1]) -> (a: i64[2], b: i64[2]) inflight 2 {
  return (a: t[0].act(other), b: t[1].act(what))
}
graph scale(x: f32[n <= 4, 3]) -> (y: f32[n, 3], sum: f32, plain: f32[3]) {
  t[0].learn(x)
  let r = t[0].scale(x, by: 0.5)
  return (y: r.y, sum: r.sum, plain: t[0].plain(zeros()))
}
graph learn(x: f32[1, 3]) -> f32[1, 3] {
  t[0].learn(x)
  return t[0].scale(x, by: 0.0).y
}
graph flags(x: f32[3]) -> bool[3] { return t[1].flags(x) }
graph dtypes(x: f32[2]) -> i64[9] {
  return t[0].dtypes(cast<bool>(x), cast<i8>(x), cast<u8>(x), cast<i32>(x), cast<i64>(x),
                     cast<f16>(x), cast<bf16>(x), x, cast<f64>(x))
}
"""
NOTHING = 0
# what: (its number, how it ends in one process, what is said there, what is said of processes)
FAULTS = {
    "error": (1, 1, "t[1].act (*) failed: an error, as asked", None),
    "code": (2, 1, "`trial_act` of libcgraph_trial.so returned 7", None),
    "exception": (3, 1, "exception: thrown, as asked", None),
    "exception of an int": (4, 1, "an exception that is no std::exception", None),
    "SIGSEGV": (5, -signal.SIGSEGV, "SIGSEGV in t[1], inside `trial_act`", "SIGSEGV"),
    "SIGABRT": (6, -signal.SIGABRT, "SIGABRT in t[1], inside `trial_act`", "SIGABRT"),
    "SIGFPE": (7, -signal.SIGFPE, "SIGFPE in t[1], inside `trial_act`", "SIGFPE"),
    "stack overflow": (8, -signal.SIGSEGV, "SIGSEGV in t[1], inside `trial_act`", "SIGSEGV"),
    "exit(0)": (9, 1, "exit() in t[1], inside `trial_act`", "exit"),
    "_exit(0)": (10, 0, "", "exit"),
    "pthread_exit": (11, -signal.SIGABRT, "SIGABRT in t[1], inside `trial_act`", "SIGABRT"),
}


class Runs:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        (folder / "p.cgraph").write_text(PROGRAM)
        subprocess.run([args.cgc, "compile", folder / "p.cgraph", "-o", folder / "p.cgplan"],
                       check=True, timeout=60, stdout=subprocess.DEVNULL)
        self.library = pathlib.Path(args.folder).resolve() / "libcgraph_trial.so"

    def run(self, graph, *flags, library=None, inputs=(), timeout=30):
        words = [self.args.cgrun, self.folder / "p.cgplan", "--graph", graph, *flags]
        if library != "":
            words += ["--lib", library or self.library]
        for name, value in inputs:
            path = self.folder / f"{name}.npy"
            np.save(path, value)
            words += ["--input", f"{name}={path}"]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=timeout, cwd=self.folder)

    def act(self, what, *flags, other=NOTHING, **options):
        values = [("what", np.array([what])), ("other", np.array([other]))]
        return self.run("act", *flags, inputs=values, **options)


def objects_and_tensors(runs):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    done = runs.run("scale", "--output", f"y={runs.folder}/y.npy", "--output",
                    f"sum={runs.folder}/sum.npy", "--output", f"plain={runs.folder}/plain.npy",
                    "-n", "2", inputs=[("x", x)])
    expect(done.returncode == 0, done.stderr)
    bias = 2 * x[0]
    y = x * np.float32(0.5) + bias
    expect(np.array_equal(np.load(runs.folder / "y.npy"), y), "y of two executions")
    expect(np.isclose(np.load(runs.folder / "sum.npy"), y.sum()), "a second result")
    expect(np.array_equal(np.load(runs.folder / "plain.npy"), bias), "a state that both kinds see")
    for i in range(2):
        text = f"t[{i}] Trial factor=1.500000 name=x{i} list={i};7;"
        expect(f"created: {text}, methods 5" in done.stderr, done.stderr)
        expect(f"destroyed: {text}, calls 0" in done.stderr, done.stderr)
    done = runs.act(0, "--processes", "device")
    expect(done.returncode == 0 and done.stderr.count("destroyed: ") == 2, done.stderr)
    done = runs.run("dtypes", "--output", f"result={runs.folder}/d.npy",
                    inputs=[("x", np.ones(2, np.float32))])
    expect(done.returncode == 0, done.stderr)
    expect(list(np.load(runs.folder / "d.npy")) ==
           [6008, 8, 1008, 32, 64, 2016, 4016, 2032, 2064], "codes of dtypes")


def booleans(runs):
    """A method that says yes by another byte than 1 has failed."""
    for value, code, said in ((1, 0, "[ true false  true]"), (2, 1, "t[1].flags ("),
                              (2, 1, "failed: its result has booleans that are neither 0 nor 1")):
        done = runs.run("flags", inputs=[("x", np.array([value, 0, 1], np.float32))])
        expect(done.returncode == code and said in done.stdout + done.stderr, done.stderr)


def state_of_a_failed_call(runs):
    """The second call fails after it has written: what follows sees the state of before."""
    x = np.ones((2, 3), np.float32)
    x[1] = 99
    done = runs.run("learn", "--batch", "x", inputs=[("x", x)])
    expect(done.returncode == 1 and "99 cannot be learned" in done.stderr, done.stderr)
    states = re.findall(r"bias (.*)", done.stderr)
    expect(states == ["1 1 1", "1 1 1"], f"the states that were seen: {states}")


def faults(runs):
    for name, (number, code, said, of_processes) in FAULTS.items():
        if runs.args.sanitized and (code <= 0 or name == "exit(0)"):
            continue  # sanitizers have handlers of their own
        done = runs.act(number)
        expect(done.returncode == code, f"{name}: ended with {done.returncode}: {done.stderr}")
        pattern = re.escape(said).replace(r"\*", ".*")
        expect(re.search(pattern, done.stderr), f"{name}: {said} is not in {done.stderr}")
        start = time.monotonic()
        done = runs.act(number, "--processes", "device")
        seconds = time.monotonic() - start
        expect(done.returncode == 1, f"{name}, processes: ended with {done.returncode}: "
                                     f"{done.stderr}")
        expect("t[1].act" in done.stderr, f"{name}, processes: no actor in {done.stderr}")
        if of_processes is None:
            expect(said.partition(" (*)")[0] in done.stderr or re.search(pattern, done.stderr),
                   done.stderr)
        else:
            expect(of_processes in done.stderr, f"{name}, processes: {done.stderr}")
        expect(seconds < 10, f"{name}: {seconds:.1f} s until the others had ended")


def others_go_on(runs):
    """An error is one execution's: of five, the others are computed."""
    done = runs.act(15, "-n", "5")
    expect(done.returncode == 1 and "5 executions, 1 error" in done.stderr, done.stderr)
    expect(re.search(r"destroyed: t\[1\].*calls 4", done.stderr), done.stderr)
    expect(re.search(r"destroyed: t\[0\].*calls 5", done.stderr), done.stderr)


def thread_is_restored(runs):
    for number in (12, 13):
        for _ in range(2):
            done = runs.act(number, "--output", f"b={runs.folder}/b.npy", "-n", "2")
            expect(done.returncode == 0, done.stderr)
            calls, state = np.load(runs.folder / "b.npy")
            expect((calls, state) == (2, 0), f"act {number}: {calls} calls, state {state}")


def hangs(runs):
    done = runs.act(14, "--timeout", "1")
    expect(done.returncode == 1 and "t[1].act" in done.stderr, done.stderr)


def libraries(runs):
    done = runs.act(0, library="")
    expect(done.returncode == 3 and "native code of `libcgraph_trial.so` is needed, and none was "
           "named; cgrun --lib PATH/libcgraph_trial.so names it" in done.stderr, done.stderr)
    done = runs.act(0, library="/nowhere/libcgraph_trial.so")
    expect(done.returncode == 3 and "there is no such file" in done.stderr, done.stderr)
    (runs.folder / "near").mkdir()
    (runs.folder / "near" / "models.py").touch()
    for name in ("models", "model.py"):
        done = runs.act(0, library=runs.folder / "near" / name)
        expect(done.returncode == 3 and "there is no such file (did you mean `"
               f"{runs.folder}/near/models.py`?)" in done.stderr, done.stderr)
    done = runs.act(0, library=runs.folder)
    expect(done.returncode == 2 and "it is a folder" in done.stderr, done.stderr)
    bad = runs.folder / "bad"
    bad.mkdir()
    copy = bad / "libcgraph_trial.so"
    copy.write_text("no library")
    done = runs.act(0, library=copy)
    expect(done.returncode == 3 and "cannot be loaded" in done.stderr, done.stderr)
    shutil.copy(pathlib.Path(runs.args.folder) / "libcgraph_trial_old.so", copy)
    done = runs.act(0, library=copy)
    expect(done.returncode == 1 and "made for version 999 of cgraph_extern.h" in done.stderr,
           done.stderr)
    twin = runs.folder / "twin"
    twin.mkdir()
    shutil.copy(runs.library, twin)
    done = runs.act(0, "--lib", twin / runs.library.name)
    expect(done.returncode == 1 and "are named, and the plan says `libcgraph_trial.so`: leave one "
           "of them out" in done.stderr, done.stderr)
    expect(runs.act(0, "--lib", runs.library).returncode == 0, "one library, named twice")
    source, zero = runs.folder / "other.cgraph", runs.folder / "zero.npy"
    np.save(zero, np.array([0]))
    line = [runs.args.cgrun, source, "--graph", "act", "--lib", runs.library, "--input",
            f"what={zero}", "--input", f"other={zero}"]
    source.write_text(PROGRAM.replace(":trial_act", ":trial_acts"))
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    expect(done.returncode == 3 and "does not export `trial_acts`" in done.stderr, done.stderr)
    for symbol in ("free", "puts", "exit"):  # of libc, which the library needs
        source.write_text(PROGRAM.replace(":trial_act", ":" + symbol))
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        expect(done.returncode == 3 and f"does not export `{symbol}`" in done.stderr, done.stderr)
    source.write_text(PROGRAM.replace('"x{i}"', '"refuse"'))
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    expect(done.returncode == 1 and "refused, as asked" in done.stderr, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--cgc", "--cgrun", "--folder"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--sanitized", action="store_true", help="leave out what crashes")
    args = parser.parse_args()
    args.cgc, args.cgrun = (str(pathlib.Path(p).resolve()) for p in (args.cgc, args.cgrun))
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args, pathlib.Path(folder))
        objects_and_tensors(runs)
        booleans(runs)
        state_of_a_failed_call(runs)
        faults(runs)
        others_go_on(runs)
        thread_is_restored(runs)
        hangs(runs)
        libraries(runs)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

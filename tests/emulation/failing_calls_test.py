#!/usr/bin/python3
"""A small run on emulated GPUs in which the n-th call of the driver fails, for every n in turn,
once or from then on.

  failing_calls_test.py --cgc build/release/cgc --cgrun build/release/cgrun \\
      --libraries build/release/emulated:build/release [--every 1] [--first 1]

Whatever fails: no signal, no hang, no misuse of the driver; the right result, or an error that
names what the driver said. `--every k` tries one n of k, from `--first` on, which CGRAPH_SEED
chooses where nothing else does, and says so. Then the GPUs fail while several executions are in
flight: what is said is the first failure.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = """import std.tensor
actor A(k: float) {
  state w: f32[4] = ones() * k
  method f(x: f32[4]) -> f32[4] { w = w + x  return w }
  method rows(table: f32[4], at: i64) -> f32[1] { return slice(table, dim: 0, from: at, length: 1) }
}
place a = A(2.0) on gpu[0]
place b = A(3.0) on gpu[1]
graph g(x: f32[4], at: i64) -> f32[1] { return b.rows(b.f(a.f(x)), at) }
"""
WANTED = np.array([2 + 2 + 3], np.float32)  # x = [0, 1, 2, 3], at = 2
# Which GPU an error is of, by the plan and by the driver, and what to do about it.
NAMED = r"gpu\[[01]\] \(cuda:[01]\)"
MENDS = ("look for `Xid` in `dmesg`", "(--inflight)")
QUIET = 30  # runs in a row that nothing failed in: the calls are over


def main():
    parser = argparse.ArgumentParser()
    for name in ("cgc", "cgrun", "libraries"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.first is None:
        options.first = 1 + int(os.environ.get("CGRAPH_SEED", "1")) % options.every
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "p.cgraph").write_text(PROGRAM)
        plan = folder / "p.cgplan"
        subprocess.run([options.cgc, "compile", folder / "p.cgraph", "-o", plan], check=True,
                       stdout=subprocess.DEVNULL)
        np.save(folder / "x.npy", np.arange(4, dtype=np.float32))
        np.save(folder / "at.npy", np.array(2, np.int64))
        for sticky in ("", ":sticky"):
            try_all(options, folder, plan, sticky)
        fail_in_flight(options, folder)


def try_all(options, folder, plan, sticky):
    """Tries the calls in order, some at once, until none of QUIET runs has failed."""
    codes = collections.Counter()
    quiet = 0
    calls = itertools.count(options.first, options.every)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while quiet < QUIET:
            batch = list(itertools.islice(calls, 2 * options.jobs))
            for code in pool.map(lambda n: run(options, folder, plan, f"{n}{sticky}"), batch):
                codes[code] += 1
                quiet = quiet + 1 if code == 0 else 0
    last = batch[-1]
    codes[0] -= quiet
    if codes[1] + codes[3] < 20:
        sys.exit(f"FAILED: only {codes[1] + codes[3]} calls made a run fail")
    said = f", one of {options.every} from {options.first} on" if options.every > 1 else ""
    print(f"{'from the n-th call on' if sticky else 'the n-th call'} fails: {last} calls{said}; "
          f"exit codes: {', '.join(f'{count} with {code}' for code, count in codes.items())}")


def fail_in_flight(options, folder):
    """A GPU that fails between two of many executions: each later one has that as its reason."""
    text = PROGRAM.replace("-> f32[1] { return b", "-> f32[1] inflight 3 { return b")
    (folder / "several.cgraph").write_text(text)
    plan = folder / "several.cgplan"
    subprocess.run([options.cgc, "compile", "-q", folder / "several.cgraph", "-o", plan],
                   check=True)
    line = [options.cgrun, str(plan), "--require-gpu", "--inflight", "3", "-n", "100", "--json",
            "--processes", "1",
            "--input", "x=[0,1,2,3]", "--input", "at=2"]
    failed = 0
    for call in range(900, 1300, 20):
        environment = dict(os.environ, LD_LIBRARY_PATH=options.libraries,
                           CGRAPH_EMULATION=f"devices=2,seed={call},fail={call}:sticky")
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)
        told = json.loads(done.stdout)
        if not told.get("failures"):
            continue  # while the plan was loaded, or after the run
        failed += 1
        first = told["failures"][0]["message"]
        fault = ""
        reason = re.escape(first) + r"(\n\d+ of 100 executions [^\n]*)?"  # and what is lost
        if done.returncode != 1 or not re.fullmatch(reason, told.get("error", first)):
            fault = "the first failure is not the reason of the run's end"
        elif f"error: {first}\n" not in done.stderr or "clearing" in done.stderr:
            fault = "the first failure is not what standard error says"
        elif not all(word in first for word in ("gpu[", " (cuda:", "has failed: CUDA_", "Xid")):
            fault = "it is not said which GPU has failed, or what to do"
        if fault:
            raise SystemExit(f"FAILED: fail={call}:sticky, three in flight: {fault}\n"
                             f"{done.stdout}{done.stderr}")
    if failed < 5:
        raise SystemExit(f"FAILED: only {failed} runs failed with executions in flight")
    print(f"{failed} runs failed with several executions in flight, and say why")


def run(options, folder, plan, fail):
    out = folder / f"y_{fail.replace(':', '_')}.npy"
    environment = dict(os.environ, LD_LIBRARY_PATH=options.libraries,
                       CGRAPH_EMULATION=f"devices=2,seed={fail.split(':')[0]},fail={fail}")
    line = [options.cgrun, str(plan), "-q", "--require-gpu", "--timeout", "20", "--processes", "1",
            "--input", f"x={folder}/x.npy", "--input", f"at={folder}/at.npy",
            "--output", f"result={out}"]
    try:
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"FAILED: fail={fail}: does not end")
    text = done.stdout + done.stderr
    right = out.exists() and np.array_equal(np.load(out), WANTED)
    errors = ("CUDA_ERROR", "refuses", "free", "no NVIDIA driver", "driver")
    told = any(word in text for word in errors)
    if done.returncode not in (0, 1, 3) or "misuse" in text:
        fault = f"exits with {done.returncode}"
    elif done.returncode == 0 and not right:
        fault = "exits with 0, and the result is wrong"
    elif done.returncode != 0 and not told:
        fault = "says nothing of the driver"
    elif "nothing has moved" in text:
        fault = "ends in a time-out"
    elif done.returncode == 1 and not (re.search(NAMED, text) and any(m in text for m in MENDS)):
        fault = "does not say which GPU it is, or what to do"
    elif "compute capability" in text:
        fault = "takes a GPU for too old that does not say how old it is"
    elif "abandoned" in text:
        fault = "waits in vain for a stream to end"
    else:
        return done.returncode
    raise SystemExit(f"FAILED: fail={fail}: {fault}\n{text}")


if __name__ == "__main__":
    main()

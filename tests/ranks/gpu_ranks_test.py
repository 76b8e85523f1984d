#!/usr/bin/python3
"""cgrun --processes on GPUs, which the emulated driver stands for: results, errors and counts are
those of one process, to the bit, whatever GPUs reach of each other and whether there is NCCL.

  gpu_ranks_test.py --cgc build/release/cgc --cgrun build/release/cgrun
                    --libraries build/release/emulated:build/release [--only same]

Deaths are deaths_test.py's (--gpus).
"""
import argparse
import json
import os
import pathlib
import re
import signal
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402
import subprocess  # noqa: E402

PROGRAM = """import std.tensor
import std.debug
actor Stage() {
  state total: f32[300] = zeros()
  method twice(x: f32[300]) -> f32[300] { return x * 2.0 }
  method add(x: f32[300]) -> f32[300] {
    total = total + x
    return total
  }
  method even(x: i64) -> i64 {
    check(x == x / 2 * 2, "it is odd")
    return x
  }
  method half(x: i64) -> i64 { return x / 2 }
  method slow(x: i64) -> i64 {
    sleep(300)
    return x + 1
  }
}
place stage[r in 0..4] = Stage() on gpu[r]
graph chain(x: f32[300]) -> (f32[300], f32[300]) inflight 3 {
  let y = stage[3].twice(stage[2].add(stage[1].twice(stage[0].twice(x))))
  return (y, stage[0].add(y))
}
graph sums(x: f32[300]) -> (f32[300], f32[300]) inflight 2 {
  let all = all_reduce([stage[r].twice(x) for r in 0..4], sum)
  let shares = all_gather([stage[r].add(all[r]) for r in 0..4])
  return (stage[1].twice(all[1]), reshape(shares[3], [1200])[0..300])
}
graph fails(x: i64) -> (i64, i64) inflight 3 {
  let first = stage[1].half(stage[0].even(x))
  return (stage[3].even(stage[2].half(first)), first)
}
graph slow(x: i64) -> i64 { return stage[3].slow(stage[2].slow(stage[1].slow(stage[0].slow(x)))) }
"""
# What GPUs may be like; with the first one they read each other's memory, and NCCL is there.
MACHINES = {
    "all": {},
    "late": {"CGRAPH_EMULATION": "seed=7,channels=1"},
    "no NCCL": {"CGRAPH_EMULATED_NCCL": "version=21800"},
    "no peers": {"CGRAPH_EMULATION": "peers=0"},
    "no IPC": {"CGRAPH_EMULATION": "ipc=0", "CGRAPH_EMULATED_NCCL": "version=21800"},
    "no IPC, but NCCL": {"CGRAPH_EMULATION": "ipc=0,seed=3"},
    "NCCL without an order": {"NCCL_LAUNCH_ORDER_IMPLICIT": "0"},
}
ONE, EACH, TWO = ["--processes", "1"], ["--processes", "device"], ["--processes", "2"]


class Suite:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.plan = folder / "ranks.cgplan"
        (folder / "ranks.cgraph").write_text(PROGRAM)
        subprocess.run([options.cgc, "compile", "-q", folder / "ranks.cgraph", "-o", self.plan],
                       check=True)
        x = struct.pack("<300f", *(0.3 * i - 7 for i in range(300)))
        (folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (300,), }".ljust(117) + "\n"
        ).encode() + x)

    def start(self, graph, *flags, machine="all", number="8", json=True):
        given = f"x={number}" if graph in ("fails", "slow") else f"x={self.folder / 'x.npy'}"
        line = [str(self.options.cgrun), str(self.plan), "--graph", graph, "--require-gpu",
                "--input", given, *(["--json"] if json else []), *flags]

        def environment(mark):
            made = os.environ | MACHINES[machine] | {
                mpirun.MARK: mark, "LD_LIBRARY_PATH": self.options.libraries}
            made["CGRAPH_EMULATION"] = "devices=4," + made.get("CGRAPH_EMULATION", "seed=1")
            return made
        return mpirun.Started(line, environment)

    def run(self, graph, *flags, machine="all", number="8", code=0):
        what = f"{graph} {' '.join(flags)} ({machine})"
        done = self.start(graph, *flags, machine=machine, number=number).finish(what, 60)
        expect(done.returncode == code, f"{what}: exit code {done.returncode}", done.stderr)
        return json.loads(done.stdout), done.stderr

    def outputs(self, graph, *flags, machine="all"):
        """Returns the bytes of both results, and the JSON."""
        paths = [self.folder / f"{i}.npy" for i in (0, 1)]
        given = [f"result[{i}]={path}" for i, path in enumerate(paths)]
        said, _ = self.run(graph, "-n", "4", "--output", given[0], "--output", given[1], *flags,
                           machine=machine)
        return [path.read_bytes() for path in paths], said


def same(suite):
    for machine in MACHINES:
        for graph in ("chain", "sums"):
            expected, one = suite.outputs(graph, *ONE, machine=machine)
            for flags in (EACH, TWO, ["--processes", "3"], EACH + ["--no-capture"]):
                got, said = suite.outputs(graph, *flags, machine=machine)
                what = f"{graph} {' '.join(flags)} ({machine})"
                expect(got == expected, f"{what} differs from one process")
                for key in ("gpus", "communicators"):
                    expect(said[key] == one[key], f"{what}: {key} {said[key]}, not {one[key]}")
                if flags == EACH:
                    expect([each["devices"] for each in said["processes"]] ==
                           ["caller, gpu[0]", "gpu[1]", "gpu[2]", "gpu[3]"], f"{what}: {said}")
                    expect(said["cuda_graphs"] == one["cuda_graphs"], f"{what}: captures {said}")
    expect(one["cuda_graphs"] > 0 or suite.outputs("chain")[1]["cuda_graphs"] > 0, "no captures")


def default(suite):
    """A plan with captures on several GPUs has a process for each without being asked, with the
    results of one process; what a flag, the plan or the GPUs say against it is said with -v."""
    expected, one = suite.outputs("chain", *ONE)
    expect("processes" not in one, f"--processes 1: {one}")
    for machine in ("all", "no NCCL", "no peers", "no IPC"):
        got, said = suite.outputs("chain", machine=machine)
        expect(got == expected, f"the default differs from one process ({machine})")
        expect([each["devices"] for each in said.get("processes", [])] ==
               ["caller, gpu[0]", "gpu[1]", "gpu[2]", "gpu[3]"], f"processes ({machine}): {said}")
        expect(said["cuda_graphs"] == one["cuda_graphs"] > 0, f"captures ({machine}): {said}")
    MACHINES["apart"] = {"CGRAPH_EMULATION": "registered=0"}
    for why, flags, machine in (
            ("--processes 1 says so", ONE, "all"),
            ("--workers asks for threads of one process", ["--workers", "2"], "all"),
            ("--device-map deals the devices",
             ["--device-map", ",".join(f"gpu[{i}]=cuda:{i}" for i in range(4))], "all"),
            ("--no-capture launches every kernel by itself", ["--no-capture"], "all"),
            ("cuda:0 reaches memory of other processes by other addresses", [], "apart")):
        got, said = suite.outputs("chain", *flags, machine=machine)
        expect(got == expected and "processes" not in said, f"{why}: {said}")
        code, error = suite.start("chain", "-v", *flags, machine=machine, json=False).end(why, 60)
        expect(code == 0, f"-v {why}: exit code {code}", error)
        expect(f"one process serves all 4 GPUs: {why}" in error, f"why: {why}", error)
    # States on GPUs of other processes are written and read.
    files = [str(suite.folder / f"{name}.safetensors") for name in ("one", "each", "one", "each")]
    for i, path in enumerate(files):
        flags = ["--save-state", path] + (["--load-state", path] if i > 1 else [])
        _, said = suite.outputs("chain", *flags, *(ONE if i % 2 == 0 else []))
        expect(("processes" in said) == (i % 2 != 0), f"processes, with states: {said}")
        if i % 2 != 0:
            states = [pathlib.Path(each).read_bytes() for each in files[:2]]
            expect(states[0] == states[1], "states of processes differ from those of one")
    # What processes cannot load, one process does.
    fallen_back = 0
    for call in range(10, 130, 20):
        MACHINES["failing"] = {"CGRAPH_EMULATION": f"fail={call},only=2"}
        got, said = suite.outputs("chain", machine="failing")
        expect(got == expected, f"call {call} of gpu[2] fails: the results")
        fallen_back += "processes" not in said
    expect(fallen_back > 0, "no call that fails while processes load the plan")


def errors(suite):
    """What a GPU finds out, at the first rank and at others, and what follows from it, in turn with
    executions that are well."""
    for machine in ("all", "no IPC"):
        for number in ("7", "12", "8"):
            one, _ = suite.run("fails", "-n", "5", machine=machine, number=number,
                               code=0 if number == "8" else 1)
            for flags in (EACH, TWO):
                said, _ = suite.run("fails", "-n", "5", *flags, machine=machine, number=number,
                                    code=0 if number == "8" else 1)
                for key in ("errors", "failures", "other_failures"):
                    expect(said[key] == one[key], f"{number} {flags}: {said[key]}, not {one[key]}")


def broken(suite):
    """A GPU that fails as a whole ends the engine, whichever rank has it."""
    for call in (300, 700, 1500):
        for gpu in (0, 2):
            started = time.monotonic()
            MACHINES["broken"] = {"CGRAPH_EMULATION": f"fail={call}:sticky,only={gpu}"}
            for graph in ("chain", "sums"):
                _, error = suite.run(graph, "-n", "2000", "--timeout", "20", *EACH,
                                     machine="broken", code=1)
                expect(f"gpu[{gpu}] (cuda:{gpu})" in error, f"{graph} {call}: which GPU", error)
                expect(time.monotonic() - started < 18, "it has hung", error)


def failing_calls(suite):
    """A call of the driver that fails at one rank, for once or from then on, while the plan is
    loaded or later: the run ends well or with an error, and never hangs."""
    ends = {0: 0, 1: 0}
    for gpu in (0, 1):
        for call in range(20 + 11 * gpu, 500, 29):
            for sticky in ("", ":sticky"):
                MACHINES["failing"] = {"CGRAPH_EMULATION": f"fail={call}{sticky},only={gpu}"}
                what = f"call {call}{sticky} of gpu[{gpu}]"
                code, error = suite.start("sums", "-n", "2", "--timeout", "10", *EACH,
                                          machine="failing").end(what, 30)
                expect(code in ends, f"{what}: exit code {code}", error)
                expect("nothing has moved" not in error, f"{what} hangs", error)
                ends[code] += 1
    expect(all(ends.values()), f"exit codes {ends}")


def endless(suite):
    """A kernel that never ends, at a rank other than the first, is in the time-out's report."""
    MACHINES["endless"] = {"CGRAPH_EMULATION": "endless=20,only=2"}
    _, error = suite.run("chain", "-n", "2000", "--timeout", "2", *EACH, machine="endless", code=1)
    expect("nothing has moved for 2 s" in error, "the time-out", error)
    expect(re.search(r"gpu\[2\] compute \(rank 2: process \d+\).* is running", error),
           "what runs", error)


def dies(suite):
    """A process that dies at any time, also while GPUs are connected, is named."""
    for delay in (0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.4, 0.8):
        run = suite.start("sums", "-n", "1000000", "--timeout", "20", *EACH)
        pid = run.await_ranks(suite.options.cgrun, 4)[2]
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        code, error = run.end(f"rank 2 dies after {delay} s", 20)
        expect(code == 1, f"exit code {code} after {delay} s", error)
        expect("rank 2 (" in error, f"who died after {delay} s", error)


def stopped(suite):
    """The time-out's report says which GPU has not gone on, and whose process is stopped."""
    run = suite.start("slow", "-n", "100", "--timeout", "3", *EACH)
    pid = run.await_ranks(suite.options.cgrun, 4)[2]
    time.sleep(2)
    os.kill(pid, signal.SIGSTOP)
    done = run.finish("rank 2 is stopped", 30)
    expect(done.returncode == 1 and "nothing has moved for 3 s" in done.stderr, "the time-out",
           done.stderr)
    expect(re.search(rf"rank 2 \(process {pid}", done.stderr), "who is stopped", done.stderr)


def measured(suite):
    """A trace has the steps of all ranks' GPUs."""
    trace = suite.folder / "trace.json"
    suite.run("chain", "-n", "5", *EACH, "--trace", str(trace))
    events = json.loads(trace.read_text())["traceEvents"]
    steps = {}
    for event in events:
        if event.get("ph") == "X":
            steps[event["pid"]] = steps.get(event["pid"], 0) + 1
    expect(len(steps) == 4, f"steps by process: {steps}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(options, pathlib.Path(folder))
        for part in (same, default, errors, broken, failing_calls, endless, dies, stopped,
                     measured):
            if options.only and part.__name__ not in options.only:
                continue
            begun = time.monotonic()
            part(suite)
            print(f"{part.__name__}: ok, {time.monotonic() - begun:.1f} s", flush=True)
    expect(expectations.checks > 0, "nothing was checked")
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

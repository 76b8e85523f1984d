#!/usr/bin/python3
"""cgrun --processes: what runs, and what happens when a process dies, stops, or cannot be had.

  processes_test.py --cgc build/release/cgc --cgrun build/release/cgrun

Every run must end by itself, say what was seen, and leave no process and no file behind.
"""
import argparse
import json
import os
import pathlib
import random
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

PROGRAM = """import std.tensor
import std.debug
actor Stage() {
  state calls: i64 = 0
  method run(x: i64) -> i64 { calls = calls + 1  return x + 1 }
  method slow(x: i64) -> i64 {
    sleep(300)
    return x + 1
  }
  method long(x: i64) -> i64 {
    sleep(20000)
    return x
  }
  method checked(x: i64) -> i64 {
    check(x < 100, "too much")
    calls = calls + 1
    return x + 1
  }
  method twice(x: f32[100000]) -> f32[100000] { return x * 2.0 }
}
place stage[r in 0..3] = Stage() on gpu[r]
graph fast(x: i64) -> i64 inflight 3 { return stage[2].run(stage[1].run(stage[0].run(x))) }
graph slow(x: i64) -> i64 inflight 2 { return stage[2].slow(stage[1].slow(stage[0].slow(x))) }
graph long(x: i64) -> i64 { return stage[0].long(x) + stage[1].run(x) + stage[2].run(x) }
graph checked(x: i64) -> [i64; 3] { return [stage[r].checked(x) for r in 0..3] }
graph sum_of(x: f32[100000]) -> f32[100000] {
  return all_reduce([stage[r].twice(x) for r in 0..3], sum)[1]
}
"""
RANK = "--rank="


def children(parent):
    """Returns the processes of ranks that this process has started, by rank."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(status.rpartition(")")[2].split()[1]) == parent and len(words) > 1 and \
                words[1].startswith(RANK.encode()):
            found[int(words[1][len(RANK):])] = int(entry.name)
    return found


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def await_sleep(pid, what):
    """Waits until a process is inside the method `sleep`: its main thread, in a sleep of the system
    (clock_nanosleep)."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            if pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] in ("35", "230"):
                return
        except (OSError, IndexError):
            pass
        time.sleep(0.005)
    expect(False, f"{what}: process {pid} never computes")


def await_gone(pids, what, seconds=2.0):
    end = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.005)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    expect(not left, f"{what}: processes {left} are still there")


class Run:
    """A run of a graph that is killed or stopped somewhere."""

    def __init__(self, options, plan, *flags, processes="device"):
        self.line = [options.cgrun, str(plan), "--processes", processes, *flags]
        self.process = subprocess.Popen(self.line, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, start_new_session=True)
        self.ranks = {}

    def await_ranks(self, count=2):
        end = time.monotonic() + 10
        while len(self.ranks) < count and time.monotonic() < end:
            self.ranks = children(self.process.pid)
            time.sleep(0.002)
        expect(len(self.ranks) >= count, f"{self.line}: {len(self.ranks)} ranks, not {count}")
        return self.ranks

    def end(self, what, seconds=20):
        """Waits for the end. Returns exit code and standard error."""
        self.ranks = self.ranks or children(self.process.pid)
        try:
            self.out, error = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            sys.exit(f"FAILED: {what}: does not end in {seconds} s")
        await_gone(self.ranks.values(), what)
        return self.process.returncode, error


def results(options, plans):
    """Results are those of one process, whatever the number of processes."""
    for graph, inputs in (("fast", ["x=3"]), ("checked", ["x=3"]), ("slow", ["x=1"])):
        expected = None
        for flags in ([], ["--processes", "1"], ["--processes", "2"], ["--processes", "3"],
                      ["--processes", "device"], ["--processes", "100"],
                      ["--processes", "3", "--unproved"]):
            line = [options.cgrun, str(plans[graph]), "-q", "-n", "2", "--timeout", "20", *flags]
            done = subprocess.run([*line, *(f"--input={x}" for x in inputs)], text=True,
                                  capture_output=True, timeout=60)
            expect(done.returncode == 0, f"{line} fails", done.stderr)
            expected = expected or done.stdout
            expect(done.stdout == expected, f"{line} prints {done.stdout}, not {expected}")


def failures(options, plans):
    """A method that fails in another process is the execution's error, and the engine goes on."""
    texts = set()
    for flags in ([], ["--processes", "device"]):
        done = subprocess.run([options.cgrun, str(plans["checked"]), "--input", "x=100", "-n", "3",
                               *flags], text=True, capture_output=True, timeout=60)
        expect(done.returncode == 1, "a method that fails", done.stderr)
        expect("3 executions, 3 errors" in done.stderr, "executions go on", done.stderr)
        # Whichever of the three is seen first.
        texts.add(re.sub(r"\d", "?", re.search(r"stage\[\d\]\.checked.*too much",
                                               done.stderr).group()))
    expect(len(texts) == 1, f"the error is the same as in one process: {texts}")


def measurements(options, plans):
    """Profiles and traces have the calls of all processes, on one clock."""
    trace, profile = options.folder / "trace.json", options.folder / "profile.json"
    done = subprocess.run([options.cgrun, str(plans["slow"]), "--input", "x=1", "-n", "2", "-q",
                           "--processes", "device", "--trace", trace, "--profile", profile],
                          text=True, capture_output=True, timeout=60)
    expect(done.returncode == 0, "a run that is measured", done.stderr)
    told = json.loads(subprocess.run(
        [options.cgrun, str(plans["slow"]), "--input", "x=1", "--processes", "device", "--json"],
        text=True, capture_output=True, timeout=60, check=True).stdout)
    expect([process["devices"] for process in told["processes"]] ==
           ["caller, gpu[0]", "gpu[1]", "gpu[2]"], f"which process has which devices: {told}")
    calls = json.loads(profile.read_text())["calls"]
    for rank in range(3):
        expect(3e8 < calls[f"stage[{rank}].slow"] < 1e9, f"the times of rank {rank}: {calls}")
    begins, events = {}, json.loads(trace.read_text())["traceEvents"]
    # Each rank is a process of the trace, and a lane's events are in its rank's.
    labels = {event["pid"]: event["args"]["labels"] for event in events
              if event["name"] == "process_labels"}
    expect([re.sub(r"\d+$", "", labels[pid]) for pid in sorted(labels)] ==
           [f"rank {rank}: process " for rank in range(3)], f"the processes: {labels}")
    for event in events:
        of = re.match(r"call sleep of stage\[(\d)\]", event["name"])
        expect(of is None or labels[event["pid"]].startswith(f"rank {of[1]}:"), f"{event}")
    done = subprocess.run([options.cgc, "viz", plans["slow"], "--what", "timeline", "--format",
                           "svg", "--trace", trace], text=True, capture_output=True)
    expect(done.returncode == 0 and all(f"gpu[{rank}]" in done.stdout for rank in range(3)),
           "a timeline of it", done.stdout + done.stderr)
    for event in events:
        if event.get("ph") == "X" and "sleep of stage" in event.get("name", ""):
            rank = re.search(r"stage\[(\d)\]", event["name"]).group(1)
            begins.setdefault(rank, []).append(event["ts"])
    expect(all(len(begins.get(str(rank), [])) == 2 for rank in range(3)), f"each call: {begins}")
    for first, second in (("0", "1"), ("1", "2")):
        expect(all(a + 290_000 < b for a, b in zip(sorted(begins[first]), sorted(begins[second]))),
               f"one clock: {begins}")


def deaths(options, plans):
    """A process that dies ends the run: who it was, what it did, and how it died."""
    for number, text in ((signal.SIGKILL, r"was killed by signal 9 \(Killed\)"),
                         (signal.SIGSEGV, r"was killed by signal 11 \(Segmentation fault\)"),
                         (signal.SIGABRT, r"was killed by signal 6 \(Aborted\)")):
        if number == signal.SIGSEGV and options.sanitized:
            continue  # AddressSanitizer answers that one
        for rank in (1, 2):
            run = Run(options, plans["slow"], "--input", "x=1", "-n", "100")
            pid = run.await_ranks()[rank]
            await_sleep(pid, "deaths")
            os.kill(pid, number)
            begun = time.monotonic()
            code, error = run.end(f"rank {rank} dies of signal {int(number)}")
            expect(code == 1, f"exit code {code}", error)
            expect(re.search(rf"rank {rank} \(process {pid}: gpu\[{rank}\]\) {text}", error),
                   f"who died, and how: {int(number)}", error)
            # Rank 0 may be inside a method of 0.3 s, and so may the others, which are waited for.
            expect(time.monotonic() - begun < 3.0, f"it ends after {time.monotonic() - begun} s")
            expect(error.count("error:") == 1, "one error is said", error)


def aftermath(options, plans):
    """What a death leaves is said: which executions are complete and which are lost, which files
    are written and which are not; with -q only of executions."""
    files = {name: options.folder / name for name in ("y.npy", "s.safetensors", "p.json")}
    outputs = ["--output", f"result={files['y.npy']}", "--save-state", files["s.safetensors"],
               "--profile", files["p.json"]]
    for flags, after in ((outputs, 1.6), ([*outputs, "-q"], 1.6), ([*outputs, "--json"], 0),
                         ([], 0)):
        what = f"aftermath {flags} {after}"
        for path in files.values():
            path.unlink(missing_ok=True)
        run = Run(options, plans["slow"], "--input", "x=1", "-n", "100", *map(str, flags))
        pid = run.await_ranks()[1]
        await_sleep(pid, what)
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
        code, error = run.end(what)
        said = re.search(r"^(\d+) of 100 executions (?:is|are) complete, the (first|next) "
                         r"(one is|2 are) lost$", error, re.M)
        expect(code == 1 and said is not None, f"{what}: executions", error)
        expect((int(said[1]) > 0) == (after > 0) == (said[2] == "next"), f"{what}: counts", error)
        notes = [f"{files['y.npy']}, {files['s.safetensors']} are not written, since the run has "
                 "failed", f"{files['p.json']} has what was measured until the run failed"]
        for note in notes:
            expect((f"note: {note}\n" in error) == (bool(flags) and "-q" not in flags),
                   f"{what}: {note}", error)
        expect([path.exists() for path in files.values()] == [False, False, bool(flags)],
               f"{what}: files", error)
        if "--json" in flags:
            told = json.loads(run.out)
            expect(told["executions"] == int(said[1]) and told["outputs"] == {} and
                   told["lost"] == (2 if said[3] == "2 are" else 1) and
                   said[0] in told["error"], f"{what}: {told}")
    # Of one execution there is nothing to count.
    run = Run(options, plans["slow"], "--input", "x=1", "--output", f"result={files['y.npy']}")
    pid = run.await_ranks()[1]
    await_sleep(pid, "aftermath of one")
    os.kill(pid, signal.SIGKILL)
    _, error = run.end("aftermath of one")
    expect("complete" not in error and f"note: {files['y.npy']} is not written" in error,
           "the aftermath of one execution", error)


def random_deaths(options, plans, count):
    """The same at any time: while processes start, load the plan, run, and end."""
    seed = int(os.environ.get("CGRAPH_SEED", "1"))
    source = random.Random(seed)
    said = 0
    for i in range(count):
        what = f"seed {seed}, death {i}"
        run = Run(options, plans["fast"], "--input", "x=1", "-n", "1000000", "--timeout", "10")
        ranks = run.await_ranks(1)
        time.sleep(source.choice([0, 0.002, 0.02, 0.1]) * source.random())
        rank, pid = source.choice(sorted(ranks.items()))
        number = source.choice([signal.SIGKILL, signal.SIGABRT])
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
        code, error = run.end(what)
        expect(code in (0, 1), f"{what}: exit code {code}", error)
        if code == 1:
            said += 1
            expect(re.search(rf"rank {rank}\b.* was killed by signal {int(number)} ", error),
                   f"{what}: rank {rank}", error)
    expect(said > count // 2, f"only {said} of {count} deaths came before the end")


def stopped(options, plans):
    """A process that is stopped looks like a slow one: the time-out decides, and says who it is."""
    graph = options.folder / "waits.dot"
    run = Run(options, plans["slow"], "--input", "x=1", "-n", "100", "--timeout", "1",
              "--wait-graph", str(graph))
    pid = run.await_ranks()[1]
    await_sleep(pid, "stopped")
    os.kill(pid, signal.SIGSTOP)
    code, error = run.end("a rank is stopped")
    expect(code == 1 and "nothing has moved for 1 s" in error, "the time-out", error)
    name = rf"gpu\[1\] compute \(rank 1: process {pid}\)"
    expect(re.search(rf"^everything waits for {name}, which is inside stage\[1\]\.slow of "
                     r"execution \d+ of `slow`, for \d+\.\d s, \S+p\.cgraph:\d+:\d+$", error, re.M),
           "the cause", error)
    expect(re.search(rf"^{name}: call sleep of stage\[1\]\.slow \(.*\) is running\n    execution "
                     r"\d+ of `slow`, for \d+\.\d s; before that: receive `[^`]+` of "
                     r"stage\[0\]\.slow from gpu\[0\]", error, re.M), "who has not moved", error)
    expect(re.search(r"^gpu\[2\] comm gpu\[1\] \(rank 2: process \d+\): .* waits for gpu\[1\] "
                     r"comm gpu\[2\] to send it, behind what gpu\[1\] compute does$", error,
                     re.M), "who waits", error)
    drawn = graph.read_text()
    expect(f"rank 1: process {pid}, which is stopped" in drawn and "->" in drawn,
           "the drawing", drawn)
    expect(f"note: {graph} shows who waits for whom" in error, "that it is drawn", error)
    expect(re.search(rf"rank 1 \(process {pid}: gpu\[1\]\) is stopped.*kill -CONT {pid}", error),
           "that it is stopped", error)
    # One that goes on in time is only slow.
    run = Run(options, plans["fast"], "--input", "x=1", "-n", "2000000")
    pid = run.await_ranks()[1]
    for _ in range(20):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.01)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.005)
    run.process.send_signal(signal.SIGINT)
    code, error = run.end("a rank is slow")
    expect(code in (0, 130), f"exit code {code}", error)


def busy_rank_zero(options, plans):
    """A death is said while rank 0 is inside a method, however long that takes."""
    run = Run(options, plans["long"], "--input", "x=1")
    pid = run.await_ranks(2)[1]
    await_sleep(run.process.pid, "busy rank 0")
    os.kill(pid, signal.SIGKILL)
    begun = time.monotonic()
    code, error = run.end("rank 1 dies while rank 0 computes")
    expect(code == 1 and "rank 1 " in error and "was killed by signal 9" in error, "a death", error)
    expect(time.monotonic() - begun < 5, "rank 0 does not wait for its method of 20 s")


def rank_zero(options, plans):
    """Whatever ends rank 0, the others end."""
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        for halt in (False, True):
            run = Run(options, plans["slow"], "--input", "x=1", "-n", "100")
            ranks = run.await_ranks()
            await_sleep(ranks[1], "rank 0")
            if halt:
                os.kill(ranks[2], signal.SIGSTOP)
            run.process.send_signal(number)
            code, error = run.end(f"rank 0 gets signal {int(number)}")
            expected = {signal.SIGKILL: -9, signal.SIGINT: 130}.get(number, 130)
            expect(code == expected, f"signal {int(number)}: exit code {code}", error)
    # As from a terminal: all processes of the group get it, twice.
    run = Run(options, plans["slow"], "--input", "x=1", "-n", "100")
    run.await_ranks()
    time.sleep(0.2)
    os.killpg(run.process.pid, signal.SIGINT)
    time.sleep(0.05)
    os.killpg(run.process.pid, signal.SIGINT)
    code, error = run.end("Ctrl-C twice")
    expect(code == 130, f"Ctrl-C twice: exit code {code}", error)
    # A rank leaves signals of the terminal to rank 0.
    run = Run(options, plans["slow"], "--input", "x=1", "-n", "2")
    for pid in run.await_ranks().values():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, number)
    code, error = run.end("ranks get signals")
    expect(code == 0, f"ranks get signals: exit code {code}", error)


def reports(options, plans):
    """SIGUSR1 to rank 0 says where all ranks are."""
    graph = options.folder / "reported.dot"
    run = Run(options, plans["slow"], "--input", "x=1", "-n", "100", "--wait-graph", str(graph))
    await_sleep(run.await_ranks()[2], "reports")
    run.process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    run.process.send_signal(signal.SIGINT)
    _, error = run.end("a report")
    expect(re.search(r"^gpu\[2\] compute \(rank 2: process \d+\): call sleep of "
                     r"stage\[2\]\.slow .* is running$", error, re.M), "the report has rank 2",
           error)
    expect(f"{graph} shows who waits for whom" in error and
           "stage[2].slow" in graph.read_text(), "a drawing", error)


def limits(options, plans):
    """Too little of what the system gives is an error before anything runs."""
    def limited(prlimit, plan, *flags):
        done = subprocess.run(["prlimit", prlimit, options.cgrun, str(plan), "-q", *flags],
                              text=True, capture_output=True, timeout=60)
        return done.returncode, done.stderr

    zeros = ["--input", "x=" + str(options.folder / "x.npy")]
    code, error = limited("--fsize=100000", plans["sum_of"], *zeros, "--processes", "device")
    expect(code == 3 and "ulimit -f" in error and "KiB" in error, f"files: {code}", error)
    code, error = limited("--fsize=0", plans["fast"], "--input", "x=1", "--processes", "device")
    expect(code == 3 and "ulimit -f" in error, f"no files: {code}", error)
    if not options.sanitized:  # sanitizers need descriptors and addresses themselves
        code, error = limited("--nofile=6", plans["fast"], "--input", "x=1", "--processes",
                              "device")
        expect(code == 3 and "cannot be" in error, f"descriptors: {code}", error)
        code, error = limited("--as=400000000", plans["sum_of"], *zeros, "--processes", "device")
        expect(code == 0 or "error: " in error, f"addresses: {code}", error)


def mistakes(options, plans):
    """What --processes does not take is a mistake in usage."""
    for flags, text in ((["--processes", "0"], "expected `device`"),
                        (["--processes", ""], "expected `device`"),
                        (["--processes", "two"], "expected `device`"),
                        (["--processes", "2", "--workers", "2"], "excludes --workers"),
                        (["--processes", "2", "--device-map", "gpu[0]=cpu:0"],
                         "excludes --device-map")):
        done = subprocess.run([options.cgrun, str(plans["fast"]), "--input", "x=1", *flags],
                              text=True, capture_output=True, timeout=60)
        expect(done.returncode == 2 and text in done.stderr, f"{flags}", done.stderr)
    # What is no rank of an engine says so.
    done = subprocess.run([options.cgrun, RANK + "1"], text=True, capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    expect(done.returncode == 1 and "cgrun starts such processes itself" in done.stderr,
           "a rank without an engine", done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--cgrun", required=True)
    parser.add_argument("--deaths", type=int, default=40)
    parser.add_argument("--sanitized", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        options.folder = pathlib.Path(name)
        (options.folder / "p.cgraph").write_text(PROGRAM)
        np.save(options.folder / "x.npy", np.zeros(100000, np.float32))
        plans = {}
        for graph in ("fast", "slow", "long", "checked", "sum_of"):
            plans[graph] = options.folder / f"{graph}.cgplan"
            done = subprocess.run([options.cgc, "compile", "-q", options.folder / "p.cgraph",
                                   "--graph", graph, "-o", plans[graph]], text=True,
                                  capture_output=True)
            expect(done.returncode == 0, f"{graph} does not compile", done.stderr)
        for part in (results, failures, measurements, deaths, aftermath, stopped, busy_rank_zero,
                     rank_zero, reports, limits, mistakes):
            part(options, plans)
            print(f"{part.__name__}: ok", flush=True)
        random_deaths(options, plans, options.deaths)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

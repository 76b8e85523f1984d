#!/usr/bin/python3
"""A kernel that never ends on emulated GPUs: cgrun ends by itself, and says for each queue where it
stands; an interrupt ends it, too.

  endless_test.py --cgc build/release/cgc --cgrun build/release/cgrun \\
      --libraries build/release/emulated:build/release

Captured and eager, on one GPU and on two with and without NCCL, and while states are initialised.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

PROGRAM = """import std.tensor
import std.nn
actor A() {
  state w: f32[4] = zeros()
  method give(x: f32[4]) -> f32[4] { return x + 1.0 }
  method twice(x: f32[4]) -> f32[4] { w = x * 2.0  return softmax(w) }
  method take(x: f32[4]) -> f32[4] { return x - 1.0 }
}
place a[i in 0..2] = A() on gpu[i]
graph one(x: f32[4]) -> f32[4] { return a[0].take(a[0].twice(a[0].give(x))) }
graph two(x: f32[4]) -> [f32[4]; 2] {
  let sums = all_reduce([a[0].twice(x), a[1].give(x)], sum)
  return [a[r].take(sums[r]) for r in 0..2]
}
"""
STATES = 2  # kernels that initialise states
OPERATIONS = re.compile(r"execution 1 of `\w+`.*; (\d+) of (\d+) issued operations are over\b")

class Runs:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        (folder / "p.cgraph").write_text(PROGRAM)
        for graph in ("one", "two"):
            done = subprocess.run([options.cgc, "compile", "-q", folder / "p.cgraph", "--graph",
                                   graph, "-o", folder / f"{graph}.cgplan"], text=True,
                                  capture_output=True, check=False)
            expect(done.returncode == 0, "the program does not compile", done.stderr)

    def start(self, graph, endless, *flags, seed=1, nccl=""):
        environment = dict(os.environ, LD_LIBRARY_PATH=self.options.libraries,
                           CGRAPH_EMULATED_NCCL=nccl,
                           CGRAPH_EMULATION=f"devices=2,seed={seed},endless={endless}")
        flags += () if "--workers" in flags else ("--processes", "1")
        return subprocess.Popen([self.options.cgrun, self.folder / f"{graph}.cgplan", "-q",
                                 "--require-gpu", "--input", "x=[1, 2, 3, 4]", *flags],
                                env=environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)


def end(run, what, status, seconds=20):
    """What it says, when it has ended with this status."""
    begun = time.monotonic()
    try:
        out, error = run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        run.kill()
        sys.exit(f"FAILED: {what}: does not end within {seconds} s")
    took = time.monotonic() - begun
    expect(run.returncode == status, f"{what}: ends with {run.returncode} after {took:.1f} s",
           out + error)
    return out + error


def lanes(text):
    """The report: what is said of each lane."""
    joined = text.replace("\n    ", " ")
    return dict(re.findall(r"^((?:gpu|cpu|caller)[^:]*): (.*)$", joined, re.M))


WAITS = re.compile(r"waits for ((?:gpu|cpu)\[\d+\] [a-z]+(?: \d+)?)")
CALLS = re.compile(r"call \w+ of a\[\d\]\.(\w+)")


def leads_to(said, lane, goals):
    """Whether who waits for whom leads from a lane to one of these."""
    seen = set()
    while lane in said and lane not in seen:
        seen.add(lane)
        found = WAITS.search(said[lane])
        lane = found[1] if found else lane
    return bool(goals & seen)


def report_names(runs, graph, what, *flags, nccl="", seed=1):
    """Each kernel of the graph never ends, one after the other: a lane runs it, and all others that
    have work left wait for that one, or for one whose GPU has not gone on either. A queue does not
    know which of the kernels up to a signal it is: the first and the last are named."""
    first_calls = set()
    for endless in range(STATES + 1, STATES + 5):
        text = end(runs.start(graph, endless, "--timeout", "1", *flags, nccl=nccl, seed=seed),
                   f"{what}, grid {endless}", 1)
        expect("nothing has moved for 1 s" in text, what, text)
        said = lanes(text)
        for lane, sentence in said.items():
            if not lane.startswith("gpu["):
                continue  # a thread of the host's does one thing after the other
            found = OPERATIONS.search(sentence)
            expect(found and int(found[1]) < int(found[2]), f"{what}: {lane}: nothing is counted",
                   text)
        running = {lane for lane, sentence in said.items() if "is running" in sentence}
        expect(running and (graph == "two" or len(running) == 1),
               f"{what}: {len(running)} lanes are said to run", text)
        expect(len(said) > 1, f"{what}: nothing waits", text)
        for lane in said:
            expect(leads_to(said, lane, running), f"{what}: {lane} does not wait for it", text)
        for lane in running:
            calls = CALLS.findall(said[lane])
            expect(not calls or re.search(r"p\.cgraph:\d+:\d+\)", said[lane]), what, text)
            if graph == "one":  # one signal behind all of its kernels
                expect(calls == ["give", "take"], f"{what}: {calls} are named", text)
            first_calls.update(calls[:1])
    # Which grids of two GPUs are which calls depends on their threads.
    expect(first_calls or graph == "one", f"{what}: no call is named")


def share_names(runs):
    """The kernel of one GPU's share of an all_reduce never ends: the other has done its own. Where
    the emulation lets a stream with less priority wait for the kernel, the other is at its share,
    too, and another run is tried."""
    for seed in range(1, 9):
        text = end(runs.start("two", STATES + 5, "--timeout", "1", nccl="version=21800", seed=seed),
                   "a share", 1)
        comms = {lane: sentence for lane, sentence in lanes(text).items() if lane.endswith("comm")}
        busy = [lane for lane, sentence in comms.items() if "is running" in sentence]
        expect(len(comms) == 2 and busy, "a share: nobody is at it", text)
        if len(busy) == 1:
            break
    expect(len(busy) == 1, "a share: one GPU is at it", text)
    expect(any(f"waits for {busy[0]} to do its share of it" in sentence
               for sentence in comms.values()), "a share: the other waits for it", text)


def initialisation(runs):
    text = end(runs.start("one", 1, "--timeout", "1"), "an initialisation", 1)
    expect("of a[0].state w" in text and "is running" in text, "an initialisation", text)


def interrupts(runs):
    for signals, seconds in ((1, 14), (2, 5)):
        run = runs.start("one", STATES + 2, "--timeout", "60")
        time.sleep(2)
        begun = time.monotonic()
        for i in range(signals):
            time.sleep(i)  # until the message is there
            run.send_signal(signal.SIGINT)
        text = end(run, f"{signals} interrupts", 130)
        expect(time.monotonic() - begun < seconds, f"{signals} interrupts: slow", text)
        expect("abandoned" in text if signals == 1 else "interrupted twice" in text,
               f"{signals} interrupts", text)


def failing(runs):
    """NCCL fails while a kernel never ends: its queue may be broken and know of no kernel any more.
    A teardown that has waited for it says so in any case."""
    waited = 0
    for endless in range(STATES + 1, STATES + 5):
        for launch in (3, 4):
            begun = time.monotonic()
            what = f"NCCL's launch {launch} fails, grid {endless}"
            text = end(runs.start("two", endless, "--timeout", "1", nccl=f"fail={launch}"), what, 1)
            if time.monotonic() - begun < 1:
                continue  # the kernel had not begun
            waited += 1
            expect("is abandoned" in text or "nothing has moved" in text,
                   f"{what}: nothing is said of the kernel", text)
    expect(waited, "no teardown has waited for a kernel")


def main():
    parser = argparse.ArgumentParser()
    for name in ("cgc", "cgrun", "libraries"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(options, pathlib.Path(folder))
        report_names(runs, "one", "captured")
        report_names(runs, "one", "eager", "--no-capture", seed=2)
        report_names(runs, "two", "two GPUs with NCCL", seed=3)
        report_names(runs, "two", "two GPUs without NCCL", nccl="version=21800", seed=4)
        share_names(runs)
        initialisation(runs)
        interrupts(runs)
        failing(runs)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

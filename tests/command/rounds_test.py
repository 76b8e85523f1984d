#!/usr/bin/python3
"""cgrun with graphs that repeat: rows, streams, limits, failures, interrupts, what is refused.

  rounds_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect, says  # noqa: E402

PROGRAM = """import std.debug
import std.tensor
actor Count() {
  state n: i64 = 0
  method start(at: i64) -> i64 {
    n = at
    return n
  }
  method next(by: i64) -> i64 {
    n += by
    return n
  }
  method slow(by: i64) -> i64 {
    sleep(100)
    n += by
    return n
  }
}
actor Judge(most: int) {
  state seen: i64 = 0
  method see(n: i64) -> i64 {
    seen += 1
    check(n < most, "{most} is too much")
    return n
  }
}
place count = Count() on cpu[0]
place judge = Judge(7) on cpu[1]
place other = Judge(9) on cpu[1]
graph up(at: i64, by: i64, most: i64) -> (n: i64, pair: i64[2]) {
  let first = count.start(at)
  yield (n: first, pair: stack([first, by]))
  repeat until n >= 6 limit most <= 100 {
    let n = count.next(by)
    yield (n: n, pair: stack([n, first]))
  }
}
graph fails(by: i64) -> i64 {
  repeat until false limit 5 { yield judge.see(count.next(by)) }
}
graph fails_before(by: i64) -> i64 {
  let first = judge.see(count.next(by))
  repeat until false limit 5 { yield count.next(first) }
}
graph slow(by: i64) -> i64 {
  repeat until false limit 1000 { yield other.see(count.slow(by) % 2) }
}
graph once(x: i64) -> i64 { return count.next(x) }
graph widths(x: i64[k <= 4]) -> i64[m <= 4] {
  var n = zeros<i64>()
  repeat until false limit 2 {
    n = n + 1
    yield slice(x, dim: 0, from: 0, length: n)
  }
}
graph grow(x: i64[k <= 4], m: i64) -> (kept: i64, grown: i64) {
  let kept = slice(x, dim: 0, from: 0, length: m)
  var grown = slice(x, dim: 0, from: 0, length: m)
  var n = m
  repeat until n == 4 limit 9 {
    n = n + 1
    grown = slice(x, dim: 0, from: 0, length: n)
    yield (kept: sum(kept), grown: sum(grown))
  }
}
graph quiet(x: i64) {
  repeat until false limit 2 { count.next(x) }
}
"""


class Runs:
    def __init__(self, args, folder):
        self.cgc, self.cgrun, self.folder = args.cgc, args.cgrun, folder
        (folder / "r.cgraph").write_text(PROGRAM)
        subprocess.run([args.cgc, "compile", "-q", folder / "r.cgraph", "-o", folder / "r.cgplan"],
                       check=True)

    def line(self, graph, *words):
        return [self.cgrun, self.folder / "r.cgplan", "--graph", graph, *words]

    def __call__(self, graph, *words, code=0):
        done = subprocess.run(self.line(graph, *words), capture_output=True, text=True, timeout=60)
        expect(done.returncode == code, f"{graph} {words}: code {done.returncode}",
               done.stdout + done.stderr)
        return done.stdout, done.stderr


def inputs(**values):
    return [word for name, value in values.items() for word in ("--input", f"{name}={value}")]


def rows(run):
    """Every round is a row, the one that says done, too; a yield before is the first."""
    out, said = run("up", *inputs(at=1, by=2, most=50))
    says(out, "n: i64[4] = [1 3 5 7]\n", "pair: i64[4, 2] =\n[[1 2]\n [3 1]")
    says(said, "4 executions, 0 errors")
    expect("limit" not in said, "no limit was met", said)
    out, said = run("up", *inputs(at=5, by=2, most=50))
    says(out, "n: i64[2] = [5 7]\n")
    for most, wanted in ((0, [1]), (1, [1, 2]), (2, [1, 2, 3])):
        found = json.loads(run("up", "--json", *inputs(at=1, by=1, most=most))[0])
        expect(found["outputs"]["n"]["data"] == wanted, f"limit {most}", str(found))
        expect((found["rounds"], found["done"]) == (most, False), f"limit {most}", str(found))
    said = run("up", *inputs(at=1, by=1, most=2))[1]
    says(said, "note: up ended at its limit of 2 rounds")
    expect(run("up", "-q", *inputs(at=1, by=1, most=2))[1] == "", "-q is quiet")
    found = json.loads(run("up", "--json", *inputs(at=1, by=9, most=50))[0])
    expect((found["rounds"], found["done"]) == (1, True), "done in round 1", str(found))
    out = run("grow", "-q", *inputs(x="[1,2,4,8]", m=2))[0]
    expect(out == "kept: i64[2] = [3 3]\ngrown: i64[2] = [ 7 15]\n", "an extent that grows", out)
    expect(run("quiet", "-q", *inputs(x=1)) == ("", ""), "a graph without outputs")


def limits(run):
    for most in (-1, 101):
        said = run("up", *inputs(at=1, by=1, most=most), code=1)[1]
        says(said, f"input most is {most}, and `up` makes 0 to 100 rounds")
    says(run("widths", *inputs(x="[1,2]"), code=1)[1], "output result: i64[2] cannot be joined to",
         "--stream gives rows whose extents differ")


def streams(run):
    out, _ = run("up", "-q", "--stream", "pair", *inputs(at=1, by=2, most=50))
    expect(out == "[1,2]\n[3,1]\n[5,1]\n[7,1]\nn: i64[4] = [1 3 5 7]\n", "--stream pair", out)
    out, _ = run("widths", "-q", "--stream", "result", *inputs(x="[4,5]"))
    expect(out == "[4]\n[4,5]\n", "rows of different extents", out)
    out, _ = run("widths", "-q", "--stream", "result", *inputs(x="[4]"), code=1)
    expect(out == "[4]\n", "what was streamed was printed before the failure", out)
    written = run.folder / "n.npy"
    run("up", "-q", "--stream", "n", "--output", f"n={written}", *inputs(at=1, by=2, most=50))
    expect(np.load(written).tolist() == [1, 3, 5, 7], "streamed and written")
    # Lines come as the rounds do.
    process = subprocess.Popen(run.line("slow", "-q", "--stream", "result", *inputs(by=1)),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = time.monotonic()
    first = process.stdout.readline()
    expect(first == "1\n" and time.monotonic() - begun < 30, "the first line comes at once", first)
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate(timeout=30)
    expect(process.returncode == 130, f"an interrupt ends with {process.returncode}", said)
    says(said, "interrupted")
    expect(len(rest.splitlines()) < 100, "it ended behind the round in progress", rest)


def states_of(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return {name: np.frombuffer(data[8 + size + each["data_offsets"][0]:
                                     8 + size + each["data_offsets"][1]], np.int64).tolist()
            for name, each in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def states(run):
    saved = run.folder / "s.safetensors"
    run("up", "-q", "--save-state", saved, *inputs(at=1, by=2, most=2))
    expect(states_of(saved)["count.n"] == [5], "states after a run", str(states_of(saved)))
    run("once", "-q", "--load-state", saved, "--save-state", saved, *inputs(x=1))
    expect(states_of(saved)["count.n"] == [6], "another run goes on", str(states_of(saved)))
    run("up", "-q", "-n", "0", "--save-state", saved)
    expect(states_of(saved)["count.n"] == [0], "-n 0 writes initial states")


def failures(run):
    """A round that fails ends the run, with what failed and in which round."""
    saved = run.folder / "f.safetensors"
    said = run("fails", "--save-state", saved, *inputs(by=3), code=1)[1]
    says(said, "7 is too much", "in round 3 of fails", "f.safetensors is not written")
    expect(not saved.exists(), "no states of two rounds")
    says(run("fails_before", *inputs(by=8), code=1)[1], "before the first round of fails_before")
    found = json.loads(run("fails", "--json", *inputs(by=3), code=1)[0])
    expect(found["rounds"] == 2 and "7 is too much" in found["error"], "--json", str(found))


def refusals(run):
    for flags in (["-n", "2"], ["--every"], ["--warmup", "1"], ["--batch", "at"],
                  ["--epochs", "2"], ["--log", "n"], ["--eval", "once"]):
        said = run("up", *flags, *inputs(at=1, by=1, most=1), code=2)[1]
        says(said, flags[0], "graph up ends with `repeat`")
    done = subprocess.run([run.cgrun, run.folder / "r.cgplan", "--call", "up", *inputs(
        at=1, by=1, most=1)], capture_output=True, text=True, timeout=60)
    says(done.stderr, "--call: graph up ends with `repeat`")
    says(run("once", "--stream", "result", *inputs(x=1), code=2)[1], "gives its outputs once")
    says(run("up", "--stream", "m", *inputs(at=1, by=1, most=1), code=2)[1],
         "--stream m: graph up has no such output", "it has n, pair")
    says(run("up", "--output", "until=x.npy", *inputs(at=1, by=1, most=1), code=2)[1],
         "--output until: graph up has no such output")
    says(run("up.before", *inputs(at=1), code=2)[1], "stands before the rounds of another graph")
    says(run("up.befor", *inputs(at=1), code=2)[1], "there is no such graph")
    says(run("up", *inputs(at=1, by=1), code=2)[1], "most")


def deaths(run):
    """A process that dies in the middle of a run ends it."""
    process = subprocess.Popen(run.line("slow", "-q", "--stream", "result", "--processes", "device",
                                        *inputs(by=1)),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    children = [child for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()
                for child in (task / "children").read_text().split()]
    expect(children, "there are other processes")
    os.kill(int(children[-1]), signal.SIGKILL)
    _, said = process.communicate(timeout=30)
    expect(process.returncode == 1, f"a death ends with {process.returncode}", said)
    says(said, children[-1])


def hostile(run):
    """A plan whose rounds name ports that are not there, or that do not fit, is refused."""
    shown = subprocess.run([run.cgc, "plan", run.folder / "r.cgplan", "--json"],
                           capture_output=True, text=True, check=True).stdout

    def edited(change):
        plan = json.loads(shown)
        graphs = {graph["name"]: graph for graph in plan["graphs"]}
        change(graphs["up"], graphs["up.before"])
        (run.folder / "bad.json").write_text(json.dumps(plan))
        bad = run.folder / "bad.cgplan"
        bad.unlink(missing_ok=True)
        made = subprocess.run([run.cgc, "plan", "--from-json", run.folder / "bad.json", "-o", bad],
                              capture_output=True, text=True, timeout=60)
        if not bad.exists():
            return made.stderr
        done = subprocess.run([run.cgrun, bad, "--graph", "up", *inputs(at=1, by=1, most=1)],
                              capture_output=True, text=True, timeout=60)
        expect(done.returncode == 1, f"a wrong plan ends with {done.returncode}", done.stderr)
        return done.stderr

    def repeat(**values):
        return lambda round_, before: round_["repeat"].update(values)

    says(edited(repeat(done=99)), "graph `up`: repeat: a port does not exist")
    says(edited(repeat(done=0)), "repeat: the output that ends the rounds is no bool")
    says(edited(repeat(outputs=99)), "repeat: a port does not exist")
    says(edited(repeat(carries=[])), "repeat: an input is not given")
    says(edited(repeat(before=99)), "repeat: the graph before does not exist")
    says(edited(repeat(limit_input=99)), "repeat: a port does not exist")
    says(edited(repeat(before_done=99)), "repeat: an output does not exist")
    says(edited(repeat(inputs=4)), "repeat: a port does not exist")

    def rename(round_, before):
        before["outputs"][0]["name"] = "m"

    def carry(round_, before):
        round_["repeat"]["carries"][0]["first"] = 99

    says(edited(rename), "repeat: rows have other outputs")
    says(edited(carry), "repeat: an output does not exist")


def ways(run):
    """The same rows by threads and processes."""
    wanted = run("up", "-q", *inputs(at=1, by=2, most=50))[0]
    for way in (["--workers", "1"], ["--workers", "2"], ["--processes", "device"], ["--unproved"],
                ["--trace", run.folder / "t.json"], ["--profile", run.folder / "p.json"]):
        out = run("up", "-q", *way, *inputs(at=1, by=2, most=50))[0]
        expect(out == wanted, f"rows by {way}", out)
    trace = (run.folder / "t.json").read_text()
    says(trace, "up.before", "count.next")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--cgrun", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Runs(args, pathlib.Path(folder))
        for part in (rows, limits, streams, states, failures, refusals, hostile, ways,
                     deaths):
            part(run)
    print(f"rounds: {expectations.checks} expectations")


if __name__ == "__main__":
    main()

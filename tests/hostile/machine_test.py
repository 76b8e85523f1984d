#!/usr/bin/python3
"""cgrun on machines that are not as one likes them: with one core for everybody, with a clock that
jumps, with a process that goes on by fits and starts.

  machine_test.py --cgc build/release/cgc --cgrun build/release/cgrun \\
      --jumping-clock build/release/tests/libjumping_clock.so

Results are as always, time-outs come when they are due, and memory does not grow.
"""
import argparse
import contextlib
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

PROGRAM = """import std.debug
import std.tensor
actor Stage() {
  state calls: i64 = 0
  method count(x: i64) -> i64 {
    calls += 1
    return x + calls
  }
  method add(x: f32[16384]) -> f32[16384] { return x + 1.0 }
  method nap(x: i64) -> i64 {
    sleep(30000)
    return x
  }
}
place stage[r in 0..4] = Stage() on gpu[r]
graph count(x: i64) -> i64 inflight 3 {
  return stage[3].count(stage[2].count(stage[1].count(stage[0].count(x))))
}
graph add() -> f32 inflight 3 {
  let x: f32[16384] = zeros()
  return sum(stage[3].add(stage[2].add(stage[1].add(stage[0].add(x)))))
}
graph nap(x: i64) -> i64 { return stage[2].nap(x) }
"""
WAYS = ([], ["--processes", "device"])  # threads, processes


class Machine:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        for graph in ("count", "add", "nap"):
            subprocess.run([options.cgc, "compile", "-q", "program.cgraph", "--graph", graph, "-o",
                            f"{graph}.cgplan"], cwd=folder, check=True)

    def start(self, graph, *flags, environment=None, before=None):
        return subprocess.Popen([self.options.cgrun, f"{graph}.cgplan", *flags], cwd=self.folder,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(os.environ, **environment or {}), preexec_fn=before)

    def run(self, graph, *flags, **how):
        """(exit code, standard output, standard error, seconds)."""
        start = time.monotonic()
        process = self.start(graph, *flags, **how)
        try:
            out, error = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            sys.exit(f"FAILED: {graph} {flags} does not end")
        return process.returncode, out, error, time.monotonic() - start


def one_core(machine):
    """Workers and processes that share one core give it to each other."""
    core = min(os.sched_getaffinity(0))
    flags = ("--input", "x=0", "-n", "500")
    for way in WAYS:
        code, out, error, seconds = machine.run("count", *flags, *way,
                                                before=lambda: os.sched_setaffinity(0, {core}))
        expect(code == 0 and out == "result: i64 = 2000\n", f"{way}: {code} {out}{error}")
        expect(seconds < 20, f"{way}: 500 executions on one core take {seconds:.1f} s")


def jumping_clock(machine):
    """No wait and no time-out goes by the clock of the day."""
    environment = {"LD_PRELOAD": machine.options.jumping_clock}
    told = subprocess.run([sys.executable, "-c", "import time; print(time.time(), time.time())"],
                          env=dict(os.environ, **environment), stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()
    expect(abs(float(told[0]) - float(told[1])) > 100, f"the clock does not jump: {told}")
    for way in WAYS:
        code, out, error, _ = machine.run("count", "--input", "x=0", "-n", "200", "--timeout",
                                          "20", *way, environment=environment)
        expect(code == 0 and out == "result: i64 = 800\n", f"{way}: {code} {out}{error}")
        code, _, error, seconds = machine.run("nap", "--input", "x=0", "--timeout", "1.5", *way,
                                              environment=environment)
        expect(code == 1 and "nothing has moved for 1.5 s" in error, f"{way}: {code} {error}")
        expect(1.4 < seconds < 15, f"{way}: a time-out of 1.5 s came after {seconds:.1f} s")
        ages = [float(age) for age in re.findall(r"for ([0-9.]+) s", error)]
        expect(ages and max(ages) < 15, f"{way}: times by another clock\n{error}")


def children(pid):
    """Of any of its threads, in the order in which they were started."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            found += [int(child) for child in task.read_text().split()]
    return sorted(found)


def memory(pid):
    """Kilobytes of a process that are in memory."""
    found = re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) if found else 0


def by_fits_and_starts(machine):
    """The others wait for a process that is stopped now and then, and keep nothing for it."""
    process = machine.start("add", "-n", "1000000", "--processes", "device")
    end = time.monotonic() + 20
    while len(children(process.pid)) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    ranks = children(process.pid)
    expect(len(ranks) == 3, f"{len(ranks)} processes were started, not 3")
    time.sleep(0.3)
    everybody = [process.pid, *ranks]
    before = sum(map(memory, everybody))
    bursts = 0
    for _ in range(25):
        if process.poll() is not None:
            break
        os.kill(ranks[1], signal.SIGSTOP)
        time.sleep(0.04)
        os.kill(ranks[1], signal.SIGCONT)
        time.sleep(0.02)
        bursts += 1
    grown = sum(map(memory, everybody)) - before if process.poll() is None else 0
    expect(bursts == 25, f"it has ended after {bursts} stops: more executions are needed")
    expect(grown < 4096, f"{grown} KiB more after {bursts} stops")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    expect(process.returncode == 130, f"exit code {process.returncode}")
    # And to the end, with the result.
    process = machine.start("count", "--input", "x=0", "-n", "5000", "--processes", "device")
    while process.poll() is None:
        for rank in children(process.pid)[1:2]:
            with contextlib.suppress(ProcessLookupError):  # at the end the rank may be gone
                os.kill(rank, signal.SIGSTOP)
                time.sleep(0.01)
                os.kill(rank, signal.SIGCONT)
        time.sleep(0.002)
    out, error = process.communicate(timeout=30)
    expect(process.returncode == 0 and out == "result: i64 = 20000\n", f"{out}{error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("cgc", "cgrun", "jumping-clock"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "program.cgraph").write_text(PROGRAM)
        machine = Machine(options, folder)
        for check in (one_core, jumping_clock, by_fits_and_starts):
            check(machine)
    print(f"{expectations.checks} expectations")


if __name__ == "__main__":
    main()

"""Several ways to do one thing, measured on the same cores in turn.

A script gives `main` its cases and a function that makes the work of one of them. Each way is a
process of its own that is kept to the cores of its row, and waits while the others are measured.
Processor time is that of all its threads and processes; it says what a way costs also where other
programs use the cores.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def processes(pid):
    """The ids of a process and of all that it started."""
    found = [pid]
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            found += processes(int(child))
    return found


def processor_ms(pid):
    return sum(int(thread.read_text().split()[0]) for each in processes(pid)
               for thread in pathlib.Path(f"/proc/{each}/task").glob("*/schedstat")) / 1e6


class Way:
    """`alone` in how: a process for each core, none of which knows of the others."""

    def __init__(self, build, case, times):
        self.cores, self.name, kind, how = case
        self.times = times
        cores = [*range(self.cores)]
        cores = [[core] for core in cores] if how.get("alone") else [cores]
        how = {**how, "kind": kind, "build": str(build)}
        self.children = [
            subprocess.Popen([sys.executable, sys.argv[0], "--way",
                              json.dumps({**how, "cores": each})],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for each in cores]
        self.wait("ready\n")
        self.wall, self.processor = [], []

    def wait(self, word):
        for child in self.children:
            if child.stdout.readline() != word:
                sys.exit(f"{self.name} does not run")

    def processor_ms(self):
        return sum(processor_ms(child.pid) for child in self.children)

    def round(self):
        works = self.times * len(self.children)
        before, start = self.processor_ms(), time.monotonic()
        for child in self.children:
            child.stdin.write("\n")
            child.stdin.flush()
        self.wait("done\n")
        self.wall.append((time.monotonic() - start) * 1e3 / works)
        self.processor.append((self.processor_ms() - before) / works)

    def close(self):
        for child in self.children:
            child.stdin.close()
            child.wait()

    def row(self, first):
        def ratio(mine, others):
            return statistics.median(b / a for a, b in zip(mine, others))
        return (f"| {self.cores} | {self.name} | {statistics.median(self.processor):.1f} | "
                f"{min(self.processor):.1f} | {ratio(self.processor, first.processor):.2f} | "
                f"{statistics.median(self.wall):.1f} | {min(self.wall):.1f} | "
                f"{ratio(self.wall, first.wall):.2f} |")


def be_a_way(make):
    how = json.loads(sys.argv[2])
    os.sched_setaffinity(0, how["cores"])
    sys.path.insert(0, f"{how['build']}/python")
    work = make(how)
    print("ready", flush=True)
    for _ in sys.stdin:
        work()
        print("done", flush=True)


def main(document, cases, make, times):
    """`cases`: (cores, name, kind, how). The first of a number of cores is what the others are
    compared with. `make(how)` checks that a way is right, and returns the work of a round, in which
    what is counted is done so many times."""
    if sys.argv[1:2] == ["--way"]:
        return be_a_way(make)
    os.environ.pop("OMP_NUM_THREADS", None)
    parser = argparse.ArgumentParser(description=document,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="of the ways, those whose names hold this word")
    parser.add_argument("--cores", type=int, help="only the ways for so many cores")
    options = parser.parse_args()
    print("| cores | way | processor ms | least | first / this | ms | least | first / this |\n"
          "|---|---|---|---|---|---|---|---|")
    numbers = {case[0] for case in cases}
    for cores in [options.cores] if options.cores else sorted(numbers):
        ways = [Way(options.build, case, times) for case in cases
                if case[0] == cores and options.only in case[1]]
        for _ in range(options.rounds):
            for way in ways:
                way.round()
                time.sleep(0.05)  # threads that still spin end
        for way in ways:
            print(way.row(ways[0]), flush=True)
            way.close()
    return None

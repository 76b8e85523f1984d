#!/usr/bin/python3
"""What happens when a process of a run dies, stops, or is interrupted, under mpirun and with
--processes: everything else ends, soon, and the message says who it was and what it was doing.

  deaths_test.py --cgc build/release/cgc --cgrun build/release/tests/cgrun_deaths [--mpi openmpi]
                 [--deaths 20] [--every 1] [--gpus]

`cgrun_deaths` is cgrun whose rank R is killed after its N-th step where CGRAPH_DEATH is R:N, so
that each step of a small plan is tried in turn, or each third (--every 3), and whose rank R never
goes on while it loads the plan where CGRAPH_HANG is R:before or R:behind, its communicators.
CGRAPH_SEED chooses which, and the times of the other deaths. With --gpus each rank has a GPU, which
the environment emulates: it dies after it has issued its N-th step. Under mpirun NCCL then carries
out what they do together.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402

PROGRAM = """import std.tensor
import std.debug
actor Stage() {
  state calls: i64 = 0
  method run(x: i64) -> i64 { calls = calls + 1  return x + 1 }
  method values(x: f32[300]) -> f32[300] { return x * 2.0 }
  method slow(x: i64) -> i64 {
    sleep(300)
    return x + 1
  }
  method long(x: i64) -> i64 {
    sleep(4000)
    return x + 1
  }
}
place stage[r in 0..3] = Stage() on node[r].cpu[0]
graph each(x: i64, y: f32[300]) -> (i64, f32[300]) inflight 2 {
  let sums = all_reduce([stage[r].values(y) for r in 0..3], sum)
  return (stage[2].run(stage[1].run(stage[0].run(x))), sums[2])
}
graph fast(x: i64) -> i64 inflight 3 { return stage[2].run(stage[1].run(stage[0].run(x))) }
graph rounds(x: i64) -> i64 {
  let first = stage[2].run(stage[1].run(stage[0].run(x)))
  yield first
  repeat until false limit 4 { yield stage[2].run(stage[1].run(stage[0].run(first))) }
}
graph slow(x: i64) -> i64 inflight 2 { return stage[2].slow(stage[1].slow(stage[0].slow(x))) }
graph long(x: i64) -> i64 { return stage[2].run(stage[1].run(stage[0].long(x))) }
"""
RANKS = 3


class Suite:
    def __init__(self, options, folder):
        self.cgrun = options.cgrun
        self.mpi = None if options.mpi is None else mpirun.Mpi(options.mpi)
        self.plan = folder / "deaths.cgplan"
        self.gpus = options.gpus
        where = "node[r].gpu[0]" if self.mpi else "gpu[r]"
        program = PROGRAM.replace("node[r].cpu[0]", where) if self.gpus else PROGRAM
        (folder / "deaths.cgraph").write_text(program)
        subprocess.run([options.cgc, "compile", "-q", folder / "deaths.cgraph", "-o", self.plan],
                       check=True)
        (folder / "y.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (300,), }".ljust(117) + "\n"
        ).encode() + bytes(1200))
        self.y = folder / "y.npy"
        self.runs, self.deaths, self.every = 0, options.deaths, options.every
        self.seed = int(os.environ.get("CGRAPH_SEED", "1"))

    def start(self, graph, *flags, death=None, hang=None, patient=False):
        """`patient`: the launcher lets the others live for as long as they need to say who is gone.
        (Else an MPI kills them when it notices a death, which may be before anybody else does.)"""
        self.runs += 1
        inputs = ["--input", "x=1"] + (["--input", f"y={self.y}"] if graph == "each" else [])
        command = [str(self.cgrun), str(self.plan), "-q", "--graph", graph, *inputs, *flags]
        command += ["--require-gpu"] * self.gpus
        line = self.mpi.line(RANKS, command) if self.mpi else [*command, "--processes", str(RANKS)]
        if patient and self.mpi and self.mpi.name == "mpich":
            line.insert(1, "-disable-auto-cleanup")

        def environment(mark):
            made = self.mpi.environment(mark) if self.mpi else {**os.environ, mpirun.MARK: mark}
            if patient:
                made.pop("OMPI_MCA_odls_base_sigkill_timeout", None)
            faults = {"CGRAPH_DEATH": death, "CGRAPH_HANG": hang}
            return made | {name: fault for name, fault in faults.items() if fault is not None}
        return mpirun.Started(line, environment)

    def await_ranks(self, run):
        return run.await_ranks(self.cgrun, RANKS)

    def start_and_settle(self, graph, *flags, seconds=0.5, **how):
        """Starts a run and waits until its ranks have loaded the plan, which takes no longer than a
        whole run of one execution just before, and `seconds`. Returns the run and its ranks."""
        begun = time.monotonic()
        expect(self.start("fast", "-n", "1").end("a short run", 60)[0] == 0, "a short run")
        loads = time.monotonic() - begun
        run = self.start(graph, *flags, **how)
        ranks = self.await_ranks(run)
        time.sleep(seconds + loads)
        return run, ranks

    def end_of_ranks(self, run, what, seconds=10):
        """Waits until no rank is left, and then for the launcher. That of Open MPI 4.1 may hang
        where a process dies, or it is interrupted, while it connects the ranks: then it is killed.
        That of MPICH 4.0 may leave ranks in MPI_Init() where it is interrupted at the start.
        Returns the exit code, standard error, and how long the ranks took to end."""
        begun = time.monotonic()
        while mpirun.programs(run.mark, self.cgrun) and time.monotonic() < begun + seconds:
            time.sleep(0.002)
        took = time.monotonic() - begun
        left = mpirun.programs(run.mark, self.cgrun)
        if left and self.mpi and self.mpi.name == "mpich" and all(map(is_starting, left)):
            print(f"  NOTE: {what}: {self.mpi.launcher} has left ranks in MPI_Init()")
            mpirun.kill(mpirun.marked(run.mark))
            return *run.end(what, 20), took
        expect(not left, f"{what}: ranks are left after {seconds} s")
        while self.mpi and run.process.poll() is None and time.monotonic() < begun + took + 6:
            time.sleep(0.01)
        if self.mpi and run.process.poll() is None:
            print(f"  NOTE: {what}: {self.mpi.launcher} itself did not end; no rank was left")
            mpirun.kill(mpirun.marked(run.mark))
        return *run.end(what, 20), took


def is_starting(pid):
    """Whether a rank has not begun its own threads: it does when the MPI has started. Until then
    there is the one that watches how long that takes."""
    try:
        threads = [(task / "comm").read_text().strip()
                   for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    except FileNotFoundError:
        return True
    return len(threads) == 1 + threads.count("mpi watchdog")


def said(error, rank):
    """Whether a message names the rank that is gone."""
    return re.search(rf"error: (.*\n)*?.*rank {rank} \(process \d+", error) is not None


def each_step(suite):
    """Each rank dies after each of its steps in turn, or after each `--every`-th, from one that the
    seed chooses, until it has no further one: in two executions, and in the rounds of a run."""
    for graph, flags, rank in [("each", ["-n", "2"], rank) for rank in range(RANKS)] + \
                              [("rounds", [], rank) for rank in range(RANKS)]:
        step = 1 + (suite.seed + rank) % suite.every
        while True:
            what = f"rank {rank} dies after step {step} of {graph}"
            code, error = suite.start(graph, *flags, death=f"{rank}:{step}").end(what, 20)
            if code == 0:
                break
            expect(step < 200, f"{what}: no end of steps")
            if rank != 0 and suite.mpi is None:
                expect(said(error, rank), f"{what}: who it was", error)
            step += suite.every
        expect(step > 8, f"rank {rank} has only {step - 1} steps of {graph}")
        print(f"  rank {rank} of {graph}: steps up to {step - 1}, 1 of {suite.every}", flush=True)


def named(suite):
    """Under mpirun, too, the message says who it was; where the launcher leaves time for that.
    (MPICH's crashes now and then when a process dies, and all others end with it: so each is tried
    again.)"""
    for rank, step in ((1, 5), (1, 8), (2, 6), (2, 9)):
        what = f"rank {rank} dies after step {step}"
        errors = []
        while not any(said(error, rank) for error in errors) and len(errors) < 4:
            run = suite.start("each", "-n", "2", death=f"{rank}:{step}", patient=True)
            code, error = run.end(what, 20)
            expect(code != 0, f"{what}: the run ends well", error)
            errors.append(error)
        expect(said(errors[-1], rank), f"{what}: who it was", "\n".join(errors))


def at_random(suite):
    """The same at any time: while processes start, load the plan, run, and end."""
    source = random.Random(suite.seed)
    graph = "each" if suite.gpus and suite.mpi else "fast"  # by NCCL
    released = []
    for i in range(suite.deaths):
        what = f"seed {suite.seed}, death {i}"
        run = suite.start(graph, "-n", "1000000", "--timeout", "10")
        ranks = suite.await_ranks(run)
        time.sleep(source.choice([0, 0.01, 0.1, 0.3]) * source.random())
        rank = source.randrange(RANKS)
        number = source.choice([signal.SIGKILL, signal.SIGABRT])
        try:
            os.kill(ranks[rank], number)
        except ProcessLookupError:
            pass
        code, error, took = suite.end_of_ranks(run, what)
        released.append(took)
        expect(code != 0, f"{what}: rank {rank} is killed and the run ends well", error)
    print("  from a death to the end of all ranks: "
          f"median {statistics.median(released) * 1000:.0f} ms, "
          f"most {max(released) * 1000:.0f} ms")


def stopped(suite):
    """A process that is stopped looks like a slow one: the time-out decides, and says who it is."""
    for rank in range(1, RANKS):
        for seconds in (0.5, 2, 5):  # a busy machine may not have connected them by then
            run, ranks = suite.start_and_settle("slow", "-n", "100", "--timeout", "2",
                                                seconds=seconds)
            pid = ranks[rank]
            os.kill(pid, signal.SIGSTOP)
            code, error = run.end(f"rank {rank} is stopped", 20)
            if "have not connected" not in error:
                break
        expect(code != 0 and "nothing has moved for 2 s" in error, "the time-out", error)
        expect(re.search(rf"rank {rank} \(process {pid}", error), "who is stopped", error)


def stopped_start(suite):
    """A rank that is stopped while an MPI connects them: the time-out holds there, too."""
    if suite.mpi is None:
        return
    for rank in range(RANKS):
        what = f"rank {rank} is stopped while it connects"
        run = suite.start("fast", "-n", "2", "--timeout", "2")
        pid = suite.await_ranks(run)[rank]
        os.kill(pid, signal.SIGSTOP)
        code, error, took = suite.end_of_ranks(run, what, 30)
        expect(code != 0, f"{what} and the run ends well", error)
        expect(f"the {RANKS} processes of {suite.mpi.launcher.split('.')[0]} of" in error and
               f"have not connected in 2 s; rank {rank} (process {pid}) is stopped by a signal; "
               f"`kill -CONT {pid}` lets it go on" in error, f"{what}: who is stopped", error)
        print(f"  {what}: it ends after {took:.1f} s")


def hangs(suite):
    """A process that never goes on while it loads the plan: others wait for it as long as the
    time-out says, and who waits for whom is said."""
    for rank, place in ((1, "before"), (2, "before"), (1, "behind"), (2, "behind")):
        what = f"rank {rank} hangs {place} its communicators"
        run = suite.start("fast", "-n", "2", "--timeout", "2", hang=f"{rank}:{place}",
                          patient=True)
        pid = suite.await_ranks(run)[rank]
        code, error = run.end(what, 20)
        expect(code != 0, f"{what} and the run ends well", error)
        if suite.gpus and suite.mpi is None:
            others = {1: "rank 0, rank 2 have", 2: "rank 0, rank 1 have"}[rank]
            told = "has told nothing yet"
            if place == "behind":
                told = f'(process {pid}) has told "what GPUs carry out together" last'
            step = "what GPUs " + ("carry out together" if place == "before" else
                                   "read of each other")
            words = f'{others} waited 2 s for rank {rank} to tell "{step}"\nrank {rank} {told}'
        elif suite.gpus and place == "before":
            words = rf'rank 0 has waited 2 s for rank {rank} \(process {pid} on \S+\) to tell ' \
                    '"what GPUs carry out together"'
        else:
            words = rf"rank {rank} \(process {pid}.*\) has not loaded the plan in 2 s"
        found = words in error or re.search(words, error)
        expect(found, f"{what}: who waits for whom", error)


def interrupted(suite):
    """Signals to what the user has started, once and twice, at any time; and its death."""
    source = random.Random(suite.seed)
    for number, times in [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2),
                          (signal.SIGKILL, 1)] * 2:
        what = f"signal {int(number)}, {times} times"
        run = suite.start("slow", "-n", "100")
        time.sleep(1.2 * source.random())
        for _ in range(times):
            run.process.send_signal(number)
            time.sleep(0.4)
        code, error, _ = suite.end_of_ranks(run, what)
        # MPICH's launcher ends with 0 when it was interrupted.
        expect(code != 0 or "interrupted" in error, f"{what}: the run ends well", error)


def rank_zero(suite):
    """Whatever ends rank 0, the others end."""
    # The emulated driver looks at the other one before anybody else does.
    for number in (signal.SIGKILL, signal.SIGILL if suite.gpus else signal.SIGSEGV):
        errors = []
        for _ in range(4):
            run, ranks = suite.start_and_settle("slow", "-n", "100", patient=True)
            pid = ranks[0]
            os.kill(pid, number)
            code, error = run.end(f"rank 0 gets signal {int(number)}", 20)
            expect(code != 0, f"signal {int(number)}: the run ends well", error)
            errors.append(error)
            # MPICH's launcher kills the others at once; on a busy machine that of Open MPI may have
            # done so before any of them could speak.
            if suite.mpi is None or suite.mpi.name != "openmpi" or "error: " in error:
                break
        if suite.mpi and suite.mpi.name == "openmpi":
            expect(errors[-1].count(f"error: rank 0 (process {pid} on ") == 1 and
                   "has ended; all executions in flight end with it, and no output is written" in
                   errors[-1], "that it was rank 0", "\n".join(errors))


def at_the_end(suite):
    """A rank that dies when all have done their work, and are about to come together in the MPI."""
    if suite.mpi is None:
        return
    for rank in range(RANKS):
        what = f"rank {rank} dies at the end"
        run, ranks = suite.start_and_settle("fast", "-n", "1", hang=f"{rank}:end", patient=True)
        os.kill(ranks[rank], signal.SIGKILL)
        code, error, took = suite.end_of_ranks(run, what)
        expect(code != 0, f"{what} and the run ends well", error)
        print(f"  {what}: the others end after {took:.1f} s")


def rank_zero_stopped(suite):
    """Rank 0 that is stopped: another says so, and it may go on."""
    if suite.mpi is None:
        return
    run, ranks = suite.start_and_settle("slow", "-n", "8", "--timeout", "60")
    pid = ranks[0]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(7)
    os.kill(pid, signal.SIGCONT)
    code, error = run.end("rank 0 is stopped for a while", 60)
    expect(code == 0 and error.count(f"rank 0 (process {pid} on ") == 1 and
           f"kill -CONT {pid}" in error, f"who is stopped; exit code {code}", error)


def idle(suite):
    """Ranks that wait for one that computes take no processor time."""
    def nanoseconds(pid):
        """Of processor time, of all of its threads; one may end meanwhile."""
        total = 0
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                pass
        return total

    run, ranks = suite.start_and_settle("long", "-n", "1")
    before, begun = {rank: nanoseconds(ranks[rank]) for rank in ranks}, time.monotonic_ns()
    time.sleep(2)
    took = time.monotonic_ns() - begun
    shares = {rank: (nanoseconds(ranks[rank]) - before[rank]) / took for rank in ranks}
    code, error = run.end("ranks that wait", 20)
    expect(code == 0, f"exit code {code}", error)
    print("  of a core: " + ", ".join(f"rank {rank} {shares[rank]:.2%}" for rank in sorted(ranks)))
    # An emulated GPU whose kernel computes takes processor time of its rank.
    waiting = [share for rank, share in shares.items() if not suite.gpus or rank != 0]
    expect(all(share <= (0.2 if suite.gpus else 0.02) for share in waiting),
           f"idle ranks: {shares}")


def two_at_once(suite):
    """Two runs do not meet."""
    first, second = (suite.start("fast", "-n", "1000") for _ in range(2))
    doomed = suite.start("slow", "-n", "100")
    os.kill(suite.await_ranks(doomed)[1], signal.SIGKILL)
    for run in (first, second):
        code, error = run.end("two at once", 60)
        expect(code == 0, f"exit code {code}", error)
    expect(doomed.end("beside two others", 20)[0] != 0, "a death beside two others")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--mpi", choices=sorted(mpirun.PACKAGES))
    parser.add_argument("--deaths", type=int, default=20)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--gpus", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="parts, instead of all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(options, pathlib.Path(folder))
        for part in (each_step, named, at_random, stopped, stopped_start, hangs, interrupted,
                     rank_zero, at_the_end, rank_zero_stopped,
                     idle, two_at_once):
            if options.only and part.__name__ not in options.only:
                continue
            begun = time.monotonic()
            part(suite)
            print(f"{part.__name__}: ok, {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{expectations.checks} checks, {suite.runs} runs")


if __name__ == "__main__":
    main()

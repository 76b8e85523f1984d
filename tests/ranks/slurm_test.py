#!/usr/bin/python3
"""cgrun under srun, on a cluster of Slurm's that the test starts here: two nodes, which are this
machine (tests/support/slurm.py).

  slurm_test.py --cgc build/release/cgc --cgrun build/release/cgrun --mpi openmpi

Where Slurm is not installed, or does not come up, the test says so and is skipped.
"""
import argparse
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"),
                str(pathlib.Path(__file__).resolve().parent)]
import expectations  # noqa: E402
import machines_test  # noqa: E402
import mpirun  # noqa: E402
import slurm  # noqa: E402
from expectations import expect  # noqa: E402
from machines_test import errors  # noqa: E402

CASES = ("around", "large", "state_of_all", "collected")


def results(m, _):
    """Two ranks on two nodes; three, of which two are on one."""
    for graph, inputs, flags in machines_test.CASES:
        if graph in CASES:
            m.same(2, m.plan(), graph, inputs, *flags)
        if graph == "collected":
            m.same(3, m.plan("NODES=3", "N=7"), graph, inputs, *flags)


def failures(m, _):
    """A method that fails at another rank."""
    np.save(m.folder / "in_x.npy", np.array([1, 2, 3, 4]))
    done = m.run(2, m.plan(), "--graph", "refused", "--input", f"x={m.folder}/in_x.npy", "--batch",
                 "x")
    expect(done.returncode == 1 and "3 is refused" in done.stderr, "an error", done.stderr)


def slow(m):
    """Starts a run that takes long; returns it, and the processes of its ranks."""
    source = m.folder / "sleeps.cgraph"
    source.write_text(machines_test.SLEEPS)
    command = [m.cgrun, m.plan(source=source), "--input", "x=50", "-n", "10000"]
    run = mpirun.Started(m.mpi.line(2, command), m.mpi.environment)
    m.runs += 1
    ranks = run.await_ranks(m.cgrun, 2)
    time.sleep(1)
    return run, ranks


def deaths(m, _):
    """A rank that is killed is named, by rank 0 or, where it was that one, by another."""
    for rank in (1, 0):
        said = rf"error: rank {rank} \(process \d+ on \S+(: node\[1\]\.gpu\[0\])?\) has ended"
        told = []
        while not any(re.search(said, error) for error in told) and len(told) < 4:
            run, ranks = slow(m)
            os.kill(ranks[rank], signal.SIGKILL)
            code, error = run.end(f"rank {rank} is killed", 20)
            expect(code != 0, f"rank {rank} is killed and the run ends well", error)
            told.append(error)
            if rank == 0:
                break  # Slurm ends the others at once, which may be sooner
        expect(rank == 0 or re.search(said, told[-1]), f"who was killed, rank {rank}",
               "\n".join(told))


def interrupts(m, cluster):
    """Ctrl-C twice, and scancel with and without a signal."""
    for what in ("Ctrl-C twice", "scancel --signal=INT", "scancel"):
        run, _ = slow(m)
        if what == "Ctrl-C twice":
            run.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            run.process.send_signal(signal.SIGINT)
        else:
            cluster.cancel(*what.split()[1:])
        code, error = run.end(what, 20)
        expect(code != 0, f"{what}: the run ends well", error)
        if what == "scancel --signal=INT":
            expect(code == 130 and len(errors_of(error)) == 1 and "interrupted" in error,
                   f"{what}: exit code {code}", error)


def errors_of(text):
    return [line for line in text.splitlines() if line.startswith("cgrun: error:")]


def unconnected(m, _):
    """srun that is not told how processes connect: one message on each node."""
    m.mpi = slurm.Srun(m.mpi.name, connect=False)
    once = re.compile(r" \(said once for the (\d+) processes on \S+\)$")
    for ranks in (5, 2):
        done = m.run(ranks, m.plan(), "--graph", "other", "--input", "x=[5]")
        said = [line for line in errors(done) if "cgrun:" in line]
        of_each = [int(found[1]) if (found := once.search(line)) else 1 for line in said]
        expect(done.returncode != 0 and len(said) == 2 and sum(of_each) == ranks and
               all(f"{ranks} processes" in line and "--mpi=pmix" in line for line in said),
               f"{ranks} ranks that do not connect", done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    mpirun.add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "slurm").mkdir()
        with slurm.Cluster(folder / "slurm") as cluster:
            m = machines_test.Machines(options, folder)
            m.mpi = slurm.Srun(options.mpi)
            for part in (results, failures, deaths, interrupts, unconnected):
                begun = time.monotonic()
                part(m, cluster)
                print(f"{part.__name__}: ok, {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{expectations.checks} checks, {m.runs} runs")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""cgrun on two machines that are one (tests/support/two_machines.py).

  two_machines_test.py --cgc build/release/cgc --cgrun build/release/cgrun --mpi openmpi

Where no such namespaces can be made, the test says so and is skipped.
"""
import argparse
import pathlib
import sys
import tempfile
import time

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"),
                str(pathlib.Path(__file__).resolve().parent)]
import expectations  # noqa: E402
import machines_test  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402
from two_machines import TwoMachines  # noqa: E402


def cut(two, m):
    """A cable that is cut ends the run at both machines, and the message says which is gone. One
    that is plugged in again in time is nobody's business."""
    command = [m.cgrun, m.plan(), "--graph", "state_along", "--input", f"x={m.folder}/in_x.npy",
               "-n", "100000000", "-q"]
    np.save(m.folder / "in_x.npy", machines_test.EIGHT)
    for seconds in (1.5, None):
        run = mpirun.Started(two.line(2, command), two.mpi.environment)
        ranks = run.await_programs(m.cgrun, 2)
        time.sleep(1)
        two.cable("down")
        if seconds is not None:
            time.sleep(seconds)
            two.cable("up")
            time.sleep(5)
            expect(len(mpirun.programs(run.mark, m.cgrun)) == 2,
                   f"a cable that is out for {seconds} s ends a run")
            mpirun.kill(mpirun.marked(run.mark))
            run.end("a run that is killed", 10)
            continue
        begun = time.monotonic()
        while mpirun.programs(run.mark, m.cgrun) and time.monotonic() < begun + 20:
            time.sleep(0.01)
        released = time.monotonic() - begun
        two.cable("up")  # the launcher has connections of its own
        code, error = run.end("a cable is cut", 30)
        expect(code != 0, "a cut cable, and the run ends well", error)
        expect("rank 1 (process" in error and "machine2" in error and
               "cannot be reached any more" in error, "who cannot be reached", error)
        expect(released < 8, f"both ranks end {released:.1f} s after the cut", error)
        print(f"  from the cut to the end of both ranks ({ranks}): {released:.1f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    mpirun.add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with TwoMachines(options.mpi, folder) as two:
            names = two.run(2, ["hostname"]).stdout.split()
            expect(sorted(names) == ["machine1", "machine2"], f"ranks are on {names}")
            m = machines_test.Machines(options, folder)
            m.mpi = two
            before = two.sent()
            for graph, inputs, flags in machines_test.CASES:
                if graph in ("large", "state_of_all", "collected"):
                    m.same(2, m.plan(), graph, inputs, *flags)
            # Two ranks on each.
            m.same(4, m.plan("NODES=4", "N=9"), "collected", {"x": machines_test.EIGHT})
            # `large` alone sends 8 MB twice in each of 6 executions.
            expect(two.sent() - before > 90_000_000, f"only {two.sent() - before} bytes were sent")
            np.save(folder / "in_x.npy", np.array([1, 2, 3, 4]))
            done = m.run(2, m.plan(), "--graph", "refused", "--input", f"x={folder}/in_x.npy",
                         "--batch", "x")
            expect(done.returncode == 1 and "3 is refused" in done.stderr, "an error",
                   done.stderr)
            cut(two, m)
    print(f"{expectations.checks} checks, {m.runs} runs")


if __name__ == "__main__":
    main()

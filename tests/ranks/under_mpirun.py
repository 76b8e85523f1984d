#!/usr/bin/python3
"""Runs a program under the mpirun of an MPI, with the same output and exit code.

  under_mpirun.py --mpi openmpi --ranks 2 PROGRAM ARGUMENTS

It has to end in time, and to leave no process behind.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import mpirun  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    mpirun.add_option(parser)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--seconds", type=int, default=250)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    done = mpirun.Mpi(options.mpi).run(options.ranks, options.command, options.seconds)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

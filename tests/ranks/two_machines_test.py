#!/usr/bin/python3
"""cgrun on two machines that are one: namespaces with their own network, host name, processes and
shared memory, which a cable joins. What goes between them goes by TCP.

  two_machines_test.py --cgc build/release/cgc --cgrun build/release/cgrun

Where no such namespaces can be made, the test says so and is skipped. It is written for Open MPI:
Debian's MPICH goes by UCX, which finds no device in such a network.
"""
import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
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

NETWORK = "10.77.31"
# Runs a command on the machine that a launcher names, in the way of ssh: options, host, command.
AGENT = """#!/bin/sh
while :; do
  case "$1" in
    -x|-q|-n) shift ;;
    *) break ;;
  esac
done
host=$1
shift
exec {folder}/on ${{host##*.}} "$*"
"""
# Runs a shell command on machine 1 or 2.
ON = """#!/bin/sh
exec ip netns exec {name}$1 unshare --uts --mount --ipc --pid --fork --kill-child --mount-proc \\
    sh -c "hostname machine$1; mount -t tmpfs tmpfs /dev/shm; $2"
"""


def skip(why):
    print(f"SKIPPED: {why}; no run on two machines is tried")
    sys.exit(77)


class TwoMachines:
    """Stands for an Mpi whose ranks are on two machines, one each."""

    name = "openmpi"

    def __init__(self, folder):
        self.mpi, self.folder = mpirun.Mpi(self.name), folder
        self.space = f"cgraph{os.getpid()}m"
        for script, text in (("agent", AGENT), ("on", ON)):
            path = folder / script
            path.write_text(text.format(folder=folder, name=self.space))
            path.chmod(0o755)

    def __enter__(self):
        for tool in ("ip", "unshare"):
            if shutil.which(tool) is None:
                skip(f"{tool} is not installed")
        commands = [f"ip netns add {self.space}1", f"ip netns add {self.space}2",
                    f"ip -n {self.space}1 link add v1 type veth peer name v1 netns {self.space}2"]
        for i in (1, 2):
            commands += [f"ip -n {self.space}{i} addr add {NETWORK}.{i}/24 dev v1",
                         f"ip -n {self.space}{i} link set v1 up",
                         f"ip -n {self.space}{i} link set lo up", f"{self.folder}/on {i} true"]
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True)
            if done.returncode != 0:
                self.__exit__()
                skip(f"namespaces cannot be made here (`{command}`: {done.stderr.strip()})")
        return self

    def __exit__(self, *_):
        for i in (1, 2):
            subprocess.run(["ip", "netns", "del", f"{self.space}{i}"], capture_output=True)

    def line(self, ranks, command):
        flags = (f"--mca plm_rsh_agent {self.folder}/agent -H {NETWORK}.1,{NETWORK}.2 "
                 f"--mca oob_tcp_if_include {NETWORK}.0/24 "
                 f"--mca btl_tcp_if_include {NETWORK}.0/24")
        words = " ".join(shlex.quote(str(word)) for word in command)
        return [str(self.folder / "on"), "1",
                f"exec {self.mpi.launcher} -n {ranks} {flags} {words}"]

    def run(self, ranks, command, seconds=60, line=None):
        return mpirun.run_marked(line or self.line(ranks, command), self.mpi.environment, seconds)

    def cable(self, state):
        subprocess.run(["ip", "-n", f"{self.space}1", "link", "set", "v1", state], check=True)

    def sent(self):
        """Returns the bytes that machine 1 has sent."""
        text = subprocess.run(["ip", "netns", "exec", f"{self.space}1", "cat",
                               "/sys/class/net/v1/statistics/tx_bytes"],
                              capture_output=True, text=True, check=True).stdout
        return int(text)


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
    parser.set_defaults(mpi=TwoMachines.name)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with TwoMachines(folder) as two:
            names = two.run(2, ["hostname"]).stdout.split()
            expect(sorted(names) == ["machine1", "machine2"], f"ranks are on {names}")
            m = machines_test.Machines(options, folder)
            m.mpi = two
            before = two.sent()
            for graph, inputs, flags in machines_test.CASES:
                if graph in ("large", "state_of_all", "collected"):
                    m.same(2, m.plan(), graph, inputs, *flags)
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

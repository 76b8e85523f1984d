"""Runs programs under the mpirun of an MPI.

Every run ends within its time, or the test fails; so it does where a run leaves a process behind.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import uuid

from expectations import expect

MARK = "CGRAPH_TEST_RUN"
PACKAGES = {"openmpi": "openmpi-bin", "mpich": "mpich"}


def add_option(parser):
    parser.add_argument("--mpi", choices=sorted(PACKAGES), required=True)


def marked(mark):
    """Returns the processes that have the mark in their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0") and \
                    (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended


class Mpi:
    """`name`: openmpi or mpich, for which cgrun has a library. Without its launcher the program
    ends, loudly, with the code that ctest takes for a skipped test."""

    def __init__(self, name):
        self.name, self.launcher = name, f"mpirun.{name}"
        if shutil.which(self.launcher) is None:
            print(f"SKIPPED: {self.launcher} is not installed (Debian's {PACKAGES[name]}); no run "
                  "on several machines with it is tried")
            sys.exit(77)

    def line(self, ranks, command):
        return [self.launcher, "-n", str(ranks), *map(str, command)]

    def environment(self, mark):
        # Open MPI wants to be told that root may run it, and more ranks than there are cores; and
        # would sleep for two seconds after a rank that failed.
        return {**os.environ, MARK: mark, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_hwloc_base_binding_policy": "none",
                "OMPI_MCA_odls_base_sigkill_timeout": "0"}

    def run(self, ranks, command, seconds=60, line=None):
        """Returns what a run was: its exit code, what it printed."""
        return run_marked(line or self.line(ranks, command), self.environment, seconds)

    def run_and_stop(self, ranks, command, rank, after, seconds=60):
        """The same, where a signal stops the process of a rank so many seconds after it has begun.
        Returns its process, too."""
        stopped = []

        def stop(mark):
            end = time.monotonic() + 20
            while not stopped and time.monotonic() < end:
                stopped.extend(pid for pid in marked(mark) if rank_of(pid) == rank)
                time.sleep(0.01)
            expect(len(stopped) == 1, f"the processes of rank {rank} are {stopped}")
            time.sleep(after)
            os.kill(stopped[0], signal.SIGSTOP)

        done = run_marked(self.line(ranks, command), self.environment, seconds, stop)
        return done, stopped[0]


def rank_of(pid):
    """Returns the rank of a process that a launcher has started, or None."""
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    for word in words:
        name, _, value = word.partition(b"=")
        if name in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK"):
            return int(value)
    return None


def run_marked(line, environment_of, seconds, begun=None):
    """`begun`: called with the mark as soon as the processes are started."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment_of(mark),
                               start_new_session=True)
    try:
        if begun is not None:
            begun(mark)
        out, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill(marked(mark))
        out, error = process.communicate()
        sys.exit(f"FAILED: {' '.join(line)}\ndoes not end in {seconds} s\n{out}{error}")
    end = time.monotonic() + 5
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.01)
    kill(left)
    expect(not left, f"{' '.join(line)} leaves processes behind: {left}", out + error)
    return subprocess.CompletedProcess(line, process.returncode, out, error)

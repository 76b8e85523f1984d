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
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
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


def described(pid):
    """Returns what a process executes and what each of its threads waits in."""
    try:
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        waits = [f"{task.name} {(task / 'wchan').read_text()} {(task / 'syscall').read_text()[:40]}"
                 for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return f"{pid}: it has ended"
    return f"{pid}: {command}: " + "; ".join(waits)


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
        run = Started(self.line(ranks, command), self.environment)
        pid = run.await_ranks(command[0], ranks)[rank]
        time.sleep(after)
        os.kill(pid, signal.SIGSTOP)
        return run.finish(" ".join(map(str, run.line)), seconds), pid


def rank_of(pid):
    """Returns the rank of a process that a launcher, or rank 0, has started; 0 where nothing says
    so."""
    try:
        arguments, environment = (
            pathlib.Path(f"/proc/{pid}/{what}").read_bytes().decode().split("\0")
            for what in ("cmdline", "environ"))
    except OSError:
        return 0  # it has ended
    if len(arguments) > 1 and arguments[1].startswith("--rank="):
        return int(arguments[1][len("--rank="):])
    given = dict(word.split("=", 1) for word in environment if "=" in word)
    return int(next((given[name] for name in RANK_VARIABLES if name in given), 0))


def programs(mark, program):
    """Returns the processes of a run that execute this program."""
    found = []
    for pid in marked(mark):
        try:
            if os.readlink(f"/proc/{pid}/exe") == str(program):
                found.append(pid)
        except OSError:
            pass  # it has ended
    return found


class Started:
    """A command that was started. Whatever it starts in turn carries its mark."""

    def __init__(self, line, environment_of):
        self.line, self.mark = line, uuid.uuid4().hex
        self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env=environment_of(self.mark), start_new_session=True)

    def await_programs(self, program, count, seconds=10):
        """Waits until so many processes execute a program; returns them."""
        end = time.monotonic() + seconds
        while len(found := programs(self.mark, program)) < count and time.monotonic() < end:
            time.sleep(0.002)
        expect(len(found) == count, f"{self.line}: processes {found}, not {count}")
        return found

    def await_ranks(self, program, count, seconds=10):
        """Returns the processes of the ranks, by rank. One that is about to execute the program
        looks like the one that has started it."""
        end = time.monotonic() + seconds
        ranks = {}
        while len(ranks) < count and time.monotonic() < end:
            ranks = {rank_of(pid): pid for pid in programs(self.mark, program)}
            time.sleep(0.002)
        expect(sorted(ranks) == list(range(count)), f"{self.line}: ranks {ranks}")
        return ranks

    def end(self, what, seconds):
        """Waits for the end, of all that it has started. Returns exit code and standard error."""
        done = self.finish(what, seconds)
        return done.returncode, done.stderr

    def finish(self, what, seconds):
        try:
            out, error = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            left = "\n".join(map(described, marked(self.mark)))
            kill(marked(self.mark))
            out, error = self.process.communicate()
            sys.exit(f"FAILED: {what}\ndoes not end in {seconds} s\n{out}{error}{left}")
        end = time.monotonic() + 5
        while (left := marked(self.mark)) and time.monotonic() < end:
            time.sleep(0.01)
        kill(left)
        expect(not left, f"{what} leaves processes behind: {left}", out + error)
        return subprocess.CompletedProcess(self.line, self.process.returncode, out, error)


def run_marked(line, environment_of, seconds):
    return Started(line, environment_of).finish(" ".join(line), seconds)

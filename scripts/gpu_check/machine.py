"""What a check runs on: the kit's programs, their environment, commands with a time limit."""
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

SANITIZER = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer")


LIBSTDCXX = (b"GLIBCXX_3.4.30", ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                 "/usr/lib64", "/lib64", "/usr/lib"])


def has_new_libstdcxx():
    """Whether the machine's C++ library is that of GCC 12 or newer."""
    version, folders = LIBSTDCXX
    found = (pathlib.Path(folder) / "libstdc++.so.6" for folder in folders)
    return any(path.exists() and version in path.read_bytes() for path in found)


class Done:
    def __init__(self, status, out, error, seconds, limit):
        self.status, self.out, self.error = status, out, error
        self.seconds, self.limit = seconds, limit

    def problem(self):
        """Why a command is no success, in a sentence; empty: it is one."""
        if self.status is None:
            return f"it hung, and was killed after {self.limit:.0f} s; {last_line(self)}"
        if self.status < 0:
            return f"it died of signal {-self.status}; {last_line(self)}"
        return f"exit code {self.status}; {last_line(self)}" if self.status else ""


def last_line(done):
    """What a command said last that tells something."""
    for stream in (done.error, done.out):
        errors = [line for line in stream.splitlines() if "error" in line.lower()]
        lines = errors or [line for line in stream.splitlines() if line.strip(" =-")]
        if lines:
            return lines[-1].strip()[:300]
    return "it said nothing"


class Machine:
    """`kit` has bin/, lib/ and plans/, with manifest.json. `driver` is the folder of an emulated
    driver; none: the machine's own."""

    def __init__(self, kit, driver=None, seconds=460, scratch=None):
        self.kit = pathlib.Path(kit)
        self.scratch = pathlib.Path(scratch or kit)  # a folder for what steps write
        self.topology = None  # of this machine, once it was measured
        self.manifest = json.loads((self.kit / "manifest.json").read_text())
        self.emulated = driver is not None
        self.whole_ends = self.ends = time.monotonic() + seconds
        # While a program has a GPU's file open, the driver keeps the GPU initialised: without it
        # each start of cgrun would initialise it again, which takes a second or more.
        self.kept = [] if self.emulated else [
            os.open(path, os.O_RDWR) for path in sorted(glob.glob("/dev/nvidia[0-9]*"))
            if os.access(path, os.R_OK | os.W_OK)]
        self.environment = dict(os.environ)
        folders = [driver, self.kit / "bin", self.kit / "lib",
                   None if has_new_libstdcxx() else self.kit / "lib" / "gcc",
                   os.environ.get("LD_LIBRARY_PATH", "")]
        self.environment["LD_LIBRARY_PATH"] = ":".join(str(f) for f in folders if f)
        if self.emulated:
            self.environment["CGRAPH_EMULATION"] = "devices=2,seed=7,protect=0"

    def lacks(self):
        """What the machine must have and lacks, in a sentence; empty: nothing."""
        needed = self.manifest.get("glibc")
        has = (os.confstr("CS_GNU_LIBC_VERSION") or "glibc 0").split()[-1]
        numbers = [tuple(map(int, text.split("."))) for text in (needed or "0", has)]
        return (f"the kit needs glibc {needed}, and this machine has {has}"
                if numbers[0] > numbers[1] else "")

    def program(self, name):
        path = self.kit / "bin" / name
        if not path.exists():
            raise FileNotFoundError(f"the kit has no bin/{name}; make it again with "
                                    "scripts/gpu-check --pack")
        return path

    def begin_step(self, seconds):
        """From now on left() is the time of a step, which ends before the whole check does."""
        self.ends = min(self.whole_ends, time.monotonic() + seconds)

    def left(self):
        return self.ends - time.monotonic()

    def run(self, *words, limit=60, cwd=None, more={}):
        """Runs a command; kills it with all that it started when it takes longer than it may."""
        start = time.monotonic()
        limit = max(1, min(limit, self.left()))
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", cwd=cwd,
                                   env={**self.environment, **more}, start_new_session=True)
        try:
            out, error = process.communicate(timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, error = process.communicate()
            status = None
        return Done(status, out, error, time.monotonic() - start, limit)

    def sanitizer(self):
        for name in SANITIZER:
            if path := shutil.which(name):
                return path
        return None

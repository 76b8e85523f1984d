"""The two commands of the package, as programs."""
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def path(command):
    """The path of `cgc` or `cgrun` in this package."""
    return os.path.join(FOLDER, "bin", command)


def include_dir():
    """The folder of cgraph_extern.h, which methods in native code are compiled with."""
    return os.path.join(FOLDER, "include")


def run(words, **options):
    """Runs a command and returns it with what it printed, as bytes."""
    import subprocess
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **options)


def become(command):
    """Replaces this process by a command, with this process's arguments. Methods in Python are of
    the first `python3` in PATH, which is this one."""
    program = path(command)
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable),
                                          os.environ.get("PATH", os.defpath)])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program] + sys.argv[1:])

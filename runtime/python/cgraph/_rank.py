"""Processes that serve a plan's devices, for an engine whose plan has methods in Python."""
import os
import sys

from cgraph import _commands, _runtime

_OPTION = "--rank="


def program():
    """The arguments of this Python for such a process, which finds modules where this one does, and
    this package also where `sys.path` has it relative to a folder that this process has left."""
    path = sys.path + [os.path.dirname(_commands.FOLDER)]
    return ["-c", f"import sys; sys.path[:] = {path!r}; from cgraph._rank import serve; serve()"]


def serve():
    """Serves the rank that the last argument names; does not return."""
    sys.stdout = sys.stderr  # standard output is closed here
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a rank has one worker
    _runtime.serve_rank(int(sys.argv[-1].removeprefix(_OPTION)))

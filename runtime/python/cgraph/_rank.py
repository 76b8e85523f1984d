"""Processes that serve a plan's devices, for an engine whose plan has methods in Python."""
import contextlib
import importlib
import os
import sys

from cgraph import _commands, _runtime

_OPTION = "--rank="


def program():
    """The arguments of this Python for such a process, which finds modules where this one does, and
    this package also where `sys.path` has it relative to a folder that this process has left."""
    path = sys.path + [os.path.dirname(_commands.FOLDER)]
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    first = ["torch"] if cuda is not None and cuda.is_available() else []
    return ["-c", f"import sys; sys.path[:] = {path!r}; from cgraph._rank import serve; "
            f"serve({first!r})"]


def serve(first):
    """Serves the rank that the last argument names; does not return. `first`: modules that come
    before the engine. PyTorch brings libraries of CUDA's, and whoever is first decides which are
    used: where it is first in the engine's own process, it is here."""
    for name in first:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.stdout = sys.stderr  # standard output is closed here
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a rank has one worker
    _runtime.serve_rank(int(sys.argv[-1].removeprefix(_OPTION)))

"""The PyTorch of a machine: whether it is there, and what it measures of itself."""
import json
import os
import pathlib
import sys

from gpu_check.report import SKIP

MODELS = pathlib.Path(__file__).resolve().parent / "torch_models.py"


class PyTorch:
    """The Python that has PyTorch for this GPU, if any."""

    def __init__(self, machine):
        self.python, self.why = None, "PyTorch is not installed"
        for python in dict.fromkeys([sys.executable, "python3", "/usr/bin/python3"]):
            try:
                done = machine.run(python, MODELS, "--look", limit=30)
            except OSError:
                continue
            if done.status == 0 and done.out.startswith("PyTorch"):
                self.python, self.why = python, done.out.strip()
                return
            self.why = done.out.strip() or done.problem()

    def environment(self, machine):
        """For programs that run methods in this Python: it is the first in PATH, and the libraries
        of CUDA's that others load before PyTorch are the ones that it needs."""
        done = machine.run(self.python, MODELS, "--libraries", limit=30)
        folders = [done.out.strip(), machine.environment["LD_LIBRARY_PATH"]]
        return {"PATH": f"{pathlib.Path(self.python).parent}:{os.environ.get('PATH', '')}",
                "LD_LIBRARY_PATH": ":".join(filter(None, folders))}

    def figures(self, machine, report):
        if self.python is None:
            return {}
        done = machine.run(self.python, MODELS, limit=60)
        if done.problem():  # its own fault, and not one of what is checked
            report.add("figures of PyTorch", SKIP, done.problem(), done.seconds)
            self.python = None
            return {}
        return json.loads(done.out)

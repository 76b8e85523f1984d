"""Methods in Python on a GPU: modules of PyTorch's that a plan trains there, and on CPU threads."""
import pathlib
import tempfile

from gpu_check import npy
from gpu_check.checks import map_to_cores, map_to_one
from gpu_check.machine import last_line
from gpu_check.pytorch import PyTorch
from gpu_check.report import FAIL, PASS, SKIP

NAME = "methods in Python: PyTorch's modules"
NO_PYTHON = "methods in Python need"  # so begins what cgrun says where it finds none to run them in


def run_on(machine, entry, path, environment, *where):
    """The losses of a training, or None, and what ran."""
    run = entry["runs"][0]
    done = machine.run(machine.program("cgrun"), entry["plan"], "-q", "--timeout", 30, "--graph",
                       run["graph"], *run["words"], "--output", f"result={path}", "-n",
                       run["repeat"], *where, limit=60, cwd=machine.kit, more=environment)
    return (None if done.problem() else npy.Array(path)), done


def python_methods(machine, report):
    entry = machine.manifest.get("python_methods")
    if entry is None:
        return report.add(NAME, SKIP, "the kit has none: libcgraph_python.so was not built")
    torch = PyTorch(machine)
    if torch.python is None:
        return report.add(NAME, SKIP, torch.why)
    environment = torch.environment(machine)
    on_gpu = [*map_to_one(entry["gpus"]), "--require-gpu"]
    losses, seconds = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, where in (("CPU threads", map_to_cores(entry["gpus"])), ("captured", on_gpu),
                            ("eager", [*on_gpu, "--no-capture"])):
            path = pathlib.Path(folder) / "losses.npy"
            losses[name], done = run_on(machine, entry, path, environment, *where)
            seconds += done.seconds
            if NO_PYTHON in done.error:
                return report.add(NAME, SKIP, last_line(done), seconds)
            if done.problem() and machine.left() < 1:
                return report.add(NAME, SKIP, "the time for it was over", seconds)
            if problem := done.problem():
                return report.add(NAME, FAIL, f"{name}: {problem}", seconds)
    for name in ("captured", "eager"):
        if wrong := npy.difference(losses[name], losses["CPU threads"]):
            return report.add(NAME, FAIL, f"{name}: {wrong}", seconds)
    return report.add(NAME, PASS, f"{torch.why}, against CPU threads", seconds)

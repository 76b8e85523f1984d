"""NCCL with two ranks on one GPU, which it allows since 2.30: plans with two gpus, both of them the
machine's first GPU, by NCCL and not by our own copies."""
import copy
import re
import tempfile

from gpu_check import npy
from gpu_check.report import FAIL, PASS, SKIP

NEEDED = (2, 30)
# Each rank takes few of the GPU's multiprocessors, so that both fit.
ENVIRONMENT = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_MAX_CTAS": "4", "NCCL_DEBUG": "VERSION"}
SAID = "NCCL version "  # by NCCL, when it makes a communicator


def unavailable(listed):
    """Why NCCL cannot do it, as cgrun --devices lists it; nothing where it can."""
    found = re.search(r"^NCCL  (.*)$", "\n".join(listed), re.M)
    if not found:
        return "cgrun lists no NCCL"
    if found[1].startswith("none: "):
        return found[1].removeprefix("none: ")
    version = tuple(int(number) for number in found[1].split(",")[0].split("."))
    if version < NEEDED:
        return (f"NCCL {found[1]} takes one rank for each GPU; {NEEDED[0]}.{NEEDED[1]} or newer "
                "takes two")
    return ""


def two_ranks(machine, report, run_plan, map_to_one):
    """Runs each plan with two gpus; `run_plan` and `map_to_one` are those of the other checks."""
    if reason := unavailable(report.machine["devices"]):
        return report.add("NCCL on one GPU", SKIP, reason)
    asked = copy.copy(machine)
    asked.environment = {**machine.environment, **ENVIRONMENT}
    carried, tried, late, wrong = 0, 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, entry in sorted(machine.manifest["plans"].items()):
            if len(entry["gpus"]) != 2:
                continue
            if machine.left() < 5:
                late += 1
                continue
            for run in entry["runs"]:
                tried += 1
                said = []
                outputs, problem = run_plan(asked, entry, run, folder, map_to_one, said=said)
                carried += SAID in "".join(said)
                for output in () if problem else run["expected"]:
                    problem = problem or npy.difference(
                        outputs[output], npy.Array(machine.kit / run["expected"][output]))
                if problem and machine.left() < 1:  # ended by the limit: it says nothing of NCCL
                    tried, late = tried - 1, late + 1
                elif problem:
                    wrong.append(f"{name}, graph {run['graph']}: {problem}")
    if tried == 0 and late:
        report.add("NCCL on one GPU", SKIP, "there was no time for any run")
        return
    if not wrong and not carried:
        wrong.append(f"NCCL made no communicator in {tried} runs")
    report.add("NCCL on one GPU", FAIL if wrong else PASS,
               "; ".join(wrong) or f"{carried} of {tried} runs by NCCL, two ranks on one GPU")

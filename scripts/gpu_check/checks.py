"""The checks: each runs programs of the kit and adds to the report what came of them."""
import concurrent.futures
import json
import os
import pathlib
import re
import tempfile
import time

from gpu_check import nccl, npy
from gpu_check.machine import last_line
from gpu_check.report import FAIL, PASS, SKIP

# What the emulation has time for: a few cases of the kernels, one seed of the devices' rules.
EMULATED_KERNELS = ["a fused kernel gives what its steps give", "an empty fused result",
                    "what the CPU refuses is refused with the same words", "select", "matmul"]


def devices(machine, report):
    done = machine.run(machine.program("cgrun"), "--devices", limit=60)
    problem = done.problem()
    gpu = re.search(r"^cuda:0  (.*)$", done.out, re.M)
    # What was seen, then what to do about it, to the end of the list.
    unusable = re.search(r"no GPU can be used: (.*)", done.out, re.S)
    if not problem and unusable:
        problem = "; ".join(unusable[1].strip().splitlines())
    if not problem and not gpu:
        problem = "no GPU is listed"
    report.machine["devices"] = done.out.splitlines()
    report.machine["gpu"] = gpu[1] if gpu else ""
    report.add("devices", FAIL if problem else PASS, problem or gpu[1], done.seconds)
    for name in ("cuBLASLt", "NVRTC", "NCCL"):
        found = re.search(rf"^{name}  (.*)$", done.out, re.M)
        if found and found[1].startswith("none: "):
            report.add(f"library {name}", SKIP, found[1].removeprefix("none: "))
        elif found:
            report.add(f"library {name}", PASS, found[1])
    return not problem


def catch_names(machine, program):
    listed = machine.run(program, "--list-test-names-only", limit=20)
    return [line.strip() for line in listed.out.splitlines() if line.strip()]


def kernels(machine, report):
    """Every kernel against the CPU's: a process for each case, so that a GPU that has failed in one
    does not fail the others."""
    program = machine.program("kernels_gpu_test")
    names = catch_names(machine, program)
    if machine.emulated:
        names = [name for name in names if name in EMULATED_KERNELS]
    if not names:
        return report.add("kernels", FAIL, "kernels_gpu_test lists no case")
    for name in names:
        if machine.left() < 2:
            report.add(f"kernels: {name}", SKIP, "the time for it was over")
            continue
        done = machine.run(program, name.replace(",", "\\,"), limit=30)
        passed = re.search(r"All tests passed \((\d+) assertion", done.out)
        problem = done.problem()
        if not problem and not passed:
            problem = "no assertion was checked"
        if done.status not in (0, None):
            problem = first_failure(done.out) or problem
        report.add(f"kernels: {name}", FAIL if problem else PASS,
                   problem or f"{passed[1]} assertions", done.seconds)


def first_failure(text):
    """The place and the expansion of Catch's first failed assertion."""
    at = re.search(r"^(\S+:\d+): FAILED:(.*?)(?:^-{5}|^={5}|\Z)", text, re.M | re.S)
    return " ".join((at[1] + ":" + at[2]).split())[:400] if at else ""


def conformance(machine, report):
    """The rules that every device keeps, with the GPU as one of the candidates."""
    done = machine.run(machine.program("device_test"), limit=120)
    problem = done.problem()
    if done.status not in (0, None):
        problem = first_failure(done.out) or problem
    skipped = re.search(r"skipped on cuda: (.*)", done.out)
    if not problem and skipped:
        problem = f"the GPU was left out: {skipped[1]}"
    passed = re.search(r"All tests passed \((.*)\)", done.out)
    if not problem and not passed:
        problem = "nothing was checked"
    report.add("conformance of devices", FAIL if problem else PASS, problem or passed[1],
               done.seconds)


# ---- plans --------------------------------------------------------------------------------------


def map_to_one(gpus):
    return ["--device-map", ",".join(f"gpu[{i}]=cuda:0" for i in gpus)] if gpus else []


def map_to_cores(gpus):
    return ["--device-map", ",".join(f"gpu[{i}]=cpu:{n}" for n, i in enumerate(gpus))]


def one_to_one(gpus):
    return ["--device-map", ",".join(f"gpu[{i}]=cuda:{n}" for n, i in enumerate(gpus))]


def run_plan(machine, entry, run, folder, mapping, *flags, said=None):
    """Runs a graph of a plan on GPUs; its outputs by name, or a sentence. `said`: a list to which
    goes what the run prints."""
    paths = {name: pathlib.Path(folder) / f"{i}.npy" for i, name in enumerate(run["outputs"])}
    for path in paths.values():
        path.unlink(missing_ok=True)
    outputs = [word for name, path in paths.items() for word in ("--output", f"{name}={path}")]
    done = machine.run(machine.program("cgrun"), entry["plan"], "-q", "--timeout", 30, "--graph",
                       run["graph"], *run["words"], *outputs, "-n", run["repeat"],
                       *mapping(entry["gpus"]),
                       *(["--require-gpu"] if entry["gpus"] else []), *flags, limit=60,
                       cwd=machine.kit)
    if said is not None:
        said += [done.out, done.error]
    if done.status == 1 and run["status"] == 1 and run["message"] in done.error:
        return {}, ""
    problem = done.problem()
    if not problem and run["status"] != 0:
        problem = f"it succeeds, and on the CPU it fails: {run['message']}"
    if problem:
        return None, problem
    return {name: npy.Array(path) for name, path in paths.items()}, ""


def compare(machine, entry, run, mapping):
    """Runs a graph captured and eager; a sentence about what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        captured, problem = run_plan(machine, entry, run, folder, mapping)
        if problem:
            return f"captured: {problem}"
        eager, problem = run_plan(machine, entry, run, folder, mapping, "--no-capture")
        if problem:
            return f"eager: {problem}"
    for name in run["expected"]:
        if captured[name].bytes != eager[name].bytes:
            return f"{name}: captured and eager have other bits"
        if wrong := npy.difference(captured[name],
                                   npy.Array(machine.kit / run["expected"][name])):
            return f"{name}: {wrong}"
    return ""


def example(machine, name, mapping=map_to_one):
    entry = machine.manifest["plans"][name]
    checked = 0
    for run in entry["runs"]:
        if machine.left() < 5:
            return SKIP, "the time for the whole check is over"
        if problem := compare(machine, entry, run, mapping):
            if machine.left() < 1:
                return SKIP, "the time for the whole check ended in it"
            return FAIL, f"graph {run['graph']}: {problem}"
        checked += 1
    gpus = len(entry["gpus"])
    where = "no gpu in it" if gpus == 0 else f"{gpus} gpu{'s' if gpus != 1 else ''}"
    if mapping is map_to_one and gpus > 1:
        where += " as one"
    return PASS, f"{checked} graph{'s' if checked != 1 else ''}, {where}"


def examples(machine, report):
    """All examples, captured and eager, against each other and against the CPU."""
    names = sorted(machine.manifest["plans"])
    workers = 4 if (os.cpu_count() or 1) >= 8 and not machine.emulated else 1

    def timed(name):
        start = time.monotonic()
        return example(machine, name), time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for name, ((status, reason), seconds) in zip(names, pool.map(timed, names)):
            report.add(f"example {name}", status, reason, seconds)


# What compute-sanitizer looks at: a tool, a name, and the command. Races in shared memory and wrong
# barriers are those of kernels whose threads share memory; racecheck makes them a hundred times
# slower.
SANITIZED_PLANS = ("kv_decode", "digits_digits")
SANITIZED_KERNELS = ("softmax*", "the gradients of layer_norm")  # patterns of Catch2


def sanitizer_commands(machine, tool):
    """The exit code is 99 where the tool reports errors, and else the program's. Errors of the
    driver's calls are the program's own to report: asking whether memory is pinned is one."""
    def base(name):
        return [tool, "--tool", name, "--error-exitcode", "99", "--target-processes", "all",
                "--report-api-errors", "no", "--launch-timeout", "0"]

    for name in SANITIZED_PLANS:
        if name not in machine.manifest["plans"]:
            continue
        entry = machine.manifest["plans"][name]
        run = entry["runs"][0]
        yield f"memcheck of {name}", [
            *base("memcheck"), machine.program("cgrun"), entry["plan"], "-q", "--graph",
            run["graph"], *run["words"], *map_to_one(entry["gpus"]), "--require-gpu"]
    for kind in ("memcheck", "synccheck", "racecheck"):
        for name in SANITIZED_KERNELS:
            yield f"{kind} of {name}", [*base(kind), machine.program("kernels_gpu_test"), name]


def sanitizer(machine, report):
    """NVIDIA's sanitizer over a few plans and kernels."""
    tool = machine.sanitizer()
    if tool is None:
        return report.add("compute-sanitizer", SKIP, "compute-sanitizer is not installed")
    for name, words in sanitizer_commands(machine, tool):
        if machine.left() < 3:
            report.add(name, SKIP, "the time for it was over")
            continue
        done = machine.run(*words, limit=40, cwd=machine.kit)
        problem = done.problem()
        ran = "ERROR SUMMARY" in done.out + done.error or "RACECHECK SUMMARY" in (
            done.out + done.error)
        if not problem and not ran:
            problem = "compute-sanitizer gave no summary"
        if not problem and machine.program("kernels_gpu_test") in words and (
                "assertions" not in done.out):
            problem = "no case of this name ran"
        if done.status is None:
            report.add(name, SKIP, f"not over in {done.limit:.0f} s", done.seconds)
        else:
            report.add(name, FAIL if problem else PASS, problem, done.seconds)


def collectives(machine, report):
    """Communication between GPUs, by NCCL where it is there: examples with a GPU for each gpu."""
    nccl.two_ranks(machine, report, run_plan, map_to_one)
    count = sum(line.startswith("cuda:") for line in report.machine["devices"])
    if count < 2:
        return report.add("several GPUs", SKIP, "this machine has one GPU")
    for name, entry in sorted(machine.manifest["plans"].items()):
        if not 2 <= len(entry["gpus"]) <= count:
            continue
        status, reason = example(machine, name, one_to_one)
        report.add(f"several GPUs: {name}", status, reason)
    process_of_each(machine, report, count)


def process_of_each(machine, report, count):
    """The default of plans with captures on several GPUs, a process for each, against one process:
    the bits are equal."""
    for name, entry in sorted(machine.manifest["plans"].items()):
        if not 2 <= len(entry["gpus"]) <= count:
            continue
        problem, processes = "", 1
        for run in entry["runs"]:
            found, problem = same_in_one_process(machine, entry, run)
            processes = max(processes, found)
            if problem:
                problem = f"graph {run['graph']}: {problem}"
                break
        if not problem and processes == 1:
            report.add(f"a process for each GPU: {name}", SKIP, "it runs in one process by itself")
            continue
        report.add(f"a process for each GPU: {name}", FAIL if problem else PASS,
                   problem or f"the bits of one process, with {processes}")


def same_in_one_process(machine, entry, run):
    """Returns how many processes a graph has, and a sentence about what is wrong."""
    said = []
    with tempfile.TemporaryDirectory() as folder:
        several, problem = run_plan(machine, entry, run, folder, lambda gpus: [], "--json",
                                    said=said)
        if not problem:
            one, problem = run_plan(machine, entry, run, folder, lambda gpus: [],
                                    "--processes", "1")
    told = json.loads(said[0]) if said and said[0].startswith("{") else {}
    processes = len(told.get("processes", [])) or 1
    if problem:
        return processes, problem
    for name in several:
        if several[name].bytes != one[name].bytes:
            return processes, f"{name}: {processes} processes and one have other bits"
    return processes, ""


def topology(machine, report):
    """What cgrun measures of the machine, as a topology that cgc takes."""
    path = machine.scratch / "machine.cgraph"
    path.unlink(missing_ok=True)
    done = machine.run(machine.program("cgrun"), "--discover", path, limit=60)
    problem = done.problem()
    if not problem:
        report.machine["topology"] = path.read_text().splitlines()
        program = machine.scratch / "program.cgraph"
        program.write_text("import std.tensor\nactor A() {\n  method f(x: f32[4]) -> f32[4] "
                           "{ return x + 1 }\n}\nplace a = A() on gpu[0]\n"
                           "graph g(x: f32[4]) -> f32[4] { return a.f(x) }\n")
        taken = machine.run(machine.program("cgc"), "check", program, "--topology", path)
        if "GLIBC" in taken.error:
            return report.add("topology of the machine", SKIP,
                              "measured; cgc does not run here", done.seconds)
        problem = taken.problem() and f"cgc refuses it: {taken.problem()}"
        machine.topology = None if problem else path
    report.add("topology of the machine", FAIL if problem else PASS, problem, done.seconds)

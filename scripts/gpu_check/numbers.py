"""The figures: plans by cgrun, and the anchors of the probe in the same run."""
import json

from gpu_check.benchmarks import BENCHMARKS
from gpu_check.checks import map_to_one
from gpu_check.report import FAIL, PASS, SKIP

SECONDS = 1.0   # that the executions of a figure take, about
MOST = 2000     # executions of a figure


def probe(machine, report):
    """Nanoseconds of each anchor; none where the probe fails."""
    done = machine.run(machine.program("gpu_probe"), *(["--small"] if machine.emulated else []),
                       limit=120)
    problem = done.problem()
    report.add("anchors by the driver itself", FAIL if problem else PASS,
               problem or done.error.strip().replace("\n", "; "), done.seconds)
    return {} if problem else json.loads(done.out)


def execute(machine, entry, each, repeat):
    run = entry["runs"][0]
    done = machine.run(machine.program("cgrun"), entry["plan"], "--json", "--graph", run["graph"],
                       *run["words"], *map_to_one(entry["gpus"]), "--require-gpu", "--warmup",
                       min(repeat, 20), "-n", repeat, *each.flags, limit=60, cwd=machine.kit)
    problem = done.problem()
    return (None, problem) if problem else (json.loads(done.out), "")


def nanoseconds(machine, entry, each):
    """What one piece of the work takes, or a sentence. A first run says how many executions fit."""
    told, problem = execute(machine, entry, each, 3)
    if problem:
        return None, problem
    fits = int(SECONDS * told["executions_per_second"])
    if not machine.emulated:
        told, problem = execute(machine, entry, each, max(5, min(MOST, fits)))
        if problem:
            return None, problem
    if each.kind == "time":
        return 1e9 / told["executions_per_second"] / each.per, ""
    return told["latency_ns"]["p50"] / each.per, ""


def add(report, each, ns, anchors, found):
    """Adds one figure beside its anchor, where that was measured."""
    if report.emulated:  # of another size: no bandwidth, no ratio, nothing that reads as a result
        return report.number(f"{each.name}: tiny, on the emulation", ns / 1e3, "us")
    if each.anchor.startswith("="):
        anchor, anchor_ns = each.anchor[1:], found.get(each.anchor[1:])
    else:
        anchor, anchor_ns = each.anchor, anchors.get(each.anchor)
    if each.moves:  # bytes in a nanosecond are GB/s
        report.number(each.name, each.moves / ns, "GB/s", anchor or None,
                      anchor_ns and each.anchor_moves / anchor_ns, lower_is_better=False)
    else:
        report.number(each.name, ns / 1e3, "us", anchor or None, anchor_ns and anchor_ns / 1e3)


def hosts(report, anchors):
    """What the driver takes for copies, which no plan is compared with."""
    for name, ns in anchors.items():
        if name.startswith("copy_"):
            size = int(name.rsplit("_", 1)[1])
            report.number(name.replace("_", " ") + " bytes, by the driver", size / ns, "GB/s")


def measure(machine, report):
    anchors = probe(machine, report)
    if not machine.emulated:
        hosts(report, anchors)
    found = {}
    for each in BENCHMARKS:
        entry = machine.manifest["benchmarks"].get(each.name)
        if entry is None:  # too large for the emulation
            continue
        if machine.left() < 10:
            report.add(f"figure {each.name}", SKIP, "the time for the whole check is over")
            continue
        ns, problem = nanoseconds(machine, entry, each)
        report.add(f"figure {each.name}", FAIL if problem else PASS, problem)
        if not problem:
            found[each.name] = ns
            add(report, each, ns, anchors, found)

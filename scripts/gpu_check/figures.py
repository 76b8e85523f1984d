"""The figures: plans by cgrun, and their anchors beside them, round by round.

A ratio is the median over the rounds of the ratios within them, and a figure the median over the
rounds. On the emulation there is one round of small work, and no ratio.
"""
import json
import statistics
import time

from gpu_check.benchmarks import BENCHMARKS, GROUPS
from gpu_check.checks import map_to_cores, map_to_one
from gpu_check.pytorch import PyTorch
from gpu_check.report import FAIL, PASS, SKIP

ROUNDS = 3
SECONDS = 0.3   # that the executions of a figure take in a round, about
MOST = 1000     # executions of a figure in a round
WITHIN = 1.15   # of a simulation, either way
DECODES = {"copy": "copy, by the driver", "copy_to_host": "copy to the host, by the driver",
           "copy_from_host": "copy from the host, by the driver"}
# Figures of the probe that stand for themselves, as the least that the thing takes.
LIMITS = {"nccl_self_8_eager": "NCCL, 8 B to itself, eager",
          "nccl_self_8_graph": "NCCL, 8 B to itself, captured",
          "nccl_all_reduce_8_eager": "NCCL, all_reduce of 8 B on one rank, eager",
          "nccl_all_reduce_8_graph": "NCCL, all_reduce of 8 B on one rank, captured",
          "ipc_open_and_close": "CUDA IPC, a handle opened and closed",
          "ipc_copy_40000000": "CUDA IPC, 40 MB copied from another process"}


def probe(machine, group):
    """Nanoseconds of each anchor of a group; none, and a sentence, where the probe fails. A note
    says what it could not measure."""
    done = machine.run(machine.program("gpu_probe"), *(["--small"] if machine.emulated else []),
                       group, limit=60)
    problem = done.problem()
    notes = done.error.strip().replace("gpu_probe: note: ", "").replace("\n", "; ")
    return ({}, problem, "") if problem else (json.loads(done.out), "", notes)


def execute(machine, entry, each, repeat, *more):
    run = entry["runs"][0]
    where = map_to_cores(entry["gpus"]) if each.on_cpu else [*map_to_one(entry["gpus"]),
                                                             "--require-gpu"]
    done = machine.run(machine.program("cgrun"), entry["plan"], "--json", "-q", "--graph",
                       run["graph"], *run["words"], *where, "--warmup", min(repeat, 20), "-n",
                       repeat, *each.flags, *more, limit=60, cwd=machine.kit)
    problem = done.problem()
    return (None, problem) if problem else (json.loads(done.out), "")


def nanoseconds(machine, entry, each, repeats):
    """What one piece of the work takes, or a sentence. A first run says how many executions fit."""
    if each.name not in repeats:
        told, problem = execute(machine, entry, each, 3)
        if problem:
            return None, problem
        fits = int(SECONDS * told["executions_per_second"])
        repeats[each.name] = 3 if machine.emulated else max(5, min(MOST, fits))
    told, problem = execute(machine, entry, each, repeats[each.name])
    if problem:
        return None, problem
    if each.kind == "time":
        return 1e9 / told["executions_per_second"] / each.per, ""
    return told["latency_ns"]["p50"] / each.per, ""


class Group:
    """Figures that are measured together, and what came of them in each round."""

    def __init__(self, machine, report, name, torch):
        self.machine, self.report, self.name, self.torch = machine, report, name, torch
        self.members = [each for each in BENCHMARKS if each.group == name and
                        each.name in machine.manifest["benchmarks"]]
        self.rounds, self.failed, self.repeats, self.notes = [], {}, {}, ""

    def measure_round(self):
        figures = {}
        notes = []
        for group in GROUPS[self.name]:  # a process for each: one that dies takes no others along
            more, problem, note = probe(self.machine, group)
            figures |= more
            notes += [note] if note else []
            if problem:
                self.failed[f"anchors of the group {group}"] = problem
        self.notes = "; ".join(notes)
        if self.name == "models":
            figures |= self.torch.figures(self.machine, self.report)
        for each in self.members:
            if each.name in self.failed:
                continue
            ns, problem = nanoseconds(self.machine, self.machine.manifest["benchmarks"][each.name],
                                      each, self.repeats)
            if problem and self.machine.left() < 1:
                return  # this round has not all of its figures: it does not count
            if problem:
                self.failed[each.name] = problem
            else:
                figures["=" + each.name] = ns
        self.rounds.append(figures)

    def measure(self, seconds):
        """As many rounds as end within the seconds, one at least, where the step's time allows."""
        start = time.monotonic()
        for done in range(1 if self.machine.emulated else ROUNDS):
            taken = time.monotonic() - start
            if self.machine.left() < 10 or (done > 0 and taken * (done + 1) / done > seconds):
                break
            self.measure_round()
        for name, problem in self.failed.items():
            self.report.add(f"figure {name}", FAIL, problem)
        done = [each for each in self.members if self.median("=" + each.name)]
        if self.rounds and (done or not self.members) and not self.failed:
            notes = f"; {self.notes}" if self.notes else ""
            self.report.add(f"figures of {self.name}", PASS, f"{len(self.rounds)} rounds{notes}")
        if not self.rounds:
            self.report.add(f"figures of {self.name}", SKIP, "the time for it was over")
        for each in done:
            self.tell(each)

    def series(self, *names):
        """The longest of these figures in each round; nothing where one of them is missing."""
        if not all(name in figures for figures in self.rounds for name in names):
            return []
        return [max(figures[name] for name in names) for figures in self.rounds]

    def median(self, *names):
        series = self.series(*names)
        return statistics.median(series) if series else None

    def tell(self, each):
        """Adds the figure, in a line for each anchor that was measured."""
        ns = self.median("=" + each.name)
        if self.machine.emulated:  # of another size: nothing that reads as a result
            return self.report.number(f"{each.name}: tiny, on the emulation", ns / 1e3, "us")
        value, unit = (each.moves / ns, "GB/s") if each.moves else (ns / 1e3, "us")
        told = 0
        for anchor in each.anchors:
            theirs = self.series(*anchor.names)
            if not theirs:
                continue
            ratios = [a / b for a, b in zip(self.series("=" + each.name), theirs)]
            if each.moves:  # bytes in a nanosecond are GB/s
                ratios = [each.moves / anchor.moves / ratio for ratio in ratios]
            middle = statistics.median(theirs)
            self.report.compare(each.name, value, unit, anchor.text or ", ".join(
                name.lstrip("=") for name in anchor.names),
                anchor.moves / middle if each.moves else middle / 1e3,
                statistics.median(ratios), anchor.aim, at_least=each.moves != 0)
            told += 1
        if told == 0:
            self.report.number(each.name, value, unit)

    def tell_limits(self):
        """What the driver and NCCL take, which no plan is compared with."""
        for name in self.rounds[0] if self.rounds and not self.machine.emulated else []:
            kind, _, size = name.rpartition("_")
            if self.median(name) is None:  # a later round of the probe has failed
                continue
            if name in LIMITS:
                self.report.number(LIMITS[name], self.median(name) / 1e3, "us")
            elif kind in DECODES and self.name in ("memory", "messages"):
                self.report.number(f"{DECODES[kind]}, {int(size):,} bytes",
                                   int(size) / self.median(name), "GB/s")


def measure(machine, report):
    torch = PyTorch(machine)
    if not machine.emulated:
        report.add("PyTorch on this GPU", PASS if torch.python else SKIP, torch.why)
    groups = [Group(machine, report, name, torch) for name in GROUPS]
    work = [len(group.members) + 4 for group in groups]  # the anchors are some work, too
    for i, group in enumerate(groups):
        group.measure(machine.left() * work[i] / sum(work[i:]))
        group.tell_limits()


# ---- simulations --------------------------------------------------------------------------------


def simulate(machine, entry, each, repeat):
    """(measured, simulated) nanoseconds of an execution by itself, or a sentence."""
    profile = machine.scratch / "profile.json"
    told, problem = execute(machine, entry, each, repeat, "--inflight", 1)
    if not problem:
        _, problem = execute(machine, entry, each, repeat, "--profile", profile, "--inflight", 1)
    if problem:
        return None, problem
    done = machine.run(machine.program("cgc"), "simulate", entry["plan"], "--graph",
                       entry["runs"][0]["graph"], "--profile", profile, "--topology",
                       machine.topology, "--json", "-q", limit=30, cwd=machine.kit)
    if done.problem():
        return None, done.problem()
    simulated = json.loads(done.out)["graphs"][0]["makespan_ps"] / 1e3
    return (told["latency_ns"]["p50"], simulated), ""


def simulations(machine, report):
    """What cgc simulate predicts, with measured times of calls and the measured machine."""
    if machine.topology is None:
        return report.add("simulated against measured", SKIP, "there is no topology of the machine")
    for each in BENCHMARKS:
        entry = machine.manifest["benchmarks"].get(each.name)
        if not each.simulated or entry is None:
            continue
        pairs, problem = [], ""
        for _ in range(1 if machine.emulated else ROUNDS):
            if machine.left() < 5 or problem:
                break
            pair, problem = simulate(machine, entry, each, 3 if machine.emulated else 30)
            pairs += [pair] if pair else []
        late = not pairs and machine.left() < 5
        report.add(f"simulation of {each.name}", SKIP if late else FAIL if problem else PASS,
                   "the time for it was over" if late else problem)
        if pairs and not problem and not machine.emulated:
            measured, simulated = (statistics.median(of) for of in zip(*pairs))
            report.compare(each.name, measured / 1e3, "us", "cgc simulate", simulated / 1e3,
                           statistics.median(a / b for a, b in pairs), WITHIN, both_ways=True)

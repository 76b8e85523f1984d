#!/usr/bin/python3
"""Rules of schedules count actions: the calls of one kind, on one device, of one micro-batch.

A pipeline whose stages are five layers of three methods each (actions/parts.cgraph) under every
schedule of the library, against the same one with one method for a stage (whole.cgraph): it takes
no longer by the same times, and no more memory. With two devices at each position its losses and
weights after three steps are, to the bit, those in program order, however it is executed.

Random programs of several methods and layers under random limits: in the order that each device
gets, an evaluator that is written here finds every limit kept, and that calls of one action keep
program order. The same for other ways of counting: `per:`, `mb`, turns of outer loops.

  actions_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--count 60] [--seed 1]
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import sys
import tempfile

import pipelines_test

PROGRAMS = pathlib.Path(__file__).resolve().parent / "actions"
D, L = 16, 5  # as the programs have them
METHODS = "[attend, feed, finish]"
# Arguments, what `with` says, and stages on each device: in a V, or one after the other.
SCHEDULES = {
    "gpipe": ("along: s", "", 1, 1), "one_f_one_b": ("P, along: s", "", 1, 1),
    "one_f_one_b_fused": ("P, along: s", "", 1, 1), "zb_h1": ("P, along: s", "", 1, 1),
    "zb_h2": ("P, along: s", "", 1, 1),
    "interleaved": ("P, V, along: s", "mb = m, chunk = s / P", 2, 0),
    "zb_v": ("P, along: s", "chunk = s / P", 2, 1),
    "dualpipe_v": ("P, M, along: s", "mb = m, chunk = s / P", 2, 1)}


def flat(csv):
    """The cells of each rank of a CSV, without idle steps."""
    return [[cell for cell in line.split(",") if cell] for line in csv.splitlines()]


class Test(pipelines_test.Test):
    weights = (".a", ".b", ".c")

    # ---- the library's schedules -------------------------------------------------------------

    def flags(self, name, program, devices=1):
        arguments, renamed, stages, in_a_v = SCHEDULES[name]
        renamings = [renamed] * bool(renamed)
        if program == "parts":
            renamings.append(f"forward = {METHODS}")
        using = f"{name}({arguments})" + (f" with ({', '.join(renamings)})" if renamings else "")
        consts = [f"V={stages}", f"IN_A_V={in_a_v}"] + [f"T={devices}"] * (program == "parts")
        return [word for const in consts for word in ("-D", const)] + ["--schedule", using]

    def simulated(self, name, program):
        """The makespan and the most memory of a device, where a method of a layer takes 2 units of
        time for attend and feed, and none for finish, which the whole stage does not have apart."""
        calls = {}
        for method, time in (("attend", 2), ("feed", 2), ("finish", 1)):
            halves = {"": time, "_backward_input": time, "_backward_weight": time,
                      "_backward": 2 * time}
            calls.update({f"Layer.{method}{half}": t for half, t in halves.items()})
        for half, times in (("forward", 1), ("backward_input", 1), ("backward_weight", 1),
                            ("backward", 2)):
            calls[f"Stage.{half}"] = 5 * L * times
        (self.folder / "times.json").write_text(json.dumps(
            {"unit": "us", "default": 0, "calls": calls}))
        done = self.run(self.options.cgc, "simulate", PROGRAMS / f"{program}.cgraph", "--profile",
                        "times.json", "--json", *self.flags(name, program))
        if done.returncode:
            return None
        graph = json.loads(done.stdout)["graphs"][0]
        return graph["makespan_ps"], max(d["memory_bytes"] for d in graph["devices"])

    def schedule(self, name):
        whole, parts = self.simulated(name, "whole"), self.simulated(name, "parts")
        if whole and parts:
            self.expect(f"{name}: makespan", parts[0] <= whole[0], f"{parts[0]}, in one method "
                        f"{whole[0]}")
            # The methods' own values are apart: of one layer, at most.
            self.expect(f"{name}: memory", parts[1] <= 1.05 * whole[1] + 4096,
                        f"{parts[1]}, in one method {whole[1]}")
        path = PROGRAMS / "parts.cgraph"
        flags = self.flags(name, "parts", devices=2)
        program = flags[:-1] + ["program"]
        wanted = self.trained(path, "--workers", "1", *program)
        for what, more in [("one worker", ["--workers", "1"]), ("workers", []),
                           ("processes", ["--processes", "2"]),
                           ("two in flight", ["--inflight", "2", "--workers", "2"])]:
            got = self.trained(path, *flags, *more)
            if got and wanted:
                self.expect(f"{name}, {what}: loss", got[0] == wanted[0], "other bits")
                self.expect(f"{name}, {what}: weights", got[1] == wanted[1], "other bits")

    def imported(self):
        """A CSV has a cell for each action, and the schedule that is made of it gives it again."""
        path = PROGRAMS / "parts.cgraph"
        cells = ["0F0,0F1,0F2,0F3,,,,0B0,0F4,", "3F0,3B0,3F1,3B1,"]
        for devices in (1, 2):
            self.run(self.options.cgc, "compile", "-q", path, "-D", f"T={devices}", "-o",
                     "parts.cgplan", "--emit", "schedule-csv=given.csv")
            given = (self.folder / "given.csv").read_text()
            self.expect("a CSV of actions", all(c in given for c in cells), given)
            self.run(self.options.cgc, "import-schedule", "given.csv", "-o", "given.cgraph")
            using = f"using given() with (mb = m, forward = {METHODS})"
            text = path.read_text()
            old = f"using one_f_one_b(P, along: s)\n    with (forward = {METHODS})"
            self.expect("one `using`", text.count(old) == 1)
            (self.folder / "again.cgraph").write_text("import given\n" + text.replace(old, using))
            self.run(self.options.cgc, "compile", "-q", "again.cgraph", "-D", f"T={devices}", "-o",
                     "parts.cgplan", "--emit", "schedule-csv=again.csv")
            self.expect("the imported order", (self.folder / "again.csv").read_text() == given)

    def counted(self):
        """Micro-batches are what forwards have, also where a loop around them has one turn and
        backwards add to one sum; or what `per:` says, whose numbers a CSV has. A stage keeps what
        came for its forward, on one device or on several."""
        def csv(path, kind, *flags):
            self.run(self.options.cgc, "compile", "-q", path, *flags, "-o", "counted.cgplan",
                     "--emit", f"{kind}-csv=counted.csv")
            return (self.folder / "counted.csv").read_text()
        gpt = PROGRAMS.parents[2] / "examples" / "training" / "gpt.cgraph"
        order = "0F0,0F1,,0B0,0F2,0B1,,0B2\n,1F0,1B0,1F1,1B1,1F2,1B2,\n"
        follow = [(s, f"{a}{m}", f"{b}{m}") for m in range(3) for s, a, b in
                  [(0, "0F", "0SEND_F"), (1, "1RECV_F", "1F"), (1, "1B", "1SEND_B"),
                   (0, "0RECV_B", "0B")]]
        for copies, parts in ((1, 1), (1, 2), (2, 2)):
            flags = ["-D", f"DP={copies}", "-D", "PP=2", "-D", f"TP={parts}", "-D", "M=3"]
            got = csv(gpt, "schedule", *flags)
            self.expect(f"order of the GPT, {flags}", flat(got) == flat(order), got)
            rows = flat(csv(gpt, "transports", *flags))
            self.expect(f"transfers of the GPT, {flags}", sum(map(len, rows)) == 24 and all(
                rows[s].index(one) < rows[s].index(other) for s, one, other in follow), rows)
        text = (PROGRAMS / "parts.cgraph").read_text()
        (self.folder / "per.cgraph").write_text(
            text.replace("one_f_one_b(P, along: s)", "one_f_one_b(P, along: s, per: M - 1 - m)"))
        plain = csv(PROGRAMS / "parts.cgraph", "schedule")
        turned = re.sub(r"\d+(?=[,\n])", lambda m: str(7 - int(m[0])), plain)
        got = csv("per.cgraph", "schedule")
        self.expect("micro-batches as `per:` numbers them", flat(got) == flat(turned), got)

    def pictured(self):
        """A timeline frames actions of several calls, and says so; one call has no frame."""
        frames = {}
        for program in ("parts", "whole"):
            self.run(self.options.cgc, "viz", "-q", PROGRAMS / f"{program}.cgraph", "--what",
                     "timeline", "-o", "timeline.svg")
            text = (self.folder / "timeline.svg").read_text()
            frames[program] = text.count('fill="none" stroke="#333333"')
            self.expect(f"the legend of {program}", ("framed: one action" in text) ==
                        (program == "parts"))
        # Forwards and backwards of eight micro-batches on four devices; one in the legend.
        self.expect("frames", 32 < frames["parts"] <= 65 and frames["whole"] == 0, frames)

    # ---- random programs ---------------------------------------------------------------------

    def random_program(self, source):
        """A pipeline without gradients, so that all of it stands in the text: its stages' forwards
        and backwards are chains of calls, of several methods and turns of a loop."""
        stages, layers, batches = source.randint(1, 3), source.randint(1, 3), source.randint(1, 5)
        ups = [f"up{i}" for i in range(source.randint(1, 3))]
        downs = [f"down{i}" for i in range(source.randint(1, 3))]
        outer = source.choice([1, 1, 2])
        apart = source.random() < 0.5  # a place for each layer, else one with the layer's number
        variable = source.choice(["m", "mb", "k"])
        limits = []
        for _ in range(source.randint(1, 2)):
            bound = source.choice(["stages - index", "stages - index + 1", "stages", "2"])
            limits.append(f"limit forward - backward <= {bound}")
        if source.random() < 0.5:
            limits.append("limit forward - backward >= 0")
        prefer = source.choice(["prefer backward > forward", "prefer forward > backward"])
        place = "s, l" if apart else "s"
        argument = "" if apart else "l, "
        lines = ["import std.tensor", "schedule some(stages: int) {", f"  {prefer}",
                 *(f"  {limit}" for limit in limits), "}",
                 "actor Layer() {",
                 *(f"  method {name}({'' if apart else 'l: int, '}x: f32[4]) -> f32[4] "
                   f"{{ return x * {1 + i * 0.1:.1f} }}" for i, name in enumerate(ups + downs)),
                 "}",
                 f"place layer[s in 0..{stages}{f', l in 0..{layers}' if apart else ''}] = Layer() "
                 "on gpu[s]"]
        per = source.choice(["", f", per: {variable}"])
        lines += [f"graph step(x: f32[4]) -> [f32[4]; {batches * outer}] using some({stages}{per}) "
                  f"with (forward = [{', '.join(ups)}], backward = [{', '.join(downs)}]) {{",
                  "  var out = []", f"  for turn in 0..{outer} {{",
                  f"    for {variable} in 0..{batches} {{", "      var h = x",
                  f"      for s in 0..{stages} {{", f"        for l in 0..{layers} {{",
                  *(f"          h = layer[{place}].{name}({argument}h)" for name in ups),
                  "        }", "      }",
                  f"      for i in 0..{stages} {{", f"        let s = {stages - 1} - i",
                  f"        for j in 0..{layers} {{", f"          let l = {layers - 1} - j",
                  *(f"          h = layer[{place}].{name}({argument}h)" for name in downs),
                  "        }", "      }", "      out = out + [h]", "    }", "  }", "  return out",
                  "}"]
        bounds = [(limit.split()[-2] == "<=" or "<=" in limit, limit.split("= ")[1])
                  for limit in limits]
        return "\n".join(lines), (stages, layers, ups, downs, variable, bounds)

    def random_case(self, number, source):
        text, (stages, layers, ups, downs, variable, bounds) = self.random_program(source)
        path = self.folder / "random.cgraph"
        path.write_text(text)
        done = self.run(self.options.cgc, "compile", "-q", "--emit", "schedule", path, "-o",
                        "random.cgplan")
        if done.returncode:
            self.faults[-1] += "\n" + text
            return
        orders = collections.defaultdict(list)
        lane, step = None, False
        for line in done.stdout.splitlines():
            step |= line.startswith("schedule step")
            if found := re.fullmatch(r"  (gpu\[\d+\] compute)", line):
                lane = found[1]
            elif not line.startswith("    "):
                lane = None
            elif step and lane:
                found = re.match(r"    \d+: layer\[[\d, ]+\]\.(\w+) \(([^)]*)\)", line)
                if found:
                    turns = dict(turn.split(" = ") for turn in found[2].split(", "))
                    orders[lane].append((found[1], turns))
        for index, lane in enumerate(sorted(orders)):
            fault = self.broken(orders[lane], index, stages, layers, ups, downs, variable, bounds)
            self.expect(f"program {number}, {lane}", not fault, f"{fault}\n{text}")

    def broken(self, order, index, stages, layers, ups, downs, variable, bounds):
        """What is wrong with the order of a device, by the definition of an action; or None."""
        size = {"up": layers * len(ups), "down": layers * len(downs)}
        started = collections.Counter()
        counts = {name: [0, 0] for name in size}  # opened, closed
        actions = sum(1 for method, _ in order if method == "up0") // layers
        for method, turns in order:
            kind = "up" if method in ups else "down"
            key = kind, turns["turn"], turns[variable]
            layer = int(turns["l" if kind == "up" else "j"])
            place = layer * len(ups if kind == "up" else downs) + int(re.sub(r"\D+", "", method))
            if place != started[key]:
                return f"{method} {turns} is not the next call of its action"
            started[key] += 1
            opens, closes = started[key] == 1, started[key] == size[kind]
            counts[kind][0] += opens
            counts[kind][1] += closes
            for at_most, text in bounds:
                bound = eval(text, {"stages": stages, "index": index})
                if at_most and kind == "up" and opens:
                    if counts["up"][0] - counts["down"][1] > bound:
                        return f"{method} {turns} breaks forward - backward <= {text}"
                if not at_most and kind == "down" and opens and counts["up"][1] < actions:
                    if counts["up"][1] - counts["down"][0] < bound:
                        return f"{method} {turns} breaks forward - backward >= {text}"
        return None if sum(started.values()) == len(order) else "calls are lost"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--count", type=int, default=60, help="of random programs")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CGRAPH_SEED", "1")))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        test = Test(options, folder, width=D)
        # Self-test: an order that opens a second forward too early is found.
        order = [("up0", {"turn": "0", "m": m, "l": "0"}) for m in "01"]
        if not test.broken(order, 0, 1, 1, ["up0"], ["down0"], "m", [(True, "1")]):
            sys.exit("self-test: a limit that is broken was not found")
        for name in SCHEDULES:
            test.schedule(name)
        test.imported()
        test.counted()
        test.pictured()
        source = random.Random(options.seed)
        for number in range(options.count):
            test.random_case(number, source)
    for fault in test.faults[:10]:
        print(fault)
    print(f"actions: {test.checked} checks, {len(SCHEDULES)} schedules, {options.count} random "
          f"programs, {len(test.faults)} wrong; 1 planted case")
    sys.exit(1 if test.faults or not test.checked else 0)


if __name__ == "__main__":
    main()

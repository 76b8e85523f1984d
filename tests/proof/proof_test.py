#!/usr/bin/python3
"""Certificates and refusals as others can use them: whatever `cgc verify --json` calls proved is
checked again by a checker that knows the plan alone, at several capacities, and so is the cycle of
each refusal; and the smallest safe capacity that it names is the smallest.

  proof_test.py --cgc build/release/cgc
"""
import argparse
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from check_certificate import broken_waits

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = [*sorted((ROOT / "examples").glob("*.cgraph")),
            ROOT / "tests/conformance/collectives.cgraph"]
BUFFERED = """import std.tensor
actor A() { method f(x: f32[4]) -> f32[4] { return x + x } }
place a = A() on cpu[0]
place b = A() on cpu[1]
transport deep = shm(capacity: 3)
graph g(x: f32[4]) -> f32[4] {
  var sum = b.f(x)
  for i in 0..6 { sum = sum + b.f(a.f(x) via deep) }
  return sum
}
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stderr}")
    return done


class Proofs:
    def __init__(self, cgc, folder):
        self.cgc, self.folder = cgc, pathlib.Path(folder)
        self.checked = self.refused = 0

    def compile(self, source, name):
        file = self.folder / f"{name}.cgplan"
        done = run(self.cgc, "compile", "-q", source, "-o", file)
        if done.returncode != 0:
            sys.exit(f"{source}: {done.stderr}")
        return file

    def verify(self, file, capacity=None):
        flags = [] if capacity is None else ["--capacity", capacity]
        return json.loads(run(self.cgc, "verify", "--json", *flags, file).stdout)

    def write(self, plan, name):
        text, file = self.folder / f"{name}.json", self.folder / f"{name}.cgplan"
        text.write_text(json.dumps(plan))
        run(self.cgc, "plan", "--from-json", text, "-o", file)
        return file

    def try_plan(self, file):
        """Proved or refused at each capacity, always with a reason that can be checked."""
        plan = json.loads(run(self.cgc, "plan", "--json", file).stdout)
        smallest = self.verify(file, 0).get("smallest_capacity")
        for capacity in (None, 0, 1, 2, 5):
            told = self.verify(file, capacity)
            if told["proved"]:
                broken = list(broken_waits(plan, told, capacity))
                assert not broken, f"{file} at {capacity}: {broken[:3]}"
                self.checked += 1
            elif told["refusal"] == "deadlock":
                assert len(told["cycle"]) >= 2 and all(s["waits_for"] for s in told["cycle"]), told
                self.refused += 1
            if capacity is not None and told["refusal"] in ("proved", "deadlock"):
                safe = smallest is not None and capacity >= smallest
                why = f"{file}: {told['refusal']} at {capacity}, {smallest}"
                assert told["proved"] == safe, why
                assert told["smallest_capacity"] == smallest
        return plan


def spoil(plan, rng):
    """One lane does two steps in the other order: communication, where it has some."""
    plan = copy.deepcopy(plan)
    graph = rng.choice(plan["graphs"])
    steps, comms, others = graph["instructions"], [], []
    for program in graph["programs"]:
        mine = range(program["first"], program["first"] + program["count"])
        talks = [i for i in mine if steps[i]["kind"] == "comm"]
        comms += zip(talks, talks[1:])
        others += zip(mine, mine[1:])
    first, second = rng.choice(comms or others)
    steps[first], steps[second] = steps[second], steps[first]
    return plan


def check_checker(proofs, file, plan, rng):
    """A certificate in which two positions are swapped must not pass."""
    told = proofs.verify(file)
    caught = tries = 0
    for _ in range(20):
        wrong = copy.deepcopy(told)
        of = wrong["certificate"][-1]
        last = max(range(len(of["done"])), key=of["done"].__getitem__)
        i = rng.randrange(len(of["done"]))
        for key in ("start", "done"):
            of[key][i], of[key][last] = of[key][last], of[key][i]
        tries += i != last
        caught += any(broken_waits(plan, wrong))
    assert caught >= tries * 3 // 4 > 0, f"{file}: {caught} of {tries} wrong certificates caught"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cgc", required=True)
    options = parser.parse_args()
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        proofs = Proofs(options.cgc, folder)
        deep = pathlib.Path(folder, "deep.cgraph")
        deep.write_text(BUFFERED)
        for source in [*PROGRAMS, deep]:
            file = proofs.compile(source, source.stem)
            plan = proofs.try_plan(file)
            check_checker(proofs, file, plan, rng)
            for number in range(3 if len(plan["graphs"][0]["instructions"]) < 300 else 0):
                proofs.try_plan(proofs.write(spoil(plan, rng), f"{source.stem}_{number}"))
        assert proofs.checked > 60 and proofs.refused > 10, (proofs.checked, proofs.refused)
        print(f"{proofs.checked} certificates checked again, {proofs.refused} cycles told")


if __name__ == "__main__":
    main()

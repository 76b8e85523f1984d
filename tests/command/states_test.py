#!/usr/bin/python3
"""States that last: cgrun --save-state and --load-state, and outputs as .safetensors.

  states_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--processes device]
  states_test.py --cgc ... --cgrun ... --mpi openmpi   # an actor on each of two machines
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402

PROGRAM = """import std.debug
import std.tensor
actor Learner(rate: float) {
  state w: f32[2, 3] = zeros()
  state steps: i64 = 0
  state history: [f32[3]; 2] = [zeros(), zeros()]
  state halves: bf16[2] = zeros()
  state seen: bool[2] = cast<bool>(zeros<f32[2]>())
  state large: f32[300_000] = zeros()
  method learn(x: f32[3]) -> f32[2, 3] {
    check(sum(x) < 1000.0, "too much")
    w = w + stack([x, x * 2.0])
    steps = steps + 1
    history[0] = history[1]
    history[1] = x
    halves = halves + cast<bf16>(ones<f32[2]>())
    seen = cast<bool>(ones<f32[2]>())
    large = large + sum(x)
    return w * 1.0
  }
}
place a[i in 0..2] = Learner(0.1) on gpu[i]
graph learn(x: f32[3]) -> (first: f32[2, 3], all: [f32[2, 3]; 2]) {
  return (first: a[0].learn(x), all: [a[1].learn(x + 1.0), a[0].learn(x)])
}
"""

# Params and slots are copies along d, `own` and what no param is are not.
COPIES = """import std.tensor
import std.optim
const DP = 2
actor Net(p: int) {
  param w: f32[2] = full(1.0 + p)
  param own: f32[2] = ones()
  state seen: i64 = 0
  method loss(x: f32[2]) -> f32 {
    seen = seen + 1
    return sum(w * w * x) + sum(own * x)
  }
}
place net[d in 0..DP, p in 0..2] = Net(p) on gpu[2 * d + p] equal along d trained by adamw()
place tail[p in 0..2] = Net(p) on gpu[p]
graph step(x: f32[2]) -> f32 {
  let loss = reduce([net[d, 0].loss(x) for d in 0..DP], sum) +
      reduce([net[d, 1].loss(x) for d in 0..DP], sum)
  update_all(net, grad(loss, of: net), rate: 0.1)
  return loss + tail[1].loss(x)
}
"""


def read(path):
    """Reads a .safetensors file: its tensors by name, in their order."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    expect((8 + length) % 8 == 0, "the first tensor is aligned")
    kinds = {"F32": np.float32, "I64": np.int64, "BF16": np.uint16, "BOOL": np.bool_}
    tensors, end = {}, 0
    for name, entry in json.loads(data[8:8 + length]).items():
        begin, stop = entry["data_offsets"]
        expect(begin == end, f"{name} begins where the one before ends")
        end = stop
        tensors[name] = np.frombuffer(data[8 + length + begin:8 + length + stop],
                                      kinds[entry["dtype"]]).reshape(entry["shape"])
    expect(8 + length + end == len(data), "no bytes are left")
    return tensors


def write(path, tensors):
    header, data = {}, b""
    for name, value in tensors.items():
        kind = {"float32": "F32", "int64": "I64"}[str(value.dtype)]
        header[name] = {"dtype": kind, "shape": list(value.shape),
                        "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


class Runs:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.mpi = mpirun.Mpi(args.mpi) if args.mpi else None
        self.compile("p", PROGRAM, "gpu[i]", "node[i].gpu[0]")

    def compile(self, name, program, on, on_nodes, *flags):
        """Under an MPI the places are `on_nodes`."""
        expect(f"on {on}" in program, "the actors are elsewhere")
        if self.mpi:
            program = program.replace(f"on {on}", f"on {on_nodes}")
        path = self.folder / f"{name}.cgraph"
        path.write_text(program)
        subprocess.run([self.args.cgc, "compile", "-q", path, "-o", path.with_suffix(".cgplan"),
                        *flags], check=True, timeout=60)

    def run(self, *flags, x=(1, 2, 3), plan="p"):
        np.save(self.folder / "x.npy", np.array(x, np.float32))
        words = [self.args.cgrun, self.folder / f"{plan}.cgplan",
                 "--input", f"x={self.folder}/x.npy", *flags]
        if self.args.processes:
            words += ["--processes", self.args.processes]
        if self.mpi:
            return self.mpi.run(2, words)
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=60)


def goes_on(runs):
    """Twice two executions, with a file in between, are four executions."""
    one, two, four = (runs.folder / f"{name}.safetensors" for name in ("one", "two", "four"))
    for flags in (["-n", "2", "--save-state", one],
                  ["-n", "2", "--load-state", one, "--save-state", two],
                  ["-n", "4", "--save-state", four]):
        done = runs.run(*flags)
        expect(done.returncode == 0, done.stderr)
        expect("initial value" not in done.stderr, done.stderr)
    got, wanted = read(two), read(four)
    expect(list(got) == [f"a[{i}].{state}" for i in range(2) for state in
                         ("w", "steps", "history[0]", "history[1]", "halves", "seen", "large")],
           f"names are {list(got)}")
    for name, value in wanted.items():
        expect(value.dtype == got[name].dtype and np.array_equal(value, got[name]), name)
    x = np.array([1, 2, 3], np.float32)
    expect(np.array_equal(got["a[0].w"], 8 * np.stack([x, 2 * x])), got["a[0].w"])
    expect(got["a[1].steps"] == 4 and got["a[0].steps"] == 8, "steps")
    expect(np.array_equal(got["a[1].large"], np.full(300_000, 4 * 9, np.float32)), "large")
    expect(two.read_bytes() == four.read_bytes(), "the files are equal")


def some_states(runs):
    path = runs.folder / "some.safetensors"
    write(path, {"a[1].steps": np.array(100), "a[0].w": np.full((2, 3), 7, np.float32)})
    saved = runs.folder / "saved.safetensors"
    done = runs.run("--load-state", path, "--save-state", saved)
    expect(done.returncode == 0, done.stderr)
    expect(f"12 states keep the initial value, since {path} lacks them: a[0].steps" in done.stderr,
           done.stderr)
    got = read(saved)
    expect(got["a[1].steps"] == 101 and got["a[0].steps"] == 2 and
           got["a[0].w"][0, 0] == 9, "states that were set, and others")
    write(path, {"a[0].stps": np.array(1)})
    done = runs.run("--load-state", path)
    expect(done.returncode == 1 and "it has `a[0].stps`, which is no state of the plan (did you "
           "mean `a[0].steps`?)" in done.stderr, done.stderr)
    write(path, {"a[0].w.m": np.zeros((2, 3), np.float32)})
    done = runs.run("--load-state", path)
    expect(done.returncode == 1 and "it has `a[0].w.m`, which is no state of the plan: `a[0].w` "
           "has no slot of an optimizer there, since the plan trains it by another one, or not at "
           'all; its initial value load("some.safetensors", "a[0].w") takes it alone' in
           done.stderr, done.stderr)
    write(path, {"a[0].w": np.zeros((3, 2), np.float32)})
    done = runs.run("--load-state", path)
    expect(done.returncode == 1 and "`a[0].w` is f32[3, 2] there, and f32[2, 3] in the plan" in
           done.stderr, done.stderr)
    write(path, {"a[0].w": np.zeros((4, 3), np.float32)})
    done = runs.run("--load-state", path)
    expect('can begin with slice(load<f32[4, 3]>("some.safetensors", "a[0].w"), dim: 0, from: 0, '
           "length: 2)" in done.stderr, done.stderr)
    write(path, {"a[0].w": np.zeros((2, 1), np.float32)})
    done = runs.run("--load-state", path)
    expect('can begin with concat([load<f32[2, 1]>("some.safetensors", name) for name in '
           '["a[0].w", ...]], dim: 1)' in done.stderr, done.stderr)
    done = runs.run("--load-state", runs.folder / "absent.safetensors")
    expect(done.returncode == 3 and "cannot read" in done.stderr, done.stderr)


def not_overwritten(runs):
    path = runs.folder / "once.safetensors"
    runs.run("--save-state", path)
    before = path.read_bytes()
    done = runs.run("--load-state", path, "--output", path)
    expect(done.returncode == 2 and path.read_bytes() == before, done.stderr)
    done = runs.run("--load-state", path, "--save-state", path)
    expect(done.returncode == 0 and path.read_bytes() != before, "a run goes on in one file")


def named_otherwise(runs):
    done = runs.run("--save-state", runs.folder / "states.txt")
    expect(done.returncode == 2 and "states.txt.safetensors" in done.stderr and
           not (runs.folder / "states.txt").exists(), done.stderr)


def failed(runs):
    path = runs.folder / "kept.safetensors"
    path.write_text("as it was")
    done = runs.run("--save-state", path, x=(1000, 0, 0))
    expect(done.returncode == 1 and f"{path} is not written" in done.stderr, done.stderr)
    expect(path.read_text() == "as it was", "a failed run leaves the file alone")
    expect(sorted(p.name for p in runs.folder.glob("*kept*")) == ["kept.safetensors"],
           "no temporary file is left")
    done = runs.run("--save-state", runs.folder / "no/such/folder.safetensors")
    expect(done.returncode == 3 and "--save-state" in done.stderr or "cannot" in done.stderr,
           done.stderr)
    done = runs.run("--save-state", runs.folder / "x.npy")
    expect(done.returncode == 2, f"an input would be overwritten: {done.stderr}")


def outputs(runs):
    path = runs.folder / "out.safetensors"
    done = runs.run("--output", path, "--output", f"first={runs.folder}/first.npy")
    expect(done.returncode == 0, done.stderr)
    got = read(path)
    expect(list(got) == ["first", "all[0]", "all[1]"], list(got))
    expect(np.array_equal(got["first"], np.load(runs.folder / "first.npy")), "first")
    expect(np.array_equal(got["all[1]"], 2 * got["first"]), "all[1]")


def copies(runs):
    """Copies of one variable are set together, whichever of them a file has."""
    for count in (1, 2, 3):
        runs.compile(f"copies{count}", COPIES, "gpu[2 * d + p]", "node[p].gpu[d]",
                     "-D", f"DP={count}")

    def save(count, name, *flags, executions=2, quiet=True):
        path = runs.folder / f"{name}.safetensors"
        done = runs.run(*["-q"] * quiet, "-n", str(executions), "--save-state", path, *flags,
                        x=(1, 2), plan=f"copies{count}")
        expect(done.returncode == 0, done.stderr)
        return path, read(path), done.stderr

    def of(states, d, p):
        own = f"net[{d}, {p}]."
        return {name.removeprefix(own): value for name, value in states.items()
                if name.startswith(own)}

    def expect_equal(states, count):
        for p in range(2):
            first = of(states, 0, p)
            expect({"w", "own", "seen", "w.m", "w.v"} <= set(first), list(first))
            for d in range(1, count):
                for name, value in of(states, d, p).items():
                    if name != "seen":
                        expect(np.array_equal(value, first[name]), f"{d} {p} {name}")

    whole, states, _ = save(2, "whole")
    expect_equal(states, 2)
    expect(not np.array_equal(states["net[0, 0].w"], states["net[0, 1].w"]), "two variables")
    # More places, and fewer: new ones begin with what the others had.
    more, states, error = save(3, "more", "--load-state", whole, executions=0)
    expect_equal(states, 3)
    expect(np.array_equal(states["net[2, 1].w.m"], read(whole)["net[1, 1].w.m"]), "a slot")
    expect("net[2, 0].w" not in error, error)
    write(more, {name: value for name, value in states.items() if "seen" not in name})
    fewer, states, _ = save(1, "fewer", "--load-state", more, executions=0)
    expect_equal(states, 1)
    expect(np.array_equal(states["net[0, 1].w"], read(whole)["net[0, 1].w"]), "of one place")
    _, states, _ = save(2, "on", "--load-state", fewer)
    expect_equal(states, 2)
    # One of them alone, not the first.
    path = runs.folder / "one.safetensors"
    write(path, {"net[1, 0].w": np.array([5, 6], np.float32),
                 "net[1, 0].seen": np.array(40), "tail[0].w": np.array([7, 8], np.float32)})
    _, states, _ = save(2, "set", "--load-state", path, executions=0)
    expect(np.array_equal(states["net[0, 0].w"], [5, 6]) and states["net[0, 1].w"][0] == 2,
           "the variable is set at all places, and no other")
    expect(states["net[0, 0].seen"] == 0 and states["net[1, 0].seen"] == 40, "no param")
    expect(np.array_equal(states["tail[0].w"], [7, 8]) and states["tail[1].w"][0] == 2, "no copies")
    # Two that differ, also where the plan has but one of them.
    write(path, {"net[0, 0].w": np.array([5, 6], np.float32),
                 "net[1, 0].w": np.array([5, 7], np.float32)})
    for count in (1, 3):
        done = runs.run("--load-state", path, x=(1, 2), plan=f"copies{count}")
        expect(done.returncode == 1 and f"{path}: `net[0, 0].w` and `net[1, 0].w` are copies of "
               "one variable (`equal along`) and have different values, of which one is to be at "
               "other places, too: leave one of them out" in done.stderr, done.stderr)
    # At the places that they are of they go on as they were, and that they differ is said.
    _, states, error = save(2, "drift", "--load-state", path, quiet=False, executions=0)
    expect(states["net[0, 0].w"][1] == 6 and states["net[1, 0].w"][1] == 7, "as they were")
    expect("note: `net[0, 0].w` and `net[1, 0].w` are copies of one variable (`equal along`) and "
           "have drifted apart" in error, error)
    write(path, {"net[2, 0].seen": np.array(1)})
    done = runs.run("--load-state", path, x=(1, 2), plan="copies2")
    expect("it has `net[2, 0].seen`, which is no state of the plan: other places have the params "
           "of net[2, 0], which are `equal along` an index, and a state that is no param is of its "
           "place alone" in done.stderr, done.stderr)
    # What is no copy has to be a state of the plan.
    for name in ("net[2, 0].seen", "net[0, 2].w", "net[0].w", "net[x, 0].w", "tail[2].w"):
        write(path, {name: np.zeros(2, np.float32)})
        done = runs.run("--load-state", path, x=(1, 2), plan="copies2")
        expect(done.returncode == 1 and f"it has `{name}`, which is no state of the plan" in
               done.stderr, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=pathlib.Path)
    parser.add_argument("--cgrun", required=True, type=pathlib.Path)
    parser.add_argument("--processes")
    parser.add_argument("--mpi", choices=sorted(mpirun.PACKAGES))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args, pathlib.Path(folder))
        for test in (goes_on, some_states, not_overwritten, named_otherwise, failed, outputs,
                     copies):
            test(runs)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

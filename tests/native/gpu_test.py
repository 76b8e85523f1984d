#!/usr/bin/python3
"""Methods in native code on emulated GPUs: that what they give a stream stands in its order, what
they are given, what goes wrong in them, and when they are not called.

  gpu_test.py --cgc cgc --cgrun cgrun --libraries build/release/emulated:build/release \\
      --folder build/release/tests --softmax build/release/examples/libsoftmax.so

The streams of the emulation run as late and in as strange an order as CUDA allows, by the seed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "reference"), str(ROOT / "tests" / "support")]
import expectations  # noqa: E402
import gpu_layers  # noqa: E402
from expectations import expect, says  # noqa: E402
from gpu_layers import ROWS, chain, numbers, roll, up  # noqa: E402
from normal import normal  # noqa: E402

PROGRAM = """import std.tensor
import std.debug
actor GpuTrial() {
  state bias: f32[3] = zeros() + 7
  method roll(x: f32[n <= 5, 3], how: str = "well") -> f32[n, 3]
    = extern "libcgraph_gpu_trial.so:gpu_roll" reads bias cost(flops: 1)
  method last(x: f32[5, 3]) -> f32[5, 3] = extern "libcgraph_gpu_trial.so:gpu_last" reads bias
  method learn(x: f32[5, 3], how: str = "well")
    = extern "libcgraph_gpu_trial.so:gpu_learn" writes bias
  method show() = extern "libcgraph_gpu_trial.so:gpu_show" reads bias
  method shown(x: f32[3]) -> f32[3] { return x + bias }
}
actor Layer(k: float) {
  state w: f32[3, 3] = zeros()
  method product(x: f32[5, 3]) -> f32[5, 3] { return x @ w }  // not where x lies
""" + gpu_layers.METHODS + """  method head(x: f32[5, 3], length: i64) -> f32[m <= 5, 3] {
    return slice(x, dim: 0, from: 0, length: length)
  }
}
place trial[i in 0..2] = GpuTrial() on gpu[i]
place other = GpuTrial() on gpu[0]
place layer[i in 0..2] = Layer(i + 1) on gpu[i]

graph chain(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  let a = layer[0].up(trial[0].roll(layer[0].up(x)))
  let b = trial[1].roll(trial[1].roll(layer[1].up(a)))
  return layer[0].up(trial[0].roll(b))
}
graph between(x: f32[5, 3]) -> f32[5, 3] {
  return layer[0].up(layer[0].up(trial[0].roll(layer[0].up(layer[0].up(x)))))
}
graph rows(x: f32[n <= 5, 3]) -> f32[n, 3] { return trial[0].roll(x) }
graph astray(x: f32[5, 3]) -> f32[5, 3] {
  return layer[0].up(trial[0].roll(layer[0].up(x), how: "astray"))
}
graph last(x: f32[5, 3]) -> f32[5, 3] inflight 3 { return trial[0].last(layer[0].up(x)) }
graph both(x: f32[5, 3]) -> f32[5, 3] { return trial[0].last(x) + other.last(3 * x) }
graph learn(x: f32[5, 3]) -> f32[3] {
  trial[1].learn(layer[1].up(x))
  return trial[1].shown(zeros())
}
graph fail_learn(x: f32[5, 3], y: f32[5, 3]) {
  trial[1].learn(x)
  trial[1].learn(y, how: "error")
  trial[1].show()
}
graph error(x: f32[5, 3]) -> f32[5, 3] { return layer[0].up(trial[0].roll(x, how: "error")) }
graph after_error(x: f32[5, 3]) -> f32[5, 3] {
  let y = trial[0].roll(layer[0].product(trial[0].roll(layer[0].slow(x), how: "error")))
  return trial[1].roll(y)
}
graph throw(x: f32[5, 3]) -> f32[5, 3] { return trial[0].roll(x, how: "throw") }
graph another_context(x: f32[5, 3]) -> f32[5, 3] {
  return layer[0].up(trial[0].roll(x, how: "another context"))
}
graph hang(x: f32[5, 3]) -> f32[5, 3] { return trial[0].roll(x, how: "sleep") }
graph checked(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  return layer[0].up(trial[0].roll(layer[0].positive(x)))
}
"""
MADE = """
graph made(x: f32[5, 3], length: i64) -> f32[m <= 5, 3] {
  return trial[0].roll(layer[0].head(x, length))
}
"""
REFUSED = """
place refused = GpuTrial() on gpu[1]
graph refuse(x: f32[5, 3]) -> f32[5, 3] { return refused.roll(x) }
"""
PLAIN = """import std.tensor
actor Trial() {
  method act(what: i64[1]) -> i64[2] = extern "libcgraph_trial.so:trial_act"
}
place t = Trial() on gpu[0]
graph act(what: i64[1]) -> i64[2] { return t.act(what) }
"""


class Runs:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)
        self.library = pathlib.Path(args.folder).resolve() / "libcgraph_gpu_trial.so"
        self.plan = self.compile("p", PROGRAM)

    def compile(self, name, text):
        source, plan = self.folder / f"{name}.cgraph", self.folder / f"{name}.cgplan"
        source.write_text(text)
        subprocess.run([self.args.cgc, "compile", "-q", source, "-o", plan], check=True,
                       timeout=60)
        return plan

    def run(self, graph, x, *flags, plan=None, seed=1, machine="devices=2", result=True):
        np.save(self.folder / "x.npy", np.concatenate(x) if isinstance(x, list) else x)
        words = [self.args.cgrun, plan or self.plan, "--graph", graph, "--lib",
                 self.library, "--input", f"x={self.folder}/x.npy", "--require-gpu", *flags]
        environment = {**os.environ, "LD_LIBRARY_PATH": self.args.libraries,
                       "CGRAPH_EMULATION": f"{machine},seed={seed}"}
        if result:
            words += ["--output", f"result={self.folder}/y.npy"]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=100, env=environment, check=False)

    def result(self, *args, **options):
        done = self.run(*args, **options)
        expect(done.returncode == 0, f"{args[0]}: exit code {done.returncode}", done.stderr)
        return np.load(self.folder / "y.npy")


def batch(count):
    return [numbers(seed=i) for i in range(count)]


def order(runs):
    """What a method appends comes after what stands before it and before what stands behind it."""
    x = batch(6)
    wanted = np.concatenate([chain(one) for one in x])
    for seed in range(1, 7):
        for flags in ((), ("--no-capture",)):
            y = runs.result("chain", x, "--batch", "x", *flags, seed=seed,
                            machine="devices=2,channels=1" if seed % 2 else "devices=2")
            expect(np.array_equal(y, wanted), f"chain, seed {seed}, {flags}: {y} is not {wanted}")
    y = runs.result("chain", x, "--batch", "x", "--device-map", "gpu[0]=cuda:0,gpu[1]=cuda:0")
    expect(np.array_equal(y, wanted), "chain, both gpus on one GPU")
    profile = ("--profile", runs.folder / "profile.json")
    y = runs.result("chain", x, "--batch", "x", *profile)
    expect(np.array_equal(y, wanted), "chain, with --profile")
    told = (runs.folder / "profile.json").read_text()
    says(told, "trial[0].roll", "trial[1].roll")
    y = runs.result("chain", x, "--batch", "x", "--processes", "device")
    expect(np.array_equal(y, wanted), "chain, a process for each GPU")


def out_of_order(runs):
    """The same work on a stream that waits for nobody goes wrong: the emulation would show it."""
    x, wrong = numbers(), 0
    wanted = up(roll(up(x, 1)), 1)
    for seed in range(1, 9):
        done = runs.run("astray", x, seed=seed)
        wrong += done.returncode != 0 or not np.array_equal(np.load(runs.folder / "y.npy"), wanted)
    expect(wrong > 0, "work that is out of order was not noticed with any seed")


def extents(runs):
    for rows in (0, 1, 4, 5):
        x = numbers(rows=rows)
        expect(np.array_equal(runs.result("rows", x), roll(x)), f"{rows} rows")
    plan = runs.compile("made", PROGRAM + MADE)
    done = runs.run("made", numbers(), "--input", "length=3", plan=plan)
    expect(done.returncode not in (0, 134), f"made: exit code {done.returncode}", done.stderr)
    says(done.stderr, "trial[0].roll", "its dimension `length` is made on the GPU")


def objects(runs):
    x = batch(5)
    wanted = np.concatenate([np.zeros((ROWS, 3)), *(up(one, 1) for one in x[:-1])])
    for seed in (1, 2, 3):
        done = runs.run("last", x, "--batch", "x", seed=seed)
        y = np.load(runs.folder / "y.npy")
        expect(done.returncode == 0 and np.array_equal(y, wanted), f"last: {y}", done.stderr)
        says(done.stderr, "created: trial[0]\n", "created: trial[1]\n",
             "destroyed: trial[0], calls 5\n", "destroyed: trial[1], calls 0\n")
        y = runs.result("both", x, "--batch", "x", seed=seed)
        before = np.concatenate([np.zeros((ROWS, 3)), *x[:-1]])
        expect(np.array_equal(y, 4 * before), f"two places on one GPU: {y}")


def saved_objects(runs):
    """An object on a GPU is saved and restored with the GPU's context current."""
    x, y = batch(2)
    file = runs.folder / "objects.safetensors"
    runs.result("last", x, "--save-state", file)
    got = runs.result("last", y, "--load-state", file)
    expect(np.array_equal(got, up(x, 1)), f"the object was not restored: {got}")


def states(runs):
    x = numbers()
    np.save(runs.folder / "other.npy", 9 * x + 1)
    for seed in (1, 2, 3):
        bias = runs.result("learn", x, seed=seed)
        expect(np.array_equal(bias, [*up(x, 2)[0, :2], 7]), f"learn: the state is {bias}")
        done = runs.run("fail_learn", x, "--input", f"y={runs.folder}/other.npy", seed=seed,
                        result=False)
        expect(done.returncode == 1, "fail_learn succeeds", done.stderr)
        says(done.stderr, "trial[1].learn", "failed: an error, as asked",
             f"bias {x[0, 0]:g} {x[0, 1]:g} 7\n")  # as the first call has left it


def errors(runs):
    for graph, said in (("error", "failed: an error, as asked"),
                        ("throw", "an exception that is no std::exception")):
        done = runs.run(graph, numbers())
        expect(done.returncode == 1, f"{graph}: exit code {done.returncode}", done.stderr)
        says(done.stderr, "trial[0].roll", said)
    plan = runs.compile("refused", PROGRAM + REFUSED)
    done = runs.run("refuse", numbers(), plan=plan)
    expect(done.returncode == 1, f"an object that is refused: {done.returncode}", done.stderr)
    says(done.stderr, "the object of refused (", "cannot be made: as asked")
    x = numbers()
    y = runs.result("another_context", x)
    expect(np.array_equal(y, up(roll(x), 1)), "a method that leaves another context")
    done = runs.run("hang", numbers(), "--timeout", "2")
    expect(done.returncode not in (0, 134), "hang ends well", done.stderr)
    says(done.stderr, "trial[0].roll", "is running")


def failures_before(runs):
    """Where something has failed before a call, on the GPU or in a method, it is not made."""
    x = [np.full((ROWS, 3), value, np.float32) for value in (1, 2, 3, -1)]
    for seed in (1, 2, 3, 4):
        for flags in ((), ("--no-capture",)):
            done = runs.run("checked", x, "--batch", "x", *flags, seed=seed)
            expect(done.returncode == 1, "a check that fails was not seen", done.stderr)
            says(done.stderr, "the sum is not positive", "destroyed: trial[0], calls 3\n")
            done = runs.run("after_error", x[0], *flags, seed=seed)
            expect(done.returncode == 1, "an error of a method was not seen", done.stderr)
            says(done.stderr, "destroyed: trial[0], calls 1\n", "destroyed: trial[1], calls 0\n")


def libraries(runs):
    plan = runs.compile("plain", PLAIN)
    library = pathlib.Path(runs.args.folder).resolve() / "libcgraph_trial.so"
    what = ("--input", "what=[0]")
    words = [runs.args.cgrun, plan, "--lib", library, *what]
    environment = {**os.environ, "LD_LIBRARY_PATH": runs.args.libraries}
    done = subprocess.run([*words, "--require-gpu"], capture_output=True, text=True, timeout=60,
                          env=environment, check=False)
    expect(done.returncode not in (0, 134), "a library for the CPU is called", done.stderr)
    says(done.stderr, "take tensors in host memory", "CGRAPH_EXTERN_CUDA")
    done = subprocess.run([*words, "--device-map", "gpu[0]=cpu:0"], capture_output=True, text=True,
                          timeout=60, env=environment, check=False)
    expect(done.returncode == 0, "a library for the CPU on a gpu that is a core", done.stderr)


def plan_of(runs):
    done = subprocess.run([runs.args.cgc, "plan", "--json", runs.plan], check=True,
                          capture_output=True, text=True, timeout=60)
    told = json.loads(done.stdout)
    libraries = [kernel.get("library") for kernel in told["kernels"]]
    return told, lambda at: at["kind"] == "call" and libraries[at["subject"]]


def captures(runs):
    """Calls of native code stand outside captures; a plan in which one does not is right, too."""
    told, is_native = plan_of(runs)
    inside = outside = 0
    for graph in told["graphs"]:
        for at in graph["instructions"]:
            if is_native(at):
                expect(at["capture_id"] == 0, f"{graph['name']}: a native call is captured")
                outside += 1
            inside += at["capture_id"] != 0
    expect(inside > 0 and outside > 0, f"{inside} captured calls, {outside} native ones")
    altered = runs.folder / "altered.cgplan"
    graph = next(graph for graph in told["graphs"] if graph["name"] == "between")
    join_captures(graph["instructions"], is_native)
    (runs.folder / "altered.json").write_text(json.dumps(told))
    subprocess.run([runs.args.cgc, "plan", "--from-json", runs.folder / "altered.json", "-o",
                    altered], check=True, timeout=60)
    x = numbers()
    wanted = up(up(roll(up(up(x, 1), 1)), 1), 1)
    for plan in (runs.plan, altered):
        for seed in (1, 2, 3):
            y = runs.result("between", x, plan=plan, seed=seed)
            expect(np.array_equal(y, wanted), f"between, {plan.name}: {y} is not {wanted}")


def join_captures(instructions, is_native):
    """Makes one capture of a native call and of the calls before and behind it."""
    at = next(i for i, instruction in enumerate(instructions) if is_native(instruction))
    first, last = at, at
    while instructions[first - 1]["kind"] == "call":
        first -= 1
    while instructions[last + 1]["kind"] == "call":
        last += 1
    expect(last - first >= 4, f"the native call stands between {last - first} calls")
    for instruction in instructions[first:last + 1]:
        instruction["capture_id"] = instructions[first]["capture_id"]
        instruction["flags"] |= 4  # may be captured


def example(runs):
    """The CUDA kernel of examples/native, whose library works on CPU threads, too. (The emulation
    lacks what CUDA's runtime library calls of the driver.)"""
    if not runs.args.softmax.exists():
        print("SKIPPED: the example in CUDA, which nothing has compiled")
        return
    plan = runs.folder / "on_gpu.cgplan"
    subprocess.run([runs.args.cgc, "compile", "-q", ROOT / "examples/native/on_gpu.cgraph", "-o",
                    plan], check=True, timeout=60)
    x = np.random.default_rng(7).standard_normal((9, 96)).astype(np.float32)
    np.save(runs.folder / "x.npy", x)
    done = subprocess.run([runs.args.cgrun, plan, "-q", "--lib", runs.args.softmax, "--input",
                           f"x={runs.folder}/x.npy", "--output", f"result={runs.folder}/y.npy",
                           "--device-map", "gpu[0]=cpu:0"], capture_output=True, text=True,
                          timeout=60, check=False)
    expect(done.returncode == 0, "the example in CUDA, on CPU threads", done.stderr)
    first, last = (normal(seed, (96, 96)) * 0.1 for seed in (1, 2))
    scores = np.exp(x @ first / 0.5)
    wanted = scores / scores.sum(axis=1, keepdims=True) @ last
    y = np.load(runs.folder / "y.npy")
    expect(np.allclose(y, wanted, atol=1e-5), f"the example in CUDA: {y} is not {wanted}")


TESTS = (order, out_of_order, extents, objects, saved_objects, states, errors, failures_before,
         libraries, captures, example)


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--cgc", "--cgrun", "--libraries", "--folder"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--softmax", type=pathlib.Path, required=True,
                        help="the library of examples/native/softmax.cu, where it was compiled")
    parser.add_argument("--only", choices=[test.__name__ for test in TESTS])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args, folder)
        for test in TESTS:
            if args.only in (None, test.__name__):
                test(runs)
    print(f"{expectations.checks} expectations")


if __name__ == "__main__":
    main()

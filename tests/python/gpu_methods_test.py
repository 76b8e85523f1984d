"""Methods in Python on GPUs: that what they give a stream stands in its order, what they are given,
what they may return, what goes wrong in them, and what PyTorch is told; on the emulated driver.

  LD_LIBRARY_PATH=build/release/emulated CGRAPH_EMULATION=devices=2,seed=1 \\
      gpu_methods_test.py --package build/release/python

The streams of the emulation run as late and in as strange an order as CUDA allows, by the seed.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import support

import cgraph

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
import gpu_layers  # noqa: E402
from gpu_layers import chain, numbers, roll, up  # noqa: E402

MODULE = HERE / "gpu_stages.py"
PROGRAM = """import std.tensor
import std.debug
actor Stage(name: str) {
  state bias: f32[3] = zeros() + 7
"""
for name, taken in (("roll", "x"), ("roll_into", "x"), ("roll_described", "x, how: str"),
                    ("roll_elsewhere", "x, how: str"), ("remembered", "x"), ("reused", "x"),
                    ("same", "x"), ("wrong", "x, what: str")):
    parameters = taken.replace("x", "x: f32[n <= 5, 3]", 1)
    PROGRAM += f"""  method {name}({parameters}) -> f32[n, 3] =
      extern "python:gpu_stages:Stage.{name}" reads bias cost(flops: 1)
"""
PROGRAM += """  method remember(x: f32[5, 3]) = extern "python:gpu_stages:Stage.remember" reads bias
  method numbers(x: f32[5, 3]) -> (a: f32, b: i64, c: bool, d: bf16, e: u8) =
      extern "python:gpu_stages:Stage.numbers" reads bias
  method about(x: f32[5, 3]) -> i64 = extern "python:gpu_stages:Stage.about" reads bias
  method learn(x: f32[5, 3]) = extern "python:gpu_stages:Stage.learn" writes bias
  method fail_learn(x: f32[5, 3]) = extern "python:gpu_stages:Stage.fail_learn" writes bias
  method shown(x: f32[3]) -> f32[3] { return x + bias }
  method function(x: f32[n <= 5, 3]) -> f32[n, 3] = extern "python:gpu_stages:same" reads bias
}
actor Plain() { method where(x: f32[5, 3]) -> f32[5, 3] = extern "python:gpu_stages:Plain.where" }
actor Layer(k: float) {
""" + gpu_layers.METHODS + """}
place stage[i in 0..2] = Stage("stage{i}") on gpu[i]
place plain = Plain() on cpu[0]
place layer[i in 0..2] = Layer(i + 1) on gpu[i]

graph chain(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  let a = layer[0].up(stage[0].roll(layer[0].up(x)))
  let b = stage[1].roll_into(stage[1].roll(layer[1].up(a)))
  return layer[0].up(stage[0].roll(plain.where(b)))
}
graph described(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  return layer[0].up(stage[0].roll_described(layer[0].up(x), how: "well"))
}
graph described_own(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  return layer[0].up(stage[0].roll_described(layer[0].up(x), how: "own"))
}
graph elsewhere(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  return layer[0].up(stage[0].roll_elsewhere(layer[0].up(x), how: "well"))
}
graph astray(x: f32[5, 3]) -> f32[5, 3] {
  return layer[0].up(stage[0].roll_elsewhere(layer[0].up(x), how: "astray"))
}
graph remember(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  let y = layer[0].up(x)
  stage[0].remember(y)
  return layer[0].up(stage[0].remembered(y))
}
graph remembered(x: f32[5, 3]) -> f32[5, 3] { return stage[0].remembered(x) }
graph reused(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  return layer[0].up(stage[0].reused(stage[0].reused(layer[0].up(x))))
}
graph rows(x: f32[n <= 5, 3]) -> f32[n, 3] {
  return stage[0].function(stage[0].same(stage[0].roll_into(stage[0].roll(x))))
}
graph numbers(x: f32[5, 3]) -> (a: f32, b: i64, c: bool, d: bf16, e: u8) {
  return stage[1].numbers(x)
}
graph about(x: f32[5, 3]) -> (first: i64, second: i64) {
  return (first: stage[0].about(x), second: stage[1].about(x))
}
graph learn(x: f32[5, 3]) -> f32[3] {
  stage[1].learn(layer[1].up(x))
  return stage[1].shown(zeros())
}
graph fail_learn(x: f32[5, 3]) { stage[1].fail_learn(x) }
graph shown(x: f32[3]) -> f32[3] { return stage[1].shown(x) }
graph checked(x: f32[5, 3]) -> f32[5, 3] inflight 3 {
  return layer[0].up(stage[0].roll(layer[0].positive(x)))
}
graph after_error(x: f32[5, 3]) -> f32[5, 3] {
  return stage[1].roll(stage[0].roll(stage[0].wrong(layer[0].slow(x), what: "raise")))
}
"""
WRONGS = {
    "host": ["what it returned lies in the host's memory", 'return y.to("cuda:0")', "on a cpu"],
    "numpy": ["NumPy has no array of this tensor", "it is on cuda:0", "torch.from_dlpack(x)"],
    "float": ["the host does not know this tensor's numbers yet", "it is on cuda:0"],
    "bytes": ["BufferError: the host does not reach this tensor: it is on cuda:0"],
    "keep": ["something that was made of `x` without a copy is still held",
             "torch.from_dlpack(x).clone()"],
    "describe": ["something that was made of `x` without a copy is still held"],
    "cpu": ["`dl_device` is (1, 0), and this tensor is on (2, 0)"],
    "type": ["what it returned is i32[5, 3] and was declared as f32[5, 3]"],
    "shape": ["what it returned is f32[3, 5] and was declared as f32[5, 3]"],
    "other": ["what it returned lies on cuda:1, and a place on cuda:0 takes its results from "
              "there"],
    "strange": ["lies on a device (10, 0)"],
    "pinned": ["lies in the host's memory"],
    "raise": ["LookupError: at the bottom", "Traceback", "gpu_stages.py", "in wrong"],
    "text": ["is of the type `str`, and results on a GPU are tensors there"],
    "nothing": ["it returned nothing (a `return` is missing?), and "],
    "turned": ["is not dense and row-major; return a copy that is"],
    "interface": ["is not dense and row-major; return a copy that is"],
    "mask": ["has a mask, which tensors here lack"],
}
for name in [*WRONGS, "context"]:
    PROGRAM += f"""graph wrong_{name}(x: f32[5, 3]) -> f32[5, 3] {{
  return stage[0].wrong(x, what: "{name}")
}}
"""
# What is loaded of CUDA's libraries when a module is imported, and when its method is called.
EARLY_MODULE = """import re
def loaded():
    with open("/proc/self/maps", encoding="utf-8") as file:
        return sorted(set(re.findall(r"lib(?:nccl|cublasLt|nvrtc)\\.so", file.read())))
LOADED = loaded()
def count(x):
    return len(LOADED), len(loaded())
"""
EARLY = """import std.tensor
actor Early() {
  method give(x: f32[4]) -> f32[4] { return x }
  method count(x: f32[4]) -> (before: i64, now: i64) = extern "python:early:count"
}
place early[i in 0..2] = Early() on gpu[i]
graph count(x: f32[4]) -> (before: [i64; 2], now: [i64; 2]) {
  let ys = all_reduce([early[i].give(x) for i in 0..2], sum)
  let counts = [early[i].count(ys[i]) for i in 0..2]
  return (before: [c.before for c in counts], now: [c.now for c in counts])
}
"""
EARLY_ENGINE = """import sys
import numpy
import cgraph
if __name__ == "__main__":
    processes = "device" if sys.argv[1:] else None
    with cgraph.Engine(cgraph.compile("p.cgraph"), libraries=["early.py"], processes=processes,
                       require_gpus=True) as engine:
        result = engine.count(numpy.ones(4, numpy.float32))
        for each in (*result.before, *result.now):
            print("=", int(each))
"""
REFUSED = """
place refused = Stage("refuse") on gpu[1]
graph refuse(x: f32[5, 3]) -> f32[5, 3] { return refused.same(x) }
"""


COUNTED_ON = ("gpu[1]", "cpu[0]", "gpu[0]", "gpu[0]", "cpu[0]", "gpu[1]")
COUNTED = """import std.tensor
actor Counted(number: int) {
  state first: f32[20000] = iota() * 0.5
  method same(x: f32[4]) -> f32[4] = extern "python:gpu_stages:Counted.same"
}
"""
COUNTED += "".join(f"place c{i} = Counted({i}) on {on}\n" for i, on in enumerate(COUNTED_ON))
COUNTED += """
graph all(x: f32[4]) -> f32[4] { return c5.same(c4.same(c3.same(c2.same(c1.same(c0.same(x)))))) }
"""


def load(plan, **options):
    options = {"require_gpus": True, **options}
    return cgraph.Engine(plan, libraries=[MODULE], timeout=60, **options)


class Methods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan = cgraph.compile(PROGRAM)
        cls.engine = load(cls.plan)

    @classmethod
    def tearDownClass(cls):
        cls.engine.close()

    def each(self, graph, reference, times=12):
        """Executions in flight, each of which gives what it should."""
        graph = self.engine.graphs[graph]
        futures = [(seed, graph.submit(numbers(seed))) for seed in range(times)]
        for seed, future in futures:
            np.testing.assert_array_equal(future.result(), reference(numbers(seed)))

    def test_order(self):
        self.each("chain", chain)
        with load(self.plan, processes="device") as engine:
            np.testing.assert_array_equal(engine.chain(numbers()), chain(numbers()))
        with load(self.plan, device_map={"gpu[0]": "cuda:0", "gpu[1]": "cuda:0"}) as engine:
            np.testing.assert_array_equal(engine.chain(numbers()), chain(numbers()))

    def test_command(self):
        """cgrun, which begins an interpreter."""
        with tempfile.TemporaryDirectory() as folder:
            self.plan.save(f"{folder}/p.cgplan")
            np.save(f"{folder}/x.npy", np.concatenate([numbers(seed) for seed in range(4)]))
            for flags in ((), ("--processes", "device")):
                words = [sys.executable, "-m", "cgraph.cgrun", f"{folder}/p.cgplan", "--lib",
                         MODULE, "--graph", "chain", "--input", f"x={folder}/x.npy", "--batch", "x",
                         "--output", f"result={folder}/y.npy", "--require-gpu", *flags]
                done = subprocess.run(words, capture_output=True, text=True, check=False,
                                      env=dict(os.environ, PYTHONPATH=support.OPTIONS.package),
                                      timeout=100)
                self.assertEqual(done.returncode, 0, done.stderr)
                np.testing.assert_array_equal(
                    np.load(f"{folder}/y.npy"),
                    np.concatenate([chain(numbers(seed)) for seed in range(4)]))

    def test_imported_before_libraries_of_cuda(self):
        """A module may bring newer ones: in a process that has none of them yet."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("p.cgraph", EARLY), ("early.py", EARLY_MODULE),
                               ("engine.py", EARLY_ENGINE)):
                pathlib.Path(folder, name).write_text(text, encoding="utf-8")
            command = ["-m", "cgraph.cgrun", "p.cgraph", "--lib", "early.py", "--require-gpu",
                       "--input", "x=[1, 2, 3, 4]"]
            for words in (command, [*command, "--processes", "device"], ["engine.py"],
                          ["engine.py", "processes"]):
                done = subprocess.run(
                    [sys.executable, *words], capture_output=True, text=True, check=False,
                    cwd=folder, timeout=100,
                    env=dict(os.environ, PYTHONPATH=os.path.abspath(support.OPTIONS.package)))
                self.assertEqual(done.returncode, 0, done.stderr)
                counts = re.findall(r"= (\d+)$", done.stdout, re.M)
                self.assertEqual(counts[:2], ["0", "0"], done.stdout)
                self.assertEqual(counts[2:], ["1", "1"], done.stdout)  # NCCL

    def test_array_interface(self):
        for graph in ("described", "described_own"):
            self.each(graph, lambda x: up(roll(up(x, 1)), 1))

    def test_other_streams(self):
        """What DLPack orders, and what was read in another stream when the call is over."""
        self.each("elsewhere", lambda x: up(roll(up(x, 1)), 1))
        self.each("remember", lambda x: up(up(x, 1), 1))

    def test_out_of_order(self):
        """A stream that nobody lets wait goes wrong: the emulation would show it. Each run is a
        process, since the emulation reads its seed when it begins."""
        if "CGRAPH_ASTRAY" in os.environ:
            wanted = up(roll(up(numbers(), 1)), 1)
            wrong = sum(not np.array_equal(self.engine.astray(numbers()), wanted) for _ in range(4))
            self.fail("out of order") if wrong else None
            return
        failed = 0
        for seed in range(1, 7):
            environment = dict(os.environ, CGRAPH_ASTRAY="1",
                               CGRAPH_EMULATION=f"devices=2,seed={seed}")
            done = subprocess.run([sys.executable, __file__, "--package", support.OPTIONS.package,
                                   "Methods.test_out_of_order"], env=environment, timeout=100,
                                  capture_output=True, check=False)
            failed += done.returncode != 0
            if failed:
                return
        self.fail("work that is out of order was not noticed with any seed")

    def test_results_are_held_until_they_are_copied(self):
        self.each("reused", lambda x: up(up(x, 1), 1))

    def test_extents(self):
        for rows in (0, 1, 4, 5):
            np.testing.assert_array_equal(self.engine.rows(numbers(rows=rows)),
                                          roll(roll(numbers(rows=rows))))

    def test_numbers(self):
        result = self.engine.numbers(numbers())
        self.assertEqual([each.item() for each in result], [1.5, -2, True, 0.5, 7])

    def test_states(self):
        np.testing.assert_array_equal(self.engine.learn(numbers()),
                                      [*up(numbers(), 2)[0, :2], 7])
        before = np.array(self.engine.shown(np.zeros(3, np.float32)))
        with self.assertRaisesRegex(cgraph.ExecutionError, "ArithmeticError: that is too much"):
            self.engine.fail_learn(9 * numbers() + 1)
        np.testing.assert_array_equal(self.engine.shown(np.zeros(3, np.float32)), before)

    def test_wrong(self):
        for name, said in WRONGS.items():
            with self.subTest(name), self.assertRaises(cgraph.ExecutionError) as raised:
                self.engine.graphs[f"wrong_{name}"](numbers())
            for text in ["stage[0].wrong", *said]:
                self.assertIn(text, str(raised.exception))
            sys.modules["gpu_stages"].KEPT.clear()
            np.testing.assert_array_equal(self.engine.rows(numbers()), roll(roll(numbers())))
        np.testing.assert_array_equal(self.engine.wrong_context(numbers()).shape, (5, 3))

    def test_refused(self):
        with self.assertRaisesRegex(cgraph.Error, "no stage is called that"):
            load(cgraph.compile(PROGRAM + REFUSED))

    def test_objects_are_made_in_the_order_of_places(self):
        plan, made = cgraph.compile(COUNTED), sys.modules["gpu_stages"].MADE
        unproved = {"proved": False, "require_gpus": False}  # which runs on CPU threads
        for options in ({}, {"workers": 1}, {"workers": 2}, unproved) * 3:
            made.clear()
            with self.subTest(options), load(plan, **options) as engine:
                self.assertEqual(made, list(range(len(COUNTED_ON))))
                x = np.arange(4, dtype=np.float32)
                np.testing.assert_array_equal(engine.graphs["all"](x), x)

    def test_not_called_behind_a_failure(self):
        before = self.engine.about(numbers()).first.item()
        for x in (1, 2, -1):
            x = np.full((5, 3), x, np.float32)
            if x[0, 0] > 0:
                np.testing.assert_array_equal(self.engine.checked(x), up(roll(x + 1), 1))
                continue
            with self.assertRaisesRegex(cgraph.ExecutionError, "the sum is not positive"):
                self.engine.checked(x)
        with self.assertRaisesRegex(cgraph.ExecutionError, "at the bottom"):
            self.engine.after_error(numbers())
        self.assertEqual(self.engine.about(numbers()).first.item(), before + 2)

    def test_objects_are_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/objects.safetensors"
            self.engine.remember(numbers(4))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # that of Plain is not
                self.engine.save_state(path)
            with load(self.plan) as engine:
                self.assertFalse(np.array(engine.remembered(numbers())).any())
                self.assertEqual(engine.load_state(path), [])
                np.testing.assert_array_equal(engine.remembered(numbers()), up(numbers(4), 1))


if __name__ == "__main__":
    support.main()

"""What methods in Python on GPUs do with PyTorch, on the emulated driver and with a stand-in for it
(fake_torch.py): no PyTorch runs there. tests/gpu/torch_methods.py does it with PyTorch, on a GPU.

  LD_LIBRARY_PATH=build/release/emulated CGRAPH_EMULATION=devices=2,seed=1 \\
      gpu_torch_test.py --package build/release/python
"""
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import fake_torch
import numpy as np
import support

import cgraph

MODULE = pathlib.Path(__file__).resolve().parent / "gpu_torch_stages.py"
METHODS = ("weight", "with_history", "same", "aside", "on_host", "fail")
PROGRAM = "import std.tensor\nactor Layer(seed: int) {\n"
for name in METHODS:
    PROGRAM += f"""  method {name}(x: f32[5, 3]) -> f32[5, 3] =
      extern "python:gpu_torch_stages:Layer.{name}" cost(flops: 1)
"""
PROGRAM += """  method turned(x: f32[5, 3]) -> f32[3, 5] =
      extern "python:gpu_torch_stages:Layer.turned"
}
actor Host() {
  method where(x: f32[5, 3]) -> f32[5, 3] = extern "python:gpu_torch_stages:Host.where"
}
actor Plain() { method up(x: f32[5, 3]) -> f32[5, 3] { return cumsum(x * 2, dim: 0) * 0.5 } }
place layer[i in 0..2] = Layer(i) on gpu[i]
place plain[i in 0..2] = Plain() on gpu[i]
place host = Host() on cpu[0]
graph on_host_place(x: f32[5, 3]) -> f32[5, 3] { return host.where(x) }
graph turned(x: f32[5, 3]) -> f32[3, 5] { return layer[1].turned(x) }
"""
for name in METHODS:
    PROGRAM += f"""graph {name}(x: f32[5, 3]) -> f32[5, 3] inflight 3 {{
  return plain[1].up(layer[1].{name}(plain[1].up(x)))
}}
"""


def up(x):
    return np.cumsum(x, axis=0, dtype=np.float32)


def numbers(seed=3):
    return np.random.default_rng(seed).integers(-4, 5, (5, 3)).astype(np.float32)


def weight(place):
    return np.random.default_rng(place).random((5, 3), np.float32)


class Torch(unittest.TestCase):
    def setUp(self):
        loaded = unittest.mock.patch.dict(sys.modules, {"torch": fake_torch})
        loaded.start()
        self.addCleanup(loaded.stop)
        sys.modules.pop("gpu_torch_stages", None)
        self.plan = cgraph.compile(PROGRAM)
        self.engine = self.load()
        self.addCleanup(self.engine.close)

    def load(self):
        return cgraph.Engine(self.plan, libraries=[MODULE], require_gpus=True, timeout=60)

    def each(self, graph, reference, times=10):
        futures = [(seed, self.engine.graphs[graph].submit(numbers(seed))) for seed in range(times)]
        for seed, future in futures:
            np.testing.assert_allclose(future.result(), reference(numbers(seed)), atol=1e-5)

    def test_modules_are_moved(self):
        made = sys.modules["gpu_torch_stages"].MADE
        self.assertEqual([(each.made_on, each.w.device) for each in made],
                         [(0, "cuda:0"), (1, "cuda:1")])
        self.each("weight", lambda x: up(weight(1)))
        np.testing.assert_array_equal(self.engine.on_host_place(numbers()), numbers())

    def test_results(self):
        for graph in ("with_history", "same", "aside"):
            self.each(graph, lambda x: up(up(x)))
        np.testing.assert_array_equal(self.engine.turned(numbers()), numbers().T)
        with self.assertRaisesRegex(cgraph.ExecutionError, "what it returned lies in the host's "
                                    'memory, .* return y.to."cuda:1".'):
            self.engine.on_host(numbers())

    def test_errors_leave_nothing_current(self):
        for _ in range(2):
            with self.assertRaisesRegex(cgraph.ExecutionError, "ValueError: as asked"):
                self.engine.fail(numbers())
        self.each("weight", lambda x: up(weight(1)), times=2)

    def test_states(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/layers.safetensors"
            self.engine.save_state(path)
            for each in sys.modules["gpu_torch_stages"].MADE:
                each.w = fake_torch.Tensor((5, 3), each.w.device)  # of any numbers
            self.engine.load_state(path)
            self.each("weight", lambda x: up(weight(1)), times=3)

    def test_without_gpus(self):
        with unittest.mock.patch.object(fake_torch, "HAS_GPUS", False), \
                self.assertRaisesRegex(cgraph.Error, "is a module of PyTorch's for a place on "
                                       "cuda:0, and PyTorch 0.fake has no GPU here"):
            self.load()


if __name__ == "__main__":
    support.main()

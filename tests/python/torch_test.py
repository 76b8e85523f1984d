"""Methods that are PyTorch's modules: examples/torch_actors equals PyTorch alone, in one process
and in several, and goes on from what it saved; what a method may hand over and keep.

  torch_test.py --package build/release/python --torch build/torch-venv/bin/python3

Runs in the Python that has PyTorch (`scripts/setup --torch` makes one), and is skipped without.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/torch_actors"
SKIPPED = 77
STAGES = """
import cgraph_methods
import torch
class Stage(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
    def forward(self, x):
        return self.layer(torch.from_dlpack(x))
    def half(self, x):
        return torch.from_dlpack(x) * 2
    def truth(self, x):
        return torch.from_dlpack(x).logical_not()
    def keep(self, x):
        self.kept = self(x)
        return self.kept
    def number(self, x):
        return torch.from_dlpack(x).sum()
    def negative(self, x):
        return torch.complex(torch.zeros(2, 3), torch.from_dlpack(x)).conj().imag
    def relu(self, x):
        return torch.relu_(torch.from_dlpack(x)) + 0
    @cgraph_methods.writes("x")
    def own_relu(self, x):
        return self.relu(x)
class Trained(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width, dtype=torch.bfloat16)
        self.norm = torch.nn.BatchNorm1d(width, dtype=torch.bfloat16)
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=0.125)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.5)
    def step(self, x):
        loss = self.norm(self.layer(torch.from_dlpack(x).bfloat16())).square().mean()
        loss = loss + self.layer.weight.float().square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return torch.cat([each.detach().float().reshape(-1) for each in self.parameters()])
class Bare(Trained):
    def __init__(self, width):
        super().__init__(width)
        del self.schedule
def grow(by, w):
    torch.from_dlpack(w).add_(torch.from_dlpack(by))
"""
MODULES = """import std.tensor
actor Stage(width: int) {
  method call(x: f32[n <= 4, width]) -> f32[n, width] =
      extern "python:torch_stages:Stage.__call__"
  method keep(x: f32[n <= 4, width]) -> f32[n, width] = extern "python:torch_stages:Stage.keep"
  method half(x: bf16[width]) -> bf16[width] = extern "python:torch_stages:Stage.half"
  method truth(x: bool[width]) -> bool[width] = extern "python:torch_stages:Stage.truth"
  method negative(x: f32[2, width]) -> f32[2, width] = extern "python:torch_stages:Stage.negative"
  method relu(x: f32[2, width]) -> f32[2, width] = extern "python:torch_stages:Stage.relu"
  method own_relu(x: f32[2, width]) -> f32[2, width] = extern "python:torch_stages:Stage.own_relu"
  method number(x: f32[width]) -> f32 = extern "python:torch_stages:Stage.number"
}
actor Weights(width: int) {
  state w: bf16[width] = zeros()
  method grow(by: bf16[width]) = extern "python:torch_stages:grow" writes w
  method get() -> bf16[width] { return w }
}
place stage = Stage(3) on cpu[0]
place weights = Weights(3) on cpu[1]
actor Trained(width: int) {
  method step(x: f32[4, width]) -> f32[width * width + 3 * width] =
      extern "python:torch_stages:Trained.step"
}
place trained = Trained(3) on cpu[0]
graph train(x: f32[4, 3]) -> f32[18] { return trained.step(x) }
graph call(x: f32[n <= 4, 3]) -> f32[n, 3] { return stage.call(x) }
graph keep(x: f32[n <= 4, 3]) -> f32[n, 3] { return stage.keep(x) }
graph half(x: bf16[3]) -> bf16[3] { return stage.half(x) }
graph truth(x: bool[3]) -> bool[3] { return stage.truth(x) }
graph negative(x: f32[2, 3]) -> f32[2, 3] { return stage.negative(x) }
graph relu(x: f32[2, 3]) -> f32[2, 3] { return stage.relu(x) }
graph own_relu(x: f32[2, 3]) -> f32[2, 3] { return stage.own_relu(x) }
graph number(x: f32[3]) -> f32 { return stage.number(x) }
graph grow(by: bf16[3]) -> bf16[3] {
  weights.grow(by)
  return weights.get()
}
"""


def run(*words, **more):
    environment = dict(os.environ, PYTHONPATH=os.path.abspath(support.OPTIONS.package),
                       PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env=environment, timeout=240, check=False, **more)


class Example(unittest.TestCase):
    def train(self, *flags):
        done = run(sys.executable, EXAMPLE / "train.py", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("as by PyTorch alone, to the bit", done.stdout)
        return done.stdout

    def test_one_process(self):
        self.assertIn("20 steps in 1 process", self.train())

    def test_processes(self):
        self.assertIn("20 steps in 2 process", self.train("--processes"))

    def test_goes_on_tomorrow(self):
        with tempfile.TemporaryDirectory() as folder:
            self.train("--save", "--folder", folder, "--processes", "--steps", "5")
            self.assertEqual(sorted(os.listdir(folder)), ["first.pt", "second.pt"])
            half = self.train("--load", "--folder", folder, "--steps", "5", "--first-step", "5")
        whole = self.train("--steps", "10")
        self.assertEqual(half.partition("loss")[2], whole.partition("loss")[2])

    def test_notebook(self):
        cells = json.loads((EXAMPLE / "torch_actors.ipynb").read_text())["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("torch_actors.cgraph", "stages.py", "train.py"):
                shutil.copy(EXAMPLE / name, folder)
            done = run(sys.executable, "-c", text, cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"cpu\[1\]\) was killed by signal 9")
        losses = [float(loss) for loss in re.findall(r"tensor\((.*)\)", done.stdout)]
        self.assertEqual(len(losses), 2)
        self.assertLess(losses[1], losses[0])

    def test_cgrun(self):
        import numpy as np
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", np.ones((4, 16, 8), np.float32))
            np.save(f"{folder}/label.npy", np.zeros((4, 16), np.int64))
            said = []
            for flags in ((), ("--processes", "device")):
                done = run(sys.executable, "-m", "cgraph.cgrun", EXAMPLE / "torch_actors.cgraph",
                           "--lib", EXAMPLE / "stages.py", "--graph", "step", "-n", "3", "--input",
                           f"x={folder}/x.npy", "--input", f"label={folder}/label.npy",
                           "--output", f"result={folder}/loss.npy", *flags)
                self.assertEqual(done.returncode, 0, done.stderr)
                said.append(np.load(f"{folder}/loss.npy").tolist())
        self.assertEqual(said[0], said[1])


class Modules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import cgraph
        cls.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(cls.folder.name) / "torch_stages.py"
        path.write_text(STAGES)
        cls.engine = cgraph.Engine(cgraph.compile(MODULES), libraries=[path])

    @classmethod
    def tearDownClass(cls):
        cls.engine.close()
        cls.folder.cleanup()

    def test_tensors(self):
        import torch
        x = torch.ones(2, 3)
        y = torch.from_dlpack(self.engine.call(x))  # it had a history of gradients
        self.assertEqual(y.shape, x.shape)
        half = torch.tensor([1.5, 2.5, -3.0], dtype=torch.bfloat16)
        self.assertTrue(torch.equal(torch.from_dlpack(self.engine.half(half)), half * 2))
        truth = torch.tensor([True, False, True])
        self.assertTrue(torch.equal(torch.from_dlpack(self.engine.truth(truth)), ~truth))
        self.assertEqual(self.engine.number(torch.arange(3.0)).item(), 3)

    def test_negative_bit(self):
        """A tensor that is the negative of its memory is refused as an input; as a result it is
        what it means."""
        import torch

        import cgraph
        x = torch.arange(6.0).reshape(2, 3)
        negative = torch.complex(x, x).conj().imag
        self.assertTrue(negative.is_neg())
        with self.assertRaisesRegex(cgraph.InputError, r"x\.resolve_neg\(\)"):
            self.engine.call(negative.contiguous() if negative.is_contiguous() else negative)
        self.assertTrue(torch.equal(torch.from_dlpack(self.engine.negative(x)), -x))

    def test_in_place(self):
        """An operation that writes the argument is found, or has a copy where that is said."""
        import torch

        import cgraph
        x = torch.full((2, 3), -1.0)
        self.assertEqual(torch.from_dlpack(self.engine.own_relu(x)).sum(), 0)
        with self.assertRaisesRegex(cgraph.ExecutionError, "has written its argument `x`"):
            self.engine.relu(x)

    def test_states(self):
        import torch
        by = torch.ones(3, dtype=torch.bfloat16)
        for calls in (1, 2):
            w = torch.from_dlpack(self.engine.grow(by))
            self.assertTrue(torch.equal(w, by * calls))

    def test_training_goes_on(self):
        """Parameters, buffers, optimizer and schedule, to the bit; another object is refused."""
        import numpy as np
        import torch

        import cgraph
        torch.manual_seed(1)
        x = torch.rand(4, 3)
        path = f"{self.folder.name}/trained.safetensors"
        for _ in range(3):
            self.engine.train(x)
        self.engine.save_state(path)
        expected = [np.array(self.engine.train(x)) for _ in range(3)]
        module = pathlib.Path(self.folder.name) / "torch_stages.py"
        for processes in (None, "device"):
            with cgraph.Engine(self.engine.plan, libraries=[module], processes=processes) as other:
                self.assertEqual(other.load_state(path), [])
                for each in expected:
                    np.testing.assert_array_equal(np.array(other.train(x)), each)
        bare = cgraph.compile(MODULES.replace(":Trained.", ":Bare."))
        with cgraph.Engine(bare, libraries=[module]) as other:
            with self.assertRaisesRegex(cgraph.ExecutionError, "that of optimizer, schedule was "
                                        "saved, and the object has optimizer"):
                other.load_state(path)

    def test_what_autograd_keeps(self):
        import torch

        import cgraph
        with self.assertRaisesRegex(cgraph.ExecutionError, r"torch.from_dlpack\(x\).clone\(\)"):
            self.engine.keep(torch.ones(2, 3))
        self.engine.call(torch.ones(2, 3))


if __name__ == "__main__":
    if "--torch" in sys.argv:
        at = sys.argv.index("--torch")
        python = sys.argv[at + 1]
        if not os.path.exists(python):
            print(f"SKIPPED: methods that are PyTorch's modules: there is no {python}; "
                  "scripts/setup --torch installs PyTorch")
            sys.exit(SKIPPED)
        os.execv(python, [python, __file__] + sys.argv[1:at] + sys.argv[at + 2:])
    support.main()

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
AUTOGRAD_MODULES = """
import torch
class Encoder(torch.nn.Module):
    def __init__(self, width, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.table = torch.nn.Embedding(5, width)
        self.layer = torch.nn.Linear(width, width)
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
    def forward(self, x, index, by):
        if by > 1 and x.isnan().any():
            raise ValueError("that is no number")
        h = self.layer(x).tanh() + self.table(index) * by
        return h, h.square().mean(), index + 1
    def worked(self, x, how):
        if how == "in place":
            return self.layer(torch.relu_(x))
        if how == "a list":
            return [self.layer(x)]
        y = self.layer(x)
        return {"detach": y.detach(), "NumPy": y.detach().numpy()}[how]
    def norm(self, x, others):
        return x.norm() + others[0].sum() if isinstance(others, list) else x.norm() + others.sum()
    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
"""
AUTOGRAD = """import std.optim
import std.tensor
const M = 3
actor Encoder(width: int, seed: int) {
  method forward(x: f32[n <= 4, width], index: i64[n], by: float)
      -> (h: f32[n, width], size: f32, next: i64[n]) =
      extern "python:torch_autograd:Encoder.forward" grad by auto
  method norm(x: f32[n <= 4, width], others: [f32[width]; 1]) -> f32 =
      extern "python:torch_autograd:Encoder.norm" grad by auto
  method worked(x: f32[n <= 4, width], how: str) -> f32[n, width] =
      extern "python:torch_autograd:Encoder.worked" grad by auto
  method update() = extern "python:torch_autograd:Encoder.update"
  method eval() = extern "python:torch_autograd:Encoder.eval"
}
actor Gain(width: int) {
  param w: f32[width] = ones()
  method forward(h: f32[n <= 4, width]) -> f32[n, width] { return h * w }
  method current() -> f32[width] { return w }
}
place encoder[i in 0..2] = Encoder(6, i) on cpu[i]
place gain = Gain(6) on cpu[0] trained by sgd()
fn forwards(x: [f32[n <= 4, 6]; M], index: [i64[n]; M]) -> (loss: f32, next: i64[n]) {
  var losses = []
  var next = index[0]
  for m in 0..M {
    let a = encoder[0].forward(x[m], index[m], 0.5)
    let b = encoder[1].forward(gain.forward(a.h), index[m], 2.0)
    next = b.next
    losses = losses + [b.size + 0.1 * a.size + encoder[1].norm(b.h, [gain.current()])]
  }
  return (loss: mean(stack(losses)), next: next)
}
graph step(x: [f32[n <= 4, 6]; M], index: [i64[n]; M])
    -> (loss: f32, g: [f32[n, 6]; M], next: i64[n]) {
  let e = forwards(x, index)
  let g = grad(e.loss, of: (x: x, gain: gain))
  gain.update(g.gain, rate: 0.1)
  for each in encoder { each.update() }
  return (loss: e.loss, g: g.x, next: e.next)
}
graph gradients(x: [f32[n <= 4, 6]; M], index: [i64[n]; M]) -> [f32[n, 6]; M] {
  return grad(forwards(x, index).loss, of: x)
}
graph training(x: f32[n <= 4, 6], index: i64[n]) -> f32 {
  let first = encoder[0].forward(x, index, 0.5)
  let size = encoder[0].forward(x, index, 2.0).size
  let loss = mean(first.h) + size
  grad(loss)
  encoder[0].update()
  return loss
}
const HOW = "in place"
graph worked(x: f32[n <= 4, 6]) -> (y: f32[n, 6], g: f32[n, 6]) {
  let y = encoder[0].worked(x, HOW)
  return (y: y, g: grad(sum(y), of: x))
}
graph apply(x: f32[n <= 4, 6], index: i64[n]) -> f32[n, 6] {
  encoder[0].eval()
  return encoder[0].forward(x, index, 0.5).h
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


class Autograd(unittest.TestCase):
    """`grad by auto`: as PyTorch alone, with ops of the language between the modules."""

    @classmethod
    def setUpClass(cls):
        import cgraph
        cls.folder = tempfile.TemporaryDirectory()
        cls.module = pathlib.Path(cls.folder.name) / "torch_autograd.py"
        cls.module.write_text(AUTOGRAD_MODULES)
        cls.plan = cgraph.compile(AUTOGRAD)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def engine(self, **options):
        import cgraph
        return cgraph.Engine(self.plan, libraries=[self.module], **options)

    def batch(self, step, rows):
        import torch
        generator = torch.Generator().manual_seed(step)
        return (torch.randn(3, rows, 6, generator=generator),
                torch.randint(0, 5, (3, rows), generator=generator))

    def by_torch_alone(self, batches):
        """The losses and gradients of x of some steps."""
        import torch
        names = {}
        exec(AUTOGRAD_MODULES, names)  # pylint: disable=exec-used
        first, second = names["Encoder"](6, 0), names["Encoder"](6, 1)
        w = torch.ones(6, requires_grad=True)
        for x, index in batches:
            x.requires_grad_()
            losses = []
            for m in range(3):
                h, size, _ = first(x[m], index[m], 0.5)
                last, other, _ = second(h * w, index[m], 2.0)
                losses.append(other + 0.1 * size + second.norm(last, w))
            loss = torch.stack(losses).mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
            first.update()
            second.update()
            yield loss.detach(), x.grad

    def check(self, engine, batches):
        import torch
        for (x, index), (loss, grad) in zip(batches, self.by_torch_alone(self.batches())):
            found = engine.step(list(x.detach()), list(index))
            torch.testing.assert_close(torch.from_dlpack(found.loss), loss, rtol=1e-5, atol=1e-6)
            for m in range(3):
                torch.testing.assert_close(torch.from_dlpack(found.g[m]), grad[m], rtol=1e-4,
                                           atol=1e-6)
            self.assertTrue(torch.equal(torch.from_dlpack(found.next), index[2] + 1))

    def batches(self):
        return [self.batch(step, rows) for step, rows in enumerate((4, 1, 3, 2, 4))]

    def test_equals_pytorch(self):
        for processes in (None, "device"):
            with self.engine(processes=processes) as engine:
                self.check(engine, self.batches())

    def test_a_failure_between(self):
        """What a failed execution has left is never taken for that of another, and is let go."""
        import torch

        import cgraph
        batches = self.batches()
        _, expected = next(self.by_torch_alone(batches))
        with self.engine() as engine:
            for x, index in batches[1:3]:
                x[2, 0] = float("nan")  # the second module fails where the first has kept something
                with self.assertRaisesRegex(cgraph.ExecutionError, "that is no number"):
                    engine.gradients(list(x), list(index))
            self.assertGreater(self.histories(), 0)
            found = engine.gradients(list(batches[0][0].detach()), list(batches[0][1]))
            for m in range(3):
                torch.testing.assert_close(torch.from_dlpack(found[m]), expected[m], rtol=1e-4,
                                           atol=1e-6)
            self.assertEqual(self.histories(), 0)

    def test_a_failed_step_updates_nothing(self):
        """Neither what follows the failure, nor what another graph has left, is stepped with."""
        import torch

        import cgraph
        with self.engine() as engine:
            def state():
                return [value["self"]["layer.weight"].clone() for value in
                        engine.objects().values()]
            before = state()
            for step, rows in enumerate((4, 2)):
                x, index = self.batch(step, rows)
                with self.assertRaisesRegex(cgraph.ExecutionError, "that is no number"):
                    engine.training(x[0] * float("nan"), index[0])
                x[2, 0] = float("nan")
                with self.assertRaisesRegex(cgraph.ExecutionError, "that is no number"):
                    engine.step(list(x), list(index))
            self.assertTrue(all(map(torch.equal, before, state())))

    def test_how_a_method_works(self):
        import torch

        import cgraph
        x = self.batch(0, 4)[0][0] - 0.5
        for how in ("in place", "a list", "detach", "NumPy"):
            plan = cgraph.compile(AUTOGRAD, defines={"HOW": how})
            with cgraph.Engine(plan, libraries=[self.module]) as engine:
                if how in ("detach", "NumPy"):
                    with self.assertRaisesRegex(cgraph.ExecutionError, "has no history"):
                        engine.worked(x)
                    continue
                found = engine.worked(x)
                names = {}
                exec(AUTOGRAD_MODULES, names)  # pylint: disable=exec-used
                leaf = x.clone().requires_grad_()
                y = names["Encoder"](6, 0).layer(leaf.relu() if how == "in place" else leaf)
                y.sum().backward()
                self.assertTrue(torch.equal(torch.from_dlpack(found.y), y.detach()))
                self.assertTrue(torch.equal(torch.from_dlpack(found.g), leaf.grad))

    @staticmethod
    def histories():
        """How many tensors are held that autograd could go back through."""
        import gc

        import torch
        gc.collect()
        return sum(type(each) is torch.Tensor and each.grad_fn is not None
                   for each in gc.get_objects())

    def test_a_method_that_takes_views(self):
        import cgraph
        text = AUTOGRAD_MODULES.replace("self.layer(x)", "self.layer(torch.from_dlpack(x))")
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder) / "torch_views.py"
            module.write_text(text)
            plan = cgraph.compile(AUTOGRAD.replace("torch_autograd:", "torch_views:"))
            with cgraph.Engine(plan, libraries=[module]) as engine:
                x, index = self.batch(0, 4)
                with self.assertRaisesRegex(cgraph.ExecutionError, "stands where torch.from_dlp"):
                    engine.step(list(x), list(index))

    def test_without_gradients_nothing_is_kept(self):
        with self.engine() as engine:
            x, index = self.batch(0, 4)
            engine.apply(x[0], index[0])
            self.assertEqual(self.histories(), 0)
            engine.step(list(x), list(index))
            self.assertEqual(self.histories(), 0)

    def test_goes_on_tomorrow(self):
        import numpy as np
        path = f"{self.folder.name}/autograd.safetensors"
        batches = self.batches()
        with self.engine() as engine:
            for x, index in batches[:2]:
                engine.step(list(x), list(index))
            engine.save_state(path)
            expected = [np.array(engine.step(list(x), list(index)).loss)
                        for x, index in batches[2:]]
        with self.engine(processes="device") as engine:
            engine.load_state(path)
            found = [np.array(engine.step(list(x), list(index)).loss) for x, index in batches[2:]]
        np.testing.assert_array_equal(found, expected)


if __name__ == "__main__":
    support.main_with_torch("methods that are PyTorch's modules")

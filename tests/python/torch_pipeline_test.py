"""A schedule orders the calls of modules of PyTorch's as their authors say it may: a GPT in two
stages with its natural loop, one micro-batch after the other, runs in the order of 1F1B. Its losses
are those of PyTorch alone and of the same order written by hand, to the bit, and a simulation says
that it takes as long as the latter.

  torch_pipeline_test.py --package build/release/python --torch build/torch-venv/bin/python3

Runs in the Python that has PyTorch (`scripts/setup --torch` makes one), and is skipped without.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support

HERE = pathlib.Path(__file__).resolve().parent
STEPS, BATCHES, ROWS = 3, 4, 4
SIZES = """import std.schedules
import std.tensor
const M = 4
const B = 4
const T = 16
const D = 64
"""
HEAD = SIZES + """actor First(seed: int) {
  method forward(tokens: i64[B, T], mb: int) -> f32[B, T, D] =
      extern "python:gpt_stages:First.keep" CLAUSE cost(flops: 100000000)
  method backward(g: f32[B, T, D], mb: int) =
      extern "python:gpt_stages:First.back" CLAUSE cost(flops: 200000000)
  method update() = extern "python:gpt_stages:First.update"
}
actor Last(seed: int) {
  method learn(h: f32[B, T, D], y: i64[B, T]) -> (loss: f32, g: f32[B, T, D]) =
      extern "python:gpt_stages:Last.learn" cost(flops: 300000000)
  method update() = extern "python:gpt_stages:Last.update"
}
place first = First(1) on cpu[0]
place last = Last(2) on cpu[1]
"""
NATURAL = HEAD.replace("CLAUSE", "keyed by (mb)") + """
graph step(tokens: i64[M, B, T], y: i64[M, B, T]) -> f32[M] using one_f_one_b(stages: 2) {
  var losses = []
  for mb in 0..M {
    let end = last.learn(first.forward(tokens[mb], mb: mb), y[mb])
    first.backward(end.g, mb: mb)
    losses = losses + [end.loss]
  }
  first.update()
  last.update()
  return stack(losses)
}
"""
BY_HAND = HEAD.replace("CLAUSE", "") + """
graph step(tokens: i64[M, B, T], y: i64[M, B, T]) -> f32[M] {
  var h = first.forward(tokens[0], mb: 0)
  var losses = []
  for mb in 0..M {
    let now = h
    if mb + 1 < M { h = first.forward(tokens[mb + 1], mb: mb + 1) }
    let end = last.learn(now, y[mb])
    first.backward(end.g, mb: mb)
    losses = losses + [end.loss]
  }
  first.update()
  last.update()
  return stack(losses)
}
"""
AUTOGRAD = SIZES + """actor First(seed: int) {
  method forward(tokens: i64[B, T]) -> f32[B, T, D] =
      extern "python:gpt_stages:First.forward" grad by auto
  method update() = extern "python:gpt_stages:First.update"
}
actor Last(seed: int) {
  method loss(h: f32[B, T, D], y: i64[B, T]) -> f32 = extern "python:gpt_stages:Last.loss"
      grad by auto
  method update() = extern "python:gpt_stages:Last.update"
}
place first = First(1) on cpu[0]
place last = Last(2) on cpu[1]
graph step(tokens: i64[M, B, T], y: i64[M, B, T]) -> f32[M] using one_f_one_b(2)
    with (forward = [forward, loss]) {
  let losses = stack([last.loss(first.forward(tokens[mb]), y[mb]) for mb in 0..M])
  grad(sum(losses))
  first.update()
  last.update()
  return losses
}
"""


def batch(step):
    import torch
    generator = torch.Generator().manual_seed(step)
    tokens = torch.randint(0, 64, (BATCHES, ROWS, 17), generator=generator)
    return tokens[:, :, :-1].contiguous(), tokens[:, :, 1:].contiguous()


def plain():
    """The losses by PyTorch alone, one micro-batch after the other."""
    import gpt_stages
    import torch
    first, last = gpt_stages.First(1), gpt_stages.Last(2)
    for step in range(STEPS):
        losses = []
        for tokens, labels in zip(*batch(step)):
            loss = last.loss(first(tokens), labels)
            loss.backward()
            losses.append(loss.detach())
        first.update()
        last.update()
        yield torch.stack(losses)


class Pipeline(unittest.TestCase):
    def trained(self, program, **options):
        import cgraph
        import torch
        with cgraph.Engine(cgraph.compile(program), libraries=[HERE / "gpt_stages.py"],
                           **options) as engine:
            return [torch.from_dlpack(engine.step(*batch(step))).clone() for step in range(STEPS)]

    def cgc(self, command, program, *flags):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.cgraph"
            path.write_text(program)
            environment = dict(os.environ, PYTHONPATH=os.path.abspath(support.OPTIONS.package))
            done = subprocess.run([sys.executable, "-m", "cgraph.cgc", command, path, *flags],
                                  capture_output=True, text=True, env=environment, timeout=240,
                                  check=False, cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def order(self, program, name):
        """The calls of a place in the order of its device, "F0F1B0..."."""
        text = self.cgc("compile", program, "--emit", "schedule", "-o", "program.cgplan").stdout
        calls = re.findall(rf"    \d+: {name}\.(\w+) \(mb = (\d)\)", text)
        kinds = {"forward": "F", "loss": "F", "backward": "B", "loss_backward": "B"}
        return "".join(kinds[method] + mb for method, mb in calls)

    def makespan(self, program):
        text = self.cgc("simulate", program, "--json").stdout
        return json.loads(text)["graphs"][0]["makespan_ps"]

    def same(self, program, **options):
        import torch
        for got, expected in zip(self.trained(program, **options), plain(), strict=True):
            self.assertTrue(torch.equal(got, expected), f"{got} is not {expected}")

    def test_natural_loop(self):
        self.assertEqual(self.order(NATURAL, "first"), "F0F1B0F2B1F3B2B3")
        self.assertAlmostEqual(self.makespan(NATURAL) / self.makespan(BY_HAND), 1, delta=0.001)
        self.same(NATURAL)
        self.same(NATURAL, processes="device")
        self.same(BY_HAND)

    def test_unstated(self):
        """Without clauses the calls keep program order, and a warning says why."""
        program = NATURAL.replace("keyed by (mb)", "")
        self.assertEqual(self.order(program, "first"), "F0B0F1B1F2B2F3B3")
        self.assertIn("[W0511]", self.cgc("check", program).stderr)

    def test_autograd(self):
        self.assertEqual(self.order(AUTOGRAD, "first"), "F0F1B0F2B1F3B2B3")
        self.assertEqual(self.order(AUTOGRAD, "last"), "F0B0F1B1F2B2F3B3")
        self.same(AUTOGRAD)
        self.same(AUTOGRAD, processes="device")


if __name__ == "__main__":
    support.main_with_torch("schedules of PyTorch's modules")

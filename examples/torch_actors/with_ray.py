#!/usr/bin/env python3
"""The same two stages as actors of Ray's: the same results, and the time of a training step beside
that of cgraph with a process for each stage, in turn.

  with_ray.py [--steps 200]          needs PyTorch and `pip install ray`
"""
import argparse
import os
import statistics
import time

import ray
import torch

import cgraph
import stages
from train import CLASSES, HERE, INPUTS, WIDTH, batch


class First(stages.First):
    """Goes back through what it has computed when the gradient comes, by hand."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.kept = {}  # by micro-batch

    def ahead(self, x, mb):
        self.kept[mb] = self(x)
        return self.kept[mb].detach()

    def back(self, g, mb):
        self.kept.pop(mb).backward(g)


class Second(stages.Second):
    def learn(self, h, label):
        h = h.clone().requires_grad_()
        loss = self.loss(h, label)
        loss.backward()
        return loss.detach(), h.grad


def step_of_ray(first, second, x, label):
    h = [first.ahead.remote(x[mb], mb) for mb in range(len(x))]
    ends = [second.learn.options(num_returns=2).remote(h[mb], label[mb]) for mb in range(len(x))]
    for mb, (_, g) in enumerate(ends):
        first.back.remote(g, mb)
    updated = [first.update.remote(), second.update.remote()]
    losses = ray.get([loss for loss, _ in ends])
    ray.get(updated)
    return torch.stack(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    first = ray.remote(First).remote(INPUTS, WIDTH, 1)
    second = ray.remote(Second).remote(WIDTH, CLASSES, 2)
    plan = cgraph.compile(HERE / "torch_actors.cgraph")
    times = {"cgraph": [], "Ray": []}
    with cgraph.Engine(plan, libraries=[stages], processes="device") as engine:
        for step in range(args.steps):
            x, label = batch(step)
            start = time.perf_counter()
            ours = torch.from_dlpack(engine.step(x=x, label=label))
            middle = time.perf_counter()
            theirs = step_of_ray(first, second, x, label)
            end = time.perf_counter()
            times["cgraph"].append(middle - start)
            times["Ray"].append(end - middle)
            if not torch.equal(ours, theirs):
                raise SystemExit(f"step {step}: {ours} is not Ray's {theirs}")
    ray.shutdown()
    for name, each in times.items():
        print(f"{name}: {1e3 * statistics.median(each):.2f} ms a step")
    ratio = statistics.median(b / a for a, b in zip(times["cgraph"], times["Ray"]))
    print(f"Ray over cgraph: {ratio:.1f}, the median of {args.steps} steps")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A training step of the GPT of examples/training, 8 texts of 128 tokens, by cgraph and by PyTorch,
eager and compiled, on the same cores, in turn.

  build/torch-venv/bin/python bench/models/training.py [--rounds 20]
"""
import itertools
import sys
import tempfile
import warnings

import harness
import numpy as np

sys.path.insert(0, str(harness.ROOT / "examples" / "training"))
import data  # noqa: E402

STEPS = 3  # of a round
TEXTS = 8
CASES = [
    (1, "PyTorch, 1 thread", "torch", {"threads": 1}),
    (1, "PyTorch, compiled, 1 thread", "torch", {"threads": 1, "compiled": True}),
    (1, "cgraph, 1 device", "cgraph", {"defines": {}}),
    (2, "PyTorch, 2 threads", "torch", {"threads": 2}),
    (2, "PyTorch, compiled, 2 threads", "torch", {"threads": 2, "compiled": True}),
    (2, "cgraph, 2 devices by DP", "cgraph", {"defines": {"DP": 2, "M": 1}}),
    (2, "cgraph, 2 devices by TP", "cgraph", {"defines": {"TP": 2}}),
    (2, "cgraph, 2 devices by PP", "cgraph", {"defines": {"PP": 2}}),
    (2, "cgraph, 2 processes by DP", "cgraph",
     {"defines": {"DP": 2, "M": 1}, "processes": "device"}),
]


def cgraph_engine(how):
    import cgraph
    warnings.simplefilter("ignore", cgraph.CompileWarning)  # what TP's last stage makes twice
    plan = cgraph.compile(harness.ROOT / "examples" / "training" / "gpt.cgraph",
                          defines=how.get("defines", {}))
    return cgraph.Engine(plan, processes=how.get("processes"))


def cgraph_steps(how, tokens, labels):
    engine = cgraph_engine(how)
    while True:
        yield float(np.asarray(engine.step(tokens=tokens, next=labels)))


def torch_steps(how, tokens, labels):
    import gpt_torch
    import torch
    torch.set_num_threads(how["threads"])
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        with cgraph_engine({}) as engine:
            engine.save_state(file.name)
        weights = {name: torch.from_numpy(each.copy())
                   for name, each in data.read_state(file.name).items()}
    stage = gpt_torch.Stage(weights)
    optimizer = gpt_torch.optimizer_of(stage)
    run = torch.compile(stage) if how.get("compiled") else stage
    parts = [[torch.from_numpy(each) for each in np.split(array, gpt_torch.M)]
             for array in (tokens, labels)]
    while True:
        optimizer.zero_grad()
        losses = torch.stack([gpt_torch.loss_of(run(x), y) for x, y in zip(*parts)])
        losses.mean().backward()
        optimizer.step()
        yield losses.mean().item()


def make(how):
    batch = data.texts(1, TEXTS, 128)
    expected = [*itertools.islice(torch_steps({"threads": 1}, *batch), 3)]
    steps = {"torch": torch_steps, "cgraph": cgraph_steps}[how["kind"]](how, *batch)
    for right, loss in zip(expected, steps):
        if not abs(loss - right) <= 1e-5 * right:  # nor where it is no number
            sys.exit(f"a loss is {loss} and should be {right}")

    def work():
        for _ in range(STEPS):
            next(steps)
    return work


if __name__ == "__main__":
    harness.main(__doc__, CASES, make, STEPS)

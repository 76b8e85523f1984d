#!/usr/bin/env python3
"""A training step of two stages that are PyTorch's modules: a natural loop that the schedule brings
into the order of 1F1B, and the same order written by hand.

  build/torch-venv/bin/python bench/models/torch_pipeline.py [--rounds 50]
"""
import sys

import harness

TESTS = harness.ROOT / "tests" / "python"
sys.path.insert(0, str(TESTS))
import torch_pipeline_test as programs  # noqa: E402

STEPS = 20  # of a round
CASES = [(cores, f"{name}, {way}", name, {"processes": processes})
         for cores, way, processes in ((1, "threads", None), (2, "processes", "device"))
         for name in ("by hand", "natural loop")]


def make(how):
    import cgraph
    import torch
    program = programs.BY_HAND if how["kind"] == "by hand" else programs.NATURAL
    engine = cgraph.Engine(cgraph.compile(program), libraries=[TESTS / "gpt_stages.py"],
                           processes=how["processes"])
    for step, right in enumerate(programs.plain()):
        loss = torch.from_dlpack(engine.step(*programs.batch(step)))
        if not torch.equal(loss, right):
            sys.exit(f"losses are {loss} and should be {right}")
    batch = programs.batch(0)

    def work():
        for _ in range(STEPS):
            engine.step(*batch)
    return work


if __name__ == "__main__":
    harness.main(__doc__, CASES, make, STEPS)

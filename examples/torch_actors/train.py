#!/usr/bin/env python3
"""Trains the pipeline of torch_actors.cgraph, and the same two modules by PyTorch alone; the losses
are equal to the bit.

  train.py                        in one process
  train.py --processes            each stage in a process of its own
  train.py --save --folder DIR    write the stages and their optimizers when it is done
  train.py --load --folder DIR    go on from there
"""
import argparse
import os
import pathlib

import torch

import cgraph
import stages

HERE = pathlib.Path(__file__).resolve().parent
MICRO_BATCHES, ROWS, INPUTS, WIDTH, CLASSES = 4, 16, 8, 32, 3


def batch(step):
    """Points, and which of three planes is the highest there."""
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(MICRO_BATCHES, ROWS, INPUTS, generator=generator)
    return x, x[:, :, :CLASSES].argmax(dim=2)


def plain(steps, folder):
    """The losses by PyTorch alone."""
    first, second = stages.First(INPUTS, WIDTH, 1), stages.Second(WIDTH, CLASSES, 2)
    if folder:
        first.load(f"{folder}/first.pt")
        second.load(f"{folder}/second.pt")
    for step in steps:
        losses = []
        for x, label in zip(*batch(step)):
            loss = second.loss(first(x), label)
            loss.backward()
            losses.append(loss.detach())
        first.update()
        second.update()
        yield torch.stack(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", action="store_true", help="a process for each stage")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--first-step", type=int, default=0)
    parser.add_argument("--load", action="store_true", help="go on from what was saved")
    parser.add_argument("--save", action="store_true", help="save the stages when it is done")
    parser.add_argument("--folder", default=".", help="of what is saved")
    args = parser.parse_args()
    steps = range(args.first_step, args.first_step + args.steps)
    plan = cgraph.compile(HERE / "torch_actors.cgraph",
                          defines={"FOLDER": os.path.abspath(args.folder)})
    with cgraph.Engine(plan, libraries=[stages],
                       processes="device" if args.processes else None) as engine:
        if args.load:
            engine.load()
        for step, expected in zip(steps, plain(steps, args.folder if args.load else None)):
            x, label = batch(step)
            losses = torch.from_dlpack(engine.step(x=x, label=label))
            if not torch.equal(losses, expected):
                raise SystemExit(f"step {step}: {losses} is not PyTorch's {expected}")
        if args.save:
            engine.save()
        processes = max(1, len(engine.stats()["processes"]))
    print(f"{args.steps} steps in {processes} process(es): the loss is {losses.mean():.4f}, as by "
          "PyTorch alone, to the bit")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Trains the examples of this folder in several ways, from the same weights, and compares losses.

  check.py                            all of them
  check.py moe --steps 100            one of them, for longer
  check.py --cgrun build/release/cgrun --device-map 'gpu[*]=cpu:0'

One device is compared with several, threads with processes, and different orders of the same sums;
where this Python has PyTorch, also with the same model there, on one device, and by hand on
several, as processes with gloo. At the end stand the lines of code of the program and of PyTorch's
training on several devices, each without lines of brackets alone, imports and comments.
"""
import argparse
import dataclasses
import importlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import data

HERE = pathlib.Path(__file__).resolve().parent
HAS_TORCH = importlib.util.find_spec("torch") is not None
# Losses of as many steps, relative to the greatest, differ by no more than this where sums have
# another order. The difference grows with the steps, since each begins where the last one ended.
TOLERANCE = 2e-5


@dataclasses.dataclass
class Example:
    name: str
    inputs: tuple     # names of the two inputs
    make: object      # steps -> both, for so many steps
    output: str       # the loss
    single: dict      # consts of one device of each kind
    several: list     # consts that are compared with it
    hand: tuple       # processes of the training by hand, and the consts that mean the same
    same: list        # consts and flags with the sums of several[0] in the same order
    flags: tuple = ()


EXAMPLES = [
    Example("gpt", ("tokens", "next"), lambda steps: data.texts(steps, 8, 32), "result",
            {"S": 32}, [{"S": 32, "TP": 2}, {"S": 32, "PP": 4, "TP": 1},
                        {"S": 32, "DP": 2, "M": 1, "PP": 2, "TP": 2}],
            (4, {"S": 32, "PP": 2, "TP": 2}),
            [({"S": 32, "TP": 2, "PP": 2}, ()),
             ({"S": 32, "TP": 2, "PP": 2}, ("--schedule", "zb_h1(PP)")),
             ({"S": 32, "TP": 2, "PP": 4}, ("--schedule", "gpipe()"))]),
    Example("clip", ("x", "names"), lambda steps: [a[:10 * steps] for a in data.pairs()], "result",
            {"I": 1, "T": 1, "M": 1}, [{"I": 2, "T": 2, "M": 2}, {"I": 5, "T": 4, "M": 5}],
            (4, {"I": 2, "T": 2, "M": 2}),
            [({"I": 2, "T": 1, "M": 2}, ()), ({"I": 2, "T": 4, "M": 2}, ())],
            ("--graph", "step")),
    Example("moe", ("x", "y"), lambda steps: data.batches(64, steps, 16), "loss", {"D": 1},
            [{"D": 2}, {"D": 4}], (4, {"D": 4}),
            [({"D": 2}, ("--schedule", "auto"))]),
    Example("fsdp", ("x", "y"), lambda steps: data.batches(64, steps), "result", {"D": 1},
            [{"D": 2}, {"D": 4}], (2, {"D": 2}),
            [({"D": 2}, ("--schedule", each)) for each in ("program", "fsdp(0)", "fsdp(2)")]),
]


class Checks:
    def __init__(self):
        self.count, self.wrong = 0, 0

    def equal(self, what, a, b):
        self.says(what, np.array_equal(a, b), "the same bits")

    def close(self, what, a, b):
        difference = abs(a - b).max() / abs(b).max()
        self.says(what, difference < TOLERANCE, f"within {difference:.1e}")

    def says(self, what, right, how):
        self.count += 1
        self.wrong += not right
        print(f"  {what}: {how if right else 'WRONG, ' + how}")


def consts(values):
    return [word for name, value in values.items() for word in ("-D", f"{name}={value}")]


def in_words(values, flags=()):
    return " ".join([*(f"{name}={value}" for name, value in values.items()), *flags])


def train(runner, example, values, folder, flags=()):
    """The losses of cgrun, from files x.npy ... in the folder. `runner` begins the command."""
    words = [*runner, HERE / f"{example.name}.cgraph", "--every", *example.flags,
             *consts(values)]
    for name in example.inputs:
        words += ["--input", f"{name}={folder}/{name}.npy", "--batch", name]
    subprocess.run([*words, "--output", f"{example.output}={folder}/loss.npy", *flags], check=True,
                   timeout=300)
    return np.load(f"{folder}/loss.npy").reshape(-1)


def train_in_torch(example, function, arrays, state, steps, **group):
    """The losses of PyTorch, or None of a process that has none."""
    import torch
    torch.set_num_threads(1)
    weights = {name: torch.from_numpy(array.copy())
               for name, array in data.read_state(state).items()}
    train_by = getattr(importlib.import_module(f"{example.name}_torch"), function)
    losses = list(train_by(weights, *map(torch.from_numpy, arrays), steps, **group))
    return None if losses[0] is None else np.array(losses)


def one_of_several(rank, name, arrays, state, steps, folder):
    """One process of the training by hand; the first one writes the losses."""
    warnings.simplefilter("ignore", FutureWarning)  # PyTorch's own, of torch.distributed.nn
    example = find(name)
    losses = train_in_torch(example, "train_divided", arrays, state, steps, backend="gloo",
                            init_method=f"file://{folder}/group", rank=rank,
                            world_size=example.hand[0])
    if rank == 0:
        np.save(f"{folder}/by_hand.npy", losses)
    os._exit(0)  # without the destructors of gloo's threads, which abort now and then


def by_hand(example, *rest):
    """The losses of PyTorch in several processes, which this program starts."""
    import torch.multiprocessing
    made = pathlib.Path(rest[-1]) / "by_hand.npy"
    try:
        torch.multiprocessing.spawn(one_of_several, (example.name, *rest), nprocs=example.hand[0])
    except torch.multiprocessing.ProcessExitedException:
        if not made.exists():  # gloo may abort a process that has done its work
            raise
    return np.load(made)


def find(name):
    return next(each for each in EXAMPLES if each.name == name)


def check(runner, example, steps, folder, checks):
    print(f"{example.name}, {steps} steps")
    arrays = example.make(steps)
    for name, array in zip(example.inputs, arrays):
        np.save(f"{folder}/{name}.npy", array)
    state = f"{folder}/initial.safetensors"
    subprocess.run([*runner, HERE / f"{example.name}.cgraph", *example.flags,
                    *consts(example.single), "-n", "0", "--save-state", state], check=True,
                   timeout=300)
    one = train(runner, example, example.single, folder)
    checks.says("the loss goes down", one[-5:].mean() < 0.9 * one[:5].mean(),
                f"from {one[:5].mean():.3f} to {one[-5:].mean():.3f}")
    for values in example.several:
        losses = train(runner, example, values, folder)
        checks.close(f"{in_words(values)}, and one device", losses, one)
        if "--device-map" not in runner:  # cgrun takes one of the two
            checks.equal(f"{in_words(values)}, processes and threads",
                         train(runner, example, values, folder, ("--processes", "device")), losses)
    first = example.several[0]
    losses = train(runner, example, first, folder)
    for values, flags in example.same:
        checks.equal(f"{in_words(values, flags)}, and {in_words(first)}",
                     train(runner, example, values, folder, flags), losses)
    if HAS_TORCH:
        checks.close("one device, and PyTorch", one,
                     train_in_torch(example, "train", arrays, state, steps))
        checks.close(f"PyTorch by hand in {example.hand[0]} processes, and cgrun",
                     by_hand(example, arrays, state, steps, folder),
                     train(runner, example, example.hand[1], folder))
    else:
        print("  PyTorch is not installed here")


def lines_of_code(path, no_part=None):
    """Lines that have code: not those that are empty, brackets alone, comments, documentation or
    imports, and not those of a part that has this heading."""
    count, part, in_text = 0, "", False
    for line in map(str.strip, (HERE / path).read_text().splitlines()):
        if line.startswith("# ----"):
            part = line.strip("#- ")
        quotes = line.count('"""')
        is_code = re.search(r"\w", line) and not re.match("//|#|import |from ", line)
        count += bool(is_code and not in_text and not quotes and part != no_part)
        in_text ^= quotes == 1
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("examples", nargs="*", help="of " + ", ".join(e.name for e in EXAMPLES))
    parser.add_argument("--cgrun", default="cgrun", help="the runner")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device-map", metavar="MAP", help="where there are fewer GPUs than nine: "
                        "gpu[*]=cuda:0, or gpu[*]=cpu:0 for none; no processes are tried then")
    options = parser.parse_args()
    runner = [options.cgrun, "-q"]
    if options.device_map:
        runner += ["--device-map", options.device_map]
    checks = Checks()
    chosen = [find(name) for name in options.examples] or EXAMPLES
    for example in chosen:
        with tempfile.TemporaryDirectory() as folder:
            check(runner, example, options.steps, folder, checks)
        ours, theirs = (lines_of_code(f"{example.name}.cgraph"),
                        lines_of_code(f"{example.name}_torch.py", no_part="one device"))
        checks.says("lines of code", ours < theirs, f"{ours}, by hand in PyTorch {theirs}")
    print(f"training: {checks.count} checks, {checks.wrong} wrong"
          + ("" if HAS_TORCH else ", without PyTorch"))
    sys.exit(1 if checks.wrong or not checks.count else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares the tokens that the compiled model chooses, 64 after each of three questions, with those
of NumPy and, where they are installed, of PyTorch's transformers, however the model is divided; the
exit code says whether all are equal.

    check.py [--weights q4_1] [--activations f32] [--quick] [--build build/release]
             [--folder build/smollm2]
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# The first import, since it says which modules are missing.
from model import FOLDER, FORMATS, ROOT, WEIGHTS, Model, Text, compiled, missing, read_config

import numpy as np
from reference import NumPyModel, TorchModel, greedy, load

QUESTIONS = ["What is the capital of France? Answer in one sentence.",
             "Write a short poem about the sea.",
             "Explain in plain words why the sky is blue, and why it is red in the evening."]
TOKENS = 64
# Consts of the program, and arguments of cgraph.Engine: threads, processes, few tokens at once.
WAYS = [({"T": t, "P": p}, {}) for t in (1, 3) for p in (1, 2, 5)]
WAYS += [({"T": 2, "P": 1}, {}), ({"T": 3, "P": 2}, {"workers": 1}), ({"N": 7, "S": 160}, {}),
         ({"T": 1, "P": 5}, {"processes": "device"}), ({"T": 3, "P": 2}, {"processes": "device"})]
QUICK = [WAYS[0], WAYS[4]]
ON_MACHINES = {"T": 1, "P": 2, "M": 2}


class Table:
    """Prints what was equal, a line for each way."""

    def __init__(self, expected):
        self.expected, self.wrong = expected, 0

    def row(self, way, found):
        equal = sum(a == b for e, f in zip(self.expected, found, strict=True)
                    for a, b in zip(e, f, strict=True))
        count = sum(map(len, self.expected))
        self.wrong += equal != count
        print(f"{'ok  ' if equal == count else 'FAIL'} {equal:4} of {count} tokens equal: {way}",
              flush=True)


def named(defines, engine=()):
    return ", ".join(f"{name}={value}" for name, value in {**defines, **dict(engine)}.items())


def always(options):
    """Consts of the program in all ways."""
    return {"END": -1, **({} if options.activations == "f32" else
                          {"Activation": options.activations})}


def by_cgraph(options, defines, engine, prompts, count):
    model = Model(options.folder, options.weights, options.build, {**always(options), **defines},
                  **engine)
    found = []
    for prompt in prompts:
        model.restart()
        found.append(list(model.answer(prompt, most=count)))
    model.engine.close()
    return found


def by_mpi(options, mpi, prompts, count):
    """Each of two machines is a process that mpirun starts."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   "OMPI_MCA_hwloc_base_binding_policy": "none"}
    plan, _ = compiled(options.folder, options.weights, options.build,
                       {**always(options), **ON_MACHINES})
    found = []
    with tempfile.TemporaryDirectory() as folder:
        plan.save(f"{folder}/smollm2.cgplan")
        for prompt in prompts:
            np.save(f"{folder}/tokens.npy", np.array(prompt, np.int64))
            done = subprocess.run(
                [f"mpirun.{mpi}", "-n", str(ON_MACHINES["M"]), options.build / "cgrun", "-q",
                 f"{folder}/smollm2.cgplan", "--weights", options.folder / options.weights,
                 "--graph", "answer", "--input", f"tokens={folder}/tokens.npy", "--input",
                 f"most={count - 1}", "--json"],
                capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                sys.exit(f"{done.stdout}{done.stderr}mpirun.{mpi} ends with {done.returncode}")
            outputs = json.loads(done.stdout)["outputs"]
            found.append([token for (token,) in outputs["token"]["data"]])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weights", choices=FORMATS, default=WEIGHTS)
    parser.add_argument("--activations", choices=("f32", "bf16"), default="f32",
                        help="what is multiplied by weights; with bf16 sums that are made in "
                        "another order may be rounded otherwise, and another token be chosen")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--quick", action="store_true", help="one question, two ways")
    options = parser.parse_args()
    lacking = missing(options.folder, options.weights)
    if lacking:
        sys.exit(f"check.py: {lacking}")
    text = Text(options.folder)
    prompts = [text.question(each) for each in QUESTIONS[:1 if options.quick else None]]
    weights, config = load(options.folder / options.weights), read_config(options.folder)

    numpy_model = NumPyModel(weights, config, options.activations)
    expected, leads = zip(*(greedy(numpy_model, prompt, TOKENS) for prompt in prompts))
    print(f"NumPy, activations in {options.activations}: {sum(map(len, expected))} tokens; each "
          f"leads the second by {min(map(min, leads)):.4f} at least", flush=True)
    table = Table(expected)
    if not all(map(importlib.util.find_spec, ("torch", "transformers"))):
        print("SKIPPED: the comparison with transformers, which this Python does not have")
    elif not options.quick and options.activations == "f32":  # theirs round sums, too
        torch_model = TorchModel(weights, config)
        table.row("PyTorch's transformers",
                  [greedy(torch_model, prompt, TOKENS)[0] for prompt in prompts])
        del torch_model
    del numpy_model, weights
    for defines, engine in QUICK if options.quick else WAYS:
        table.row(named(defines, engine), by_cgraph(options, defines, engine, prompts, TOKENS))
    for mpi in () if options.quick else ("openmpi", "mpich"):
        library = options.build / f"libcgraph_{mpi}.so"
        if not library.exists() or not shutil.which(f"mpirun.{mpi}"):
            print(f"SKIPPED: two machines by mpirun.{mpi}: it, or {library}, is not there")
        else:
            table.row(f"{named(ON_MACHINES)}, by mpirun.{mpi}",
                      by_mpi(options, mpi, prompts, TOKENS))
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

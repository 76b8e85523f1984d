#!/usr/bin/python3
"""examples/training/digits.cgraph: trained by one command, it gets 98 % of the test images right;
a training that is stopped goes on to the same bits; its losses are those of digits_torch.py.

  digits_training_test.py --cgc build/release/cgc --cgrun build/release/cgrun
                          --torch build/torch-venv/bin/python3

What needs PyTorch is left out where there is no such Python, and said so.
"""
import argparse
import ast
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import tokenize

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "training"
DIGITS = ROOT / "examples" / "digits"
sys.path[:0] = [str(ROOT / "tests" / "support"), str(DIGITS), str(EXAMPLE)]
import expectations  # noqa: E402
from expectations import expect, says  # noqa: E402
from model import gelu, load_safetensors, scores  # noqa: E402
from permutation import permutation  # noqa: E402

EPOCHS, STEPS_OF_EPOCH, SHUFFLE, LOGGED = 400, 22, 1, 880
STEPS = EPOCHS * STEPS_OF_EPOCH


def command(line, folder):
    # One thread for PyTorch and NumPy: the tensors are small.
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, cwd=folder,
                          timeout=240, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    expect(done.returncode == 0, f"{line}: exit code {done.returncode}", done.stdout + done.stderr)
    return done.stdout + done.stderr


class Training:
    def __init__(self, options, folder):
        self.cgrun, self.folder = options.cgrun, pathlib.Path(folder)
        command([sys.executable, DIGITS / "split.py"], folder)
        command([options.cgc, "compile", "-q", EXAMPLE / "digits.cgraph", "-o", "digits.cgplan"],
                folder)

    def line(self, states, *flags, by=("--workers", "1")):
        return [self.cgrun, "digits.cgplan", "--graph", "step", *by,
                "--epochs", str(EPOCHS), "--shuffle", str(SHUFFLE), "--batch", "x", "--batch", "y",
                "--input", "x=train_x.npy", "--input", "y=train_y.npy", "--log", "loss",
                "--save-state", f"{states}.safetensors", *flags]

    def bytes_of(self, states):
        return (self.folder / f"{states}.safetensors").read_bytes()

    def stopped(self, states, by, at, *flags):
        """Trains until a line says that `at` executions are done, and sends the signal `by`."""
        run = subprocess.Popen(self.line(states, "-q", "--log-every", "100", "--save-every", "70",
                                         *flags, "--output", "loss=part.npy"),
                               cwd=self.folder, stderr=subprocess.PIPE, text=True)
        for line in run.stderr:
            found = re.match(r"execution=(\d+) ", line)
            if found and int(found[1]) >= at:
                run.send_signal(by)
                break
        run.stderr.read()
        status = run.wait(timeout=60)
        expect(status != 0, f"the training was over before it was stopped at {at}")
        return status


def is_trained(t):
    """Trains in one go; returns the loss of each step."""
    told = command(t.line("whole", "--every", "--log-every", str(LOGGED), "--eval", "accuracy",
                          "--eval-every", "1760", "--input", "accuracy.x=test_x.npy", "--input",
                          "accuracy.y=test_y.npy", "--output", "loss=whole.npy"), t.folder)
    losses = np.load(t.folder / "whole.npy")
    expect(losses.shape == (EPOCHS, STEPS_OF_EPOCH), f"losses of the shape {losses.shape}")
    logged = [float(x) for x in re.findall(r"^execution=\d+ .*\bloss=(\S+)", told, re.M)]
    means = losses.reshape(-1, LOGGED).mean(axis=1)
    expect(np.allclose(logged, means, rtol=1e-4), f"logged {logged}, not {means}")
    expect(means[-1] < 0.05 and losses[0, 0] > 1.5, f"the losses do not fall: {means}")

    weights = load_safetensors(t.folder / "whole.safetensors")
    x, y = (np.load(t.folder / f"test_{name}.npy") for name in "xy")
    right = (scores(weights, x, gelu).argmax(axis=1) == y).mean()
    shown = [float(x) for x in re.findall(r"accuracy\.right=(\S+)", told)]
    expect(len(shown) == 5 and abs(shown[-1] - right) < 1e-5, f"{shown}; NumPy: {right}")
    expect(right >= 0.98, f"{right:.2%} of the test images are right")
    print(f"{STEPS} steps, {right:.2%} of {len(y)} test images right")
    return losses


def classifies(t):
    command([t.cgrun, "-q", "digits.cgplan", "--graph", "classify", "--load-state",
             "whole.safetensors", "--batch", "x", "--input", f"x={DIGITS / 'images.npy'}",
             "--output", "scores=scores.npy", "--output", "label=labels.npy"], t.folder)
    check = [sys.executable, str(DIGITS / "check.py"), "--scores", "scores.npy", "--labels",
             "labels.npy", "--gelu", "--weights"]
    says(command([*check, "whole.safetensors"], t.folder), "0 of 1797 labels differ")
    wrong = subprocess.run([*check, "initial.safetensors"], cwd=t.folder, capture_output=True,
                           text=True, check=False)
    expect(wrong.returncode == 1 and wrong.stdout.count("FAIL") >= 2, "the check cannot fail",
           wrong.stdout + wrong.stderr)


def goes_on(t):
    """The bits of a run that was not disturbed: after an interrupt and a kill, by more threads, by
    processes."""
    t.stopped("part", signal.SIGINT, 700)
    t.stopped("part", signal.SIGKILL, 3000, "--load-state", "part.safetensors")
    told = command(t.line("part", "--load-state", "part.safetensors", "--output", "loss=part.npy"),
                   t.folder)
    executed = int(re.search(r"saved after (\d+) of 8800 executions", told)[1])
    expect(2900 <= executed < STEPS, f"it goes on behind {executed} executions")
    expect(t.bytes_of("part") == t.bytes_of("whole"), "a stopped run ends with other states")
    for by in ((), ("--processes", "device")):
        command(t.line("other", "--output", "loss=part.npy", by=by), t.folder)
        expect(t.bytes_of("other") == t.bytes_of("whole"), f"other states are left by {by}")


def by_torch(folder):
    """Runs in the Python that has PyTorch: digits_torch.py from the same weights, in the same
    order; writes the loss of each step."""
    import torch
    import digits_torch
    os.chdir(folder)
    training = digits_torch.Training(digits_torch.Net())
    initial = load_safetensors("initial.safetensors")
    with torch.no_grad():
        for name, parameter in training.net.named_parameters():
            parameter.copy_(torch.from_numpy(initial[name].T.copy()))
    digits_torch.order = lambda rows, epoch: torch.tensor(permutation(rows, SHUFFLE, epoch))
    np.save("torch.npy", np.array(training.run(EPOCHS, "states.pt"), np.float32))


def is_as_torch(t, torch, losses):
    command([torch, __file__, "--by-torch", t.folder], t.folder)
    difference = np.abs(losses.reshape(-1) - np.load(t.folder / "torch.npy")).max()
    expect(difference < 1e-5, f"a loss differs from PyTorch's by {difference:.1e}")
    print(f"no loss differs from PyTorch's by more than {difference:.1e}")
    # The program as it stands, with an order of its own.
    script = [torch, EXAMPLE / "digits_torch.py", "--save-state", "own.pt", "--epochs"]
    says(command([*script, "40"], t.folder), "execution=880 loss=")
    says(command([*script, "80"], t.folder), "execution=1760 loss=")


def lines_of_cgraph(text):
    return sum(bool(line.partition("//")[0].strip()) for line in text.splitlines())


def lines_of_python(text):
    """Lines with code: neither blank nor of comments or docstrings alone."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    strings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            strings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
            tokenize.ENDMARKER}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in idle:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - strings)


def is_shorter():
    expect(lines_of_cgraph("// a\n\nlet x = 1  // b\nreturn x\n") == 2, "lines of the language")
    expect(lines_of_python('"""a\nb"""\n\n# c\nx = (1,\n     2)  # d\n') == 2, "lines of Python")
    ours = lines_of_cgraph((EXAMPLE / "digits.cgraph").read_text())
    theirs = lines_of_python((EXAMPLE / "digits_torch.py").read_text())
    print(f"lines of code: {ours} of digits.cgraph, {theirs} of digits_torch.py")
    expect(0 < ours < theirs, f"digits.cgraph has {ours} lines, digits_torch.py {theirs}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--torch", help="a Python that has PyTorch", default="")
    parser.add_argument("--by-torch", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.by_torch:
        return by_torch(options.by_torch)
    with tempfile.TemporaryDirectory() as folder:
        training = Training(options, folder)
        command([options.cgrun, "-q", "digits.cgplan", "--graph", "step", "-n", "0",
                 "--save-state", "initial.safetensors"], folder)
        losses = is_trained(training)
        classifies(training)
        goes_on(training)
        is_shorter()
        if os.path.exists(options.torch):
            is_as_torch(training, os.path.abspath(options.torch), losses)
        else:
            print(f"SKIPPED: the losses of PyTorch: there is no {options.torch or '--torch'}")
    print(f"digits_training: {expectations.checks} checks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The gradients of the library's ops, asked for by `grad` in a program that cgc compiles and cgrun
runs.

Of each op of floats, each float operand in f64: against central finite differences in three random
directions, to 1e-6 of what they are; where PyTorch is installed, against its autograd, to 1e-5; and
in f32, f16 and bf16 against f64. Every op of the library that has a float operand and a float
result declares a gradient, or `grad ()`, and has a case here.

  rules_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--only OP] [--device gpu[0]]

With `--device gpu[0]` all ops run on a GPU, the expressions as well as what their rules are made
of: its kernels are held against the same differences. A kernel that GPUs lack fails the test.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from tensor_files import bf16, wide  # noqa: E402

STDLIB = pathlib.Path(__file__).resolve().parents[2] / "stdlib" / "std"
HEAD = "".join(f"import std.{module}\n" for module in ("tensor", "nn", "grad", "random"))
STEP = 1e-6

random = np.random.default_rng(3)


def real(*shape):
    return random.normal(size=shape)


def positive(*shape):
    return random.uniform(0.5, 2, size=shape)


def index(below, *shape):
    return random.integers(0, below, shape)


class Case:
    """An expression of named operands. The loss is the sum of its sines, so that what comes back
    differs from element to element; PyTorch says the same by `torch`, where it can."""

    def __init__(self, name, expression, torch=None, low=True, **operands):
        self.name, self.expression, self.torch = name, expression, torch
        self.low = low  # whether f16 and bf16 are precise enough to try
        self.operands = {k: np.asarray(v) for k, v in operands.items()}
        self.floats = [k for k, v in self.operands.items() if v.dtype.kind in "fV"]


BATCHES = [((), ()), ((2,), ()), ((), (3,)), ((3,), (2, 1)), ((2, 3), (3,))]


def products():
    """matmul by its two flags, with and without batches, on either side."""
    for ta in (0, 1):
        for tb in (0, 1):
            for batch_a, batch_b in BATCHES:
                a = real(*batch_a, *((4, 2) if ta else (2, 4)))
                b = real(*batch_b, *((3, 4) if tb else (4, 3)))
                said = [str(bool(flag)).lower() for flag in (ta, tb)]
                flags = f"transpose_a: {said[0]}, transpose_b: {said[1]}"
                torch = f"({'a.mT' if ta else 'a'}) @ ({'b.mT' if tb else 'b'})"
                yield Case("matmul", f"matmul(a, b, {flags})", torch, a=a, b=b)


def elementwise():
    a, b = real(2, 3), real(3)
    yield Case("add", "a + b", "a + b", a=a, b=b)
    yield Case("subtract", "a - b", "a - b", a=a, b=real(2, 1))
    yield Case("multiply", "a * b", "a * b", a=real(), b=b)
    yield Case("divide", "a / b", "a / b", a=a, b=positive(3))
    yield Case("modulo", "modulo(a, {2.0})", "torch.remainder(a, 2.0)", a=a)
    for name in ("minimum", "maximum"):
        yield Case(name, f"{name}(a, b)", f"torch.{name}(a, b)", a=a, b=b)
    yield Case("pow", "pow(a, b)", "a ** b", a=positive(2, 3), b=b)
    yield Case("pow", "pow(a, {3.0})", "a ** 3", a=a)
    yield Case("clamp", "clamp(a, b, c)", "torch.clamp(a, b, c)", a=2 * real(4, 3),
               b=real(3) - 1, c=real(3) + 1)
    yield Case("clamp", "clamp(a, min: {0.1})", "torch.clamp(a, min=0.1)", a=a)
    yield Case("clamp", "clamp(a, max: {0.1})", "torch.clamp(a, max=0.1)", a=a)
    for name in ("abs", "square", "exp", "tanh", "erf", "sin", "cos"):
        yield Case(name, f"{name}(a)", f"torch.{name}(a)", a=a)
    for name in ("sqrt", "rsqrt", "log"):
        yield Case(name, f"{name}(a)", f"torch.{name}(a)", a=positive(2, 3))
    yield Case("negate", "-a", "-a", a=a)
    for name in ("where", "select"):
        yield Case(name, f"{name}(c > {{0.0}}, a, b)", "torch.where(c > 0, a, b)", a=b,
                   b=real(2, 1), c=real(2, 3))
    yield Case("sigmoid", "sigmoid(a)", "torch.sigmoid(a)", a=a)
    for name in ("relu", "silu", "gelu"):
        yield Case(name, f"{name}(a)", f"F.{name}(a)", a=a)
    yield Case("copy", "copy(a)", "a", a=a)
    yield Case("cast", "cast<{T}>(cast<f64>(a) * 3.0)", "a * 3", a=a)
    yield Case("stop_gradient", "a * stop_gradient(b)", "a * b.detach()", a=a, b=b)


def reductions():
    a, ties = real(2, 3, 4), np.array([[1., 2, 2], [2, 0, 1]])
    for name in ("sum", "mean", "max", "min"):
        torch = {"max": "amax", "min": "amin"}.get(name, name)
        yield Case(name, f"{name}(a)", f"torch.{torch}(a)", a=a)
        for dim in (0, 1, -1):
            yield Case(name, f"{name}(a, dim: {dim})", f"torch.{torch}(a, dim={dim})", a=a)
        yield Case(name, f"{name}(a, dim: 1, keepdim: true)", f"torch.{torch}(a, 1, True)", a=a)
        yield Case(name, f"{name}(a, dims: [2, 0])", f"torch.{torch}(a, (2, 0))", a=a)
        yield Case(name, f"{name}(a, dims: [0, -1], keepdim: true)",
                   f"torch.{torch}(a, (0, -1), True)", a=a)
        yield Case(f"{name}_dim", f"{name}_dim(a, dim: 1)", f"torch.{torch}(a, dim=1)", a=a)
    yield Case("sum_to", "sum_to<{T}[3, 1]>(b)", "b.sum((0, 2), keepdim=True)[0]", b=a)
    for dim in (0, -1):
        yield Case("cumsum", f"cumsum(a, dim: {dim})", f"torch.cumsum(a, {dim})", a=a)
    for dim in (1, -1):
        yield Case("sort", f"sort(a, dim: {dim}, descending: true).values",
                   f"torch.sort(a, {dim}, True).values", a=a)
        yield Case("topk", f"topk(a, k: 2, dim: {dim}).values", f"torch.topk(a, 2, {dim}).values",
                   a=a)
    yield Case("take_along_dim", "take_along_dim(a, i, dim: -1)", "torch.take_along_dim(a, i, 2)",
               a=a, i=index(4, 2, 3, 5))
    yield Case("scatter_add", "scatter_add(a, 1, i, b)", "a.scatter_add(1, i, b)", a=a,
               i=index(3, 2, 5, 4), b=real(2, 5, 4))
    # Equal ones share; finite differences know of no kinks.
    yield Case("max ties", "max(a, dim: 1)", "torch.amax(a, 1)", a=ties)
    yield Case("min ties", "min(a)", "torch.amin(a)", a=np.array([[1., 0, 2], [0, 3, 1]]))
    yield Case("maximum ties", "maximum(a, b)", "torch.maximum(a, b)", a=ties, b=np.full(3, 2.))


def shapes():
    a, b = real(2, 3, 4), real(2, 5, 4)
    yield Case("reshape", "reshape(a, [4, -1])", "a.reshape(4, -1)", a=a)
    yield Case("shaped", "shaped<{T}[4, 6]>(a)", "a.reshape(4, 6)", a=a)
    yield Case("flatten", "flatten(a)", "a.flatten()", a=a)
    yield Case("flatten", "flatten(a, start_dim: 1)", "a.flatten(1)", a=a)
    yield Case("flatten", "flatten(a, start_dim: 0, end_dim: -2)", "a.flatten(0, -2)", a=a)
    yield Case("unflatten", "unflatten(a, dim: -1, sizes: [2, -1])", "a.unflatten(-1, (2, 2))", a=a)
    yield Case("unsqueeze", "unsqueeze(a, dim: -1)", "a.unsqueeze(-1)", a=a)
    yield Case("unsqueeze", "unsqueeze(a, dim: 1)", "a.unsqueeze(1)", a=a)
    yield Case("squeeze", "squeeze(a, dim: -2)", "a.squeeze(-2)", a=real(2, 1, 3))
    yield Case("squeeze", "squeeze(a, dims: [-1, 0])", "a.squeeze((-1, 0))", a=real(1, 3, 1))
    yield Case("transpose", "transpose(a)", "a.mT", a=a)
    yield Case("permute", "permute(a, order: [2, 0, 1])", "a.permute(2, 0, 1)", a=a)
    yield Case("expand", "expand<{T}[2, 3, 4]>(a)", "a.expand(2, 3, 4)", a=real(3, 1))
    yield Case("stack", "stack([a, a * {2.0}, b])", "torch.stack([a, a * 2, b])", a=a,
               b=real(2, 3, 4))
    yield Case("stack", "stack([a, b], dim: 1)", "torch.stack([a, b], 1)", a=a, b=real(2, 3, 4))
    yield Case("concat", "concat([a, b], dim: 1)", "torch.cat([a, b], 1)", a=a, b=b)
    yield Case("concat", "concat([a, b, a], dim: -2)", "torch.cat([a, b, a], -2)", a=a, b=b)
    yield Case("concat", "concat(a, b, 1)", "torch.cat([a, b], 1)", a=a, b=b)
    yield Case("join", "join([a, b], 0)", "torch.cat([a, b])", a=a, b=real(2, 3, 4))
    yield Case("split", "split(a, parts: 2, dim: -1)[1]", "a.chunk(2, -1)[1]", a=a)
    yield Case("split", "split(a, parts: 2, dim: 0)[0] * split(a, parts: 2, dim: 0)[1]",
               "a[:1] * a[1:]", a=a)
    yield Case("slice", "slice(a, dim: -2, from: 1, length: 2)", "a[:, 1:3]", a=a)
    yield Case("update", "update(a, b, at: [0, 1, 2])", "torch.cat([a[:, :1], torch.cat(["
               "a[:, 1:, :2], b], 2)], 1)", a=a, b=real(2, 2, 2))
    yield Case("update_row", "update_row(a, b, at: 1)", "torch.cat([a[:1], b[None]])", a=a,
               b=real(3, 4))
    yield Case("same", "same(a, b, dim: 0) * {2.0}", "b * 2", a=real(2), b=b)
    yield Case("embedding", "embedding(i, a)", "a[i]", i=index(4, 3), a=real(4, 2))
    yield Case("gather_rows", "gather_rows(a, i)", "a[i]", i=index(4, 3), a=real(4, 2))
    yield Case("split_dim", "split_dim(a, 2, 2)", "a.unflatten(2, (2, 2))", a=a)
    yield Case("merge_dims", "merge_dims(a, 0)", "a.flatten(0, 1)", a=a)
    yield Case("views", "a[1] * a[0]", "a[1] * a[0]", a=a)
    yield Case("views", "a[0..2] * a[1..3]", "a[0:2] * a[1:3]", a=real(4, 3))


def layers():
    a = real(2, 3, 4)
    yield Case("softmax", "softmax(a)", "F.softmax(a, -1)", a=a)
    yield Case("softmax", "softmax(a, dim: 1)", "F.softmax(a, 1)", a=a)
    yield Case("log_softmax", "log_softmax(a, dim: 0)", "F.log_softmax(a, 0)", a=a)
    yield Case("causal_mask", "softmax(causal_mask(a))", a=real(2, 3, 4))
    yield Case("layer_norm", "layer_norm(a, b, c)", "F.layer_norm(a, (4,), b, c)", a=a, b=real(4),
               c=real(4))
    yield Case("layer_norm", "layer_norm(a, b, c, epsilon: 0.5)",
               "F.layer_norm(a, (4,), b, c, 0.5)", a=a, b=real(4), c=real(4))
    yield Case("rms_norm", "rms_norm(a, epsilon: 0.5)",
               "a / (a.square().mean(-1, True) + 0.5).sqrt()", a=a)
    yield Case("l2_normalize", "l2_normalize(a)", "F.normalize(a, dim=-1)", a=a)
    yield Case("cross_entropy", "cross_entropy(a, i)", "F.cross_entropy(a, i, reduction='none')",
               a=real(3, 4), i=index(4, 3))
    yield Case("linear", "linear(a, b, c)", "a @ b + c", a=a, b=real(4, 5), c=real(5))
    yield Case("dropout", "dropout(a, 7, p: 0.25)", a=a)
    attend = "F.scaled_dot_product_attention"
    q, k, v = real(2, 4, 3, 5), real(2, 2, 6, 5), real(2, 2, 6, 7)
    shared = ", ".join(f"{x}.repeat_interleave(2, 1)" for x in "bc")
    yield Case("attention", "attention(a, b, c)", f"{attend}(a, {shared})", a=q, b=k, c=v)
    yield Case("attention", "attention(a, b, c, scale: 0.3, causal: true)", a=q, b=k, c=v)
    yield Case("attention", "attention(a, b, c, length: i, causal: true)", a=q, b=k, c=v,
               i=np.array([3, 5]))
    yield Case("attention", "attention(a, b, c, length: i)",
               f"{attend}(a, *(x[:, :4] for x in (b, c)))", a=real(1, 3, 5), b=real(1, 6, 5),
               c=real(1, 6, 7), i=np.array(4))
    x = real(1, 70, 4)
    yield Case("attention", "attention(a, b, c, causal: true)",
               f"{attend}(a, b, c, is_causal=True)", low=False,
               a=x, b=real(1, 70, 4), c=real(1, 70, 4))
    x = real(2, 1, 3, 4)
    yield Case("rope", "rope(a, from: i, pairs: {P})".replace("{P}", '"adjacent"'), a=x,
               i=np.array([70, 2]))
    yield Case("rope", "rope(a, positions: i, theta: {500.0})", a=x, i=index(99, 3))
    yield Case("conv2d", "conv2d(a, b, stride: [2, 1], padding: 1, dilation: [1, 2], groups: 2)",
               "F.conv2d(a, b, None, (2, 1), 1, (1, 2), 2)", a=real(2, 2, 5, 6), b=real(4, 1, 3, 2))
    yield Case("conv2d", "conv2d(a, b, c)", "F.conv2d(a, b, c)", a=real(2, 2, 4, 4),
               b=real(3, 2, 3, 3), c=real(3))


def seconds():
    """Second derivatives: the rules of the ops of std.grad."""
    ops = {"tanh": "tanh(a)", "sigmoid": "sigmoid(a)", "gelu": "gelu(a)", "silu": "silu(a)",
           "softmax": "softmax(a, dim: 1)", "log_softmax": "log_softmax(a, dim: 1)",
           "relu": "square(relu(a))", "cumsum": "square(cumsum(a, dim: 1))", "exp": "exp(a)",
           "mean": "square(mean(a, dim: 1))", "matmul": "a @ transpose(a)",
           "sqrt": "sqrt(square(a))", "rms_norm": "rms_norm(a, epsilon: 0.5)",
           "l2_normalize": "l2_normalize(a)"}
    for name, expression in ops.items():
        yield Case(f"{name}_grad", f"grad(sum(sin({expression})), of: a)", low=False, a=real(2, 3))
    yield Case("cross_entropy_grad", "grad(sum(square(cross_entropy(a, i))), of: a)", low=False,
               a=real(3, 4), i=index(4, 3))
    yield Case("embedding_grad", "grad(sum(sin(embedding(i, a))), of: a)", low=False, a=real(4, 2),
               i=index(4, 3))
    yield Case("gather_rows_grad", "gather_rows_grad(i, a, 4)", a=real(3, 2), i=index(4, 3))
    for of in "abc":  # of each of the three results, by all that it depends on
        yield Case("layer_norm_grad",
                   f"grad(sum(sin(layer_norm(a, b, c, epsilon: 0.5))), of: {of})", low=False,
                   a=real(2, 3), b=real(3), c=real(3))
    for of in "abc":
        for more in ("", ", causal: true", ", length: i, causal: true", ", length: i"):
            yield Case("attention_grad", f"grad(sum(sin(attention(a, b, c{more}))), of: {of})",
                       low=False, a=real(2, 4, 2, 3), b=real(2, 2, 3, 3), c=real(2, 2, 3, 2),
                       **({"i": np.array([2, 3])} if "length" in more else {}))
    yield Case("layer_norm_grad", "grad(sum(sin(grad(sum(sin(layer_norm(a, b, c))), of: a))), "
               "of: a)", low=False, a=3 * real(2, 4), b=real(4), c=real(4))
    for of, op in (("a", "conv2d_input_grad"), ("b", "conv2d_weight_grad")):
        yield Case(op, f"grad(sum(sin(conv2d(a, b, stride: 2, padding: 1))), of: {of})", low=False,
                   a=real(1, 2, 5, 5), b=real(2, 2, 3, 3))


def renamed(case, number, text):
    """The text with each operand's name made unique."""
    names = "|".join(case.operands)
    return re.sub(rf"(?<![\w.\"])({names})(?!\w|:|\()", rf"\g<1>{number}", text)


def type_of(value, dtype):
    dtype = dtype if value.dtype.kind == "f" else "i64"
    return dtype + (f"[{', '.join(map(str, value.shape))}]" if value.shape else "")


def program(cases, dtype, device):
    """Two graphs of all cases: the losses, and their gradients."""
    on = f" on {device}" if device else ""
    parameters, losses, gradients, outputs = [], [], [], []
    of_losses, names = [], []
    for number, case in enumerate(cases):
        parameters += [f"{k}{number}: {type_of(v, dtype)}" for k, v in case.operands.items()]
        text = re.sub(r"\{([\d.]+)\}", r"\1", case.expression.replace("{T}", dtype))
        loss = f"sum(sin(({renamed(case, number, text)}) * 1.25 + 0.5))"
        losses.append(f"  let y{number} = {loss}{on}\n")
        of_losses.append(f"y{number}: {dtype}")
        of = ", ".join(f"{k}: {k}{number}" for k in case.floats)
        gradients.append(f"  let g{number} = grad(y{number}, of: ({of}))\n")
        for k in case.floats:
            names.append(f"g{number}{k}")
            outputs.append((f"g{number}{k}: {type_of(case.operands[k], dtype)}",
                            f"g{number}{k}: g{number}.{k}"))
    head, body = ", ".join(parameters), "".join(losses)
    values = ", ".join(f"y{n}: y{n}" for n in range(len(cases)))
    types, returned = (", ".join(texts) for texts in zip(*outputs))
    of_values = (f"{HEAD}graph losses({head}) -> ({', '.join(of_losses)}) {{\n{body}"
                 f"  return ({values})\n}}\n")
    of_gradients = (f"{HEAD}graph gradients({head}) -> ({types}) {{\n{body}{''.join(gradients)}"
                    f"  return ({returned})\n}}\n")
    return of_values, of_gradients, names


NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16}


class Runner:
    def __init__(self, options, folder):
        self.tools = {"cgc": options.cgc, "cgrun": options.cgrun}
        self.device, self.folder = options.device, folder

    def compile(self, name, text):
        (self.folder / f"{name}.cgraph").write_text(text)
        done = subprocess.run([self.tools["cgc"], "compile", f"{name}.cgraph", "-o",
                               f"{name}.cgplan"], cwd=self.folder, timeout=300, capture_output=True,
                              text=True)
        if done.returncode != 0:
            sys.exit(done.stderr[:6000])
        if self.device:
            self.check_device(name)

    def check_device(self, name):
        """No op runs elsewhere, or its gradient would not be one of the device's. Zeros are made
        where an operand lives that the loss does not depend on."""
        done = subprocess.run([self.tools["cgc"], "plan", f"{name}.cgplan"], cwd=self.folder,
                              timeout=300, capture_output=True, text=True)
        lane, there = "", 0
        for line in done.stdout.splitlines():
            if re.match(r"  \S", line):
                lane = line.strip()
            elif call := re.match(r"    @\d+ #\d+ call (\w+)", line):
                if lane.startswith(f"{self.device} "):
                    there += 1
                elif call[1] != "zeros":
                    sys.exit(f"`{call[1]}` runs on {lane}, not on {self.device}")
        print(f"gradients: {there} calls of kernels on {self.device} in {name}")
        if not there:
            sys.exit(f"no kernel runs on {self.device}")

    def run(self, name, cases, outputs, moved=None):
        command = [self.tools["cgrun"], f"{name}.cgplan", "-q"]
        command += ["--require-gpu"] if "gpu" in self.device else []
        for number, case in enumerate(cases):
            for k, value in case.operands.items():
                value = value + moved[number].get(k, 0) if moved else value
                file = f"{k}{number}.npy"
                np.save(self.folder / file, value)
                command += ["--input", f"{k}{number}={file}"]
        for output in outputs:
            command += ["--output", f"{output}={output}.npy"]
        done = subprocess.run(command, cwd=self.folder, timeout=300, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr[:6000])
        return {output: np.load(self.folder / f"{output}.npy") for output in outputs}


def against_differences(runner, cases):
    """Returns the gradients in f64, how many there are, and what is wrong with them."""
    losses, gradients, names = program(cases, "f64", runner.device)
    runner.compile("losses", losses)
    runner.compile("gradients", gradients)
    values = [f"y{number}" for number in range(len(cases))]
    found = runner.run("gradients", cases, names)
    worst, wrong = 0, []
    for _ in range(3):
        moved = [{k: random.normal(size=case.operands[k].shape) for k in case.floats}
                 for case in cases]
        high, low = (runner.run("losses", cases, values,
                                [{k: sign * STEP * v for k, v in one.items()} for one in moved])
                     for sign in (1, -1))
        for number, case in enumerate(cases):
            if "ties" in case.name or case.name == "stop_gradient":
                continue
            expected = (high[f"y{number}"] - low[f"y{number}"]) / (2 * STEP)
            got = sum((found[f"g{number}{k}"] * moved[number][k]).sum() for k in case.floats)
            error = abs(got - expected) / (1e-2 + abs(expected))
            worst = max(worst, error)
            if not error <= 1e-6:
                wrong.append(f"{case.name}: {case.expression}: {got}, by differences {expected}")
    print(f"gradients: {len(names)} of {len(cases)} cases in f64, worst {worst:.1e} of differences")
    return found, wrong


def against_torch(cases, found):
    try:
        import torch
        import torch.nn.functional as F
    except ImportError:
        print("SKIPPED: PyTorch is not installed, so nothing was compared with its autograd")
        return []
    checked, wrong = 0, []
    for number, case in enumerate(cases):
        if case.torch is None:
            continue
        operands = {k: torch.tensor(v, requires_grad=k in case.floats)
                    for k, v in case.operands.items()}
        y = eval(case.torch, {"torch": torch, "F": F}, operands)
        torch.sin(y * 1.25 + 0.5).sum().backward()
        for k in case.floats:
            expected = operands[k].grad
            expected = np.zeros(case.operands[k].shape) if expected is None else expected.numpy()
            got = found[f"g{number}{k}"]
            checked += 1
            if got.shape != expected.shape or not np.allclose(got, expected, 1e-5, 1e-7):
                wrong.append(f"{case.name}: {case.expression}: of {k} {got.ravel()[:6]}, by "
                             f"PyTorch {expected.ravel()[:6]}")
    print(f"gradients: {checked} compared with PyTorch {torch.__version__}")
    return wrong + ([] if checked else ["nothing was compared with PyTorch"])


def in_short_dtypes(runner, cases, found):
    """f32, f16 and bf16 against f64, as exactly as they may be."""
    wrong = []
    for dtype, within in (("f32", 1e-3), ("f16", 0.1), ("bf16", 0.5)):
        chosen = [(n, case) for n, case in enumerate(cases) if case.low and "ties" not in case.name]
        short = [case for _, case in chosen]
        if not short:
            continue
        _, text, names = program(short, dtype, runner.device)
        runner.compile(dtype, text)
        given = [Case(case.name, case.expression, **{
            k: (bf16(v) if dtype == "bf16" else v.astype(NUMPY[dtype])) if k in case.floats else v
            for k, v in case.operands.items()}) for case in short]
        results = runner.run(dtype, given, names)
        for at, (number, case) in enumerate(chosen):
            for k in case.floats:
                got, expected = wide(results[f"g{at}{k}"]), found[f"g{number}{k}"]
                scale = 1 + abs(expected).max(initial=0)
                if got.shape != expected.shape or not (abs(got - expected) <= within * scale).all():
                    wrong.append(f"{dtype} {case.name}: {case.expression}: of {k} "
                                 f"{got.ravel()[:6]}, in f64 {expected.ravel()[:6]}")
        print(f"gradients: {len(names)} in {dtype}")
    return wrong


def in_library(cases):
    """Ops with a float operand and a float result that declare no gradient, or have no case."""
    wrong, seen = [], 0
    tried = {case.name.split()[0] for case in cases}
    for module in ("tensor", "nn", "grad", "random"):
        text = re.sub(r"//.*", "", (STDLIB / f"{module}.cgraph").read_text())
        for declaration in re.split(r"^(?=op |fn )", text, flags=re.M):
            op = re.match(r"op (\w+)(?:<([^>]*)>)?\s*\(", declaration)
            if not op or not op[2]:
                continue
            parameters, _, rest = declaration[op.end():].partition("->")
            result = re.split(r"\b(?:where|cost|deprecated|inplace)\b", rest)[0]
            generics = "|".join(re.findall(r"(\w+)(?:: (?:float|number|any))?(?:,|$)", op[2]))
            tensor = rf"\b(?:{generics})\["
            if not re.search(tensor, parameters) or not re.search(tensor, result):
                continue
            seen += 1
            if re.search(r"^\s*.*\bgrad\s+(\w+(, \w+)? )?[({]", rest, re.M) is None:
                wrong.append(f"op `{op[1]}` of std.{module} declares no gradient")
            elif op[1] not in tried:
                wrong.append(f"op `{op[1]}` of std.{module} has no case")
    print(f"gradients: {seen} ops of the library")
    return wrong + ([] if seen > 60 else [f"only {seen} ops were found in the library"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--only", help="the name of an op")
    parser.add_argument("--device", default="", help="where the ops run, instead of at the caller")
    options = parser.parse_args()
    every = [case for group in (products, elementwise, reductions, shapes, layers, seconds)
             for case in group()]
    cases = [case for case in every if options.only in (None, case.name.split()[0])]
    wrong = in_library(every)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, pathlib.Path(folder))
        found, more = against_differences(runner, cases)
        wrong += more + against_torch(cases, found) + in_short_dtypes(runner, cases, found)
    print("\n".join(wrong[:60]), end="\n" if wrong else "")
    print(f"gradients: {len(cases)} cases checked, {len(wrong)} faults")
    sys.exit(1 if wrong or not cases else 0)


if __name__ == "__main__":
    main()

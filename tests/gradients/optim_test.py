#!/usr/bin/python3
"""The optimizers of std.optim against NumPy in f64 over five steps, and against PyTorch where it is
installed; stopped after two steps, saved and loaded, they end with the same bits.

  optim_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--gpus]

With `--gpus` all places are on GPUs.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import tensor_files  # noqa: E402
from expectations import expect  # noqa: E402
from optimizers import adam, adamw, lion, sgd  # noqa: E402

STEPS = 5
NET = """import std.nn
import std.optim
import std.tensor
actor Net(seed: int) {{
  param w: {dtype}[3, 4] = normal(seed: seed)
  param b: {dtype}[4] = normal(seed: seed + 10)
  method forward(x: {dtype}[n, 3]) -> {dtype}[n, 4] {{ return relu(x @ w + b) }}
  method params() -> (w: {dtype}[3, 4], b: {dtype}[4]) {{ return (w: w, b: b) }}
}}
place net = Net(1) on cpu[0] trained by {optimizer}
graph peek() -> (w: {dtype}[3, 4], b: {dtype}[4]) {{ return net.params() }}
"""
STEP = """graph step(x: f32[5, 3], y: f32[5, 4], rate: f32) -> f32 {
  let loss = mean(square(net.forward(x) - y))
  net.update(grad(loss * 64.0, of: net), rate: rate, scale: 1.0 / 64.0)
  return loss
}
"""
BY_HAND = """graph step(gw: f32[3, 4], gb: f32[4], rate: f32) -> f32 {
  net.update((w: gw, b: gb), rate: rate)
  return rate
}
"""
CHAIN = """import std.nn
import std.optim
import std.tensor
actor Stage(s: int, d: int) {
  param w: f32[4, 4] = normal(seed: s)
  param b: [f32[4]; 2] = [normal(seed: s + 5), zeros()]
  method forward(x: f32[n, 4]) -> f32[n, 4] { return relu(x @ w + b[0] + b[1]) }
  method params() -> (w: f32[4, 4], b: [f32[4]; 2]) { return (w: w, b: b) }
}
place stage[d in 0..2, s in 0..2] = Stage(s, d) on cpu[d * 2 + s] equal along d
    trained by adamw(decay: 0.1)
graph peek() -> (all: [[(w: f32[4, 4], b: [f32[4]; 2]); 2]; 2]) {
  return (all: [[stage[d, s].params() for s in 0..2] for d in 0..2])
}
graph step(x: f32[2, 5, 4], y: f32[2, 5, 4], rate: f32) -> (loss: f32, norm: f32) {
  var losses = []
  for d in 0..2 {
    var h = x[d]
    for s in 0..2 { h = stage[d, s].forward(h) }
    losses = losses + [mean(square(h - y[d]))]
  }
  let loss = mean(stack(losses))
  let g = grad(loss, of: stage)
  let norm = global_norm(g)
  update_all(stage, g, rate: rate, scale: minimum(1.0, 0.01 / norm))
  return (loss: loss, norm: norm)
}
"""
# The same net four times: weights apart or as a tuple, updated by an optimizer or by hand.
WEIGHTS = """import std.nn
import std.optim
import std.tensor
type Layer = (w: f32[3, 4], b: f32[4])
fn sgd_step(w: Layer, g: Layer, rate: f32) -> Layer {{
  return (p - rate * d for (p, d) in zip(w, g))
}}
actor Apart() {{
  param w: f32[3, 4] = normal(seed: 1)
  param b: f32[4] = normal(seed: 11)
  method forward(x: f32[n, 3]) -> f32[n, 4] {{ return relu(x @ w + b) }}
  method params() -> (w: f32[3, 4], b: f32[4]) {{ return (w: w, b: b) }}
}}
actor Tuple() {{
  param layer: Layer = (normal(seed: seed) for seed in [1, 11])
  method forward(x: f32[n, 3]) -> f32[n, 4] {{ return relu(x @ layer.w + layer.b) }}
  method params() -> Layer {{ return layer }}
  method by_hand(g: Layer, rate: f32) {{ layer = sgd_step(layer, g, rate) }}
  method by_name(g: Layer, rate: f32) {{
    layer.w -= rate * g.w
    layer.b = layer.b - rate * g.b
  }}
}}
place apart = Apart() on cpu[0] trained by {optimizer}
place together = Tuple() on cpu[0] trained by {optimizer}
place hand = Tuple() on cpu[0]
place name = Tuple() on cpu[0]
graph step(x: f32[5, 3], y: f32[5, 4], rate: f32) {{
  let a = mean(square(apart.forward(x) - y))
  let g = grad(a, of: apart)
  apart.update(g, rate: rate, scale: minimum(1.0, 1.0 / global_norm(g)))
  let t = mean(square(together.forward(x) - y))
  let h = grad(t, of: together)
  together.update(h, rate: rate, scale: minimum(1.0, 1.0 / global_norm(h)))
  hand.by_hand(grad(mean(square(hand.forward(x) - y)), of: hand.layer), rate)
  name.by_name(grad(mean(square(name.forward(x) - y)), of: name).layer, rate)
}}
graph peek() -> (apart: Layer, together: Layer, hand: Layer, name: Layer) {{
  return (apart: apart.params(), together: together.params(), hand: hand.params(),
          name: name.params())
}}
"""
CHANGED = """import std.tensor
actor Net() {
  param w: f32[4] = full(0.5)
  param b: f32 = 0.5
  param c: f32 = 0.5
  method forward(x: f32[4]) -> f32 { return sum(w * x) + b + c }
  method decayed(g: (w: f32[4], b: f32, c: f32)) -> (w: f32[4], b: f32, c: f32) {
    return (w: g.w * 0.5 + w * 0.1, b: g.b * 0.5, c: g.c * 0.5)
  }
}
place net[d in 0..2] = Net() on cpu[d] equal along d
graph norms(x: f32[2, 4]) -> (twice: f32, clipped: f32, decayed: f32, apart: f32) {
  let g = grad(mean(stack([net[d].forward(x[d]) for d in 0..2])), of: net)
  let factor = 1.0 / global_norm(g)
  return (
    twice: global_norm([(w: each.w * 2.0, b: each.b * 2.0, c: each.c * 2.0) for each in g]),
    clipped: global_norm([(w: each.w * factor, b: factor * each.b, c: factor * each.c)
                          for each in g]),
    decayed: global_norm([net[d].decayed(g[d]) for d in 0..2]),
    apart: global_norm([g[0].w * 3.0, g[1].w * 4.0])
  )
}
"""
RATES = """import std.tensor
import std.optim
graph rates(step: i64) -> (warm: f32, cosine: f32, down: f32) {
  return (
    warm: warm_up_rate(step, 0.5, steps: 4),
    cosine: cosine_rate(step, 0.5, steps: 20, warm_up: 4, least: 0.1),
    down: step_rate(step, 0.5, every: 5)
  )
}
"""


CASES = [
    ("sgd", sgd, {}), ("sgd", sgd, {"decay": 0.1}), ("sgd", sgd, {"momentum": 0.9}),
    ("sgd", sgd, {"momentum": 0.9, "nesterov": True, "decay": 0.1}),
    ("adam", adam, {}), ("adam", adam, {"beta1": 0.8, "beta2": 0.9, "decay": 0.1}),
    ("adamw", adamw, {}), ("adamw", adamw, {"decay": 0.1}),
    ("lion", lion, {"decay": 0.1}),
]
MIXED = [("mixed_sgd", sgd, {}), ("mixed_sgd", sgd, {"momentum": 0.9, "nesterov": True}),
         ("mixed_adamw", adamw, {"decay": 0.1})]


def torch_optimizer(name, params, rate, given):
    """PyTorch's optimizer of that name, whose decay is of the first param alone."""
    import torch
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    if name not in kinds:
        return None
    options = {key: value for key, value in given.items() if key in ("momentum", "nesterov")}
    if name != "sgd":
        options["betas"] = (given.get("beta1", 0.9), given.get("beta2", 0.999))
    decay = given.get("decay", 0.01 if name == "adamw" else 0.0)
    groups = [{"params": [params[0]], "weight_decay": decay},
              {"params": [params[1]], "weight_decay": 0.0}]
    return kinds[name](groups, lr=rate, **options)


# ---- running ------------------------------------------------------------------------------------

class Runs:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def write(self, name, text):
        if self.args.gpus:
            text = text.replace("on cpu[", "on gpu[")
        path = self.folder / f"{name}.cgraph"
        path.write_text(text)
        plan = path.with_suffix(".cgplan")
        done = subprocess.run([self.args.cgc, "compile", "-q", path, "-o", plan],
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"{text}\n{done.stderr}")
        return plan

    def __call__(self, program, graph, inputs=(), *more):
        """Runs a graph; returns its results of the last execution by name."""
        command = [self.args.cgrun, program, "--graph", graph, *more]
        command += ["--require-gpu"] if self.args.gpus else []
        for name, value in dict(inputs).items():
            np.save(self.folder / f"{name}.npy", value)
            command += ["--input", f"{name}={self.folder / name}.npy"]
        out = self.folder / "out.safetensors"
        done = subprocess.run([*map(str, command), "--output", str(out)], capture_output=True,
                              text=True)
        expect(done.returncode == 0, f"{program}, {graph}: {done.stderr}")
        return tensor_files.read(out)

    def states(self, program, inputs):
        """The bytes of all states after five steps: at once, and stopped after two."""
        names = ("whole", "part", "end")
        whole, part, end = (self.folder / f"{name}.safetensors" for name in names)
        self(program, "step", inputs, "-n", STEPS, "--save-state", whole)
        self(program, "step", inputs, "-n", 2, "--save-state", part)
        self(program, "step", inputs, "-n", STEPS - 2, "--load-state", part, "--save-state", end)
        expect(whole.read_bytes() == end.read_bytes(),
               f"{program}: saved and loaded, the same bits")
        return whole


def text_of(name, given):
    values = {key: str(value).lower() for key, value in given.items()}
    return f"{name}({', '.join(f'{key}: {value}' for key, value in values.items())})"


def gradients(x, y, w, b):
    h = np.maximum(x @ w + b, 0)
    dz = 2 * (h - y) / y.size * (h > 0)
    return x.T @ dz, dz.sum(0)


def near(given, expected, what, relative=2e-5):
    error = np.max(np.abs(given - expected)) / max(1.0, np.max(np.abs(expected)))
    expect(error < relative, f"{what}: off by {error:.2e}")


def check_case(runs, number, name, step, given, random):
    text = text_of(name, given)
    program = runs.write(f"case{number}", NET.format(dtype="f32", optimizer=text) + STEP)
    inputs = {"x": random.standard_normal((5, 3), np.float32),
              "y": random.standard_normal((5, 4), np.float32), "rate": np.float32(0.05)}
    before = runs(program, "peek")
    state = runs.states(program, inputs)
    after = runs(program, "peek", (), "--load-state", state)
    params = [before["w"].astype(np.float64), before["b"].astype(np.float64)]
    own = [{}, {}]
    for _ in range(STEPS):
        parts = gradients(inputs["x"], inputs["y"], *params)
        params = [step(w, g, s, float(inputs["rate"]), **given)
                  for w, g, s in zip(params, parts, own)]
    for key, value in zip("wb", params):
        near(after[key], value, f"{text}, {key}")
    try:
        import torch
    except ImportError:
        return
    tensors = [torch.tensor(before[key], requires_grad=True) for key in "wb"]
    optimizer = torch_optimizer(name, tensors, float(inputs["rate"]), given)
    for _ in range(STEPS if optimizer else 0):
        optimizer.zero_grad()
        h = torch.relu(torch.tensor(inputs["x"]) @ tensors[0] + tensors[1])
        torch.mean((h - torch.tensor(inputs["y"]))**2).backward()
        optimizer.step()
    for key, tensor in zip("wb", tensors if optimizer else ()):
        near(after[key], tensor.detach().numpy(), f"{text} of PyTorch, {key}")


def check_mixed(runs, number, name, step, given, random):
    """f16 params with masters: each is its master, rounded."""
    program = runs.write(f"mixed{number}",
                         NET.format(dtype="f16", optimizer=text_of(name, given)) + BY_HAND)
    inputs = {"gw": random.standard_normal((3, 4), np.float32),
              "gb": random.standard_normal(4, np.float32), "rate": np.float32(1e-3)}
    before = runs(program, "peek")
    state = runs.states(program, inputs)
    slots = {"net.w", "net.w.master", "net.b.master"}
    expect(slots <= set(tensor_files.read(state)), "slots have names")
    after = runs(program, "peek", (), "--load-state", state)
    for key in "wb":
        master, own = before[key].astype(np.float64), {}
        for _ in range(STEPS):
            master = step(master, inputs[f"g{key}"].astype(np.float64), own,
                          float(inputs["rate"]), **given)
        near(after[key], master, f"{text_of(name, given)}, {key}", 2.0**-10)
        expect(after[key].dtype == np.float16, "the param stays f16")


def check_clipping(runs, random):
    """Data x pipeline parallel: the norm counts each variable once, and copies stay equal."""
    program = runs.write("chain", CHAIN)
    inputs = {"x": random.standard_normal((2, 5, 4), np.float32),
              "y": random.standard_normal((2, 5, 4), np.float32), "rate": np.float32(0.05)}
    before = runs(program, "peek")
    results = runs(program, "step", inputs)
    after = runs(program, "peek", (), "--load-state", runs.states(program, inputs))
    names = [[f"all[0][{s}].{leaf}" for leaf in ("w", "b[0]", "b[1]")] for s in range(2)]
    stages = [[before[name].astype(np.float64) for name in row] for row in names]
    own = [[{} for _ in row] for row in names]
    x, y = (inputs[key].reshape(10, 4) for key in "xy")
    for turn in range(STEPS):
        hidden = [x]
        for w, b0, b1 in stages:
            hidden.append(np.maximum(hidden[-1] @ w + b0 + b1, 0))
        gh, parts = 2 * (hidden[2] - y) / y.size, [None, None]
        for s in (1, 0):
            dz = gh * (hidden[s + 1] > 0)
            parts[s] = [hidden[s].T @ dz, dz.sum(0), dz.sum(0)]
            gh = dz @ stages[s][0].T
        norm = np.sqrt(sum(np.sum(g * g) for row in parts for g in row))
        if turn == 0:
            near(results["norm"], norm, "global_norm")
            expect(norm > 0.01, "clipping is tried")
        scale = min(1.0, 0.01 / norm)
        stages = [[adamw(w, g * scale, s, float(inputs["rate"]), decay=0.1)
                   for w, g, s in zip(*rows)] for rows in zip(stages, parts, own)]
    for row, values in zip(names, stages):
        for name, value in zip(row, values):
            near(after[name], value, f"clipped, {name}", 2e-4)
            copy = after["all[1]" + name[6:]]
            expect(np.array_equal(after[name], copy), f"copies of {name} are equal")


def check_changed(runs):
    """Gradients that the program has changed: those of two copies count once where it has changed
    both alike. `b` and `c`, whose gradients are equal, are two variables."""
    program = runs.write("changed", CHANGED)
    given = runs(program, "norms", {"x": np.arange(8, dtype=np.float32).reshape(2, 4)})
    w = np.arange(8).reshape(2, 4).mean(0)
    near(given["twice"], 2 * np.sqrt(np.sum(w * w) + 2), "norm of doubled gradients", 1e-6)
    near(given["clipped"], 1, "norm of clipped gradients", 1e-6)
    near(given["decayed"], np.sqrt(np.sum((0.5 * w + 0.05)**2) + 0.5), "norm with decay", 1e-6)
    near(given["apart"], 5 * np.sqrt(np.sum(w * w)), "norm of copies that are changed apart", 1e-6)


def check_weights(runs, random):
    """A tuple of params ends with the bits of params apart; by hand with those of a plain SGD."""
    x, y = (random.standard_normal(shape, np.float32) for shape in ((5, 3), (5, 4)))
    inputs = {"x": x, "y": y, "rate": np.float32(0.1)}
    for optimizer in ("sgd(momentum: 0.9)", "adam()", "adamw()", "lion()"):
        program = runs.write("weights", WEIGHTS.format(optimizer=optimizer))
        start = runs(program, "peek")
        state = str(runs.folder / "weights.safetensors")
        runs(program, "step", inputs, "-n", str(STEPS), "--save-state", state)
        end = runs(program, "peek", (), "--load-state", state)
        for field in ("w", "b"):
            one, other = end[f"apart.{field}"], end[f"together.{field}"]
            expect(np.array_equal(one, other), f"{optimizer}: {field} of a tuple differs")
            expect(not np.array_equal(one, start[f"apart.{field}"]), f"{optimizer}: {field} stays")
            expect(np.array_equal(end[f"hand.{field}"], end[f"name.{field}"]),
                   f"{field} by hand and by name")
        w, b = start["hand.w"].astype(np.float64), start["hand.b"].astype(np.float64)
        for _ in range(STEPS):
            gw, gb = gradients(x, y, w, b)
            w, b = w - 0.1 * gw, b - 0.1 * gb
        near(end["hand.w"], w, "w by hand")
        near(end["hand.b"], b, "b by hand")


def check_rates(runs):
    program = runs.write("rates", RATES)
    for step in (0, 1, 3, 4, 7, 12, 19, 20, 30):
        given = runs(program, "rates", {"step": np.int64(step)})
        warm = 0.5 * min(1.0, (step + 1) / 4)
        done = min(max((step - 4) / 16, 0.0), 1.0)
        cosine = warm if step < 4 else 0.1 + 0.4 * (0.5 + 0.5 * np.cos(np.pi * done))
        for name, value in (("warm", warm), ("cosine", cosine), ("down", 0.5 * 0.1**(step // 5))):
            near(given[name], value, f"{name} at step {step}", 1e-6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--cgrun", required=True)
    parser.add_argument("--gpus", action="store_true", help="all places are on GPUs")
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(parser.parse_args(), pathlib.Path(folder))
        for number, case in enumerate(CASES):
            check_case(runs, number, *case, random)
        for number, case in enumerate(MIXED):
            check_mixed(runs, number, *case, random)
        check_clipping(runs, random)
        check_changed(runs)
        check_weights(runs, random)
        check_rates(runs)
    print(f"optimizers: {expectations.checks} checks")


if __name__ == "__main__":
    main()

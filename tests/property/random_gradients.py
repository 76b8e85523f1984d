#!/usr/bin/python3
"""Random programs that ask for gradients, run by cgrun and compared with reverse mode in NumPy.

A program has places on several devices with params (tensors, tuples and lists of them, copies of
one variable), calls of methods with several results, ops, views and collectives, some of it in a
loop over micro-batches; values may have a bounded dimension, and an optimizer of the library may
update the params. Each is run in program order, with whole and with halved backwards, by schedules,
with one worker and several, and in processes: all must give the same bits, and those must be the
reference's within rounding. The reference (tests/support/reverse_mode.py) runs the same statements
on NumPy arrays in f64; it is itself compared with a finite difference for each program.

Near a kink rounding decides about a gradient, so such a program is not compared with the reference.
Programs of f16 and bf16 have no kinks. How far off rounding may lead there is what the reference
shows when it rounds all values as they do.

  random_gradients.py --cgc build/release/cgc --cgrun build/release/cgrun --count 2000 --seed 1
      [--emulated build/release/emulated:build/release] [--every 4] [--plant RULE]

A failing program is kept, and its number is a `--seed` for `--count 1`. With `--plant` a rule of
the reference is wrong, so that programs must fail. Without it, each rule is made wrong in turn for
each program, and the test fails where a rule's fault would have been seen in none of them.
"""
import argparse
import concurrent.futures
import copy
import importlib.util
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "property")]
import optimizers  # noqa: E402
import random_graphs  # noqa: E402
import tensor_files  # noqa: E402
from tensor_files import BF16, bf16, wide  # noqa: E402

ACTOR = """
actor NAME(k: int) {
  param w: T[4, 4] = load("init.safetensors", "{k}.w")
  param pair: (T[4], T[4, 4]) = (load("init.safetensors", "{k}.a"),
                                 load("init.safetensors", "{k}.b"))
  param each: [T[4, 4]; 2] = [load("init.safetensors", "{k}.c"), load("init.safetensors", "{k}.d")]
  param gain: T[4] = load("init.safetensors", "{GAIN}.gain")ALONG
  state h: T[4, 4] = zeros()
  state fixed: T[4, 4] = load("init.safetensors", "{k}.f")
  method forward(x: T[r, 4]) -> T[r, 4] { return relu(x @ w + pair[0]) }
  method mix(x: T[r, 4], y: T[r, 4]) -> T[r, 4] { return x * y * 0.5 + y * pair[0] }
  method two(x: T[4, 4], y: T[4, 4]) -> (a: T[4, 4], b: T[4]) {
    return (a: x @ pair[1], b: y[1] * gain + x[0])
  }
  method three(x: T[4, 4], v: T[4]) -> (T[4, 4], T[4, 4], T[4]) {
    let z = x * v
    return (z - v, x, z[3])
  }
  method twice(x: T[4, 4]) -> (T[4, 4], T[4, 4]) {
    let y = tanh(x * gain)
    return (y, y)
  }
  method total(x: T[r, 4]) -> T { return mean(square(x) * gain) }
  method scaled(x: T[4, 4], s: T) -> T[4, 4] { return (x * s + s) * 0.5 }
  method bias(x: T[4, 4], v: T[4]) -> T[4, 4] { return x + v - pair[1] }
  method deep(x: T[r, 4]) -> T[r, 4] {
    var y = x
    for layer in each { y = relu(y @ layer) }
    return y
  }
  method more(x: T[4, 4]) -> T[4, 4] { return gated(gated(x, pair[1]), w) + gated(x, w) }
  method keep(x: T[4, 4]) -> T[4, 4] {
    let old = copy(h)
    h = old * 0.5 + x @ w
    return h
  }
  method frozen(x: T[4, 4]) -> T[4, 4] {
    return x @ fixed + stop_gradient(x) * copy(x)
  }
  method divided(x: T[4, 4], y: T[4, 4]) -> T[4, 4] {
    return x / (exp(-square(y)) + 1.0)
  }
  method chosen(x: T[4, 4], y: T[4, 4]) -> T[4, 4] { return where(x > 0.25, y * 0.5, x) }
  method row(x: T[4, 4]) -> T[4] { return x[2] }
  method rows(x: T[4, 4]) -> T[2, 4] { return x[1..3] }
  method across(x: T[4, 4], y: T[4, 4], v: T[4]) -> T[4, 4] {
    return stack([x[0], v, y[3], x[0] * v])
  }
  method turned(x: T[r, 4]) -> T[4, 4] { return matmul(x, x, transpose_a: true) * 0.25 }
  method entropy(x: T[4, 4], label: i64[4]) -> T { return mean(cross_entropy(x, label)) }
  method added(x: T[r, 4]) -> T { return sum(x * x) * 0.125 }
  method slope(x: T[4, 4]) -> T[4, 4] { return grad(sum(square(x @ w)) * 0.25, of: x) }
  method joined(x: T[4, 4], y: T[4, 4]) -> T[4, 4] { return concat([x[2..4], y[0..2]], dim: 0) }
  method curved(x: T[r, 4]) -> T[r, 4] { return tanh(x) * exp(-square(x)) }
  method soft(x: T[r, 4]) -> T[r, 4] { return softmax(x) }
  method attend(x: T[r, 4], y: T[4, 4]) -> T[r, 4] {
    let keys = unsqueeze(y, dim: 0)
    return squeeze(attention(unsqueeze(x, dim: 0), keys, keys), dim: 0)
  }
  method normal(x: T[r, 4]) -> T[r, 4] { return layer_norm(x, gain, pair[0]) }
  method summed(x: T[4, 4]) -> T[4] { return sum(transpose(x @ w), dim: 0) * 0.5 }
  method shaped(x: T[4, 4]) -> T[4, 4] { return reshape(flatten(x) * 0.5, [4, 4]) }
  method shifted(x: T[r, 4], v: T[4]) -> T[r, 4] { return x + v * gain }
  method folded(x: T[r, 4]) -> T[4] { return sum(x, dim: 0) * 0.25 }
  method learn(g: G[4, 4]) { w -= STEP }
  method peek() -> T[4, 4] { return w }
}
"""
# method -> (argument kinds, result kinds). Kinds: m = T[4, 4], h = T[2, 4], b = T[n, 4] where n is
# bounded, v = T[4], s = T, l = i64[4].
METHODS = {
    "forward": ("m", "m"), "forward_h": ("h", "h"), "mix": ("mm", "m"), "mix_h": ("hh", "h"),
    "two": ("mm", "mv"), "three": ("mv", "mmv"), "twice": ("m", "mm"), "total": ("m", "s"),
    "total_h": ("h", "s"), "scaled": ("ms", "m"), "bias": ("mv", "m"), "deep": ("m", "m"),
    "deep_h": ("h", "h"), "more": ("m", "m"), "keep": ("m", "m"), "frozen": ("m", "m"),
    "divided": ("mm", "m"), "chosen": ("mm", "m"), "row": ("m", "v"), "rows": ("m", "h"),
    "across": ("mmv", "m"), "turned": ("m", "m"), "entropy": ("ml", "s"), "added": ("m", "s"),
    "added_h": ("h", "s"), "slope": ("m", "m"), "joined": ("mm", "m"), "curved": ("m", "m"),
    "attend": ("mm", "m"), "attend_h": ("hm", "h"), "attend_b": ("bm", "b"),
    "soft": ("m", "m"), "normal": ("m", "m"), "normal_h": ("h", "h"), "summed": ("m", "v"),
    "shaped": ("m", "m"), "forward_b": ("b", "b"), "mix_b": ("bb", "b"), "deep_b": ("b", "b"),
    "added_b": ("b", "s"), "curved_b": ("b", "b"), "soft_b": ("b", "b"), "normal_b": ("b", "b"),
    "turned_b": ("b", "m"), "shifted": ("mv", "m"), "shifted_b": ("bv", "b"),
    "folded": ("m", "v"), "folded_b": ("b", "v"),
}
SUFFIXES = re.compile("_[hb]$")
FNS = """fn gated(x: T[r, 4], w: T[4, 4]) -> T[r, 4] {
  return relu(matmul(x, w, transpose_b: true)) * x
}
"""
BOUND = 6
# (name, what it is given) of the optimizers, the reference's by the name without `mixed_`.
OPTIMIZERS = [("sgd", {}), ("sgd", {"momentum": 0.9, "nesterov": True, "decay": 0.1}), ("adam", {}),
              ("adamw", {"decay": 0.1}), ("lion", {"decay": 0.1})]
MIXED = [("mixed_sgd", {"momentum": 0.9}), ("mixed_adamw", {"decay": 0.1})]
# dtype -> (of arrays, by how much of the largest element rounding may be off)
DTYPES = {"f64": (np.dtype(np.float64), 1e-11), "f32": (np.dtype(np.float32), 3e-4),
          "f16": (np.dtype(np.float16), 2.0**-9), "bf16": (BF16, 2.0**-6)}
COLLECTIVES = ["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "scatter",
               "gather", "all_to_all", "barrier"]
RECOMPUTED = ["forward", "mix", "two", "deep", "more", "keep", "curved", "normal", "turned"]
UNUSED = [flag for code in ("W0301", "W0501", "W0506", "W0512") for flag in ("--no-warn", code)]
IMPORTS = "".join(f"import std.{m}\n" for m in ("tensor", "nn", "optim", "schedules"))
SCHEDULES = "schedule whole { prefer backward > forward }\n" \
            "schedule halves { prefer backward_input > backward_weight }\n"


def narrow(array, dtype):
    """The array in that dtype."""
    return bf16(array) if dtype == "bf16" else np.asarray(array).astype(DTYPES[dtype][0])


def truncated(array, dtype):
    """The numbers of an array, each replaced by the next one of the dtype towards zero."""
    if dtype == "f16":
        near = array.astype(np.float16)
        return np.where(abs(near.astype(np.float64)) > abs(array),
                        np.nextafter(near, np.float16(0)), near).astype(np.float64)
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32) & 0xFFFF0000
    return bits.view(np.float32).reshape(np.shape(array)).astype(np.float64)


def reference(smooth=False, rounding=None):
    """A reverse_mode module of its own, for one thread."""
    spec = importlib.util.spec_from_file_location("reverse_mode",
                                                  TESTS / "support" / "reverse_mode.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if smooth:
        module.relu = module.tanh
    if rounding:
        module.rounding = rounding
    return module


class Node:
    """The actor, on values of the reference `r`."""

    def __init__(self, r, arrays, gain):
        self.r = r
        self.w, self.a, self.b, self.c, self.d = (r.Value(arrays[n]) for n in "wabcd")
        self.gain, self.fixed, self.h = gain, r.Value(arrays["f"]), r.Value(np.zeros((4, 4)))

    def forward(self, x): return self.r.relu(x @ self.w + self.a)
    def mix(self, x, y): return x * y * 0.5 + y * self.a
    def two(self, x, y): return x @ self.b, y[1] * self.gain + x[0]

    def three(self, x, v):
        z = x * v
        return z - v, x, z[3]

    def twice(self, x): return (self.r.tanh(x * self.gain),) * 2
    def total(self, x): return self.r.mean(self.r.square(x) * self.gain)
    def scaled(self, x, s): return (x * s + s) * 0.5
    def bias(self, x, v): return x + v - self.b
    def deep(self, x): return self.r.relu(self.r.relu(x @ self.c) @ self.d)

    def more(self, x):
        gated = lambda x, w: self.r.relu(self.r.matmul(x, w, transpose_b=True)) * x
        return gated(gated(x, self.b), self.w) + gated(x, self.w)

    def keep(self, x):
        self.h = self.r.copy(self.h) * 0.5 + x @ self.w
        return self.h

    def frozen(self, x): return x @ self.fixed + self.r.stop(x) * self.r.copy(x)

    def divided(self, x, y):
        return x / (self.r.exp(self.r.square(y) * self.r.value(-1.0)) + 1.0)

    def chosen(self, x, y): return self.r.choose(x, 0.25, y * 0.5, x)
    def row(self, x): return x[2]
    def rows(self, x): return x[1:3]
    def across(self, x, y, v): return self.r.stack([x[0], v, y[3], x[0] * v])
    def turned(self, x): return self.r.matmul(x, x, transpose_a=True) * 0.25
    def entropy(self, x, label): return self.r.mean(self.r.cross_entropy(x, label))
    def added(self, x): return self.r.total(x * x) * 0.125
    def slope(self, x): return self.r.matmul(x @ self.w, self.w, transpose_b=True) * 0.5
    def joined(self, x, y): return self.r.concat([x[2:4], y[0:2]])

    def curved(self, x):
        return self.r.tanh(x) * self.r.exp(self.r.square(x) * self.r.value(-1.0))

    def attend(self, x, y):
        scores = self.r.matmul(x, y, transpose_b=True) * 0.5
        return self.r.matmul(self.r.softmax(scores), y)

    def soft(self, x): return self.r.softmax(x)
    def normal(self, x): return self.r.layer_norm(x, 1e-5) * self.gain + self.a
    def summed(self, x): return self.r.total(self.r.transpose(x @ self.w), 0) * 0.5
    def shaped(self, x): return self.r.reshape(self.r.reshape(x, 16) * 0.5, (4, 4))
    def shifted(self, x, v): return x + v * self.gain
    def folded(self, x): return self.r.total(x, 0) * 0.25


class Program:
    """One random program: its text, its inputs, and a closure for each statement."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.dtype = rng.choice(["f32", "f32", "f64", "f16", "bf16"])
        self.short = self.dtype in ("f16", "bf16")  # without kinks
        self.of_params = "f32" if self.short else self.dtype
        self.fresh, self.training = 0, rng.choice(["", "learn", "optimizer", "optimizer"])
        self.optimizer = rng.choice(MIXED if self.short else OPTIMIZERS)
        self.clipped = rng.random() < 0.4
        self.rate = 0.01 if "sgd" in self.optimizer[0] else 0.001
        if self.dtype == "f64" and self.training:
            self.training = "learn"  # the optimizers are of f32
        self.declare()
        self.batches = rng.choice([1, 2, 3])
        self.pipeline = rng.random() < 0.3 and self.groups["p"] > 1
        self.pool = {"m": [("y", "y")], "h": [], "v": [], "s": [], "l": [("label", "label")],
                     "b": [("z", "z")] if rng.random() < 0.5 else []}
        self.bounded = bool(self.pool["b"])
        self.lines, self.steps = [], []
        for _ in range(0 if self.pipeline else rng.randint(0, 4)):
            self.statement()
        before, self.before = self.lines, self.steps
        self.lines, self.steps = [], []
        outside = {kind: list(values) for kind, values in self.pool.items()}
        self.pool["m"].append(("x[m]", "x"))
        if self.pipeline:
            self.stages()
        else:
            for _ in range(rng.randint(1, 8)):
                self.statement()
        self.loss(outside)
        self.write(before)

    def declare(self):
        """Places: p have params of their own and a gain in copies, q are copies, s is one."""
        rng = self.rng
        self.groups = {"p": rng.randint(1, 4), "q": rng.choice([0, 0, 2, 3]),
                       "s": rng.choice([0, 1])}
        self.places, self.devices, self.text = [], {}, ""
        choices = [f"{kind}[{i}]" for kind in ("cpu", "gpu") for i in range(3)]
        for group, count in self.groups.items():
            devices = rng.sample(choices, count) if rng.random() < 0.7 else \
                rng.choices(choices, k=count)
            if not count:
                continue
            self.text += f"const ON_{group.upper()} = [{', '.join(devices)}]\n"
            self.text += {"p": f"place p[i in 0..{count}] = Node(i) on ON_P[i]",
                          "q": f"place q[j in 0..{count}] = Copy(8) on ON_Q[j] equal along j",
                          "s": "place s = Copy(9) on ON_S[0]"}[group]
            name, given = self.optimizer
            given = ", ".join(f"{key}: {str(value).lower()}" for key, value in given.items())
            self.text += f" trained by {name}({given})\n" if self.training == "optimizer" else "\n"
            for i, device in enumerate(devices):
                name = "s" if group == "s" else f"{group}[{i}]"
                self.places.append(name)
                self.devices[name] = device

    def new(self):
        self.fresh += 1
        return f"t{self.fresh}"

    def pick(self, kind):
        return self.rng.choice(self.pool[kind])

    def statement(self):
        roll = self.rng.random()
        if roll < 0.1:
            return self.free_op()
        if roll < 0.2:
            return self.views()
        if roll < 0.4:
            return self.collective()
        choices = [m for m, (args, _) in METHODS.items() if all(self.pool[a] for a in args)]
        if self.short:
            choices.remove("chosen")
        if self.bounded and roll < 0.6:
            choices = [m for m in choices if "b" in METHODS[m][0]]
        return self.call(self.rng.choice(self.places), self.rng.choice(choices))

    def call(self, place, method, args=None):
        arg_kinds, result_kinds = METHODS[method]
        args = args or [self.pick(kind) for kind in arg_kinds]
        method = SUFFIXES.sub("", method)
        vias = ["", "", "", " via auto", " via host"]
        names = [self.new() for _ in result_kinds]
        left = names[0] if len(names) == 1 else f"({', '.join(names)})"
        text = ", ".join(a[0] + self.rng.choice(vias) for a in args)
        self.lines.append(f"let {left} = {place}.{method}({text})")

        def step(env, nodes, r):
            result = getattr(nodes[place], method)(*[env[a[1]] for a in args])
            env.update(zip(names, [result] if len(names) == 1 else result))
        self.steps.append(step)
        for name, kind in zip(names, result_kinds):
            self.pool[kind].append((name, name))
        return names

    def free_op(self):
        a, b, name = self.pick("m"), self.pick("m"), self.new()
        place = self.rng.choice(self.places)
        text, make = self.rng.choice([("A * B * 0.5", lambda a, b: a * b * 0.5),
                                      ("A + B * 0.5", lambda a, b: a + b * 0.5),
                                      ("A - B[1]", lambda a, b: a - b[1])])
        text = text.replace("A", a[0]).replace("B", b[0])
        self.lines.append(f"let {name} = ({text}) on {place}")
        self.steps.append(lambda env, nodes, r: env.update({name: make(env[a[1]], env[b[1]])}))
        self.pool["m"].append((name, name))

    def views(self):
        """Views at graph level: a row or rows, which may overlap others, or rows put together."""
        a, b, name = self.pick("m"), self.pick("m"), self.new()
        i, j, roll = self.rng.randrange(4), self.rng.randrange(3), self.rng.randrange(3)
        if roll == 0:
            self.pool["v"].append((f"{a[0]}[{i}]", name))
            make = lambda a, b, r: a[i]
        elif roll == 1:
            self.pool["h"].append((f"{a[0]}[{j}..{j + 2}]", name))
            make = lambda a, b, r: a[j:j + 2]
        else:
            rows = [a, b, a, b]
            at = [self.rng.randrange(4) for _ in rows]
            text = ", ".join(f"{x[0]}[{k}]" for x, k in zip(rows, at))
            self.lines.append(f"let {name} = stack([{text}]) on {self.rng.choice(self.places)}")
            make = lambda a, b, r: r.stack([x[k] for x, k in zip([a, b, a, b], at)])
            self.pool["m"].append((name, name))
        self.steps.append(lambda env, nodes, r: env.update({name: make(env[a[1]], env[b[1]], r)}))

    def group(self):
        """Some places on devices of their own, in any order."""
        rng, devices, group = self.rng, set(), []
        for place in rng.sample(self.places, rng.randint(1, len(self.places))):
            if self.devices[place] not in devices:
                devices.add(self.devices[place])
                group.append(place)
        return group[:3] if len(group) > 4 else group

    def collective(self):
        rng, group = self.rng, self.group()
        n, root = len(group), rng.randrange(len(group))
        every = "b" if self.bounded and rng.random() < 0.4 else "m"  # of what kind the values are
        methods = {"m": ["mix", "mix", "divided"], "b": ["mix_b"]}[every]
        values = [self.call(place, rng.choice(methods))[0] for place in group]
        places, text, x = f"[{', '.join(group)}]", f"[{', '.join(values)}]", self.pick(every)
        pairs = ", ".join(f"({v}, {v}[1])" for v in values)
        via = rng.choice(["", "", " via auto", " via host"])
        reduction, factor = rng.choice([("sum", 1.0), ("avg", 1.0 / n)])
        rows = 4 // n
        parts = ", ".join(f"{v}[{i * rows}..{(i + 1) * rows}]" for i, v in enumerate(values))

        def fold(xs):
            total = xs[0]
            for y in xs[1:]:
                total = total + y
            return total * factor
        cut = lambda y, i: y[i * rows:(i + 1) * rows]
        # text of the collective -> (each participant's result, its kind) or the only result
        choices = {
            f"all_reduce({text}, {reduction}){via}": lambda xs, x, r: [fold(xs)] * n,
            f"reduce({text}, {reduction}, root: {root}){via}": lambda xs, x, r: fold(xs),
            f"broadcast({x[0]}, to: {places}){via}": lambda xs, x, r: [x] * n,
        }
        if every == "m":
            choices[f"[pair[0] * pair[1] for pair in all_reduce([{pairs}], {reduction}){via}]"] = \
                lambda xs, x, r: [fold(xs) * fold([y[1] for y in xs])] * n
        if every == "m" and n in (1, 2, 4):
            choices |= {
                f"all_gather([{parts}]){via}":
                    lambda xs, x, r: [r.concat([cut(y, i) for i, y in enumerate(xs)])] * n,
                f"gather([{parts}], root: {root}){via}":
                    lambda xs, x, r: r.concat([cut(y, i) for i, y in enumerate(xs)]),
                f"all_to_all({text}){via}":
                    lambda xs, x, r: [r.concat([cut(y, i) for y in xs]) for i in range(n)],
                f"scatter({x[0]}, to: {places}){via}":
                    lambda xs, x, r: [cut(x, i) for i in range(n)],
                f"reduce_scatter({text}, {reduction}){via}":
                    lambda xs, x, r: [cut(fold(xs), i) for i in range(n)],
                f"all_gather(reduce_scatter({text}, {reduction}){via}){via}":
                    lambda xs, x, r: [fold(xs)] * n,
            }
        call, name = rng.choice(list(choices)), self.new()
        make, alone = choices[call], call.startswith(("reduce(", "gather("))
        if rng.random() < 0.2:
            self.lines.append(f"barrier({places})")
        self.lines.append(f"let {name} = {call}")

        def step(env, nodes, r):
            results = make([env[v] for v in values], env[x[1]], r)
            env.update({name: results} if alone else
                       {f"{name}[{i}]": result for i, result in enumerate(results)})
        self.steps.append(step)
        cuts = call.startswith(("scatter", "reduce_scatter"))
        kind = {4: "m", 2: "h"}.get(rows) if cuts else every
        if alone:
            self.pool[every].append((name, name))
        elif kind:
            for i in rng.sample(range(n), rng.randint(1, n)):
                self.pool[kind].append((f"{name}[{i}]", f"{name}[{i}]"))

    def stages(self):
        """Each micro-batch goes through every p."""
        value = ("x[m]", "x")
        for i in range(self.groups["p"]):
            name, = self.call(f"p[{i}]", "forward", [value])
            value = (name, name)

    def loss(self, outside):
        """What an iteration adds to the loss: the mean of something of each kind it has made."""
        rng = self.rng
        fresh = {kind: values[len(outside[kind]):] for kind, values in self.pool.items()}
        terms = []
        for kind in "mhvsb":
            at_most = 1 if self.pipeline else 2
            for text, key in rng.sample(fresh[kind], min(len(fresh[kind]), at_most)):
                if key in ("x",):
                    continue
                if kind == "b":  # which may have no rows, and so no mean
                    terms.append((f"sum(square({text})) * 0.125", key, kind))
                    continue
                terms.append((f"mean(square({text}))" if rng.random() < 0.5 else
                              f"mean({text} * 0.5)", key, kind))
        if self.pipeline:
            terms = [(f"mean(square({fresh['m'][-1][0]}))", fresh["m"][-1][1], "m")]
        terms = terms or [("mean(square(x[m]))", "x", "m")]
        self.lines.append(f"losses = losses + [{' + '.join(t for t, _, _ in terms)}]")

        def term(text, value, r):
            if text.startswith("sum"):
                return r.total(r.square(value)) * 0.125
            return r.mean(r.square(value)) if text.startswith("mean(sq") else r.mean(value * 0.5)

        def step(env, nodes, r):
            total = None
            for text, key, _ in terms:
                part = term(text, env[key], r)
                total = part if total is None else total + part
            env["losses"].append(total)
        self.steps.append(step)

    def results(self, before):
        """What the graph gives out: name -> (text, dtype, shape). Asks gradients of all places, or
        fewer, and of some values; and where params are trained, one as it is then."""
        rng = self.rng
        groups = [group for group, count in self.groups.items() if count]
        self.of = [g for g in groups if self.training or rng.random() < 0.8] or groups
        self.of += ["x", "y"] + ["z"] * self.bounded if rng.random() < 0.7 else []
        outside = [(key, kind) for kind in "mvb" for _, key in self.pool[kind]
                   if any(line.startswith(f"let {key} =") for line in before)]
        shapes = {"x": f"[{self.batches}, 4, 4]", "y": "[4, 4]", "z": "[n, 4]"}
        for key, kind in rng.sample(outside, min(len(outside), 1)):
            self.of.append(key)
            shapes[key] = {"m": "[4, 4]", "v": "[4]", "b": "[n, 4]"}[kind]
        results = {"loss": ("loss", self.dtype, "")}
        for i, target in enumerate(self.of):
            for place in [p for p in self.places if p[0] == target]:
                at = f"g[{i}]" + (place[1:] if target != "s" else "")
                for param in ("w", "pair[0]", "pair[1]", "each[0]", "each[1]", "gain"):
                    shape = "[4]" if param in ("pair[0]", "gain") else "[4, 4]"
                    results[f"{place}.{param}"] = (f"{at}.{param}", self.of_params, shape)
            if target not in groups:
                results[target] = (f"g[{i}]", self.dtype, shapes[target])
        if self.training:
            results[f"{rng.choice(self.places)}.trained"] = ("trained", self.dtype, "[4, 4]")
        return results

    def updates(self, results):
        if self.training == "learn":
            lines = [f"{p}.learn(g[{self.of.index(p[0])}]{p[1:]}.w)" for p in self.places]
        else:
            gradients = {group: f"g[{self.of.index(group)}]"
                         for group, count in self.groups.items() if count and self.training}
            scale = ", scale: minimum(1.0, 1.0 / global_norm(G))" if self.clipped else ""
            lines = [f"update_all({group}, {g}, rate: {self.rate}{scale.replace('G', g)})"
                     for group, g in gradients.items()]
        return lines + [f"let trained = {key.removesuffix('.trained')}.peek()"
                        for key in results if key.endswith(".trained")]

    def write(self, before):
        results, T = self.results(before), self.dtype
        self.names = {f"o{i}": key for i, key in enumerate(results)}
        self.dtypes = {key: dtype for key, (_, dtype, _) in results.items()}
        values = ", ".join(f"o{i}: {text}" for i, (text, _, _) in enumerate(results.values()))
        types = ", ".join(f"o{i}: {dtype}{shape}"
                          for i, (_, dtype, shape) in enumerate(results.values()))
        lines = lambda ls, space: "".join(f"{space}{line}\n" for line in ls)
        last = "mean(stack(losses))" if self.batches > 1 else "losses[0] * 2.0"
        actors = "".join(
            ACTOR.replace("NAME", name).replace("ALONG", along).replace("{GAIN}", gain)
            for name, along, gain in [("Node", " equal along i", "shared"), ("Copy", "", "{k}")])
        z = f", z: T[n <= {BOUND}, 4]" if self.bounded else ""
        graph = (f"graph step(x: T[{self.batches}, 4, 4], y: T[4, 4], label: i64[4]{z}) -> "
                 f"({types}) RECOMPUTE {{\n  var losses = []\n{lines(before, '  ')}"
                 f"  for m in 0..{self.batches} {{\n"
                 f"{lines(self.lines, '    ')}  }}\n  let loss = {last}\n"
                 f"  let g = grad(loss, of: ({', '.join(self.of)},))\n"
                 f"{lines(self.updates(results), '  ')}  return ({values})\n}}\n")
        step = "cast<T>(g * 0.01)".replace("T", T) if self.short else "g * 0.01"
        actors = actors.replace("STEP", step).replace("G[", f"{self.of_params}[")
        self.text = (IMPORTS + SCHEDULES + FNS + actors + self.text + graph).replace("T[", f"{T}[")
        if self.short:
            self.text = self.text.replace("relu(", "tanh(")
        for alone in ("-> T ", "s: T)"):
            self.text = self.text.replace(alone, alone.replace("T", T))

    def arrays(self, seed):
        """The params by number of the place's parameter, and the inputs."""
        rng = np.random.default_rng(seed)
        dtype = self.dtype if self.short else "f32"
        real = lambda *shape: wide(narrow(rng.normal(size=shape) * 0.5, dtype))
        gain = lambda: wide(narrow(real(4) + 1, dtype))
        init = {str(k): {"w": real(4, 4), "a": real(4), "b": real(4, 4), "c": real(4, 4),
                         "d": real(4, 4), "f": real(4, 4), "gain": gain()}
                for k in [*range(self.groups["p"]), 8, 9]} | {"shared": {"gain": gain()}}
        inputs = {"x": real(self.batches, 4, 4), "y": real(4, 4), "label": rng.integers(0, 4, 4)}
        if self.bounded:
            inputs["z"] = real(rng.integers(0, BOUND + 1), 4)
        return init, inputs

    def numbers(self):
        """The number of each place's params in the file of initial values."""
        return {place: {"p": place[2:-1], "q": "8", "s": "9"}[place[0]] for place in self.places}

    def nodes(self, r, init, hs):
        """The places by name; q are one node with states h of their own."""
        gain, nodes = r.Value(init["shared"]["gain"]), {}
        for place, number in self.numbers().items():
            if place[0] == "q" and place != "q[0]":
                nodes[place] = copy.copy(nodes["q[0]"])
            else:
                own = gain if place[0] == "p" else r.Value(init[number]["gain"])
                nodes[place] = Node(r, init[number], own)
            nodes[place].h = r.Value(hs.get(place, np.zeros((4, 4))))
        return nodes

    def evaluate(self, r, init, inputs, repeat):
        """The results by name, of the last of so many executions."""
        init, hs, slots = {number: dict(arrays) for number, arrays in init.items()}, {}, {}
        for _ in range(repeat):
            r.reset()
            nodes = self.nodes(r, init, hs)
            env = {name: r.Value(a) for name, a in inputs.items() if name != "label"}
            env |= {"label": inputs["label"], "losses": []}
            whole = env["x"]
            for step in self.before:
                step(env, nodes, r)
            for m in range(self.batches):
                env["x"] = whole[m]
                for step in self.steps:
                    step(env, nodes, r)
            env["x"] = whole
            loss = r.mean(r.stack(env["losses"])) if self.batches > 1 else env["losses"][0] * 2.0
            keys = [key for key in self.names.values() if not key.endswith(".trained")]
            wanted = [self.leaf(key, env, nodes, loss) for key in keys]
            trained = self.trained(nodes)
            found = r.gradients(loss, wanted + [value for _, _, value in trained])
            self.update(r, init, slots, trained, found[len(wanted):])
            hs = {place: node.h.array for place, node in nodes.items()}
        results = dict(zip(keys, found)) | {"loss": loss.array}
        numbers = self.numbers()
        return results | {key: init[numbers[key.removesuffix(".trained")]]["w"]
                          for key in self.names.values() if key.endswith(".trained")}

    def update(self, r, init, slots, trained, gradients):
        """Replaces the trained params in `init` as their optimizer does."""
        norms = {}
        if self.training == "optimizer" and self.clipped:
            for (number, _, _), g in zip(trained, gradients):
                norms[self.group_of(number)] = norms.get(self.group_of(number), 0) + (g * g).sum()
            r.kinks += [abs(norm - 1) for norm in norms.values()]
        for (number, name, value), g in zip(trained, gradients):
            if self.training == "learn":
                init[number][name] = value.array - 0.01 * g
                continue
            kind, given = self.optimizer
            g = g * min(1.0, 1.0 / max(np.sqrt(norms.get(self.group_of(number), 1.0)), 1e-9))
            if kind in ("adam", "adamw", "lion") and g.any():  # they see the sign of the least
                r.kinks.append(np.abs(g[g != 0]).min() / np.abs(g).max())
            own = slots.setdefault((number, name), {"master": value.array})
            own["master"] = getattr(optimizers, kind.removeprefix("mixed_"))(
                own["master"], g, own, self.rate, **given)
            init[number][name] = own["master"]

    def group_of(self, number):
        return {"8": "q", "9": "s"}.get(number, "p")

    def trained(self, nodes):
        """(number, name, value) of each param that an execution writes, copies once."""
        names = {"": "", "learn": "w", "optimizer": "wabcd"}[self.training]
        params = {(number, name): getattr(nodes[place], name)
                  for place, number in self.numbers().items() for name in names}
        if self.training == "optimizer":
            params |= {("shared" if place[0] == "p" else number, "gain"): nodes[place].gain
                       for place, number in self.numbers().items()}
        return [(*key, value) for key, value in params.items()]

    def leaf(self, key, env, nodes, loss):
        if key == "loss":
            return loss
        place, _, param = key.partition(".")
        if place not in nodes:
            return env[key]
        node = nodes[place]
        return {"w": node.w, "pair[0]": node.a, "pair[1]": node.b, "each[0]": node.c,
                "each[1]": node.d, "gain": node.gain}[param]


def close(got, expected, dtype, off):
    """Whether they agree within rounding, by the largest of the expected tensor; `off` is what the
    reference is off by where it rounds."""
    if got.shape != expected.shape or got.dtype != DTYPES[dtype][0]:
        return False
    within = DTYPES[dtype][1] * (1e-2 + np.abs(expected).max(initial=0)) + off
    return bool((np.abs(wide(got) - expected) <= within).all())  # false of NaN, too


def difference(program, r, init, inputs):
    """Whether the reference agrees with how its loss changes along a direction of the inputs."""
    if "x" not in program.names.values():
        return True
    r.stop = r.copy  # the loss does change with what is under stop_gradient
    rng, step = np.random.default_rng(0), 1e-6
    along = {name: rng.normal(size=inputs[name].shape) for name in inputs if name != "label"}
    found = program.evaluate(r, init, inputs, 1)
    slope = sum((found[k] * along[k]).sum() for k in along)
    losses = [program.evaluate(r, init, inputs | {k: inputs[k] + e * along[k] for k in along}, 1)
              ["loss"] for e in (step, -step)]
    return abs((losses[0] - losses[1]) / (2 * step) - slope) <= 1e-4 * (1 + abs(slope))


class Trial:
    """One program, run in several ways. `failures` are sentences; `seen` the rules of the reference
    that would have failed if they were wrong."""

    def __init__(self, options, seed):
        self.options, self.seed, self.failures, self.seen = options, seed, [], set()
        self.runs = self.compared = 0
        self.rules, self.skipped, self.near, self.inputs = set(), False, False, []
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            self.run()

    def fail(self, what, output):
        kept = pathlib.Path(tempfile.gettempdir()) / f"random_gradients_{self.seed}"
        shutil.copytree(self.folder, kept, dirs_exist_ok=True)
        self.failures.append(f"seed {self.seed}: {what} ({kept})\n{output}")

    def run(self):
        self.program = program = Program(self.seed)
        init, inputs = program.arrays(self.seed)
        self.repeat = program.rng.randint(1, 3)
        r = reference(program.short)
        r.planted = set(self.options.plant)
        expected = program.evaluate(r, init, inputs, self.repeat)
        self.near = min(r.kinks, default=1) < 1e-4
        large = max(np.abs(e).max(initial=0) for e in expected.values())
        self.skipped = not large < (1e2 if program.short else 1e4)  # of which nothing is left
        if self.skipped:
            return
        self.off = self.roundings(init, inputs, expected)
        self.rules = set() if self.near else set(r.used)
        if not self.options.plant and not self.near and not difference(
                program, reference(program.short), init, inputs):
            self.fail("the reference disagrees with its finite difference", "")
        self.write("")
        tensor_files.write(self.folder / "init.safetensors", {
            f"{k}.{name}": narrow(a, program.dtype) for k, arrays in init.items()
            for name, a in arrays.items()})
        self.inputs = list(inputs)
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy",
                    array if name == "label" else narrow(array, program.dtype))
        got = self.run_all(expected)
        if got and not self.failures:
            for rule in self.rules:
                r.planted = {rule}
                wrong = program.evaluate(r, init, inputs, self.repeat)
                if not all(self.close(got[o], wrong[key], key)
                           for o, key in program.names.items()):
                    self.seen.add(rule)

    def roundings(self, init, inputs, expected):
        """How far off each result is, by its name, where the reference rounds to the dtype: to the
        nearest number, and towards zero."""
        program, off = self.program, dict.fromkeys(expected, 0.0)
        if not program.short:
            return off
        for rounding in (lambda x: wide(narrow(x, program.dtype)),
                         lambda x: truncated(x, program.dtype)):
            rounded = program.evaluate(reference(True, rounding), init, inputs, self.repeat)
            for key, e in expected.items():
                off[key] = max(off[key], 4 * np.abs(rounded[key] - e).max(initial=0))
        return off

    def close(self, got, expected, key):
        return close(got, expected, self.program.dtypes[key], self.off[key])

    def ways(self):
        """(what, flags, whether its bits are those of the first) of each run."""
        rng, program = self.program.rng, self.program
        workers = ["--workers", str(rng.randint(2, 4))]
        yield "program order", ["--schedule", "program", "--workers", "1"]
        yield "halves", ["--schedule", "halves", *workers]
        yield "auto", ["--schedule", "auto", "--workers", "1"]
        yield "processes", ["--schedule", rng.choice(["halves", "program", "whole"]),
                            "--processes", rng.choice(["2", "3", "device"])]
        yield "whole", ["--schedule", "whole", *workers, rng.choice(["--overlap", "--no-overlap"])]
        on = [program.devices[p] for p in program.places if p[0] == "p"]
        if program.pipeline and len(set(on)) == len(on):
            name = rng.choice(["zb_h1", "zb_h2", "one_f_one_b", "one_f_one_b_fused"])
            yield name, ["--schedule", f"{name}({len(on)})", *workers]

    def write(self, recompute):
        path = self.folder / "random.cgraph"
        path.write_text(self.program.text.replace("RECOMPUTE ", recompute))

    def warned(self):
        """Nothing is said of a program but that some results and params are not needed."""
        done = subprocess.run([self.options.cgc, "compile", "random.cgraph", "-o", "random.cgplan",
                               *UNUSED], capture_output=True, text=True, timeout=120,
                              cwd=self.folder)
        if "warning" in done.stderr:
            self.fail("a warning", done.stderr)

    def run_all(self, expected):
        first = None
        self.warned()
        for what, flags in self.ways():
            got = self.execute(what, flags, dict(os.environ))
            if got is None:
                continue
            if first is None:
                first = got
                self.compare(what, got, expected)
            else:
                self.same(what, got, first)
        if first is not None:
            self.write(f"recompute {', '.join(self.program.rng.sample(RECOMPUTED, 3))} ")
            schedule = self.program.rng.choice(["program", "halves"])
            got = self.execute("recompute", ["--schedule", schedule, "--workers", "2"], os.environ)
            if got is not None:
                self.same("recompute", got, first)
            self.write("")
        if self.options.emulated:
            self.emulated(expected)
        return first

    def emulated(self, expected):
        """GPUs have other kernels, and NCCL an order of sums of its own: equal within rounding."""
        program = self.program
        gpus = sorted({d for d in program.devices.values() if d.startswith("gpu")})
        for schedule in ("program", "halves"):
            order = program.rng.randrange(1, 1 << 30)
            extra, flags = random_graphs.emulated(self.options.emulated, gpus, order)
            workers = [] if "--device-map" in flags else ["--workers", "2"]
            got = self.execute(f"emulated {schedule}", ["--schedule", schedule, *flags, *workers],
                               os.environ | extra)
            if got is not None:
                self.compare(f"emulated {schedule}", got, expected)

    def execute(self, what, flags, environment):
        command = [self.options.cgrun, "random.cgraph", "-q", "-n", str(self.repeat), "--timeout",
                   "20", *flags, "--output", "out.safetensors", *UNUSED]
        for name in self.inputs:
            command += ["--input", f"{name}={name}.npy"]
        self.runs += 1
        (self.folder / "out.safetensors").unlink(missing_ok=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                                  cwd=self.folder, env=environment)
        except subprocess.TimeoutExpired as late:
            self.fail(f"{what} has no end: {' '.join(flags)}", str(late))
            return None
        if done.returncode or done.stderr:
            self.fail(f"{what} exits with {done.returncode}: {' '.join(flags)}", done.stderr)
            return None
        return tensor_files.read(self.folder / "out.safetensors")

    def compare(self, what, got, expected):
        if self.near:
            return
        for output, key in self.program.names.items():
            self.compared += 1
            if not self.close(got[output], expected[key], key):
                self.fail(f"{what}: {key}", f"got {wide(got[output])}\nexpected "
                          f"{expected[key]}, rounding {self.off[key]}")
                return

    def same(self, what, got, first):
        for output, key in self.program.names.items():
            self.compared += 1
            if got[output].tobytes() != first[output].tobytes():
                self.fail(f"{what}: other bits of {key} than program order",
                          f"{wide(got[output]) - wide(first[output])}")
                return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--emulated", metavar="FOLDERS", help="with the libraries of emulated GPUs")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--plant", action="append", default=[], metavar="RULE")
    options = parser.parse_args()
    if options.emulated:
        options.emulated = ":".join(map(os.path.abspath, options.emulated.split(":")))
    first = int(os.environ.get("CGRAPH_SEED", "0")) % options.every
    seeds = range(options.seed + first, options.seed + options.count, options.every)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        trials = list(pool.map(lambda seed: Trial(options, seed), seeds))
    failures = [failure for trial in trials for failure in trial.failures]
    for failure in failures[:5]:
        print(failure)
    rules = set().union(*(trial.rules for trial in trials))
    seen = set().union(*(trial.seen for trial in trials))
    compared = sum(trial.compared for trial in trials)
    print(f"random gradients: {len(trials)} programs ({sum(t.skipped for t in trials)} too large, "
          f"{sum(t.near for t in trials)} near a kink) in {sum(t.runs for t in trials)} runs, "
          f"{compared} tensors compared, {len(failures)} failures; faults of {len(seen)} of "
          f"{len(rules)} rules would be seen")
    blind = rules - seen if len(trials) >= 60 and not failures else set()
    if blind:
        print(f"no program would have seen a fault of {', '.join(sorted(blind))}")
    wanted = [f"{name}(" for name in COLLECTIVES + [name for name, _ in OPTIMIZERS + MIXED]]
    wanted += ["global_norm(", f"n <= {BOUND}", *DTYPES]
    missing = {text for text in wanted if len(trials) >= 60 and not any(
        re.search(rf"\b{re.escape(text)}", trial.program.text) for trial in trials)}
    if missing:
        print(f"no program has {', '.join(sorted(missing))}")
    sys.exit(1 if failures or blind or missing or not compared else 0)


if __name__ == "__main__":
    main()

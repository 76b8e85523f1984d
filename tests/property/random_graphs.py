#!/usr/bin/python3
"""Random graphs, run by cgrun and evaluated directly with NumPy.

The generator writes files of many graphs over a few actors with state, on random devices, with
random transports, overlap, inflight, loops, views, lists, collectives and bounded dimensions; the
evaluator runs the same statements one after the other on NumPy arrays. They share no kernel, order
or buffer.
All values are small integers (also in the float tensors), so results must be equal to the last bit.

  random_graphs.py --cgc build/release/cgc --cgrun build/release/cgrun --graphs 2000 --seed 1
      [--emulated build/release/emulated:build/release] [--every 4]

With `--emulated`, gpus are emulated ones, of which each run does its work in another order. With
`--every 4` it tries one file in four, the first of which CGRAPH_SEED chooses, if that is set.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reference"))
import normal as random_reference  # noqa: E402

ACTOR = """import std.tensor
import std.nn
import std.random

actor Node(k: int) {
  state sum_: i64[4] = zeros()
  state w: f32[4, 4] = ones()
  state v: bf16[4, 4] = reshape(iota<bf16[16]>(), [4, 4])
  state count: i64 = k
  method scale(x: i64[n]) -> i64[n] { return (x * k + 1) % 997 }
  method mix(x: i64[n], y: i64[n]) -> i64[n] { return (x - y * 2) % 1009 }
  method keep(x: i64[4]) -> i64[4] { sum_ = (sum_ + x) % 10007  return sum_ }
  method put(x: i64[4]) { sum_ = (sum_ * 2 + x) % 5003 }
  method peek() -> i64[4] { return sum_ }
  method two(x: i64[n]) -> (i64[n], i64[n]) { return (x + 1, x) }
  method total(x: i64[n]) -> i64 { return sum(x) % 101 }
  method spread(x: i64[4], s: i64) -> (y: i64[4], c: i64) {
    count += s
    return (y: x + s, c: count)
  }
  method dense(x: f32[r, 4]) -> f32[r, 4] { return relu(x @ w) % 64.0 }
  method weigh(x: f32[r, 4]) -> f32[r, 4] { return matmul(x, v, transpose_b: true) % 64.0 }
  method learn(x: f32[r, 4]) -> f32[r, 4] {
    w = (w + matmul(x, x, transpose_a: true)) % 8.0
    return x - 1.0
  }
  method weave(x: i64[4], y: i64[4]) -> i64[4] {
    return flatten(stack([x[1..3], y[2..4]], dim: 1))
  }
  method piece(x: i64[n], y: i64[4]) -> i64[4] {
    return concat([y[3..4], sum(x, 0, true), y[1..3]])
  }
  method fold(x: f32[r, 4]) -> f32[r, 4] {
    return where(x > sum(x, dim: -1, keepdim: true), x, max(x, dim: 0)) % 16.0
  }
  method ordered(x: i64[n]) -> i64[n] {
    let (up, at) = sort(x % 7, descending: true)
    return up * 5 + at
  }
  method greatest(x: i64[4]) -> i64[4] {
    let top = topk(x, k: 2)
    return concat([top.values, top.indices], dim: 0)
  }
  method added(x: i64[n]) -> i64[n] { return clamp(cumsum(x, dim: 0), -700, 900) }
  method sent(x: i64[4], y: i64[4]) -> i64[4] {
    return scatter_add(x, dim: 0, index: y % 4, src: pow(y % 3, x % 5))
  }
  method taken(x: i64[4], y: i64[4]) -> i64[4] { return take_along_dim(x, y % 4, dim: 0) }
  method hot(x: i64[4]) -> f32[3, 4] { return one_hot(x[0..3] % 4, num_classes: 4) }
  method around(x: f32[3, 4]) -> f32[3, 4] {
    let weight: f32[1, 1, 3, 3] = reshape(iota<f32[9]>(), [1, 1, 3, 3])
    return reshape(conv2d(reshape(x, [1, 1, 3, 4]), weight, padding: [1, 1]), [3, 4]) % 64.0
  }
  method drawn(x: f32[r, 4], seed: i64) -> f32[r, 4] { return dropout(x, seed) % 64.0 }
}
"""


class Node:
    """The actor, on NumPy arrays."""

    def __init__(self, k):
        self.k, self.count = k, np.int64(k)
        self.sum = np.zeros(4, np.int64)
        self.w = np.ones((4, 4), np.float32)
        self.v = np.arange(16, dtype=np.float32).reshape(4, 4)

    def scale(self, x): return (x * self.k + 1) % 997
    def mix(self, x, y): return (x - y * 2) % 1009

    def keep(self, x):
        self.sum = (self.sum + x) % 10007
        return self.sum

    def put(self, x): self.sum = (self.sum * 2 + x) % 5003
    def peek(self): return self.sum
    def two(self, x): return (x + 1, x)
    def total(self, x): return np.int64(x.sum() % 101)

    def spread(self, x, s):
        self.count = self.count + s
        return (x + s, self.count)

    def dense(self, x): return np.maximum(x @ self.w, 0) % np.float32(64)

    def weigh(self, x): return (x @ self.v.T) % np.float32(64)

    def learn(self, x):
        self.w = (self.w + x.T @ x) % np.float32(8)
        return x - np.float32(1)

    def weave(self, x, y): return np.stack([x[1:3], y[2:4]], 1).reshape(4)
    def piece(self, x, y): return np.concatenate([y[3:4], x.sum(keepdims=True), y[1:3]])

    def fold(self, x):
        return np.where(x > x.sum(-1, keepdims=True), x, x.max(0)) % np.float32(16)
    def ordered(self, x):
        at = np.argsort(-(x % 7), kind="stable")
        return (x % 7)[at] * 5 + at

    def greatest(self, x):
        at = np.argsort(-x, kind="stable")[:2]
        return np.concatenate([x[at], at])

    def added(self, x): return np.clip(np.cumsum(x), -700, 900)

    def sent(self, x, y):
        sums = x.copy()
        np.add.at(sums, y % 4, (y % 3) ** (x % 5))
        return sums

    def taken(self, x, y): return x[y % 4]
    def hot(self, x): return np.eye(4, dtype=np.float32)[x[:3] % 4]

    def around(self, x):
        padded, sums = np.pad(x, 1), np.zeros_like(x)
        for i in range(9):
            sums += np.float32(i) * padded[i // 3:i // 3 + 3, i % 3:i % 3 + 4]
        return sums % np.float32(64)

    def drawn(self, x, seed):
        kept = random_reference.uniform(seed, x.size).reshape(x.shape) >= 0.5
        return np.where(kept, x * np.float32(2), np.float32(0)) % np.float32(64)


# method -> (argument kinds, result kinds). Kinds: v = i64[4], b = i64[n <= 6], s = i64, m = f32[3,
# 4].
METHODS = {
    "scale": ("v", "v"), "scale_b": ("b", "b"), "mix": ("vv", "v"), "mix_b": ("bb", "b"),
    "keep": ("v", "v"), "put": ("v", ""), "peek": ("", "v"), "two": ("v", "vv"),
    "two_b": ("b", "bb"), "total": ("v", "s"), "total_b": ("b", "s"), "spread": ("vs", "vs"),
    "dense": ("m", "m"), "learn": ("m", "m"), "fold": ("m", "m"), "weigh": ("m", "m"),
    "weave": ("vv", "v"), "piece": ("vv", "v"), "piece_b": ("bv", "v"),
    "dense": ("m", "m"), "learn": ("m", "m"), "ordered": ("v", "v"), "ordered_b": ("b", "b"),
    "greatest": ("v", "v"), "added": ("v", "v"), "added_b": ("b", "b"), "sent": ("vv", "v"),
    "taken": ("vv", "v"), "hot": ("v", "m"), "drawn": ("ms", "m"),
    "around": ("m", "m"),
}


class Graph:
    """One random graph: its text, and a closure that evaluates it."""

    def __init__(self, rng, name, devices):
        self.rng, self.name, self.devices = rng, name, devices
        self.inputs = {}
        self.lines, self.steps = [], []
        self.pool = {"v": [], "b": [], "s": [], "m": []}  # (text, home device or None, key)
        self.fresh = 0
        for kind, type_text in (("v", "i64[4]"), ("b", "i64[n <= 6]"), ("s", "i64"),
                                ("m", "f32[3, 4]")):
            if kind == "v" or rng.random() < 0.5:
                self.inputs[f"x{kind}"] = (kind, type_text)
                self.pool[kind].append((f"x{kind}", None, f"x{kind}"))
        for _ in range(rng.randint(1, 14)):
            self.statement()
        self.finish()

    def new(self):
        self.fresh += 1
        return f"t{self.fresh}"

    def transport(self, source, target):
        """A legal ` via T` from the source's home to the target, or nothing."""
        rng = self.rng
        if rng.random() < 0.5:
            return ""
        if source == target and source is not None:
            return " via " + rng.choice(["auto", "local", "nccl", "shm", "host"])
        kinds = {("caller" if d is None else d[:3]) for d in (source, target)}
        if kinds == {"gpu"}:
            return " via " + rng.choice(["auto", "nccl", "shm", "host"])
        if "gpu" in kinds:
            options = ["auto", "host"] if "caller" in kinds else ["auto", "host", "shm"]
        else:
            options = ["auto", "local"]
        return " via " + rng.choice(options)

    def statement(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.08 and self.pool["v"]:
            return self.loop()
        if roll < 0.16 and self.pool["v"]:
            return self.free_op()
        if roll < 0.22 and self.pool["m"]:
            return self.row()
        if roll < 0.36 and self.pool["v"]:
            return self.collective()
        node = rng.randrange(len(self.devices))
        choices = [m for m, (args, _) in METHODS.items() if all(self.pool[a] for a in args)]
        method = rng.choice(choices)
        arg_kinds, result_kinds = METHODS[method]
        args = [rng.choice(self.pool[a]) for a in arg_kinds]
        method = method.removesuffix("_b")
        home = self.devices[node]
        text = ", ".join(a[0] + self.transport(a[1], home) for a in args)
        call = f"p{node}.{method}({text})"
        keys = [a[2] for a in args]
        names = [self.new() for _ in result_kinds]
        if not names:
            self.lines.append(call)
        elif len(names) == 1:
            self.lines.append(f"let {names[0]} = {call}")
        else:
            self.lines.append(f"let ({', '.join(names)}) = {call}")

        def step(env, nodes):
            result = getattr(nodes[node], method)(*[env[k] for k in keys])
            if len(names) == 1:
                env[names[0]] = result
            for i, name in enumerate(names if len(names) > 1 else []):
                env[name] = result[i]
        self.steps.append(step)
        for name, kind in zip(names, result_kinds):
            self.pool[kind].append((name, home, name))

    def loop(self):
        """var v = x; for p in [..] { v = p.scale(v) } over some of the places."""
        rng = self.rng
        text, _, key = rng.choice(self.pool["v"])
        nodes_used = [rng.randrange(len(self.devices)) for _ in range(rng.randint(1, 4))]
        name = self.new()
        places = ", ".join(f"p{i}" for i in nodes_used)
        self.lines.append(f"var {name} = {text}")
        self.lines.append(f"for p in [{places}] {{ {name} = p.scale({name}) }}")

        def step(env, nodes):
            value = env[key]
            for i in nodes_used:
                value = nodes[i].scale(value)
            env[name] = value
        self.steps.append(step)
        self.pool["v"].append((name, self.devices[nodes_used[-1]], name))

    def free_op(self):
        rng = self.rng
        a, b = rng.choice(self.pool["v"]), rng.choice(self.pool["v"])
        where = rng.randrange(len(self.devices))
        name = self.new()
        self.lines.append(f"let {name} = (({a[0]} + {b[0]} * 3) % 211) on p{where}")

        def step(env, nodes):
            env[name] = (env[a[2]] + env[b[2]] * 3) % 211
        self.steps.append(step)
        self.pool["v"].append((name, self.devices[where], name))

    def row(self):
        """A row of a matrix is a view; summing it makes a scalar of floats, kept as a matrix."""
        rng = self.rng
        m = rng.choice(self.pool["m"])
        row, where, name = rng.randrange(3), rng.randrange(len(self.devices)), self.new()
        self.lines.append(f"let {name} = (({m[0]} + {m[0]}[{row}]) % 32.0) on p{where}")

        def step(env, nodes):
            env[name] = (env[m[2]] + env[m[2]][row]) % np.float32(32)
        self.steps.append(step)
        self.pool["m"].append((name, self.devices[where], name))

    def collective(self):
        """Some places on devices of their own: what each makes of a value meets the others'."""
        rng = self.rng
        nodes = list(range(len(self.devices)))
        rng.shuffle(nodes)
        group, devices = [], set()
        for node in nodes[:rng.randint(1, len(nodes))]:
            if self.devices[node] not in devices:
                devices.add(self.devices[node])
                group.append(node)
        members = len(group)
        kinds = {device[:3] for device in devices}
        vias = ["", "", " via auto", " via shm", " via host"]
        via = rng.choice(vias + ([" via nccl"] if kinds == {"gpu"} else []) +
                         ([" via local"] if kinds == {"cpu"} else []))
        text, _, key = rng.choice(self.pool["v"])
        places = "[" + ", ".join(f"p{i}" for i in group) + "]"
        values = "[" + ", ".join(f"p{i}.scale({text})" for i in group) + "]"
        reduction, root = rng.choice(["sum", "prod", "min", "max"]), rng.randrange(members)
        folds = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}

        def fold(xs):
            total = xs[0]
            for x in xs[1:]:
                total = folds[reduction](total, x)
            return total

        def cut(x, rank):
            each = len(x) // members
            return x[rank * each:(rank + 1) * each]

        every = lambda make: lambda xs: [make(xs, rank) for rank in range(members)]
        choices = {  # text of the collective -> what each participant gets
            f"all_reduce({values}, {reduction}){via}": every(lambda xs, r: fold(xs)),
            f"broadcast(reduce({values}, {reduction}, root: {root}){via}, to: {places})":
                every(lambda xs, r: fold(xs)),
            f"broadcast({text}, to: {places}){via}": None,
            f"scatter(gather({values}, root: {root}){via}, to: {places}){via}":
                every(lambda xs, r: xs[r]),
        }
        if 4 % members == 0:
            choices[f"all_to_all({values}){via}"] = every(
                lambda xs, r: np.concatenate([cut(x, r) for x in xs]))
            choices[f"all_gather(reduce_scatter({values}, {reduction}){via}){via}"] = every(
                lambda xs, r: fold(xs))
        name, call = self.new(), rng.choice(list(choices))
        made = choices[call]
        if rng.random() < 0.2:
            self.lines.append(f"barrier({places})")
        self.lines.append(f"let {name} = {call}")

        def step(env, actors):
            xs = [actors[node].scale(env[key]) for node in group]
            results = made(xs) if made else [env[key]] * members
            for rank in range(members):
                env[f"{name}[{rank}]"] = results[rank]
        self.steps.append(step)
        for rank in range(members):
            part = f"{name}[{rank}]"
            self.pool["v"].append((part, self.devices[group[rank]], part))

    def finish(self):
        rng = self.rng
        types = {"v": "i64[4]", "b": "i64[n <= 6]", "s": "i64", "m": "f32[3, 4]"}
        every = [(t, k, key) for k in self.pool for (t, _, key) in self.pool[k]
                 if k != "b" or "xb" in self.inputs]
        outs = rng.sample(every, rng.randint(1, min(4, len(every))))
        self.outputs = {f"o{i}": key for i, (_, _, key) in enumerate(outs)}
        params = ", ".join(f"{n}: {t}" for n, (_, t) in self.inputs.items())
        result = ", ".join(f"o{i}: {types[k]}" for i, (_, k, _) in enumerate(outs))
        values = ", ".join(f"o{i}: {t}" for i, (t, _, _) in enumerate(outs))
        attributes = f" inflight {rng.randint(1, 3)}" + rng.choice(["", " overlap off",
                                                                    " overlap on"])
        body = "\n".join(f"  {line}" for line in self.lines)
        self.text = (f"graph {self.name}({params}) -> ({result}){attributes} {{\n{body}\n"
                     f"  return ({values})\n}}\n")

    def evaluate(self, inputs, ks, repeat):
        nodes = [Node(k) for k in ks]
        for _ in range(repeat):
            env = dict(inputs)
            for step in self.steps:
                step(env, nodes)
        return {name: env[key] for name, key in self.outputs.items()}


def make_file(seed, graphs):
    rng = random.Random(seed)
    ks = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
    devices = [f"{rng.choice(['cpu', 'gpu'])}[{rng.randrange(3)}]" for _ in ks]
    text = ACTOR + "".join(f"place p{i} = Node({k}) on {d}\n"
                           for i, (k, d) in enumerate(zip(ks, devices)))
    made = [Graph(rng, f"g{i}", devices) for i in range(graphs)]
    gpus = sorted({d for d in devices if d.startswith("gpu")})
    return text + "".join(g.text for g in made), made, ks, gpus


def emulated(libraries, gpus, order):
    """Returns the environment and flags of a run on emulated GPUs, as the number `order` says."""
    # Streams may share hardware, in which work begins in the order of issue: all of a GPU's one
    # channel, or eight of them. Devices may share a GPU, or not reach each other's memory.
    channels = (0, 1, 8)[order % 3]
    one = order // 3 % 2 == 0
    peers = int(order // 6 % 3 != 0)
    # Faults where the host touches a GPU's memory cost more time than all the rest.
    protect = int(order % 4 == 0)
    flags = ["--require-gpu"]
    if one and gpus:
        flags += ["--device-map", ",".join(f"{gpu}=cuda:0" for gpu in gpus)]
    nccl = {"CGRAPH_EMULATED_NCCL": "version=21800"} if order // 18 % 4 == 0 else {}  # too old
    return nccl | {"LD_LIBRARY_PATH": libraries,
                   "CGRAPH_EMULATION": f"devices={1 if one else 3},seed={order},protect={protect},"
                                       f"channels={channels},peers={peers}"}, flags


def run(command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **kwargs)


def check_file(options, seed):
    """Compiles one file, runs each of its graphs, returns (graphs, values compared, failures)."""
    text, graphs, ks, gpus = make_file(seed, options.per_file)
    failures, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "random.cgraph").write_text(text)

        def fail(what, output):
            kept = pathlib.Path(tempfile.gettempdir()) / f"random_graphs_{seed}.cgraph"
            kept.write_text(text)
            failures.append(f"seed {seed}: {what} ({kept})\n{output}")

        done = run([options.cgc, "compile", "random.cgraph", "-o", "random.cgplan"], cwd=folder)
        if done.returncode:
            fail("does not compile", done.stderr)
            return len(graphs), 0, failures
        rng = np.random.default_rng(seed)
        for graph in graphs:
            n = int(rng.integers(0, 7))
            kinds = {"v": lambda: rng.integers(-20, 20, 4), "b": lambda: rng.integers(-20, 20, n),
                     "s": lambda: np.int64(rng.integers(-20, 20)),
                     "m": lambda: rng.integers(-3, 4, (3, 4)).astype(np.float32)}
            inputs = {name: kinds[kind]() for name, (kind, _) in graph.inputs.items()}
            repeat = int(rng.integers(1, 4))
            command = [options.cgrun, "random.cgplan", "-q", "--graph", graph.name, "-n",
                       str(repeat), "--timeout", "20"]
            workers = ["--workers", str(rng.integers(1, 3))]
            for name, value in inputs.items():
                np.save(folder / f"{name}.npy", value)
                command += ["--input", f"{name}={name}.npy"]
            for name in graph.outputs:
                command += ["--output", f"{name}={name}.npy"]
            environment = dict(os.environ)
            if options.emulated:
                extra, flags = emulated(options.emulated, gpus, int(rng.integers(1, 1 << 30)))
                environment |= extra
                command += flags
                if "--device-map" in flags:
                    workers = []  # the map says who shares a worker
            command += workers
            done = run(command, cwd=folder, env=environment)
            if done.returncode:
                fail(f"{graph.name} exits with {done.returncode}", done.stderr)
                continue
            for name, expected in graph.evaluate(inputs, ks, repeat).items():
                got = np.load(folder / f"{name}.npy")
                compared += 1
                if got.dtype != np.asarray(expected).dtype or not np.array_equal(got, expected):
                    fail(f"{graph.name} output {name}", f"got {got}\nexpected {expected}")
    return len(graphs), compared, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--emulated", metavar="FOLDERS", help="with the libraries of emulated GPUs")
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--per-file", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.emulated:  # runs have folders of their own
        options.emulated = ":".join(map(os.path.abspath, options.emulated.split(":")))

    first = int(os.environ.get("CGRAPH_SEED", "0")) % options.every
    seeds = range(options.seed + first,
                  options.seed - (-options.graphs // options.per_file), options.every)
    total = compared = 0
    failures = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for count, values, failed in pool.map(lambda s: check_file(options, s), seeds):
            total, compared = total + count, compared + values
            failures += failed
    for failure in failures[:5]:
        print(failure)
    print(f"random graphs: {total} graphs in {len(seeds)} files, {compared} outputs equal to "
          f"NumPy's apart from {len(failures)} failures")
    sys.exit(1 if failures or compared == 0 else 0)


if __name__ == "__main__":
    main()

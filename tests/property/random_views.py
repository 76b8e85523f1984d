#!/usr/bin/python3
"""Random methods that reshape, permute and slice, run by cgrun and evaluated by NumPy.

Such an op is a view of what it reads where its call alone reads it, so what must hold is that
nothing overwrites it too early: methods also write states, whole and in part, while views of the
old values are still to be read. Results and states must be equal after several executions, by one
worker and by two.

  random_views.py --cgc build/release/cgc --cgrun build/release/cgrun [--count 25] [--seed 1]
      [--emulated build/release/emulated:build/release]
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tensor_files  # noqa: E402

SIZE = 24
STATES = {"a": (4, 6), "b": (24,), "c": (2, 3, 4)}
ROUNDS = 3
METHODS = 8  # of a program


def shapes_of(size, rng):
    """A random shape with so many elements, of one to four dimensions, some of them 1."""
    shape = []
    while size > 1 and len(shape) < 3:
        part = rng.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(part)
        size //= part
    return tuple(shape + [size]) if size > 1 or not shape else tuple(shape)


class Method:
    """A method as text, and as steps on NumPy's arrays: `env` has its values, `state` the states.

    `bounded`: its input has n rows, at most 4. A dimension that is n is None in shapes.
    """

    def __init__(self, number, rng, bounded):
        self.number, self.rng = number, rng
        self.lines, self.steps, self.values = [], [], {}
        self.input = (None, 6) if bounded else shapes_of(SIZE, rng)
        self.values["x"] = self.input
        for _ in range(rng.randint(4, 12)):
            rng.choice([self.reshape, self.reshape, self.permute, self.part, self.add, self.sums,
                        self.read, self.write, self.write_part])()
        names = [n for n, s in self.values.items() if s and n != "x"]
        self.results = rng.sample(names, min(len(names), rng.randint(1, 3)))

    def let(self, text, shape, step):
        name = f"v{len(self.values)}"
        self.lines.append(f"let {name} = {text}")
        self.values[name] = shape
        self.steps.append(lambda env, state: env.__setitem__(name, step(env, state)))
        return name

    def any(self, fits=lambda shape: True):
        names = [name for name, shape in self.values.items() if fits(shape)]
        return self.rng.choice(names) if names else None

    def reshape(self):
        x = self.any()
        shape = self.values[x]
        if None in shape:
            at = shape.index(None)
            if len(shape) < 4 and self.rng.random() < 0.4:
                dim = self.rng.randint(0, len(shape))
                return self.let(f"unsqueeze({x}, dim: {dim})", shape[:dim] + (1,) + shape[dim:],
                                lambda env, _: np.expand_dims(env[x], dim))
            dims = [d for d in range(len(shape)) if d != at]
            dim = self.rng.choice(dims)
            parts = shapes_of(shape[dim], self.rng)
            if len(shape) + len(parts) > 6:
                return None
            return self.let(f"unflatten({x}, {dim}, {list(parts)})",
                            shape[:dim] + parts + shape[dim + 1:],
                            lambda env, _: env[x].reshape(env[x].shape[:dim] + parts +
                                                          env[x].shape[dim + 1:]))
        to = shapes_of(int(np.prod(shape)), self.rng)
        return self.let(f"reshape({x}, {list(to)})", to, lambda env, _: env[x].reshape(to))

    def permute(self):
        x = self.any(lambda shape: len(shape) > 1)
        if x is None:
            return
        order = list(range(len(self.values[x])))
        self.rng.shuffle(order)
        self.let(f"permute({x}, order: {order})", tuple(self.values[x][i] for i in order),
                 lambda env, _: env[x].transpose(order))

    def part(self):
        x = self.any(lambda shape: None not in shape and len(shape) > 1 and shape[0] > 1)
        if x is None:
            return
        rows = self.values[x][0]
        if self.rng.random() < 0.5:
            i = self.rng.randrange(rows)
            self.let(f"{x}[{i}]", self.values[x][1:], lambda env, _: env[x][i])
        else:
            a = self.rng.randrange(rows)
            b = self.rng.randint(a + 1, rows)
            self.let(f"{x}[{a}..{b}]", (b - a,) + self.values[x][1:], lambda env, _: env[x][a:b])

    def add(self):
        x = self.any()
        y = self.any(lambda shape: shape == self.values[x])
        k = self.rng.randint(1, 5)
        self.let(f"({x} * {k} + {y}) % 997", self.values[x],
                 lambda env, _: (env[x] * k + env[y]) % 997)

    def sums(self):
        x = self.any()
        dim = self.rng.randrange(len(self.values[x]))
        self.let(f"cumsum({x}, dim: {dim}) % 997", self.values[x],
                 lambda env, _: np.cumsum(env[x], axis=dim) % 997)

    def read(self):
        s = self.rng.choice([*STATES])
        shape = shapes_of(SIZE, self.rng)
        self.let(f"reshape({s}, {list(shape)})", shape, lambda _, state: state[s].reshape(shape))

    def write(self):
        s = self.rng.choice([*STATES])
        x = self.any(lambda shape: None not in shape and np.prod(shape) == SIZE)
        if x is None:
            return
        own, shape = self.rng.random() < 0.5, STATES[s]
        text = f"reshape({x}, {list(shape)})"
        self.lines.append(f"{s} = ({s} * 2 + {text}) % 991" if own else f"{s} = {text}")

        def step(env, state):
            new = env[x].reshape(shape)
            state[s] = (state[s] * 2 + new) % 991 if own else new.copy()
        self.steps.append(step)

    def write_part(self):
        x = self.any(lambda shape: len(shape) == 1 and None not in shape and shape[0] <= SIZE)
        if x is None:
            return
        at = self.rng.randint(0, SIZE - self.values[x][0])
        self.lines.append(f"b = update(b, {x}, at: [{at}])")

        def step(env, state):
            state["b"] = state["b"].copy()
            state["b"][at:at + len(env[x])] = env[x]
        self.steps.append(step)

    def type_of(self, name):
        dims = ["n" if d is None else str(d) for d in self.values[name]]
        return f"i64[{', '.join(dims)}]"

    def input_type(self, declared):
        return f"i64[{'n <= 4' if declared else 'n'}, 6]" if None in self.input \
            else self.type_of("x")

    def texts(self):
        results = ", ".join(self.type_of(name) for name in self.results)
        values = ", ".join(self.results)
        body = "".join(f"    {line}\n" for line in self.lines)
        method = (f"  method m{self.number}(x: {self.input_type(False)}) -> ({results}) {{\n"
                  f"{body}    return ({values})\n  }}\n")
        graph = (f"graph g{self.number}(x: {self.input_type(True)}) -> ({results}) "
                 f"{{ return p.m{self.number}(x) }}\n")
        if len(self.results) == 1:
            method = method.replace(f"-> ({results})", f"-> {results}")
            method = method.replace(f"return ({values})", f"return {values}")
            graph = graph.replace(f"-> ({results})", f"-> {results}")
        return method, graph

    def run(self, x, state):
        env = {"x": x}
        for step in self.steps:
            step(env, state)
        return [env[name] for name in self.results]


def program(methods, device):
    states = "".join(f"  state {s}: i64{list(shape)} = reshape(iota<i64[{SIZE}]>(), "
                     f"{list(shape)})\n" for s, shape in STATES.items())
    texts = [m.texts() for m in methods]
    return ("import std.tensor\nactor A() {\n" + states + "".join(m for m, _ in texts) + "}\n"
            f"place p = A() on {device}\n" + "".join(g for _, g in texts))


def check(options, seed, folder):
    rng = random.Random(seed)
    methods = []
    while len(methods) < METHODS:
        method = Method(len(methods), rng, rng.random() < 0.4)
        if method.results:
            methods.append(method)
    source = folder / f"views{seed}.cgraph"
    source.write_text(program(methods, "gpu[0]" if options.emulated else "cpu[0]"))
    plan = source.with_suffix(".cgplan")
    def cgc(*words):
        done = subprocess.run([options.cgc, *words, str(source)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"seed {seed}: {source.read_text()}\n{done.stderr}")
        return done.stdout

    cgc("compile", "-q", "--no-warn", "W0301", "-o", str(plan))
    views = cgc("check", "-q", "--emit", "graph").count(" = part of ")
    env = dict(os.environ)
    if options.emulated:
        env |= {"LD_LIBRARY_PATH": options.emulated,
                "CGRAPH_EMULATION": f"devices=1,seed={seed},protect=0"}
    for workers in (1, 2):
        for method in methods:
            rows = rng.randint(0, 4) if None in method.input else None
            shape = (rows, 6) if rows is not None else method.input
            x = np.array([rng.randrange(50) for _ in range(int(np.prod(shape)))],
                         np.int64).reshape(shape)
            np.save(folder / "x.npy", x)
            state = {s: np.arange(SIZE, dtype=np.int64).reshape(shape)
                     for s, shape in STATES.items()}
            for _ in range(ROUNDS):
                expected = method.run(x, state)
            command = [options.cgrun, str(plan), "--graph", f"g{method.number}", "-n", str(ROUNDS),
                       "--workers", str(workers), "--json", "--input", f"x={folder / 'x.npy'}"]
            command += ["--save-state", str(folder / "s.safetensors")]
            command += ["--require-gpu"] if options.emulated else []
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            where = f"seed {seed}, m{method.number}, x {x.tolist()}\n{source.read_text()}"
            if done.returncode != 0:
                sys.exit(f"{where}\n{done.stderr}")
            compare(json.loads(done.stdout), expected, where)
            compare_states(folder / "s.safetensors", state, where)
    return views


def compare(said, expected, where):
    for output, theirs in zip(said["outputs"].values(), expected, strict=True):
        mine = np.array(output["data"], np.int64)
        if mine.ravel().tolist() != theirs.ravel().tolist():
            sys.exit(f"{where}\ncgrun: {mine.tolist()}\nNumPy: {theirs.tolist()}")


def compare_states(path, state, where):
    saved = tensor_files.read(path)
    for s, theirs in state.items():
        mine = saved.get(f"p.{s}", theirs)  # absent where no graph writes it
        if not np.array_equal(mine, theirs):
            sys.exit(f"{where}\nstate {s}: cgrun: {mine.tolist()}\nNumPy: {theirs.tolist()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--cgrun", required=True)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CGRAPH_SEED", "1")))
    parser.add_argument("--emulated", help="where libcuda.so.1 of the emulation is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        views = sum(check(options, options.seed + i, pathlib.Path(folder))
                    for i in range(options.count))
    if views < 4 * options.count:
        sys.exit(f"{views} views in {options.count} programs are too few to try them")
    print(f"random views: {options.count} programs, {views} views, 0 differences")


if __name__ == "__main__":
    main()

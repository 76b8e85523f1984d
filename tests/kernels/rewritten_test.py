#!/usr/bin/python3
"""Attention that is written out gives what the op gives that the compiler makes of it, and is made
of it where its uses and shapes allow that, and nowhere else.

Each method below is run as it is written, with `--no-rewrite=attention`, and as the compiler has
it; results are compared. Behind each stands what is in its graph afterwards.

  rewritten_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HEAD = """import std.nn
import std.tensor
actor A() {
  state kc: f32[3, 16, 8] = normal(seed: 2)
  state vc: f32[3, 16, 8] = normal(seed: 3)
  state hk: f16[3, 16, 8] = cast<f16>(normal<f32[3, 16, 8]>(seed: 4))
  state hv: f16[3, 16, 8] = cast<f16>(normal<f32[3, 16, 8]>(seed: 5))
  state pos: i64 = 7
"""
KEYS = """    let keys: f32[3, t <= 16, 8] = slice(kc, dim: 1, from: 0, length: pos)
    let values: f32[3, t <= 16, 8] = slice(vc, dim: 1, from: 0, length: pos)
"""
ONE = {"attention": 1, "softmax": 0, "matmul": 0}
AS_IT_WAS = {"attention": 0, "softmax": 1, "matmul": 2}
CACHE = {**ONE, "slice": 0}
# Name, what q is, what k is, the body and the kernels in the graph.
METHODS = [
    ("plain", "2, 4, 5, 8", "2, 4, 6, 8", "return softmax(q @ transpose(k)) @ k", ONE),
    ("scaled", "4, 5, 8", "4, 6, 8",
     "return softmax(causal_mask(matmul(q, k, transpose_b: true) * 0.5)) @ k", ONE),
    ("divided", "4, 5, 8", "4, 6, 8", "return softmax(q @ transpose(k) / 3.0, dim: 2) @ k", ONE),
    ("in_front", "4, 5, 8", "4, 6, 8", "return softmax(0.25 * (q @ transpose(k))) @ k", ONE),
    ("grouped", "3, 2, 5, 8", "3, 6, 8",
     "return softmax(matmul(q, unsqueeze(k, dim: 1), transpose_b: true)) @ unsqueeze(k, dim: 1)",
     {**ONE, "unsqueeze": 0}),
    ("repeated", "6, 5, 8", "3, 6, 8",
     "let w = flatten(expand<f32[3, 2, 6, 8]>(unsqueeze(k, dim: 1)), 0, 1)\n"
     "    return softmax(q @ transpose(w)) @ w", {**ONE, "expand": 0, "flatten": 0}),
    ("cached", "3, 2, 1, 8", "1", KEYS +
     "    let s = matmul(q, unsqueeze(keys, dim: 1), transpose_b: true) * 0.25\n"
     "    return softmax(causal_mask(s)) @ unsqueeze(values, dim: 1)", CACHE),
    ("prompt", "3, 5, 8", "1", KEYS +
     "    return softmax(causal_mask(matmul(q, keys, transpose_b: true))) @ values", CACHE),
    ("as_op", "6, 2, 8", "1", KEYS + "    return attention(q, keys, values, causal: true)", CACHE),
    ("halves", "3, 1, 8", "1",
     KEYS.replace("f32", "f16").replace("kc", "hk").replace("vc", "hv") +
     "    return softmax(q @ transpose(cast<f32>(keys))) @ cast<f32>(values)",
     {**CACHE, "cast": 0}),
    # What is read otherwise, masked otherwise, or differs in length stays.
    ("kept", "4, 5, 8", "4, 6, 8",
     "let p = softmax(q @ transpose(k))\n    return p @ k + sum(p)", AS_IT_WAS),
    ("masked", "4, 5, 8", "5, 6",
     "let w = stack([k, k, k, k])\n"
     "    let x = concat([q, slice(q, dim: 1, from: 0, length: 1)], dim: 1)\n"
     "    return softmax(q @ transpose(x) + w) @ x", AS_IT_WAS),
    ("other_dim", "4, 5, 8", "4, 5, 8", "return softmax(q @ transpose(k), dim: 1) @ k", AS_IT_WAS),
    ("other_rows", "3, 1, 8", "1",
     KEYS.replace("vc, dim: 1, from: 0", "vc, dim: 1, from: 1")
     + "    return softmax(q @ transpose(keys)) @ values", {**AS_IT_WAS, "slice": 2}),
    ("short", "4, 5, 8", "4, 6, 8", "let (a, b) = (cast<bf16>(q), cast<bf16>(k))\n"
     "    return cast<f32>(softmax(a @ transpose(b)) @ b)", AS_IT_WAS),
    ("matrices", "5, 8", "6, 8", "return softmax(q @ transpose(k)) @ k", AS_IT_WAS),
]


def program(place):
    methods, parameters, calls, results = [], [], [], []
    for name, q, k, body, _ in METHODS:
        methods.append(f"  method {name}(q: f32[{q}], k: f32[{k}]) -> f32[{q}] {{\n"
                       f"    {body.lstrip()}\n  }}\n")
        parameters += [f"{name}_q: f32[{q}]", f"{name}_k: f32[{k}]"]
        calls.append(f"{name}: a.{name}({name}_q, {name}_k)")
        results.append(f"{name}: f32[{q}]")
    return (HEAD + "".join(methods) + f"}}\nplace a = A() on {place}\n"
            f"graph all({', '.join(parameters)}) -> ({', '.join(results)}) {{\n"
            f"  return ({', '.join(calls)})\n}}\n")


def shape(text):
    return tuple(int(extent) for extent in text.split(", "))


def graph(options, folder, more=()):
    command = [options.cgc, "compile", "x.cgraph", "-o", "x.cgplan", "-q", "--emit", "graph", *more]
    return subprocess.run(command, cwd=folder, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def run(options, folder):
    command = [options.cgrun, "x.cgplan", "-q"]
    for name, q, k, *_ in METHODS:
        command += [part for x in "qk" for part in ("--input", f"{name}_{x}={name}_{x}.npy")]
        command += ["--output", f"{name}={name}.npy"]
    subprocess.run(command, cwd=folder, check=True)
    return {method[0]: np.load(folder / f"{method[0]}.npy") for method in METHODS}


def check_counts(text, wanted):
    """What is wrong with the kernels of each method in a graph."""
    checked, faults = 0, []
    for name, _, _, _, counts in METHODS:
        lines = [line for line in text.splitlines() if line.rstrip().endswith(f"@a.{name}")]
        for op, count in wanted(counts).items():
            found = sum(bool(re.search(rf"(= |^ *){op}\(", line)) for line in lines)
            checked += 1
            if found != count:
                faults.append(f"{name} has {found} `{op}`, expected {count}")
    return checked, faults


def main():
    parser = argparse.ArgumentParser()
    for tool in ("cgc", "cgrun"):
        parser.add_argument(f"--{tool}", required=True, type=lambda p: pathlib.Path(p).resolve())
    options = parser.parse_args()
    random = np.random.default_rng(5)
    checked, faults = 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for method, q, k, *_ in METHODS:
            for letter, extents in (("q", q), ("k", k)):
                np.save(folder / f"{method}_{letter}.npy",
                        random.normal(size=shape(extents)).astype(np.float32))
        (folder / "x.cgraph").write_text(program("cpu[0]"))
        graph(options, folder, ["--no-rewrite=attention"])
        written = run(options, folder)
        text = graph(options, folder)
        rewritten = run(options, folder)
        for method in written:
            checked += 1
            a, b = written[method], rewritten[method]
            if not np.isfinite(a).all() or not np.allclose(a, b, rtol=2e-6, atol=2e-6):
                faults.append(f"{method}: {abs(a - b).max()} apart")
        # On GPUs only what reads a cache is one op: products are a library's there.
        (folder / "x.cgraph").write_text(program("gpu[0]"))
        on_gpu = graph(options, folder)
    for shown, wanted in ((text, lambda c: c),
                          (on_gpu, lambda c: c if c.get("slice") == 0 or not c["attention"]
                           else AS_IT_WAS)):
        count, wrong = check_counts(shown, wanted)
        checked += count
        faults += wrong
    print("\n".join(faults), end="\n" if faults else "")
    print(f"rewritten: {checked} checked, {len(faults)} faults")
    sys.exit(1 if faults or checked == 0 else 0)


if __name__ == "__main__":
    main()

"""What the tests of the Python package share: the package of a build, a program, and a main."""
import argparse
import os
import sys
import unittest

SKIPPED = 77
OPTIONS = None  # set by main(), before the tests run

# Graphs that add up, that take long, that fail, that have several results; on two devices.
PROGRAM = """import std.debug
import std.nn
import std.tensor
const N = 4
actor Layer(width: int) {
  state w: f32[width, width] = iota() * 0.25
  method apply(x: f32[n <= N, width]) -> f32[n, width] { return relu(x @ w) }
}
actor Counter() {
  state total: i64 = 0
  method add(x: i64) -> i64 {
    check(x >= 0, "a counter does not go down")
    total += x
    return total
  }
}
actor Worker() {
  method late(x: f32[n <= 1024], ms: i64) -> f32[n] {
    sleep(ms)
    return x + x
  }
  method twice(x: f32[8]) -> f32[8] { return x + x }
  method half(x: bf16[4]) -> bf16[4] { return x * 0.5 }
  method flip(a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f64[2])
      -> (a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f64[2]) {
    return (a: not a, b: b + b, c: c + c, d: d + d, e: e + e, f: f + f, g: g + g)
  }
}
place first = Layer(3) on gpu[0]
place second = Layer(3) on gpu[1]
place counter = Counter() on cpu[0]
place worker = Worker() on cpu[0]
graph mlp(x: f32[n <= N, 3]) -> (hidden: f32[n, 3], y: f32[n, 3]) inflight 4 {
  let h = first.apply(x)
  return (hidden: h, y: second.apply(h))
}
graph add(x: i64) -> (total: i64) inflight 4 { return (total: counter.add(x)) }
graph late(x: f32[n <= 1024], ms: i64) -> f32[n] inflight 4 { return worker.late(x, ms) }
graph twice(x: f32[8]) -> f32[8] inflight 2 { return worker.twice(x) }
graph half(x: bf16[4]) -> bf16[4] { return worker.half(x) }
graph nested(pair: (a: f32[8], b: f32[8]), xs: [f32[8]; 2])
    -> (sum: f32[8], parts: (a: f32[8], rest: [f32[8]; 2])) {
  return (sum: worker.twice(pair.a), parts: (a: worker.twice(pair.b), rest: [xs[1], xs[0]]))
}
graph flip(a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f64[2])
    -> (a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f64[2]) {
  return worker.flip(a, b, c, d, e, f, g)
}
actor Judge() {
  method judge(x: f32[n <= 1024]) -> f32[n] {
    check(sum(x) > 0.0, "the sum is not positive")
    return x + x
  }
}
place judge = Judge() on cpu[0]
graph judged(x: f32[n <= 1024]) -> f32[n] inflight 4 { return judge.judge(x) }
"""

# Methods in native code, of probe.c.
NATIVE = """import std.tensor
actor Probe() {
  method address(x: f32[n <= 16777216]) -> i64 = extern "libcgraph_probe.so:probe_address"
  method first(x: f32[n <= 16777216]) -> f32 = extern "libcgraph_probe.so:probe_first"
}
place probe = Probe() on cpu[0]
graph address(x: f32[n <= 16777216]) -> i64 { return probe.address(x) }
graph first(x: f32[n <= 16777216]) -> f32 { return probe.first(x) }
"""


def reference(x):
    """What `mlp` computes, by NumPy."""
    import numpy as np
    w = np.arange(9, dtype=np.float32).reshape(3, 3) * np.float32(0.25)
    hidden = np.maximum(x @ w, 0)
    return hidden, np.maximum(hidden @ w, 0)


def main():
    """Runs the tests of a file, and fails where there are none."""
    global OPTIONS
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--package", help="the folder that holds the package `cgraph`")
    parser.add_argument("--probe", help="libcgraph_probe.so")
    parser.add_argument("--no-memory", help="libcgraph_no_memory.so")
    parser.add_argument("names", nargs="*")
    OPTIONS = parser.parse_args()
    sys.modules["support"].OPTIONS = OPTIONS
    result = unittest.main(module="__main__", argv=[sys.argv[0]] + OPTIONS.names, exit=False).result
    if result.testsRun == 0:
        sys.exit("no test was run")
    sys.exit(not result.wasSuccessful())


for at, word in enumerate(sys.argv):
    if word == "--package":
        sys.path.insert(0, sys.argv[at + 1])


def main_with_torch(what):
    """As main(), in the Python that `--torch` names, which has PyTorch; skipped where it is not."""
    if "--torch" in sys.argv:
        at = sys.argv.index("--torch")
        python = sys.argv[at + 1]
        if not os.path.exists(python):
            print(f"SKIPPED: {what}: there is no {python}; scripts/setup --torch installs PyTorch")
            sys.exit(SKIPPED)
        os.execv(python, [python, sys.argv[0]] + sys.argv[1:at] + sys.argv[at + 2:])
    main()

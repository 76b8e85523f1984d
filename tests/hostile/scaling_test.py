#!/usr/bin/python3
"""The compiler's time may grow at most tenfold when a program becomes four times as long.

  scaling_test.py --cgc build/release/cgc

What is measured is processor time, which other processes hardly change; a case that seems to grow
faster is measured again. Below FLOOR seconds nothing is said of growth.
"""
import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

FLOOR = 0.06
MOST = 10
SECONDS = 120

ACTOR = """import std.tensor
actor A() {
  method f(x: f32[4]) -> f32[4] { return x + x }
  method g(x: f32[4], y: f32[4]) -> f32[4] { return x + y }
}
place a[i in 0..4] = A() on gpu[i]
"""


def lines(count, text):
    """A graph of so many lines, `{i}` in them being the number of each."""
    body = "".join("  " + text.replace("{i}", str(i)) + "\n" for i in range(count))
    return ACTOR + "graph g(x: f32[4]) -> f32[4] {\n" + body + "  return x\n}\n"


def unknown_methods(count):
    methods = "".join(f"  method mine{i}(x: f32[4]) -> f32[4] {{ return x }}\n"
                      for i in range(count))
    return lines(count, "let q{i} = a[0].yours{i}(x)").replace("A() {\n", "A() {\n" + methods, 1)


def unknown_functions(count):
    functions = "".join(f"fn mine{i}(x: f32[4]) -> f32[4] {{ return x }}\n" for i in range(count))
    return lines(count, "let q{i} = yours{i}(x)") + functions


def within(memory):
    return lambda count: ACTOR + f"""schedule s() {{ memory <= {memory} }}
graph g(x: f32[4]) -> f32[4] using s {{
  var r = x
  let m = [a[i % 4].f(x * i) for i in 0..{count}]
  for y in m {{ r = a[0].g(r, y) }}
  return r
}}
"""


def states(count):
    return f"""import std.tensor
actor A() {{
  state w: [f32[4]; {count}] = [zeros() for i in 0..{count}]
  method f(x: f32[4]) -> f32[4] {{ w = [x + v for v in w] return x }}
}}
place a = A() on cpu[0]
graph g(x: f32[4]) -> f32[4] {{ return a.f(x) }}
"""


def reads(count):
    return f"""import std.tensor
graph g(x: f32[4]) -> f32[4] {{
  var h = x
  for i in 0..{count} {{ h = sum_to<f32[4]>(h + x) }}
  return h
}}
"""


DEVICES = """import std.tensor
actor A() {{
  state w: f32[4] = zeros()
  method own() {{ w = w + w }}
  method get() -> f32[4] {{ return w + w }}
  method put(x: f32[4]) {{ w = w + x }}
  method f(x: f32[4]) -> f32[4] {{ return x + x }}
  method g(x: f32[4], y: f32[4]) -> f32[4] {{ return x + y }}
}}
place a[i in 0..{count}] = A() on gpu[i]
"""


def devices(graph):
    """So many devices, of whose number `{count}` in the graph's text speaks."""
    return lambda count: (DEVICES + graph).format(count=count, side=int(count ** 0.5))


DEVICES_APART = devices("""graph q() {{
  for i in 0..{count} {{
    a[i].own()
    a[i].own()
  }}
}}
""")
DEVICES_IN_A_CHAIN = devices("""graph q(x: f32[4]) -> f32[4] {{
  var r = x
  for i in 0..{count} {{ r = a[i].f(r) }}
  return r
}}
""")
ONE_TO_ALL_AND_BACK = devices("""graph q(x: f32[4]) -> f32[4] {{
  let s = a[0].f(x)
  let m = [a[i].f(s) for i in 0..{count}]
  var r = s
  for y in m {{ r = a[0].g(r, y) }}
  return r
}}
""")
ALL_REDUCE = devices("""graph q() {{
  let m = all_reduce([a[i].get() for i in 0..{count}], sum)
  for i in 0..{count} {{ a[i].put(m[i]) }}
}}
""")
MESH = devices("""graph q() {{
  let v = [a[i].get() for i in 0..{side} * {side}]
  let rows = [all_reduce([v[r * {side} + c] for c in 0..{side}], sum) for r in 0..{side}]
  let u = [a[i].f(rows[i / {side}][i % {side}]) for i in 0..{side} * {side}]
  let columns = [all_reduce([u[r * {side} + c] for r in 0..{side}], sum) for c in 0..{side}]
  for i in 0..{side} * {side} {{ a[i].put(columns[i % {side}][i / {side}]) }}
}}
""")


# What is compiled, how many of it, and how the command ends.
CASES = {
    "undeclared names": (lambda n: lines(n, "let q = zzz"), 4000, 1),
    "many undeclared names": (lambda n: lines(n, "let q{i} = zzz{i}"), 4000, 1),
    "assignments to undeclared names": (lambda n: lines(n, "r{i} = x"), 4000, 1),
    "errors on one line": (lambda n: lines(n, "let q = zzz").replace("\n  let", " let"), 4000, 1),
    "unknown methods": (unknown_methods, 3000, 1),
    "unknown functions": (unknown_functions, 3000, 1),
    "a memory limit that binds": (within("4KiB"), 400, 0),
    "a memory limit that nothing meets": (within("1B"), 400, 1),
    "states of one actor": (states, 6000, 0),
    "reads of one value": (reads, 16000, 0),
    "devices that never meet": (DEVICES_APART, 1000, 0),
    "devices in a chain": (DEVICES_IN_A_CHAIN, 1000, 0),
    "one device to all and back": (ONE_TO_ALL_AND_BACK, 1000, 0),
    "an all_reduce over devices": (ALL_REDUCE, 1000, 0),
    "a mesh of devices": (MESH, 400, 0),
}


def seconds(cgc, folder, text, status):
    path = pathlib.Path(folder, "scaled.cgraph")
    path.write_text(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([cgc, "compile", path, "-o", os.path.join(folder, "o.cgplan"),
                           "--max-errors", "1000000"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != status:
        raise SystemExit(f"exit code {done.returncode}, expected {status}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cgc", required=True, type=os.path.abspath)
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, count, status) in CASES.items():
            ratio = 0
            for _ in range(2):
                small = seconds(options.cgc, folder, make(count), status)
                large = seconds(options.cgc, folder, make(4 * count), status)
                ratio = large / max(small, FLOOR)
                if ratio <= MOST:
                    break
            failures += ratio > MOST
            print(f"{name}: {count} {small:.2f} s, {4 * count} {large:.2f} s, {ratio:.1f} times"
                  f"{'  FAILED' if ratio > MOST else ''}")
    print(f"{len(CASES)} programs, {failures} that take more than {MOST} times as long")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

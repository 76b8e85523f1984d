#!/usr/bin/python3
"""`grad` in whole programs: views, bounded dimensions, lists, tuples, rules of fns, `from:`, second
derivatives, and values inside methods. Each program has a graph `loss` and a graph `gradients` of
the same inputs; cgrun runs both, and the gradients are held against central finite differences in
f64.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

STEP = 1e-6
random = np.random.default_rng(5)


def real(*shape):
    return random.normal(size=shape)


class Program:
    """Declarations, the statements that define `loss`, and the inputs whose gradients are asked
    for; `bounds` are the types of inputs that are not their shapes. Where no body is given, `loss`
    is its expression, and `gradient` the statements of the graph of gradients."""

    def __init__(self, name, body, declarations="", bounds=None, constant=(), loss=None,
                 gradient=None, **inputs):
        self.name, self.declarations = name, declarations
        self.inputs = {k: np.asarray(v) for k, v in inputs.items()}
        self.bounds, self.of = bounds or {}, [k for k in inputs if k not in constant]
        self.loss = f"return (loss: {loss})" if loss else f"{body}\n  return (loss: loss)"
        # Of the results of the graph `gradients`, the inputs' gradients.
        tuple_of = ", ".join(f"{k}: {k}" for k in self.of)
        self.gradient = gradient or f"{body}\n  return grad(loss, of: ({tuple_of}))"

    def type_of(self, name):
        if name in self.bounds:
            return self.bounds[name]
        value = self.inputs[name]
        dtype = "f64" if value.dtype.kind == "f" else "i64"
        return dtype + (f"[{', '.join(map(str, value.shape))}]" if value.shape else "")

    def text(self):
        inputs = ", ".join(f"{k}: {self.type_of(k)}" for k in self.inputs)
        results = ", ".join(f"{k}: {self.type_of(k)}" for k in self.of).replace(" <= 8", "")
        return (f"import std.tensor\nimport std.nn\nimport std.grad\n{self.declarations}\n"
                f"graph loss({inputs}) -> (loss: f64) {{\n  {self.loss}\n}}\n"
                f"graph gradients({inputs}) -> ({results}) {{\n  {self.gradient}\n}}\n")


NET = """actor Net(seed: int) {
  param w: f64[3, 3] = normal(seed: seed) * 0.5
  state kept: f64[3] = zeros()
  method forward(x: f64[n, 3]) -> f64[n, 3] { return tanh(x @ w) }
  method scaled(x: f64[n, 3], by: f64[3]) -> (y: f64[n, 3], sum: f64) {
    let y = x * by
    return (y: y, sum: sum(y))
  }
  method hill(x: f64[n, 3]) -> f64 { return sum(sin(square(x @ w))) }
  method same(x: f64[n, 3]) -> f64[n, 3] { return x * 1.0 }
  method slope(x: f64[n, 3]) -> f64[n, 3] {
    return grad(sum(sin(square(x @ w))), of: x)
  }
}
place net[i in 0..2] = Net(i + 1) on cpu[i]
"""


def views():
    yield Program("rows", "let loss = sum(square(x[1]) * x[0] + sin(x[3]))", x=real(4, 3))
    yield Program("overlap", "let loss = sum(square(x[0..3]) * x[1..4])", x=real(4, 3))
    yield Program("all and a row", "let loss = sum(sin(x)) + sum(square(x[2]))", x=real(4, 3))
    yield Program("views of views", "let loss = sum(square(x[1..3][0][1]) * x[2][1])",
                  x=real(4, 3, 2))
    yield Program("elements", "let loss = x[1][2] * square(x[0][0]) + x[1][2]", x=real(2, 3))
    yield Program("rows in a loop", "var loss = sum(x[0])\n  for i in 1..5 { loss = loss * 0.5 + "
                  "sum(square(x[i])) }", x=real(5, 2))
    yield Program("a view of a product", "let y = x @ transpose(x)\n  "
                  "let loss = sum(exp(y[1] * 0.1))", x=real(3, 2))


def bounded():
    rows, more = {"x": "f64[n <= 8, 3]"}, {"x": "f64[n <= 8, 3]", "y": "f64[m <= 8, 3]"}
    yield Program("mean", "let loss = mean(square(x))", bounds=rows, x=real(5, 3))
    yield Program("mean of a dimension", "let loss = sum(sin(mean(x, dim: 0)))", bounds=rows,
                  x=real(5, 3))
    yield Program("products", "let loss = sum(tanh(x @ w))", bounds=rows, x=real(4, 3),
                  w=real(3, 2))
    yield Program("products of many", "let loss = sum(tanh(x @ w))",
                  bounds={"x": "f64[2, n <= 8, 3]"}, x=real(2, 5, 3), w=real(3, 2))
    yield Program("broadcast", "let loss = mean(exp(x * 0.1) * w + w)", bounds=rows, x=real(6, 3),
                  w=real(3))
    yield Program("greatest", "let loss = sum(max(x, dim: 0)) + min(x)", bounds=rows, x=real(6, 3))
    yield Program("order", "let loss = sum(sin(sort(x, dim: 0).values))", bounds=rows, x=real(6, 3))
    yield Program("concat", "let loss = mean(square(concat([x, x * 2.0], dim: 1)) * 0.5)",
                  bounds=rows, x=real(6, 3))
    for dim in (0, 1):
        yield Program(f"stack at {dim}",
                      f"let loss = sum(sin(stack([x, x * 2.0], dim: {dim})) * w)", bounds=rows,
                      x=real(6, 3), w=real(3))
    yield Program("same", "let loss = mean(x * same(x, y, dim: 0))", bounds=more, x=real(6, 3),
                  y=real(6, 3))
    yield Program("update", "let loss = mean(square(update(w, x, at: [1, 0])))", bounds=rows,
                  x=real(4, 3), w=real(6, 3))
    yield Program("flattened", "let y = flatten(unsqueeze(x, dim: 0), start_dim: 2)\n  "
                  "let loss = sum(square(y))", bounds=rows, x=real(4, 3))
    yield Program("none", "let loss = sum(square(x)) + sum(w)", bounds=rows, x=real(0, 3),
                  w=real(2))


def structures():
    yield Program("lists", "let parts = [x * i for i in 1..4]\n  "
                  "let loss = sum(square(stack(parts)) * 0.1) + sum(parts[1])", x=real(3))
    yield Program("split", "let parts = split(x, parts: 2, dim: 1)\n  "
                  "let loss = sum(parts[0] * sin(parts[1]))", x=real(2, 4))
    yield Program("tuples", "let g = pair(x, y)\n  let loss = sum(g.low * g.high)",
                  "fn pair(a: f64[n], b: f64[n]) -> (low: f64[n], high: f64[n]) "
                  "{ return (low: minimum(a, b), high: sin(a) * b) }\n", x=real(4), y=real(4))
    yield Program("used twice", "let y = sin(x)\n  let loss = sum(y * y * x)", x=real(4))
    yield Program("constants", "let loss = sum(x * stop_gradient(x * 2.0)) ", x=real(4),
                  loss="sum(x * c)", gradient="let loss = sum(x * c)\n  "
                  "let g = grad(loss + sum(stop_gradient(x * x)), of: x)\n  return (x: g)",
                  constant=("c",), c=real(4))
    yield Program("rules of fns", "let loss = sum(sin(double(x)))", "fn double(x: f64[n]) -> "
                  "f64[n] grad gy (x: gy + gy) { return x + stop_gradient(x) }\n", x=real(4))
    yield Program("a rule with y", "let loss = sum(sin(power(x, 3)))",
                  "fn power(x: f64[n], k: int) -> f64[n] grad y, gy (x: gy * k * y / x) "
                  "{ return if k == 0 { ones() } else { x * power(x, k - 1) } }\n", x=real(4) + 3)
    yield Program("defaults declared below", "let loss = sum(sin(thrice(x)))",
                  "fn thrice(x: f64[n]) -> f64[n] grad gy (x: scaled(gy)) { return scaled(x) }\n"
                  "fn scaled(x: f64[n], by: float = 3.0) -> f64[n] { return x * by }\n", x=real(4))
    yield Program("a rule that cuts", "",
                  "fn cut(x: f64[n]) -> f64[n] grad () { return x * 2.0 }\n", x=real(4),
                  loss="sum(sin(x))",
                  gradient="return (x: grad(sum(sin(x) + cut(x)), of: x))")
    yield Program("from", "", x=real(3), c=real(3), constant=("c",), loss="sum(square(x) * c)",
                  gradient="return (x: grad(square(x), of: x, from: c))")
    yield Program("short floats", "", x=np.float64(0.75), loss="x * x * 3.0",
                  gradient="let y = cast<f64>(cast<f32>(x))\n  "
                  "return (x: grad(y * y * 3.0, of: x))")


def seconds():
    yield Program("slope of a slope", "let g = grad(sum(sin(x) * square(x)), of: x)\n  "
                  "let loss = sum(square(g))", x=real(4))
    yield Program("a penalty", "let h = tanh(x @ w)\n  let g = grad(sum(h), of: x)\n  "
                  "let loss = sum(square(h)) + mean(square(g))", x=real(4, 3), w=real(3, 2))
    yield Program("third", "let f = sum(exp(x * 0.5))\n  let g = sum(grad(f, of: x) * x)\n  "
                  "let loss = sum(square(grad(g, of: x)))", x=real(3))


def methods():
    yield Program("calls", "let h = net[0].forward(x)\n  "
                  "let loss = mean(square(net[1].forward(h) - x))", NET, x=real(4, 3))
    yield Program("several results", "let r = net[0].scaled(x, b)\n  "
                  "let s = net[1].scaled(r.y, b)\n  let loss = sum(sin(s.y)) * r.sum + s.sum", NET,
                  x=real(2, 3), b=real(3))
    yield Program("a loop", "var h = x\n  "
                  "for each in net { for _ in 0..2 { h = each.forward(h) + x } }\n  "
                  "let loss = sum(h)", NET, x=real(2, 3))
    yield Program("bounded calls", "let loss = mean(net[1].forward(net[0].forward(x)))", NET,
                  bounds={"x": "f64[n <= 8, 3]"}, x=real(5, 3))
    yield Program("grad in a method", "", NET, x=real(2, 3),
                  loss="net[0].hill(x)",
                  gradient="return (x: net[0].slope(x))")


class Runner:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def compile(self, text):
        (self.folder / "program.cgraph").write_text(text)
        self.call([self.tools["cgc"], "compile", "-q", "program.cgraph", "-o", "program.cgplan"])

    def call(self, command):
        done = subprocess.run(command, cwd=self.folder, timeout=120, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[:2000])

    def run(self, graph, inputs, outputs):
        command = [self.tools["cgrun"], "program.cgplan", "--graph", graph, "-q"]
        for name, value in inputs.items():
            np.save(self.folder / f"{name}.npy", value)
            command += ["--input", f"{name}={name}.npy"]
        for output in outputs:
            command += ["--output", f"{output}={output}.out.npy"]
        self.call(command)
        return [np.load(self.folder / f"{output}.out.npy") for output in outputs]


def alone():
    """The result of a collective of one participant is a value of its own, as with several."""
    x = real(2, 3)
    for collective in ("all_reduce([t], sum)[0]", "reduce([t], avg, root: 0)",
                       "all_gather([t], dim: 0)[0]", "reduce_scatter([t], sum)[0]",
                       "all_to_all([t])[0]", "broadcast(t, to: [net[0]])[0]"):
        yield Program(collective, "", NET, constant=("given",), loss="sum(square(x) * given)",
                      gradient=f"let t = net[0].same(given)\n  let x1 = {collective}\n  "
                               "return (x: grad(sum(square(x1) * t) + sum(x) * 0.0, of: x1))",
                      x=x, given=x)


def along_columns():
    """Collectives along another dimension than the first, of bounded rows."""
    rows = {"x": "f64[n <= 8, 4]"}
    places = NET.replace("f64[3, 3]", "f64[4, 4]").replace("3]", "4]")
    for collective in ("all_gather(ys, dim: 1)[0]", "reduce_scatter(ys, sum, dim: 1)[0]",
                       "all_to_all(ys, dim: 1)[0]", "gather(ys, dim: 1)",
                       "scatter(ys[0], to: net, dim: 1)[0]"):
        yield Program(f"{collective} of bounded rows",
                      f"let ys = [p.forward(x) for p in net]\n  let y = {collective}\n  "
                      "let loss = sum(sin(y) * square(y))", places, bounds=rows, x=real(5, 4))


def faults(runner, program):
    """Returns what is wrong with the gradients of a program, as sentences."""
    runner.compile(program.text())
    gradients = dict(zip(program.of, runner.run("gradients", program.inputs, program.of)))
    for name in program.of:
        if gradients[name].shape != program.inputs[name].shape:
            yield f"{name} has the shape {gradients[name].shape}"
    for _ in range(2):
        moved = {k: random.normal(size=program.inputs[k].shape) for k in program.of}
        high, low = (runner.run("loss", {k: v + sign * STEP * moved.get(k, 0)
                                         for k, v in program.inputs.items()}, ["loss"])[0]
                     for sign in (1, -1))
        expected = (high - low) / (2 * STEP)
        got = sum((gradients[k] * moved[k]).sum() for k in program.of)
        if not abs(got - expected) <= 1e-6 * (0.1 + abs(expected)):
            yield f"{got}, by differences {expected}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--only", help="the name of a program")
    options = parser.parse_args()
    programs = [program for group in (views, bounded, structures, seconds, methods, alone,
                                  along_columns)
                for program in group() if options.only in (None, program.name)]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner({"cgc": options.cgc, "cgrun": options.cgrun}, pathlib.Path(folder))
        for program in programs:
            try:
                wrong += [f"{program.name}: {fault}" for fault in faults(runner, program)]
            except RuntimeError as error:
                wrong.append(f"{program.name}: {error}")
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"gradients: {len(programs)} programs, {len(wrong)} faults")
    sys.exit(1 if wrong or not programs else 0)


if __name__ == "__main__":
    main()

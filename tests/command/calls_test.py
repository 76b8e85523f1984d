#!/usr/bin/python3
"""cgrun --call: several graphs one after the other over the same state.

  calls_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """import std.debug
import std.tensor
actor Counter() {
  state total: i64 = 0
  method start(x: i64[2]) -> i64[2] {
    total = sum(x)
    return x
  }
  method step(x: i64[2], by: i64) -> i64[2] {
    check(total < 1000, "too much")
    total = total + by
    return x + by
  }
  method sum_up() -> i64 { return total * 1 }
}
place c = Counter() on cpu[0]
graph start(x: i64[2]) -> (token: i64[2]) { return (token: c.start(x)) }
graph step(token: i64[2], by: i64) -> (token: i64[2], total: i64) {
  let next = c.step(token, by)
  return (token: next, total: c.sum_up())
}
graph sum_up() -> i64 { return c.sum_up() }
actor Float() {
  state x: f32 = 0.0
  method add(by: f32) -> (f32, bool[]) {
    x = x + by
    return (x, x > 0.35)
  }
}
place f = Float() on cpu[0]
graph add(by: f32) -> (x: f32, far: bool[]) {
  let (x, far) = f.add(by)
  return (x: x, far: far)
}
"""


class Runs:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        (folder / "p.cgraph").write_text(PROGRAM)
        subprocess.run([args.cgc, "compile", "-q", folder / "p.cgraph", "-o", folder / "p.cgplan"],
                       check=True, timeout=60)

    def run(self, *flags, file=None, code=0):
        words = [self.args.cgrun, file or self.folder / "p.cgplan", *flags]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=120)
        expect(done.returncode == code, f"{' '.join(map(str, flags))} exits with "
                                        f"{done.returncode}", done.stdout + done.stderr)
        return done


STEP = ["--call", "step"]
START = ["--call", "start", "--input", "x=[1, 2]", "--input", "by=3"]


def outputs_are_inputs(r):
    done = r.run(*START, "--call", "step*4", "--call", "sum_up", "--json")
    out = json.loads(done.stdout)
    data = {name: value["data"] for name, value in out["outputs"].items()}
    expect(data == {"start.token": [1, 2], "step.token": [13, 14], "step.total": 15,
                    "sum_up.result": 15}, f"outputs are {data}")
    expect(out["executions"] == 6, f"six executions: {out}")
    done = r.run(*START, "--call", "step*4", "--every", "--output",
                 f"step.total={r.folder}/totals.npy", "--output", f"{r.folder}/all.safetensors")
    expect(np.load(r.folder / "totals.npy").tolist() == [6, 9, 12, 15], "every total")
    expect((r.folder / "all.safetensors").stat().st_size > 100, "all outputs in a file")
    done = r.run(*START, "--call", "step", "--call", "start", "--call", "step*2")
    expect("step.token: i64[2] = [7 8]" in done.stdout, done.stdout)  # by 3 since `start` again


def until(r):
    done = r.run(*START, "--call", "step*100", "--until", "total==21", "--every")
    expect("cgrun: note: step ended after 6 of 100 executions, with total == 21" in done.stderr,
           done.stderr)
    expect("step.total: i64[6] = [ 6  9 12 15 18 21]" in done.stdout, done.stdout)
    done = r.run(*START, "--call", "step*9", "--until", "step.total == 9")
    expect("ended after 2 of 9" in done.stderr, done.stderr)
    done = r.run(*START, "--call", "step*3", "--until", "token==7")  # no element-wise `all`
    expect(done.stderr.count("note") == 1 and "note: step ended after 3 executions, and token == 7 "
           "after none\n" in done.stderr, done.stderr)


ADD = ["--call", "add*9", "--input", "by=0.1"]


def until_of_floats(r):
    """The number is of the output's dtype: 0.4 is the f32 that is printed so."""
    expect("step.total: i64 = 9" in r.run(*START, "--call", " step * 2").stdout, "spaces in --call")
    for condition in ("x==0.4", "x == 0.4", "far==true", "add.x==0.4"):
        done = r.run(*ADD, "--until", condition)
        expect("note: add ended after 4 of 9 executions" in done.stderr, done.stderr)
        expect("add.x: f32 = 0.4" in done.stdout, done.stdout)
    done = r.run(*ADD, "--until", "x==0.7")  # the sum is 0.70000005
    expect("note: add ended after 9 executions, and x == 0.7 after none: what is computed in f32 "
           "is seldom exactly a number" in done.stderr, done.stderr)
    expect("note" not in r.run(*ADD, "--until", "x==0.7", "-q").stderr, "-q says nothing")
    expect("note: add" not in r.run("--call", "add*4", "--input", "by=0.1", "--until",
                                    "x==0.4").stderr, "the last execution is one")


def inputs_of_one_graph(r):
    """GRAPH.NAME is the input of that graph alone, and comes before NAME."""
    calls = [*START, "--call", "step", "--call", "add"]
    done = r.run(*calls, "--input", "add.by=0.5")
    expect("step.total: i64 = 6" in done.stdout and "add.x: f32 = 0.5" in done.stdout, done.stdout)
    done = r.run("--call", "start", "--input", "start.x=[1, 2]", "--call", "step", "--input",
                 "step.by=1", "--call", "add", "--input", "add.by = 0.5")
    expect("step.total: i64 = 4" in done.stdout and "add.x: f32 = 0.5" in done.stdout, done.stdout)


def mistakes(r):
    for flags, said in (
            (["--call", "stop"], "--call stop: there is no such graph (did you mean `step`?)"),
            (["--call", "step*0"], "expected a graph, or GRAPH*N"),
            (["--call", "step*x"], "expected a graph, or GRAPH*N"),
            (["--call", "step", "--input", "by=3"], "graph step needs the input token: i64[2]"),
            (["--call", "sum_up", "--input", "z=3"], "no graph that is called has such an input"),
            (["--call", "start", "--call", "start", "--input", "x=-"], "2 calls take it"),
            (["--call", "start", "--input", "xx=[1, 2]"], "(did you mean `x`?); they have start.x"),
            (["--call", "start", "--input", "step.x=[1, 2]"], "such an input; they have start.x"),
            ([*START, *STEP, "--input", "step.token=[1, 2]"],
             "--input step.token: no call reads it: each that has such an input gets an output of "
             "that name of a call before"),
            ([*START, *STEP, "--call", "add", "--input", "add.by=0.2.3"], "`0.2.3` is no f32\n"),
            (["--call", "start", "--input", "x=[1, 2]", *STEP, "--call", "add", "--input",
              "by=0.5"], "is no i64, which is a whole number written in digits; "
             "--input step.by=... is of step alone"),
            ([*ADD, "--input", "add.by=0.2"], "--input by: no call reads it"),
            ([*ADD, "--until", "x==nan"], "nan equals nothing, not even nan"),
            ([*ADD, "--until", "x==1e60"], "`1e60` is outside of f32"),
            ([*ADD, "--until", "x==[0.4]"], "expected a number"),
            ([*START, *STEP, "--until", "total==2.5"], "`2.5` is no i64"),
            ([*START, *STEP, "--until", "total==1e30"], "`1e30` is no i64"),
            (["--call", "start, step"], "each graph has a --call of its own"),
            (["--call", "sum_up", "--graph", "start"], "--call excludes --graph"),
            (["--call", "sum_up", "-n", "3"], "--call excludes -n"),
            ([*START, *STEP, "--until", "totl==3"], "no graph that is called has such an output "
             "(did you mean `total`?); they have start.token, step.token, step.total"),
            ([*START, *STEP, "--until", "token=3"], "expected OUTPUT==NUMBER"),
            ([*START, *STEP, "--until", "token==a"], "`a` is no i64"),
            (["--until", "token==3"],
             "--until needs a --call, whose executions it ends, as --call"),
            ([*START, *STEP, "--output", "token=x.npy"],
             "the calls have no such output (did you mean `start.token`?); they have start.token, "
             "step.token, step.total"),
            (["--call", "start", "--input", "x=[1, 2]", "--save-state", r.folder / "s.npz"],
             "/s.npz: states are written as .safetensors; name the file "
             f"{r.folder}/s.safetensors"),
            (["--call", "start", "--input", "x=[1, 2]", "--save-state", r.folder / "s.10"],
             f"name the file {r.folder}/s.10.safetensors"),
    ):
        done = r.run(*flags, code=2)
        expect(said in done.stderr, f"{said!r} is not said", done.stderr)


def a_failure_ends_it(r):
    done = r.run("--call", "start", "--input", "x=[1, 2]", "--input", "by=400", "--call", "step*9",
                 code=1)
    expect("too much" in done.stderr and "in execution 4 of 9 of step" in done.stderr, done.stderr)
    state = r.folder / "s.safetensors"
    r.run("--call", "start", "--input", "x=[1, 2]", "--save-state", state)
    done = r.run("--call", "sum_up", "--load-state", state)
    expect("sum_up.result: i64 = 3" in done.stdout, done.stdout)


def generates_text(r):
    """kv_decode: prefill and decode by --call give what `generate` gives in one execution."""
    source = ROOT / "examples/kv_decode.cgraph"
    tokens = r.folder / "tokens.npy"
    np.save(tokens, np.array([[3, 1, 4, 1, 5, 9], [2, 7, 1, 8, 2, 8]]))
    one = r.run("--graph", "generate", "--input", f"tokens={tokens}", "-q", "--output",
                f"tokens={r.folder}/one.npy", file=source)
    r.run("--call", "prefill", "--call", "decode*4", "--input", f"tokens={tokens}", "-q", "--every",
          "--output", f"prefill.result={r.folder}/first.npy", "--output",
          f"decode.result={r.folder}/rest.npy", file=source)
    got = np.concatenate([np.load(r.folder / "first.npy"), np.load(r.folder / "rest.npy")])
    expect(np.array_equal(got, np.load(r.folder / "one.npy")), f"tokens are {got}", one.stderr)
    trace = r.folder / "t.json"
    r.run("--call", "prefill", "--call", "decode*4", "--input", f"tokens={tokens}", "-q",
          "--trace", trace, file=source)
    text = trace.read_text()
    expect(re.search(r"prefill", text) and re.search(r"decode", text), "both graphs are traced")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args, pathlib.Path(folder))
        for test in (outputs_are_inputs, until, until_of_floats, inputs_of_one_graph, mistakes,
                     a_failure_ends_it, generates_text):
            test(runs)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

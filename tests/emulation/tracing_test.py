#!/usr/bin/python3
"""What cgrun tells of the time of GPUs, on emulated ones: --trace, --profile, and the ranges that a
profiler gets by NVTX.

  tracing_test.py --cgc cgc --cgrun cgrun --libraries build/release/emulated:build/release \\
      [--tool libcgraph_fake_nvtx.so]
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect, says  # noqa: E402

EXECUTIONS = 3
PROGRAM = """import std.tensor
actor A(k: int) {
  state w: f32[16, 16] = normal(seed: k)
  method twice(x: f32[16, 16]) -> f32[16, 16] { return (x @ w) @ w }
}
actor B() {
  method join(x: f32[16, 16], y: f32[16, 16]) -> f32[16, 16] { return exp(x) @ y }
}
place a[i in 0..2] = A(i) on gpu[i]
place b = B() on gpu[0]
graph g(x: f32[16, 16]) -> f32[16, 16] { return b.join(a[0].twice(x), a[1].twice(x)) }
"""
CALLS = ["a[0].twice", "a[1].twice", "b.join"]


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.plan = self.folder / "p.cgplan"
        (self.folder / "p.cgraph").write_text(PROGRAM)
        subprocess.run([options.cgc, "compile", "-q", self.folder / "p.cgraph", "-o", self.plan],
                       check=True)

    def run(self, *words, **more):
        environment = {**os.environ, "LD_LIBRARY_PATH": self.options.libraries,
                       "CGRAPH_EMULATION": "devices=2,seed=5,protect=0"}
        environment.pop("NVTX_INJECTION64_PATH", None)
        ones = "[" + ",".join(["[" + ",".join(["0.1"] * 16) + "]"] * 16) + "]"
        words += () if "--workers" in words else ("--processes", "1")
        done = subprocess.run([self.options.cgrun, self.plan, "--require-gpu", "--input",
                               f"x={ones}", "-n", str(EXECUTIONS), "--json", *map(str, words)],
                              env={**environment, **more}, capture_output=True, text=True,
                              timeout=100, check=False)
        expect(done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)["outputs"]


def lanes_of(trace):
    """Events of each lane, by the lane's name."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace
             if e["ph"] == "M" and e["name"] == "thread_name"}
    lanes = collections.defaultdict(list)
    for event in trace:
        if event["ph"] == "X":
            lanes[names[event["pid"], event["tid"]]].append(event)
    return lanes


def traced(runner):
    path = runner.folder / "trace.json"
    runner.run("--trace", path)
    lanes = lanes_of(json.loads(path.read_text())["traceEvents"])
    for gpu, calls in (("gpu[0]", [CALLS[0], CALLS[2]]), ("gpu[1]", [CALLS[1]])):
        kernels = [e for e in lanes[f"{gpu} compute"] if e["cat"] == "call"]
        for call in calls:
            mine = [e for e in kernels if f"of {call} " in e["name"]]
            expect(len(mine) == 2 * EXECUTIONS, f"{len(mine)} kernels of {call}")
            says(" ".join(e["name"] for e in mine), "matmul")
            expect({e["args"]["execution"] for e in mine} == set(range(EXECUTIONS)), call)
            methods = [e for e in lanes[f"{gpu} compute"]
                       if e["cat"] == "method" and e["name"] == call]
            expect(len(methods) == EXECUTIONS, f"{len(methods)} spans of {call}")
        copies = [e for name, lane in lanes.items() if name.startswith(f"{gpu} copy")
                  for e in lane if e["cat"] == "copy"]
        expect(len(copies) >= EXECUTIONS, f"{len(copies)} copies of {gpu}")
    waits = [e for name, lane in lanes.items() if name.startswith("gpu") for e in lane
             if e["cat"] == "wait"]
    expect(len(waits) > 0, "no wait of a GPU's queue is shown")
    transfers = [e for name, lane in lanes.items() if " comm" in name for e in lane]
    expect(len(transfers) > 0, "no transfer between GPUs is shown")
    for direction in ("send", "receive"):
        shown = [(e["args"]["instruction"], e["args"]["execution"]) for e in transfers
                 if e["name"].startswith(direction)]
        expect(shown and len(set(shown)) == len(shown), f"parts of a {direction}: {shown}")
    waited = [e["args"]["waited_us"] for e in transfers if e["name"].startswith("receive")]
    expect(max(waited) > 0, "no receive waits for what it receives")
    for name, lane in lanes.items():
        ends = 0.0
        for event in sorted((e for e in lane if e["cat"] != "method"), key=lambda e: e["ts"]):
            expect(event["dur"] >= 0 and event["ts"] >= ends - 0.002,
                   f"{name}: {event} begins before {ends}, when what is before it ends")
            ends = event["ts"] + event["dur"]


def drawn(runner):
    """The timeline of the traced run, by cgc viz."""
    picture = runner.folder / "run.svg"
    draw = [runner.options.cgc, "viz", runner.plan, "--what", "timeline", "-o", picture]

    def refused(path, text, sentence):
        (runner.folder / path).write_text(text)
        done = subprocess.run([*draw, "--trace", runner.folder / path], capture_output=True,
                              text=True, check=False)
        expect(done.returncode == 1, f"{path} is drawn")
        says(done.stderr, sentence)

    trace = runner.folder / "trace.json"
    subprocess.run([*draw, "--trace", trace], check=True)
    svg = picture.read_text()
    says(svg, "g: measured, ", "gpu[0] compute", "gpu[1] compute", "gpu[0] comm", "gpu[0] copy",
         "#2: of the second execution")
    for call in CALLS:
        expect(svg.count(f"<title>{call}: ") == EXECUTIONS, f"bars of {call}")
    says(svg, "<title>copy x to gpu[0]: ", "<title>receive ", "pale: waits for the other end")
    subprocess.run([*draw, "--trace", trace, "--executions", "1"], check=True)
    first = picture.read_text()
    for call in CALLS:
        expect(first.count(f"<title>{call}: ") == 1, f"bars of {call} in one execution")
    refused("none.json", "{}", "no trace, which is an object with `traceEvents`")
    refused("text.json", "one", "not JSON")
    simulated = runner.folder / "simulated.json"
    subprocess.run([runner.options.cgc, "simulate", "-q", runner.plan, "--trace", simulated],
                   check=True, stdout=subprocess.DEVNULL)
    refused("simulated.json", simulated.read_text(), "the trace of a simulation, not of a run")
    told = json.loads(trace.read_text())
    refused("unknown.json", json.dumps({"traceEvents": told["traceEvents"]}),
            "does not say that its times were measured")
    # Programs that differ by the name of a method, and by their shapes alone.
    for text in (PROGRAM.replace("join", "meet"), PROGRAM.replace("16", "32")):
        other, plan = runner.folder / "other.cgraph", runner.folder / "other.cgplan"
        other.write_text(text)
        subprocess.run([runner.options.cgc, "compile", "-q", other, "-o", plan], check=True)
        done = subprocess.run([runner.options.cgc, "viz", plan, "--what", "timeline", "-o", picture,
                               "--trace", trace], capture_output=True, text=True, check=False)
        expect(done.returncode == 1, "another program's run is drawn")
        says(done.stderr, "no run of graph g of this plan: the trace is of another one")
    for flags, words in ((["--inflight", "3"], "--inflight 1, and here 3"),
                         (["--no-overlap"], "(--lanes, --overlap, --no-overlap)")):
        subprocess.run([runner.options.cgc, "compile", "-q", *flags, runner.folder / "p.cgraph",
                        "-o", plan], check=True)
        done = subprocess.run([runner.options.cgc, "viz", plan, "--what", "timeline", "-o", picture,
                               "--trace", trace], capture_output=True, text=True, check=False)
        expect(done.returncode == 1, f"a run without {flags} is drawn")
        says(done.stderr, words, "give the plan that ran")
    told["otherData"]["run"] = "failed"
    (runner.folder / "failed.json").write_text(json.dumps(told))
    subprocess.run([*draw, "--trace", runner.folder / "failed.json"], check=True)
    says(picture.read_text(), "measured in a run that was not finished (failed)")
    for event in told["traceEvents"]:
        event["tid"] = 77
    refused("other.json", json.dumps(told), "an event does not fit the plan")
    told["traceEvents"] = [e for e in told["traceEvents"] if e["ph"] == "M"]
    refused("empty.json", json.dumps(told), "no event of graph g")
    for event in told["traceEvents"]:
        event["pid"] = 9
    refused("graph.json", json.dumps(told), "no run of graph g of this plan")
    done = subprocess.run([*draw[:3], "-o", picture, "--trace", trace], capture_output=True,
                          text=True, check=False)
    expect(done.returncode == 2, "a schedule is drawn of a run")
    says(done.stderr, "--what timeline")


def profiled(runner):
    path = runner.folder / "profile.json"
    runner.run("--profile", path)
    calls = json.loads(path.read_text())["calls"]
    for name in ("A.twice", "B.join", "a[0].twice", "a[1].twice"):
        expect(calls.get(name, 0) > 0, f"no time of {name}: {calls}")
    both = (calls["a[0].twice"] + calls["a[1].twice"]) / 2
    expect(abs(calls["A.twice"] - both) < 0.01 * both, f"the mean is not that of both: {calls}")


def ranges(runner, *words, **more):
    """Names of the ranges that the tool has recorded, and what the run gave."""
    path = runner.folder / "ranges"
    path.unlink(missing_ok=True)
    outputs = runner.run(*words, NVTX_INJECTION64_PATH=runner.options.tool,
                         FAKE_NVTX_RANGES=str(path), **more)
    if not path.exists():
        return [], outputs
    names, open_ranges = [], collections.Counter()
    for line in path.read_text().splitlines():
        thread, what, *name = line.split(" ", 2)
        open_ranges[thread] += 1 if what == "push" else -1
        expect(0 <= open_ranges[thread] <= 1, f"ranges of one thread do not alternate: {line}")
        names += name
    expect(not any(open_ranges.values()), "a range has no end")
    return names, outputs


def with_a_tool(runner):
    if runner.options.tool is None:
        return print("SKIPPED: nvtx3 is not installed; no tool was attached")
    plain = runner.run()
    names, outputs = ranges(runner, "--no-capture")
    expect(outputs == plain, "results differ under a tool")
    for call in CALLS:
        expect(names.count(call) >= EXECUTIONS, f"{names.count(call)} ranges of {call}: {names}")
    captured, outputs = ranges(runner)
    expect(outputs == plain, "results differ under a tool")
    says("\n".join(captured), "a[0].twice", "a[1].twice")
    names, outputs = ranges(runner, FAKE_NVTX_REFUSES="1")
    expect(names == [] and outputs == plain, "a tool that refuses")
    runner.run(NVTX_INJECTION64_PATH="/nowhere/tool.so")
    runner.run(NVTX_INJECTION64_PATH=runner.options.cgrun)


def main():
    parser = argparse.ArgumentParser()
    for name in ("cgc", "cgrun", "libraries"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--tool")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        for test in (traced, drawn, profiled, with_a_tool):
            test(runner)
    expect(expectations.checks > 40, f"only {expectations.checks} checks")
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""How much of the all_reduces of gradients nothing computed hides, in a data-parallel place of 24
layers, by simulation: at most 10 % of the backward pass.

  exposed_test.py --cgc build/release/cgc
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """import std.nn
import std.optim
import std.tensor
actor Net() {{
  param w: [{dtype}[{width}, {width}]; 24] = [normal(seed: i) * 0.02 for i in 0..24]
  param b: [{dtype}[{width}]; 24] = [zeros() for _ in 0..24]
  method layer(x: {dtype}[n, {width}], i: int) -> {dtype}[n, {width}] {{
    return gelu(x @ w[i] + b[i])
  }}
}}
place net[d in 0..{copies}] = Net() on {kind}[d] equal along d trained by {optimizer}()
graph step(
  x: {dtype}[{copies}, {rows}, {width}], y: {dtype}[{copies}, {rows}, {width}], rate: f32
) -> {dtype} {{
  var losses = []
  for d in 0..{copies} {{
    var h = x[d]
    for i in 0..24 {{ h = net[d].layer(h, i) }}
    losses = losses + [mean(square(h - y[d]))]
  }}
  let loss = mean(stack(losses))
  update_all(net, grad(loss, of: net), rate: rate)
  return loss
}}
"""
# Copies, the device of each, dtype, width of a layer, rows. Left out is what no order hides: where
# the sums take longer than the backward pass.
CASES = [(2, "gpu", "f32", 256, 256), (2, "gpu", "f32", 1024, 256), (2, "gpu", "f32", 1024, 4096),
         (2, "gpu", "f32", 4096, 256), (2, "gpu", "bf16", 256, 256), (2, "gpu", "bf16", 1024, 256),
         (2, "gpu", "bf16", 4096, 4096), (8, "gpu", "f32", 256, 256),
         (8, "gpu", "bf16", 1024, 4096), (2, "cpu", "f32", 256, 64)]
MOST = 0.1


def exposed(events):
    """Of gpu[0] or cpu[0]: the time of all_reduces, how much of it no call hides, and the time of
    the backward pass, in microseconds."""
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    reduces, calls, backward = [], [], 0.0
    for event in events:
        lane = names.get(event["tid"], "").split()
        if event["ph"] != "X" or lane[0] not in ("gpu[0]", "cpu[0]"):
            continue
        span = (event["ts"], event["ts"] + event["dur"])
        if event["name"].startswith("all_reduce `grad"):
            reduces.append(span)
        elif event["cat"] == "call" and lane[1] == "compute":
            calls.append(span)
        elif event["cat"] == "method" and ".layer_backward(" in event["name"]:
            backward += event["dur"]
    # Neither overlap among themselves: they are on one lane each.
    hidden = sum(max(0.0, min(r[1], c[1]) - max(r[0], c[0])) for r in reduces for c in calls)
    total = sum(end - start for start, end in reduces)
    return len(reduces), total, total - hidden, backward


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    options = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for copies, kind, dtype, width, rows in CASES:
            optimizer = "adamw" if dtype == "f32" else "mixed_adamw"
            (folder / "net.cgraph").write_text(PROGRAM.format(
                copies=copies, kind=kind, dtype=dtype, width=width, rows=rows, optimizer=optimizer))
            done = subprocess.run([options.cgc, "simulate", "-q", "net.cgraph", "--trace",
                                   "trace.json"], cwd=folder, capture_output=True, text=True,
                                  timeout=300)
            if done.returncode:
                sys.exit(done.stderr[:6000])
            events = json.loads((folder / "trace.json").read_text())["traceEvents"]
            count, total, bare, backward = exposed(events)
            what = f"{copies} copies on {kind}s, {dtype}, {rows} rows of {width}"
            print(f"exposed: {what}: {count} all_reduces of {total:.0f} us, {bare:.1f} us beside "
                  f"nothing computed: {bare / backward:.1%} of the backward pass")
            if not count or not backward or bare > MOST * backward:
                wrong.append(what)
    print(f"exposed: {len(CASES)} programs, {len(wrong)} with more than {MOST:.0%}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

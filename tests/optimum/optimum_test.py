#!/usr/bin/python3
"""`using auto` against the exact optimum of small random graphs: optima.csv, which solve.py wrote.

  tests/optimum/optimum_test.py --cgc build/release/cgc

Each graph is compiled from its text and simulated, with one lane for communication and no
rewrites, as the optima are meant. No makespan may be below the optimum; at least
95 % must equal it, and the mean gap be below 1 %. Before that a message must take as long for the
compiler as for the optima, and there must be an optimum for every graph.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import graphs

EFFORT = 200  # a tenth of the default: the test is over sooner


def makespan(cgc, folder, calls, effort):
    source, profile = folder / "graph.cgraph", folder / "profile.json"
    source.write_text(graphs.program(calls))
    profile.write_text(json.dumps(graphs.profile(calls)))
    done = subprocess.run(
        [cgc, "simulate", source, "--profile", profile, "--effort", str(effort), "--lanes", "one",
         "--no-rewrite", "--json"],
        capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {done.stderr}{source.read_text()}")
    (graph,) = json.loads(done.stdout)["graphs"]
    return graph["makespan_ps"]


def check_messages(cgc, folder):
    for elements in (1, 92_500, 1_000_000):
        calls = [graphs.Call(0, 1_000_000, [], elements), graphs.Call(1, 2_000_000, [0], 1)]
        expected = calls[0].time + calls[0].message() + calls[1].time
        found = makespan(cgc, folder, calls, effort=1)
        if found != expected:
            raise SystemExit(
                f"FAILED: a message of {elements} f32 takes {found - expected} ps more than "
                "LATENCY and RATE of graphs.py say: set them to what the compiler assumes "
                "(compiler/cost/topology.cpp), and run solve.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--effort", type=int, default=EFFORT)
    parser.add_argument("--graphs", type=int, default=graphs.GRAPHS, help="only the first so many")
    arguments = parser.parse_args()
    gaps, below = [], []
    with tempfile.TemporaryDirectory() as folder:
        check_messages(arguments.cgc, pathlib.Path(folder))
        rows = list(csv.DictReader(pathlib.Path(__file__).with_name("optima.csv").open()))
        if [int(row["seed"]) for row in rows] != list(range(graphs.GRAPHS)):
            raise SystemExit("FAILED: optima.csv has not one row for each of "
                             f"{graphs.GRAPHS} graphs")
        for row in rows[:arguments.graphs]:
            calls = graphs.graph(int(row["seed"]))
            optimum = int(row["optimum_ps"])
            found = makespan(arguments.cgc, pathlib.Path(folder), calls, arguments.effort)
            if found < optimum:
                below.append(row["seed"])
            gaps.append(found / optimum - 1)
    optimal = sum(gap == 0 for gap in gaps) / len(gaps)
    mean = sum(gaps) / len(gaps)
    print(f"auto: {len(gaps)} graphs, {optimal:.1%} optimal, mean gap {mean:.3%}, "
          f"largest {max(gaps):.2%}")
    if below:
        raise SystemExit(f"FAILED: below the optimum, so the model is wrong: graphs {below}")
    if optimal < 0.95 or mean >= 0.01:
        raise SystemExit("FAILED: at least 95 % are to be optimal, with a mean gap below 1 %")


if __name__ == "__main__":
    main()

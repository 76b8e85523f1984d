#!/usr/bin/python3
"""`using auto` against the exact optimum of small random graphs: optima.csv, which solve.py wrote.

  tests/optimum/optimum_test.py --cgc build/release/cgc

Each graph is compiled from its text and simulated, with one lane for communication and no
rewrites, as the optima are meant. No makespan may be below the optimum; at least
95 % must equal it, and the mean gap be below 1 %.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--effort", type=int, default=EFFORT)
    parser.add_argument("--graphs", type=int, default=graphs.GRAPHS, help="only the first so many")
    arguments = parser.parse_args()
    gaps, below = [], []
    with tempfile.TemporaryDirectory() as folder:
        rows = list(csv.DictReader(pathlib.Path(__file__).with_name("optima.csv").open()))
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

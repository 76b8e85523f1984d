#!/usr/bin/python3
"""Compares the three ways of sums.cgraph, by the number of GPUs and the bytes of one
tensor, on a machine of the library.

  sums.py [--cgc cgc] [--topology dgx_h100]
"""
import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
WAYS = ["at_once", "by_root", "by_parts"]
SIZES = [2**10, 2**15, 2**20, 2**25, 2**30]


def microseconds(cgc, topology, gpus, size):
    """The makespan of each way; calls take no time, so that only what travels counts."""
    done = subprocess.run(
        [cgc, "simulate", "-q", "--json", str(HERE / "sums.cgraph"), "--no-rewrite", "--topology",
         topology, "--profile", str(HERE / "sums.json"), "-D", f"P={gpus}", "-D",
         f"N={size // 4}"], capture_output=True, text=True, check=True)
    graphs = json.loads(done.stdout)["graphs"]
    return {graph["graph"]: graph["makespan_ps"] / 1e6 for graph in graphs}


def size_text(size):
    for unit, name in [(2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")]:
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", default="cgc")
    parser.add_argument("--topology", default="dgx_h100")
    options = parser.parse_args()
    print(f"{'GPUs':>4}  {'bytes':>8}  {'all_reduce':>12}  {'reduce +':>12}  "
          f"{'reduce_scatter':>14}  least, and the others over it")
    print(f"{'':>4}  {'':>8}  {'us':>12}  {'broadcast':>12}  {'+ all_gather':>14}")
    names = {"at_once": "all_reduce", "by_root": "reduce + broadcast", "by_parts": "two halves"}
    for gpus in [2, 4, 8]:
        for size in SIZES:
            times = microseconds(options.cgc, options.topology, gpus, size)
            order = sorted(WAYS, key=lambda way: (times[way], WAYS.index(way)))
            rest = ", ".join(f"{names[way]} {100 * (times[way] / times[order[0]] - 1):.0f} %"
                             for way in order[1:])
            print(f"{gpus:>4}  {size_text(size):>8}  {times['at_once']:>12.1f}  "
                  f"{times['by_root']:>12.1f}  {times['by_parts']:>14.1f}  "
                  f"{names[order[0]]}; {rest}")


if __name__ == "__main__":
    main()

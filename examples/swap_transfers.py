#!/usr/bin/python3
"""Spoils a plan: in the JSON of two_way's plan gpu[1] does its two transfers in the other order.

  cgc compile --lanes one two_way.cgraph
  cgc plan --json two_way.cgplan > two_way.json
  swap_transfers.py two_way.json
"""
import json
import sys

with open(sys.argv[1]) as file:
    plan = json.load(file)
graph = plan["graphs"][0]
gpu = next(i for i, d in enumerate(plan["devices"]) if d["kind"] == "gpu" and d["index"] == 1)
lane = next(i for i, l in enumerate(plan["lanes"]) if l["device"] == gpu and l["kind"] == "comm")
first, count = graph["programs"][lane]["first"], graph["programs"][lane]["count"]
mine = graph["instructions"][first:first + count]
# Each transfer goes with the waits right before it and the signals right after it.
cut = next(i for i, instruction in enumerate(mine) if instruction["kind"] == "comm") + 1
while mine[cut]["kind"] == "signal":
    cut += 1
graph["instructions"][first:first + count] = mine[cut:] + mine[:cut]
with open(sys.argv[1], "w") as file:
    json.dump(plan, file)

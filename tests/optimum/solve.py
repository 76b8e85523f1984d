"""The least makespans of the random graphs, by OR-tools' CP-SAT: writes optima.csv beside it.

  pip install ortools && python3 tests/optimum/solve.py

The model is written down from what graphs.py says, not from what the scheduler does: intervals that
may not overlap on a device's compute lane or on its communication lane, and may not start before
what they need has ended.
"""
import csv
import pathlib
import sys

from ortools.sat.python import cp_model

import graphs

SECONDS = 60  # for one graph


class Model:
    def __init__(self, calls):
        self.model = cp_model.CpModel()
        self.horizon = sum(call.time + 3 * call.message() for call in calls)
        self.lanes, self.ends = {}, []
        sent = {}
        calls_end = []
        for call in calls:
            before = []
            for need in call.needs:
                source = calls[need]
                if source.device == call.device:
                    before.append(calls_end[need])
                    continue
                key = (need, call.device)
                if key not in sent:
                    lanes = [("comm", source.device), ("comm", call.device)]
                    sent[key] = self.add(source.message(), lanes, [calls_end[need]])
                before.append(sent[key])
            calls_end.append(self.add(call.time, [("compute", call.device)], before))

    def add(self, time, lanes, before):
        start = self.model.NewIntVar(0, self.horizon, "")
        interval = self.model.NewIntervalVar(start, time, start + time, "")
        for lane in lanes:
            self.lanes.setdefault(lane, []).append(interval)
        for end in before:
            self.model.Add(start >= end)
        self.ends.append(start + time)
        return start + time

    def optimum(self):
        for intervals in self.lanes.values():
            self.model.AddNoOverlap(intervals)
        makespan = self.model.NewIntVar(0, self.horizon, "")
        for end in self.ends:
            self.model.Add(makespan >= end)
        self.model.Minimize(makespan)
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = SECONDS
        solver.parameters.num_workers = 2
        if solver.Solve(self.model) != cp_model.OPTIMAL:
            return None
        return round(solver.ObjectiveValue())


def main():
    path = pathlib.Path(__file__).with_name("optima.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seed", "calls", "optimum_ps"])
        for seed in range(graphs.GRAPHS):
            calls = graphs.graph(seed)
            optimum = Model(calls).optimum()
            if optimum is None:
                print(f"graph {seed}: not solved in {SECONDS} s", file=sys.stderr)
                continue
            writer.writerow([seed, len(calls), optimum])


if __name__ == "__main__":
    main()

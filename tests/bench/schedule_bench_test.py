#!/usr/bin/python3
"""bench/schedule: CSV on standard output and nothing else there, exit codes, and what it refuses.

  tests/bench/schedule_bench_test.py --program build/release/schedule_bench
"""
import argparse
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
from random import Random

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402


class Bench:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True,
                              timeout=120)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def rows(self, *words):
        done = self.run(*words)
        expect(done.returncode == 0 and done.stderr == "", f"{words}: {done.stderr}")
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def refused(self, code, what, *words):
        done = self.run(*words)
        expect(done.returncode == code and what in done.stderr,
              f"{words}: exit {done.returncode}, {done.stderr!r} without {what!r}")


def buffers(bench):
    header = "id,lower,upper,size\n"
    # The published example: 12 is possible, and the most that is alive.
    text = header + "b1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
    (row,) = bench.rows("buffers", bench.file("input.12.csv", text))
    expect(list(row) == ["instance", "height", "capacity", "seconds"], f"columns {list(row)}")
    expect((row["instance"], row["height"], row["capacity"]) == ("input", "12", "12"), row)
    expect(float(row["seconds"]) >= 0, row)
    # Other columns in another order, spaces, empty lines and line ends of another system.
    moved = "size, upper,extra,lower\r\n4,3,x,0\r\n\r\n6,5,y,3\r\n"
    (row,) = bench.rows("buffers", bench.file("moved.csv", moved))
    expect((row["instance"], row["height"], row["capacity"]) == ("moved", "6", "1048576"), row)
    (row,) = bench.rows("buffers", "--capacity", 20, bench.file("moved.7.csv", moved))
    expect((row["instance"], row["capacity"]) == ("moved", "20"), row)
    # Two instances, a row each; the same figures each time.
    known = [ROOT / f"tests/data/minimalloc/{name}.1048576.csv" for name in "GK"]
    rows = bench.rows("buffers", *known)
    expect([r["instance"] for r in rows] == ["G", "K"], rows)
    again = bench.rows("buffers", *known)
    expect([r["height"] for r in rows] == [r["height"] for r in again], again)
    expect(all(int(r["height"]) <= int(r["capacity"]) == 1048576 for r in rows), rows)

    bench.refused(3, "cannot read", "buffers", bench.folder / "none.csv")
    bench.refused(2, "", "buffers")
    bench.refused(2, "", "bufers", known[0])
    for text, what in [("id,lower,upper\n", "no column `size`"), ("", "no column `lower`"),
                       (header + "a,0,1\n", "3 fields"), (header + "a,3,3,4\n", "not below upper"),
                       (header + "a,0,x,4\n", "`x`"), (header + "a,0,1,-4\n", "`-4`"),
                       (header + "a,0,1,99999999999999999999\n", "size"),
                       (header + "a,0,1,70368744177664\nb,0,1,1\n", ":3:")]:
        bench.refused(1, what, "buffers", bench.file("bad.csv", text))


SHAPES = [(4, 8), (4, 10), (4, 16), (8, 24)]


def pipeline(bench):
    def figures(schedule, stages, microbatches, times="1,1,1,0", *more):
        (row,) = bench.rows("pipeline", "--schedule", schedule, "--stages", stages,
                            "--microbatches", microbatches, "--times", times, *more)
        expect(list(row) == ["makespan", "largest_span", "peak_activations", "lower_bound"], row)
        return tuple(float(value) for value in row.values())

    # Forward, input gradient and weight gradient of 1, no communication: published figures.
    for stages, microbatches in SHAPES:
        whole = 3 * (stages - 1 + microbatches)
        bound = stages - 1 + 3 * microbatches
        for schedule, peak in [("gpipe", microbatches), ("1f1b", stages)]:
            got = figures(schedule, stages, microbatches)
            expect(got == (whole, whole, peak, bound), f"{schedule} {stages} {microbatches}: {got}")
        # ZB-H1's bubble is (p - 1) (F + B - W), of the largest span; ZB-H2's (p - 1) (F + B - 2 W).
        got = figures("zb_h1", stages, microbatches)
        expect(got == (bound, bound, stages, bound), f"zb_h1 {stages} {microbatches}: {got}")
        got = figures("zb_h2", stages, microbatches)
        expect(got == (bound, 3 * microbatches, 2 * stages - 1, bound),
              f"zb_h2 {stages} {microbatches}: {got}")
    # 1F1B with a backward of 2 ends after (m + p - 1) 3.
    for stages, microbatches in [(2, 2), (2, 8), (4, 8), (8, 16), (4, 32)]:
        got = figures("1f1b", stages, microbatches, "1,2,0,0")
        expect(got[0] == 3 * (microbatches + stages - 1), f"1f1b {stages} {microbatches}: {got}")
    # The last stage waits for the first forward to arrive, the first for the last gradient.
    expect(figures("1f1b", 2, 1, "1,1,1,0.25")[0] == 2 * 3 + 2 * 0.25, "two messages on the path")
    # A weight gradient of no time, one stage, one micro-batch, more chunks than micro-batches.
    for words in [("zb_h1", 1, 1), ("zb_h2", 3, 1, "1,1,0,0.5"), ("gpipe", 1, 5, "0.1,0.2,0.3,4"),
                  ("1f1b_interleaved", 4, 2, "1,1,1,0", "--chunks", 3)]:
        makespan, span, peak, bound = figures(*words)
        expect(makespan >= span > 0 and peak > 0, f"{words}: {makespan} {span} {peak} {bound}")
    # In the same memory the search is never later than the rules, also where nobody tuned it.
    random = Random(7)
    for _ in range(6):
        stages = random.randint(2, 5)
        microbatches = random.randint(stages, 2 * stages + 2)
        times = ",".join(str(random.randint(low, 60) / 20) for low in (10, 10, 5, 0))
        for schedule, chunks in [("zb_v", 2), ("zb_h1", 1)]:
            rules = figures(schedule, stages, microbatches, times)
            found = figures("auto", stages, microbatches, times, "--chunks", chunks)
            expect(found[0] <= rules[0] and found[2] <= rules[2] <= stages,
                  f"{schedule} {stages} {microbatches} {times}: {found}, rules {rules}")
    # The program is there to be read and compiled by hand.
    shown = bench.run("pipeline", "--schedule", "zb_h1", "--stages", 2, "--microbatches", 3,
                      "--times", "1,1,1,0", "--print")
    expect(shown.returncode == 0 and "graph step(x: u8[1]) using zb_h1(P)" in shown.stdout, shown)

    common = ["--stages", 4, "--microbatches", 8, "--times", "1,1,1,0"]
    bench.refused(2, "no schedule `zb_h3`; there are gpipe,",
                  "pipeline", "--schedule", "zb_h3", *common)
    bench.refused(2, "", "pipeline", "--schedule", "gpipe", *common[:-1], "1,1,1")
    bench.refused(2, "", "pipeline", "--schedule", "gpipe", *common[:-1], "1,1,x,0")
    bench.refused(2, "", "pipeline", "--schedule", "gpipe", "--stages", 0, *common[2:])
    bench.refused(2, "", "pipeline", "--schedule", "auto", *common, "--goal", "least")


TABLE = ROOT / "tests/data/zero_bubble/table.csv"


def zero_bubble(bench):
    # The paper's rates to four digits, of the schedules that are rules.
    published = {(r["model"], r["p"], r["m"]): r for r in csv.DictReader(TABLE.open())}
    rows = bench.rows("zero-bubble", TABLE, "--schedules", "1f1b,zb_h1,zb_h2")
    expect(len(rows) == 36, len(rows))
    for row in rows:
        expected = published[row["model"], row["p"], row["m"]]["rate_" + row["schedule"]]
        expect(float(row["rate"]) == float(expected), f"{expected} in {row}")
        expect(float(row["makespan"]) >= float(row["lower_bound"]), row)

    # Search under a memory limit: one row here, at the paper's rate or below.
    lines = TABLE.read_text().splitlines()
    first = bench.file("first.csv", "\n".join(lines[:2]))
    for row in bench.rows("zero-bubble", first, "--schedules", "zb_1p,zb_2p"):
        expected = published[row["model"], row["p"], row["m"]]["rate_" + row["schedule"]]
        expect(float(row["rate"]) <= float(expected), f"{expected} in {row}")
        limit = int(row["p"]) * int(row["schedule"][3])
        expect(float(row["peak_activations"]) <= limit, row)

    # A model of one's own states its memory; without optional columns and in another order.
    own = "m,p,T_comm,T_W,T_B,T_F,model,M_B,M_W\n6,3,0.1,0.5,1.5,1,mine,10,4\n"
    rows = bench.rows("zero-bubble", bench.file("own.csv", own), "--effort", 5)
    expect([r["schedule"] for r in rows] ==
          ["1f1b", "1f1b_interleaved", "zb_h1", "zb_h2", "zb_1p", "zb_2p"], rows)
    for text, what in [("p,m,T_F,T_B,T_W\n2,2,1,1,1\n", "no column `T_comm`"),
                       (own.replace("M_W", "M_V"), "model `mine`"),
                       (own.replace("10,4", "4,10"), "M_W"), (own.replace("1.5", "nan"), "`nan`"),
                       (own.replace("6,3", "6,0"), "p is 0"), (own.replace("6,3", "-6,3"), "`-6`")]:
        bench.refused(1, what, "zero-bubble", bench.file("bad.csv", text))
    bench.refused(2, "", "zero-bubble", TABLE, "--schedules", "zb_h3")


def scale(bench):
    (row,) = bench.rows("scale", "--ops", 20_000)
    expect(list(row) == ["ops", "seconds", "peak_mib", "prove_seconds"], row)
    expect(row["ops"] == "20000" and float(row["seconds"]) < 20, row)
    bench.refused(2, "", "scale", "--ops", 0)


def steps(bench):
    """PyTorch's own results for orders with its transfers; our order is no longer than they are."""
    known = {"one_f_one_b": (2, 2, 2, 10, 11), "v": (2, 4, 2, 21, 24),
             "interleaved": (2, 4, 4, 42, 51), "zero_bubble_interleaved": (2, 4, 8, 97, 113)}
    data = ROOT / "tests/data/pipelines"
    files = [data / f"{name}{kind}.csv" for name in known for kind in ("", ".sent")]
    rows = bench.rows("steps", *files)
    expect(list(rows[0]) == ["instance", "ranks", "stages", "microbatches", "steps", "given"], rows)
    for row, file in zip(rows, files):
        *shape, ours, given = known[file.name.split(".")[0]]
        given = given if ".sent" in file.name else ""
        expect(list(row.values()) == [file.stem, *map(str, [*shape, ours, given])], row)
    # One rank: its calls and nothing else. A pair is one call.
    (row,) = bench.rows("steps", bench.file("one.csv", "0F0,0F1,0B0,0B1\n"))
    expect((row["steps"], row["given"]) == ("4", ""), row)
    pair = "0F0,1F0,1B0,(0F1;0B0)OVERLAP_F_B,1F1,1B1,0B1\n"
    (row,) = bench.rows("steps", bench.file("pair.csv", pair))
    expect(row["steps"] == "7", row)
    # What is wrong is said as `cgc import-schedule` says it.
    bench.refused(1, "bad.csv:1: cell 2: `0B0x`", "steps", bench.file("bad.csv", "0F0,0B0x\n"))
    bench.refused(1, "wait for each other", "steps",
                  bench.file("bad.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"))
    bench.refused(3, "cannot read", "steps", bench.folder / "none.csv")
    bench.refused(2, "", "steps")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(parser.parse_args().program, folder)
        for part in (buffers, pipeline, zero_bubble, steps, scale):
            part(bench)
    print(f"bench/schedule: {expectations.checks} checks, 0 failed")
    sys.exit(0 if expectations.checks else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""bench/schedule: CSV on standard output and nothing else there, exit codes, and what it refuses.

  tests/bench/schedule_bench_test.py --program build/release/schedule_bench
"""
import argparse
import csv
import io
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
checks = 0


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        raise SystemExit(f"FAILED: {what}")


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
        check(done.returncode == 0 and done.stderr == "", f"{words}: {done.stderr}")
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def refused(self, code, what, *words):
        done = self.run(*words)
        check(done.returncode == code and what in done.stderr,
              f"{words}: exit {done.returncode}, {done.stderr!r} without {what!r}")


def buffers(bench):
    header = "id,lower,upper,size\n"
    # The published example: 12 is possible, and the most that is alive.
    text = header + "b1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
    (row,) = bench.rows("buffers", bench.file("input.12.csv", text))
    check(list(row) == ["instance", "height", "capacity", "seconds"], f"columns {list(row)}")
    check((row["instance"], row["height"], row["capacity"]) == ("input", "12", "12"), row)
    check(float(row["seconds"]) >= 0, row)
    # Other columns in another order, spaces, empty lines and line ends of another system.
    moved = "size, upper,extra,lower\r\n4,3,x,0\r\n\r\n6,5,y,3\r\n"
    (row,) = bench.rows("buffers", bench.file("moved.csv", moved))
    check((row["instance"], row["height"], row["capacity"]) == ("moved", "6", "1048576"), row)
    (row,) = bench.rows("buffers", "--capacity", 20, bench.file("moved.7.csv", moved))
    check((row["instance"], row["capacity"]) == ("moved", "20"), row)
    # Two instances, a row each; the same figures each time.
    known = [ROOT / f"tests/data/minimalloc/{name}.1048576.csv" for name in "GK"]
    rows = bench.rows("buffers", *known)
    check([r["instance"] for r in rows] == ["G", "K"], rows)
    again = bench.rows("buffers", *known)
    check([r["height"] for r in rows] == [r["height"] for r in again], again)
    check(all(int(r["height"]) <= int(r["capacity"]) == 1048576 for r in rows), rows)

    bench.refused(3, "cannot read", "buffers", bench.folder / "none.csv")
    bench.refused(2, "", "buffers")
    bench.refused(2, "", "bufers", known[0])
    for text, what in [("id,lower,upper\n", "no column `size`"), ("", "no column `lower`"),
                       (header + "a,0,1\n", "3 fields"), (header + "a,3,3,4\n", "not below upper"),
                       (header + "a,0,x,4\n", "`x`"), (header + "a,0,1,-4\n", "`-4`"),
                       (header + "a,0,1,99999999999999999999\n", "size"),
                       (header + "a,0,1,70368744177664\nb,0,1,1\n", ":3:")]:
        bench.refused(1, what, "buffers", bench.file("bad.csv", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        buffers(Bench(parser.parse_args().program, folder))
    print(f"bench/schedule: {checks} checks, 0 failed")


if __name__ == "__main__":
    main()

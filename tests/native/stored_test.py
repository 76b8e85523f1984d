#!/usr/bin/python3
"""Objects of native code in files of states: those of libraries that save and restore them go on
where they were; of others it is said; a file is set whole or not at all.

  stored_test.py --cgc build/release/cgc --cgrun build/release/cgrun --folder build/release/tests

The libraries of tests/native are in the folder. Everything is tried in one process, and with a
process for each device; with --mpi on three machines instead.
"""
import argparse
import json
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402

LARGE = 200_003  # numbers of an object that takes several messages between processes
PROGRAM = f"""import std.tensor
actor Tally(size: int) {{
  state steps: i64 = 0
  method step(x: i64) -> i64 = extern "libcgraph_stored.so:tally_step" reads steps
  method count() -> i64 {{
    steps += 1
    return steps
  }}
}}
actor Bare() {{
  method step(x: i64) -> i64 = extern "libcgraph_stored.so:bare_step"
}}
actor Empty() {{
  method step(x: i64) -> i64 = extern "libcgraph_stored.so:none_step"
}}
place t[i in 0..3] = Tally([3, {LARGE}, 0][i]) on cpu[i]
place bare = Bare() on cpu[1]
place empty = Empty() on cpu[2]
graph step(x: i64) -> (a: i64, b: i64, c: i64) {{
  return (a: t[0].step(x), b: t[1].step(x), c: t[2].step(x) + t[0].count())
}}
graph others(x: i64) -> i64 {{ return bare.step(x) + empty.step(x) }}
"""
OBJECT = "native object"


def read(path):
    """Returns the tensors of a .safetensors file: dtype, shape and bytes by name."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        begin, end = (8 + length + each for each in entry["data_offsets"])
        tensors[name] = entry["dtype"], entry["shape"], data[begin:end]
    return tensors


def write(path, tensors):
    header, end = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text +
                     b"".join(data for _, _, data in tensors.values()))


class Runs:
    """`mpi`: None, or whose launcher starts cgrun, where each device is on a machine of its own."""

    def __init__(self, args, folder, flags, mpi=None):
        self.args, self.folder, self.flags, self.mpi = args, folder, flags, mpi
        self.library = pathlib.Path(args.folder).resolve() / "libcgraph_stored.so"
        self.write("p.cgraph", PROGRAM)

    def write(self, name, program):
        if self.mpi:
            program = re.sub(r"on cpu\[(\w+)\]", r"on node[\1].cpu[0]", program)
        (self.folder / name).write_text(program)

    def run(self, *flags, graph="step", x=2, program="p.cgraph"):
        call = [] if "--call" in flags else ["--graph", graph, "--input", f"x={x}"]
        words = [self.args.cgrun, self.folder / program, "--lib", self.library, *call, *flags,
                 *self.flags]
        if self.mpi:
            return self.mpi.run(3, words)
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=60, cwd=self.folder)

    def results(self, done):
        expect(done.returncode == 0, done.stderr)
        return [int(each) for each in re.findall(r": i64 = (-?\d+)", done.stdout)]


def goes_on(runs):
    """Two runs of two steps end as one of four."""
    first, second, whole = (runs.folder / f"{name}.safetensors" for name in ("a", "b", "c"))
    done = runs.run("-n", "2", "--save-state", first)
    expect(done.returncode == 0, done.stderr)
    expect("those of bare (" in done.stderr and "libcgraph_stored.so does not export `Bare_save` "
           "and `Bare_restore`)" in done.stderr, done.stderr)
    expect("t[0]" not in done.stderr and "empty" not in done.stderr, done.stderr)
    kept = read(first)
    expect(sorted(kept) == sorted([f"t[{i}].steps" for i in range(3)] +
                                  [f"t[{i}].{OBJECT}" for i in range(3)]), sorted(kept))
    expect(kept[f"t[0].{OBJECT}"] == ("U8", [24], struct.pack("<3q", 4, 4, 4)), "t[0]")
    expect(kept[f"t[1].{OBJECT}"][2] == struct.pack("<q", 4) * LARGE, "t[1]")
    expect(kept[f"t[2].{OBJECT}"] == ("U8", [0], b""), "t[2]")
    done = runs.run("-n", "2", "--load-state", first, "--save-state", second)
    expect(runs.results(done) == [24, 8 * LARGE, 4], done.stdout)
    expect("keep" not in done.stderr.replace("what objects keep", ""), done.stderr)
    done = runs.run("-n", "4", "--save-state", whole)
    expect(runs.results(done) == [24, 8 * LARGE, 4], done.stdout)
    expect(read(second) == read(whole), "the files are alike")


def absent(runs):
    path = runs.folder / "some.safetensors"
    runs.run("--save-state", path)
    kept = read(path)
    del kept[f"t[1].{OBJECT}"]
    write(path, kept)
    done = runs.run("--load-state", path)
    expect(runs.results(done) == [12, 2 * LARGE, 2], done.stdout)
    expect(f"1 state keeps the initial value, since {path} lacks it: t[1].{OBJECT}" in done.stderr,
           done.stderr)


def whole_or_not_at_all(runs):
    """What a library refuses, and what does not fit, changes nothing: of an engine of the C++ and
    Python tests, too; here it ends the run."""
    path, refused = runs.folder / "all.safetensors", runs.folder / "refused.safetensors"
    runs.run("--save-state", path)
    kept = read(path)
    for name, entry, said in (
            (f"t[1].{OBJECT}", ("U8", [8], struct.pack("<q", 1)),
             f"{refused}: t[1]: `Tally_restore` of {runs.library}: that is another number of"),
            (f"t[1].{OBJECT}", ("U8", [8 * LARGE], struct.pack("<q", 1) * (LARGE - 1) +
                                struct.pack("<q", -1)), "`Tally_restore` of * returned 7"),
            (f"t[1].{OBJECT}", ("I8", [8], bytes(8)), "is i8[8] there, and u8[n] in the plan"),
            (f"bare.{OBJECT}", ("U8", [8], bytes(8)),
             f"{refused}: the object of bare cannot be restored: {runs.library} does not export"),
            (f"empty.{OBJECT}", ("U8", [8], bytes(8)),
             "the object of empty cannot be restored: the place has none"),
            (f"u.{OBJECT}", ("U8", [8], bytes(8)), f"it has `u.{OBJECT}`, which is no state of")):
        write(refused, {**kept, name: entry})
        done = runs.run("--load-state", refused)
        pattern = re.escape(said).replace(r"\*", ".*")
        expect(done.returncode == 1 and re.search(pattern, done.stderr), f"{said}: {done.stderr}")


def moods(runs):
    """A library decides whether an object can be saved, fails, or dies."""
    path = runs.folder / "moods.safetensors"
    done = runs.run("--save-state", path, x=100)
    expect(done.returncode == 0 and "those of t[0], t[1] (it is in a bad mood)" in done.stderr,
           done.stderr)
    path.unlink()
    done = runs.run("--save-state", path, x=101)
    expect(done.returncode == 1 and "t[0]: `Tally_save` of " in done.stderr and
           "it will not be saved" in done.stderr and not path.exists(), done.stderr)
    if runs.flags or runs.mpi:
        runs.write("dies.cgraph", PROGRAM.replace("a: t[0].step(x)", "a: t[0].step(0)"))
        done = runs.run("--save-state", path, x=102, program="dies.cgraph")
        expect(done.returncode != 0 and not path.exists(), done.stderr)
        # A launcher of MPI may end the others before they say who has ended.
        expect("cpu[1]) ended by itself with exit code 5" in done.stderr or runs.mpi, done.stderr)
        done = runs.run("--save-state", path, "--timeout", "1", x=103, program="dies.cgraph")
        expect(done.returncode != 0 and not path.exists() and
               "asked to save the object of t[1], and has not answered in 1 s" in done.stderr and
               f"{path} is not written, since" in done.stderr, done.stderr)


def interrupted(runs):
    """A run that is interrupted while an object is saved writes nothing, and says so."""
    if runs.mpi:
        return
    path = runs.folder / "interrupted.safetensors"
    words = [runs.args.cgrun, runs.folder / "p.cgraph", "--lib", runs.library, "--graph", "step",
             "--input", "x=104", "--save-state", path, *runs.flags]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True,
                          stdout=subprocess.DEVNULL) as run:
        while "saving" not in run.stderr.readline():
            expect(run.poll() is None, "it has ended before it saves")
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
    expect(run.returncode == 130 and not path.exists() and
           f"{path} is not written, since the run was interrupted" in said, said)


def one_of_two(runs):
    """A library that saves and does not restore is refused before it could matter."""
    runs.write("half.cgraph", PROGRAM.replace("Empty", "Half"))
    done = runs.run(program="half.cgraph", graph="others")
    expect(done.returncode == 1 and "exports `Half_save` and not `Half_restore`" in done.stderr,
           done.stderr)


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--cgc", "--cgrun", "--folder"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--mpi", choices=sorted(mpirun.PACKAGES))
    args = parser.parse_args()
    mpi = mpirun.Mpi(args.mpi) if args.mpi else None
    args.cgc, args.cgrun = (str(pathlib.Path(p).resolve()) for p in (args.cgc, args.cgrun))
    for flags in [()] if mpi else [(), ("--processes", "device")]:
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(args, pathlib.Path(folder), flags, mpi)
            for test in (goes_on, absent, whole_or_not_at_all, moods, interrupted, one_of_two):
                test(runs)
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""cgrun under mpirun, a process for each node of the plan: the results are those of one process, to
the bit, and what fails says the same.

  machines_test.py --cgc build/release/cgc --cgrun build/release/cgrun --mpi openmpi

Every run must end by itself and leave no process behind.
"""
import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parent / "machines.cgraph"
WEIGHTS = """import std.tensor
actor Layer(name: str) {
  state w: f32[3, 3] = load("weights.safetensors", "{name}")
  method run(x: f32[1, 3]) -> f32[1, 3] { return matmul(x, w) }
}
place first = Layer("a") on node[0].gpu[0]
place second = Layer("b") on node[1].gpu[0]
graph g(x: f32[1, 3]) -> f32[1, 3] { return second.run(first.run(x)) }
"""
SLEEPS = """import std.tensor
import std.debug
actor Stage() {
  method run(x: i64) -> i64 {
    let y = x + 1
    sleep(y)
    return y
  }
}
place stage[r in 0..2] = Stage() on node[r].gpu[0]
graph slow(x: i64) -> i64 { return stage[1].run(stage[0].run(x)) }
"""
WHERE = re.compile(r"node\[(\d+)\] \(process \d+ on \S+\): ")
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}


class Machines:
    def __init__(self, options, folder):
        self.cgc, self.cgrun, self.folder = options.cgc, options.cgrun, folder
        self.mpi = mpirun.Mpi(options.mpi)
        self.plans, self.outputs, self.runs = {}, {}, 0

    def plan(self, *defines, source=PROGRAM):
        """Returns the plan of a program with these constants."""
        key = (source, *defines)
        if key not in self.plans:
            path = self.folder / f"{len(self.plans)}.cgplan"
            flags = [flag for define in defines for flag in ("-D", define)]
            done = subprocess.run([self.cgc, "compile", "-q", source, "-o", path, *flags],
                                  text=True, capture_output=True)
            expect(done.returncode == 0, f"{key} does not compile", done.stderr)
            text = subprocess.run([self.cgc, "plan", "--json", path], text=True,
                                  capture_output=True, check=True).stdout
            self.outputs[path] = {graph["name"]: [port["name"] for port in graph["outputs"]]
                                  for graph in json.loads(text)["graphs"]}
            self.plans[key] = path
        return self.plans[key]

    def run(self, ranks, plan, *flags):
        """Runs cgrun with so many ranks; with 0, without a launcher."""
        self.runs += 1
        command = [str(self.cgrun), str(plan), "--timeout", "30", *map(str, flags)]
        return self.mpi.run(ranks, command, line=command if ranks == 0 else None)

    def values(self, ranks, plan, graph, inputs, *flags):
        """Returns a graph's results, as bytes with their shape."""
        line = ["-q", "--graph", graph, *flags]
        for name, value in inputs.items():
            path = self.folder / f"in_{name}.npy"
            np.save(path, value)
            line += ["--input", f"{name}={path}"]
        files = [self.folder / f"out_{i}.npy" for i in range(len(self.outputs[plan][graph]))]
        for name, path in zip(self.outputs[plan][graph], files):
            path.unlink(missing_ok=True)
            line += ["--output", f"{name}={path}"]
        done = self.run(ranks, plan, *line)
        expect(done.returncode == 0, f"{graph} on {ranks} ranks: exit code {done.returncode}",
               done.stdout + done.stderr)
        expect(done.stderr == "", f"{graph} on {ranks} ranks says something", done.stderr)
        return [path.read_bytes() for path in files]

    def same(self, ranks, plan, graph, inputs, *flags):
        expected = self.values(0, plan, graph, inputs, *flags)
        got = self.values(ranks, plan, graph, inputs, *flags)
        expect(got == expected, f"{graph} {flags} on {ranks} ranks has other results than in one "
               "process")
        return got


def numbers(shape, dtype=np.float32, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


FIVE, EIGHT = np.array([5]), numbers(8)
CASES = [  # graph, inputs, flags
    ("other", {"x": FIVE}, []),
    ("around", {"x": np.arange(40)}, ["--batch", "x"]),
    ("inside", {"x": FIVE}, []),
    ("crossed", {"x": FIVE}, []),
    ("straight", {"x": numbers(7)}, []),
    ("state_of_all", {"x": np.arange(50)}, ["--batch", "x"]),
    ("state_along", {"x": EIGHT}, ["-n", "200"]),
    ("state_along", {"x": EIGHT}, ["-n", "30", "--every"]),
    ("bounded", {"x": numbers(0)}, []),
    ("bounded", {"x": numbers(1)}, ["-n", "3"]),
    ("bounded", {"x": numbers(2777)}, ["--batch", "x"]),
    ("dynamic", {"x": numbers(1000), "length": np.int64(77)}, ["-n", "20"]),
    ("dynamic", {"x": numbers(1000), "length": np.int64(0)}, ["-n", "2"]),
    ("two_sizes", {"x": numbers((0, 3)), "y": numbers((4, 2))}, []),
    ("two_sizes", {"x": numbers((5, 3)), "y": numbers((0, 2))}, []),
    ("tuples", {"x": np.float32(1.5), "y": np.array([1, 2, 200], np.uint8), "z": np.bool_(True)},
     ["-n", "5"]),
    ("large", {"x": numbers(2_000_003)}, ["-n", "6"]),
    ("many", {"x": FIVE}, ["-n", "200"]),
    ("capacity", {"x": EIGHT}, ["-n", "50"]),
    ("overlapped", {"x": numbers((64, 64)) / 8}, ["-n", "20"]),
    ("spread", {"x": EIGHT}, ["-n", "3"]),
    ("collected", {"x": EIGHT}, ["-n", "30"]),
    ("other_dims", {"x": numbers((64, 64)) / 8}, ["-n", "3"]),
    ("members_beside", {"x": EIGHT}, ["-n", "3"]),
    ("ragged", {"x": numbers(1000), "length": np.int64(77)}, ["-n", "3"]),
]


def results(m):
    """Two nodes; three, each of which has messages with both others, too; idle ones between."""
    for graph, inputs, flags in CASES:
        m.same(2, m.plan(), graph, inputs, *flags)
    for graph, inputs, flags in CASES:
        if graph in ("state_of_all", "dynamic", "overlapped", "collected"):
            m.same(3, m.plan("NODES=3", "N=7"), graph, inputs, *flags)
    m.same(3, m.plan("GAP=2"), "around", {"x": np.arange(10)}, "--batch", "x")
    m.same(3, m.plan("GAP=2"), "collected", {"x": EIGHT}, "-n", "5")


def on_gpus(text):
    """Returns the program with its stages on gpus: what these send each other goes by nccl."""
    expect("on node[i % NODES * GAP].cpu[i]" in text, "the stages are elsewhere")
    return text.replace("on node[i % NODES * GAP].cpu[i]", "on node[i % NODES * GAP].gpu[i]")


def results_on_gpus(m):
    """The same where the stages are gpus, which are CPU threads here."""
    source = m.folder / "on_gpus.cgraph"
    source.write_text(on_gpus(PROGRAM.read_text()))
    for graph, inputs, flags in CASES:
        if graph not in ("inside", "large"):
            m.same(2, m.plan(source=source), graph, inputs, *flags)
    m.same(3, m.plan("NODES=3", "N=7", source=source), "overlapped", {"x": numbers((64, 64)) / 8},
           "-n", "9")


def more_devices_than_cores(m):
    plan = m.plan("N=12")
    for graph, inputs, flags in CASES:
        if graph in ("around", "collected"):
            m.same(2, plan, graph, inputs, *flags)


def save_weights(folder, tensors):
    """Writes a file of safetensors, of f32 alone."""
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": value.shape,
                        "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    (folder / "weights.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + b"".join(v.tobytes() for v in tensors.values()))


def weights(m):
    """`load` at another node, and a file that does not fit there."""
    (m.folder / "w.cgraph").write_text(WEIGHTS)
    save_weights(m.folder, {"a": numbers((3, 3), seed=2), "b": numbers((3, 3), seed=3)})
    plan = m.plan(source=m.folder / "w.cgraph")
    here = m.same(2, plan, "g", {"x": numbers((1, 3))})
    # Where the files are is told to all ranks.
    elsewhere = m.folder / "elsewhere"
    elsewhere.mkdir()
    save_weights(elsewhere, {"a": numbers((3, 3), seed=2), "b": numbers((3, 3), seed=4)})
    got = m.same(2, plan, "g", {"x": numbers((1, 3))}, "--weights", elsewhere)
    expect(got != here, "--weights changes nothing")
    # An error while node 1 loads.
    save_weights(elsewhere, {"a": numbers((3, 3), seed=2), "b": numbers((3, 2), seed=4)})
    told = [m.run(ranks, plan, "--graph", "g", "--input", "x=[[1,2,3]]", "--weights", elsewhere)
            for ranks in (0, 2)]
    for done in told:
        expect(done.returncode == told[0].returncode != 0, f"exit code {done.returncode}",
               done.stderr)
        expect(WHERE.sub("", errors(done)[0]) == errors(told[0])[0] and len(errors(done)) == 1,
               "an error of a load", f"{told[0].stderr}\n{done.stderr}")
    expect(WHERE.search(told[1].stderr)[1] == "1", "which node it is", told[1].stderr)
    # Files that are nowhere: one error, in which each node says where it looked.
    empty = m.folder / "empty"
    empty.mkdir()
    done = m.run(2, plan, "--graph", "g", "--input", "x=[[1,2,3]]", "--weights", empty)
    expect(done.returncode == 3 and len(errors(done)) == 1, "files that are nowhere", done.stderr)
    for node, name in ((0, "first"), (1, "second")):
        expect(re.search(rf"node\[{node}\] \(process \d+ on \S+\): {name}\.state w .*"
                         "weights.safetensors", done.stderr), f"node {node}", done.stderr)


def folder_of(m, name, tensors):
    """A folder `name` for a rank to be in, with a file of weights where there are tensors."""
    folder = m.folder / name
    (folder / "w").mkdir(parents=True)
    if tensors:
        save_weights(folder / "w", tensors)
    return folder


def in_folders(m, plan, folders, *flags):
    """Runs cgrun with each rank in a folder of its own, where it looks for weights below `w`."""
    script = m.folder / "in_folder.sh"
    script.write_text("#!/bin/sh\n" "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n"
                      "program=$1; shift\n" f"cd {m.folder}/at_rank$rank && exec $program \"$@\"\n")
    script.chmod(0o755)
    at_ranks(m, folders)
    m.runs += 1
    out = m.folder / "y.npy"
    out.unlink(missing_ok=True)
    done = m.mpi.run(len(folders), [
        str(script), str(m.cgrun), str(plan), "--graph", "g", "-v", "--weights", "w",
        "--output", f"{m.outputs[plan]['g'][0]}={out}", "--timeout", "30", *map(str, flags)])
    return done, out.read_bytes() if out.exists() else None


def at_ranks(m, folders):
    """Says in which folder each rank runs."""
    for rank, folder in enumerate(folders):
        link = m.folder / f"at_rank{rank}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder)


def said_of(done, rank):
    """What -v says of a rank's weights: what it reads, what it was sent."""
    line = re.search(rf"^rank {rank}: .*$", done.stderr, re.M)
    expect(line, f"nothing is said of rank {rank}", done.stderr)
    return (re.findall(r"reads (.*?) of weights", line[0]),
            re.findall(r"was sent (.*?) of weights", line[0]))


def sent_weights(m):
    """Weights that a rank does not find, or finds others of than rank 0: it gets rank 0's."""
    (m.folder / "w.cgraph").write_text(WEIGHTS)
    plan = m.plan(source=m.folder / "w.cgraph")
    tensors = {"a": numbers((3, 3), seed=2), "b": numbers((3, 3), seed=3)}
    first = folder_of(m, "first", tensors)
    x = ("--input", "x=[[1,2,3]]")
    done, expected = in_folders(m, plan, [first, first], *x)
    expect(done.returncode == 0 and expected, "one folder", done.stderr)
    expect(said_of(done, 1) == (["36 B"], []) == said_of(done, 0), "it was read", done.stderr)
    others = {
        "none": {},
        "other_values": {"a": tensors["a"], "b": tensors["b"] + 1},
        "other_shape": {"a": tensors["a"], "b": numbers((4, 3))},
        "other_tensors": {"c": tensors["b"]},
    }
    for name, values in others.items():
        done, got = in_folders(m, plan, [first, folder_of(m, name, values)], *x)
        expect(done.returncode == 0 and got == expected, f"{name}: results", done.stderr)
        expect(said_of(done, 1) == ([], ["36 B"]), f"{name}: it was sent", done.stderr)
    # The file that does not fit is rank 0's, and so is one that is no file of weights.
    done, got = in_folders(m, plan, [m.folder / "other_shape", first], *x)
    expect(done.returncode != 0 and "of rank 0 is f32[4, 3]" in done.stderr, "a wrong type",
           done.stderr)
    # Copies are the same whatever their time is.
    for name, copy in (("copy", shutil.copy), ("exact_copy", shutil.copy2)):
        second = folder_of(m, name, {})
        copy(first / "w" / "weights.safetensors", second / "w")
        done, got = in_folders(m, plan, [first, second], *x)
        expect(done.returncode == 0 and got == expected, f"{name}: results", done.stderr)
        expect(said_of(done, 1) == (["36 B"], []), f"{name}: it was read", done.stderr)
    # Rank 0 has none, and loads none of them: the rank's own are all there is.
    (m.folder / "second.cgraph").write_text(
        WEIGHTS.replace("second.run(first.run(x))", "second.run(x)")
        .replace('place first = Layer("a") on node[0].gpu[0]\n', ""))
    second_alone = m.plan(source=m.folder / "second.cgraph")
    done, got = in_folders(m, second_alone, [m.folder / "none", first], *x)
    expect(done.returncode == 0 and said_of(done, 1) == (["36 B"], []), "rank 0 has none",
           done.stderr)


PIECES = """import std.tensor
actor Part() {
  state w: f32[800, 1000] = load("weights.safetensors", "large")
  method times(x: f32[1000, 2]) -> f32[800, 2] { return matmul(w, x) }
}
place part = Part() on node[1].gpu[0]
graph g(x: f32[1000, 2]) -> f32[800, 2] { return part.times(x) }
"""


def pieces_of_weights(m):
    """A tensor of several messages, of which one value is another."""
    (m.folder / "pieces.cgraph").write_text(PIECES)
    plan = m.plan(source=m.folder / "pieces.cgraph")
    large = numbers((800, 1000))
    first = folder_of(m, "large", {"large": large})
    np.save(m.folder / "x.npy", numbers((1000, 2), seed=5))
    x = ("--input", f"x={m.folder / 'x.npy'}")
    done, expected = in_folders(m, plan, [first, first], *x)
    expect(done.returncode == 0 and expected, "one folder", done.stderr)
    for place in ((0, 0), (261, 999), (262, 0), (799, 999), None):
        other = large.copy()
        if place is not None:
            other[place] += 1
        second = folder_of(m, f"large_{place}", {"large": other})
        done, got = in_folders(m, plan, [first, second], *x)
        expect(done.returncode == 0 and got == expected, f"other at {place}", done.stderr)
        expect(bool(said_of(done, 1)[1]) == (place is not None), f"sent: {place}", done.stderr)
        expect(bool(said_of(done, 1)[0]) == (place is None), f"read: {place}", done.stderr)


HUGE = """import std.tensor
actor Part() {
  state w: f32[128, 1024, 1024] = load("weights.safetensors", "huge")
  method first() -> f32[] { return w[0][0][0] }
}
place part = Part() on node[1].gpu[0]
graph g(x: f32[]) -> f32[] { return part.first() + x }
"""


def death_while_sent(m):
    """Either rank is killed while rank 0 sends: all ends, soon."""
    (m.folder / "huge.cgraph").write_text(HUGE)
    plan = m.plan(source=m.folder / "huge.cgraph")
    first, second = folder_of(m, "huge", {}), m.folder / "none"
    header = json.dumps({"huge": {"dtype": "F32", "shape": [128, 1024, 1024],
                                  "data_offsets": [0, 512 << 20]}}).encode()
    with open(first / "w" / "weights.safetensors", "wb") as file:  # with a hole
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + (512 << 20))
    at_ranks(m, [first, second])
    for rank in (0, 1):
        # On a busy machine all may have been sent before the kill, or Open MPI end too soon.
        for _ in range(5):
            m.runs += 1
            run = mpirun.Started(
                m.mpi.line(2, [m.folder / "in_folder.sh", m.cgrun, plan, "--weights", "w",
                               "--input", "x=1"]), lambda mark: patient(m.mpi.environment(mark)))
            ranks = run.await_ranks(m.cgrun, 2)
            taken = await_memory(ranks[1], 64 << 10)
            mpirun.kill([ranks[rank]])
            code, error = run.end(f"rank {rank} is killed while weights are sent", 20)
            if taken > 400 << 10:
                continue
            expect(code != 0, f"rank {rank}: the run ends well", error)
            # MPICH ends the others at once.
            if rank == 0 or m.mpi.name == "mpich" or re.search(
                    r"rank 1 \(process \d+.*; it had not loaded the plan yet", error):
                break
        else:
            expect(False, f"rank {rank}: nobody says who was killed, in time", error)


def patient(environment):
    """Lets Open MPI leave the others a second to say who is gone."""
    return {name: value for name, value in environment.items()
            if name != "OMPI_MCA_odls_base_sigkill_timeout"}


def await_memory(pid, most, seconds=20):
    """Waits until a process has so many KiB in memory; returns how many it has."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        taken = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
        if taken and int(taken[1]) >= most:
            return int(taken[1])
        time.sleep(0.002)
    expect(False, f"process {pid} does not take {most} KiB")


def errors(done):
    return [line for line in done.stderr.splitlines() if "error:" in line]


def reports(m):
    """A rank that is stopped: the time-out names it, and draws who waits for it."""
    (m.folder / "sleeps.cgraph").write_text(SLEEPS)
    graph = m.folder / "waits.svg"
    command = [m.cgrun, m.plan(source=m.folder / "sleeps.cgraph"), "--input", "x=200", "-n", "100",
               "--timeout", "2", "--wait-graph", graph]
    done, pid = m.mpi.run_and_stop(2, command, rank=1, after=1.0)
    m.runs += 1
    expect(done.returncode != 0 and "nothing has moved for 2 s" in done.stderr, "a time-out",
           done.stderr)
    name = rf"node\[1\]\.gpu\[0\] \w+ \(rank 1: process {pid} on \S+\)"
    expect(re.search(rf"^everything waits for {name}, which .* of execution \d+ of `slow`, for "
                     r"\d+\.\d s", done.stderr, re.M), "the cause", done.stderr)
    expect(re.search(rf"^rank 1 \(process {pid} on \S+: node\[1\]\.gpu\[0\]\) has told nothing for "
                     r"\d+\.\d s", done.stderr, re.M), "that it is silent", done.stderr)
    expect(re.search(rf"^{name}: .*sleeps\.cgraph:\d+:\d+\)", done.stderr, re.M), "where it is",
           done.stderr)
    if shutil.which("dot") is None:
        expect("is not written" in done.stderr and "graphviz" in done.stderr, "no dot", done.stderr)
    else:
        drawn = graph.read_text()
        expect("<svg" in drawn and "stage[1].run" in drawn, "the drawing", drawn)


def failures(m):
    """A method that fails at another node is the execution's error, and the others go on."""
    for graph, inputs in (("refused", np.array([1, 2, 3, 4, 3, 5])),
                          ("refused_elsewhere", np.array([1, 2, 1, 3, 0, 1]))):
        np.save(m.folder / "in_x.npy", inputs)
        flags = ["--graph", graph, "--input", f"x={m.folder}/in_x.npy", "--batch", "x"]
        told = [m.run(ranks, m.plan(), *flags) for ranks in (0, 2)]
        for done in told:
            expect(done.returncode == told[0].returncode == 1, f"exit code {done.returncode}",
                   done.stderr)
            expect(errors(done) and errors(done) == errors(told[0]), f"the error of {graph}",
                   f"{told[0].stderr}\n{done.stderr}")
            expect("3 is refused" in done.stderr, "the message", done.stderr)
            expect(re.findall(r"\d+ executions?, \d+ errors?", done.stderr) ==
                   re.findall(r"\d+ executions?, \d+ errors?", told[0].stderr) != [],
                   "executions go on", f"{told[0].stderr}\n{done.stderr}")


def numbers_of_ranks(m):
    """A launcher that started another number of processes than the plan has nodes."""
    for ranks, defines in ((3, []), (2, ["NODES=3", "N=7"]), (2, ["NODES=1"])):
        done = m.run(ranks, m.plan(*defines), "--graph", "other", "--input", "x=[1]")
        nodes = {(): 2, ("NODES=3", "N=7"): 3, ("NODES=1",): 1}[tuple(defines)]
        expect(done.returncode == 2, f"{ranks} ranks for {nodes} nodes: {done.returncode}",
               done.stderr)
        expect(len(errors(done)) == 1 and f"{ranks} processes were started" in done.stderr and
               (f"mpirun -n {nodes}" if nodes > 1 else "without a launcher") in done.stderr,
               "the number of ranks", done.stderr)
    # One process is as good as no launcher.
    alone, none = (m.run(ranks, m.plan(), "--graph", "other", "--input", "x=[1]")
                   for ranks in (1, 0))
    expect((alone.returncode, alone.stdout) == (0, none.stdout), "mpirun -n 1", alone.stderr)
    expect("are all in this process" in alone.stderr and "mpirun -n 2" in alone.stderr,
           "what is said of nodes in one process", alone.stderr)
    several = m.run(0, m.plan(), "--graph", "other", "--input", "x=[1]", "--processes", "2")
    expect(several.returncode == 0 and "are all on this machine" in several.stderr,
           "what is said of nodes in processes of one machine", several.stderr)


def mistakes(m):
    """Command lines that are wrong end at once with one message and the exit code."""
    plan = m.plan()
    for flags, said in (([m.folder / "none.cgplan"], "none.cgplan"),
                        ([plan, "--graph", "nope"], "nope"),
                        ([plan, "--no-such-flag"], "--no-such-flag"),
                        ([plan, "--graph", "other"], "x"),
                        ([plan, "--graph", "other", "--input", "x=[1]", "--processes", "2"],
                         "processes"),
                        ([plan, "--graph", "other", "--input", "x=[1]", "--unproved"], "proved")):
        command = [m.cgrun, *flags]
        alone = m.mpi.run(0, [], line=[str(word) for word in command])
        done = m.mpi.run(2, command, 20)
        m.runs += 1
        expect(done.returncode != 0 and len(errors(done)) == 1 and said in done.stderr,
               f"{flags}: exit code {done.returncode}", done.stderr)
        if alone.returncode != 0:
            expect(done.returncode == alone.returncode and errors(done) == errors(alone),
                   f"{flags}: exit code {done.returncode}, not {alone.returncode}",
                   f"{alone.stderr}\n{done.stderr}")
    # The ranks have one exit code, as a launcher may take any. Each waits for all to have it, since
    # some launchers end all with the first.
    script = m.folder / "codes.sh"
    script.write_text("#!/bin/sh\n" '"$@"\n' "code=$?\n"
                      f"echo $code > {m.folder}/code_${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\n"
                      "for i in $(seq 100); do\n"
                      f"  [ -s {m.folder}/code_0 ] && [ -s {m.folder}/code_1 ] && break\n"
                      "  sleep 0.05\ndone\nexit $code\n")
    script.chmod(0o755)
    for flags, code in (([plan, "--no-such-flag"], 2), ([plan, "--graph", "nope"], 2),
                        ([m.folder / "none.cgplan"], 3),
                        ([plan, "--graph", "other", "--input", "x=[1]"], 0)):
        for rank in range(2):
            (m.folder / f"code_{rank}").unlink(missing_ok=True)
        done = m.mpi.run(2, [script, m.cgrun, *flags], 20)
        m.runs += 1
        codes = [int((m.folder / f"code_{rank}").read_text()) for rank in range(2)]
        expect(done.returncode == code and codes == [code, code], f"{flags}: {codes}", done.stderr)
        expect(len(errors(done)) == (code != 0), f"{flags}: who says it", done.stderr)
    for flag in ("--help", "--version"):
        done = m.mpi.run(2, [m.cgrun, flag], 20)
        expect(done.returncode == 0 and
               done.stdout == m.mpi.run(0, [], line=[str(m.cgrun), flag]).stdout,
               f"{flag} is said once", done.stdout)


def source_text(m):
    """A .cgraph is compiled by rank 0 alone."""
    done = m.run(2, PROGRAM, "--graph", "other", "--input", "x=[5]", "-q")
    expect(done.returncode == 0 and done.stdout.count("16") == 1, "a .cgraph", done.stderr)


def libraries(m):
    """cgrun with the library of another MPI than that of the launcher, or with none."""
    folder = m.folder / "bin"
    folder.mkdir()
    shutil.copy(m.cgrun, folder / "cgrun")
    lonely = folder / "cgrun"
    for beside in (None, OTHER[m.mpi.name]):
        if beside is not None:
            library = m.cgrun.parent / f"libcgraph_{beside}.so"
            if not library.exists():
                print(f"SKIPPED: {library} is not built; cgrun is not tried with the library of "
                      "another MPI")
                continue
            shutil.copy(library, folder)
        done = m.mpi.run(2, [lonely, m.plan(), "--graph", "other", "--input", "x=[5]"], 30)
        expect(done.returncode != 0 and f"libcgraph_{m.mpi.name}.so" in done.stderr and
               "development files" in done.stderr, f"with the library of {beside}", done.stderr)
        expect(done.stderr.count("development files") == 1 and
               "(said once for the 2 processes on " in done.stderr, "it is said once", done.stderr)
        # Without a launcher it needs no library.
        done = m.mpi.run(0, [], line=[str(lonely), str(m.plan()), "--graph", "other", "--input",
                                      "x=[5]", "-q"])
        expect(done.returncode == 0 and "16" in done.stdout, "without a launcher", done.stderr)


def devices(m):
    """--devices lists the machine of each rank."""
    done = m.mpi.run(3, [m.cgrun, "--devices"], 30)
    said = re.findall(r"^rank (\d) \(process \d+ on \S+\)\n  cpu:0", done.stdout, re.M)
    expect(done.returncode == 0 and said == ["0", "1", "2"], "--devices of three ranks",
           done.stdout + done.stderr)
    told = json.loads(m.mpi.run(2, [m.cgrun, "--devices", "--json"], 30).stdout)["ranks"]
    expect([rank["rank"] for rank in told] == [0, 1] and
           all(rank["devices"]["cores"] >= 1 for rank in told), f"--devices --json: {told}")
    m.runs += 2


def long_trace(m):
    """A trace of many executions has the first of them, whole, and says so; of two ranks, too."""
    trace = m.folder / "trace.json"
    done = m.run(2, m.plan(), "--graph", "many", "--input", "x=[5]", "-n", "4000", "--trace",
                 trace)
    said = re.search(r"has the first (\d+) executions alone", done.stderr)
    expect(done.returncode == 0 and said is not None, "a long trace", done.stderr)
    expect(trace.stat().st_size < 120_000_000, f"a trace of {trace.stat().st_size} bytes")
    known = {event["args"]["execution"] for event in json.loads(trace.read_text())["traceEvents"]
             if "execution" in event.get("args", {})}
    expect(known == set(range(int(said[1]))), f"it has {len(known)} executions, said: {said[1]}")


def builds(m):
    """Ranks of another build than that of rank 0 are one error, which says both."""
    digest = (m.cgrun.parent / "runtime/cluster/sources_digest.inc").read_text().strip().strip('"')
    other = "0" * len(digest)
    folder = m.folder / "other"
    folder.mkdir()
    for file in (m.cgrun, m.cgrun.parent / f"libcgraph_{m.mpi.name}.so"):
        made = file.read_bytes().replace(digest.encode(), other.encode())
        (folder / file.name).write_bytes(made)
        (folder / file.name).chmod(0o755)
    line = [m.mpi.launcher, "-n", "1", m.cgrun, m.plan(), ":", "-n", "3", folder / "cgrun", "x"]
    done = m.mpi.run(4, [], line=[str(word) for word in line])
    m.runs += 1
    expect(done.returncode != 0 and len(errors(done)) == 1, "another build", done.stderr)
    expect(re.search(rf"rank 1 to rank 3: the build is .*{other}, and that of rank 0 is .*{digest}"
                     "; install one build", done.stderr), "which builds", done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    mpirun.add_option(parser)
    with tempfile.TemporaryDirectory() as name:
        m = Machines(parser.parse_args(), pathlib.Path(name))
        for part in (results, results_on_gpus, more_devices_than_cores, weights, sent_weights,
                     pieces_of_weights, death_while_sent, reports, failures, numbers_of_ranks,
                     mistakes, source_text, libraries, devices, long_trace, builds):
            part(m)
            print(f"{part.__name__}: ok", flush=True)
    print(f"{expectations.checks} checks, {m.runs} runs")


if __name__ == "__main__":
    main()

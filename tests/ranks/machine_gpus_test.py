#!/usr/bin/python3
"""cgrun under mpirun on machines with GPUs, which are emulated: the results are those of one
process, to the bit; what is said of GPUs that are not there; what fails, and what never ends.

  machine_gpus_test.py --cgc build/release/cgc --cgrun build/release/cgrun --mpi openmpi \\
      --libraries build/release/emulated:build/release

All ranks are on this machine, and each has emulated GPUs of its own.
"""
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import expectations  # noqa: E402
import machines_test  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402
from machines_test import EIGHT, errors, numbers  # noqa: E402

# GPUs in whose one channel work begins in the order of issue; GPUs that do not reach each other's
# memory. The host may touch what is theirs: to forbid it takes most of the time.
FAST = "devices=2,seed=1,channels=1,protect=0"
APART = "devices=2,seed=3,peers=0,protect=0"
STRICT = "devices=2,seed=2,channels=8"
CASES = [  # graph, inputs, flags
    ("around", {"x": np.arange(4)}, ["--batch", "x"]),
    ("crossed", {"x": np.array([5])}, ["-n", "2"]),
    ("straight", {"x": numbers(7)}, []),
    ("state_of_all", {"x": np.arange(5)}, ["--batch", "x"]),
    ("state_along", {"x": EIGHT}, ["-n", "4", "--every"]),
    ("bounded", {"x": numbers(0)}, []),
    ("bounded", {"x": numbers(1500)}, ["--batch", "x"]),
    ("dynamic", {"x": numbers(1000), "length": np.int64(77)}, ["-n", "3"]),
    ("dynamic", {"x": numbers(1000), "length": np.int64(0)}, []),
    ("two_sizes", {"x": numbers((0, 3)), "y": numbers((4, 2))}, []),
    ("two_sizes", {"x": numbers((5, 3)), "y": numbers((0, 2))}, []),
    ("tuples", {"x": np.float32(1.5), "y": np.array([1, 2, 200], np.uint8), "z": np.bool_(True)},
     ["-n", "2"]),
    ("large", {"x": numbers(20_003)}, []),
    ("around_by_mpi", {"x": np.arange(4)}, ["--batch", "x"]),
    ("state_along_by_mpi", {"x": EIGHT}, ["-n", "4", "--every"]),
    ("dynamic_by_mpi", {"x": numbers(1000), "length": np.int64(77)}, ["-n", "3"]),
    ("large_by_mpi", {"x": numbers(20_003)}, []),
    ("capacity", {"x": EIGHT}, ["-n", "2"]),
    ("collected", {"x": EIGHT}, ["-n", "3"]),
    ("members_beside", {"x": EIGHT}, ["-n", "2"]),
]
COLLECTIVE = [case for case in CASES if case[0] in ("state_of_all", "collected", "members_beside")]


def small(m, *defines):
    """Returns the plan with less memory for values, whose clearing would take most of the time."""
    source = m.folder / "machines.cgraph"
    if not source.exists():
        text = machines_test.PROGRAM.read_text().replace("2_000_003", "20_003")
        source.write_text(machines_test.on_gpus(text))
    return m.plan(*defines, source=source)


def said(done):
    """Returns what a run says, but of chains: the emulated NVRTC compiles none."""
    return "".join(line for line in done.stderr.splitlines(True) if "NVRTC" not in line)


def emulate(options):
    os.environ["CGRAPH_EMULATION"] = options


def results(m):
    """Every graph, compared with CPU threads; some on other GPUs, in one process on GPUs, too."""
    emulate(FAST)
    for graph, inputs, flags in CASES:
        same_as_cores(m, 2, small(m), graph, inputs, *flags)
    for kind, cases in ((STRICT, COLLECTIVE[-1:]), (APART, COLLECTIVE)):
        emulate(kind)
        for graph, inputs, flags in cases:
            same_as_cores(m, 2, small(m), graph, inputs, *flags)
    emulate("devices=4,seed=5,protect=0")
    for graph, inputs, flags in (*COLLECTIVE, ("overlapped", {"x": numbers((64, 64)) / 8}, [])):
        m.same(2, small(m), graph, inputs, *flags)
    few_results(m)


def few_results(m):
    """Three machines, and what goes round on two."""
    emulate("devices=3,seed=6,protect=0")
    same_as_cores(m, 3, small(m, "NODES=3", "N=7"), "collected", {"x": EIGHT}, "-n", "2")
    same_as_cores(m, 2, small(m), "around", {"x": np.arange(3)}, "--batch", "x", "--no-capture")


def same_as_cores(m, ranks, plan, graph, inputs, *flags):
    cores = ["--device-map", "gpu[*]=cpu:0,node[1].gpu[*]=cpu:0"]
    if plan == small(m, "NODES=3", "N=7"):
        cores = ["--device-map", "gpu[*]=cpu:0,node[1].gpu[*]=cpu:0,node[2].gpu[*]=cpu:0"]
    expected = m.values(0, plan, graph, inputs, *flags, *cores)
    got = m.values(ranks, plan, graph, inputs, *flags, "--require-gpu")
    expect(got == expected, f"{graph} {flags} on GPUs of {ranks} machines has other results than "
           "on CPU threads")


def on_gpus(m):
    """The gpus of each node are the GPUs of its machine, one to one."""
    emulate(FAST)
    told = json.loads(m.run(2, small(m), "--graph", "other", "--input", "x=[5]", "--json",
                            "--require-gpu").stdout)
    expect([(gpu["device"], gpu["gpu"]) for gpu in told["gpus"]] ==
           [("gpu[0]", "cuda:0"), ("gpu[2]", "cuda:1")], f"the GPUs of rank 0: {told}")
    trace = m.folder / "trace.json"
    done = m.run(2, small(m), "--graph", "around", "--input", "x=[5]", "--trace", trace,
                 "--require-gpu")
    expect(done.returncode == 0 and said(done) == "", "a trace", done.stderr)
    tracks = [event["args"]["name"] for event in json.loads(trace.read_text())["traceEvents"]
              if event["name"] == "thread_name"]
    expect(any("node[1].gpu[1]" in track for track in tracks), f"the tracks are {tracks}")


def few(m):
    """Fewer GPUs than gpus are an error, with a map that mends it."""
    emulate("devices=1,seed=1,protect=0")
    line = ["--graph", "other", "--input", "x=[5]"]
    done = m.run(2, small(m), *line)
    expect(done.returncode == 3 and len(errors(done)) == 1, f"exit code {done.returncode}",
           done.stderr)
    expect("2 gpus on node[0]" in done.stderr and "the machine of rank 0 has 1" in done.stderr,
           "too few GPUs", done.stderr)
    mends = ["--device-map", "gpu[*]=cuda:0,node[1].gpu[*]=cuda:0"]
    done = m.run(2, small(m), *line, "--require-gpu", *mends)
    expect(done.returncode == 0 and "16" in done.stdout and said(done) == "", "the map",
           done.stderr)
    done = m.run(2, small(m), *line, "--device-map", "gpu[*]=cuda:0,node[1].gpu[*]=cpu:0")
    expect(done.returncode == 0 and "16" in done.stdout and said(done) == "", "a map to a core",
           done.stderr)
    # The same for all nodes at once; what names a node goes before it, and a device before that.
    for everywhere in ("node[*].gpu[*]=cuda:0", "node[*].gpu[*]=cuda:7,node[*].gpu[0]=cuda:0,"
                       "node[0].gpu[*]=cuda:0,node[1].gpu[*]=cuda:0"):
        done = m.run(2, small(m), *line, "--require-gpu", "--device-map", everywhere)
        if "cuda:7" in everywhere:
            expect(done.returncode == 3 and "has 1 GPU" in done.stderr, everywhere, done.stderr)
        else:
            expect(done.returncode == 0 and "16" in done.stdout and said(done) == "", everywhere,
                   done.stderr)
    done = m.run(2, small(m), *line, "--device-map",
                 "node[*].gpu[*]=cuda:0,node[1].gpu[*]=cpu:0,node[0].gpu[*]=cpu:0", "--json")
    expect(done.returncode == 0 and json.loads(done.stdout).get("gpus", []) == [],
           "what names a node goes before what names all", done.stdout + done.stderr)
    done = m.run(2, small(m), *line, *mends, "--device-map", "node[1].gpu[1]=cuda:3")
    expect(done.returncode == 3 and "the machine of rank 1 (process " in done.stderr and
           "has 1 GPU, cuda:0" in done.stderr, "a GPU that is not there", done.stderr)


def apart(m, plan, flags, **of_rank_1):
    """Runs two ranks, of which the second has another environment."""
    command = [str(m.cgrun), str(plan), *map(str, flags)]
    words = [f"{name}={value}" for name, value in of_rank_1.items()]
    line = [m.mpi.launcher, "-n", "1", *command, ":", "-n", "1", "env", *words, *command]
    m.runs += 1
    return m.mpi.run(2, command, line=line)


RAGGED = {"x": numbers(1000), "length": np.int64(77)}
NO_NCCL = "version=21800"  # too old


def told_of(m, done, graph):
    """Returns what a run tells with --json, without times."""
    expect("errors" in done.stdout, f"{graph} does not run", done.stdout + done.stderr)
    told = json.loads(done.stdout)
    return {key: told[key] for key in ("errors", "failures", "other_failures", "outputs")}, told


def between(told):
    """Returns how many collectives and messages there are among GPUs of both machines, and how many
    of them NCCL carries out."""
    both = [each for each in told["communicators"]
            if len({name.startswith("node[1]") for name in each["members"]}) == 2]
    return (sum(each["collectives"] + each["messages"] for each in both),
            sum(each["by_nccl"] for each in both))


def together(m):
    """Collectives between machines, and what GPUs send each other, are NCCL's where all ranks would
    have it so, and else go by messages; with the results, states and errors of CPU threads."""
    np.save(m.folder / "in_ragged.npy", RAGGED["x"])
    eight = ",".join(map(str, range(1, 9)))
    for graph, flags in (("collected", [f"x=[{eight}]", "-n", "4"]),
                         ("ragged", [f"x={m.folder}/in_ragged.npy", "--input", "length=77",
                                     "-n", "3"]),
                         ("ragged", [f"x={m.folder}/in_ragged.npy", "--input", "length=0"]),
                         ("around", ["x=[5]", "-n", "4"]),
                         ("dynamic", [f"x={m.folder}/in_ragged.npy", "--input", "length=77"]),
                         ("refused_elsewhere", ["x=[1,3,2,3,4]", "--batch", "x"]),
                         ("refused_together", ["x=[1,3,2,3,4]", "--batch", "x"])):
        line = ["--graph", graph, "--json", "-q", "--input", *flags]
        cores = m.run(0, small(m), *line, "--device-map", "gpu[*]=cpu:0,node[1].gpu[*]=cpu:0")
        expected, _ = told_of(m, cores, graph)
        if graph.startswith("refused"):
            expect(expected["errors"] == 1, f"what is refused: {expected}")
        for kind in ("devices=2,seed=2,protect=0", FAST, "devices=2,seed=4,peers=0,protect=0"):
            emulate(kind)
            for theirs, nccl in ((None, True), (NO_NCCL, False)):
                of_rank_1 = {} if theirs is None else {"CGRAPH_EMULATED_NCCL": theirs}
                done = apart(m, small(m), [*line, "--require-gpu", "--timeout", "30"],
                             **of_rank_1)
                got, told = told_of(m, done, graph)
                what = f"{graph} {flags} ({kind}, {'NCCL' if nccl else 'none at one rank'})"
                expect(got == expected, f"{what}: {got}, not {expected}", done.stderr)
                of_both, by_nccl = between(told)
                expect(of_both > 0 and by_nccl == (of_both if nccl else 0),
                       f"{what}: NCCL carries out {by_nccl} of {of_both}")
    emulate("devices=2,seed=1,protect=0")
    done = m.run(2, small(m), "--graph", "collected", "--input", f"x=[{eight}]", "-v")
    expect(re.search(r"\d+ collectives? of gpu\[0\], .*node\[1\].*: \d+ by NCCL 2\.", done.stderr),
           "-v says who carries collectives out", done.stderr)
    done = m.run(2, small(m), "--graph", "around", "--input", "x=[5]", "-v")
    expect(re.search(r"(?m)^\d+ messages? of gpu\[\d\], .*: \d+ by NCCL 2\.", done.stderr),
           "-v counts messages apart from collectives", done.stderr)


def no_start(m):
    """NCCL that fails at one rank while communicators are made ends the load with its error; a
    rank that dies then is named."""
    emulate(FAST)
    line = ["--graph", "collected", "--input", "x=[1,2,3,4,5,6,7,8]", "--timeout", "20", "-q"]
    done = apart(m, small(m), line, CGRAPH_EMULATED_NCCL="fail=1")
    expect(done.returncode != 0 and len(errors(done)) == 1 and
           re.search(r"node\[1\] \(process \d+ on \S+\): .*NCCL reports", done.stderr),
           "NCCL fails at a rank", done.stderr)


def absent(m):
    """GPUs at one machine alone: the others' gpus are CPU threads, which is said once."""
    emulate(FAST)
    nowhere = {"LD_LIBRARY_PATH": m.cgrun.parent}
    line = ["--graph", "other", "--input", "x=[5]", "--timeout", "30"]
    note = "cgrun: note: node[1].gpu[1], node[1].gpu[3] run on CPU threads: the machine " \
           "of rank 1 (process "
    done = apart(m, small(m), line, **nowhere)
    expect(done.returncode == 0 and "16" in done.stdout and said(done).startswith(note) and
           said(done).count("note:") == 1, "GPUs at one machine", done.stderr)
    done = apart(m, small(m), [*line, "-q"], **nowhere)
    expect(done.returncode == 0 and done.stderr == "", "-q", done.stderr)
    done = apart(m, small(m), [*line, "--require-gpu"], **nowhere)
    expect(done.returncode == 3 and len(errors(done)) == 1 and
           "node[1].gpu[1], node[1].gpu[3] would run on CPU threads: the machine of rank 1 "
           "(process " in done.stderr and "or leave out --require-gpu" in done.stderr,
           "--require-gpu", done.stderr)
    done = apart(m, small(m), [*line, "--device-map", "node[1].gpu[*]=cuda:0"], **nowhere)
    expect(done.returncode == 3 and re.search(
        r"node\[1\]\.gpu\[\*\]=cuda:0: the machine of rank 1 \(process \d+ on \S+\): there is no "
        "NVIDIA driver", done.stderr), "whose machine it is", done.stderr)
    # Both kinds in collectives and channels.
    for graph, value in (("around", "[5]"), ("collected", "[1,2,3,4,5,6,7,8]")):
        line = ["--graph", graph, "--input", f"x={value}", "-n", "5", "-q"]
        mixed = apart(m, small(m), line, **nowhere)
        alone = m.run(0, small(m), *line, "--device-map", "gpu[*]=cpu:0,node[1].gpu[*]=cpu:0")
        expect(mixed.returncode == 0 and mixed.stdout == alone.stdout, f"{graph} on both kinds",
               f"{mixed.stdout}{mixed.stderr}\n{alone.stdout}")


def failures(m):
    """A method that fails on a GPU of another machine is the execution's error."""
    emulate(FAST)
    np.save(m.folder / "in_x.npy", np.array([1, 2, 3, 4]))
    for graph in ("refused", "refused_elsewhere", "refused_by_mpi"):
        flags = ["--graph", graph, "--input", f"x={m.folder}/in_x.npy", "--batch", "x"]
        cores = ["--device-map", "gpu[*]=cpu:0,node[1].gpu[*]=cpu:0"]
        told = [m.run(0, small(m), *flags, *cores), m.run(2, small(m), *flags, "--require-gpu")]
        expect([done.returncode for done in told] == [1, 1] and errors(told[0]) != [] and
               errors(told[0]) == errors(told[1]), f"the error of {graph}",
               f"{told[0].stderr}\n{told[1].stderr}")


def broken(m):
    """A kernel that never ends, and a GPU that fails, at the other machine."""
    emulate(FAST)
    line = ["--graph", "around", "--input", "x=[5]", "-n", "3", "--timeout"]
    done = apart(m, small(m), [*line, "2"], CGRAPH_EMULATION=FAST + ",endless=9")
    expect(done.returncode != 0 and "nothing has moved for 2 s" in done.stderr and
           "\nnode[1].gpu[" in done.stderr and "is running" in done.stderr, "an endless kernel",
           done.stderr)
    failed = 0
    for call in (120, 200, 280, 360):
        done = apart(m, small(m), [*line, "20"],
                     CGRAPH_EMULATION=FAST + f",fail={call}:sticky")
        if done.returncode == 0:
            continue
        failed += 1
        # While NCCL connects GPUs, its error is what is said, of the node.
        expect(len(errors(done)) == 1 and "node[1]" in done.stderr, f"call {call} fails",
               done.stderr)
    expect(failed > 0, "no call of the driver fails")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--libraries", required=True)
    mpirun.add_option(parser)
    parser.add_argument("--only", action="append", default=[], help="parts, instead of all")
    options = parser.parse_args()
    os.environ["LD_LIBRARY_PATH"] = options.libraries
    with tempfile.TemporaryDirectory() as name:
        m = machines_test.Machines(options, pathlib.Path(name))
        parts = [results, together, no_start, on_gpus, few, absent, failures, broken]
        if options.only:
            parts = [part for part in (*parts, few_results) if part.__name__ in options.only]
        for part in parts:
            part(m)
            print(f"{part.__name__}: ok", flush=True)
    print(f"{expectations.checks} checks, {m.runs} runs")


if __name__ == "__main__":
    main()

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
import sys
import tempfile

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import expectations  # noqa: E402
import machines_test  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402
from machines_test import CASES, EIGHT, FIVE, errors  # noqa: E402

# In one channel work begins in the order of issue; GPUs that do not reach each other's memory.
KINDS = ["devices=4,seed=1,channels=1", "devices=4,seed=2,channels=8", "devices=4,seed=3,peers=0"]


def emulate(options):
    os.environ["CGRAPH_EMULATION"] = options


def results(m):
    """Every graph on GPUs of one kind; some on GPUs of the others, on three machines, too."""
    emulate(KINDS[0])
    for graph, inputs, flags in CASES:
        m.same(2, m.plan(), graph, inputs, *flags)
    for kind in KINDS[1:]:
        emulate(kind)
        for graph, inputs, flags in CASES:
            if graph in ("state_of_all", "dynamic", "collected", "members_beside"):
                m.same(2, m.plan(), graph, inputs, *flags)
    m.same(3, m.plan("NODES=3", "N=7"), "collected", {"x": EIGHT}, "-n", "5")
    m.same(2, m.plan(), "around", {"x": np.arange(20)}, "--batch", "x", "--no-capture")


def on_gpus(m):
    """The gpus of each node are the GPUs of its machine, one to one."""
    emulate(KINDS[0])
    told = json.loads(m.run(2, m.plan(), "--graph", "other", "--input", "x=[5]", "--json",
                            "--require-gpu").stdout)
    expect([(gpu["device"], gpu["gpu"]) for gpu in told["gpus"]] ==
           [("gpu[0]", "cuda:0"), ("gpu[2]", "cuda:1")], f"the GPUs of rank 0: {told}")
    trace = m.folder / "trace.json"
    done = m.run(2, m.plan(), "--graph", "around", "--input", "x=[5]", "--trace", trace,
                 "--require-gpu")
    expect(done.returncode == 0 and done.stderr == "", "a trace", done.stderr)
    tracks = [event["args"]["name"] for event in json.loads(trace.read_text())["traceEvents"]
              if event["name"] == "thread_name"]
    expect(any("node[1].gpu[1]" in track for track in tracks), f"the tracks are {tracks}")


def few(m):
    """Fewer GPUs than gpus are an error, with a map that mends it."""
    emulate("devices=1,seed=1")
    line = ["--graph", "other", "--input", "x=[5]"]
    done = m.run(2, m.plan(), *line)
    expect(done.returncode == 3 and len(errors(done)) == 1, f"exit code {done.returncode}",
           done.stderr)
    expect("2 gpus on node[0]" in done.stderr and "the machine of rank 0 has 1" in done.stderr,
           "too few GPUs", done.stderr)
    mends = ["--device-map", "gpu[*]=cuda:0,node[1].gpu[*]=cuda:0"]
    done = m.run(2, m.plan(), *line, "--require-gpu", *mends)
    expect(done.returncode == 0 and "16" in done.stdout and done.stderr == "", "the map",
           done.stderr)
    done = m.run(2, m.plan(), *line, "--device-map", "gpu[*]=cuda:0,node[1].gpu[*]=cpu:0")
    expect(done.returncode == 0 and "16" in done.stdout and done.stderr == "", "a map to a core",
           done.stderr)
    done = m.run(2, m.plan(), *line, *mends, "--device-map", "node[1].gpu[1]=cuda:3")
    expect(done.returncode == 3 and "the machine of rank 1 (process " in done.stderr and
           "has 1 GPU, cuda:0" in done.stderr, "a GPU that is not there", done.stderr)


def apart(m, plan, flags, **of_rank_1):
    """Runs two ranks, of which the second has another environment."""
    command = [str(m.cgrun), str(plan), *map(str, flags)]
    words = [f"{name}={value}" for name, value in of_rank_1.items()]
    line = [m.mpi.launcher, "-n", "1", *command, ":", "-n", "1", "env", *words, *command]
    m.runs += 1
    return m.mpi.run(2, command, line=line)


def absent(m):
    """GPUs at one machine alone: the others' gpus are CPU threads, which is said once."""
    emulate("devices=2,seed=1")
    nowhere = {"LD_LIBRARY_PATH": m.cgrun.parent}
    line = ["--graph", "other", "--input", "x=[5]", "--timeout", "30"]
    note = "cgrun: note: node[1].gpu[1], node[1].gpu[3] run on CPU threads: there is no NVIDIA"
    done = apart(m, m.plan(), line, **nowhere)
    expect(done.returncode == 0 and "16" in done.stdout and done.stderr.startswith(note) and
           done.stderr.count("note:") == 1, "GPUs at one machine", done.stderr)
    done = apart(m, m.plan(), [*line, "-q"], **nowhere)
    expect(done.returncode == 0 and done.stderr == "", "-q", done.stderr)
    done = apart(m, m.plan(), [*line, "--require-gpu"], **nowhere)
    expect(done.returncode == 3 and len(errors(done)) == 1 and
           "node[1].gpu[1], node[1].gpu[3] would run on CPU threads: the machine of rank 1 "
           "(process " in done.stderr and "or leave out --require-gpu" in done.stderr,
           "--require-gpu", done.stderr)
    # Both kinds in collectives and channels.
    for graph, value in (("around", "[5]"), ("collected", "[1,2,3,4,5,6,7,8]")):
        line = ["--graph", graph, "--input", f"x={value}", "-n", "5", "-q"]
        mixed = apart(m, m.plan(), line, **nowhere)
        alone = m.run(0, m.plan(), *line, "--device-map", "gpu[*]=cpu:0,node[1].gpu[*]=cpu:0")
        expect(mixed.returncode == 0 and mixed.stdout == alone.stdout, f"{graph} on both kinds",
               f"{mixed.stdout}{mixed.stderr}\n{alone.stdout}")


def broken(m):
    """A kernel that never ends, and a GPU that fails, at the other machine."""
    emulate("devices=2,seed=1")
    line = ["--graph", "around", "--input", "x=[5]", "--timeout", "2", "-n", "3"]
    done = apart(m, m.plan(), line, CGRAPH_EMULATION="devices=2,seed=1,endless=9")
    expect(done.returncode != 0 and "nothing has moved for 2 s" in done.stderr and
           "\nnode[1].gpu[" in done.stderr and "is running" in done.stderr, "an endless kernel",
           done.stderr)
    failed = 0
    for call in (120, 200, 280, 360):
        done = apart(m, m.plan(), [*line, "--timeout", "20"],
                     CGRAPH_EMULATION=f"devices=2,seed=1,fail={call}:sticky")
        if done.returncode == 0:
            continue
        failed += 1
        expect(len(errors(done)) == 1 and "node[1].gpu[" in done.stderr, f"call {call} fails",
               done.stderr)
    expect(failed > 0, "no call of the driver fails")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--libraries", required=True)
    mpirun.add_option(parser)
    options = parser.parse_args()
    os.environ["LD_LIBRARY_PATH"] = options.libraries
    with tempfile.TemporaryDirectory() as name:
        m = machines_test.Machines(options, pathlib.Path(name))
        for part in (results, on_gpus, few, absent, machines_test.failures, broken):
            part(m)
            print(f"{part.__name__}: ok", flush=True)
    print(f"{expectations.checks} checks, {m.runs} runs")


if __name__ == "__main__":
    main()

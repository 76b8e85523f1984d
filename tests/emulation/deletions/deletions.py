#!/usr/bin/python3
"""Leaves out one wait, signal, flag or record of the GPU runtime after another, and sees that a
test on emulated GPUs fails.

  deletions.py --check                        each text of table.py stands in its file once
  deletions.py --build build/deletions        tries all; builds each in a copy of the tree
  deletions.py --build ... --only "a stream"  those whose names contain the words

A try builds what runs plans, and runs tests until one fails. What no test notices is an error:
either a test lacks something, or the line does. It takes about half a minute a row on two cores, so
it is run by hand; the tests see only that the table fits the code.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

from table import DELETIONS

TREE = pathlib.Path(__file__).resolve().parents[3]
TARGETS = ["cgc", "cgrun", "cgraph_cuda", "cgraph_emulated_driver", "cgraph_emulated_nccl",
           "cgraph_emulated_nvrtc", "cgraph_emulated_cublaslt", "device_test", "kernels_cuda_test",
           "poisoned_products_test", "steady_state_emulated_test", "transport_test",
           "messages_test", "emulated_engine_test", "broken_queues_test", "endless_kernel_test",
           "cgraph_gpu_trial", "cgraph_trial"]
SECONDS = 240  # for one test: a run that hangs ends in a time-out of its own


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rows = [row for row in DELETIONS if options.only in row[0]]
    for name, file, old, new in rows:
        changed((TREE / file).read_text(), name, file, old, new)
    print(f"{len(rows)} deletions fit the code")
    if options.check:
        sys.exit(0 if len(rows) >= 30 or options.only else "FAILED: there are to be 30 at least")
    if options.build is None:
        parser.error("--check or --build is needed")
    build = options.build.resolve()
    if not try_row(build, None):
        sys.exit("FAILED: a test fails though nothing is left out")
    unnoticed = [row[0] for row in rows if not try_row(build, row)]
    if unnoticed:
        sys.exit("FAILED: no test notices: " + "; ".join(unnoticed))


def changed(text, name, file, old, new):
    """Returns the text with `new` for `old`, of which `...` stands for whatever is between."""
    begin, _, end = old.partition("...")
    if text.count(begin) != 1:
        sys.exit(f"FAILED: {name}: its text stands {text.count(begin)} times in {file}:\n{begin}")
    first = text.index(begin)
    last = text.index(end, first) + len(end) if end else first + len(begin)
    return text[:first] + new + text[last:]


def try_row(build, row):
    """Builds the tree without what the row names (None: with everything) and returns whether the
    tests say what they should."""
    copy = build / "tree"
    name = "nothing" if row is None else row[0]
    fill(copy, row)
    release = copy / "build/release"
    if not (release / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release", "-DCGRAPH_TESTS=ON", "-DCGRAPH_BENCH=OFF",
                        "-DCGRAPH_CUDA=ON", "-DCGRAPH_CUDA_ARCHITECTURES=90"], cwd=copy, check=True,
                       stdout=subprocess.DEVNULL)
    built = subprocess.run(["ninja", "-C", release, *TARGETS], capture_output=True, text=True)
    if built.returncode:
        sys.exit(f"FAILED: without {name}, the tree does not build:\n{built.stdout[-3000:]}")
    for what, command, environment in tests(copy, release):
        if not passes(command, environment):
            print(f"without {name}: {what} fails", flush=True)
            return row is not None
    print(f"without {name}: all tests pass", flush=True)
    return row is None


def fill(copy, row):
    """Makes `copy` the tree without what the row names. Only files that differ are written."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=TREE,
                            check=True, capture_output=True, text=True).stdout
    for file in filter(None, listed.split("\0")):
        if not (TREE / file).is_file():
            continue
        content = (TREE / file).read_bytes()
        if row is not None and file == row[1]:
            content = changed(content.decode(), *row).encode()
        target = copy / file
        if target.exists() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod((TREE / file).stat().st_mode)


def tests(copy, release):
    libraries = f"{release}/emulated:{release}"
    common = ["--cgc", release / "cgc", "--cgrun", release / "cgrun"]
    python = shutil.which("python3", path="/usr/bin") or sys.executable
    on_gpus = {"LD_LIBRARY_PATH": libraries}
    for seed in (1, 2, 3):
        yield (f"the device suite, seed {seed}", [release / "tests/device_test", "-w", "NoTests"],
               on_gpus | {"CGRAPH_EMULATION": f"seed={seed}"})
    yield ("the steady state", [release / "tests/steady_state_emulated_test"],
           on_gpus | {"CGRAPH_EMULATION": "devices=4,seed=6"})
    yield ("random graphs", [python, copy / "tests/property/random_graphs.py", *common,
                             "--emulated", libraries, "--graphs", "300"], {})
    for seed in (1, 2):
        yield (f"examples, seed {seed}", [python, copy / "tests/examples/examples_test.py",
                                          *common],
               on_gpus | {"CGRAPH_EMULATION": f"devices=4,seed={seed}"})
    yield ("kernels", [release / "tests/kernels_cuda/kernels_cuda_test"], {})
    emulation = copy / "tests/emulation"
    yield "collectives by NCCL", [python, emulation / "nccl_test.py", *common, "--libraries",
                                  libraries], {}
    yield "methods in native code", [python, copy / "tests/native/gpu_test.py", *common,
                                     "--libraries", libraries, "--folder", release / "tests",
                                     "--softmax", release / "examples/libsoftmax.so"], {}
    yield "poisoned products", [release / "tests/poisoned_products_test"], on_gpus | {
        "CGRAPH_EMULATION": "seed=1", "CGRAPH_EMULATED_CUBLASLT": "seed=2"}
    yield "ends of communications", [release / "tests/transport_test", "-w", "NoTests"], {}
    yield "ends between machines", [release / "tests/messages_test"], {}
    yield "the engine", [release / "tests/emulated_engine_test"], on_gpus | {
        "CGRAPH_EMULATION": "devices=2"}
    yield "broken queues", [release / "tests/broken_queues_test"], on_gpus | {
        "CGRAPH_EMULATION": "devices=4", "CGRAPH_EMULATED_NCCL": "memory=none,abort=10"}
    yield "NCCL and a kernel that never ends", [release / "tests/endless_kernel_test", "[.nccl]"], \
        on_gpus | {"CGRAPH_EMULATION": "devices=2,endless=4"}
    yield "a kernel that never ends", [release / "tests/endless_kernel_test"], on_gpus | {
        "CGRAPH_EMULATION": "devices=2,endless=4"}
    for first in (1, 2):
        yield "failing calls", [python, emulation / "failing_calls_test.py", *common,
                                "--libraries", libraries, "--every", "5", "--first",
                                str(first)], {}


def passes(command, environment):
    try:
        done = subprocess.run([str(part) for part in command], env=dict(os.environ, **environment),
                              capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    main()

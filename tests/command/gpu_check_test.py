#!/usr/bin/python3
"""scripts/gpu-check where things go wrong: programs that fail, die or hang, results that differ, a
machine without a GPU. Its programs are scripts here, in a kit of their own; that it passes where
all is well is what the test gpu_check shows, on the emulation.
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "scripts")]
import expectations  # noqa: E402
from expectations import expect, says  # noqa: E402
from gpu_check import npy  # noqa: E402
from gpu_check.benchmarks import BENCHMARKS  # noqa: E402
from gpu_check.machine import Machine  # noqa: E402
from gpu_check.report import Report  # noqa: E402

KERNELS = """#!/bin/sh
case "$1" in
  --list-test-names-only) printf 'good\\nwrong\\ndead\\nempty\\nhangs\\n' ;;
  good) echo 'All tests passed (12 assertions in 1 test case)' ;;
  wrong)
    printf 'x_test.cpp:7: FAILED:\\n  CHECK( a == b )\\nwith expansion:\\n  1 == 2\\n'
    exit 1 ;;
  dead) kill -SEGV $$ ;;
  empty) echo 'No tests ran' ;;
  hangs) sleep 1000 & echo $! > "$HUNG"; wait ;;
  'softmax*') echo 'All tests passed (3 assertions in 1 test case)' ;;
esac
"""
CGRUN = """#!/bin/sh
[ "$1" = --devices ] && echo "$LISTED" && exit 0
case "$*" in *--warmup*)  # the first run is the longest, as nothing is warm
  echo '{"executions_per_second": 2000, "latency_ns": {"p50": 1050000}}'; exit 0 ;;
esac
echo 'cgrun: error: no such kernel' >&2
exit 1
"""
PROBE = """#!/bin/sh
echo "$*" >> "$HUNG.groups"
echo '{"launches_8_graph": 1000000.0, "copy_268435456": 1000.0}'
"""
# Says what it was called with, and ends as $SANITIZED says.
SANITIZER = """#!/bin/sh
echo "$*" >> "$HUNG.sanitizer"
while [ "${1#--}" != "$1" ]; do shift 2; done
"$@" || exit $?
[ "$SANITIZED" = silent ] || echo '========= ERROR SUMMARY: 0 errors'
[ "$SANITIZED" != 99 ] || exit 99
"""


class Kit:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "kit"
        (self.folder / "bin").mkdir(parents=True)
        for name in ("gpu-check", "gpu_check"):
            source = ROOT / "scripts" / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, self.folder / name)
        run = {"graph": "g", "words": [], "outputs": [], "expected": {}, "repeat": 1, "status": 0}
        plans = {"one": {"plan": "p.cgplan", "gpus": [0], "runs": [run]}}
        (self.folder / "manifest.json").write_text(json.dumps(
            {"commit": "c", "version": "v", "plans": plans, "benchmarks": {}}))
        for name, text in {"kernels_gpu_test": KERNELS, "cgrun": CGRUN, "gpu_probe": PROBE,
                           "compute-sanitizer": SANITIZER}.items():
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)

    def file(self, name):
        return self.folder / f"hung.{name}"

    def check(self, *words, listed="cuda:0  A GPU", seconds=60, **settings):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, self.folder / "gpu-check", "--report", report, "--seconds",
             str(seconds), *words], capture_output=True, text=True, timeout=100, check=False,
            env={**os.environ, "LISTED": listed, "HUNG": str(self.folder / "hung"),
                 "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", **settings})
        told = json.loads(report.read_text())
        return done.returncode, {each["name"]: each for each in told["checks"]}, told


def differences(folder):
    def differ(got, expected):
        arrays = []
        for i, value in enumerate((got, expected)):
            np.save(folder / f"{i}.npy", value)
            arrays.append(npy.Array(folder / f"{i}.npy"))
        return npy.difference(*arrays)

    x = np.linspace(-3, 3, 100, dtype=np.float32).reshape(4, 25)
    for dtype in (np.float16, np.float32, np.float64, np.int64, np.int32, np.int8, np.uint8, bool):
        expect(differ(x.astype(dtype), x.astype(dtype)) == "", f"{dtype}: equal arrays differ")
        wrong = x.astype(dtype).copy()
        wrong[2, 3] = not wrong[2, 3]
        expect(differ(wrong, x.astype(dtype)) != "", f"{dtype}: no difference is seen")
    expect(differ(x * np.float32(1 + 1e-6), x) == "", "rounding is a difference")
    says(differ(x * np.float32(1.01), x), "element 0 is -3.0", "on the CPU")
    expect(differ(np.where(x > 0, np.nan, x), np.where(x > 0, np.nan, x) * np.float32(1)) == "",
           "NaN where NaN is expected")
    for special in (math.nan, math.inf):
        wrong = x.copy()
        wrong[0, 0] = special
        expect(differ(wrong, x) != "" and differ(x, wrong) != "", f"{special} goes unseen")
    says(differ(x, x.reshape(25, 4)), "[4, 25]", "[25, 4]")
    says(differ(x, x.astype(np.float64)), "f4", "f8")
    expect(differ(np.float32(2), np.float32(2)) == "" and differ(np.float32(2), np.float32(3)),
           "single numbers")


def killed(kit):
    """What hangs is killed, with what it has started."""
    machine = Machine(kit.folder, seconds=60)
    start = time.monotonic()
    done = machine.run("sh", "-c", "sleep 1000 & echo $!; wait", limit=1)
    expect(time.monotonic() - start < 10, "a hung command is waited for")
    says(done.problem(), "it hung, and was killed after 1 s")
    for _ in range(100):  # until the system has taken it away
        try:
            runs = pathlib.Path(f"/proc/{int(done.out)}/cmdline").read_text() != ""
        except OSError:
            runs = False
        if not runs:
            break
        time.sleep(0.05)
    else:
        expect(False, "what a hung command had started still runs")


def reported(kit):
    status, checks, told = kit.check("--only", "kernels", seconds=9)
    expect(status == 1 and told["passed"] is False and told["emulated"] is False, told)
    expect(checks["devices"]["status"] == "pass", checks["devices"])
    expect(checks["kernels: good"]["status"] == "pass", checks)
    for name, words in {"wrong": ["x_test.cpp:7", "1 == 2"], "dead": ["died of signal 11"],
                        "empty": ["no assertion"], "hangs": ["it hung"]}.items():
        expect(checks[f"kernels: {name}"]["status"] == "fail", f"{name} passes")
        says(checks[f"kernels: {name}"]["reason"], *words)
    status, checks, told = kit.check("--only", "examples")
    expect(status == 1 and checks["example one"]["status"] == "fail", checks)
    says(checks["example one"]["reason"], "captured", "no such kernel")
    status, checks, told = kit.check("--only", "conformance")  # a program that is not in the kit
    expect(status == 1, checks)
    says(checks["conformance"]["reason"], "the kit has no bin/device_test")
    status, checks, told = kit.check("--only", "collectives")
    expect(status == 0 and checks["several GPUs"]["status"] == "skipped", checks)
    for listed, verdict, words in (("", "skipped", "cgrun lists no NCCL"),
                                   ("NCCL  none: not found", "skipped", "not found"),
                                   ("NCCL  2.28.9", "skipped", "2.30 or newer takes two"),
                                   ("NCCL  2.30.7", "fail", "NCCL made no communicator in 0 runs")):
        status, checks, told = kit.check("--only", "collectives",
                                         listed=f"cuda:0  A GPU\n{listed}")
        expect(checks["NCCL on one GPU"]["status"] == verdict, checks)
        says(checks["NCCL on one GPU"]["reason"], words)


def sanitized(kit):
    """Its flags, and what becomes of its exit code and of what it says."""
    only = ("--only", "sanitizer")
    status, checks, _ = kit.check(*only)
    expect(checks["memcheck of softmax*"]["status"] == "pass", checks)
    for kind in ("memcheck", "synccheck", "racecheck"):  # no case of the other name
        says(checks[f"{kind} of the gradients of layer_norm"]["reason"], "no case")
    expect(status == 1, checks)
    for line in kit.file("sanitizer").read_text().splitlines():
        says(line, "--tool ", "--error-exitcode 99", "--target-processes all",
             "--report-api-errors no")
    for how, words in (("99", "exit code 99"), ("silent", "no summary")):
        _, checks, _ = kit.check(*only, SANITIZED=how)
        expect(checks["racecheck of softmax*"]["status"] == "fail", f"{how} passes")
        says(checks["racecheck of softmax*"]["reason"], words)


def measured(kit):
    """Figures beside their anchors, in as many rounds, and whether they reach their aims."""
    manifest = kit.folder / "manifest.json"
    told = json.loads(manifest.read_text())
    one = told["plans"]["one"]
    names = ["8 small kernels, captured", "softmax f32, 256 MiB"]
    manifest.write_text(json.dumps(told | {"benchmarks": {name: one for name in names}}))
    status, checks, report = kit.check("--only", "measure")
    expect(status == 0 and checks["figures of launches"]["status"] == "pass", checks)
    figures = {each["name"]: each for each in report["numbers"]}
    first = figures[names[0]]
    expect(abs(first["ratio"] - 1.05) < 1e-9 and first["reached"] is True, first)
    expect(first["anchor"] == "launches_8_graph" and first["value"] == 1050, first)
    # 512 MiB in half a millisecond, and the anchor's in a microsecond.
    second = figures[names[1]]
    expect(second["unit"] == "GB/s" and second["reached"] is False, second)
    expect(abs(second["ratio"] - 1 / 500) < 1e-6, second)
    rounds = kit.file("groups").read_text().split()
    expect(rounds.count("launches") == 3 and rounds.count("nccl") == 6, rounds)
    manifest.write_text(json.dumps(told))
    status, checks, _ = kit.check("--only", "simulations")
    expect(checks["simulated against measured"]["status"] == "skipped", checks)


def pytorch():
    """The program that measures PyTorch runs by itself: no module beside it hides Python's."""
    done = subprocess.run([sys.executable, ROOT / "scripts/gpu_check/torch_models.py", "--look"],
                          capture_output=True, text=True, timeout=60, check=False)
    expect(done.returncode == 0 and "PyTorch" in done.stdout, done)


def anchors():
    """What a figure is compared with is a figure of its group; else its ratio would be left out."""
    for each in BENCHMARKS:
        group = {other.name for other in BENCHMARKS if other.group == each.group}
        for anchor in each.anchors:
            for name in anchor.names:
                expect(not name.startswith("=") or name[1:] in group, (each.name, name))


def tables():
    """An aim is at most, at least, or either way, by what is compared."""
    report = Report(False)
    for at_least, ratio, both, reached in ((False, 1.1, False, True), (False, 1.3, False, False),
                                           (False, 0.5, False, True), (False, 0.5, True, False),
                                           (False, 1.1, True, True), (True, 1.1, False, False),
                                           (True, 1.3, False, True)):
        report.compare("x", 1, "us", "y", 2, ratio, 1.2, at_least, both)
        expect(report.numbers[-1]["reached"] is reached, (at_least, ratio, both))
        expect(("missed" in report.table().splitlines()[-1]) is not reached, report.table())
    report.number("alone", 3, "us")
    says(report.table().splitlines()[-1], "alone", "3 us", "–")


def packing(kit):
    """A kit that cannot be written is a sentence, before anything is made."""
    for name, words in (("kit.zip", "ends in .tar.zst or .tar.gz"), ("no/k.tar.gz", "no folder"),
                        ("k.tar.gz/", "a folder")):
        path = kit.folder / name
        if name.endswith("/"):
            path.mkdir()
        done = subprocess.run([sys.executable, ROOT / "scripts" / "gpu-check", "--pack", path],
                              capture_output=True, text=True, timeout=60, check=False)
        expect(done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr)
        says(done.stderr, "gpu-check: --pack ", words)


def no_gpu(kit):
    status, checks, told = kit.check(
        listed="cpu:0\nno GPU can be used: there is no NVIDIA driver\ninstall one")
    expect(status == 1 and list(checks) == ["devices"], checks)
    says(checks["devices"]["reason"], "there is no NVIDIA driver; install one")
    manifest = kit.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"glibc": "9.99"}))
    status, checks, told = kit.check()
    expect(status == 1, checks)
    says(checks["what the machine needs"]["reason"], "glibc 9.99")


def main():
    with tempfile.TemporaryDirectory() as folder:
        differences(pathlib.Path(folder))
        pytorch()
        kit = Kit(folder)
        killed(kit)
        reported(kit)
        sanitized(kit)
        measured(kit)
        tables()
        anchors()
        packing(kit)
        no_gpu(kit)
    expect(expectations.checks > 45, f"only {expectations.checks} checks")
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

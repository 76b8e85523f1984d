#!/usr/bin/python3
"""Matrix products on an emulated GPU that has the emulated cuBLASLt, against NumPy: the cases and
tolerances of tests/kernels/numpy_test.py.

  products_test.py --cgc build/release/cgc --cgrun build/release/cgrun \\
      --libraries build/release/emulated:build/release

For some shapes the library has no algorithm, as its seed decides; those, and all products where the
library does not do, are computed by our own kernels.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "kernels"))
import numpy_test  # noqa: E402

REPORT = re.compile(r"emulated cuBLASLt: (\d+) products by (\d+) algorithms, (\d+) shapes without "
                    r"one, (\d+) handles and (\d+) descriptions left")
FLOATS = 4 * 14 * 4 + 2 * 4  # cases: dtypes, shapes, transposes; the large ones
# Of these the library is not even asked: nothing to add up or no result, and batches that broadcast
# in part.
LEFT_OUT = 4 * 3 * 4


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        cases = numpy_test.Cases()
        numpy_test.matmuls(cases)
        self.cases = [c for c in cases.all if c.dtype in numpy_test.FLOATS]
        expect(len(self.cases) == FLOATS, f"{len(self.cases)} cases")
        self.small = [c for c in self.cases if max(c.expected.shape) <= 33][::7]
        self.failures = []

    def compile(self, cases, name):
        text, self.inputs = numpy_test.program(cases)
        (self.folder / f"{name}.cgraph").write_text(text.replace("cpu[0]", "gpu[0]"))
        subprocess.run([self.options.cgc, "compile", f"{name}.cgraph", "-o", f"{name}.cgplan"],
                       cwd=self.folder, check=True, timeout=120, stdout=subprocess.DEVNULL)
        for key, array in self.inputs.items():
            np.save(self.folder / f"{key}.npy",
                    np.ascontiguousarray(array).reshape(array.shape))

    def run(self, name, count, library, *flags, emulation="seed=1", code=0):
        """Returns the results, and the report of the library or None where it had no part."""
        line = [self.options.cgrun, f"{name}.cgplan", "-q", "--require-gpu", "--timeout", "100",
                *flags]
        for number in range(count):
            line += ["--output", f"r{number}=r{number}.npy"]
        for key in self.inputs:
            line += ["--input", f"{key}={key}.npy"]
        environment = dict(os.environ, LD_LIBRARY_PATH=self.options.libraries,
                           CGRAPH_EMULATION=emulation, CGRAPH_EMULATED_CUBLASLT=library)
        done = subprocess.run(line, cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=120, check=False)
        expect(done.returncode == code, f"exits with {done.returncode}: {done.stderr}")
        if code != 0:
            return done.stderr
        report = REPORT.search(done.stderr)
        return ([np.load(self.folder / f"r{number}.npy") for number in range(count)],
                report and [int(number) for number in report.groups()])

    def compare(self, cases, results, what):
        for case, got in zip(cases, results):
            wrong = numpy_test.difference(case, got)
            if wrong:
                shapes = ", ".join(str(x.shape) for x in case.inputs)
                self.failures.append(f"{what}: {case.dtype} {shapes}: {case.expression}: {wrong}")


def expect(holds, message):
    if not holds:
        sys.exit(f"FAILED: {message}")


def same(some, others):
    return all(a.tobytes() == b.tobytes() for a, b in zip(some, others))


def by_library(bench):
    """All shapes, by the library where it has an algorithm; the same bits again, uncaptured too."""
    bench.compile(bench.cases, "all")
    first, report = bench.run("all", FLOATS, "report=1", emulation="seed=1")
    bench.compare(bench.cases, first, "by the library")
    products, chosen, refused, handles, descriptions = report
    expect(chosen > 40 and refused > 4 and products >= chosen, f"the library: {report}")
    expect(chosen + refused == FLOATS - LEFT_OUT, f"the library is asked once for each: {report}")
    expect(handles == 0 and descriptions == 0, f"what was made is destroyed: {report}")
    for flags, emulation in (((), "seed=2"), (("--no-capture",), "seed=3,thread=3")):
        again, _ = bench.run("all", FLOATS, "report=1", *flags, emulation=emulation)
        expect(same(first, again), f"the bits differ with {flags} and {emulation}")
    return FLOATS


def by_own_kernels(bench):
    """Where the library is too old, or does not start, the results are those of our kernels."""
    cases = bench.small
    expect(len(cases) > 10, f"{len(cases)} cases")
    bench.compile(cases, "small")
    old, report = bench.run("small", len(cases), "report=1,version=110400")
    expect(report == [0, 0, 0, 0, 0], f"an old library is used: {report}")
    bench.compare(cases, old, "by our kernels")
    refused, report = bench.run("small", len(cases), "report=1,refuses=1")
    expect(report == [0, 0, 0, 0, 0], f"a library that does not start is used: {report}")
    expect(same(old, refused), "our own kernels give other bits")
    library, report = bench.run("small", len(cases), "report=1,seed=5")
    expect(report[0] > 0, "the library computes nothing")
    bench.compare(cases, library, "by the library, with other algorithms")
    return 3 * len(cases)


def failing(bench):
    """A product that the library fails to launch is an error that names it."""
    for flags in ((), ("--no-capture",)):
        error = bench.run("small", len(bench.small), "fail=2", *flags, code=1)
        expect("CUDA_ERROR_LAUNCH_FAILED" in error, error)
    return 2


def listed(bench):
    """cgrun --devices says what the library is, or what is wrong with it."""
    for version, text in ((130100, "cuBLASLt  13.1.0\n"),
                          (110400, "cuBLASLt  none: libcublasLt.so.13 is of version 11.4, and 12.0 "
                                   "or newer is needed; it multiplies matrices\n  install "
                                   "cuBLAS, by `pip install nvidia-cublas")):
        environment = dict(os.environ, LD_LIBRARY_PATH=bench.options.libraries,
                           CGRAPH_EMULATED_CUBLASLT=f"version={version}")
        done = subprocess.run([bench.options.cgrun, "--devices"], env=environment, check=True,
                              capture_output=True, text=True)
        expect(text in done.stdout, done.stdout)
    return 2


def main():
    parser = argparse.ArgumentParser()
    for name in ("cgc", "cgrun"):
        parser.add_argument(f"--{name}", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--libraries", required=True)
    options = parser.parse_args()
    checked = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        for test in (by_library, by_own_kernels, failing, listed):
            checked += test(bench)
    print("\n".join(bench.failures[:40]), end="\n" if bench.failures else "")
    print(f"products: {checked} checked, {len(bench.failures)} failed")
    sys.exit(1 if bench.failures or checked == 0 else 0)


if __name__ == "__main__":
    main()

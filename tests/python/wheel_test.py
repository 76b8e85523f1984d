"""`pip install .` in a clean environment is enough: what it installs compiles, runs, has commands.

  wheel_test.py [--build-dir FOLDER] [--keep FOLDER]

Builds all of cgraph once more; in the folder of builds, what has not changed only once. Skipped,
loudly, where the environment lacks CGRAPH_WHEEL=1, and where pip cannot reach a registry of
packages.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import os, sys, tempfile
import cgraph
assert not cgraph.__file__.startswith({root!r}), cgraph.__file__
plan = cgraph.compile({digits!r})
with cgraph.Engine(plan) as engine:
    x = memoryview(bytes(64 * 64 * 4)).cast("f", (64, 64))
    assert len(engine.classify(x=x).label.tolist()) == 64
with cgraph.Engine(plan, processes="device") as engine:
    assert len(engine.classify(x=x).label.tolist()) == 64
assert os.path.exists(os.path.join(cgraph.include_dir(), "cgraph_extern.h"))
# Methods in Python need a library of the package's, in this process and in another.
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/echo_stage.py", "w") as file:
        file.write("def echo(x):\\n    return x\\n")
    plan = cgraph.compile('''import std.tensor
actor A() {{ method f(x: f32[2]) -> f32[2] = extern "python:echo_stage:echo" }}
place a[i in 0..2] = A() on cpu[i]
graph g(x: f32[2]) -> f32[2] {{ return a[1].f(a[0].f(x)) }}
''')
    for processes in (0, "device"):
        with cgraph.Engine(plan, libraries=[folder + "/echo_stage.py"],
                           processes=processes) as engine:
            assert engine.g(memoryview(bytes(8)).cast("f")).tolist() == [0, 0]
# It is the library in the package that cgc reads.
library = os.path.join(os.path.dirname(cgraph.__file__), "share/cgraph/stdlib/std/tensor.cgraph")
os.rename(library, library + ".away")
try:
    cgraph.compile({digits!r})
    sys.exit("compiled with another library")
except cgraph.CompileError as error:
    assert "tensor.cgraph" in str(error), error
os.rename(library + ".away", library)
print("used")
"""
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, env=OUTSIDE, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def is_offline(python, folder):
    """pip makes wheels in environments of its own, so what is installed does not count."""
    done = subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                           "nanobind"], capture_output=True, text=True, check=False, env=OUTSIDE)
    return done.returncode != 0


def has_nvcc():
    return subprocess.run(["cmake", "-P", ROOT / "runtime/device/cuda/toolkit.cmake"],
                          capture_output=True, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", help="where the build stays for the next time")
    parser.add_argument("--keep", help="a folder for the wheel")
    options = parser.parse_args()
    if os.environ.get("CGRAPH_WHEEL") != "1":
        print("SKIPPED: no wheel was built, which takes minutes; CGRAPH_WHEEL=1 builds one")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        if is_offline(python, folder / "download"):
            print("SKIPPED: no wheel was built: pip cannot fetch nanobind")
            sys.exit(77)
        wheels = pathlib.Path(options.keep) if options.keep else folder / "wheels"
        start = time.monotonic()
        where = [f"--config-settings=build-dir={options.build_dir}"] if options.build_dir else []
        run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, *where, ROOT)
        built = time.monotonic() - start
        wheel, = wheels.glob("cgraph-*.whl")
        # Plans run on GPUs where CUDA's compiler was there.
        assert ("cgraph/lib/libcgraph_cuda.so" in zipfile.ZipFile(wheel).namelist()) == has_nvcc()
        start = time.monotonic()
        run(python, "-m", "pip", "install", "-q", wheel)
        installed = time.monotonic() - start
        digits = folder / "digits"
        shutil.copytree(ROOT / "examples" / "digits", digits)
        program = PROGRAM.format(root=str(ROOT), digits=str(digits / "digits.cgraph"))
        assert run(python, "-c", program, cwd=folder) == "used\n"
        for command in ("cgc", "cgrun"):
            assert run(folder / "venv" / "bin" / command, "--version").startswith(command)
        times = [float(run(python, "-c", "import time; t = time.perf_counter(); import cgraph; "
                           "print(time.perf_counter() - t)", cwd=folder)) for _ in range(7)]
        print(f"wheel: built in {built:.0f} s, {wheel.stat().st_size / 1e6:.1f} MB, installed in "
              f"{installed:.1f} s; import {sorted(times)[3] * 1e3:.1f} ms (the fastest "
              f"{min(times) * 1e3:.1f})")


if __name__ == "__main__":
    main()

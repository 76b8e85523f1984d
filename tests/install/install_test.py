#!/usr/bin/python3
"""An installation by `cmake --install` is enough: the commands compile and run a program with the
library that stands beside them, and a C++ program of its own finds the engine. Of headers the
public ones are installed, each of which compiles alone, and no other.

  tests/install/install_test.py --build BUILD
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EMBED = ROOT / "examples" / "embed"


def run(*command, status=0, says=""):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if done.returncode != status or says not in done.stdout:
        sys.exit(f"{command}: exit code {done.returncode}, expected {status} and `{says}`\n"
                 f"{done.stdout}")
    return done.stdout


def commands(prefix, folder):
    """Returns how many things were tried."""
    shutil.copy(ROOT / "examples" / "counter.cgraph", folder / "counter.cgraph")
    plan = folder / "counter.cgplan"
    run(prefix / "bin" / "cgc", "compile", folder / "counter.cgraph", "-o", plan)
    run(prefix / "bin" / "cgrun", plan, "--graph", "round", "--input", "x=5", says="= 110")
    # Of the source, too: cgrun has the cgc beside it.
    run(prefix / "bin" / "cgrun", folder / "counter.cgraph", "--graph", "round", "--input", "x=5",
        says="= 110")
    # It was the installed library that they read.
    library = prefix / "share" / "cgraph" / "stdlib" / "std" / "tensor.cgraph"
    os.rename(library, folder / "tensor.cgraph")
    run(prefix / "bin" / "cgc", "check", folder / "counter.cgraph", status=1, says="tensor.cgraph")
    os.rename(folder / "tensor.cgraph", library)
    return 4


HEADERS = {"cgraph/engine.h", "cgraph/options.def", "cgraph/status.h", "cgraph/tensor.h",
           "cgraph_extern.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def headers(prefix, folder):
    include = prefix / "include"
    found = {str(path.relative_to(include)) for path in include.rglob("*") if path.is_file()}
    if found != HEADERS:
        sys.exit(f"headers that are installed: {sorted(found)}, expected {sorted(HEADERS)}")
    for header in sorted(HEADERS):
        others = [name for name in INCLUDE.findall((include / header).read_text())
                  if name not in HEADERS and not re.fullmatch(r"[a-z_]+|stdint.h|dlpack/dlpack.h",
                                                              name)]
        if others:
            sys.exit(f"{header} includes {others}, which are neither public nor the language's")
        if header.endswith(".def"):
            continue
        source = folder / "alone.cpp"
        source.write_text(f"#include <{header}>\n")
        run("c++", "-std=c++20", "-fsyntax-only", f"-I{include}", source)
    return len(HEADERS)


def program(prefix, folder):
    run("cmake", "-G", "Ninja", "-S", EMBED, "-B", folder / "build",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    plan = folder / "embed.cgplan"
    run(prefix / "bin" / "cgc", "compile", EMBED / "counter.cgraph", "-o", plan)
    run(folder / "build" / "embed", plan, says="in the end: 15")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        run("cmake", "--install", options.build, "--prefix", prefix)
        tried = commands(prefix, folder) + headers(prefix, folder) + program(prefix, folder)
        cuda = pathlib.Path(options.build) / "libcgraph_cuda.so"
        if cuda.exists() and not (prefix / "lib" / cuda.name).exists():
            sys.exit(f"{cuda.name} is built and was not installed")
        leaks = [path for path in prefix.rglob("*.cmake") if str(ROOT) in path.read_text()]
        if leaks:
            sys.exit(f"what is installed names the sources: {leaks}")
    print(f"install: {tried} uses of what was installed")


if __name__ == "__main__":
    main()

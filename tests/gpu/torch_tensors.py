#!/usr/bin/env python3
"""PyTorch's tensors on a GPU, in and out of an engine, and what that takes.

  torch_tensors.py --package build/release/python [--torch PYTHON]

Runs in a Python that has PyTorch with CUDA, and for which the package was built: in PYTHON, where
that is there. Ends with 77 where there is none, or no GPU. CuPy's and JAX's arrays are tried where
these are installed.

  torch_tensors.py --package build/release/python --pack FOLDER [--build build/release]

writes what a machine without a compiler needs: this script and torch_methods.py, the package with
its libraries, which may be built for another Python than the commands of BUILD, and compiled plans.
There:

  LD_LIBRARY_PATH=FOLDER/lib python3 FOLDER/torch_tensors.py   and torch_methods.py
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import torch_methods

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "emulation/engine/handover.cgraph"
SIZES = {"small": 1 << 12, "large": 1 << 24}
ON_FIRST = {"gpu[0]": "cuda:0", "gpu[1]": "cuda:0"}
SKIPPED = 77
BUSY = 100_000_000  # cycles of a GPU: some 50 ms


def compile_plans(cgraph):
    return {name: cgraph.compile(PROGRAM, defines={"N": n}) for name, n in SIZES.items()}


def check(right, what):
    if not right:
        sys.exit(f"torch_tensors: {what}")


class Inputs:
    """Tensors on the GPU are read there, whoever reads them, behind what makes them."""

    def __init__(self, torch, engine, n):
        self.torch, self.engine, self.n = torch, engine, n

    def on_the_gpu(self):
        x = self.torch.randn(self.n, device="cuda")
        for graph in (self.engine.twice, self.engine.with_host, self.engine.on_both):
            for turn in range(3):
                results = graph(x)
                for one in results if isinstance(results, tuple) else [results]:
                    on_host = self.torch.from_dlpack(one)
                    check(on_host.device.type == "cpu", "a result is not on the host")
                    check(self.torch.equal(on_host, 2 * x.cpu()),
                          f"{graph.name} is wrong in turn {turn}")
        few = self.torch.arange(4, device="cuda", dtype=self.torch.float32)
        check(self.engine.four(few).tolist() == [0, 2, 4, 6], "a small input is wrong")
        part = x[10:50]
        check(self.torch.equal(self.torch.from_dlpack(self.engine.twice(part)), 2 * part.cpu()),
              "a slice is wrong")
        pinned = x.cpu().pin_memory()
        check(self.torch.equal(self.torch.from_dlpack(self.engine.twice(pinned)), 2 * pinned),
              "pinned memory is wrong")

    def behind_their_producers(self):
        torch = self.torch
        for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
            for graph in ("twice", "with_host"):
                x = torch.full((self.n,), -1.0, device="cuda")
                numbers = torch.arange(self.n, device="cuda", dtype=torch.float32)
                for _ in range(2):  # nothing is loaded or allocated later
                    torch.cuda._sleep(1)
                    x.copy_(-numbers)
                torch.cuda.synchronize()
                with torch.cuda.stream(stream):
                    torch.cuda._sleep(BUSY)
                    x.copy_(numbers)
                    busy = not stream.query()
                    result = getattr(self.engine, graph)(x)
                check(busy, "the producer was over too soon to tell anything")
                result = torch.from_dlpack(result if graph == "twice" else result.gpu)
                check(torch.equal(result, 2.0 * torch.arange(self.n)),
                      f"{graph} has read its input too early, on {stream}")

    def refused(self, cgraph):
        for x, words in ((self.torch.zeros(8, device="cuda").double(), "f64"),
                         (self.torch.zeros(8, 8, device="cuda").t()[0], "one after the other")):
            try:
                self.engine.twice(x)
            except cgraph.InputError as error:
                check(words in str(error), f"refused with other words: {error}")
            else:
                check(False, f"a tensor was taken where `{words}` should be said")


class Results:
    """Results that stay on the GPU, which PyTorch reads there."""

    def __init__(self, torch, engine, n):
        self.torch, self.engine, self.n = torch, engine, n

    def stay(self):
        torch = self.torch
        x = torch.randn(self.n, device="cuda")
        y = torch.from_dlpack(self.engine.twice(x))
        check(y.is_cuda and torch.equal(y, 2 * x), "a result is wrong, or not on the GPU")
        z = torch.from_dlpack(self.engine.twice(y))
        check(torch.equal(z, 4 * x), "a result is wrong as an input")
        mixed = self.engine.with_host(x)
        check(mixed.gpu.device == "cuda:0" and mixed.cpu.device == "cpu", "results are elsewhere")
        check(torch.equal(torch.from_dlpack(mixed.cpu), 2 * x.cpu()), "the host's result is wrong")
        y.add_(1)  # it may be written

    def read_late(self):
        """What PyTorch reads later than it lets go is not written before."""
        torch = self.torch
        for _ in range(3):
            kept = []
            for first in range(4):
                y = torch.from_dlpack(self.engine.twice(torch.full((self.n,), float(first))))
                torch.cuda._sleep(BUSY // 10)
                kept.append(y.clone())
                del y
            for first, one in enumerate(kept):
                check(bool((one == 2.0 * first).all()), "a result was written while it was read")

    def take_no_more_memory(self):
        torch = self.torch
        x = torch.randn(self.n, device="cuda")
        for _ in range(10):
            x = torch.from_dlpack(self.engine.twice(x)) * 0.5
        torch.cuda.synchronize()
        free, _ = torch.cuda.mem_get_info()
        for _ in range(300):
            x = torch.from_dlpack(self.engine.twice(x)) * 0.5
        torch.cuda.synchronize()
        check(torch.cuda.mem_get_info()[0] > free - (64 << 20), "calls take more and more memory")


def cupy_array(engine, n):
    import cupy
    x = cupy.arange(n, dtype=cupy.float32)
    return bool((cupy.from_dlpack(engine.twice(x)) == 2 * x).all())


def jax_array(engine, n):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # it would take most of the GPU's memory
    import jax.numpy
    x = jax.numpy.arange(n, dtype=jax.numpy.float32)
    return bool((jax.dlpack.from_dlpack(engine.twice(x)) == 2 * x).all())


def try_others(engine, n):
    """Arrays of CuPy's and JAX's, in and out. Returns whether all that are installed are right."""
    well = True
    for tried in (cupy_array, jax_array):
        try:
            right = tried(engine, n)
            said = "right" if right else "WRONG"
        except ImportError as error:
            right, said = True, f"not tried: {error}"
        except Exception as error:  # of whatever library: the others are tried all the same
            right, said = False, f"WRONG: {error!r}"
        print(f"{tried.__name__}: {said}", flush=True)
        well &= right
    return well


def median(run, rounds=50):
    for _ in range(5):
        run()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        run()
        taken.append(time.perf_counter_ns() - start)
    return statistics.median(taken) / 1e3


def measure(torch, host, device, n, name):
    """Microseconds of a call with a tensor of PyTorch's on the GPU, whose result it has there."""
    x = torch.randn(n, device="cuda")

    def by_host():
        y = torch.from_dlpack(host.twice(x.cpu())).cuda()
        torch.cuda.synchronize()
        return y

    def direct():
        y = torch.from_dlpack(device.twice(x)) * 1
        torch.cuda.synchronize()
        return y

    def alone():
        y = (x + x) * 1
        torch.cuda.synchronize()
        return y

    for what, run in (("by the host's memory", by_host), ("on the GPU", direct),
                      ("PyTorch alone", alone)):
        print(f"{name}, {4 * n} bytes, {what}: {median(run):.1f} us")


# Of the system, which the machine has; the driver's are NVIDIA's.
SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cuda)\.so.*|linux-vdso.*)$")


def pack(package, folder, build):
    """Writes a folder that needs nothing but Python with PyTorch, and a driver."""
    source, made = pathlib.Path(package, "cgraph"), folder / "package" / "cgraph"
    shutil.copytree(source, made, ignore=shutil.ignore_patterns("bin", "lib", "__pycache__"))
    for below in (made / "bin", made / "lib", folder / "lib", folder / "plans"):
        below.mkdir()
    shutil.copy2(build / "cgrun", made / "bin")
    for library in ("libcgraph_cuda.so", "libcgraph_python.so"):
        shutil.copy2(build / library, made / "lib")
    here = pathlib.Path(__file__).resolve().parent
    for name in ("torch_tensors.py", "torch_methods.py", "torch_stages.py"):
        shutil.copy2(here / name, folder)
    for binary in [*made.glob("_runtime*.so"), made / "bin/cgrun", *made.glob("lib/*.so")]:
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        for name, path in re.findall(r"(\S+) => (/\S+)", listed):
            if not SYSTEM.match(name):
                shutil.copy2(pathlib.Path(path).resolve(), folder / "lib" / name)
        subprocess.run(["strip", "--strip-unneeded", binary], check=True)
    for name, n in SIZES.items():
        subprocess.run([build / "cgc", "compile", "-q", PROGRAM, "-D", f"N={n}", "-o",
                        folder / "plans" / f"{name}.cgplan"], check=True)
    (folder / "methods.cgraph").write_text(torch_methods.PROGRAM)
    subprocess.run([build / "cgc", "compile", "-q", folder / "methods.cgraph", "-o",
                    folder / "plans/methods.cgplan"], check=True)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default=str(here / "package"))
    parser.add_argument("--torch", help="a Python")
    parser.add_argument("--pack", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    options = parser.parse_args()
    if options.pack:
        return pack(options.package, options.pack, options.build)
    if options.torch and os.path.exists(options.torch):
        os.execv(options.torch, [options.torch, __file__, "--package", options.package])
    return check_all(here / "plans", options.package)


def check_all(saved, package):
    sys.path.insert(0, package)
    try:
        import torch
        import cgraph
    except ImportError as error:
        print(f"torch_tensors: skipped: {error}")
        return SKIPPED
    if not torch.cuda.is_available():
        print(f"torch_tensors: skipped: no GPU for PyTorch {torch.__version__}")
        return SKIPPED
    plans = ({name: cgraph.load(saved / f"{name}.cgplan") for name in SIZES} if saved.is_dir() else
             compile_plans(cgraph))
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    for name, plan in plans.items():
        n = SIZES[name]
        with cgraph.Engine(plan, require_gpus=True, device_map=ON_FIRST) as host, \
                cgraph.Engine(plan, require_gpus=True, device_map=ON_FIRST,
                              results="device") as device:
            inputs, results = Inputs(torch, host, n), Results(torch, device, n)
            for test in (inputs.on_the_gpu, inputs.behind_their_producers, results.stay,
                         results.read_late, results.take_no_more_memory):
                test()
                print(f"{name}: {test.__name__}: right", flush=True)
            inputs.refused(cgraph)
            measure(torch, host, device, n, name)
            if name == "small":
                well = try_others(device, n)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

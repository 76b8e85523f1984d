"""Makes a kit: what a machine with a GPU needs for the check, in one folder.

bin/    the programs and libcgraph_cuda.so
lib/    what they link or open, where the machine may lack it
plans/  a folder each: the plan, inputs, and the outputs that the CPU computes
manifest.json  what is there, and of which state of the sources
"""
import json
import pathlib
import re
import shutil
import subprocess

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {"cgrun": "cgrun", "cgc": "cgc", "libcgraph_cuda.so": "libcgraph_cuda.so",
            "device_test": "tests/device_test",
            "kernels_gpu_test": "tests/kernels_cuda/kernels_gpu_test",
            "gpu_probe": "gpu_probe"}
TARGETS = ("cgc cgrun cgraph_cuda device_test kernels_gpu_test gpu_probe cgraph_softmax "
           "cgraph_python_methods")
# Opened by name, so ldd does not list them.
OPENED = ("libopenblas.so.0", "libdnnl.so.2", "libgomp.so.1", "libgfortran.so.5",
          "libquadmath.so.0")
# Of the system's C library, which must be that of the machine.
SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv)\.so\..*|linux-vdso.*)$")
GCC = ("libstdc++", "libgcc_s")  # used only where the machine has older ones
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64,
          "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}
INTEGER_END = 10  # random integers are below: rows, labels, tokens; every example has as many


def fail(sentence):
    raise SystemExit(f"gpu-check: {sentence}")


def call(*words, status=(0,)):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode not in status:
        fail(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done


def programs(kit, build, copied):
    (kit / "bin").mkdir(parents=True)
    shutil.copytree(ROOT / "stdlib", kit / "share" / "cgraph" / "stdlib")  # for cgc
    for name, path in PROGRAMS.items():
        source = (build / path).resolve()
        if not source.exists():
            fail(f"{source} is not built: ninja -C {build} {TARGETS}")
        shutil.copy2(source, kit / "bin" / name)
        if copied:
            call("strip", "--strip-unneeded", kit / "bin" / name)


def libraries(kit):
    (kit / "lib" / "gcc").mkdir(parents=True, exist_ok=True)
    wanted = {}
    for program in (kit / "bin").iterdir():
        wanted |= dict(re.findall(r"(\S+) => (/\S+)", call("ldd", program).stdout))
    known = dict(re.findall(r"(\S+) \([^)]*\) => (/\S+)", call("/sbin/ldconfig", "-p").stdout))
    for name in OPENED:
        if name in known:
            wanted[name] = known[name]
            wanted |= dict(re.findall(r"(\S+) => (/\S+)", call("ldd", known[name]).stdout))
    for name, path in wanted.items():
        if not SYSTEM.match(name) and not name.startswith("libcuda.so"):
            folder = kit / "lib" / "gcc" if name.startswith(GCC) else kit / "lib"
            shutil.copy2(pathlib.Path(path).resolve(), folder / name)


def newest_symbols(kit):
    """The newest version of the C library that the check needs, as "2.34"; it goes on without cgc,
    and without the C++ library of the kit."""
    versions = set()
    programs = [path for path in (kit / "bin").iterdir() if path.name != "cgc"]
    for path in [*programs, *(kit / "lib").glob("*.so*")]:
        versions |= set(re.findall(r"GLIBC_(\d+\.\d+)", call("objdump", "-T", path).stdout))
    return max(versions, key=lambda text: tuple(map(int, text.split("."))))


class PlanMaker:
    def __init__(self, kit, build):
        self.kit, self.random = kit, np.random.default_rng(11)
        self.cgc, self.cgrun = build / "cgc", build / "cgrun"

    def add(self, name, source, flags=(), graphs=None, repeat=2, expected=True, special=None,
            library=None):
        """Compiles a program; its entry in the manifest. `special` maps a graph to flags of cgrun
        that stand for its inputs. `library`: with its methods, on a CPU and on a GPU."""
        folder = self.kit / "plans" / name
        folder.mkdir(parents=True)
        plan = folder / "plan.cgplan"
        call(self.cgc, "compile", "-q", source, "-o", plan, *flags)
        told = json.loads(call(self.cgc, "plan", "--json", plan).stdout)
        gpus = [device["index"] for device in told["devices"] if device["kind"] == "gpu"]
        entry = {"plan": str(plan.relative_to(self.kit)), "gpus": gpus, "runs": []}
        found = told.get("graphs", [])
        if graphs is None:
            found = found[::-(-len(found) // MOST_GRAPHS) or 1]
        for graph in found:
            if graphs is None or graph["name"] in graphs:
                run = self.run_of(folder, graph, expected,
                                  (special or {}).get(graph["name"]))
                run["repeat"] = repeat
                if library is not None:
                    run["words"] += ["--lib", str(library.relative_to(self.kit))]
                if expected:
                    self.expect(entry, run, folder)
                entry["runs"].append(run)
        if not entry["runs"]:
            fail(f"{source} has no graph {graphs}")
        return entry

    def run_of(self, folder, graph, expected, special):
        run = {"graph": graph["name"], "words": [], "outputs": [], "expected": {}}
        for name in (output["name"] for output in graph.get("outputs", [])):
            run["outputs"].append(name)
        if special is not None:
            run["words"] = special(folder)
            return run
        for i, port in enumerate(graph.get("inputs", [])):
            value = graph["values"][port["value"]]
            dims = []
            for dim in graph.get("dims", [])[value["first_dim"]:][:value["rank"]]:
                symbol = dim["symbol"]
                bounded = symbol < len(graph.get("symbols", []))
                dims.append(max(1, dim["extent"], graph["symbols"][symbol]["bound"])
                            if bounded else dim["extent"])
            path = folder / f"{graph['name']}_in{i}.npy"
            # What is only measured is not worth its bytes in a packed kit.
            numbers = self.numbers(value["dtype"], dims) if expected else np.zeros(
                dims, DTYPES[value["dtype"]])
            np.save(path, numbers)
            run["words"] += ["--input", f"{port['name']}={path.relative_to(self.kit)}"]
        return run

    def numbers(self, dtype, dims):
        if dtype.startswith(("i", "u")):
            return self.random.integers(0, INTEGER_END, dims).astype(DTYPES[dtype])
        if dtype == "bool":
            return self.random.integers(0, 2, dims).astype(bool)
        return self.random.standard_normal(dims).astype(DTYPES.get(dtype, np.float32))

    def expect(self, entry, run, folder):
        """What the CPU computes, by the same command that the check runs."""
        outputs = []
        for i, name in enumerate(run["outputs"]):
            path = folder / f"{run['graph']}_out{i}.npy"
            run["expected"][name] = str(path.relative_to(self.kit))
            outputs += ["--output", f"{name}={path}"]
        on_cpu = ",".join(f"gpu[{i}]=cpu:0" for i in entry["gpus"])
        done = subprocess.run(
            [self.cgrun, self.kit / entry["plan"], "-q", "--graph", run["graph"], *run["words"],
             *outputs, "-n", str(run["repeat"]), *(["--device-map", on_cpu] if on_cpu else [])],
            cwd=self.kit, capture_output=True, text=True, timeout=300, check=False)
        run["status"] = done.returncode
        if done.returncode not in (0, 1):
            fail(f"{folder.name}, graph {run['graph']}, on the CPU: {done.stderr}")
        if done.returncode == 1:  # a program whose calls fail: so they must on a GPU
            run["expected"] = {}
            run["message"] = done.stderr.splitlines()[0].removeprefix("cgrun: error: ")


# Of tests/conformance, what has gpus. A graph of many that differ little: so many of them.
CONFORMANCE = ["collectives", "counter", "overlap", "rewrites_messages", "rewrites_relay"]
MOST_GRAPHS = 9
# Of the examples, what the emulation has time for.
EMULATED = ["counter", "digits_digits", "kv_decode", "mesh", "overlap", "pipeline_gpipe",
            "ping_pong_devices", "tensor_parallel_mlp", "two_towers", "two_way"]


# Folders of examples that a kit leaves out: a program that embeds the engine; what is made to be
# simulated, of which one takes 4 GB; weights that a script fetches; libraries and modules of
# methods, but for the one in CUDA.
LEFT_OUT = ("embed", "costs", "minilm", "native", "smollm2", "torch_actors")


def examples(emulated):
    """Names and paths."""
    for path in sorted((ROOT / "examples").rglob("*.cgraph")):
        name = "_".join(path.relative_to(ROOT / "examples").with_suffix("").parts)
        if path.name == "stages.cgraph" or path.parent.name in LEFT_OUT:
            continue
        if not emulated or name in EMULATED:
            yield name, path
    for name in [] if emulated else CONFORMANCE:
        yield f"conformance_{name}", ROOT / "tests" / "conformance" / f"{name}.cgraph"


def digits(folder):
    for name in ("digits.safetensors", "images.npy"):
        shutil.copy2(ROOT / "examples" / "digits" / name, folder / name)
    inside = folder.relative_to(folder.parents[1])
    return ["--weights", str(inside), "--batch", "x", "--input", f"x={inside / 'images.npy'}"]


def add_cuda_method(maker, plans, build):
    """The example whose method is a CUDA kernel. The emulation cannot run it: it lacks functions of
    the driver that CUDA's runtime library calls."""
    built = build / "examples" / "libsoftmax.so"
    if not built.exists():
        print(f"gpu-check: {built} is not built, so no method in CUDA is in the kit")
        return
    (maker.kit / "lib").mkdir(exist_ok=True)
    library = maker.kit / "lib" / built.name
    shutil.copy2(built, library)
    plans["native_on_gpu"] = maker.add(
        "native_on_gpu", ROOT / "examples" / "native" / "on_gpu.cgraph", repeat=3, library=library)


def training_inputs(folder):
    random = np.random.default_rng(12)
    for name, numbers in (("x", random.standard_normal((16, 8)).astype(np.float32)),
                          ("label", random.integers(0, 3, 16))):
        np.save(folder / f"{name}.npy", numbers)
    inside = folder.relative_to(folder.parents[1])
    return [word for name in ("x", "label") for word in ("--input", f"{name}={inside}/{name}.npy")]


def add_python_methods(maker, build, copied):
    """The entry of the example whose methods are those of PyTorch's modules, or None. What it
    should give is computed where it is checked, since PyTorch may be nowhere else."""
    built = build / "libcgraph_python.so"
    if not built.exists():
        print(f"gpu-check: {built} is not built, so no method in Python is in the kit")
        return None
    shutil.copy2(built, maker.kit / "bin" / built.name)
    if copied:
        call("strip", "--strip-unneeded", maker.kit / "bin" / built.name)
    folder = ROOT / "examples" / "torch_actors"
    (maker.kit / "lib").mkdir(exist_ok=True)
    library = maker.kit / "lib" / "stages.py"
    shutil.copy2(folder / library.name, library)
    return maker.add("torch_actors_on_gpu", folder / "on_gpu.cgraph", repeat=5, expected=False,
                     special={"step": training_inputs}, library=library)


def make_kit(kit, build, emulated, copied):
    """Fills `kit`, a new folder; small where it is for the emulation."""
    from gpu_check import benchmarks
    kit, build = pathlib.Path(kit), pathlib.Path(build)
    programs(kit, build, copied)
    maker = PlanMaker(kit, build)
    methods = add_python_methods(maker, build, copied)
    if copied:
        libraries(kit)
    plans = {}
    for name, path in examples(emulated):
        special = {"classify": digits} if name == "digits_digits" else None
        plans[name] = maker.add(name, path, special=special)
    if not emulated:
        add_cuda_method(maker, plans, build)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True,
                            text=True, check=False).stdout.strip()
    manifest = {"commit": commit, "version": call(kit / "bin/cgrun", "--version").stdout.strip(),
                "plans": plans, "benchmarks": benchmarks.make(maker, emulated),
                "python_methods": methods}
    if copied:
        manifest["glibc"] = newest_symbols(kit)
    (kit / "manifest.json").write_text(json.dumps(manifest, indent=1))
    return manifest

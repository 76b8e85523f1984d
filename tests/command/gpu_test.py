#!/usr/bin/python3
"""cgrun and the GPUs of a machine: what it says where there are none, which of them it gives to a
plan, what it says of a library or a driver that will not do.

The machine is a false one: a driver and a libcgraph_cuda.so that do nothing (fake_cuda/), beside a
copy of cgrun. The true libcgraph_cuda.so meets false drivers and the emulated one.

  gpu_test.py --cgc cgc --cgrun cgrun --fake-library SO --fake-driver SO [--library SO]
              [--emulated FOLDER]
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect, says  # noqa: E402

PROGRAM = """import std.tensor
actor A { method next(x: i64) -> i64 { return x + 1 } }
place c = A() on cpu[0]
place a[i in 0..3] = A() on gpu[i]
graph g(x: i64) -> i64 { return a[2].next(a[1].next(a[0].next(c.next(x)))) }
graph core(x: i64) -> i64 { return c.next(x) }
"""
INPUT = ["--graph", "g", "--input", "x=1"]


class Machine:
    """A folder with cgrun in bin/, to which a test adds libraries."""

    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        (self.folder / "bin").mkdir()
        shutil.copy(options.cgrun, self.folder / "bin" / "cgrun")
        (self.folder / "p.cgraph").write_text(PROGRAM)
        for name, flags in {"p": [], "core": ["--graph", "core"]}.items():
            subprocess.run([options.cgc, "compile", "-q", "p.cgraph", "-o", f"{name}.cgplan",
                            *flags], cwd=folder, check=True)
        self.environment = {key: value for key, value in os.environ.items()
                            if key not in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")}

    def add_driver(self):
        (self.folder / "driver").mkdir()
        shutil.copy(self.options.fake_driver, self.folder / "driver" / "libcuda.so.1")
        self.environment["LD_LIBRARY_PATH"] = str(self.folder / "driver")

    def add_library(self, path, where="bin"):
        (self.folder / where).mkdir(exist_ok=True)
        shutil.copy(path, self.folder / where / "libcgraph_cuda.so")

    def has_driver(self):
        """Whether the machine that this test runs on has a driver of its own."""
        return "no NVIDIA driver" not in self("--devices")[0]

    def __call__(self, *words, status=0, **settings):
        """Runs cgrun; (standard output, standard error)."""
        done = subprocess.run([self.folder / "bin" / "cgrun", *words], cwd=self.folder, text=True,
                              env={**self.environment, **settings}, capture_output=True,
                              timeout=60, check=False)
        expect(done.returncode == status, f"{words}: exit code {done.returncode}, not {status}\n"
               f"{done.stdout}{done.stderr}")
        return done.stdout, done.stderr


def without_driver(machine):
    """The usual machine: everything runs on the CPU, and it is said once why."""
    if machine.has_driver():
        return
    machine.add_library(machine.options.fake_library)  # not even looked at
    out, error = machine("--devices")
    says(out, "cpu:0", "core", "no GPU can be used: there is no NVIDIA driver on this machine",
         "install one of version 580")
    expect(error == "", error)
    out, error = machine("p.cgplan", *INPUT)
    expect(out == "result: i64 = 5\n", out)
    note = "cgrun: note: gpu[0], gpu[1], gpu[2] run on CPU threads: there is no NVIDIA driver on " \
           "this machine (libcuda.so.1 was not found)\n"
    expect(error == note, error)
    expect(machine("p.cgplan", *INPUT, "-q")[1] == "", "-q")
    expect(machine("core.cgplan", "--input", "x=1")[1] == "", "a plan without gpus")
    cores = "gpu[0]=cpu:0,gpu[1]=cpu:0,gpu[2]=cpu:0"
    expect(machine("p.cgplan", *INPUT, "--device-map", cores)[1] == "", "as the map says")
    _, error = machine("p.cgplan", *INPUT, "--device-map", "gpu[1]=cpu:0,gpu[2]=cpu:0")
    says(error, "note: gpu[0] runs on a CPU thread: ")
    says(machine("p.cgplan", *INPUT, "--device-map", "gpu[1]=cuda:0", status=3)[1],
         "--device-map gpu[1]=cuda:0: there is no NVIDIA driver")
    _, error = machine("p.cgplan", *INPUT, "--require-gpu", status=3)
    says(error, "error: gpu[0], gpu[1], gpu[2] would run on CPU threads: there is no NVIDIA driver",
         "install one of version 580 or newer, or leave out --require-gpu")
    says(machine("p.cgplan", *INPUT, "--require-gpu", "--device-map", cores, status=2)[1],
         "--require-gpu: --device-map puts gpu[0], gpu[1], gpu[2] on cores")
    machine("core.cgplan", "--input", "x=1", "--require-gpu")
    says(machine("p.cgplan", *INPUT, "--require-gpu", "--unproved", status=2)[1],
         "--unproved excludes --require-gpu")


def without_library(machine):
    machine.add_driver()
    for line in (machine("--devices")[0], machine("p.cgplan", *INPUT)[1]):
        says(line, "there is no libcgraph_cuda.so (looked for: ",
             f"{machine.folder.resolve()}/bin/libcgraph_cuda.so, ",
             f"{machine.folder.resolve()}/lib/libcgraph_cuda.so, LD_LIBRARY_PATH (")
    says(machine("--devices")[0], "scripts/cuda-toolkit")
    machine.add_library(__file__)
    says(machine("--devices")[0], "bin/libcgraph_cuda.so cannot be loaded")
    machine.add_library(machine.options.fake_library)
    says(machine("--devices", FAKE_MADE_BY="cgraph 7")[0],
         "bin/libcgraph_cuda.so is of another build: it is made for cgraph 7, interface ",
         ", and this is cgraph ", "install both from one build")
    (machine.folder / "bin" / "libcgraph_cuda.so").unlink()
    for where in ("lib", "driver"):  # an installation's, and where the loader looks
        machine.add_library(machine.options.fake_library, where)
        says(machine("--devices", FAKE_GPUS="1")[0], "cuda:0  NVIDIA Fake")
        (machine.folder / where / "libcgraph_cuda.so").unlink()


def listed(machine):
    machine.add_driver()
    machine.add_library(machine.options.fake_library)
    lines = machine("--devices", FAKE_GPUS="2")[0].splitlines()
    expect(lines[0].startswith("cpu:0") and "core" in lines[0], lines[0])
    expect(lines[1:] == ["cuda:0  NVIDIA Fake, 3 GiB, compute capability 9.0, PCI 0000:00:00.0",
                         "cuda:1  NVIDIA Fake, 3 GiB, compute capability 9.0, PCI 0000:01:00.0",
                         "NVIDIA driver  for CUDA 13.0", "cuBLASLt  13.1.0",
                         "NCCL  none: libnccl.so.2 was not found", "  install it"], lines)
    says(machine("--devices", FAKE_GPUS="1", FAKE_PROBLEM="it sulks\nwait")[0], "cuda:0",
         "no GPU can be used: it sulks\nwait\n")
    for words in (("--devices", "--json"), ("--json", "--devices")):
        told = json.loads(machine(*words, FAKE_GPUS="2")[0])
        expect(told["usable"] is True and told["problem"] is None and told["cores"] > 0, told)
        expect([gpu["device"] for gpu in told["gpus"]] == ["cuda:0", "cuda:1"], told)
        expect(told["gpus"][0]["name"] == "NVIDIA Fake" and
               told["gpus"][0]["memory_bytes"] == 3 << 30 and
               told["gpus"][0]["compute_capability"] == "9.0", told)
        expect(told["driver"] == "CUDA 13.0" and told["libraries"][1] == {
            "name": "NCCL", "version": None,
            "problem": "libnccl.so.2 was not found\ninstall it"}, told)
    for words in (["p.cgplan"], ["-n", "3"], ["-D", "A=1"], ["--discover", "x.cgraph"]):
        says(machine("--devices", *words, status=2)[1], "--devices")
    told = json.loads(machine("--devices", "--json", FAKE_PROBLEM="it sulks\nwait")[0])
    expect(told["usable"] is False and told["problem"] == "it sulks\nwait", told)


def given_to_plans(machine):
    """One to one in order, or as the map says."""
    machine.add_driver()
    machine.add_library(machine.options.fake_library)

    def gpus(*words, **settings):
        out, error = machine("p.cgplan", *INPUT, *words, **settings)
        expect(out == "result: i64 = 5\n", out)
        expect("note" not in error, error)
        return [line.removeprefix("fake: ") for line in error.splitlines()]

    in_order = ["gpu[0] is cuda:0", "gpu[1] is cuda:1", "gpu[2] is cuda:2"]
    for words in [(), ("--require-gpu",), ("-q",), ("--device-map", "cpu[0]=cpu:0")]:
        expect(gpus(*words, FAKE_GPUS="4") == in_order, words)
    several = "gpu[0]=cuda:1,gpu[2]=cuda:1"
    expect(gpus("--device-map", several, FAKE_GPUS="2") ==
           ["gpu[0] is cuda:1", "gpu[1] is cuda:1", "gpu[2] is cuda:1"], several)
    mixed = "gpu[0]=cpu:0,gpu[2]=cuda:0"
    expect(gpus("--device-map", mixed, FAKE_GPUS="2") ==
           ["gpu[1] is cuda:1", "gpu[2] is cuda:0"], mixed)
    says(machine("p.cgplan", *INPUT, "--device-map", mixed, "--require-gpu", status=2,
                 FAKE_GPUS="2")[1], "--device-map puts gpu[0] on cores")
    says(machine("p.cgplan", *INPUT, status=3, FAKE_GPUS="2")[1],
         "the plan has 3 gpus, and this machine has 2: no GPU is left for gpu[2]",
         "--device-map gpu[2]=cuda:0\n")
    _, error = machine("p.cgplan", *INPUT, "--device-map", "gpu[0]=cpu:0", status=3, FAKE_GPUS="1")
    says(error, "no GPU is left for gpu[1], gpu[2]; ")
    proposed = error.split("--device-map ")[1].strip()
    expect(gpus("--device-map", proposed, FAKE_GPUS="1") ==
           ["gpu[1] is cuda:0", "gpu[2] is cuda:0"], proposed)
    says(machine("p.cgplan", *INPUT, "--device-map", "gpu[0]=cuda:2", status=3,
                 FAKE_GPUS="2")[1], "this machine has 2 GPUs, cuda:0 to cuda:1")
    says(machine("p.cgplan", *INPUT, "--device-map", "gpu[0]=cuda:1", status=3,
                 FAKE_GPUS="1")[1], "this machine has 1 GPU, cuda:0")
    says(machine("p.cgplan", *INPUT, "--device-map", "cpu[0]=cuda:0", status=2,
                 FAKE_GPUS="1")[1], "cpu[0] is no gpu")
    says(machine("p.cgplan", *INPUT, status=1, FAKE_GPUS="3", FAKE_REFUSAL="too old")[1],
         "error: too old")
    _, error = machine("p.cgplan", *INPUT, FAKE_GPUS="3", FAKE_PROBLEM="it sulks\nwait")
    expect(error == "cgrun: note: gpu[0], gpu[1], gpu[2] run on CPU threads: it sulks\n", error)
    says(machine("p.cgplan", *INPUT, "--require-gpu", status=3, FAKE_GPUS="3",
                 FAKE_PROBLEM="it sulks\nwait")[1], "it sulks\nwait, or leave out --require-gpu")
    _, error = machine("p.cgplan", *INPUT, "-v", "--device-map", "cpu[0]=cpu:0," + several,
                       FAKE_GPUS="2")
    says(error, "2 workers,")  # one for the core, one for the GPU


def maps_that_add_up(machine):
    """All of a kind at once, several maps, and what contradicts itself or is mistyped."""
    machine.add_driver()
    machine.add_library(machine.options.fake_library)

    def gpus(*maps):
        words = [word for each in maps for word in ("--device-map", each)]
        _, error = machine("p.cgplan", *INPUT, *words, FAKE_GPUS="2")
        return [line.removeprefix("fake: ") for line in error.splitlines()]

    expect(gpus("gpu[*]=cuda:1") ==
           ["gpu[0] is cuda:1", "gpu[1] is cuda:1", "gpu[2] is cuda:1"], "gpu[*]")
    for maps in (["gpu[*]=cuda:0,gpu[2]=cuda:1"], ["gpu[2]=cuda:1", "gpu[*]=cuda:0"],
                 ["gpu[0]=cuda:0", "gpu[1]=cuda:0", "gpu[2]=cuda:1", "gpu[0]=cuda:0"]):
        expect(gpus(*maps) ==
               ["gpu[0] is cuda:0", "gpu[1] is cuda:0", "gpu[2] is cuda:1"], maps)

    def refused(*maps):
        words = [word for each in maps for word in ("--device-map", each)]
        return machine("p.cgplan", *INPUT, *words, status=2, FAKE_GPUS="2")[1]

    says(refused("gpu[0]=cuda:0", "gpu[0]=cuda:1"), "gpu[0]=cuda:0 and gpu[0]=cuda:1 contradict")
    says(refused("gpu[*]=cuda:0,gpu[*]=cuda:1"), "gpu[*]=cuda:0 and gpu[*]=cuda:1 contradict")
    for typo in ("gpu:0", "cuda0", "CUDA:0", "cuda[0]", "cud:0"):
        says(refused(f"gpu[0]={typo}"), f"`{typo}` is no physical device (did you mean `cuda:0`?)")
    says(refused("gpu0=cuda:0"), "no device `gpu0` (did you mean `gpu[0]`?)")
    says(refused("node[*]=cuda:0"), "no device `node[*]`")


def compiled_maps(machine):
    """A plan keeps which devices share a thread, for a machine that cgc does not know."""
    def compiled(*maps):
        words = [word for each in maps for word in ("--device-map", each)]
        return subprocess.run([machine.options.cgc, "compile", "-q", "p.cgraph", "-o", "m.cgplan",
                               *words], cwd=machine.folder, capture_output=True, text=True,
                              check=False)

    for maps in (["gpu[0]=cuda:900,gpu[1]=cuda:900,gpu[2]=cuda:3"],
                 ["gpu[0]=cuda:900", "gpu[1]=cuda:900", "gpu[2]=cuda:3"],
                 ["gpu[*]=cuda:900", "gpu[2]=cuda:3"]):
        expect(compiled(*maps).returncode == 0, maps)
        shown = subprocess.run([machine.options.cgc, "plan", "m.cgplan"], cwd=machine.folder,
                               capture_output=True, text=True, check=True).stdout
        says(shown, "plan format", "3 workers")  # a core, two GPUs
    for wrong in ("gpu[0]=cuda:", "gpu[0]=cuda:x", "gpu[0]=cuda:65536", "gpu[0]=gpu:0"):
        done = compiled(wrong)
        expect(done.returncode == 2 and "is no physical device" in done.stderr, done.stderr)
    done = compiled("gpu[0]=cuda:0", "gpu[1]=cuda:0", "gpu[0]=cuda:1")
    expect(done.returncode == 2, done.stderr)
    says(done.stderr, "--device-map gpu[0]=cuda:0 and gpu[0]=cuda:1 contradict each other")


def true_library(machine):
    """What is built for GPUs, on machines that lack something else."""
    if machine.options.library is None:
        return
    machine.add_library(machine.options.library)
    exported = subprocess.run(["nm", "-D", "--defined-only", machine.options.library],
                              capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in exported.splitlines()}
    expect(names == {"cgraph_cuda_table"}, names)
    machine.add_driver()
    says(machine("--devices", FAKE_DRIVER="11040")[0], "no GPU can be used: the NVIDIA driver on "
         "this machine is for CUDA 11.4, and CUDA 1", "install one of version")
    says(machine("--devices", FAKE_DRIVER="99000")[0],
         "the NVIDIA driver on this machine has no function cu", "install one of version")
    says(machine("--devices")[0], "has no function cuInit")
    _, error = machine("p.cgplan", *INPUT, FAKE_DRIVER="11040")
    says(error, "gpu[0], gpu[1], gpu[2] run on CPU threads: the NVIDIA driver on this machine is")


def emulated(machine):
    """The true library over the emulated driver: plans run there, by several maps."""
    if machine.options.library is None or machine.options.emulated is None:
        return
    machine.add_library(machine.options.library)
    machine.environment["LD_LIBRARY_PATH"] = machine.options.emulated
    out = machine("--devices", CGRAPH_EMULATION="devices=2")[0]
    says(out, "cuda:0  Emulated GPU, 1 GiB, compute capability 9.0, PCI 0000:", "cuda:1  Emulated",
         "NVIDIA driver  for CUDA 13.0", "cuBLASLt  ", "NVRTC  ", "NCCL  ")
    expect("no GPU can be used" not in out, out)
    for count, devices in [(3, "gpu[0]=cuda:2"), (1, "gpu[1]=cuda:0,gpu[2]=cuda:0"),
                           (2, "gpu[0]=cuda:1,gpu[1]=cuda:1,gpu[2]=cuda:0")]:
        out, error = machine("p.cgplan", *INPUT, "--require-gpu", "--device-map", devices,
                             CGRAPH_EMULATION=f"devices={count}")
        expect(out == "result: i64 = 5\n" and error == "", out + error)
    gpus_told(machine)
    old = {"CGRAPH_EMULATION": "devices=3,memops=0"}
    why = "the streams of cuda:0 cannot wait for words in memory"
    says(machine("--devices", **old)[0], "no GPU can be used: " + why, "use Linux itself")
    says(machine("p.cgplan", *INPUT, "--require-gpu", status=3, **old)[1], why)
    out, error = machine("p.cgplan", *INPUT, **old)
    expect(out == "result: i64 = 5\n", out)
    says(error, "run on CPU threads: " + why)
    too_old(machine)


def too_old(machine):
    """A GPU that no kernel runs on is as absent: the same exit code, and which is the oldest."""
    why = "cuda:0 (Emulated GPU) has compute capability 7.5, and the oldest that the kernels run " \
          "on is "
    mend = "use a newer GPU (`cgrun --devices` lists those of this machine, --device-map chooses)"
    old = {"CGRAPH_EMULATION": "devices=3,old=3"}
    says(machine("--devices", **old)[0], f"no GPU can be used: {why}", f"\n{mend}\n")
    says(machine("p.cgplan", *INPUT, "--require-gpu", status=3, **old)[1], why,
         f"{mend}, or leave out --require-gpu")
    says(machine("p.cgplan", *INPUT, **old)[1], "run on CPU threads: " + why)
    mixed = {"CGRAPH_EMULATION": "devices=2,old=1"}
    expect("no GPU can be used" not in machine("--devices", **mixed)[0], "one of two is too old")
    for words in ([], ["--require-gpu"]):
        says(machine("p.cgplan", *INPUT, "--device-map", "gpu[*]=cuda:0", *words, status=3,
                     **mixed)[1], why, f"\n{mend}\n")
    machine("p.cgplan", *INPUT, "--require-gpu", "--device-map", "gpu[*]=cuda:1", **mixed)


ALL_LIBRARIES = """import std.tensor
actor A() {
  state w: f32[16, 16] = ones()
  method f(x: f32[]) -> f32[16, 16] { return exp((matmul(w, w) + x) * w) }
}
place a[i in 0..2] = A() on gpu[i]
graph g(x: f32[]) -> [f32[16, 16]; 2] {
  return all_reduce([a[i].f(x) for i in 0..2], sum)
}
"""


def gpus_told(machine):
    """Which GPU each device got, who carried out collectives; what has taken memory."""
    (machine.folder / "all.cgraph").write_text(ALL_LIBRARIES)
    subprocess.run([machine.options.cgc, "compile", "-q", "all.cgraph", "-o", "all.cgplan"],
                   cwd=machine.folder, check=True)
    run = ("all.cgplan", "-q", "--input", "x=1", "--require-gpu")
    two = {"CGRAPH_EMULATION": "devices=2"}
    told = json.loads(machine(*run, "--json", **two)[0])
    expect(told["gpus"] == [{"device": f"gpu[{i}]", "gpu": f"cuda:{i}", "name": "Emulated GPU"}
                            for i in (0, 1)], told["gpus"])
    comm = {"members": ["gpu[0]", "gpu[1]"], "collectives": 1, "messages": 0, "by_nccl": 1,
            "nccl": "2.28.9"}
    expect(told["communicators"] == [comm], told["communicators"])
    expect(told["cuda_graphs"] > 0, told["cuda_graphs"])
    one = ("--device-map", "gpu[*]=cuda:1", "--no-capture")
    told = json.loads(machine(*run, *one, "--json", **two)[0])
    expect([gpu["gpu"] for gpu in told["gpus"]] == ["cuda:1", "cuda:1"], told["gpus"])
    expect(told["communicators"] == [comm | {"by_nccl": 0, "nccl": None}], told["communicators"])
    expect(told["cuda_graphs"] == 0, told["cuda_graphs"])
    says(machine(*run, "-v", **two)[1], "gpu[0] is cuda:0 (Emulated GPU, PCI 0000:",
         "1 collective of gpu[0], gpu[1]: 1 by NCCL 2.28.9, 0 by", "CUDA graph")
    says(machine(*run, *one, "-v", **two)[1], "gpu[1] is cuda:1 (", "0 by NCCL, 1 by copies",
         "no CUDA graphs")
    short = {"CGRAPH_EMULATION": "devices=1,memory=7000"}
    error = machine(*run, "--device-map", "gpu[*]=cuda:0", status=1, **short)[1]
    says(error, "the arenas of gpu[1] (1 KiB of states, ", " would take ",
         "KiB, and gpu[0], gpu[1] (cuda:0) has ", " of 6.8 KiB free; taken so far: ",
         " for the arenas of gpu[0] (1 KiB of states", "--inflight", "--device-map")


def absent_libraries(machine):
    """Of CUDA's libraries that are not installed: the names and the folders, and how to install."""
    if machine.options.library is None or machine.options.emulated is None:
        return
    machine.add_library(machine.options.library)
    folder, cgrun = machine.folder / "bin", machine.folder / "bin" / "cgrun"
    shutil.copy(pathlib.Path(machine.options.emulated) / "libcuda.so.1", folder)
    # The system may have the libraries. Its loader, called by name, can leave its cache out.
    loader = re.search(r"^\s*(/\S*/ld-linux\S*)", subprocess.run(
        ["ldd", cgrun], capture_output=True, text=True, check=True).stdout, re.M)[1]

    # A loader that was called by name is no loader to LeakSanitizer, which reports its memory.
    options = ":".join(filter(None, [machine.environment.get("ASAN_OPTIONS"), "detect_leaks=0"]))

    def devices(*words):
        return subprocess.run([loader, "--inhibit-cache", cgrun, "--devices", *words], text=True,
                              env={**machine.environment, "LD_LIBRARY_PATH": str(folder),
                                   "ASAN_OPTIONS": options},
                              capture_output=True, timeout=60, check=True).stdout

    wanted = {
        "cuBLASLt": ("neither libcublasLt.so.13 nor libcublasLt.so.12 was found",
                     "multiplies matrices", "nvidia-cublas"),
        "NVRTC": ("neither libnvrtc.so.13 nor libnvrtc.so.12 was found",
                  "compiles chains of elementwise operations into one kernel", "nvidia-cuda-nvrtc"),
        "NCCL": ("libnccl.so.2 was not found", "moves data between GPUs", "nvidia-nccl-cu1")}
    text, told = devices(), json.loads(devices("--json"))["libraries"]
    expect([library["name"] for library in told] == list(wanted), told)
    for library in told:
        if library["version"] is not None:
            continue  # the system has it where no cache is needed
        names, purpose, package = wanted[library["name"]]
        seen, mend = library["problem"].split("\n")
        expect(seen == f"{names} (looked for: LD_LIBRARY_PATH ({folder}), the system's folders); "
                       f"it {purpose}", seen)
        says(mend, "install ", f"`pip install {package}",
             "name its folder in LD_LIBRARY_PATH unless the loader looks there")
        says(text, f"{library['name']}  none: {seen}\n  {mend}\n")


def broken_libraries(machine):
    """Libraries that are there and broken: plans run, and each is warned of once, in the words
    of --devices. Of those that are not installed nothing is said."""
    if machine.options.library is None or machine.options.emulated is None:
        return
    machine.add_library(machine.options.library)
    (machine.folder / "all.cgraph").write_text(ALL_LIBRARIES)
    subprocess.run([machine.options.cgc, "compile", "-q", "all.cgraph", "-o", "all.cgplan"],
                   cwd=machine.folder, check=True)
    driver, broken = machine.folder / "only_driver", machine.folder / "broken"
    for folder in (driver, broken):
        folder.mkdir()
    shutil.copy(pathlib.Path(machine.options.emulated) / "libcuda.so.1", driver)
    run = ("all.cgplan", "--input", "x=1", "-n", "2", "--require-gpu")
    machine.environment.update(CGRAPH_EMULATION="devices=2")
    machine.environment["LD_LIBRARY_PATH"] = f"{broken}:{driver}"
    files = {"cuBLASLt": "libcublasLt.so.13", "NVRTC": "libnvrtc.so.13", "NCCL": "libnccl.so.2"}
    for file in files.values():
        (broken / file).write_text("no library")
    listed_now = machine("--devices")[0]
    error = machine(*run)[1]
    for name, file in files.items():
        reason = re.search(rf"^{name}  none: ({re.escape(file)} cannot be opened .*)$", listed_now,
                           re.M)
        expect(reason is not None, listed_now)
        expect(error.count(f"cgrun: note: {name} is not used: {reason[1]}\n") == 1, error)
    expect(error.count("note: ") == 3, error)
    expect(machine(*run, "-q")[1] == "", "-q")


TESTS = [without_driver, without_library, listed, given_to_plans, maps_that_add_up, compiled_maps,
         true_library, emulated, absent_libraries, broken_libraries]


def main():
    parser = argparse.ArgumentParser()
    for name in ("cgc", "cgrun", "fake-library", "fake-driver"):
        parser.add_argument(f"--{name}", required=True,
                            type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--library")
    parser.add_argument("--emulated", help="the folder of the emulated driver")
    options = parser.parse_args()
    for test in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            test(Machine(options, folder))
    expect(expectations.checks > 50, f"only {expectations.checks} checks")
    print(f"{len(TESTS)} tests, {expectations.checks} checks")


if __name__ == "__main__":
    main()

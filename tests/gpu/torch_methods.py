#!/usr/bin/env python3
"""PyTorch's modules as actors on a GPU: what they compute, in which order, and what a call takes.

  torch_methods.py --package build/release/python [--torch PYTHON] [--on-cpu]

Runs in a Python that has PyTorch with CUDA, and for which the package was built: in PYTHON, where
that is there. Ends with 77 where there is none, or no GPU. `--on-cpu` runs what needs none on CPU
threads, which tries this script. `torch_tensors.py --pack` packs it, too.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
WIDTH, ROWS = 64, 32
METHODS = ("forward", "into", "aside", "same", "on_host", "fail")
PROGRAM = "import std.tensor\nactor Stage(width: int, seed: int) {\n"
for name in METHODS:
    PROGRAM += f"""  method {name}(x: f32[n <= {ROWS}, width]) -> f32[n, width] =
      extern "python:torch_stages:Stage.{name}"
"""
PROGRAM += f"""  method turned(x: f32[{ROWS}, width]) -> f32[width, {ROWS}] =
      extern "python:torch_stages:Stage.turned"
  method step(x: f32[{ROWS}, width]) -> f32 = extern "python:torch_stages:Stage.step"
}}
actor Twice() {{ method up(x: f32[n <= {ROWS}, {WIDTH}]) -> f32[n, {WIDTH}] {{ return x * 2 }} }}
place stage[i in 0..2] = Stage({WIDTH}, i) on gpu[0]
place twice = Twice() on gpu[0]
graph turned(x: f32[{ROWS}, {WIDTH}]) -> f32[{WIDTH}, {ROWS}] {{ return stage[0].turned(x) }}
graph step(x: f32[{ROWS}, {WIDTH}]) -> f32 {{ return stage[1].step(x) }}
"""
for name in METHODS:
    PROGRAM += f"""graph {name}(x: f32[n <= {ROWS}, {WIDTH}]) -> f32[n, {WIDTH}] inflight 3 {{
  return twice.up(stage[0].{name}(twice.up(x)))
}}
"""
for calls in (1, 17):
    PROGRAM += f"""graph calls_{calls}(x: f32[n <= {ROWS}, {WIDTH}]) -> f32[n, {WIDTH}] {{
  var y = x
  for i in 0..{calls} {{ y = stage[0].same(y) }}
  return y
}}
"""


def check(right, what):
    if not right:
        sys.exit(f"torch_methods: {what}")


class Methods:
    def __init__(self, torch, cgraph, plan, device_map, device):
        self.torch, self.cgraph, self.plan, self.device = torch, cgraph, plan, device
        self.map = device_map
        self.engine = self.load()
        self.stage = sys.modules["torch_stages"].MADE[0]

    def load(self):
        return self.cgraph.Engine(self.plan, libraries=[HERE / "torch_stages.py"], timeout=120,
                                  require_gpus=self.device != "cpu", device_map=self.map)

    def batch(self, seed, rows=ROWS):
        return self.torch.randn(rows, WIDTH,
                                generator=self.torch.Generator().manual_seed(seed))

    def are_moved(self):
        found = {str(each.device) for each in self.stage.parameters()}
        check(found == {self.device}, f"the parameters are on {found}")

    def are_in_order(self):
        torch = self.torch
        for graph in ("forward", "into", "aside", "same"):
            futures = [getattr(self.engine, graph).submit(self.batch(seed, 1 + seed))
                       for seed in range(12)]
            for seed, future in enumerate(futures):
                x = self.batch(seed, 1 + seed).to(self.device)
                with torch.no_grad():
                    wanted = 2 * (2 * x if graph == "same" else self.stage.compute(2 * x))
                got = torch.from_dlpack(future.result())
                check(torch.allclose(got, wanted.cpu(), atol=1e-5), f"{graph} is wrong at {seed}")
        x = self.batch(1)
        check(torch.equal(torch.from_dlpack(self.engine.turned(x)), x.t()), "turned is wrong")

    def fail_well(self):
        for graph, said in (("fail", "ValueError: as asked"), ("on_host", "in the host's memory")):
            if graph == "on_host" and self.device == "cpu":
                continue
            try:
                getattr(self.engine, graph)(self.batch(1))
            except self.cgraph.ExecutionError as error:
                check(said in str(error), f"{graph} says {error}")
            else:
                check(False, f"{graph} succeeds")
        self.are_in_order()

    def learn_and_go_on(self):
        x = self.batch(1)
        first = self.engine.step(x).item()
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(4):
                self.engine.step(x)
            self.engine.save_state(f"{folder}/s.safetensors")
            wanted = [self.engine.step(x).item() for _ in range(3)]
            with self.load() as other:
                other.load_state(f"{folder}/s.safetensors")
                got = [other.step(x).item() for _ in range(3)]
        check(wanted[-1] < first, f"it does not learn: {first}, then {wanted}")
        check(self.torch.allclose(self.torch.tensor(got), self.torch.tensor(wanted)),
              f"it goes on with {got} for {wanted}")

    def measure(self):
        """Microseconds of a call more, of an execution that is one after the other."""
        x, medians = self.batch(1), {}
        for calls in (1, 17):
            graph, taken = getattr(self.engine, f"calls_{calls}"), []
            for _ in range(300):
                begun = time.perf_counter_ns()
                graph(x)
                taken.append(time.perf_counter_ns() - begun)
            medians[calls] = sorted(taken[50:])[125] / 1e3
        print(f"an execution with one call: {medians[1]:.1f} us; each call more: "
              f"{(medians[17] - medians[1]) / 16:.2f} us", flush=True)


def check_all(options):
    sys.path.insert(0, options.package)
    try:
        import torch
        import cgraph
    except ImportError as error:
        print(f"torch_methods: skipped: {error}")
        return SKIPPED
    if not options.on_cpu and not torch.cuda.is_available():
        print(f"torch_methods: skipped: no GPU for PyTorch {torch.__version__}")
        return SKIPPED
    saved = HERE / "plans" / "methods.cgplan"
    plan = cgraph.load(saved) if saved.exists() else cgraph.compile(PROGRAM)
    device = "cpu" if options.on_cpu else "cuda:0"
    where = torch.cuda.get_device_name() if device != "cpu" else "CPU threads"
    print(f"PyTorch {torch.__version__}, {where}")
    methods = Methods(torch, cgraph, plan, {"gpu[0]": "cpu:0" if options.on_cpu else "cuda:0"},
                      device)
    for test in (methods.are_moved, methods.are_in_order, methods.fail_well,
                 methods.learn_and_go_on):
        test()
        print(f"{test.__name__}: right", flush=True)
    methods.measure()
    methods.engine.close()
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default=str(HERE / "package"))
    parser.add_argument("--torch", help="a Python")
    parser.add_argument("--on-cpu", action="store_true")
    options = parser.parse_args()
    if options.torch and os.path.exists(options.torch):
        os.execv(options.torch, [options.torch, __file__, "--package", options.package,
                                 *(["--on-cpu"] if options.on_cpu else [])])
    return check_all(options)


if __name__ == "__main__":
    sys.exit(main())

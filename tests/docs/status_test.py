#!/usr/bin/python3
"""The table in docs/status.md is true: the commands are asked for each of its rows.

Each row of the table has a name in a comment, `<!-- status: NAME -->`, and a check of that name
here. A row without a check fails, and so does a check without a row. The list of ops that do not
exist, in docs/language.md, is compared with the library.

  status_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import listings

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| <!-- status: (\w+) -->", re.M)
GPU = "actor A { method f(x: f32[2]) -> f32[2] { return x } }\nplace a = A() on %s\n" \
      "graph g(x: f32[2]) -> f32[2] { return a.f(x) %s }\n"
ACCELERATORS = r"lib(cuda|cudart|nccl|mpi|hip|rccl)\b"


class Wrong(Exception):
    pass


def demand(condition, what):
    if not condition:
        raise Wrong(what)


class Commands:
    """cgc and cgrun in a folder of their own; each call gives (exit code, all that was printed)."""

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, pathlib.Path(folder)

    def run(self, name, *words, source=None):
        if source is not None:
            (self.folder / "p.cgraph").write_text(source)
        done = subprocess.run([self.tools.get(name, name), *words], capture_output=True, text=True,
                              cwd=self.folder, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def codes(self, source):
        """The codes of the diagnostics of a program."""
        _, told = self.run("cgc", "check", "--json", "p.cgraph", source=source)
        return {found["code"] for found in json.loads(told)}

    def flags(self):
        """Returns all flags of both commands."""
        pages = [[self.tools["cgrun"]]]
        pages += [[self.tools["cgc"], name] for name in listings.subcommands(self.tools["cgc"])]
        return {name for page in pages for flag, _ in listings.flags_of(page)
                for name in re.findall(r"--[\w-]+", flag.split()[0] + " " + flag)}


def devices(commands):
    run = ["p.cgraph", "--input", "x=[1,2]"]
    code, told = commands.run("cgrun", *run, source=GPU % ("gpu[0]", ""))
    demand(code == 0 and "[1. 2.]" in told, f"a gpu does not run: {told}")
    if "no GPU can be used" in commands.run("cgrun", "--devices")[1]:
        demand("gpu[0] runs on a CPU thread: " in told, f"nothing is said of a gpu: {told}")
        code, told = commands.run("cgrun", *run, "--device-map", "gpu[0]=cuda:0")
        demand(code != 0, f"a GPU is not refused where there is none: {told}")
        code, told = commands.run("cgrun", *run, "--require-gpu")
        demand(code == 3, f"a GPU is not required: {told}")
    for tool in ("cgc", "cgrun"):
        _, told = commands.run("ldd", str(commands.tools[tool]))
        demand("libc.so" in told, f"ldd says nothing of {tool}: {told}")
        demand(not re.search(ACCELERATORS, told), f"{tool} is linked with a library of devices")


def machines(commands):
    code, told = commands.run("cgrun", "p.cgraph", "--input", "x=[1,2]",
                              source=GPU % ("node[1].gpu[0]", "via mpi"))
    demand(code == 0 and "[1. 2.]" in told and "mpirun -n 2" in told,
           f"a program of a second machine does not run: {told}")
    two = "actor A { method f(x: f32[2]) -> f32[2] { return x } }\n" \
          "place a[i in 0..2] = A() on node[i].gpu[0]\n" \
          "graph g(x: f32[2]) -> f32[2] { return a[1].f(a[0].f(x)) }\n"
    _, told = commands.run("cgc", "compile", "p.cgraph", "--emit", "transports", "--stop-after",
                           "transports", source=two)
    demand("gpu[0] -> node[1].gpu[0] by nccl" in told, f"gpus of two machines: {told}")
    found = {f for f in commands.flags() if re.search(r"rank|world|hosts|nodes|nprocs", f)}
    demand(not found, f"there are flags of several machines: {found}")
    code, text = commands.run("cgrun", "p.cgraph", "--input", "x=[1,2]", "--processes", "device",
                              source=GPU % ("gpu[0]", ""))
    demand(code == 0 and "CPU thread" in text, "--processes does not run, on CPU threads")


def simulation(commands):
    code, told = commands.run("cgc", "simulate", "p.cgraph", source=GPU % ("gpu[0]", ""))
    demand(code == 0 and "makespan" in told, f"a gpu is not simulated: {told}")


TRAINED = """import std.optim
import std.tensor
actor Net(p: int) {
  param w: f32[2] = ones() + p
  method forward(x: f32[2]) -> f32[2] { return x * w }
}
place net[p in 0..2] = Net(p) on gpu[p] trained by adamw()
graph step(x: f32[2]) -> f32 recompute forward {
  let loss = sum(square(net[1].forward(net[0].forward(x))))
  let g = grad(loss, of: net)
  update_all(net, g, rate: 0.1, scale: minimum(1.0, 1.0 / global_norm(g)))
  return loss
}
"""


def training(commands):
    library = ops_of_library()
    demand({"dropout", "uniform"} <= library, "std.random lacks an op")
    one = TRAINED.replace("update_all(net, g,", "net[1].update(%s,")
    demand(commands.codes(one % "g[1]") == {"W0510"},  # of the other place
           "a place is not trained")
    demand(commands.codes(one % "g[1].w"), "an update of one param is not refused")
    told = commands.run("cgrun", "-q", "p.cgraph", "--input", "x=[1,1]", "-n", "40",
                        source=TRAINED)
    demand(told[0] == 0, f"a step with `grad` and an optimizer does not run: {told[1]}")
    loss = float(told[1].split("=")[1])
    demand(loss < 0.1, f"the loss began as 8, and is {loss} after 40 steps")
    optimizers = (ROOT / "stdlib" / "std" / "optim.cgraph").read_text()
    for name in ("sgd", "adam", "adamw", "lion", "mixed_sgd", "mixed_adamw"):
        demand(re.search(rf"^optimizer {name}\b", optimizers, re.M), f"std.optim lacks {name}")


def control(commands):
    for statement in ("if x < 0.0 { x } else { -x }", "while x"):
        source = f"import std.tensor\ngraph g(x: f32) -> f32 {{ return {statement} }}\n"
        demand(commands.codes(source), f"`{statement}` is not refused")


COUNTER = """import std.tensor
actor C {
  state n: i64 = 0
  method next() -> i64 {
    n += 1
    return n
  }
}
place c = C() on cpu[0]
graph g() -> i64 { return c.next() }
"""


def state(commands):
    for _ in range(2):
        code, told = commands.run("cgrun", "-q", "p.cgraph", "-n", "2", source=COUNTER)
        demand(code == 0 and "= 2" in told, f"state did not begin anew: {told}")
    for count in (2, 4):  # the second run goes on where the first has ended
        flags = ["--save-state", "s.safetensors"]
        if count > 2:
            flags += ["--load-state", "s.safetensors"]
        code, told = commands.run("cgrun", "-q", "p.cgraph", "-n", "2", *flags)
        demand(code == 0 and f"= {count}" in told, f"state is not kept: {told}")
    code, told = commands.run("cgrun", "-q", "p.cgraph", "--call", "g*3", "--call", "g")
    demand(code == 0 and "g.result: i64 = 4" in told, f"two calls share no state: {told}")


def interfaces(commands):
    sources = [p for folder in ("compiler", "runtime") for p in (ROOT / folder).rglob("*.cpp")]
    demand(len(sources) > 100, "the sources were not found")
    bound = [p for p in sources if re.search(r"PyInit_|PYBIND11_MODULE|NB_MODULE", p.read_text())]
    demand(bound, "there are no Python bindings")
    demand((ROOT / "pyproject.toml").exists(), "there is no Python package")
    demand(not commands.codes('actor A { method f(x: f32) -> f32 = extern "l.so:f" }\n'),
           "extern is refused")
    demand("--lib" in commands.flags(), "there is no flag for libraries of native methods")
    found = {f for f in commands.flags() if re.search(r"onnx|stablehlo|torch", f)}
    demand(not found, f"there are flags that import models: {found}")


CHECKS = [devices, machines, simulation, training, control, state, interfaces]


def ops_of_library():
    text = "".join(p.read_text() for p in (ROOT / "stdlib" / "std").glob("*.cgraph"))
    return set(re.findall(r"^(?:op|fn) (\w+)", text, re.M))


def absent_ops(text, library):
    """Returns the faults of the row of ops that do not exist."""
    row = re.search(r"^\| <!-- no such ops -->([^|]*)\|", text, re.M)
    named = re.findall(r"`(\w+)`", row[1]) if row else []
    if not named:
        return ["docs/language.md names no ops that do not exist"]
    return [f"docs/language.md says that there is no `{name}`, and there is"
            for name in named if name in library]


def unknown_ops(text, foreign, library):
    """Ops that the document says do not exist and of which the compiler has nothing to say, and
    ops that the compiler says do not exist and the library has."""
    row = re.search(r"^\| <!-- no such ops -->([^|]*)\|", text, re.M)
    named = re.findall(r"`(\w+)`", row[1]) if row else []
    known = set(re.findall(r'^(?:FOREIGN|ABSENT)\("(\w+)"', foreign, re.M))
    absent = set(re.findall(r'^ABSENT\("(\w+)"', foreign, re.M))
    return [f"docs/language.md says that there is no `{name}`; foreign.def does not know it"
            for name in named if name not in known] + \
           [f"foreign.def says that there is no `{name}`, and there is"
            for name in sorted(absent & library)]


def unmatched(rows, checks):
    return [f"docs/status.md: the row `{name}` has no check"
            for name in rows if name not in checks] + \
           [f"docs/status.md has no row `{name}`" for name in checks if name not in rows]


def self_test():
    library = ops_of_library()
    if not unmatched(["other"], ["devices"]) or unmatched(["devices"], ["devices"]) or \
            not absent_ops("| <!-- no such ops --> `relu` | x |", library) or \
            not absent_ops("", library) or \
            not unknown_ops("| <!-- no such ops --> `flip` | x |", "", library) or \
            not unknown_ops("", 'ABSENT("relu", "")', library):
        sys.exit("self-test: what is wrong is not found")
    try:
        demand(False, "")
    except Wrong:
        return
    sys.exit("self-test: a demand that fails says nothing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    options = parser.parse_args()
    self_test()
    rows = ROW.findall((ROOT / "docs" / "status.md").read_text())
    failures = unmatched(rows, [check.__name__ for check in CHECKS])
    language = (ROOT / "docs" / "language.md").read_text()
    foreign = (ROOT / "compiler" / "check" / "foreign.def").read_text()
    failures += absent_ops(language, ops_of_library())
    failures += unknown_ops(language, foreign, ops_of_library())
    with tempfile.TemporaryDirectory() as folder:
        commands = Commands({"cgc": options.cgc, "cgrun": options.cgrun}, folder)
        for check in CHECKS:
            try:
                check(commands)
            except Wrong as wrong:
                failures.append(f"{check.__name__}: {wrong}")
    print("".join(failure + "\n" for failure in failures), end="")
    print(f"status: {len(rows)} rows of docs/status.md asked, {len(failures)} failed")
    sys.exit(1 if failures or not rows else 0)


if __name__ == "__main__":
    main()

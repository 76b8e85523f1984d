#!/usr/bin/python3
"""Which folder may include which, from one table, checked against every #include of ours.

An arrow that is not in the table is an error, and so is one of the table that no include uses. The
check counts what it looked at and fails on nothing, and first plants wrong includes and sees them
found.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# folder -> the folders whose headers it may include, besides its own. Longest match wins.
ARROWS = {
    # What both commands do alike is in the runtime, which knows nothing of the compiler.
    "compiler/base": ["runtime/base"],
    "compiler/cost": ["runtime/base", "compiler/base"],
    "compiler/syntax": ["runtime/base", "compiler/base"],
    "compiler/format": ["compiler/base", "compiler/syntax"],
    "compiler/program": ["runtime/base", "compiler/base"],
    "compiler/check": ["runtime/base", "compiler/base", "compiler/syntax", "compiler/program"],
    "compiler/graph": ["runtime/base", "compiler/base", "compiler/cost"],
    "compiler/elaborate": ["runtime/base", "compiler/base", "compiler/cost", "compiler/program",
                           "compiler/graph"],
    "compiler/schedule": ["runtime/base", "compiler/base", "compiler/cost", "compiler/graph"],
    # It divides a finished plan among workers.
    "compiler/schedule/workers": ["runtime/plan"],
    "compiler/pipeline": ["compiler/base", "compiler/graph", "compiler/schedule", "runtime/base"],
    "compiler/emit": ["runtime/base", "compiler/base", "compiler/cost", "compiler/graph",
                      "compiler/schedule", "runtime/plan"],
    "compiler/inspect": ["runtime/base", "compiler/base", "compiler/cost", "runtime/plan"],
    "compiler/driver": ["compiler", "runtime/plan", "runtime/base"],
    "compiler/command": ["compiler", "runtime/plan", "runtime/base"],
    "compiler/allocator.cpp": ["runtime/base"],
    "compiler/cgc.cpp": ["compiler", "runtime/base"],
    # The public interface: it includes itself and the standard library.
    "runtime/include": [],
    # Everything may use it.
    "runtime/base": ["runtime/include"],
    "runtime/plan": ["runtime/base"],
    # The prover judges the scheduler's work by the plan alone.
    "runtime/plan/prove": ["runtime/plan"],
    "runtime/files": ["runtime/base", "runtime/plan"],
    "runtime/device": ["runtime/base", "runtime/include", "runtime/plan"],
    # Loaded late, by name: whoever else includes it would need CUDA's headers to be compiled.
    "runtime/device/cuda": ["runtime/base", "runtime/device", "runtime/plan"],
    # Ranks and what they tell each other: it knows no plan.
    "runtime/cluster": ["runtime/base", "runtime/device"],
    # Loaded late, by name, as runtime/device/cuda is.
    "runtime/cluster/mpi": ["runtime/base", "runtime/cluster"],
    "runtime/transport": ["runtime/base", "runtime/cluster", "runtime/device", "runtime/plan"],
    "runtime/native": ["runtime/base", "runtime/device", "runtime/include", "runtime/plan"],
    "runtime/load": ["runtime/base", "runtime/cluster", "runtime/device", "runtime/files",
                     "runtime/include", "runtime/native", "runtime/plan", "runtime/transport"],
    "runtime/execute": ["runtime/base", "runtime/device", "runtime/load",
                        "runtime/native", "runtime/plan", "runtime/transport"],
    "runtime/engine": ["runtime/base", "runtime/cluster", "runtime/device", "runtime/execute",
                       "runtime/files", "runtime/include", "runtime/load", "runtime/native",
                       "runtime/plan", "runtime/transport"],
    "runtime/command": ["runtime"],
    "runtime/python": ["runtime/base", "runtime/cluster", "runtime/device", "runtime/engine",
                       "runtime/include", "runtime/native", "runtime/plan"],
    "runtime/cgrun.cpp": ["runtime/base", "runtime/cluster", "runtime/command", "runtime/engine",
                          "runtime/native"],
    # The interpreter judges the prover, so it knows nothing but the plan.
    "tests/interpreter": ["runtime/plan/plan.h"],
    "tests/property": ["bench/schedule_harness", "compiler", "runtime", "tests"],
    "tests": ["compiler", "runtime", "tests"],
    "examples": ["runtime/include"],
    "bench": ["runtime", "compiler", "tests/support"],
}
# Only the parser knows ANTLR; the runtime knows neither LLVM nor ANTLR.
FORBIDDEN = [
    ("runtime/", r"^(llvm|antlr4|clang)"),
    ("compiler/", r"^(antlr4|CgraphLexer|CgraphParser)", "compiler/syntax/"),
    ("", r"^(runtime/device/cuda/|cuda|cublas|nvrtc|nccl)", "runtime/device/cuda/", "tests/",
     "bench/gpu/"),
    # Queues use communicators, which know GPUs and NCCL and nothing of queues.
    ("runtime/device/cuda/collectives/", r"^runtime/device/cuda/device/"),
    ("runtime/include/", r"(?!cgraph/|dlpack/dlpack\.h$|stdint\.h$|[a-z_]+$)"),
    ("", r"^(runtime/cluster/mpi/|mpi\.h)", "runtime/cluster/mpi/", "bench/"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def rule_for(path):
    matches = [key for key in ARROWS if path == key or path.startswith(key + "/")]
    return max(matches, key=len) if matches else None


def check(files):
    """`files`: path -> text. Returns (number of includes checked, arrows used, list of errors)."""
    errors, checked, used = [], 0, set()
    for path, text in sorted(files.items()):
        rule = rule_for(path)
        if rule is None:
            errors.append(f"{path}: no row of the table covers this folder")
            continue
        for included in INCLUDE.findall(text):
            checked += 1
            for folder, pattern, *exempt in FORBIDDEN:
                if path.startswith(folder) and not any(path.startswith(e) for e in exempt):
                    if re.match(pattern, included):
                        errors.append(f"{path}: includes {included}, which {folder} may not know")
            if included.startswith(("cgraph/", "cgraph_extern.h")):
                included = f"runtime/include/{included}"
            if not included.startswith(("compiler/", "runtime/", "tests/", "bench/")):
                continue
            own = included.startswith(rule + "/") and not rule.endswith((".cpp", ".h"))
            allowed = {(rule, to) for to in ARROWS[rule]
                       if included == to or included.startswith(to + "/")}
            used |= allowed
            if not own and not allowed:
                errors.append(f"{path}: includes {included}; {rule} may include "
                              f"{', '.join(ARROWS[rule]) or 'nothing of ours'}")
    return checked, used, errors


def unused(used):
    return [f"the table lets {rule} include {to}, and no file does"
            for rule, allowed in ARROWS.items() for to in allowed if (rule, to) not in used]


def read_tree():
    files = {}
    for folder in ("compiler", "runtime", "tests", "examples", "bench"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".h", ".cpp", ".cu", ".def", ".inc"):
                files[str(path.relative_to(ROOT))] = path.read_text()
    return files


def self_test():
    planted = {
        "runtime/plan/x.cpp": '#include "compiler/graph/graph.h"\n',
        "compiler/graph/x.cpp": '#include "compiler/syntax/syntax.h"\n',
        "compiler/check/x.cpp": '#include "antlr4-runtime.h"\n',
        "runtime/plan/prove/x.cpp": '#include "compiler/schedule/schedule.h"\n',
        "runtime/engine/x.cpp": '#include "llvm/ADT/StringRef.h"\n',
        "compiler/inspect/x.cpp": '#include "compiler/schedule/schedule.h"\n',
        "runtime/device/x.cpp": '#include "runtime/device/cuda/driver/driver.h"\n',
        "runtime/command/x.cpp": "#include <cuda.h>\n",
        "runtime/include/cgraph/x.h": "#include <fmt/format.h>\n",
        "runtime/plan/x.h": "#include <cgraph/engine.h>\n",
        "runtime/device/cuda/collectives/x.cpp": '#include "runtime/device/cuda/device/queue.h"\n',
        "tests/interpreter/interpreter.cpp": '#include "runtime/plan/prove.h"\n',
        "nowhere/x.cpp": "",
    }
    for path, text in planted.items():
        if not check({path: text})[2]:
            sys.exit(f"self-test: a wrong include in {path} was not found")
    good = {"runtime/engine/x.cpp": '#include "runtime/plan/plan.h"\n#include <vector>\n'}
    _, used, errors = check(good)
    if errors:
        sys.exit("self-test: a right include was refused")
    arrows = sum(len(allowed) for allowed in ARROWS.values())
    if used != {("runtime/engine", "runtime/plan")} or len(unused(used)) != arrows - 1:
        sys.exit("self-test: arrows that nothing uses were not found")
    return len(planted) + 2


def main():
    planted = self_test()
    checked, used, errors = check(read_tree())
    errors += unused(used)
    for error in errors:
        print(error)
    print(f"include arrows: {checked} includes checked, {len(errors)} wrong; {planted} planted "
          f"cases")
    sys.exit(1 if errors or checked == 0 else 0)


if __name__ == "__main__":
    main()

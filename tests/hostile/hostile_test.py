#!/usr/bin/python3
"""Bad input to both commands: files, flags and streams that nobody means well with.

  hostile_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--sanitized]

Each case says how the command must end and what it must say. None may take long, need much memory,
end by a signal, or call itself a bug. With sanitizers memory is not limited: they reserve
terabytes.
"""
import argparse
import io
import json
import os
import pathlib
import pty
import re
import resource
import stat
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

MEMORY = 3 << 30  # bytes of address space
SMALL = 800 << 20  # the same, of which 512 MiB are the compiler's stack, hardly ever touched
# What a terminal obeys: escapes, also those of one character, and marks of direction.
NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SECONDS = 120  # for one case; on an idle machine all but a few take milliseconds

ACTOR = """import std.tensor
actor A() { method f(x: f32[4]) -> f32[4] { return x + x } }
place a = A() on cpu[0]
"""
GRAPH = "graph g(x: f32[4]) -> f32[4] { return a.f(x) }\n"
LOADER = """import std.tensor
actor A() {
  state w: f32[2, 3] = load("w.safetensors", "w")
  method f(x: f32[2, 3]) -> f32[2, 3] { return x + w }
}
place a = A() on cpu[0]
graph g(x: f32[2, 3]) -> f32[2, 3] { return a.f(x) }
"""


def body(statements):
    return ACTOR + "graph g(x: f32[4]) -> f32[4] { " + statements + " return a.f(x) }\n"


X = ("--input", "x=[1,2,3,4]")


class Commands:
    def __init__(self, options, folder):
        self.paths = {"cgc": options.cgc, "cgrun": options.cgrun}
        self.folder = pathlib.Path(folder)
        self.limit = not options.sanitized
        self.cases = 0
        self.failures = []

    def write(self, name, content):
        path = self.folder / os.fsdecode(name) if isinstance(name, bytes) else self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def start(self, arguments, streams, memory=MEMORY):
        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if self.limit:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            for stream in streams.get("closed", ()):
                os.close(stream)

        files = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        files.update({name: file for name, file in streams.items() if name in files})
        return subprocess.Popen([self.paths[arguments[0]], *arguments[1:]], cwd=self.folder,
                                preexec_fn=prepare, close_fds=True, **files)

    def __call__(self, arguments, status, *words, given=b"", memory=MEMORY, **streams):
        """Runs a command to its end; status is an exit code or several."""
        self.cases += 1
        shown = " ".join(repr(word)[:80] for word in arguments)
        begin = time.monotonic()
        process = self.start(arguments, streams, memory)
        try:
            out, err = process.communicate(given if process.stdin else None, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.failures.append(f"{shown}: still runs after {SECONDS} s")
            return ""
        text = ((out or b"") + (err or b"")).decode(errors="replace")
        obeyed = NOT_SHOWN.search(text)
        if obeyed:
            self.failures.append(f"{shown}: prints {obeyed[0]!r}, which a terminal obeys")
        allowed = status if isinstance(status, tuple) else (status,)
        missing = [word for word in words if word not in text]
        if process.returncode not in allowed or missing:
            self.failures.append(f"{shown}: exit code {process.returncode}, expected {allowed}; "
                                 f"lacks {missing}\n{text[:1500]}")
        took = time.monotonic() - begin
        if took > 20:
            print(f"slow: {shown} took {took:.1f} s")
        return text


def named_files(run):
    """Files that are absent, or no files."""
    folder = run.folder
    (folder / "folder.cgraph").mkdir()
    (folder / "folder.cgplan").mkdir()
    (folder / "folder.npy").mkdir()
    for kind in ("cgraph", "cgplan", "npy", "safetensors"):
        os.symlink("/dev/zero", folder / f"zero.{kind}")
        os.symlink(f"circle.{kind}", folder / f"circle.{kind}")
    run(("cgc", "check", "none.cgraph"), 3, "cannot read none.cgraph: No such file", "E0101")
    run(("cgc", "check", "folder.cgraph"), 3, "Is a directory")
    run(("cgc", "check", "circle.cgraph"), 3, "Too many levels of symbolic links")
    run(("cgc", "check", "zero.cgraph"), 1, "more than 67108864 bytes", "E0102")
    run(("cgc", "check", "/dev/stdin"), 0, given=(ACTOR + GRAPH).encode())
    run(("cgc", "check", ""), 3, "cannot read")
    run(("cgc", "check", "a" * 5000), 3, "File name too long")
    for command in (("cgc", "verify"), ("cgc", "plan"), ("cgrun",)):
        run((*command, "none.cgplan"), 3, "none.cgplan: No such file")
        run((*command, "folder.cgplan"), 3, "Is a directory")
        run((*command, "zero.cgplan"), 1, "not a plan")
        run((*command, "circle.cgplan"), 3, "Too many levels of symbolic links")
        run((*command, "/dev/null"), 1, "not a plan")
    run(("cgrun", "tiny.cgplan", "--input", "x=none.npy"), 3, "cannot read none.npy: No such file")
    run(("cgrun", "tiny.cgplan", "--input", "x=folder.npy"), 3, "Is a directory")
    run(("cgrun", "tiny.cgplan", "--input", "x=zero.npy"), 1, "it is no .npy file")
    run(("cgrun", "tiny.cgplan", "--input", "x=-"), 1, "standard input: it is no .npy file")
    run(("cgc", "plan", "--from-json", "folder.cgraph", "-o", "o.cgplan"), 3, "Is a directory")
    run(("cgc", "plan", "--from-json", "none.json", "-o", "o.cgplan"), 3, "cannot read none.json")
    run(("cgc", "simulate", "tiny.cgplan", "--profile", "none.json"), 3, "cannot read none.json")
    run(("cgc", "check", run.write("cut.cgraph", (ACTOR + GRAPH)[:-20])), 1, "E02")
    run(("cgc", "check", run.write("bytes.cgraph", bytes(range(256)) * 40)), 1, "UTF-8", "E0103")
    run(("cgc", "check", run.write("utf16.cgraph", (ACTOR + GRAPH).encode("utf-16"))), 1, "E0103")
    run(("cgc", "check", run.write("nul.cgraph", ACTOR + "\0" + GRAPH)), 1, "E0211")


def strange_names(run):
    """Names that are no text are used as they are, and what is made of them can be read again."""
    source = run.write(b"\xff\xfe.cgraph", ACTOR + GRAPH)
    run(("cgc", "check", source), 0)
    run(("cgc", "compile", source, "-o", "strange.cgplan"), 0, "proved")
    run(("cgc", "verify", "strange.cgplan"), 0, "proved")
    run(("cgc", "plan", "--json", "strange.cgplan"), 0, '"files"')
    run(("cgrun", source, *X), 0, "[2. 4. 6. 8.]")
    run(("cgc", "check", b"\xff.cgraph"), 3, "cannot read")
    run(("cgc", "compile", "tiny.cgraph", "-o", b"\xff.cgplan"), 0)
    run(("cgc", "compile", "strings.cgraph", "-D", b"S=\xff", "-o", "o.cgplan"), 2, "UTF-8")
    newline = run.write("a\nb.cgraph", ACTOR + GRAPH)
    run(("cgrun", newline, *X), 0, "[2. 4. 6. 8.]")


def terminals(run):
    """Escapes and marks of direction in names, headers and sources. That none of them is printed is
    checked for each case."""
    evil = "\x1b]0;x\x07\x1b[2J\u202e\u009b31m"
    shown = "?]0;x??[2J??31m"
    source = run.write(f"e{evil}.cgraph", ACTOR + GRAPH)
    wrong = run.write("evil.cgraph", ACTOR + GRAPH.replace("a.f(x)", f'"{evil}"'))
    run(("cgc", "check", wrong), 1, "evil.cgraph:4:", shown)
    run(("cgc", "check", f"{evil}.cgraph"), 3, f"cannot read {shown}.cgraph")
    run(("cgc", "fmt", "--check", source), (0, 1))
    run(("cgc", "compile", source, "-o", "source.cgplan"), 0, "source.cgplan: 1 graph")
    run(("cgc", "plan", "source.cgplan"), 0, f"e{shown}.cgraph:4:")
    run(("cgc", evil), 2, f"no command `{shown}`")
    run(("cgrun", "tiny.cgplan", "--input", f"{evil}=3"), 2, shown)
    run(("cgrun", "tiny.cgplan", "--input", f"x={evil}.npy"), 3, f"cannot read {shown}.npy")
    run(("cgrun", "tiny.cgplan", *X, "--output", f"{evil}=x.npy"), 2, shown)
    run.write("header.npy", npy_header(f"{{'descr': '{evil}', 'fortran_order': False}}\n"))
    run(("cgrun", "tiny.cgplan", "--input", "x=header.npy"), 1, f"its elements are `{shown}`")
    plan = json.loads(run(("cgc", "plan", "--json", "tiny.cgplan"), 0))
    plan.update(names=[name and evil for name in plan["names"]], files=[evil], compiler=evil,
                topology=evil, parameters=[{"name": evil, "value": evil}])
    for each in (*plan["actors"], *plan["graphs"]):
        each["name"] = evil
    for port in (*plan["graphs"][0]["inputs"], *plan["graphs"][0]["outputs"]):
        port["name"] = evil
    for kernel in plan["kernels"]:
        kernel["symbol"] = evil
    run.write("evil.json", json.dumps(plan))
    run(("cgc", "plan", "--from-json", "evil.json", "-o", "evil.cgplan"), 0)
    for command, status in (
            (("cgc", "plan"), 0), (("cgc", "simulate"), 0), (("cgc", "verify", "-v"), 0),
            (("cgrun", "--input", f"{evil}=[1,2,3,4]"), (0, 1)),
            (("cgrun",), 2), (("cgrun", "--unproved"), 2)):
        run((*command, "evil.cgplan"), status, "]0;x??[2J")
    for what in ("graph", "schedule", "timeline", "transports", "memory"):
        run(("cgc", "viz", "evil.cgplan", "--what", what, "--format", "svg", "-o", "-"), 0, "[2J")
    # What goes to standard output as it is goes to a terminal as it may be shown.
    for command in (("cgc", "fmt", run.write("comment.cgraph", f"// {evil}\n" + ACTOR + GRAPH)),
                    ("cgc", "plan", "--json", "evil.cgplan")):
        ours, theirs = pty.openpty()
        process = run.start(command, {"stdout": theirs})
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 1 << 16):
                text += part
        except OSError:  # the other end is closed
            pass
        process.communicate()
        os.close(ours)
        obeyed = NOT_SHOWN.search(text.decode().replace("\r\n", "\n"))
        if obeyed or b"[2J" not in text:
            run.failures.append(f"{command[:2]} to a terminal: {obeyed}: {text[:200]!r}")
        run.cases += 1


def limits(run):
    """Programs that would be too large, too deep or too long, and how far one gets."""
    deep = "const A = " + "(" * 100_000 + "1" + ")" * 100_000 + "\n"
    cases = {
        "deep": (deep, "nested more than 200 deep", "E0105"),
        "deep_blocks": ("graph g() {" + "if a { " * 100_000, "nested more than 200 deep", "E0105"),
        "deep_lists": ("const A: " + "[" * 100_000 + "f32" + "; 1]" * 100_000 + " = 1", "E0105"),
        "deep_minus": ("const A = " + "-" * 100_000 + "1", "E0105"),
        "semicolons": ("graph g() {" + ";" * (6 << 20) + "}", "more than 4000000 tokens", "E0104"),
        "braces": ("}" * 1_000_000, "E0203"),
        "quotes": ('"' * 1_000_001, "E0201"),
        "recursion": (ACTOR + "fn r(n: int) -> int { return r(n + 1) }\n" +
                      "graph g(x: f32[4]) -> f32[4] { let y = r(0) return a.f(x) }\n",
                      "nested more than 200 deep", "E0522"),
        "recursion_graph": (ACTOR + "graph g(x: f32[4]) -> f32[4] { return g(x) }\n", "E0522"),
        # What would take too long is refused before it has made anything.
        "loop": (body("for i in 0..1000000000000 { }"), "more than 50000000 steps", "E0520"),
        "loop_ops": (body("var y = x for i in 0..1000000000000 { y = y + x }"), "E0520"),
        "loop_calls": (body("var y = x for i in 0..1000000000000 { y = a.f(y) }"), "E0520"),
        "loop_nested": (body("for i in 0..1000 { for j in 0..100000000 { let y = x + x } }"),
                        "E0520", "in iteration i ="),
        "loop_faults": (body("for i in 0..5000000 { let y: f32[3] = x[1..3] }"), "E05"),
        "wide": (ACTOR + "fn r(n: int) -> int { if n == 0 { return 1 } else "
                 "{ return r(n - 1) + r(n - 1) } }\n" +
                 "graph g(x: f32[4]) -> f32[4] { let n = r(40) return a.f(x) }\n", "E0520"),
        "wide_ops": (ACTOR + "fn r(x: f32[4], n: int) -> f32[4] { if n == 0 { return x } else "
                     "{ return r(x, n - 1) + r(x, n - 1) } }\n"
                     "graph g(x: f32[4]) -> f32[4] { return r(x, 40) }\n", "E0520"),
        "many_ops": (body("var y = x for i in 0..2000000 { y = y + x }"),
                     "`g` has more than 1048576 operations", "E0520"),
        "list": (ACTOR + "const L = [i for i in 0..1000000000000]\n" + GRAPH, "E0520"),
        "list_doubled": (body("var l = [1] for i in 0..60 { l = l + l }"), "E0520"),
        "list_of_range": (body("let l = zip(0..20000000)"), "more than 10000000 elements",
                          "E0521"),
        "string_doubled": (body('var s = "aaaa" for i in 0..60 { s = "{s}{s}" }'),
                           "a string of more than 1048576 bytes", "E0521"),
        "places": (ACTOR + "place b[i in 0..1000000000000] = A() on cpu[0]\n" + GRAPH, "E0521"),
        "devices": (ACTOR + "place b[i in 0..5000] = A() on cpu[i]\n" + GRAPH,
                    "at most 4095 devices", "E0605", "in iteration i ="),
        "device_index": (ACTOR.replace("cpu[0]", "cpu[4294967296]") + GRAPH, "E0605"),
        "device_kind": (ACTOR.replace("cpu[0]", "tpu[0]") + GRAPH, "`tpu`"),
        "operands": (ACTOR + 'op many(xs: [f32[4]; 70000]) -> f32[4] kernel "add"\n'
                     "graph g(x: f32[4]) -> f32[4] { return many([x for i in 0..70000]) }\n",
                     "takes 70000 tensors", "at most 65535", "E0521"),
        "results": (ACTOR + 'op many(x: f32[4]) -> [f32[4]; 70000] kernel "add"\n'
                    "graph g(x: f32[4]) -> f32[4] { return many(x)[0] }\n",
                    "makes 70000 tensors", "E0521"),
        "tensor": (ACTOR + "graph g(x: f32[9223372036854775807]) -> f32[4] { return a.f(x) }\n",
                   "E0524"),
        "tensor_product": (ACTOR + "graph g(x: f32[4], _y: f32[4000000000, 4000000000, "
                           "4000000000]) -> f32[4] { return a.f(x) }\n", "E0524"),
        "tensor_negative": (ACTOR + "graph g(x: f32[0 - 4]) -> f32[4] { return a.f(x) }\n",
                            "E0504"),
        "tensors_together": (
            "import std.tensor\nconst N = 4000000000000\n"
            "actor A() { method f(x: f32[N]) -> f32[N] { return x + 1 } }\n"
            "place a = A() on gpu[0]\nplace b = A() on gpu[0]\n"
            "graph g(x: f32[N]) -> (f32[N], f32[N]) { let y = a.f(x)  return (a.f(y), b.f(y)) }\n",
            "E0802", "101.9 TiB", "at most 64"),
        "states_together": (
            "import std.tensor\nactor A() {\n  state u: f32[16000000000000] = zeros()\n"
            "  method f(x: f32[1]) -> f32[1] { return x }\n}\nplace a[i in 0..3] = A() on gpu[i]\n"
            "graph g(x: f32[1]) -> f32[1] { return a[0].f(x) }\n",
            "E0802", "the states of all actors need 174.6 TiB", "at most 64"),
        "states_of_one": (
            "import std.tensor\nactor A() {\n  state u: [f32[16000000000000]; 200000] = "
            "[zeros() for i in 0..200000]\n"
            "  method f(x: f32[1]) -> f32[1] { return x }\n}\nplace a = A() on gpu[0]\n"
            "graph g(x: f32[1]) -> f32[1] { return a.f(x) }\n",
            "E0802", "at most 64"),
        "rank": (ACTOR + "graph g(x: f32[4], _y: f32[" + "1, " * 300 + "1]) -> f32[4] { return "
                 "a.f(x) }\n",
                 "E0523"),
        "overflow": (body("let n = 9223372036854775807 + 1"), "E05"),
        "overflow_divide": (body("let n = (0 - 9223372036854775807 - 1) / (0 - 1)"), "E05"),
        "divide": (body("let n = 1 / 0"), "E05"),
        "modulo": (body("let n = 1 % 0"), "E05"),
        "literal": (body("let n = " + "9" * 100_000), "E0"),
        "inflight": (ACTOR + "graph g(x: f32[4]) -> f32[4] inflight 1000000 { return a.f(x) }\n",
                     "E0525"),
        "twice": (ACTOR + GRAPH + GRAPH + "actor A() {}\n", "`g`", "`A`", "E03"),
        "ring": (run.write("ring_b.cgraph", "import ring\n") and "import ring_b\n" + ACTOR + GRAPH,
                 "ring"),
        "itself": ("import itself\n" + ACTOR + GRAPH, "itself"),
    }
    small = ("loop", "loop_ops", "loop_calls", "loop_nested", "loop_faults", "wide")
    for name, (text, *words) in cases.items():
        run(("cgc", "compile", run.write(f"{name}.cgraph", text), "-o", "o.cgplan"), 1, "error",
            *words, memory=SMALL if name in small else MEMORY)
    lines = ACTOR + "graph g(x: f32[4]) -> f32[4] {\n  var y = x\n" + "  y = a.f(y)\n" * 20_000
    run(("cgc", "check", run.write("lines.cgraph", lines + "  return y\n}\n")), 0)
    name = "n" * 1_000_000
    run(("cgc", "check", run.write("name.cgraph", body(f"let _{name} = x"))), 0)
    comment = "/* " + "x" * 10_000_000 + " */\n"
    run(("cgc", "check", run.write("comment.cgraph", comment + ACTOR + GRAPH)), 0)
    ports = ", ".join(f"_x{i}: f32[4]" for i in range(20_000))
    run(("cgc", "compile", run.write("ports.cgraph", ACTOR + f"graph g(x: f32[4], {ports}) -> "
                                     f"f32[4] "
                                     "{ return a.f(x) }\n"), "-o", "ports.cgplan"), 0, "proved")


def memory(run):
    """Small programs that would make much while compiling: values that stand in each other many
    times, and long names and strings that many things have."""
    name = "n" * 1_000_000
    string = 'var s = "aaaaaaaaaaaaaaaa" for i in 0..15 { s = "{s}{s}" } '
    doubled = "var t = (x, x) for i in 0..40 { t = (t, t) } "
    deep = "[[[[f32; 1000]; 1000]; 1000]; 1000]"
    halves = "".join(f'const S{i} = "{{S{i - 1}}}{{S{i - 1}}}"\n' for i in range(1, 16))
    loop = "for i in 0..100000"
    cases = {
        "inputs": f"graph h(_x: {deep}, y: f32[4]) -> f32[4] {{ return y }}\n",
        "doubled_via": body(doubled + "let q = t via shm"),
        "doubled_after": body(doubled + "let q = x + x after t"),
        "doubled_argument": body(doubled + "let q = a.f(t)"),
        "doubled_broadcast": body(doubled + "let q = broadcast(t, [a])"),
        "doubled_reduce": body(doubled + "let q = all_reduce([t], sum)"),
        "doubled_numbers": body("var t = [1] for i in 0..40 { t = [t, t] } let q = a.f(t)"),
        "list_via": body("let l = [x for i in 0..1000000] " + loop + " { let q = l via shm }"),
        "after": body("let l = [a.f(x) for i in 0..60000] var y = x " + loop +
                      " { y = y + x after l }"),
        "string": "import std.debug\n" + body(string + loop + " { probe(s, x) }"),
        "string_places": "import std.tensor\nactor B(n: str) { method f(x: f32[4]) -> f32[4] "
                         '{ return x } }\nconst S0 = "aaaaaaaaaaaaaaaa"\n' + halves +
                         'place p[i in 0..100000] = B("{S15}{i}") on cpu[0]\n'
                         "graph g(x: f32[4]) -> f32[4] { return p[0].f(x) }\n",
        "name_loop": body(f"var y = x for {name} in 0..100000 {{ y = a.f(y) }}"),
        "name_op": ACTOR + f'op {name}(x: f32[4]) -> f32[4] kernel "neg"\n' + body(
            "var y = x " + loop + f" {{ y = {name}(y) }}")[len(ACTOR):],
        "name_port": f"graph h(_{name}: [f32[4]; 100000], y: f32[4]) -> f32[4] {{ return y }}\n",
        "name_state": "import std.tensor\nactor A() { state w" + name + ": [f32[4]; 100000] = "
                      "[zeros() for i in 0..100000] method f(x: f32[4]) -> f32[4] { return x } }\n"
                      "place a = A() on cpu[0]\n" + GRAPH,
        "name_place": ACTOR + f"place p{name}[i in 0..100000] = A() on cpu[0]\n" + GRAPH,
    }
    for case, text in cases.items():
        run(("cgc", "compile", run.write(f"{case}.cgraph", text), "-o", "o.cgplan"), 1, "E0520",
            "more than 50000000 steps")
    # A method that nobody calls is only tried, and what would take too much is left.
    uncalled = f"method _l(_x: {deep}, y: f32[4]) -> f32[4] {{ return y }} }}\nplace"
    text = ACTOR.replace("}\nplace", uncalled) + GRAPH
    run(("cgc", "compile", run.write("uncalled.cgraph", text), "-o", "o.cgplan"), 0, "proved")
    # A lane for each pair of 80 devices would be too many to prove, so the compiler takes fewer.
    mesh = ("import std.tensor\nactor A() {\n"
            "  method f(x: f32[4]) -> f32[4] { return x + 1.0 }\n"
            "  method g(x: f32[4], y: f32[4]) -> f32[4] { return x + y }\n}\n"
            "place a[i in 0..80] = A() on gpu[i]\n"
            "graph q(x: f32[4]) -> f32[4] {\n  var y = [p.f(x) for p in a]\n"
            "  for i in 0..80 { y = [a[j].g(y[j], y[(j + i + 1) % 80]) for j in 0..80] }\n"
            "  return y[0]\n}\n")
    run(("cgc", "compile", run.write("mesh.cgraph", mesh), "-o", "mesh.cgplan"), 0, "proved")
    # An empty tensor is as large as the dimensions that are not 0.
    for extent, status, words in (("70368744177664", 1, "E0524"), ("17592186044416", 0, "proved")):
        empty = f"f32[0, {extent}]"
        text = f"graph h(x: {empty}) -> {empty} {{ return x }}\n"
        run(("cgc", "compile", run.write("empty.cgraph", text), "-o", "o.cgplan"), status, words)


def flags(run):
    """Numbers and names that no flag can mean."""
    huge = "9" * 100
    for number in ("0", "-1", "1025", huge, "nan", "", "1e3", "x"):
        run(("cgc", "compile", "tiny.cgraph", "-o", "o.cgplan", "--inflight", number), 2,
            "--inflight")
        run(("cgrun", "tiny.cgplan", *X, "--inflight", number), 2, "--inflight")
        run(("cgrun", "tiny.cgplan", *X, "--workers", number), 2, "--workers")
    for number in ("0", "-1", huge, "nan", "", "x"):
        run(("cgrun", "tiny.cgplan", *X, "--repeat", number), 2, "--repeat")
        run(("cgrun", "tiny.cgplan", *X, "--timeout", number), 2, "--timeout")
        run(("cgc", "simulate", "tiny.cgplan", "--executions", number), 2, "--executions")
    for number in ("-1", huge, "x"):
        run(("cgrun", "tiny.cgplan", *X, "--warmup", number), 2, "--warmup")
        run(("cgc", "check", "tiny.cgraph", "--max-errors", number), 2, "--max-errors")
        run(("cgc", "verify", "tiny.cgplan", "--capacity", number), 2, "--capacity")
    run(("cgrun", "tiny.cgplan", *X, "--workers", "1024"), 0, "[2. 4. 6. 8.]")
    run(("cgrun", "tiny.cgplan", *X, "--inflight", "1024"), 2, "compile with --inflight 1024")
    run(("cgc", "compile", "tiny.cgraph", "-o", "inflight.cgplan", "--inflight", "1024"), 0)
    run(("cgrun", "inflight.cgplan", *X, "--repeat", "3000"), 0, "3000 executions, 0 errors")
    for define, *words in (("N", "NAME=VALUE"), ("N=", "NAME=VALUE"), ("=3", "NAME=VALUE")):
        run(("cgc", "check", "consts.cgraph", "-D", define), 2, *words)
    for define, *words in (("N=99999999999999999999", "E0502"), ("N=1.5", "E0502"),
                           ("N=nan", "E0502"),
                           ("N=-1", "E0504"), ("N=9223372036854775807", "E0524"), ("M=1", "E0501"),
                           ("F=inf", "E0502"), ("F=1e999", "E0502"), ("N=(((((1", "E0502"),
                           ("N=" + "9" * 100_000, "E0502")):
        of_program = "E0504" in words or "E0524" in words
        status = 1 if of_program else 2
        text = run(("cgc", "check", "consts.cgraph", "-D", define), status, *words)
        if len(text) > 1000:
            run.failures.append(f"-D {define[:20]}...: a message of {len(text)} bytes")
    run(("cgrun", "tiny.cgplan", "--input", "x=" + "[" * 100_000), 2, "at most 8 dimensions")
    run(("cgrun", "tiny.cgplan", "--input", "x=[" + "1," * 1_0000), 2, "x")
    run(("cgrun", "tiny.cgplan", "--input", "x=[nan,inf,-inf,1e999]"), 2, "outside of f32")
    run(("cgrun", "ints.cgplan", "--input", "x=[1,nan,3,4]"), 2, "`nan` is no i64")
    run(("cgrun", "ints.cgplan", "--input", "x=[1,1e3,3,4]"), 2, "is no i64")
    run(("cgrun", "ints.cgplan", "--input", "x=" + "9" * 100_000), 2, "i64")
    run(("cgrun", "tiny.cgplan", *X, "--graph", "h"), 2, "--graph h")
    run(("cgrun", "tiny.cgplan", *X, "--batch", "y"), 2, "--batch y")
    run(("cgrun", "tiny.cgplan", *X, "--weights", "/nowhere"), 3, "no such folder")
    run(("cgc", "explain", "E9999"), (1, 2), "E9999")
    run(("cgc", "viz", "tiny.cgplan", "--what", "soul"), 2, "soul")
    run(("cgc", "compile", "tiny.cgraph", "--emit", "soul"), 2, "soul")
    run(("cgc", "x" * 100_000), 2)


def outputs(run):
    """Places that cannot be written, or must not be replaced."""
    (run.folder / "plain").write_text("a file")
    os.symlink("linked.cgplan.real", run.folder / "linked.cgplan")
    (run.folder / "linked.cgplan.real").write_text("")
    for where, words in (("/nowhere/o", "there is no folder /nowhere"),
                         ("folder.cgplan", "is a folder"),
                         ("/dev/full", "No space left"), ("plain/o", "Not a directory"),
                         ("/proc/o", ""), ("", "")):
        if where:
            run(("cgc", "compile", "tiny.cgraph", "-o", where), 3, words)
            run(("cgc", "compile", "tiny.cgraph", "-o", "o.cgplan", "--emit", f"plan={where}"), 3)
            run(("cgc", "viz", "tiny.cgplan", "--format", "dot", "-o", where), 3, "cannot write")
            run(("cgc", "plan", "tiny.cgplan", "--json", "-o", where), 3, "cannot write")
            npy = where.replace("folder.cgplan", "folder.npy")
            run(("cgrun", "tiny.cgplan", *X, "--output", f"result={npy}"), 3, "cannot write",
                words)
            run(("cgrun", "tiny.cgplan", *X, "--profile", where), 3, "cannot write")
    if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
        run.failures.append("/dev/full is no device any more")
    run(("cgc", "compile", "tiny.cgraph", "-o", "/dev/null"), 0)
    if not stat.S_ISCHR(os.stat("/dev/null").st_mode):
        run.failures.append("/dev/null is no device any more")
    run(("cgc", "compile", "tiny.cgraph", "-o", "linked.cgplan"), 0)
    run(("cgc", "verify", "linked.cgplan.real"), 0, "proved")
    if not (run.folder / "linked.cgplan").is_symlink():
        run.failures.append("a link was replaced by a plan")
    run(("cgc", "compile", "tiny.cgraph", "-o", "tiny.cgraph"), 2, "the file that is read")
    run(("cgc", "compile", "tiny.cgraph", "-o", "./tiny.cgraph"), 2, "the file that is read")


def streams(run):
    """Standard streams that are closed, full, or gone."""
    full = open("/dev/full", "wb")
    run(("cgrun", "tiny.cgplan", *X), 3, closed=(1,))
    run(("cgrun", "tiny.cgplan", *X), 3, closed=(0, 1, 2))
    run(("cgrun", "tiny.cgplan", *X), 3, stdout=full)
    run(("cgrun", "wide.cgplan"), 3, stdout=full)
    run(("cgrun", "tiny.cgplan", *X), 0, closed=(0, 2))
    run(("cgrun", "tiny.cgplan", *X, "--repeat", "3", "-v"), 0, stderr=full)
    run(("cgrun", "none.cgplan"), 3, stderr=full)
    run(("cgrun", "--nothing"), 2, stderr=full)
    run(("cgrun", "tiny.cgplan", "--input", "x=-"), 3, "standard input", closed=(0,))
    run(("cgrun", "tiny.cgraph", *X), 0, closed=(0, 2))
    run(("cgc", "compile", "tiny.cgraph", "-o", "closed.cgplan"), 0, closed=(0, 1, 2))
    run(("cgc", "verify", "closed.cgplan"), 0, "proved")
    run(("cgc", "check", "cut.cgraph"), 1, stderr=full)
    run(("cgc", "check", "cut.cgraph"), 1, closed=(2,))
    run(("cgc", "plan", "tiny.cgplan"), 3, closed=(1,))
    run(("cgc", "plan", "tiny.cgplan", "--json"), 3, stdout=full)
    run(("cgc", "--help"), (0, 3), stdout=full)


def array(dtype, shape, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.zeros(shape, dtype), version=version)
    return file.getvalue()


def npy_header(text, length=None, version=1):
    text = text.encode()
    length = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(
        2 if version == 1 else 4, "little") + text


def npy(run):
    good = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n"
    fortran = io.BytesIO()
    np.save(fortran, np.asfortranarray(np.zeros((2, 3), "<f4")))
    cases = {
        "empty": (b"", "it is no .npy file"),
        "cut_magic": (b"\x93NUM", "it is no .npy file"),
        "cut_header": (array("<f4", 4)[:40], "ends inside its header"),
        "cut": (array("<f4", 4)[:-1], "promises 16 bytes"),
        "more": (array("<f4", 4) + b"\0", "promises 16 bytes"),
        "dtype": (array("<f8", 4), "holds f64", "x.astype(np.float32)"),
        "order": (array(">f4", 4), "big-endian"),
        "complex": (array("<c8", 4), "`<c8`"),
        "text": (array("<U3", 4), "`<U3`"),
        "records": (array([("a", "<f4")], 4), "records"),
        "shape": (array("<f4", 5), "dimension 0 is 5, expected 4"),
        "rank": (array("<f4", (2, 2)), "2 dimensions, expected 1"),
        "fortran": (fortran.getvalue(), "Fortran order"),
        "version": (b"\x93NUMPY\x09\x00" + bytes(100), "its format is 9.0"),
        "length": (npy_header("", 0xffffffff, 2), "4294967295 bytes"),
        "object": (npy_header(good.replace("<f4", "|O") % "(4,)"), "`|O`"),
        "negative": (npy_header(good % "(-4,)"), "no tuple of numbers >= 0"),
        "zero_rows": (npy_header(good % "(0,)"), "dimension 0 is 0, expected 4"),
        "huge": (npy_header(good % "(4611686018427387904, 4)"), "more elements than any memory"),
        # An array of no elements, whatever else its shape says: refused in what words it may be.
        "huge_zero": (npy_header(good % "(9223372036854775807, 9223372036854775807, 0)"),),
        "above": (npy_header(good % "(99999999999999999999,)"), "above 2^63"),
        "ranks": (npy_header(good % ("(" + "1," * 100 + ")")), "more than 64 dimensions"),
        "nested": (npy_header(good % ("(" * 30_000)), "no tuple of numbers"),
        "code": (npy_header("__import__('os').system('false')"), "no dictionary"),
        "twice": (npy_header("{'shape': (4,), 'shape': (4,)}"), "twice"),
        "promise": (npy_header(good % "(1000000000000,)"), "promises 4000000000000 bytes"),
    }
    for name, (content, *words) in cases.items():
        run.write(f"{name}.npy", content)
        run(("cgrun", "tiny.cgplan", "--input", f"x={name}.npy"), 1, f"{name}.npy", *words)
        run(("cgrun", "tiny.cgplan", "--input", "x=-"), 1, "input x", given=content)
    run.write("bools.npy", array("?", 4)[:-1] + b"\x02")
    run(("cgrun", "bools.cgplan", "--input", "x=bools.npy"), 1, "neither 0 nor 1")


def safetensors_file(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def safetensors(run):
    def tensor(dtype="F32", shape=(2, 3), offsets=(0, 24), **more):
        return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}}

    data = bytes(24)
    x = ("--input", "x=[[1,2,3],[4,5,6]]")
    run.write("loader.cgraph", LOADER)
    run(("cgc", "compile", "loader.cgraph", "-o", "loader.cgplan"), 0)
    cases = {
        "empty": (b"", "too short"),
        "length_10_gb": (safetensors_file(b"{}", length=10 << 30), "10737418240 bytes"),
        "length_most": (safetensors_file(b"{}", length=(1 << 64) - 1),
                        "18446744073709551615 bytes"),
        "cut": (safetensors_file(tensor(), data[:-1]), "23 follow the header"),
        "more": (safetensors_file(tensor(), data + b"\0"), "25 follow the header"),
        "no_json": (safetensors_file(b"{'w'}", data), "it is no JSON"),
        "nested": (safetensors_file(b'{"w":' * 100_000, data), "an object where none belongs"),
        "lists": (safetensors_file(b'{"w":{"shape":' + b"[" * 100_000, data), "a list where none"),
        "twice": (safetensors_file(b'{"w":{"dtype":"F32","shape":[6],"data_offsets":[0,24]},'
                                   b'"w":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}}', data),
                  "`w` is there twice"),
        "lacks": (safetensors_file({"w": {"dtype": "F32"}}, data),
                  "lacks dtype, shape or data_offsets"),
        "fraction": (safetensors_file(tensor(shape=(2.5, 3)), data), "a fraction"),
        "nan": (safetensors_file(b'{"w":{"dtype":"F32","shape":[NaN],"data_offsets":[0,24]}}',
                                 data),
                "it is no JSON"),
        "negative": (safetensors_file(tensor(shape=(-2, 3)), data), "a negative number"),
        "huge": (safetensors_file(tensor(shape=(1 << 62, 1 << 62)), data),
                 "24 bytes, which its shape"),
        "above": (safetensors_file(tensor(shape=(1 << 63,)), data), "above 2^63"),
        "outside": (safetensors_file(tensor(offsets=(0, 1 << 60)), data), "24 follow the header"),
        "backwards": (safetensors_file(tensor(offsets=(24, 0)), data), "no begin and end"),
        "gap": (safetensors_file(tensor(offsets=(8, 24)), data), "begins at 8"),
        "dtype": (safetensors_file(tensor(dtype="F64", shape=(3,)), data),
                  "is f64[3], and the program declares f32[2, 3]", "another tensor in `load`"),
        "dtype_alone": (safetensors_file(tensor(dtype="I32"), data),
                        "declare the state as i32 and cast where it is used, cast<f32>(w)"),
        "foreign": (safetensors_file(tensor(dtype="F8_E4M3", shape=(24,)), data),
                    "tensor `w` is F8_E4M3, a dtype"),
        "shape": (safetensors_file(tensor(shape=(3, 2)), data), "f32[3, 2]", "transpose_b: true"),
        "name": (safetensors_file({"v": tensor()["w"]}, data), "has no tensor `w`"),
    }
    for name, (content, *words) in cases.items():
        run.write("w.safetensors", content)
        run(("cgrun", "loader.cgplan", *x), 1, "w.safetensors", *words)
    (run.folder / "w.safetensors").unlink()
    run(("cgrun", "loader.cgplan", *x), 3, "w.safetensors: No such file")
    os.symlink("/dev/zero", run.folder / "w.safetensors")
    run(("cgrun", "loader.cgplan", *x), 1, "no regular file")
    (run.folder / "w.safetensors").unlink()
    run.write("w.safetensors", safetensors_file(tensor(), data))
    run(("cgrun", "loader.cgplan", *x), 0, "[1. 2. 3.]")


def plans(run):
    """Plans that were cut, changed, or written by hand. (hostile_plan_test changes every field.)"""
    good = (run.folder / "tiny.cgplan").read_bytes()
    for size in (0, 4, 8, 15, 16, 100, len(good) // 2, len(good) - 100):
        run.write("cut.cgplan", good[:size])
        run(("cgc", "verify", "cut.cgplan"), 1, "cut.cgplan", "plan")
        run(("cgrun", "cut.cgplan", *X), 1, "cut.cgplan", "plan")
    run.write("offset.cgplan", b"\xff\xff\xff\x7f" + good[4:])
    run(("cgc", "verify", "offset.cgplan"), 1, "is damaged")
    text = run(("cgc", "plan", "tiny.cgplan", "--json"), 0)
    plan = json.loads(text)

    def changed(words, status=1, **fields):
        run.write("changed.json", json.dumps({**plan, **fields}))
        run(("cgc", "plan", "--from-json", "changed.json", "-o", "changed.cgplan"), (0, 1))
        run(("cgrun", "changed.cgplan", *X), status, words)
        (run.folder / "changed.cgplan").unlink(missing_ok=True)

    # --from-json refuses it, so there is no plan.
    changed("No such file", 3, format=plan["format"] + 1)
    changed("workers: at most", workers=4_000_000_000)
    graph = json.loads(json.dumps(plan["graphs"][0]))
    changed("inflight is 0", graphs=[{**graph, "inflight": 0}])
    for arena in graph["arenas"]:
        arena["bytes"] = 1 << 45
    for copies in (1, 60_000):
        for arena in graph["arenas"]:
            arena["copies"] = copies if arena["space"] == "slot" else arena["copies"]
        # Where memory is limited the first arena is what it lacks, else the results.
        changed("TiB", graphs=[graph])
    changed("two graphs are called `g`", graphs=[plan["graphs"][0]] * 2)
    changed("has no graph", graphs=[])
    for name, content in {"no": "no", "null": "null", "list": "[]", "deep": "[" * 100_000,
                          "deep_objects": '{"start":' * 100_000,
                          "number": '{"format":' + "9" * 1000,
                          "unknown": '{"soul": 1}', "zero": "\0"}.items():
        run.write(f"{name}.json", content)
        run(("cgc", "plan", "--from-json", f"{name}.json", "-o", "o.cgplan"), 1, f"{name}.json")
        run(("cgc", "simulate", "tiny.cgplan", "--profile", f"{name}.json"), 1, f"{name}.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cgc", required=True, type=os.path.abspath)
    parser.add_argument("--cgrun", required=True, type=os.path.abspath)
    parser.add_argument("--sanitized", action="store_true",
                        help="programs that reserve more memory and take many times as long")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Commands(options, folder)
        run.write("tiny.cgraph", ACTOR + GRAPH)
        run.write("consts.cgraph", "const N = 4\nconst F = 1.0\n" + ACTOR +
                  "graph g(x: f32[4], _n: f32[N]) -> f32[4] { return a.f(x) * F }\n")
        run.write("strings.cgraph", 'const S = "a"\n' + ACTOR + GRAPH)
        for name, dtype in (("ints", "i64"), ("bools", "bool")):
            run.write(f"{name}.cgraph", f"graph g(x: {dtype}[4]) -> {dtype}[4] {{ return x }}\n")
        run.write("wide.cgraph", "import std.tensor\ngraph g() -> f32[200, 200] { return "
                  "zeros<f32[200, 200]>() on cpu[0] }\n")
        for name in ("tiny", "ints", "bools", "wide"):
            run(("cgc", "compile", f"{name}.cgraph", "-o", f"{name}.cgplan"), 0)
        parts = [named_files, strange_names, terminals, limits, memory, flags, outputs, streams,
                 npy, safetensors, plans]
        if options.sanitized:
            parts.remove(limits)
            parts.remove(memory)
            print("SKIPPED with sanitizers: programs at the limits of size, which take minutes "
                  "then")
        for part in parts:
            part(run)
    for failure in run.failures:
        print(f"FAILED: {failure}")
    print(f"{run.cases} cases of bad input, {len(run.failures)} failures")
    sys.exit(1 if run.failures or run.cases == 0 else 0)


if __name__ == "__main__":
    main()

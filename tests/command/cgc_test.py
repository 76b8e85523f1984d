#!/usr/bin/python3
"""cgc as users and scripts meet it: exit codes, messages, flags, what is printed where.

  cgc_test.py --cgc build/release/cgc
"""
import argparse
import json
import os
import pathlib
import pty
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
import traces  # noqa: E402
from expectations import expect, says  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "compiler/base/diagnostics/diagnostics.def"

# Codes that no short program shows, or that need more than one file.
WITHOUT_EXAMPLE = {
    "E0102": "a file of more than 64 MiB", "E0103": "a file that is not UTF-8",
    "E0104": "4 million tokens", "E0105": "200 brackets in each other", "E0106": "100 errors",
    "E0307": "two imported files", "E0317": "a damaged library",
    **{f"E07{i}": "not in the language yet" for i in range(15, 16)},
}


class Cgc:
    """Runs in a folder of its own."""

    def __init__(self, cgc, folder):
        self.cgc, self.folder = cgc, pathlib.Path(folder)

    def __call__(self, *arguments, status=0, stdin=""):
        """Runs to the end; (standard output, standard error) as text."""
        done = subprocess.run([self.cgc, *map(str, arguments)], cwd=self.folder, input=stdin,
                              capture_output=True, text=True, timeout=60)
        expect(done.returncode == status,
               f"{arguments}: exit code {done.returncode}, not {status}\n"
                                          f"{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name


def explain(cgc):
    catalogue = re.findall(r"^DIAGNOSTIC\((\w+),", CATALOGUE.read_text(), re.MULTILINE)
    listed = json.loads(cgc("explain", "--list", "--json")[0])["diagnostics"]
    expect([entry["code"] for entry in listed] == catalogue, "--list has the catalogue's codes")
    lines = cgc("explain", "--list")[0].splitlines()
    expect(len(lines) == len(listed), "a line for each code")
    for entry, line in zip(listed, lines):
        expect(line.split() == [entry["code"], entry["severity"], *entry["title"].split()], line)
        expect(entry["severity"] == ("warning" if entry["code"][0] == "W" else "error"), line)
        expect(entry["explanation"].strip(), f"{entry['code']} has no explanation")
    first = listed[0]
    for code in (first["code"], first["code"].lower()):
        out, _ = cgc("explain", code)
        expect(out.startswith(f"{first['code']}: {first['title']}\n\n{first['explanation']}"), out)
    expect(json.loads(cgc("explain", first["code"], "--json")[0]) == first, "one code as JSON")
    says(cgc("explain", "E010", status=2)[1], "there is no diagnostic E010 (did you mean `E0101`?)")
    says(cgc("explain", status=2)[1], "name a CODE", "--list")
    cgc("explain", "--list", "E0101", status=2)


PROGRAM = """\
import std.tensor
actor A() { method echo(x: u8[1]) -> u8[1] { return x } }
place a = A() on cpu[0]
graph round_trip(x: u8[1]) -> u8[1] { return a.echo(x) }
"""


def viz(cgc):
    """The output's ending says the format; a source's lines are told only when it was compiled."""
    program = cgc.write("program.cgraph", PROGRAM)
    cgc("compile", "-q", program, "-o", "program.cgplan")
    for ending, begins in [("dot", b"digraph"), ("svg", b"<?xml"), ("png", b"\x89PNG"),
                           ("pdf", b"%PDF"), ("html", b"<!DOCTYPE html>")]:
        cgc("viz", "-q", program, "--what", "transports", "-o", f"x.{ending}")
        drawn = (cgc.folder / f"x.{ending}").read_bytes()
        expect(drawn.startswith(begins), f"x.{ending} begins with {drawn[:20]}")
    says(cgc("viz", "-q", program, "-o", "x.jpeg", status=2)[1], "`.jpeg`",
         "dot, svg, png, pdf, html")
    expect(not (cgc.folder / "x.jpeg").exists(), "no picture that is none")
    says(cgc("viz", "-q", program, "--what", "memory", "--format", "dot", status=2)[1],
         "no dot form")
    ours, theirs = pty.openpty()
    done = subprocess.run([cgc.cgc, "viz", "-q", program, "--format", "png"], cwd=cgc.folder,
                          stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(theirs)
    os.close(ours)
    expect(done.returncode == 2, f"a picture for a terminal: {done}")
    says(done.stderr, "no text for a terminal; -o FILE names a file")
    line = "graph round_trip(x: u8[1]) -> u8[1] { return a.echo(x) }"
    says(cgc("viz", "-q", program, "--format", "dot")[0], "program.cgraph:4:46", line)
    # A part is named and typed as a part, and what has no name is called alike everywhere.
    cgc.write("part.cgraph", PROGRAM + "graph part(x: u8[4, 1]) -> u8[1] { return a.echo(x[2]) }\n")
    for what in ("graph", "transports", "schedule"):
        out, _ = cgc("viz", "-q", "part.cgraph", "--graph", "part", "--what", what,
                     "--format", "dot")
        says(out, "x[2]: u8[1]" if what != "schedule" else "output result")
        expect("%" not in out, f"a value without a name in {what}:\n{out}")
    out, _ = cgc("viz", "-q", "program.cgplan", "--format", "dot")
    says(out, "program.cgraph:4:46")
    expect(line not in out, "a plan may name any file: none is opened")
    # Names of a hundred thousand letters take no longer than others.
    long = "a" * 100_000
    cgc.write("long.cgraph", PROGRAM.replace("echo", long))
    for what in ("timeline", "memory"):
        expect(long in cgc("viz", "-q", "long.cgraph", "--what", what)[0], what)
    # Each replica counts its micro-batches from 0.
    cgc.write("mesh.cgraph", """actor A() { method f(x: u8[2]) -> u8[2] { return x } }
place a[r in 0..2] = A() on cpu[r]
graph g(x: u8[2, 3, 2]) -> [[u8[2]; 3]; 2] {
  return [[a[r].f(x[r][m]) for m in 0..3] for r in 0..2]
}
""")
    drawn = cgc("viz", "-q", "mesh.cgraph", "--what", "timeline", "--color-by", "micro-batch")[0]
    says(drawn, "mb 0", "mb 2")
    expect("mb 3" not in drawn, "a micro-batch of the second replica")
    # So are the parts that `split` makes.
    cgc.write("split.cgraph", """import std.nn
import std.tensor
actor A() { method f(x: f32[2]) -> f32[2] { return relu(x) } }
place a[s in 0..2] = A() on cpu[s]
graph g(x: f32[6]) -> [f32[2]; 3] {
  return [a[1].f(a[0].f(part)) for part in split(x, parts: 3, dim: 0)]
}
""")
    drawn = cgc("viz", "-q", "split.cgraph", "--what", "timeline")[0]
    says(drawn, "a[0].f mb 0", "a[0].f mb 2", "a[1].f mb 1")


def examples(cgc):
    """Each diagnostic is explained with a program that gets it, and nothing else."""
    for entry in json.loads(cgc("explain", "--list", "--json")[0])["diagnostics"]:
        code, example = entry["code"], entry["example"]
        if code in WITHOUT_EXAMPLE:
            expect(not example, f"{code} has an example, and is excused from having one")
            continue
        expect(example, f"{code} has no example in compiler/base/diagnostics/examples")
        flags = re.match(r"// cgc check (.*)\n", example)
        cgc.write("example.cgraph", example)
        words = ["check", "example.cgraph", "--json", *(flags[1].split() if flags else [])]
        found = subprocess.run([cgc.cgc, *words], cwd=cgc.folder, capture_output=True, text=True)
        told = json.loads(found.stdout)
        expect({d["code"] for d in told} == {code}, f"the example of {code} gets {told}\n{example}")
        expect(max(map(len, example.split("\n"))) <= 90, f"the example of {code} is too wide")
        says(cgc("explain", code)[0],
             f"For example this is {'refused' if code[0] == 'E' else 'warned of'}:")


# Three bodies in each of which any statement may go wrong, and declarations around them.
SOUND = """import std.tensor
import std.nn

const N = 4

fn scaled(x: f32[4, 4], k: int) -> f32[4, 4] {
  let y = relu((x @ x) * k)
  let z = y + x * 2.0
  return relu(z)
}

actor First(k: int) {
  state w: f32[4, 4] = ones()
  method one(x: f32[4, 4]) -> f32[4, 4] {
    let y = relu((x @ w) * k)
    let z = y + x * 2.0
    return relu(z)
  }
  method two(x: f32[4, 4]) -> f32[4, 4] {
    let y = scaled(relu(x), k)
    let z = y - x * 2.0
    return relu(z)
  }
  method three(x: f32[4, 4]) -> f32[4, 4] {
    let y = relu(x + (w * k))
    let z = y * x + 2.0
    return scaled(z, 2)
  }
}

actor Second() {
  method only(x: f32[4, 4]) -> f32[4, 4] {
    let y = scaled(relu(x), N)
    let z = y - x + 2.0
    return relu(z)
  }
}

place first = First(1) on cpu[0]
place second = Second() on cpu[1]

graph whole(x: f32[4, 4]) -> f32[4, 4] {
  let y = first.two(first.one(x))
  let z = second.only(y) + x
  return relu(first.three(z))
}

graph part(x: f32[4, 4]) -> f32[4, 4] { return first.one(x) }
"""


def mistakes_in(lines):
    """Every way to go wrong: (kind, first line, the body or declaration that it is in, edit)."""
    found, body = [], 0
    for i, line in enumerate(lines):
        if line.lstrip().startswith(("fn", "method", "graph", "actor", "place", "const")):
            body = i
        if re.match(r"  +(let|return) .*\)$", line):
            found.append(("a missing parenthesis", i, body, line[:-1]))
        if line == "  }":
            found.append(("a missing brace", i - 1, body, None))
        if line.lstrip().startswith("let "):
            found.append(("a misspelt let", i, body, line.replace("let ", "lett ", 1)))
        for sign in (" + ", " - ", " * "):
            if sign in line and line.lstrip().startswith("let z"):
                found.append(("a stray operator", i, body, line.replace(sign, sign + "* ", 1)))
        word = re.match(r" *(fn|method|graph|actor|place|const) ", line)
        if word and word[1] not in ("fn",):
            wrong = word[1][:-2] + word[1][-1] + word[1][-2]
            found.append(("a misspelt declaration", i, body, line.replace(word[1], wrong, 1)))
    return found


def lines_of_errors(cgc, lines):
    cgc.write("wrong.cgraph", "\n".join(lines) + "\n")
    told = json.loads(cgc("check", "--json", "wrong.cgraph", status=1)[0])
    return [d["line"] for d in told], told


def with_mistakes(lines, chosen):
    """The lines with mistakes in them, and the lines where these should be reported."""
    changed, at = list(lines), []
    for kind, line, body, edit in chosen:
        at.append(line)
        changed[line if edit is not None else line + 1] = edit
    new_number, number = {}, 0
    for i, line in enumerate(changed):
        number += line is not None
        new_number[i] = number
    return [line for line in changed if line is not None], sorted(new_number[i] for i in at)


def mistakes(cgc):
    """A fault at several places is reported once at each, and nothing else."""
    lines = SOUND.split("\n")[:-1]
    cgc.write("sound.cgraph", SOUND)
    cgc("check", "sound.cgraph")
    every = mistakes_in(lines)
    kinds = sorted({kind for kind, *_ in every})
    expect(len(kinds) == 5 and len(every) > 40, f"{len(every)} mistakes of {kinds}")
    rng = random.Random(5)
    trials = [[mistake] for mistake in every]
    while len(trials) < len(every) + 60:
        chosen = [rng.choice([m for m in every if m[0] == kind]) for kind in kinds]
        if len({body for _, _, body, _ in chosen}) == len(chosen):
            trials.append(chosen)
    for chosen in trials:
        wrong, wanted = with_mistakes(lines, chosen)
        got, told = lines_of_errors(cgc, wrong)
        expect(got == wanted, f"{[m[0] for m in chosen]}: errors at lines {got}, not {wanted}\n"
               + "\n".join(wrong) + f"\n{json.dumps(told, indent=1)}")


def spelling(cgc):
    """Names that are nearly right get the right one, as text and as a fix."""
    sound = """import std.nn
const BATCH = 4
actor Layer(width: int) {
  method hidden(x: f32[4]) -> (scores: f32[4], label: f32[4]) { return (scores: x, label: x) }
}
place first = Layer(width: 1) on cpu[0]
fn twice(x: f32[4], factor: int) -> f32[4] { return relu(x) }
graph classify(x: f32[4]) -> f32[4] inflight 2 {
  let h = first.hidden(x)
  return twice(h.scores, factor: BATCH) via shm
}
"""
    cgc.write("sound.cgraph", sound)
    cgc("check", "sound.cgraph")
    for right, wrong, meant in [
            ("relu(x)", "rleu(x)", "relu"), ("(h.scores", "(h.score", "scores"),
            ("factor: BATCH", "facter: BATCH", "factor"),
            ("first.hidden(", "first.hiden(", "hidden"),
            ("BATCH)", "BACTH)", "BATCH"), ("x: f32[4], f", "x: float32[4], f", "f32"),
            ("x: f32[4], f", "x: f23[4], f", "f32"), ("fn twice", "def twice", "fn"),
            ("fn twice", "func twice", "fn"), ("method hidden", "def hidden", "method"),
            ("actor Layer", "class Layer", "actor"), ("width: 1", "widht: 1", "width"),
            ("= Layer(", "= Leyer(", "Layer"), ("inflight 2", "inflihgt 2", "inflight"),
            ("via shm", "via smh", "shm"), ("let h", "lte h", "let"),
            ("graph classify", "grahp classify", "graph"), ("place first", "plcae first", "place")]:
        expect(sound.count(right) == 1, f"{right} is not once in the program")
        cgc.write("wrong.cgraph", sound.replace(right, wrong))
        told = json.loads(cgc("check", "--json", "wrong.cgraph", status=1)[0])
        says(told[0]["message"], f"`{meant}`" if "float32" in wrong else f"did you mean `{meant}`?")
        says(cgc("check", "wrong.cgraph", status=1)[1], told[0]["message"])
        expect(len(told[0]["fixes"]) == 1, f"{wrong}: one fix, not {told[0]['fixes']}")
        for fix in told[0]["fixes"]:
            line = sound.replace(right, wrong).split("\n")[fix["line"] - 1]
            mended = line[:fix["column"] - 1] + fix["text"] + line[fix["end_column"] - 1:]
            expect(fix["file"] == "wrong.cgraph" and fix["text"] == meant, fix)
            expect(mended in sound, f"{mended} is no mend")
    cgc.write("import.cgraph", "import std.tensr\ngraph g(x: f32) -> f32 { return sinn(x) }\n")
    _, error = cgc("check", "import.cgraph", status=1)
    says(error, "cannot find `std/tensr.cgraph`", "did you mean `std.tensor`?")
    expect(error.count("error:") == 1, "what an import lacks is not known")
    says(cgc("check", "sound.cgraph", "-D", "BACTH=3", status=2)[1], "did you mean `BATCH`?")
    says(cgc("check", "sound.cgraph", "-D", "batch=3", status=2)[1], "did you mean `BATCH`?")
    says(cgc("check", "sound.cgraph", "--graph", "clasify", status=2)[1],
         "did you mean `classify`?")
    cgc("compile", "sound.cgraph", "-q")
    says(cgc("simulate", "sound.cgplan", "--graph", "clasify", status=2)[1],
         "did you mean `classify`?")
    says(cgc("check", "sound.cgraph", "--grpah", "g", status=2)[1], "did you mean `--graph`?")
    says(cgc("chekc", "sound.cgraph", status=2)[1], "did you mean `check`?")
    says(cgc("explain", "E010", status=2)[1], "did you mean `E0101`?")


def leave_out(cgc):
    """Warnings that nobody wants, of all commands that give them."""
    for flags in (["--no-warn", "W0301"], ["--no-warn=w0301"], ["--no-warn", "W0504,W0301"],
                  ["--no-warn", "W0504", "--no-warn", "W0301", "--Werror"]):
        for command in ("check", "compile", "simulate"):
            _, error = cgc(command, *flags, "g.cgraph")
            expect("W0301" not in error and "warning" not in error, error)
        expect(json.loads(cgc("check", "g.cgraph", "--json", *flags)[0]) == [], "a warning in JSON")
    says(cgc("check", "g.cgraph", "--no-warn", "W0302")[1], "[W0301]")
    cgc.write("old.cgraph", "import std.tensor\nconst A = 7 / 2 // 3\n"
              "graph g(x: f32[4]) -> f32 { return sum_dim(x, 0) }\n")
    says(cgc("fmt", "old.cgraph")[1], "[W0201]")
    expect(cgc("fmt", "old.cgraph", "--no-warn", "W0201")[1] == "", "a warning of fmt")
    before = (cgc.folder / "old.cgraph").read_text()
    # Errors of --Werror are those of fmt, too; commands that have no warnings refuse it, and `fix`,
    # which mends them.
    for flags in ((), ("-i",), ("--check",)):
        says(cgc("fmt", "old.cgraph", "--Werror", *flags, status=1)[1], "error: ", "[W0201]")
    cgc("compile", "-q", "g.cgraph", "-o", "g.cgplan")
    for command in ("fix old.cgraph", "verify g.cgplan", "plan g.cgplan"):
        says(cgc(*command.split(), "--Werror", status=2)[1], "there is no flag `--Werror`")
    expect((cgc.folder / "old.cgraph").read_text() == before, "--Werror and a file that is kept")
    cgc("fix", "old.cgraph", "--no-warn", "W0304", "--no-warn", "W0201")
    expect((cgc.folder / "old.cgraph").read_text() == before, "a fix of what is left out")
    for name, said in (("W0599", "there is no `W0599` (did you mean `W050"),
                       ("all", "it is one of W0201, W0301"),
                       ("E0507", "E0507 is an error, and only warnings can be left out")):
        says(cgc("check", "g.cgraph", "--no-warn", name, status=2)[1], "--no-warn", said)
    for flag in ("-Wno-W0301", "-w", "--no-warnings"):
        says(cgc("check", "g.cgraph", flag, status=2)[1],
             f"there is no flag `{flag}`; give --no-warn")


NATIVE = """\
import std.tensor
actor Net() {
  method learn(x: f32[4]) -> (loss: f32, g: f32[4]) = extern "libnet.so:learn"
  method take(g: f32[4]) = extern "libnet.so:take" cost(flops: 400)
  method moves(g: f32[4]) -> f32[4] = extern "libnet.so:moves" cost(bytes: 32)
  method update() = extern "libnet.so:update"
}
place net[i in 0..2] = Net() on cpu[i]
graph step(x: f32[4]) -> f32 {
  let ends = [net[i].learn(x) for i in 0..2]
  for i in 0..2 { net[i].take(net[1 - i].moves(ends[i].g)) }
  for n in net { n.update() }
  return ends[0].loss + ends[1].loss
}
graph other(x: f32[4]) { net[0].take(x) }
"""


def native(cgc):
    """Methods in native code without a cost are named once, with or without a plan's file; drawings
    call their results by their labels, and have no states that no program names."""
    cgc.write("native.cgraph", NATIVE)
    cgc("compile", "-q", "native.cgraph")
    cgc.write("update.json", '{"unit": "us", "calls": {"Net.update": 3, "net[0].learn": 1}}')
    cgc.write("each.json", '{"unit": "us", "calls": {"net[0].learn": 1, "net[1].learn": 1}}')
    cgc.write("all.json", '{"unit": "us", "default": 0, "calls": {}}')
    for flags, names in (([], ["Net.learn", "Net.update"]), (["--graph", "other"], []),
                         (["--profile", "update.json"], ["Net.learn"]),
                         (["--profile", "each.json"], ["Net.update"]),
                         (["--profile", "all.json"], [])):
        for source in ("native.cgraph", "native.cgplan"):
            said = re.findall(r"^without a cost: .*$", cgc("simulate", source, *flags)[0], re.M)
            told = json.loads(cgc("simulate", source, *flags, "--json")[0])
            expect(told["methods_without_cost"] == names, f"{flags}: {told}")
            expect(len(said) == (1 if names else 0), f"{flags}: {said}")
            if names:
                count = f"{len(names)} method{'s' if len(names) > 1 else ''} in native code"
                says(said[0], count, ": " + ", ".join(names) + ";", "cost(flops: ", "--profile")
    many = "".join(f'  method m{i}() = extern "libnet.so:m{i}"\n' for i in range(11))
    cgc.write("many.cgraph", "actor A() {\n" + many + "}\nplace a = A() on cpu[0]\ngraph g() {\n"
              + "".join(f"  a.m{i}()\n" for i in range(11)) + "}\n")
    says(cgc("simulate", "many.cgraph")[0], "without a cost: 11 methods", "A.m6, and 3 more; ")
    says(cgc("plan", "native.cgplan")[0], "cost not stated")
    dot, memory = (cgc("viz", "-q", "native.cgraph", "--graph", "step", "--what", *what)[0]
                   for what in (["graph", "--format", "dot"], ["memory"]))
    says(dot, "loss: f32[]", "g: f32[4]", "its object",
         "dashed: order through the named state of an actor, or its object of native code",
         "its object: take(0) reads what learn(0) wrote")
    says(memory, "object of net[0]", ">cpu[0] values<")
    for drawn in (dot, memory):
        expect("native object" not in drawn and "learn:" not in drawn, drawn)


def compile_flags(cgc):
    cgc.write("g.cgraph", "import std.tensor\nconst N = 2\nactor A() {\n"
              "  method f(x: f32[N]) -> f32[N] { return x + x }\n}\nplace a = A() on cpu[0]\n"
              "graph g(x: f32[N], y: f32[N]) -> f32[N] { return a.f(x) }\n")
    phases = ["syntax", "program", "graph", "transports", "schedule", "plan"]
    for i, phase in enumerate(phases):
        out, _ = cgc("compile", "g.cgraph", "--emit", phase, "--stop-after", phase, "-q")
        expect(out, f"--emit {phase} prints nothing")
        expect(not (cgc.folder / "g.cgplan").exists() or phase == "plan",
               f"--stop-after {phase} writes")
        cgc("compile", "g.cgraph", "--emit", f"{phase}=out.txt", "--stop-after", phase, "-q")
        expect((cgc.folder / "out.txt").read_text() == out, f"--emit {phase}=FILE")
        _, error = cgc("compile", "g.cgraph", "--time-phases", "--stop-after", phase, "-q")
        expect(len(re.findall(r"^\w+ +[\d.]+ ms$", error, re.M)) > i // 2, error)
    says(cgc("compile", "g.cgraph", "--emit", "plans", status=2)[1], "cgc: error: --emit plans",
         "syntax, program, graph")
    says(cgc("compile", "g.cgraph", "--stop-after", "x", status=2)[1], "--stop-after x")
    says(cgc("compile", "g.cgraph", "--emit", "graph=no/folder", status=3)[1],
         "cannot write no/folder")
    says(cgc("check", "g.cgraph", "--emit", "graph", "--json", status=2)[1], "KIND=FILE")
    # A warning is an error when that is asked for.
    says(cgc("check", "g.cgraph")[1], "warning: ", "[W0301]")
    expect(cgc("check", "g.cgraph", "-q")[1] == "", "-q prints no warnings")
    says(cgc("check", "g.cgraph", "--Werror", status=1)[1], "error: ", "[W0301]")
    leave_out(cgc)
    cgc.write("many.cgraph", "".join(f"const A{i} = missing{i}\n" for i in range(30)))
    for flags, shown in (([], 20), (["--max-errors", "3"], 3), (["--max-errors", "0"], 30)):
        _, error = cgc("check", "many.cgraph", *flags, status=1)
        expect(error.count("[E0301]") == shown, f"{flags}: {error.count('[E0301]')} errors")
        held_back = f"cgc: {30 - shown} more errors held back" if shown < 30 else ""
        expect(held_back in error and ("held back" in error) == (shown < 30), error)
    # Colours: only when asked for, or on a terminal.
    expect("\033[" in cgc("check", "many.cgraph", "--color", "always", status=1)[1],
           "--color=always")
    expect("\033[" not in cgc("check", "many.cgraph", status=1)[1], "no colours into a pipe")
    # Several files are one document.
    told = json.loads(cgc("check", "--json", "many.cgraph", "g.cgraph", "many.cgraph", status=1)[0])
    expect([d["file"] for d in told].count("many.cgraph") == 60 and told[30]["code"] == "W0301",
           told)
    # A time for what nothing calls, and an ending that says no format.
    cgc.write("profile.json", '{"unit": "us", "calls": {"A.f": 3, "A.ff": 4}}')
    says(cgc("simulate", "g.cgraph", "--profile", "profile.json")[1],
         "cgc: warning: profile.json: no graph of the plan calls `A.ff` (did you mean `A.f`?)")
    # What a profile says of the program that was measured is read strictly.
    for measured in ('{"machine": []}', '{"machine": {"cores": "2"}}', '{"machine": {"os": "x"}}',
                     '{"machine": {"gpus": [1]}}', '[]', '{"flops": {"A.f": 1}}',
                     '{"flops": {"A.f": [-1]}}', '{"consts": {"T": 1}}', '{"shapes": {}}'):
        cgc.write("profile.json", f'{{"default": 0, "unit": "us", "measured": {measured}}}')
        says(cgc("simulate", "g.cgraph", "--profile", "profile.json", status=1)[1],
             "cgc: error: profile.json: `measured` is an object with the texts `consts`")
    says(cgc("viz", "g.cgraph", "-o", "g.gif", status=2)[1],
         "cgc: error: no picture ends in `.gif`", "--format")
    says(cgc("check", "none.cgraph", status=3)[1], "cgc: error: cannot read none.cgraph")
    says(cgc("compile", "g.cgraph")[1], "1 graph, ", " instructions, proved")


def emitted(cgc):
    """A kind says the form, a file's ending nothing; and no source is lost, read so far or not."""
    cgc.write("far.cgraph", "import std.tensor\nconst N = 2\n")
    cgc.write("near.cgraph", "import far\nconst M = 2\n")
    actor = ("actor A() {\n  method forward(x: f32[2]) -> f32[2] { return x + x }\n"
             "  method backward(x: f32[2]) -> f32[2] { return x * x }\n}\n"
             "place a = A() on gpu[0]\n")
    cgc.write("p.cgraph", f"import near\nimport std.tensor\n{actor}"
              "graph g(x: f32[2]) -> [f32[2]; M] {\n"
              "  return [a.backward(a.forward(x)) for m in 0..M]\n}\n")
    order = "0F0,0B0,0F1,0B1\n"
    for command in ("check", "compile"):
        expect(cgc(command, "p.cgraph", "-q", "--emit", "schedule-csv")[0] == order, command)
        says(cgc(command, "p.cgraph", "-q", "--emit", "schedule")[0], "gpu[0] compute")
        expect(cgc(command, "p.cgraph", "-q", "--emit", "plan")[0], "a plan's text")
        for kind in ("schedule", "transports"):
            says(cgc(command, "p.cgraph", "--emit", f"{kind}=o.csv", status=2)[1],
                 f"--emit {kind}-csv=o.csv")
    cgc("check", "p.cgraph", "-q", "--emit", "schedule-csv=order")
    expect((cgc.folder / "order").read_text() == order, "a file of any name")
    says(cgc("check", "p.cgraph", "--stop-after", "schedule-csv", status=2)[1], "the phases are")

    sources = {name: (cgc.folder / name).read_text() for name in ("far.cgraph", "near.cgraph")}
    for kind in ("syntax", "program", "graph", "schedule", "schedule-csv", "plan"):
        for name, text in sources.items():
            said = cgc("compile", "p.cgraph", "--emit", f"{kind}={name}", status=2)[1]
            says(said, f"--emit {name} is the file that is read; name another one")
            expect((cgc.folder / name).read_text() == text, f"--emit {kind} overwrote {name}")
    cgc("compile", "p.cgraph", "--emit", "syntax=far.cgraph", "--stop-after", "syntax", status=2)
    expect((cgc.folder / "far.cgraph").read_text() == sources["far.cgraph"], "nor when it stops")
    library = ROOT / "stdlib/std/tensor.cgraph"
    text = library.read_text()
    for kind in ("syntax", "program"):
        cgc("check", "p.cgraph", "--emit", f"{kind}={library}", status=2)
        expect(library.read_text() == text, "the library")


def nodes(cgc):
    """Plans over several machines: every command takes them, and `simulate` says what it assumes of
    the network between them; with a topology what crosses goes through its NICs."""
    # A MB by each of four gpus of two machines.
    cgc.write("four.cgraph", "import std.tensor\n"
              "actor A { method f(x: f32[250000]) -> f32[250000] { return x + x } }\n"
              "place a[i in 0..4] = A() on node[i / 2].gpu[i % 2]\n"
              "graph inside(x: f32[250000]) -> f32[250000] { return a[1].f(a[0].f(x)) }\n"
              "graph across(x: f32[250000]) -> f32[250000] { return a[0].f(a[2].f(x)) }\n"
              "graph all(x: f32[250000]) -> [f32[250000]; 4] {\n"
              "  return all_reduce([p.f(x) for p in a], sum)\n}\n")
    for command in ("check", "compile", "simulate"):
        cgc(command, "four.cgraph")
    drawing = cgc("viz", "four.cgraph", "--graph", "all", "--what", "transports", "--format", "dot",
                  "-o", "-")[0]
    says(drawing, "cluster_node0", "cluster_node1")  # a frame for each machine
    assumed = cgc("simulate", "four.cgraph")[0]
    says(assumed, "25 GB/s and 5 us each way between machines (assumed); --topology states another",
         "between machines: times are bounds, what the network lets through")
    cgc.write("nics.cgraph", """topology nics() {
  device node[k].gpu[i] [k in 0..2, i in 0..2] { }
  device node[k].cpu[0] [k in 0..2] { }
  resource nic[k in 0..2] { bandwidth: 1GB/s }
  link node[k].gpu[i] -> node[k].gpu[1 - i] [k in 0..2, i in 0..2] { bandwidth: 100GB/s }
  link node[k].gpu[i] -> node[1 - k].gpu[j] [k in 0..2, i in 0..2, j in 0..2] {
    bandwidth: 1GB/s,
    through: [nic[k], nic[1 - k]]
  }
  link node[k].gpu[i] -> node[k].cpu[0] [k in 0..2, i in 0..2] { bandwidth: 50GB/s }
  link node[k].cpu[0] -> node[k].gpu[i] [k in 0..2, i in 0..2] { bandwidth: 50GB/s }
  link node[k].cpu[0] -> node[1 - k].cpu[0] [k in 0..2] { bandwidth: 50GB/s }
}
""")
    said = cgc("simulate", "four.cgraph", "--topology", "nics.cgraph")[0]
    says(said, "machine: nics\nbetween machines: times are bounds")
    expect("assumed" not in said, said)
    told = json.loads(cgc("simulate", "four.cgraph", "--topology", "nics.cgraph", "--json")[0])
    makespans = {graph["graph"]: graph["makespan_ps"] for graph in told["graphs"]}
    # A MB at 1 GB/s takes a millisecond; all of it has to leave each machine.
    expect(makespans["inside"] < 300_000_000, makespans)
    expect(1_000_000_000 < makespans["across"] < 1_300_000_000, makespans)
    expect(makespans["all"] > 1_000_000_000, makespans)
    # The library's: as many machines as are asked for.
    says(cgc("simulate", "four.cgraph", "--topology", "dgx_h100_cluster")[0],
         "machine: dgx_h100_cluster")
    says(cgc("check", "four.cgraph", "--topology", "dgx_h100_cluster(65)", status=1)[1],
         "1 to 64 machines, not 65")
    says(cgc("check", "four.cgraph", "--topology", "dgx_h100", status=1)[1],
         "the topology `dgx_h100` has no node[1].gpu[0] (it is of 1 node)")


def topologies(cgc):
    """A program takes its file's own topology, the library's or a file; a plan the last two."""
    cgc.write("box.cgraph", "topology box(lanes: int = 1) {\n  device gpu[i] [i in 0..2] { }\n"
              "  device cpu[0] { }\n"
              "  link gpu[0] -> gpu[1] { bandwidth: 1GB/s * lanes, latency: 1us }\n"
              "  link gpu[i] -> cpu[0] [i in 0..2] { bandwidth: 1GB/s }\n"
              "  link cpu[0] -> gpu[i] [i in 0..2] { bandwidth: 1GB/s }\n}\n")
    program = ("import std.tensor\n"
               "actor A() { method twice(x: f32[1000]) -> f32[1000] { return x + x } }\n"
               "place a[i in 0..2] = A() on gpu[i]\n"
               "graph g(x: f32[1000]) -> f32[1000] { return a[1].twice(a[0].twice(x)) }\n")
    cgc.write("g.cgraph", "import box\n" + program)

    def moved(*flags):
        """Picoseconds in which bytes come into gpu[1], or leave it."""
        graph = json.loads(cgc("simulate", *flags, "--json")[0])["graphs"][0]
        return next(d["transfer_ps"] for d in graph["devices"] if d["name"] == "gpu[1]")

    # 4000 bytes in: 1 us + 4 us, and out to the host in 4 us.
    expect(moved("g.cgraph", "--topology", "box") == 9_000_000, "a name that is imported")
    expect(moved("g.cgraph", "--topology", "box(4)") == 6_000_000, "an argument")
    expect(moved("g.cgraph", "--topology", "box.cgraph") == 9_000_000, "a file")
    expect(moved("g.cgraph", "--topology", "dgx1v") < 6_000_000, "the library's")
    cgc("compile", "g.cgraph", "--topology", "box(4)")
    says(cgc("plan", "g.cgplan")[0], "topology box(4)")
    expect(moved("g.cgplan") == 6_000_000, "as it was compiled")
    expect(moved("g.cgplan", "--topology", "box.cgraph") == 9_000_000, "a plan on another machine")
    says(cgc("simulate", "g.cgplan", "--topology", "dgx1w", status=2)[1],
         "there is no such topology (did you mean `dgx1v`?)")
    says(cgc("simulate", "g.cgplan", "--topology", "cpu", status=1)[1],
         "the topology `cpu` has no gpu[0], on which the plan runs")
    says(cgc("check", "g.cgraph", "--topology", "dgx1w", status=2)[1],
         "there is no topology `dgx1w` (did you mean `dgx1v`?)")
    says(cgc("check", "g.cgraph", "--topology", "none.cgraph", status=3)[1], "none.cgraph")
    says(cgc("simulate", "g.cgplan", "--topology", "none.cgraph", status=3)[1], "none.cgraph")
    says(cgc("check", "g.cgraph", "--topology", "g.cgraph", status=1)[1], "declares no topology")
    says(cgc("check", "g.cgraph", "--topology", "box(4, 5)", status=2)[1], "E04")
    says(cgc("check", "g.cgraph", "--topology", "box with (a = b)", status=2)[1], "E0323")
    says(cgc("check", "g.cgraph", "--topology", "box(", status=2)[1], "E02")


def usage(cgc):
    """Exit code 2 is for the command line: flags, their values, and names that the file lacks."""
    cgc.write("g.cgraph", "const N = 2\ngraph g(x: f32[N]) -> f32[N] { return x }\n")
    cgc("compile", "g.cgraph", "-q")
    cgc.write("empty.cgraph", "const N = 2\n")
    cgc.write("two.cgraph", "const N = 2\n")
    cgc.write("three.cgraph", "const N = 3\n")
    cgc.write("over.cgraph",
              "import two as m\ngraph g(x: f32[m.N]) -> f32[m.N] { return x }\n")
    cgc.write("again.cgraph", "import two as m\nimport three as m\nimport two as n\n"
              "graph g(x: f32[n.N]) -> f32[n.N] { return x }\n")
    for flags, n in (([], 2), (["-D", "m=three"], 3), (["-D", "m.N=4"], 4)):
        cgc("check", "over.cgraph", *flags)
        for words in (["compile", "--emit", "graph"], ["simulate", "--emit", "graph"],
                      ["viz", "--emit", "graph", "--what", "graph", "-o", "over.svg"]):
            says(cgc(*words, "-q", "over.cgraph", *flags)[0], f"input  x: %0 f32[{n}]")
    cgc("fmt", "--check", "over.cgraph")
    # Each name that the module of -D lacks says where it was looked for.
    cgc.write("whole.cgraph", """import std.tensor
const K = 2
type Row = f32[4]
optimizer plain() {
  method update(w: f32[*s], g: f32[*s]) -> f32[*s] { return w - g }
}
actor Net() {
  param w: Row = ones()
  method f(x: Row) -> Row { return x * w }
  method g(x: Row) -> Row { return x + w }
}
schedule early() {
  prefer f > g
}
transport fast = shm(capacity: 4)
fn twice(x: Row) -> Row { return x + x }
""")
    cgc.write("uses.cgraph", """import std.tensor
import whole as m
actor Own() {
  param w: f32[4] = ones()
  method f(x: f32[4]) -> f32[4] { return x * w }
  method g(x: f32[4]) -> f32[4] { return x + w }
}
place a = m.Net() on cpu[0]
place b = Own() on cpu[1] trained by m.plain()
graph g(x: m.Row) -> f32[4] using m.early() { return m.twice(b.g(b.f(x)) via m.fast) * m.K }
graph h(x: f32[4]) -> f32[4] using m.early() { return m.twice(a.g(a.f(x))) }
""")
    cgc("check", "-q", "uses.cgraph")
    uses = (cgc.folder / "uses.cgraph").read_text()
    cgc.write("wrong.cgraph", uses.replace("m.early", "m.eraly"))
    says(cgc("check", "wrong.cgraph", status=1)[1],
         "`m` declares no schedule `eraly`", "(did you mean `early`?)")
    for flags, where in ((["-D", "m=two"], "`two`, which -D m=two names,"), ([], "`m`")):
        if not flags:
            cgc.write("whole.cgraph", "const J = 2\n")
        lines = [line for line in cgc("check", *flags, "uses.cgraph", status=1)[1].splitlines()
                 if ": error: " in line]
        expect(len(lines) == 9 and all(f"{where} declares no " in line for line in lines), lines)
    cgc("simulate", "g.cgraph", "--trace", "run.json")
    cgc.write("events.json", '[{"ph": "X", "name": "g", "ts": 1, "dur": 2, "pid": 0, "tid": 0}]')
    for status, words, line in [
            (2, "name a command: compile, check", ""),
            (2, "`cgc check g.cgraph`", "g.cgraph"), (2, "did you mean `check`?", "chekc g.cgraph"),
            (2, "name a FILE", "check"),
            (2, "name one FILE, and not 2", "compile g.cgraph g.cgraph"),
            (2, "--schedule is given 2 times; give it once",
             "check g.cgraph --schedule auto --schedule auto"),
            (2, "there is no flag `--inflght` (did you mean `--inflight`?)",
             "check g.cgraph --inflght 2"),
            (2, "there is no flag `--N` (did you mean `-D N=3`?)", "check g.cgraph --N 3"),
            (2, "there is no flag `--N`\n", "fmt g.cgraph --N 3"),
            (2, "--inflight 0: expected a number from 1 to 1024", "check g.cgraph --inflight 0"),
            (2, "--workers 0: expected a number from 1 to 1024", "simulate g.cgraph --workers 0"),
            (2, "--cores", "simulate g.cgraph --cores 2"),
            (2, "--cores 0: expected a number from 1 to 1024",
             "simulate g.cgraph --workers 2 --cores 0"),
            (2, "--workers -1: expected a number from 1 to", "simulate g.cgraph --workers -1"),
            (2, "--workers 1e9: expected a number from 1", "simulate g.cgraph --workers 1e9"),
            (2, "--workers 99999999999999999999: expected a number",
             "viz g.cgraph --workers 99999999999999999999"),
            (2, "--max-errors -1: expected a number from 0 on", "check g.cgraph --max-errors -1"),
            (2, "--color re: there is no `re`; it is one of auto, always",
             "check g.cgraph --color re"),
            (2, "(did you mean `schedule`?)", "viz g.cgraph --what schedul"),
            (2, "--graph needs a value: NAME", "check g.cgraph --graph"),
            (2, "--overlap and --no-overlap exclude", "check g.cgraph --overlap --no-overlap"),
            (2, "--capacity x: expected a number", "verify g.cgplan --capacity x"),
            (2, "--emit x", "compile g.cgraph --emit x"), (2, "-D N", "check g.cgraph -D N"),
            (2, "no const, dtype or alias `M`", "check g.cgraph -D M=1"),
            (2, "which -D m=tow names (did you mean `two`?)", "check over.cgraph -D m=tow"),
            (2, "`m` stands for a module (two), and", "check over.cgraph -D m=two.cgraph"),
            (2, "`two` has no const or dtype `M`; it has N", "check over.cgraph -D m.M=3"),
            (2, "`m.N` is a const of two and of three; give", "check again.cgraph -D m.N=3"),
            (2, "`m` is an alias of two and of three; give", "check again.cgraph -D m=two"),
            (2, "-D m.N=3 and -D n.N=4 give one const", "check again.cgraph -D m.N=3 -D n.N=4"),
            (2, "-D N=x", "check g.cgraph -D N=x"),
            (2, "no graph `h`", "check g.cgraph --graph h"),
            (2, "--graph h", "viz g.cgplan --graph h"),
            (2, "--graph h", "simulate g.cgplan --graph h"),
            (2, "--device-map x", "compile g.cgraph --device-map x"),
            (2, "g.cgraph is a source", "verify g.cgraph"),
            (2, "g.cgraph is a source", "plan g.cgraph"),
            (2, "no dot form", "viz g.cgraph --what memory --format dot"),
            (2, "there is no schedule `foo`; there are auto, dualpipe_v,",
             "check g.cgraph --schedule foo"),
            (2, "(did you mean `gpipe`?)", "check g.cgraph --schedule gpip"),
            (2, "[E0202]", "check g.cgraph --schedule gpipe("),
            (2, "g.cgplan is a plan, compiled already", "compile g.cgplan"),
            (2, "g.cgplan is a plan, compiled already", "check g.cgplan"),
            (2, "g.cgplan is a plan, compiled already", "fmt g.cgplan"),
            (2, "the file has no graph `other`; it has g", "check g.cgraph --graph other"),
            (2, "one graph is drawn at a time", "viz g.cgraph --graph g --graph g"),
            (2, "(did you mean `--output`?)", "viz g.cgraph --out x"),
            (2, "--inflight needs a number", "check g.cgraph --inflight"),
            (1, "no JSON object, which a profile is", "simulate g.cgraph --profile g.cgraph"),
            (1, "run.json: a trace, as `cgrun --trace` writes it, of what ran when; a profile has "
             "the mean time of each call, and `cgrun --profile FILE` writes one",
             "simulate g.cgraph --profile run.json"),
            (1, "events.json: a trace, as", "simulate g.cgraph --profile events.json"),
            (1, "the plan has no graph", "viz empty.cgraph"),
            (1, "[E0504]", "check g.cgraph -D N=-1"),
            (3, "cannot read none.cgraph", "check none.cgraph"),
            (3, "cannot read none", "simulate g.cgraph --profile none")]:
        says(cgc(*line.split(), status=status)[1], "error: ", words)


def workers(cgc):
    """Lanes that share a worker take turns, in the table, in JSON and in a drawing."""
    cgc.write("two.cgraph", "import std.tensor\n"
              "actor A() { method f(x: f32) -> f32 { return x + x } }\n"
              "place a[i in 0..2] = A() on cpu[i]\n"
              "graph g(x: f32) -> [f32; 2] { return [each.f(x) for each in a] }\n")
    cgc.write("ms.json", '{"unit": "ms", "default": 0, "calls": {"A.f": 3}}')
    cgc("compile", "two.cgraph", "-q")
    for source in ("two.cgraph", "two.cgplan"):
        for flags, makespan, busy in (([], 3, None), (["--workers", "1"], 6, [6]),
                                      (["--workers", "2"], 3, [3, 3]),
                                      (["--workers", "2", "--cores", "1"], 6, [3, 3])):
            (graph,) = json.loads(cgc("simulate", source, "--profile", "ms.json", *flags,
                                      "--json")[0])["graphs"]
            expect(graph["makespan_ps"] == makespan * 10**9, f"{flags}: {graph}")
            told = graph.get("workers")
            expect((told and [each["busy_ps"] for each in told])
                   == (busy and [each * 10**9 for each in busy]), f"{flags}: {told}")
    says(cgc("simulate", "two.cgplan", "--profile", "ms.json", "--workers", "1")[0],
         "worker  busy  waiting\n0       6 ms     0 ps\n", "busiest worker 6 ms")
    drawn = [cgc("viz", "two.cgplan", "--what", "timeline", "--profile", "ms.json", *flags)[0]
             for flags in ([], ["--workers", "1"])]
    expect("6 ms" not in drawn[0] and "6 ms" in drawn[1], "the timeline of one worker")
    # The timetable, for other viewers: lanes as threads, both workers' executions.
    cgc("simulate", "two.cgplan", "--profile", "ms.json", "--workers", "1", "--executions", "3",
        "--trace", "t.json")
    text = (cgc.folder / "t.json").read_text()
    expect(traces.faults(text) == [] and traces.self_test() > 5, traces.faults(text))
    events = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X"]
    expect(sorted((e["ts"], e["dur"]) for e in events) == [(3000 * i, 3000) for i in range(6)],
           f"six calls of 3 ms one after the other: {events}")
    expect({e["args"]["execution"] for e in events} == {0, 1, 2}, events)
    says(cgc("simulate", "two.cgraph", "--trace", "two.cgraph", status=2)[1], "two.cgraph")
    says(cgc("simulate", "two.cgraph", "--trace", "no/t.json", status=3)[1], "no/t.json")
    # The order of a plan that does not prove is nobody's.
    text = json.loads(cgc("plan", "two.cgplan", "--json")[0])
    for instruction in text["graphs"][0]["instructions"]:
        instruction["certificate_position"] = 0
    cgc.write("wrong.json", json.dumps(text))
    cgc("plan", "--from-json", "wrong.json", "-o", "wrong.cgplan")
    cgc("simulate", "wrong.cgplan")
    says(cgc("simulate", "wrong.cgplan", "--workers", "1", status=1)[1],
         "wrong.cgplan: --workers needs a proved plan")
    says(cgc("viz", "wrong.cgplan", "--workers", "1", status=1)[1], "--workers needs a proved plan")


HALVES = """import std.tensor
actor Half() {
  state w: f32[4, 4] = ones()
  method run(x: f32[4, 4]) -> f32[4, 4] { return x @ w }
}
place half[p in 0..3, t in 0..2] = Half() on gpu[p * 2 + t]
graph encode(x: f32[4, 4]) -> f32[4, 4] {
  var h = x
  for p in 0..3 { h = all_reduce([half[p, t].run(h) for t in 0..2], sum)[0] }
  return h
}
"""


def partition(cgc):
    """Devices that work at the same time get several workers; calls below a hop get one."""
    cgc.write("halves.cgraph", HALVES)
    cgc.write("halves.json", '{"unit": "us", "default": 0, "calls": {"Half.run": 7}}')
    cgc.write("tiny.json", '{"unit": "ns", "default": 0, "calls": {"Half.run": 7}}')
    for flags in ([], ["-o", "halves.cgplan"]):
        file = "halves.cgraph"
        if flags:
            cgc("compile", file, "--workers", "2", "--profile", "halves.json", *flags)
            file = "halves.cgplan"
        told = json.loads(cgc("simulate", file, "--workers", "2", "--profile", "halves.json",
                              "--json")[0])["graphs"][0]
        expect(told["makespan_ps"] == 3 * 7_000_000, f"both halves at once: {told}")
    says(cgc("plan", "halves.cgplan")[0], "plan format 4, 2 workers")
    cgc("compile", "halves.cgraph", "--workers", "2", "--profile", "tiny.json", "-o", "t.cgplan")
    says(cgc("plan", "t.cgplan")[0], "plan format 4, 1 workers")
    says(cgc("verify", "t.cgplan")[1], "proved")


def layout(cgc):
    """Nothing stands between a comment and the comma or bracket behind it."""
    text = "graph g(x: f32[4] /* in */, _y: f32 /* out */) -> f32[4] { return x }\n"
    cgc.write("comments.cgraph", text)
    expect(cgc("fmt", "comments.cgraph")[0] == text, cgc("fmt", "comments.cgraph")[0])


OLD = """import std.tensor as t
import lib
// A comment stays, in an argument, too.
graph g(x: f32[2, 6], y: f32[3, 6]) -> (f32, f32[5, 6], f32[6], f32[2]) {
  let most = t.max_dim(t.select(t.less(x, 0.0), 0.0, x), dim: 1)
  return (
    t.sum(t.sum_dim(x /* all */ - 1.0, dim: -1) - most), t.concat(x, y, dim: 0),
    lib.scaled(x[0] + 1.0), lib.deep(most)
  )
}
"""
NEW = """import std.tensor as t
import lib
// A comment stays, in an argument, too.
graph g(x: f32[2, 6], y: f32[3, 6]) -> (f32, f32[5, 6], f32[6], f32[2]) {
  let most = t.max(t.where(t.less(x, 0.0), 0.0, x), dim: 1)
  return (
    t.sum(t.sum(x /* all */ - 1.0, dim: -1) - most), t.concat([x, y], dim: 0),
    ((x[0] + 1.0) * 2.5), (most + 1.0)
  )
}
"""
OLD_LIBRARY = """import std.tensor
fn scaled(x: f32[n], by: float = 2.5) -> f32[n] deprecated x * by { return x * by }
fn deep(x: f32[n]) -> f32[n] deprecated deeper(x) { return x + 1.0 }
fn deeper(x: f32[n]) -> f32[n] deprecated x + 1.0 { return x + 1.0 }
fn circle(x: f32[n]) -> f32[n] deprecated circle(x * 1.0) { return x }
"""


def fix(cgc):
    """Calls of what is deprecated are rewritten, those inside others, too; nothing else is."""
    cgc.write("old.cgraph", OLD)
    cgc.write("lib.cgraph", OLD_LIBRARY)
    told = json.loads(cgc("fix", "old.cgraph", "--json")[0])
    expect(told["files"] == [{"file": "old.cgraph", "fixes": 7}], told)
    expect((cgc.folder / "old.cgraph").read_text() == NEW, (cgc.folder / "old.cgraph").read_text())
    expect("old.cgraph:" not in cgc("fix", "old.cgraph")[1], "nothing of it is left")
    cgc.write("wrong.cgraph", OLD.replace("-> (f32,", "-> (f33,"))
    says(cgc("fix", "wrong.cgraph", status=1)[1], "[E0304]")
    expect("t.max_dim" in (cgc.folder / "wrong.cgraph").read_text(), "a wrong program stays")
    circle = "import lib\ngraph g(x: f32[2]) -> f32[2] { return circle(x) }\n"
    cgc.write("circle.cgraph", circle)
    says(cgc("fix", "circle.cgraph")[1], "circle.cgraph is as it was: with its fixes written, as "
         "many are left", "`circle` is deprecated")
    expect((cgc.folder / "circle.cgraph").read_text() == circle, "no round of a circle is kept")
    says(cgc("fix", "-", status=2)[1], "it rewrites files")
    commented = ("import std.tensor\n"
                 "graph g(x: f32[2]) -> f32 { return sum_dim(x, /* all */ dim: 0) }\n")
    cgc.write("commented.cgraph", commented)
    says(cgc("fix", "commented.cgraph")[1], "`sum_dim` is deprecated")
    expect((cgc.folder / "commented.cgraph").read_text() == commented, "its comment would be lost")
    says(cgc("fix", "none.cgraph", status=3)[1], "cannot read none.cgraph")


TESTS = [topologies, usage, workers, partition, layout, fix, explain, examples, mistakes, spelling,
         native, compile_flags, emitted, nodes, viz]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    options = parser.parse_args()
    for test in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            test(Cgc(options.cgc, folder))
    print(f"{len(TESTS)} tests, {expectations.checks} checks")
    sys.exit(0 if expectations.checks else 1)


if __name__ == "__main__":
    main()

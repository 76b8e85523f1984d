#!/usr/bin/python3
"""cgc as users and scripts meet it: exit codes, messages, flags, what is printed where.

  cgc_test.py --cgc build/release/cgc
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

CATALOGUE = pathlib.Path(__file__).resolve().parents[2] / "compiler/base/diagnostics.def"

checks = 0


def expect(condition, what):
    global checks
    checks += 1
    if not condition:
        sys.exit(f"FAILED: {what}")


def says(text, *words):
    for word in words:
        expect(word in text, f"{word!r} is not in:\n{text}")


class Cgc:
    """Runs in a folder of its own."""

    def __init__(self, cgc, folder):
        self.cgc, self.folder = cgc, pathlib.Path(folder)

    def __call__(self, *arguments, status=0, stdin=""):
        """Runs to the end; (standard output, standard error) as text."""
        done = subprocess.run([self.cgc, *map(str, arguments)], cwd=self.folder, input=stdin,
                              capture_output=True, text=True, timeout=60)
        expect(done.returncode == status, f"{arguments}: exit code {done.returncode}, not {status}\n"
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
    first = listed[0]
    for code in (first["code"], first["code"].lower()):
        out, _ = cgc("explain", code)
        expect(out.startswith(f"{first['code']}: {first['title']}\n\n{first['explanation']}"), out)
    expect(json.loads(cgc("explain", first["code"], "--json")[0]) == first, "one code as JSON")
    says(cgc("explain", "E010", status=2)[1], "there is no diagnostic E010; did you mean E0101?")
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
    says(cgc("viz", "-q", program, "-o", "x.jpeg", status=2)[1], "`.jpeg`", "dot, svg, png, pdf, html")
    expect(not (cgc.folder / "x.jpeg").exists(), "no picture that is none")
    says(cgc("viz", "-q", program, "--what", "memory", "--format", "dot", status=1)[1], "no dot form")
    line = "graph round_trip(x: u8[1]) -> u8[1] { return a.echo(x) }"
    says(cgc("viz", "-q", program, "--format", "dot")[0], "program.cgraph:4:46", line)
    out, _ = cgc("viz", "-q", "program.cgplan", "--format", "dot")
    says(out, "program.cgraph:4:46")
    expect(line not in out, "a plan may name any file: none is opened")


TESTS = [explain, viz]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    options = parser.parse_args()
    for test in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            test(Cgc(options.cgc, folder))
    print(f"{len(TESTS)} tests, {checks} checks")
    sys.exit(0 if checks else 1)


if __name__ == "__main__":
    main()

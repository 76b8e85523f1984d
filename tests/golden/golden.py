#!/usr/bin/python3
"""Golden tests: a source file with its expectations in it, rewritten by `golden.py --update`.

A file `NAME.cgraph` that compiles names the commands to run in its first lines and holds what they
print on standard output at its end; `| grep PATTERN` keeps the lines in which the pattern occurs,
and `2>&1` before it adds what they print on standard error:

    // RUN: cgc compile --emit graph --stop-after graph FILE
    // RUN: cgc compile --emit plan FILE | grep wait|signal
    ...
    //> %0 f32[4] = add(...)

A file `fail_NAME.cgraph` must be refused; every diagnostic stands under the line that it is about,
with the text that it marks (`at COLUMN` where that occurs twice in the line), its notes and its
fixes, and there are no others. What is not about a line of the file stands at the top.
`// RUN: cgc check -D N=x FILE` adds flags.

    let y = a.forwad(x)
    //! E0312 error `forwad`: actor `A` has no method `forwad` (did you mean `forward`?)
    //!   note `A`: the actor is declared here

Files to import are in cases/lib. Every code of compiler/base/diagnostics/diagnostics.def is
expected in some file or named in uncovered.txt with the reason why no file can show it.

  golden.py --cgc build/release/cgc [--update] [NAME...]
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
CATALOGUE = HERE.parents[1] / "compiler/base/diagnostics/diagnostics.def"
DIAGNOSTIC, OUTPUT, RUN = "//!", "//>", "// RUN: "
MARK_LENGTH = 40


def run(cgc, words, path, source):
    """Runs cgc in a folder that holds the case's source and the files that cases import."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(CASES / "lib", pathlib.Path(folder) / "lib")
        (pathlib.Path(folder) / path.name).write_text("\n".join(source) + "\n")
        arguments = [path.name if word == "FILE" else word for word in words]
        return subprocess.run([cgc, *arguments], capture_output=True, text=True, timeout=60,
                              cwd=folder)


def commands_of(source):
    commands = [line[len(RUN):] for line in source if line.startswith(RUN)]
    for command in commands:
        if not command.startswith("cgc "):
            raise AssertionError(f"only cgc is run here: {command}")
    return [command[len("cgc "):] for command in commands]


def indent_of(line):
    return line[:len(line) - len(line.lstrip())]


def mark(place, name, source):
    """The text that a diagnostic, note or fix is about, or the other file that it points at."""
    if "line" not in place:
        return ""
    if place["file"] != name:
        return " in " + place["file"]
    line = source[place["line"] - 1]
    begin = place["column"] - 1
    end = place["end_column"] - 1 if place["end_line"] == place["line"] else len(line)
    text = line[begin:end]
    where = f" at {place['column']}" if not text or line.count(text) > 1 else ""
    if len(text) > MARK_LENGTH or place["end_line"] != place["line"]:
        text = text[:MARK_LENGTH] + "..."
    return f" `{text}`{where}" if text else where


def expect_diagnostics(cgc, path, lines):
    """The file's lines with the diagnostics that cgc reports under the lines they are about."""
    source = [line for line in lines if not line.lstrip().startswith(DIAGNOSTIC)]
    words = (commands_of(source) or ["check FILE"])[0].split()
    done = run(cgc, [*words, "--json"], path, source)
    if done.returncode not in (1, 2):  # 2: the command line is wrong
        raise AssertionError(f"exits with {done.returncode}, not 1 or 2\n{done.stderr}")
    under = {}
    for found in json.loads(done.stdout):
        at = lambda place: mark(place, path.name, source)
        text = [f" {found['code']} {found['severity']}{at(found)}: {found['message']}"]
        text += [f"   note{at(note)}: {note['message']}" for note in found["notes"]]
        text += [f"   fix{at(fix)}: {fix['text']}" for fix in found["fixes"]]
        # A message of several lines stays one expectation.
        here = found.get("line", 0) if found.get("file") == path.name else 0
        under.setdefault(here, []).extend(t.replace("\n", " \\n ") for t in text)
    result = [DIAGNOSTIC + text for text in under.pop(0, [])]
    for number, line in enumerate(source, 1):
        result.append(line)
        result += [indent_of(line) + DIAGNOSTIC + text for text in under.pop(number, [])]
    if under:
        raise AssertionError(f"diagnostics outside the file: {under}")
    return result


def expect_output(cgc, path, lines):
    """The file's lines with what its commands print at the end."""
    source = [line for line in lines if not line.startswith(OUTPUT)]
    while source and not source[-1]:
        source.pop()
    commands = commands_of(source)
    if not commands:
        raise AssertionError("has no `// RUN:` line")
    result = source + [""]
    for command in commands:
        command, _, pattern = command.partition(" | grep ")
        command, both, _ = command.partition(" 2>&1")
        done = run(cgc, command.split(), path, source)
        if done.returncode:
            raise AssertionError(f"cgc {command} exits with {done.returncode}\n{done.stderr}")
        printed = done.stdout + (done.stderr if both else "")
        kept = [line for line in printed.splitlines() if re.search(pattern, line)]
        if not kept:
            raise AssertionError(f"cgc {command} prints nothing that is kept")
        result += [f"{OUTPUT} {line}".rstrip() for line in kept]
    return result


# Cases with something wrong in each: a message, a code, a diagnostic too many, and one too few;
# what a command prints.
PLANTED = {
    "fail_message": ["const A = B", "//! E0301 error `B`: `B` is not declare"],
    "fail_code": ["const A = B", "//! E0302 error `B`: `B` is not declared"],
    "fail_many": ["const A = B", "//! E0301 error `B`: `B` is not declared",
                  "//! E0302 error: too"],
    "fail_few": ["const A = B"],
    "program_output": ["// RUN: cgc check FILE --emit program", "const A = 1", "",
                       "//> const A = 2"],
}


def self_test(cgc):
    for name, lines in PLANTED.items():
        make = expect_diagnostics if name.startswith("fail_") else expect_output
        try:
            wanted = make(cgc, pathlib.Path(f"{name}.cgraph"), lines)
        except AssertionError:
            continue
        if wanted == lines:
            sys.exit(f"self-test: nothing was found in {name}")
    right = PLANTED["fail_few"] + ["//! E0301 error `B`: `B` is not declared"]
    if expect_diagnostics(cgc, pathlib.Path("fail_right.cgraph"), right) != right:
        sys.exit("self-test: what is right was refused")
    if not coverage_faults({"E1", "E2"}, {"E1"}, {}) or not coverage_faults({"E1"}, {"E1"},
                                                                            {"E1": "x"}):
        sys.exit("self-test: a code that no case shows, or one that is excused in vain, is not "
                 "found")
    return len(PLANTED) + 3


def coverage_faults(codes, shown, excused):
    faults = [f"{code}: no case shows it, and uncovered.txt does not excuse it"
              for code in sorted(codes - shown - set(excused))]
    faults += [f"{code}: excused by uncovered.txt, but a case shows it"
               for code in sorted(shown & set(excused))]
    faults += [f"{code}: in uncovered.txt, but not in the catalogue"
               for code in sorted(set(excused) - codes)]
    faults += [f"{code}: uncovered.txt gives no reason"
               for code in sorted(excused) if not excused[code]]
    return faults


def check_coverage():
    """Checks that each code of the catalogue is shown by a case or excused, and not both."""
    codes = set(re.findall(r"^DIAGNOSTIC\((\w+),", CATALOGUE.read_text(), re.MULTILINE))
    shown = set()
    for path in CASES.glob("fail_*.cgraph"):
        shown |= set(re.findall(rf"^\s*{DIAGNOSTIC} (\w+) ", path.read_text(), re.MULTILINE))
    excused = {}
    for line in (HERE / "uncovered.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            code, _, reason = line.partition(" ")
            excused[code] = reason.strip()
    faults = coverage_faults(codes, shown, excused)
    for fault in faults:
        print(fault)
    print(f"codes: {len(codes)}, {len(shown & codes)} shown by cases, {len(excused)} excused, "
          f"{len(faults)} faults")
    return not faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()

    planted = self_test(options.cgc)
    checked, failed = 0, 0
    for path in sorted(CASES.glob("*.cgraph")):
        if options.names and path.stem not in options.names:
            continue
        checked += 1
        lines = path.read_text().splitlines()
        make = expect_diagnostics if path.name.startswith("fail_") else expect_output
        try:
            wanted = make(options.cgc, path, lines)
        except AssertionError as error:
            print(f"{path.name}: {error}")
            failed += 1
            continue
        if wanted == lines:
            continue
        if options.update:
            path.write_text("\n".join(wanted) + "\n")
            print(f"{path.name}: updated")
            continue
        failed += 1
        print(f"{path.name}: differs (golden.py --update rewrites it; read the diff)")
        for got in (line for line in wanted if line not in lines):
            print(f"  now:    {got}")
        for old in (line for line in lines if line not in wanted):
            print(f"  before: {old}")
    print(f"golden: {checked} files checked, {failed} failed; {planted} planted cases")
    covered = bool(options.names) or check_coverage()
    sys.exit(1 if failed or not checked or not covered else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The shape of sources: lines of at most 100 columns, files of at most 600 lines; diagnostics in
the order of their codes.

What stands inside a raw string of C++ is a text of another language, and not measured. The check
counts what it looked at and fails on nothing; it plants what must be found first.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_COLUMNS = 100
MOST_LINES = 600  # of what is no test
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)
SUFFIXES = (".h", ".cpp", ".cu", ".fbs", ".py")


def without_raw_strings(text):
    """The same lines, those inside raw strings empty."""
    return RAW_STRING.sub(lambda match: "\n" * match[0].count("\n"), text)


def faults(path, text):
    found = []
    measured = without_raw_strings(text) if path.endswith((".h", ".cpp", ".cu")) else text
    for number, line in enumerate(measured.splitlines(), 1):
        if len(line) > MOST_COLUMNS:
            found.append(f"{path}:{number}: {len(line)} columns, {MOST_COLUMNS} are the most")
    lines = len(text.splitlines())
    if path.startswith(("compiler/", "runtime/")) and lines > MOST_LINES:
        found.append(f"{path}: {lines} lines, {MOST_LINES} are the most: find the concept in it "
                     "that deserves a file")
    return found


def misplaced(path, text):
    """Entries of a catalogue of diagnostics that stand behind one with a greater code."""
    codes = re.findall(r"^(?:DIAGNOSTIC|EXAMPLE)\((\w+),", text, re.M)
    return [f"{path}: {second} stands behind {first}; diagnostics are in the order of their codes"
            for first, second in zip(codes, codes[1:]) if first >= second]


def self_test():
    """Plants what is wrong, and what is not; returns how many."""
    catalogue = 'DIAGNOSTIC(E0101, kError, "a", "b")\nDIAGNOSTIC(E0302, kError, "a",\n  "b")\n'
    if misplaced("a.def", catalogue) or len(misplaced("a.def", catalogue + catalogue)) != 1:
        sys.exit("self-test: a diagnostic out of order was not found, or one in order was")
    long = "x" * (MOST_COLUMNS + 1)
    wrong = {"compiler/a.cpp": long, "tests/a.py": f"a\n# {long}", "runtime/a.h": "\n" * 601,
             "tests/b.cpp": f'R"(a\n)" {long}'}
    right = {"compiler/a.cpp": "x" * MOST_COLUMNS, "tests/a.cpp": f'auto x = R"(\n{long}\n)";',
             "tests/c.cpp": "\n" * 601}
    for path, text in wrong.items():
        if len(faults(path, text)) != 1:
            sys.exit(f"self-test: what was planted in {path} was not found")
    for path, text in right.items():
        if faults(path, text):
            sys.exit(f"self-test: {path} was refused, and nothing is wrong in it")
    return len(wrong) + len(right) + 2


def sources():
    # Also what git does not know yet; without git, everything that no build has made.
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        paths = listed.stdout.splitlines()
    else:
        paths = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    return sorted({p for p in paths if not p.startswith(("build/", ".")) and (ROOT / p).is_file()
                   and (p.endswith(SUFFIXES) or is_script(ROOT / p))})


def is_script(path):
    """A program in a language of scripts, whose name says nothing of it."""
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def main():
    planted = self_test()
    files = sources()
    found = [fault for path in files for fault in faults(path, (ROOT / path).read_text())]
    catalogues = sorted((ROOT / "compiler/base/diagnostics").rglob("*.def"))
    for path in catalogues:
        found += misplaced(path.relative_to(ROOT), path.read_text())
    print("\n".join(found) + "\n" if found else "", end="")
    print(f"shape: {len(files)} files, {len(found)} faults; {planted} planted cases")
    sys.exit(1 if found or not files or not catalogues else 0)


if __name__ == "__main__":
    main()

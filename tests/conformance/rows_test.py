#!/usr/bin/python3
"""Every row of README.md names tests that exist, and every test with a row in its name is there.

A file of C++ shows a row by a TEST_CASE that begins with the row; a golden case by its file's name;
a Python test by the function that is named behind it. `none: why` is a row that no test shows.
"""
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
TABLE_ROW = re.compile(r"\| ([SCRDG]\d+) \| [^|]+ \| ([^|]+) \|")
NAMED = re.compile(r"`([\w./*]+)`(?: \(`(\w+)`\))?")
CASE = re.compile(r'TEST_CASE\("([SCRDG]\d+)\b')
GOLDEN = re.compile(r"[a-z]+_([scrdg]\d+)_")
ROWS = {"S": 17, "C": 5, "R": 12, "D": 12, "G": 5}


def shown_by(path, function, text):
    """The rows that a test file shows by its names; with `function`, whether that is in it."""
    if function:
        return f"def {function}(" in text
    if path.endswith(".cpp"):
        return set(CASE.findall(text))
    return {row.upper() for row in GOLDEN.findall(path.rsplit("/", 1)[-1])}


def faults(table, files):
    """`files`: path -> text of all tests. What is wrong between them and the table."""
    named, found = {}, []
    for row, tests in TABLE_ROW.findall(table):
        if row in named:
            found.append(f"{row} is there twice")
        named[row] = set()
        if tests.startswith("none"):
            continue
        for pattern, function in NAMED.findall(tests):
            paths = [path for path in files if pathlib.PurePath("tests", path).match(pattern)]
            named[row].update(paths)
            for path in paths:
                shown = shown_by(path, function, files[path])
                named_alike = pattern.startswith("golden/") and not GOLDEN.search(pattern)
                if not named_alike and shown is not True and (not shown or row not in shown):
                    found.append(f"{row}: {path} has no test of that name")
            if not paths:
                found.append(f"{row}: there is no {pattern}")
    found += [f"{kind}{i} is missing" for kind, most in ROWS.items() for i in range(1, most + 1)
              if f"{kind}{i}" not in named]
    for path, text in files.items():
        for row in shown_by(path, None, text) if path.endswith((".cpp", ".cgraph")) else ():
            if path not in named.get(row, ()):
                found.append(f"{path} shows {row}, and the table does not say so")
    return len(named), found


def self_test(table, files):
    """Plants a lost test, a lost row and a test that the table does not know."""
    case = 'TEST_CASE("S1 echo'
    lost = {path: text.replace(case, 'TEST_CASE("echo') for path, text in files.items()}
    unknown = {**files, "unit/new_test.cpp": case}
    row = TABLE_ROW.search(table)[0]
    planted = [(table, lost), (table, unknown), (table.replace(row, ""), files),
               (table.replace("`overlap`", "`overlapping`"), files)]
    for number, (rows, tests) in enumerate(planted):
        if not faults(rows, tests)[1]:
            sys.exit(f"self-test: planted fault {number} was not found")
    return len(planted)


def main():
    table = pathlib.Path(__file__).with_name("README.md").read_text()
    paths = [p for folder in ("unit", "conformance", "golden/cases", "command", "examples")
             for p in sorted((TESTS / folder).rglob("*")) if p.suffix in (".cpp", ".py", ".cgraph")]
    files = {str(p.relative_to(TESTS)): p.read_text() for p in paths}
    planted = self_test(table, files)
    rows, found = faults(table, files)
    print("\n".join(found) + "\n" if found else "", end="")
    print(f"conformance rows: {rows} rows, {len(files)} files, {len(found)} faults; {planted} "
          "planted cases")
    sys.exit(1 if found or rows == 0 else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Golden tests: a source file with its expectations in it, rewritten by `golden.py --update`.

A file `NAME.cgraph` that compiles names the commands to run in its first lines and holds what they
print on standard output at its end:

    // RUN: cgc compile --emit graph --stop-after graph FILE
    ...
    //> %0 f32[4] = add(...)

A file `fail_NAME.cgraph` must be refused; every diagnostic stands under the line that it is about,
with its notes, and there are no others:

    let y = a.forwad(x)
    //! E0310 error: ...
    //! note: ...

  golden.py --cgc build/release/cgc [--update] [NAME...]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent / "cases"
DIAGNOSTIC, OUTPUT, RUN = "//! ", "//>", "// RUN: "


def run(cgc, arguments, cwd):
    return subprocess.run([cgc, *arguments], capture_output=True, text=True, timeout=60, cwd=cwd)


def indent_of(line):
    return line[:len(line) - len(line.lstrip())]


def expect_diagnostics(cgc, path, lines):
    """The file's lines with the diagnostics that cgc reports under the lines they are about."""
    source = [line for line in lines if not line.lstrip().startswith(DIAGNOSTIC.strip())]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / path.name
        copy.write_text("\n".join(source) + "\n")
        done = run(cgc, ["check", "--json", path.name], folder)
    if done.returncode != 1:
        raise AssertionError(f"exits with {done.returncode}, not 1\n{done.stderr}")
    under = {}
    for found in json.loads(done.stdout):
        text = [f"{DIAGNOSTIC}{found['code']} {found['severity']}: {found['message']}"]
        text += [f"{DIAGNOSTIC}note: {note['message']}" for note in found["notes"]]
        # A message of several lines stays one expectation.
        under.setdefault(found["line"], []).extend(t.replace("\n", " \\n ") for t in text)
    result = []
    for number, line in enumerate(source, 1):
        result.append(line)
        result += [indent_of(line) + text for text in under.pop(number, [])]
    if under:
        raise AssertionError(f"diagnostics outside the file: {under}")
    return result


def expect_output(cgc, path, lines):
    """The file's lines with what its commands print at the end."""
    source = [line for line in lines if not line.startswith(OUTPUT)]
    while source and not source[-1]:
        source.pop()
    commands = [line[len(RUN):].split() for line in source if line.startswith(RUN)]
    if not commands:
        raise AssertionError("has no `// RUN:` line")
    result = source + [""]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / path.name).write_text("\n".join(source) + "\n")
        for command in commands:
            if command[0] != "cgc":
                raise AssertionError(f"only cgc is run here, not {command[0]}")
            done = run(cgc, [path.name if word == "FILE" else word for word in command[1:]], folder)
            if done.returncode:
                raise AssertionError(f"{' '.join(command)} exits with {done.returncode}\n{done.stderr}")
            result += [f"{OUTPUT} {line}".rstrip() for line in done.stdout.splitlines()]
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()

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
    print(f"golden: {checked} files checked, {failed} failed")
    sys.exit(1 if failed or not checked else 0)


if __name__ == "__main__":
    main()

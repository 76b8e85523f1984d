#!/usr/bin/python3
"""No circle of units in runtime/. A unit is a header and the sources of its stem; an arrow is an
include of another unit's header.

A circle is read as one piece: none of its units can be understood, built or tested before the
others. The check counts what it looked at and fails on nothing; it plants circles first and sees
them found.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"(runtime/[^"]+)"', re.M)
SUFFIXES = (".h", ".cpp", ".cu", ".inc", ".def")

# Circles that are natural, each with its units and the reason.
NATURAL = []
# Circles that are still there, each with its units. A unit that has left its circle has to leave
# the list, too; none may be added.
STILL = []


def unit_of(path):
    return str(pathlib.PurePath(path).with_suffix(""))


def arrows_between(files):
    """`files`: path -> text. Returns unit -> the units that it includes."""
    arrows = {unit_of(path): set() for path in files}
    for path, text in files.items():
        unit = unit_of(path)
        arrows[unit] |= {unit_of(to) for to in INCLUDE.findall(text)} & arrows.keys() - {unit}
    return arrows


def circles_of(arrows):
    """Tarjan's strongly connected components of more than one unit."""
    index, low, stack, found = {}, {}, [], []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        for to in sorted(arrows[unit]):
            if to not in index:
                visit(to)
            if to in stack:
                low[unit] = min(low[unit], low[to])
        if low[unit] == index[unit]:
            circle = stack[stack.index(unit):]
            del stack[-len(circle):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for unit in sorted(arrows):
        if unit not in index:
            visit(unit)
    return sorted(found)


def faults(circles, natural, still):
    told = []
    for circle in circles:
        listed = [units for units, _ in natural] + still
        if not any(set(circle) <= set(units) for units in listed):
            told.append(f"a circle of {len(circle)} units that include each other: "
                        + ", ".join(circle))
    for units in [units for units, _ in natural] + still:
        gone = sorted(set(units) - {unit for circle in circles for unit in circle})
        if gone:
            told.append("in no circle any more, take off the list: " + ", ".join(gone))
    return told


def self_test():
    def planted(*pairs):
        return {f"runtime/{path}": "".join(f'#include "runtime/{to}"\n' for to in includes)
                for path, includes in pairs}

    def told(files, natural=(), still=()):
        return faults(circles_of(arrows_between(files)), list(natural), list(still))

    # The source of a goes to b, whose header goes to a.
    circle = planted(("a.h", []), ("a.cpp", ["a.h", "b.h"]), ("b.h", ["a.h"]))
    wrong = [
        told(circle),
        told(circle, still=[["runtime/a"]]),  # b has joined
        told(planted(("a.h", ["b.h"]), ("b.h", ["c.h"]), ("c.h", ["a.h"]))),
        told(planted(("a.h", [])), still=[["runtime/a", "runtime/b"]]),  # gone, and still listed
        told(planted(("a.h", [])), natural=[(["runtime/a", "runtime/b"], "reason")]),
    ]
    right = [
        told(planted(("a.h", []), ("a.cpp", ["a.h", "b.h"]), ("b.h", []), ("b.cpp", ["b.h"]))),
        told(circle, still=[["runtime/a", "runtime/b"]]),
        told(circle, natural=[(["runtime/a", "runtime/b"], "reason")]),
    ]
    if not all(wrong) or any(right):
        sys.exit("self-test: a planted circle was not found, or what is none was refused")
    return len(wrong) + len(right)


def main():
    planted = self_test()
    files = {str(path.relative_to(ROOT)): path.read_text()
             for path in (ROOT / "runtime").rglob("*") if path.suffix in SUFFIXES}
    arrows = arrows_between(files)
    circles = circles_of(arrows)
    told = faults(circles, NATURAL, STILL)
    print("\n".join(told) + "\n" if told else "", end="")
    print(f"circles: {len(arrows)} units, {sum(map(len, arrows.values()))} arrows, {len(circles)} "
          f"circles, {len(told)} faults; {planted} planted cases")
    sys.exit(1 if told or not any(arrows.values()) else 0)


if __name__ == "__main__":
    main()

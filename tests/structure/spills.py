#!/usr/bin/env python3
"""No kernel of runtime/device/cuda spills registers, as the assembler says (FILE.fatbin.resources
beside each image), beyond the list below, with reasons. What a kernel spills goes through memory.

  spills.py FOLDER ARCHITECTURE...      FOLDER: where the images of runtime/device/cuda/kernels are
  spills.py --self-test
"""
import pathlib
import re
import sys

# A pattern of kernels' names, most bytes stored, and why they may.
ALLOWED = [
]
# Kernels that must be there, whose registers are counted in the design: attention's softmax rows.
EXPECTED = [r"^Softmax_f32", r"^Softmax_f16", r"^Softmax_bf16", r"^Softmax_f64"]
ENTRY = re.compile(
    r"Compiling entry function '(\S+)' for '(sm_\w+)'\n(?:.*\n)*?"
    r"\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n"
    r".*Used (\d+) registers")


class Kernel:
    def __init__(self, found):
        self.name, self.architecture = found[0], found[1]
        self.stack, self.stores, self.loads, self.registers = map(int, found[2:])

    def __str__(self):
        return (f"{self.name} for {self.architecture}: {self.stores} bytes of spilled registers "
                f"stored, {self.loads} loaded; {self.registers} registers")


def read(text):
    return [Kernel(found) for found in ENTRY.findall(text)]


def faults(kernels, architectures, allowed, expected):
    told = []
    for each in kernels:
        most = max((most for pattern, most, _ in allowed if re.search(pattern, each.name)),
                   default=0)
        if max(each.stores, each.loads) > most:
            told.append(f"{each}; {most} bytes are allowed")
    for pattern, most, reason in allowed:
        if not any(re.search(pattern, each.name) and each.stores for each in kernels):
            told.append(f"{pattern} ({reason}) spills no more: take it off the list")
    for architecture in architectures:
        here = [each.name for each in kernels if each.architecture == architecture]
        for pattern in expected:
            if not any(re.search(pattern, name) for name in here):
                told.append(f"{architecture}: the assembler names no kernel {pattern}")
    return told


def self_test():
    def entry(name, stores, architecture="sm_90"):
        return (f"ptxas info    : Compiling entry function '{name}' for '{architecture}'\n"
                f"ptxas info    : Function properties for {name}\n"
                f"    8 bytes stack frame, {stores} bytes spill stores, {stores} bytes spill "
                "loads\nptxas info    : Used 40 registers, used 1 barriers\n")

    kernels = read("ptxas info    : 0 bytes gmem\n" + entry("A_f32", 0) + entry("B_f32", 12))
    assert [each.name for each in kernels] == ["A_f32", "B_f32"], kernels
    assert kernels[1].stores == 12 and kernels[1].registers == 40
    assert len(faults(kernels, ["sm_90"], [], [])) == 1
    assert faults(kernels, ["sm_90"], [("^B_", 12, "why")], ["^A_"]) == []
    assert len(faults(kernels, ["sm_90"], [("^B_", 8, "why")], [])) == 1
    assert len(faults(kernels[:1], ["sm_90"], [("^B_", 8, "why")], [])) == 1
    assert len(faults(kernels[:1], ["sm_90"], [], ["^C_"])) == 1
    assert len(faults(kernels[:1], ["sm_90", "sm_80"], [], ["^A_"])) == 1
    print("8 checks")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    folder, architectures = pathlib.Path(sys.argv[1]), sys.argv[2:]
    files = sorted(folder.rglob("*.resources"))
    kernels = [each for path in files for each in read(path.read_text())]
    told = faults(kernels, architectures, ALLOWED, EXPECTED)
    for line in told:
        print(line)
    named = sum(path.read_text().count("Compiling entry function") for path in files)
    if named != len(kernels):
        told.append("")
        print(f"{named} kernels are named, and {len(kernels)} are understood")
    spilled = [each for each in kernels if each.stores]
    most = max((each.registers for each in kernels), default=0)
    print(f"{len(kernels)} kernels of {len(files)} images for {' '.join(architectures)}: "
          f"{len(spilled)} spill; {most} registers at most")
    if told or not kernels:
        sys.exit(1)


if __name__ == "__main__":
    main()

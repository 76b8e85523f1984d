#!/usr/bin/python3
"""The version of the interface to libcgraph_cuda.so is raised with its headers.

Objects of C++ cross from the library to the program, so both must have the same headers:
runtime/device/cuda_library/interface.h and all of ours that it includes, directly or not. This
check takes a digest of them, without comments and layout. interface.h has the one of its version;
the check fails where the headers are no more what they were. Then raise kCudaInterface there, call

  tests/structure/plugin_interface.py --update
"""
import argparse
import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST = "runtime/device/cuda_library/interface.h"
GENERATED = {"runtime/plan/plan_generated.h": "runtime/plan/plan.fbs"}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]((?:runtime|cgraph)/[^">]+)[">]', re.M)
VERSION = re.compile(r"kCudaInterface = (\d+);  // (\d+): ?(\w*)")
STRING = r'"(?:\\.|[^"\\\n])*"'


def read(path):
    return (ROOT / path).read_text()


def headers(reads):
    """Returns the text of each header that the interface includes, and its own, by path."""
    found, wanted = {}, [FIRST]
    while wanted:
        path = wanted.pop()
        path = GENERATED.get(path, path)
        if path.startswith("cgraph/"):
            path = f"runtime/include/{path}"
        if path not in found:
            found[path] = reads(path)
            wanted += INCLUDE.findall(found[path])
    return found


def digest(texts):
    whole = hashlib.sha256()
    for path, text in sorted(texts.items()):
        text = VERSION.sub("", text)  # which may be raised without a change
        text = re.sub(rf"({STRING})|//[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.S)
        whole.update(f"{path}\n{' '.join(text.split())}\n".encode())
    return whole.hexdigest()[:16]


def fault(version, now, recorded):
    """Returns what is wrong; nothing where the record is that of these headers."""
    if [str(version), now] == recorded:
        return None
    if now != recorded[1] and str(version) == recorded[0]:
        return (f"headers of the interface to libcgraph_cuda.so are not those of version {version} "
                f"any more; raise kCudaInterface in {FIRST}, and call plugin_interface.py --update")
    return f"version {version} is not recorded; call plugin_interface.py --update"


def self_test(texts, version, now):
    def changed(path, more):
        return digest(texts | {path: texts[path] + more})
    device = "runtime/device/device.h"
    same = [changed(device, "// What a device is like.\n"), changed(device, "\n\n")]
    other = [changed(device, "int x;\n"), changed("runtime/plan/plan.fbs", "enum X: ubyte { a }\n")]
    if any(text != now for text in same) or any(text == now for text in other):
        sys.exit("self-test: a change was taken for none, or a comment for one")
    recorded = [str(version), now]
    if (fault(version, now, recorded) or not fault(version, other[0], recorded)
            or not fault(version + 1, other[0], recorded)):
        sys.exit("self-test: a wrong record was not found")
    return len(same) + len(other) + 3


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    texts = headers(read)
    written = VERSION.search(texts[FIRST])
    version, recorded = int(written[1]), [written[2], written[3]]
    now = digest(texts)
    planted = self_test(texts, version, now)
    found = fault(version, now, recorded)
    if options.update and found and (version > int(recorded[0]) or not recorded[1]):
        line = f"kCudaInterface = {version};  // {version}: {now}"
        (ROOT / FIRST).write_text(VERSION.sub(line, texts[FIRST]))
        found = None
    if found:
        sys.exit(found)
    print(f"plugin interface: {len(texts)} headers, version {version}; {planted} planted cases")


if __name__ == "__main__":
    main()

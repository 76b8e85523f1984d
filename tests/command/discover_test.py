#!/usr/bin/python3
"""cgrun --discover: what it writes is a topology that cgc takes, with every device and every link.

On a machine without GPUs, and on emulated ones, whose figures mean nothing and are above 0 all the
same.

  discover_test.py --cgc cgc --cgrun cgrun [--emulated FOLDER]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect, says  # noqa: E402

GPUS = 3
LINK = re.compile(r"link (\w+\[\w\]) -> (\w+\[\w\]).*?\{\s*bandwidth: ([\d.]+)GB/s,\s*"
                  r"latency: ([\d.]+)ns", re.S)
PROGRAM = """import std.tensor
actor A() { method f(x: f32[4]) -> f32[4] { return x + 1 } }
place c = A() on cpu[0]
%s
graph g(x: f32[4]) -> f32[4] { return %s }
"""


def run(*words, status=0, **environment):
    kept = {key: value for key, value in os.environ.items()
            if key not in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=120, env=kept | environment, check=False)
    expect(done.returncode == status, f"{words}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout, done.stderr


def program(folder, gpus):
    """One that has a place on every gpu, and a value that goes from each to the next."""
    call = "c.f(x)"
    for i in range(gpus):
        call = f"a[{i}].f({call})"
    places = f"place a[i in 0..{gpus}] = A() on gpu[i]" if gpus else ""
    path = folder / "program.cgraph"
    path.write_text(PROGRAM % (places, call))
    return path


def rates_are_positive(text):
    for number in re.findall(r": ([\d.]+)(?:GB/s|GFLOPS|ns|MiB)", text):
        expect(float(number) > 0, f"a figure of {number} in\n{text}")


def cores_alone(options, folder):
    path = folder / "cores.cgraph"
    out, error = run(options.cgrun, "--discover", path)
    says(out, "--topology")
    if "no GPU was measured: " not in out:
        return  # this machine has some
    text = path.read_text()
    expect("gpu[" not in text, text)
    says(text, "topology discovered()", "device cpu[i]", "There is no GPU.")
    rates_are_positive(text)
    head = text[:text.index("topology")].splitlines()
    expect(all(50 < len(line) <= 100 for line in head[1:-1]), head)
    says(" ".join(head).replace(" // ", " "), "1 GB/s is 1e9", "1 GFLOPS is 1e9")
    told = json.loads(run(options.cgrun, "--discover", path, "--json")[0])
    expect(told["gpus"] == [] and told["cores"] > 0 and "\n" in told["problem"], told)
    for words in ([path, folder / "x"], [path, "-n", "3"], [path, "--devices"]):
        says(run(options.cgrun, "--discover", *words, status=2)[1], "cgrun: error: ")
    says(run(options.cgrun, "--discover", path, "--timeout", "x", status=2)[1], "--timeout x")
    run(options.cgc, "check", program(folder, 0), "--topology", path)
    # A program with gpus is not scheduled for a machine without any.
    _, error = run(options.cgc, "check", program(folder, 1), "--topology", path, status=1)
    says(error, "gpu[0]")
    own = program(folder, 0)
    text = own.read_text()
    _, error = run(options.cgrun, "--discover", own, status=1)
    says(error, "did not write it")
    expect(own.read_text() == text, "a program was written over")
    _, error = run(options.cgrun, "--discover", folder / "machine.json", status=1)
    says(error, "does not end in .cgraph")
    _, error = run(options.cgrun, "--discover", folder / "none" / "x.cgraph", status=3)
    says(error, "x.cgraph")


def with_gpus(options, folder):
    path = folder / "gpus.cgraph"
    out, _ = run(options.cgrun, "--discover", path,
                 LD_LIBRARY_PATH=f"{options.emulated}:{pathlib.Path(options.cgrun).parent}",
                 CGRAPH_EMULATION=f"devices={GPUS},seed=3,memory=33554432")
    says(out, f"{GPUS} GPUs")
    text = path.read_text()
    rates_are_positive(text)
    links = {(a, b): (float(bandwidth), float(latency))
             for a, b, bandwidth, latency in LINK.findall(text)}
    gpus = [f"gpu[{i}]" for i in range(GPUS)]
    wanted = {(a, b) for a in gpus for b in gpus if a != b}
    wanted |= {pair for gpu in gpus for pair in ((gpu, "cpu[0]"), ("cpu[0]", gpu))}
    expect(set(links) == wanted, f"links {sorted(links)}, not {sorted(wanted)}")
    expect(all(each > 0 for figures in links.values() for each in figures), links)
    expect(text.count("// Through the memory of the host: ") == GPUS * (GPUS - 1), text)
    expect(text.count("  // 2 copy engines; ") == GPUS, text)
    for i in range(GPUS):
        says(text, f"resource host_copies_{i} {{ bandwidth: ")
        expect(text.count(f", through: host_copies_{i} }}") == 2, text)
    for rate in ("rate_f32", "rate_f16", "rate_f64", "launch", "memory"):
        expect(text.count(f"    {rate}: ") == GPUS + 1, f"{rate} in\n{text}")
    plan = folder / "program.cgplan"
    run(options.cgc, "compile", "-q", program(folder, GPUS), "--topology", path, "-o", plan)
    told, _ = run(options.cgc, "simulate", "-q", plan, "--json")
    says(told, "makespan_ps")


def told_of_gpus(options, folder):
    path = folder / "told.cgraph"
    emulated = {"LD_LIBRARY_PATH": f"{options.emulated}:{pathlib.Path(options.cgrun).parent}"}
    out, _ = run(options.cgrun, "--discover", path, "--json", **emulated,
                 CGRAPH_EMULATION="devices=1,seed=3,memory=33554432")
    told = json.loads(out)
    expect(told["gpus"] == [{"device": "cuda:0", "name": "Emulated GPU"}], told)
    expect(told["problem"] is None and told["topology"] == str(path), told)
    # A kernel that never ends: as much patience as was asked for.
    _, error = run(options.cgrun, "--discover", path, "--timeout", "0.5", status=1, **emulated,
                   CGRAPH_EMULATION="devices=1,seed=3,memory=33554432,endless=2")
    says(error, "cuda:0 does not come to an end of its work within 0.5 s", "--timeout")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True)
    parser.add_argument("--cgrun", required=True)
    parser.add_argument("--emulated", help="the folder of the emulated driver")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cores_alone(options, pathlib.Path(folder))
        if options.emulated:
            with_gpus(options, pathlib.Path(folder))
            told_of_gpus(options, pathlib.Path(folder))
    expect(expectations.checks > 20, f"only {expectations.checks} checks")
    print(f"{expectations.checks} checks")


if __name__ == "__main__":
    main()

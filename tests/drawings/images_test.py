#!/usr/bin/python3
"""The examples' pictures in docs/images are those that `cgc viz` draws today.

What Graphviz lays out looks a little different with every version of it, so such a picture carries
the digest of the dot text that it was made of, and that is compared; pictures that are wholly ours
are compared letter by letter. Every picture must be shown by the README or a page of docs.

  images_test.py --cgc build/release/cgc [--update]
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
PIPELINES = ["gpipe", "one_f_one_b", "zb_h1", "zb_h2", "zb_v", "own", "interleaved"]
WHOLE = ["gpipe", "one_f_one_b", "interleaved"]  # whose backward is one method
# example, kind, and the graph where there are several
PICTURES = [
    ("round_trip", "graph", None),
    ("chain", "timeline", None),
    ("scatter_gather", "graph", None),
    ("two_way", "schedule", None),
    ("counter", "schedule", "crossed"),
    ("digits/digits", "graph", None),
    ("digits/digits", "schedule", None),
    ("digits/digits", "transports", None),
    ("digits/digits", "memory", None),
    ("overlap", "timeline", "overlap"),
    ("pipeline_1f1b", "graph", None),
    ("pipeline_1f1b", "timeline", None),
    ("all_reduce_three_ways", "graph", None),
    ("costs/copies", "timeline", "all"),
    ("ping_pong_devices", "transports", "through_host"),
    ("minilm/minilm", "timeline", None),
    ("smollm2/smollm2", "timeline", "answer"),
    *((f"pipeline/{name}", "timeline", None) for name in PIPELINES),
]
# Else they are wider than a page can show.
WIDE = ["pipeline_1f1b", "costs/copies", "minilm/minilm", "smollm2/smollm2",
        *(f"pipeline/{name}" for name in PIPELINES)]
FLAGS = {
    "two_way": ["--lanes", "one"],
    "all_reduce_three_ways": ["--no-rewrite"],  # as it is written
    "pipeline/interleaved": ["--color-by", "micro-batch"],
    "minilm/minilm": ["--color-by", "micro-batch"],
    "smollm2/smollm2": ["-D", "T=3", "-D", "P=2"],
    "costs/copies": ["--lanes", "one", "--no-rewrite", "--topology", "examples/costs/box.cgraph",
                     "--profile", "examples/costs/copies.json"],
}
LAID_OUT = ("graph", "schedule", "transports")
DIGEST = re.compile(r"<!-- made of ([0-9a-f]{64}) -->")


def draw(cgc, example, what, graph, form):
    command = [str(cgc), "viz", "-q", f"examples/{example}.cgraph", "--what", what, "--format",
               form]
    command += ["--graph", graph] if graph else []
    command += FLAGS.get(example, [])
    command += ["--width", "1200"] if what == "timeline" and example in WIDE else []
    if example.startswith("pipeline/"):
        times = "times_whole" if example.removeprefix("pipeline/") in WHOLE else "times"
        command += ["--profile", f"examples/pipeline/{times}.json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(command)}\n{done.stderr}")
    return done.stdout


def is_fresh(cgc, path, picture):
    if not path.exists():
        return False
    text = path.read_text()
    if picture[1] not in LAID_OUT:
        return text == draw(cgc, *picture, "svg")
    made_of = DIGEST.search(text)
    dot = draw(cgc, *picture, "dot")
    return made_of is not None and made_of[1] == hashlib.sha256(dot.encode()).hexdigest()


def make(cgc, path, picture):
    svg = draw(cgc, *picture, "svg")
    if picture[1] in LAID_OUT:
        digest = hashlib.sha256(draw(cgc, *picture, "dot").encode()).hexdigest()
        svg = svg.rstrip() + f"\n<!-- made of {digest} -->\n"
    path.write_text(svg)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    pages = "".join(page.read_text()
                    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
    failures, wanted = [], set()
    IMAGES.mkdir(exist_ok=True)
    for picture in PICTURES:
        path = IMAGES / f"{pathlib.Path(picture[0]).name}.{picture[1]}.svg"
        wanted.add(path)
        if not is_fresh(options.cgc, path, picture):
            if options.update:
                make(options.cgc, path, picture)
                print(f"{path.relative_to(ROOT)}: updated")
            else:
                failures.append(f"{path.relative_to(ROOT)}: not what cgc draws (--update rewrites "
                                f"it)")
        if f"images/{path.name}" not in pages:
            failures.append(f"{path.relative_to(ROOT)}: not shown by the README or a page of docs")
    failures += [f"{path.relative_to(ROOT)}: nobody makes it" for path in IMAGES.iterdir()
                 if path not in wanted]
    print("".join(failure + "\n" for failure in failures), end="")
    print(f"images: {len(PICTURES)} pictures checked, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

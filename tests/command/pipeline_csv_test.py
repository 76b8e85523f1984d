#!/usr/bin/python3
"""The order of a pipeline as PyTorch's CSV: imported, kept by a program, written back, refused.

  pipeline_csv_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect, says  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACTION = re.compile(r"(\d+)(SEND_F|RECV_F|SEND_B|RECV_B|F|B|I|W)(\d+)")
# The lists of PyTorch's own tests of its passes that insert transfers: 1F1B, and a V.
SIMPLE = "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1,\n"
V = ("0F0,0F1,,3F0,3B0,3F1,3B1,0B0,3W0,0B1,3W1,0W0,0W1\n"
     ",1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1,2W0,2W1,1W0,1W1\n")
SIMPLE_SENT = ("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
               "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n")


def actions(text):
    """Returns the actions by rank, without idle steps."""
    return [[cell for cell in line.split(",") if cell] for line in text.splitlines()]


def flat(text):
    """Returns the calls by rank, one after the other, backwards in their halves."""
    rows = []
    for line in text.splitlines():
        rows.append([])
        for stage, kind, batch in ACTION.findall(line):
            for part in "IW" if kind == "B" else [kind]:
                rows[-1].append(f"{stage}{part}{batch}")
    return rows


def dualpipe_v(p, m):
    """The eight phases of DualPipe-V, rank by rank."""
    text = ""
    for rank in range(p):
        stage, batch = (rank, 2 * p - 1 - rank), {"F": [0, 0], "B": [0, 0]}
        row, put_off = [], []

        def take(kind, chunk):
            number = batch[kind][chunk]
            batch[kind][chunk] += 1
            return f"{stage[chunk]}{{}}{number}".format

        def forward(chunk):
            row.append(take("F", chunk)("F"))

        def backward(chunk, whole=True):
            cell = take("B", chunk)
            row.append(cell("B" if whole else "I"))
            if not whole:
                put_off.append(cell("W"))

        def pair(ahead, back):
            row.append(f"({take('F', ahead)('F')};{take('B', back)('B')})OVERLAP_F_B")

        for _ in range(2 * (p - rank - 1)):
            forward(0)
        for _ in range(rank + 1):
            forward(0), forward(1)
        for _ in range(p - rank - 1):
            backward(1, whole=False), row.append(put_off.pop(0)), forward(1)
        for i in range(m - 2 * p + rank + 1):
            if i == 0 and rank == p - 1:
                forward(0), backward(1)
            else:
                pair(0, 1)
            pair(1, 0)
        for _ in range(p - rank - 1):
            backward(1), pair(1, 0)
        for i in range(2 * (rank + 1)):
            backward(1 - i % 2, whole=i < rank + 1)
        for _ in range(p - rank - 1):
            row.append(put_off.pop(0)), backward(0, whole=False)
        row += put_off
        text += ",".join(row) + "\n"
    return text


def home(text):
    """Returns the rank by stage."""
    found = {int(stage): rank for rank, line in enumerate(text.splitlines())
             for stage, _, _ in ACTION.findall(line)}
    return [found[stage] for stage in sorted(found)]


def program(text, name="given"):
    """A pipeline with the stages and micro-batches of a CSV, by an imported schedule."""
    ranks = home(text)
    batches = 1 + max(int(batch) for _, _, batch in ACTION.findall(text))
    back = """      let (back, keep) = stage[S - 1 - i].backward_input(kept[S - 1 - i], g)
      stage[S - 1 - i].backward_weight(keep)
      g = back""" if "W" in text else "      g = stage[S - 1 - i].backward(kept[S - 1 - i], g)"
    return f"""import std.tensor
import {name}
const S = {len(ranks)}
const RANK = {ranks}
actor Stage() {{
  state w: f32[2] = zeros()
  method forward(x: f32[2]) -> f32[2] {{ return x + x }}
  method backward(x: f32[2], g: f32[2]) -> f32[2] {{
    w += x
    return x * g
  }}
  method backward_input(x: f32[2], g: f32[2]) -> (f32[2], f32[2]) {{ return (x * g, x + g) }}
  method backward_weight(x: f32[2]) {{ w += x }}
}}
place stage[s in 0..S] = Stage() on gpu[RANK[s]]
graph step(x: f32[2]) using {name} {{
  for mb in 0..{batches} {{
    var h = x
    var kept = []
    for each in stage {{
      h = each.forward(h)
      kept += [h]
    }}
    var g = h
    for i in 0..S {{
{back}
    }}
  }}
}}
"""


class Tools:
    def __init__(self, cgc, cgrun, folder, sanitized):
        self.cgc, self.cgrun, self.folder = cgc, cgrun, pathlib.Path(folder)
        self.sanitized = sanitized

    def run(self, *words, status=0, program=None):
        done = subprocess.run([program or self.cgc, *map(str, words)], cwd=self.folder,
                              capture_output=True, timeout=120)
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        expect(done.returncode == status,
               f"{words}: exit code {done.returncode}, not {status}\n{out}{err}")
        return out + err

    def write(self, name, text):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(self.folder / name, mode) as file:
            file.write(text)
        return name

    def read(self, name):
        return (self.folder / name).read_text()

    def export(self, text, what="schedule"):
        """Imports a CSV, compiles a pipeline that keeps it, and writes that one's order."""
        self.run("import-schedule", self.write("given.csv", text), "-o", "given.cgraph")
        self.write("p.cgraph", program(text))
        self.run("compile", "p.cgraph", "--emit", f"{what}-csv=out.csv", "-q", "-o", "p.cgplan")
        return self.read("out.csv")


def round_trips(tools):
    for text in (SIMPLE, V, dualpipe_v(2, 4), dualpipe_v(3, 7), dualpipe_v(4, 10), "0F0,0B0\n",
                 "0F0,1F0,1B0,0B0\n", "0F0,0F1,0I0,0I1,0W0,0W1\n"):
        once = tools.export(text)
        # B with a W is I: PyTorch's older files have it so.
        wanted = re.sub(r"(\d)B", r"\1I", text) if text == V else text
        expect(actions(once) == actions(wanted), f"{text}\nbecame\n{once}")
        expect(tools.export(once) == once, f"the second time {once} becomes another")
    expect(tools.export(SIMPLE) == SIMPLE.rstrip(",\n") + "\n", tools.export(SIMPLE))
    # The known first rows.
    says(dualpipe_v(4, 10), "0F6,7F0,7I0,7W0,7F1,7I1,7W1,7F2,7I2,7W2,7F3,(0F7;7B3)OVERLAP_F_B,")

    # With transfers, which are checked and left out again.
    sent = tools.export(V, "transports")
    for word in ("0SEND_F0", "1RECV_F0", "2SEND_F1", "3RECV_F1", "1SEND_B0", "0RECV_B0"):
        says(sent, word)
    expect(",," not in sent, sent)
    expect(flat(tools.export(sent)) == flat(tools.export(V)), sent)
    expect(actions(tools.export(SIMPLE_SENT)) == actions(SIMPLE), "without transfers")


def safe(tools):
    """Plans that keep an order prove where a send waits for its receiver, overlap or not."""
    files = sorted((ROOT / "tests/data/pipelines").glob("*.csv"))
    expect(len(files) == 8, files)
    for file in files:
        tools.export(file.read_text())
        for overlap in ("--overlap", "--no-overlap"):
            tools.run("compile", "p.cgraph", overlap, "-q", "-o", "p.cgplan")
            says(tools.run("verify", "--capacity", 0, "p.cgplan"), "proved")


def messages(tools):
    """Two values of a call that go in one message, or in two, are one transfer."""
    tools.write("m.cgraph", """import std.tensor
actor A() {
  method forward(x: f32[2], u: f32[2]) -> (f32[2], f32[2]) { return (x + u, x * u) }
  method backward(x: f32[2], u: f32[2]) -> (f32[2], f32[2]) { return (x * x, u + u) }
}
place a[i in 0..2] = A() on gpu[i]
graph g(x: f32[2]) -> [f32[2]; 3] {
  var out = []
  for m in 0..3 {
    let (p, q) = a[0].forward(x, x)
    let (r, s) = a[1].forward(p, q)
    let (t, u) = a[1].backward(r, s)
    let (v, w) = a[0].backward(t, u)
    out += [v + w]
  }
  return out
}
""")
    wanted = [[f"0F{m}", f"0SEND_F{m}", f"0RECV_B{m}", f"0B{m}"] for m in range(3)]
    for flag in ("--overlap", "--no-rewrite"):
        tools.run("compile", "m.cgraph", flag, "-q", "--emit", "transports-csv=m.csv")
        expect(actions(tools.read("m.csv"))[0] == sum(wanted, []), tools.read("m.csv"))


def left_out(tools):
    """What PyTorch does for sharded parameters, which it writes wherever it writes transfers."""
    sharded = ("0UNSHARD," + SIMPLE_SENT.replace("\n", ",0REDUCE_GRAD,0RESHARD\n1UNSHARD,", 1)
               .rstrip("\n") + ",1REDUCE_GRAD,1RESHARD\n")
    said = tools.run("import-schedule", tools.write("given.csv", sharded), "-o", "s.cgraph")
    says(said, "cgc: note: given.csv: left out REDUCE_GRAD, RESHARD, UNSHARD")
    expect(actions(tools.export(sharded)) == actions(SIMPLE), "with all that is left out")
    expect("left out" not in tools.run("import-schedule", tools.write("given.csv", SIMPLE)), "none")


MESH = """import std.tensor
import std.schedules
actor Stage() {
  method forward(x: f32[4]) -> f32[4] { return x + 1.0 }
  method backward(g: f32[4]) -> f32[4] { return g * 2.0 }
}
place stage[r in 0..2, s in 0..2] = Stage() on gpu[r * 2 + s]
"""


def replicas(tools):
    """Pipelines side by side have the order that each of them has, or none."""
    one = """fn one(r: int, x: f32[4]) -> f32[4] {
  let y = stage[r, 1].forward(stage[r, 0].forward(x))
  return stage[r, 0].backward(stage[r, 1].backward(y))
}
"""
    tools.write("mesh.cgraph", MESH + one + """graph step(x: f32[2, 2, 4]) -> [[f32[4]; 2]; 2] {
  return [[one(r, x[r][m]) for m in 0..2] for r in 0..2]
}""")
    for flags in ([], ["--schedule", "one_f_one_b(2, along: s)"]):
        tools.run("compile", "mesh.cgraph", "-q", "--emit", "schedule-csv=m.csv", *flags)
        expect(sorted(sum(actions(tools.read("m.csv")), [])) ==
               sorted(f"{s}{k}{m}" for s in range(2) for k in "FB" for m in range(2)),
               tools.read("m.csv"))
    expect(tools.read("m.csv") == SIMPLE.rstrip(",\n") + "\n", tools.read("m.csv"))
    tools.write("mesh.cgraph", MESH + one + """
graph step(x: f32[2, 3, 4]) -> ([f32[4]; 2], [f32[4]; 3]) {
  return ([one(0, x[0][m]) for m in 0..2], [one(1, x[1][m]) for m in 0..3])
}""")
    says(tools.run("compile", "mesh.cgraph", "--emit", "schedule-csv=m.csv", status=1),
         "2 pipelines side by side, whose orders differ", "`stage[0, 0]`", "`stage[1, 0]`")
    # Two shards of a stage are no two stages.
    tools.write("mesh.cgraph", MESH + """graph step(x: f32[2, 4]) -> [[f32[4]; 2]; 2] {
  var out = []
  for m in 0..2 {
    let h = all_reduce([p.forward(x[m]) for p in stage[:, 0]], sum)
    let g = [stage[r, 1].backward(stage[r, 1].forward(h[r])) for r in 0..2]
    out += [[stage[r, 0].backward(g[r]) for r in 0..2]]
  }
  return out
}""")
    says(tools.run("compile", "mesh.cgraph", "--emit", "schedule-csv=m.csv", status=1),
         "`stage[1, 0].forward` uses nothing of what `stage[0, 0].forward` makes")


def names(tools):
    tools.write("1f1b v2.csv", SIMPLE)
    says(tools.run("import-schedule", "1f1b v2.csv"), "schedule schedule_1f1b_v2() {",
         "order forward by schedule_1f1b_v2_forward[s][mb], backward by")
    tools.write("for.csv", SIMPLE)
    says(tools.run("import-schedule", "for.csv"), "schedule schedule_for() {")
    says(tools.run("import-schedule", "for.csv", "--name", "mine"), "schedule mine() {")
    for name in ("for", "auto", "a b", "1st", "x(", "é"):
        says(tools.run("import-schedule", "for.csv", "--name", name, status=2), "--name")
    says(tools.run("import-schedule", "for.csv", "--json"), '"microbatches": 2', '"ranks": 2')
    tools.run("import-schedule", "none.csv", status=3)
    tools.run("import-schedule", "for.csv", "-o", "for.csv", status=2)
    tools.run("import-schedule", "for.csv", "-o", "no/folder", status=3)


REFUSED = [
    ("", "is empty"), (",\n,\n", "rank 0 does nothing"),
    ("0F0,0B0\n\n1F0,1B0", "rank 1 does nothing"),
    ("0F0,0B0x\n", ":1: cell 2: `0B0x`: `x` stands after the micro-batch"),
    ("0F0,0B\n", "which micro-batch? Write 0B0"), ("0F0;0B0\n", "`;0B0` stands after"),
    ("0F0, 0 B0\n", "`0 B0` is no action"), ("F0\n", "`F0` is no action"),
    ("0F0,0G0\n", "there is no action `G`; there are F, B, I, W, SEND_F"),
    ("-1F0\n", "`-1F0` is no action"), ("0f0\n", "`0f0` is no action"),
    ("0F0,0UNSHARD1\n", "there is no action `UNSHARD`"),
    ("0F0,UNSHARD\n", "`UNSHARD` is no action"),
    ("(0F0;0B0)\n", "is no pair"), ("(0F0;1F0)OVERLAP_F_B\n", "is no pair"),
    ("(0F0;0B0)OVERLAP_F_Bx\n", "is no pair"), ("(0F0)OVERLAP_F_B\n", "is no pair"),
    ("(0F0;0B0;0W0)OVERLAP_F_B\n", "is no pair"), ("()OVERLAP_F_B\n", "`` is no action"),
    ("((0F0;0B0)OVERLAP_F_B;0B0)OVERLAP_F_B\n", "is no pair"),
    ("0F0,70000F0\n", "stage `70000` is above 65535"),
    ("0F0,0B99999999999999999999\n", "micro-batch `99999999999999999999` is above"),
    ("0F0,0F0,0B0\n", ":1: cell 2: `0F0` stands here and at line 1, cell 1"),
    ("0F0,0B0\n0F1,0B1\n", ":2: cell 1: stage 0 is on this rank and on that of line 1"),
    ("0F0,0B0,2F0,2B0\n", "no rank has stage 1"), ("0F0,0B0,0F1\n", "`0B1` is missing"),
    ("0F0,0B0,0B1\n", "`0F1` is missing"), ("0F0,0I0\n", "`0W0` is missing"),
    ("0F0,0W0\n", "`0I0` is missing"), ("0F0,0I0,0B0,0W0\n", "`0I0` is a part of `0B0`"),
    ("0F0\n", "`0B0` is missing"), ("0F0,0B0,65535F65535\n", "`0F1` is missing"),
    ("0B0,0F0\n", ":1: cell 1: `0B0` needs `0F0`, which stands at cell 2 of the same line"),
    ("0F0,0W0,0I0\n", "`0W0` needs `0I0`"),
    ("(0F0;0B0)OVERLAP_F_B\n", "`0B0` needs `0F0`, which stands at cell 1 of"),
    ("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", "wait for each other for ever: `0B0` (line 1, cell 2) "
     "waits for `1B0` (line 2, cell 4), `1F1` (line 2, cell 1) waits for `0F1` (line 1, cell 3)"),
    (SIMPLE_SENT.replace("1RECV_F1,", ""), "`0SEND_F1` has no other end: `1RECV_F1` is missing"),
    (SIMPLE_SENT.replace("0SEND_F1,", "").replace("1RECV_F1,", ""), "`0SEND_F1` is missing"),
    (SIMPLE_SENT.replace("0F0,0SEND_F0", "0SEND_F0,0F0"), "`0SEND_F0` needs `0F0`"),
    (SIMPLE_SENT.replace("0F0", "0RECV_F0,0F0"), "`0RECV_F0` goes to no other rank"),
    (SIMPLE_SENT.replace("1RECV_F0,1RECV_F1,1F0", "1RECV_F1,1F0,1RECV_F0"),
     "`1F0` needs `1RECV_F0`"),
    ("0F0,1F0,1B0,1SEND_B0,0RECV_B0,0B0\n", "`0RECV_B0` goes to no other rank"),
]


def refused(tools):
    for text, words in REFUSED:
        out = tools.run("import-schedule", tools.write("bad.csv", text), status=1)
        says(out, "cgc: error: bad.csv", words)
        expect(out.count("\n") == 1 and len(out) < 600, out)
    bad = tools.run("import-schedule", tools.write("bad.csv", b"0F0,\xff\x00\x1b[31m" + b"x" * 99),
                    status=1)
    says(bad, "`???[31mxxx", "...`")


def hostile(tools):
    """Anything is refused or read, soon and in little memory; what is read is a program."""
    chance = random.Random(1)
    limit = "" if tools.sanitized else "ulimit -v 2000000; "  # sanitizers reserve terabytes
    limited = ["-c", limit + 'exec "$@"', "-"]
    texts = ["(" * 100_000, "0F0," * 300_000, "," * 5_000_000, "\n" * 2_000_000,
             "0F0,0B0\n" * 5_000, "9" * 1_000_000, "0F" + "0" * 1_000_000,
             ",".join(f"0F{i},0B{i}" for i in range(8192)), "0F0;" * 50_000,
             "\n".join(f"{i}F0,{i}B0" for i in range(4096)), "0F0,0B0,65535F0,65535B0"]
    seeds = [SIMPLE, V, SIMPLE_SENT, dualpipe_v(2, 5)]
    for _ in range(200):
        text = list(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text[at] = chance.choice(["", text[at] * 2, chance.choice("0123456789FBIW_;,()\n \t")])
        texts.append("".join(text))
    read = 0
    for text in texts:
        tools.write("any.csv", text)
        done = subprocess.run(["/bin/sh", *limited, tools.cgc, "import-schedule", "any.csv", "-o",
                               "any.cgraph"], cwd=tools.folder, capture_output=True, timeout=60)
        expect(done.returncode in (0, 1), f"{text[:300]!r}: {done.returncode} {done.stderr[:300]}")
        if done.returncode == 0 and len(text) < 10_000:
            tools.run("check", "any.cgraph")
            read += 1
    expect(read > 5, f"only {read} were read")


def no_pipeline(tools):
    head = """import std.tensor
actor A() {
  method forward(x: f32[2]) -> f32[2] { return x + x }
  method backward(x: f32[2]) -> f32[2] { return x * x }
  method other(x: f32[2]) -> f32[2] { return -x }
}
place a[i in 0..3] = A() on gpu[i]
"""
    for body, words in [
            ("graph g(x: f32[2]) -> f32[2] { return a[0].other(x) }", ["no calls named `forward`"]),
            ("graph g(x: f32[2]) -> f32[2] { return a[0].backward(a[0].forward(x)) }",
             ["stand in no loop that all of them have"]),
            ("graph g(x: f32[2]) -> [f32[2]; 2] { return [a[0].forward(x) for m in 0..2] }",
             ["`0B0` is missing"]),
            ("graph g(x: f32[2]) -> [f32[2]; 2] {"
             " return [a[0].backward(a[0].forward(a[0].forward(x))) for m in 0..2] }",
             ["`0F0` stands here and at line 1, cell 1"]),
            ("graph g(x: f32[2]) -> f32[2] { return x }\ngraph h(x: f32[2]) -> f32[2] { return x }",
             ["choose it with --graph"])]:
        tools.write("n.cgraph", head + body)
        said = tools.run("compile", "n.cgraph", "--emit", "schedule-csv=n.csv", status=1)
        says(said, "n.csv", *words)
    # What jumps over a stage is no neighbour's.
    tools.write("n.cgraph", head + """graph g(x: f32[2]) -> [f32[2]; 2] {
  var out = []
  for m in 0..2 {
    let y = a[0].forward(x)
    let z = a[2].forward(a[1].forward(y) + y)
    out += [a[0].backward(a[1].backward(a[2].backward(z + y)))]
  }
  return out
}""")
    tools.run("compile", "n.cgraph", "--emit", "schedule-csv=n.csv", "-q")
    says(tools.run("compile", "n.cgraph", "--emit", "transports-csv=n.csv", status=1), "n.csv")
    # Of what `with` names, and by the loop that all calls have.
    tools.write("r.cgraph", head.replace("forward", "ahead").replace("backward", "back") + """
schedule named() { prefer backward > forward }
graph g(x: f32[2]) -> [f32[2]; 2] using named with (forward = ahead, backward = back) {
  return [a[0].back(a[1].back(a[1].ahead(a[0].ahead(x)))) for m in 5..7]
}""")
    tools.run("compile", "r.cgraph", "--emit", "schedule-csv=r.csv", "-q")
    expect(sorted(sum(actions(tools.read("r.csv")), [])) ==
           sorted(f"{s}{k}{m}" for s in range(2) for k in "FB" for m in range(2)), "r.csv")
    says(tools.run("compile", "r.cgraph", "--emit", "schedule-csv=no/r.csv", status=3),
         "cannot write")


def trains(tools):
    """An imported order with pairs gives the losses of the example with the same stages."""
    source = (ROOT / "examples/pipeline/dualpipe_v.cgraph").read_text()
    used = "using dualpipe_v(P, M)\n    with (mb = m, chunk = s / P)"
    expect(used in source, "the example is another")
    source = source.replace(used, "using given with (mb = m)")
    tools.write("imported.cgraph", source.replace("import stages", "import stages\nimport given"))
    tools.write("stages.cgraph", (ROOT / "examples/pipeline/stages.cgraph").read_text())
    tools.run("import-schedule", tools.write("given.csv", dualpipe_v(2, 8)), "-o", "given.cgraph")
    for data, file in [("x", "images"), ("label", "labels")]:
        np.save(f"{tools.folder}/{data}.npy", np.load(ROOT / f"examples/digits/{file}.npy")[:320])
    curves = []
    for path in ("imported.cgraph", ROOT / "examples/pipeline/dualpipe_v.cgraph"):
        tools.run("compile", path, "-D", "P=2", "-o", "t.cgplan", "-q", "--emit",
                  "schedule-csv=t.csv")
        curves.append(flat(tools.read("t.csv")))
        tools.run("t.cgplan", "--input", "x=x.npy", "--input", "label=label.npy", "--batch", "x",
                  "--batch", "label", "--output", "result=loss.npy", "-q", program=tools.cgrun)
        curves.append(np.load(f"{tools.folder}/loss.npy"))
    expect(curves[0] == curves[2], "the rules of dualpipe_v give the order of its eight phases")
    expect(len(curves[1]) == 10 and np.array_equal(curves[1], curves[3]), "other losses")


def rules(tools):
    """DualPipe-V by rules, and as its eight phases."""
    for p, m in [(1, 2), (2, 4), (3, 6), (4, 9), (4, 10), (6, 20)]:
        tools.run("compile", ROOT / "examples/pipeline/dualpipe_v.cgraph", "-D", f"P={p}", "-D",
                  f"M={m}", "-q", "-o", "d.cgplan", "--emit", "schedule-csv=d.csv")
        expect(flat(tools.read("d.csv")) == flat(dualpipe_v(p, m)), f"DualPipe-V {p} {m}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--sanitized", action="store_true", help="memory is not limited")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = Tools(options.cgc, options.cgrun, folder, options.sanitized)
        for part in (round_trips, safe, messages, left_out, replicas, names, refused, no_pipeline,
                     rules, trains, hostile):
            part(tools)
    print(f"pipeline CSV: {expectations.checks} checks, 0 failed")
    sys.exit(0 if expectations.checks else 1)


if __name__ == "__main__":
    main()

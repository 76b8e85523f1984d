#!/usr/bin/python3
"""cgc fmt: every source of the repository is laid out, laying out twice changes nothing, and
neither meaning nor comments are lost, whatever a text looked like before.

The texts are all sources of the repository that parse, programs made at random, and mangled ones of
both: other spaces and line breaks, and comments wherever one may stand. Mangled without comments
and blank lines, a text must come out as it did before, since the layout follows from the words
alone.

  format_test.py --cgc build/release/cgc [--seed N] [--rounds N] [--sources N]

With --sources so many of the repository's sources are laid out again, which CGRAPH_SEED draws; that
all are laid out is looked at in any case. What is mangled, and how, the seed alone decides.
"""
import argparse
import difflib
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Where expectations stand under the lines that they are about, or how it is written is what is
# tested, a text is as it is.
AS_WRITTEN = ["tests/golden/cases", "tests/syntax/traps.cgraph"]
COLUMNS = 100

COMMENT = r"//[^\n]*|/\*.*?\*/"
WORD = re.compile(rf"""(?P<comment>{COMMENT})|"(?:[^"\\\n]|\\.)*"|0[xX][0-9a-fA-F_]+
    |\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+|[MG]B/s|[A-Za-z_]\w*)?
    |[A-Za-z_]\w*|\.\.|->|[-+*/=!<>]=|\S""", re.X | re.S)


def words_of(text):
    return [m[0] for m in WORD.finditer(text) if not m["comment"]]


def comments_of(text):
    lines = lambda comment: "\n".join(line.rstrip() for line in comment.split("\n"))
    return [lines(m[0]) for m in WORD.finditer(text) if m["comment"]]


def glued(a, b):
    """Returns whether two words need something between them to stay two."""
    return bool(len(WORD.match(a + b)[0]) > len(a) or re.match(r"[\w.]\.|\d\w", a[-1] + b[0]))


def mangle(text, rng, comments):
    """The same words between other spaces, line breaks and, if wanted, comments."""
    out, words = "", words_of(text)
    for i, word in enumerate(words):
        # Nothing may join the line before it silently.
        line = i > 0 and word not in ("(", "[", "-")
        gaps = [" ", "  ", "\t", ""] + (["\n", "\n  ", " \n"] if line else [])
        if comments:
            gaps += [" /* c%d */ " % i, " /*\n d%d */ " % i] if line else [" /* c%d */ " % i]
            gaps += [" // e%d\n" % i, "\n\n// f%d\n\n" % i, "\n\n\n"] if line else []
        gap = rng.choice(gaps) if rng.random() < 0.4 else " "
        if i > 0 and gap == "" and glued(words[i - 1], word):
            gap = " "
        out += gap + word
    return out + ("  // end\n" if comments else "")


def random_expression(rng, depth):
    name = lambda: rng.choice("abcdefgh") * rng.randint(1, 12)
    if depth == 0:
        return rng.choice([name(), "1", "2.5", "true", f'"s{{{name()}}}"'])
    inner = lambda: random_expression(rng, rng.randint(0, depth - 1))
    some = lambda: ", ".join(inner() for _ in range(rng.randint(1, 6)))
    return rng.choice([
        lambda: f"{inner()} {rng.choice(['+', '-', '*', '/', '@', 'and'])} {inner()}",
        lambda: f"{name()}({some()}, {name()}: {inner()})", lambda: f"{name()}[{inner()}]",
        lambda: f"{name()}.{name()}({some()})", lambda: f"[{some()}]",
        lambda: f"({inner()}, {some()})",
        lambda: f"if {name()}({some()}) {{ {inner()} }} else {{ {inner()} }}",
        lambda: f"[{inner()} for {name()} in {inner()}..{inner()} if {inner()}]",
        lambda: f"cast<f16>({inner()})", lambda: f"zeros<f32[4, 5]>({some()})",
        lambda: f"-{name()}", lambda: f"(not {inner()})", lambda: f"({inner()} via nccl)",
    ])()


def random_block(rng, depth):
    expression = lambda: random_expression(rng, rng.randint(0, 4))
    statement = lambda: rng.choice([
        lambda: f"let x = {expression()}", lambda: f"var (x, y): (f32, i64) = {expression()}",
        lambda: f"x.f({expression()})", lambda: f"x[{expression()}] += {expression()}",
        lambda: f"for i in {expression()} {random_block(rng, depth - 1)}",
        lambda: f"if ({expression()}) {random_block(rng, depth - 1)} else if ({expression()}) "
                f"{random_block(rng, depth - 1)} else {random_block(rng, depth - 1)}",
    ][:4 if depth == 0 else 6])()
    return "{ " + rng.choice([" ", ";", "\n"]).join(
        statement() for _ in range(rng.randint(0, 3))) + " }"


def random_program(rng):
    dims = ", ".join(rng.choice(["n <= 4096", "h / T", "*s", "64"])
                     for _ in range(rng.randint(0, 5)))
    parameters = ", ".join(f"p{i}: f32[{dims}]" for i in range(rng.randint(0, 8)))
    return "\n".join([
        "import std.tensor as t", f"const C: int = {random_expression(rng, 3)}",
        f"fn f<T: float, U>({parameters}) -> (T[{dims}], U) {random_block(rng, 2)}",
        f"op o<T>({parameters}) -> T[{dims}] where a == b cost(flops: {random_expression(rng, 3)}, "
        f"bytes: 4) kernel \"o\" inplace p0 effect io fails elementwise",
        f"actor A({parameters}) {{ state s: f32[{dims}] = {random_expression(rng, 3)} "
        f"method m({parameters}) -> f32 via nccl {random_block(rng, 2)} }}",
        f"place p[i in 0..4, j in a..b] = A({random_expression(rng, 2)}) on gpu[i]",
        f"graph g({parameters}) -> (a: f32[{dims}], b: [f32; 4]) inflight 4 overlap off timeout 5s "
        f"{random_block(rng, 3)}"])


def difference(old, new):
    return "\n".join(list(difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm=""))[:40])


class Fmt:
    def __init__(self, cgc, folder):
        self.cgc, self.folder = cgc, pathlib.Path(folder)

    def run(self, *arguments, stdin=None):
        return subprocess.run([self.cgc, *map(str, arguments)], capture_output=True, text=True,
                              input=stdin, timeout=300)

    def syntaxes(self, paths):
        return [self.run("compile", path, "--emit", "syntax", "--stop-after", "syntax").stdout
                for path in paths]

    def all(self, texts, what):
        """Each text laid out, with what must hold for it checked."""
        paths = [self.folder / f"{i}.cgraph" for i in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        before = self.syntaxes(paths)
        done = self.run("fmt", "-i", *paths)
        expect(done.returncode == 0, f"{what}: cgc fmt fails\n{done.stderr[:3000]}")
        laid_out = [path.read_text() for path in paths]
        expect(all(before) and self.syntaxes(paths) == before, f"{what}: the meaning changes")
        for path, old, new in zip(paths, texts, laid_out):
            expect(comments_of(old) == comments_of(new)
                   or sorted(comments_of(old)) == sorted(comments_of(new)),
                   f"{what}: comments of {path.name} are lost")
            expect("\n\n\n" not in new and not re.search(r"[ \t]\n", new), f"spaces in {path.name}")
        self.run("fmt", "-i", *paths)
        for path, text in zip(paths, laid_out):
            again = path.read_text()
            expect(again == text, f"{what}: laid out twice, it differs\n{difference(text, again)}")
        return laid_out


def plain(text):
    """Without comments and blank lines."""
    return "\n".join(words_of(text)).replace("\n", " ") + "\n"


def whole_repository(fmt, sources):
    files = [p for p in sources if not str(p.relative_to(ROOT)).startswith(tuple(AS_WRITTEN))]
    done = fmt.run("fmt", "--check", *files)
    expect(done.returncode == 0, f"not laid out (cgc fmt -i does it):\n{done.stdout}{done.stderr}")
    long = [f"{path}:{i}" for path in files
            for i, line in enumerate(path.read_text().splitlines(), 1)
            if len(line) > COLUMNS and "//" not in line and '"' not in line]
    expect(not long, f"lines of more than {COLUMNS} columns: {long}")


def command(fmt):
    text = "graph   g( x:f32[4] )->f32[4]{return x}\n"
    wanted = "graph g(x: f32[4]) -> f32[4] { return x }\n"
    done = fmt.run("fmt", "-", stdin=text)
    expect((done.returncode, done.stdout) == (0, wanted), done.stdout + done.stderr)
    path = fmt.folder / "a.cgraph"
    path.write_text(text)
    done = fmt.run("fmt", "--check", path)
    expect((done.returncode, done.stdout) == (1, f"{path}\n") and path.read_text() == text,
           "--check")
    path.chmod(0o640)
    expect(fmt.run("fmt", "-i", path).returncode == 0 and path.read_text() == wanted, "-i")
    expect(path.stat().st_mode & 0o777 == 0o640, "the file's permissions")
    expect(fmt.run("fmt", "--check", path).returncode == 0, "--check of what is laid out")
    wrong = "graph g(x: f32[4] -> f32[4] { return x }\n"
    path.write_text(wrong)
    done = fmt.run("fmt", "-i", path)
    expect(done.returncode == 1 and path.read_text() == wrong and "E0202" in done.stderr,
           done.stderr)
    expect(fmt.run("fmt", "-i", "-", stdin=text).returncode == 2, "-i of standard input")
    expect(fmt.run("fmt", fmt.folder / "none.cgraph").returncode == 3, "a file that is not there")


def long_conditions(fmt):
    """A condition that is too long is broken behind `or`, else `and`, else any operator."""
    a, b, c, d = (name * 20 for name in "abcd")
    head = f"fn f({a}: int, {b}: int, {c}: int, {d}: int) -> bool"
    for condition, wanted in [
            (f"{a} == 1 and {b} == 2 or {c} == 3 and {d} == 4",
             f"  return {a} == 1 and {b} == 2 or\n      {c} == 3 and {d} == 4\n"),
            (f"{a} == 1 and {b} == 2 and {c} == {d}",
             f"  return {a} == 1 and {b} == 2 and\n      {c} == {d}\n"),
            (f"{a} == 1 or {b} == 2 and {a} + {b} + {c} == {a} * {d} and {c} == 3",
             f"  return {a} == 1 or\n      {b} == 2 and\n      {a} + {b} + {c} == {a} *\n"
             f"      {d} and\n      {c} == 3\n")]:
        done = fmt.run("fmt", "-", stdin=f"{head} {{ return {condition} }}\n")
        expect(wanted in done.stdout, done.stdout + done.stderr)


def line_breaks(fmt):
    """A line may break behind a keyword that could be a name."""
    done = fmt.run("fmt", "-", stdin="graph g(n: bool) { repeat until\nn limit 3 {} }\n")
    expect("repeat until n limit 3 {}" in done.stdout, done.stdout + done.stderr)


def long_heads(fmt):
    """A block behind a word that alone is longer than a line."""
    name = "f" * 120
    for text in [f"fn {name}() {{ }}\n",
                 f"fn g() {{\n  if {name}() {{ }} else {{ }}\n  let x = 1\n}}\n"]:
        done = fmt.run("fmt", "-", stdin=text)
        expect(done.returncode == 0 and "".join(done.stdout.split()) == "".join(text.split()),
               done.stdout + done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sources", type=int)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    sources = sorted(p for p in ROOT.rglob("*.cgraph")
                     if "build" not in p.relative_to(ROOT).parts)
    some = sources
    if options.sources and options.sources < len(sources):
        chosen = int(os.environ.get("CGRAPH_SEED", "1"))
        print(f"format: {options.sources} of {len(sources)} sources, CGRAPH_SEED={chosen}")
        some = sorted(random.Random(chosen).sample(sources, options.sources))
    with tempfile.TemporaryDirectory() as folder:
        fmt = Fmt(options.cgc, folder)
        command(fmt)
        long_conditions(fmt)
        long_heads(fmt)
        line_breaks(fmt)
        parses = lambda path: fmt.run("fmt", path).returncode == 0
        parsed = [p for p in some if parses(p)]
        expect(len(parsed) > 20, f"only {len(parsed)} sources of the repository parse")
        fmt.all([p.read_text() for p in parsed], "the repository")
        for _ in range(options.rounds):
            drawn = []
            while len(drawn) < 20:
                path = rng.choice(sources)
                drawn += [path.read_text()] if parses(path) else []
            drawn += [random_program(rng) for _ in range(20)]
            fmt.all([mangle(text, rng, comments=True) for text in drawn], "mangled with comments")
            laid_out = fmt.all([plain(text) for text in drawn], "one line")
            mangled = [mangle(text, rng, comments=False) for text in drawn]
            for old, new, text in zip(laid_out, fmt.all(mangled, "mangled"), mangled):
                expect(old == new, f"the layout depends on line breaks\n{difference(old, new)}")
        whole_repository(fmt, sources)
    print(f"format: {len(sources)} sources, {len(parsed)} of them parse, {expectations.checks} "
          f"checks")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Documents cannot rot: their programs compile, what they show is what the commands print, their
lists are what the sources say, and their links and the files that they name exist.

A fenced block is tested by its language and by the comment on the line before it:

  ```cgraph                           a whole program, as `cgc fmt` lays it out: `cgc check` finds
                                      nothing in it, not even a warning
  <!-- free layout -->                the same, but for the layout
  <!-- program: NAME -->              the same, and commands below it find it as NAME
  <!-- refused: CODE... -->           a program that is refused (or warned of) with just these codes
  <!-- program: NAME, refused: CODE... -->
  <!-- part of: PATH -->              the lines stand in that file of the repository
  ```console                          a session: after each line `$ COMMAND` stands what it prints;
                                      commands run in a folder of the document's own, with
                                      `examples` in it; that gpus run on CPU threads is not shown,
                                      which machines with GPUs do not print
  <!-- output of: COMMAND -->         what the command prints on standard output, run in the
  <!-- output of: COMMAND (lines A-B) -->    repository's root
  <!-- generated: NAME --> ... <!-- end of NAME -->    a list, see listings.py

A file or folder that is named in backticks exists: by its path from the repository's root, or, of
sources and folders (`prove.cpp`, `scope/scope.h`, `ordering/`), by the end of its path.

`docs_test.py --update` rewrites sessions, outputs and lists, and lays programs out.

  docs_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--update]
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import listings

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:<!-- (?P<marker>[^\n]+?) -->\n+)?```(?P<language>\w*)\n(?P<body>.*?)```",
                   re.S)
LISTING = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end of \2 -->)", re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
SPAN = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^```.*?^```", re.S | re.M)
PATH = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*/?")
# Of these a document names the project's alone; a reader's own programs and data end otherwise.
SOURCES = {".h", ".cpp", ".def", ".fbs", ".g4", ".py", ".md", ".inc", ".cmake"}
ON_THREADS = re.compile(r"^cgrun: note: .* on (?:a CPU thread|CPU threads): .*\n", re.M)
HEADING = re.compile(r"^#+ (.*)$", re.M)


def anchors(text):
    """Returns the anchors that a link to this document can have: one per heading, as on GitHub."""
    outside = FENCED.sub("", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            for heading in HEADING.findall(outside)}


def tree(root):
    """The paths of all files and folders of the repository, without what is built."""
    paths = set()
    for folder, folders, files in os.walk(root):
        at = pathlib.Path(folder).relative_to(root)
        folders[:] = [name for name in folders
                      if name != ".git" and not (at == pathlib.Path() and name.startswith("build"))]
        paths |= {(at / name).as_posix() for name in folders + files}
    return paths


class Names:
    """Checks that names in backticks are files or folders of the repository."""

    def __init__(self, paths):
        self.paths = paths
        self.roots = {path.split("/")[0] for path in paths}
        self.ends = {path[at:] for path in paths
                     for at in [0] + [i + 1 for i, c in enumerate(path) if c == "/"]}

    def is_absent(self, name):
        if not PATH.fullmatch(name) or set(name) <= {"/", "*", "."}:
            return False
        plain = name.rstrip("/")
        suffix = pathlib.PurePath(plain).suffix
        from_root = "/" in plain and plain.split("/")[0] in self.roots
        if not (from_root or name.endswith("/") or suffix in SOURCES and plain != suffix):
            return False
        if "*" in plain:
            return not any(fnmatch.fnmatchcase(path, plain) for path in self.paths)
        return plain not in (self.paths if from_root else self.ends)


class Failure(Exception):
    pass


class Document:
    """One file: its blocks in order, and the folder in which its commands run."""

    def __init__(self, path, tools, folder, names):
        self.path, self.tools, self.folder = path, tools, pathlib.Path(folder)
        self.names = names
        self.counts = {"programs": 0, "outputs": 0, "lists": 0, "links": 0, "names": 0, "rows": 0}
        self.failures = []
        (self.folder / "examples").symlink_to(ROOT / "examples")
        # The commands under the names that a reader types.
        (self.folder / ".bin").mkdir()
        for name, path in tools.items():
            (self.folder / ".bin" / name).symlink_to(path)
        bin_path = f"{self.folder / '.bin'}:/usr/bin:/bin"
        self.environment = {**os.environ, "PATH": bin_path}

    def wanted(self):
        """The text as it should be; `failures` says what no update can mend."""
        text = self.path.read_text()
        self.links(text)
        self.files(text)
        self.tables(text)
        text = LISTING.sub(self.listing, text)
        return BLOCK.sub(self.block, text)

    def fail(self, where, what):
        line = where.string.count("\n", 0, where.start()) + 1
        self.failures.append(f"{os.path.relpath(self.path, ROOT)}:{line}: {what}")

    def block(self, match):
        marker, language, body = match["marker"] or "", match["language"], match["body"]
        try:
            if marker.startswith("output of: "):
                body = self.output(marker.removeprefix("output of: "))
            elif marker.startswith("part of: "):
                self.part(ROOT / marker.removeprefix("part of: "), body)
            elif language == "cgraph":
                body = self.program(marker, body)
            elif language == "console":
                body = self.session(body)
        except Failure as failure:
            self.fail(match, failure)
            return match[0]
        begin, end = match.span("body")
        return match[0][:begin - match.start()] + body + match[0][end - match.start():]

    def output(self, command):
        self.counts["outputs"] += 1
        lines = re.fullmatch(r"(.*?)(?: \(lines (\d+)-(\d+)\))?", command)
        words = [str(self.tools.get(word, word)) for word in shlex.split(lines[1])]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60)
        if done.returncode not in (0, 1):
            raise Failure(f"`{lines[1]}` exits with {done.returncode}\n{done.stderr}")
        # A refusal is on standard error; what is shown is whatever the command said.
        shown = (done.stdout or done.stderr).splitlines()
        if lines[2]:
            shown = shown[int(lines[2]) - 1:int(lines[3])]
        return "".join(line.rstrip() + "\n" for line in shown)

    def part(self, path, body):
        self.counts["programs"] += 1
        if not path.exists() or body.strip("\n") not in path.read_text():
            raise Failure(f"these lines do not stand in {path.relative_to(ROOT)}")

    def program(self, marker, body):
        self.counts["programs"] += 1
        is_free = False
        if marker == "free layout":
            marker, is_free = "", True
        said = re.fullmatch(r"(?:program: ([\w.]+))?(?:, )?(?:refused: ([EW\d ]+))?", marker)
        if not said:
            raise Failure(f"no such marker: {marker}")
        path = self.folder / (said[1] or "program.cgraph")
        path.write_text(body)
        done = subprocess.run([self.tools["cgc"], "check", "--json", path.name],
                              capture_output=True, text=True, cwd=self.folder, timeout=60)
        if done.returncode not in (0, 1):
            raise Failure(f"`cgc check` exits with {done.returncode}\n{done.stderr}")
        found = json.loads(done.stdout)
        codes = sorted({d["code"] for d in found})
        if codes != sorted((said[2] or "").split()):
            told = "".join(f"\n  {d['code']}: {d['message']}" for d in found)
            raise Failure(f"this program is refused with {said[2] or 'nothing'}, says the text; "
                          f"cgc says{told or ' nothing'}")
        # what has no syntax has no layout
        if is_free or any(code.startswith("E02") for code in codes):
            return body
        return subprocess.run([self.tools["cgc"], "fmt", path.name], capture_output=True, text=True,
                              check=True, cwd=self.folder, timeout=60).stdout

    def session(self, body):
        self.counts["outputs"] += 1
        shown = ""
        for line in body.splitlines():
            if not line.startswith("$ "):
                continue
            # `timeout` ends all that the line has started.
            done = subprocess.run(["timeout", "60", "bash", "-c", line[2:]],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  cwd=self.folder, env=self.environment)
            if done.returncode not in (0, 1):
                raise Failure(f"`{line[2:]}` exits with {done.returncode}\n{done.stdout}")
            printed = ON_THREADS.sub("", done.stdout)
            shown += line + "\n" + "".join(l.rstrip() + "\n" for l in printed.splitlines())
        if not shown:
            raise Failure("a session without a command, `$ ...`")
        error = re.search(r"^.*\berror: .*|^Traceback.*", shown, re.M)
        if error and not re.search(r"\berror: |^Traceback", body, re.M):
            raise Failure(f"a command fails that did not when this was written: {error[0]}")
        return shown

    def listing(self, match):
        self.counts["lists"] += 1
        if match[2] not in listings.LISTINGS:
            self.fail(match, f"there is no list {match[2]}")
            return match[0]
        return match[1] + listings.LISTINGS[match[2]](self.tools) + match[4]

    def links(self, text):
        for match in LINK.finditer(text):
            if "://" in match[1]:
                continue
            self.counts["links"] += 1
            path = self.path.parent / match[1] if match[1] else self.path
            if not path.exists():
                self.fail(match, f"there is no {match[1]}")
            elif match[2] is not None and match[2] not in anchors(path.read_text()):
                self.fail(match, f"{path.name} has no heading #{match[2]}")

    def tables(self, text):
        """Every row has as many cells as the first: a | in a cell is written \\|, also in code."""
        outside = re.sub(r"^```.*?^```", lambda match: re.sub(r"[^\n]", " ", match[0]), text,
                         flags=re.S | re.M)
        cells = None
        for match in re.finditer(r"^.*$", outside, re.M):
            if not match[0].startswith("|"):
                cells = None
                continue
            count = len(re.findall(r"(?<!\\)\|", match[0]))
            cells = cells or count
            self.counts["rows"] += 1
            if count != cells:
                self.fail(match, f"this row has {count - 1} cells, the first of the table "
                                 f"{cells - 1}")


    def files(self, text):
        outside = FENCED.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
        for match in SPAN.finditer(outside):
            self.counts["names"] += 1
            if self.names.is_absent(match[1]):
                self.fail(match, f"there is no `{match[1]}` in the repository")


# Each stands for what this test must find; the last two would be updated.
PLANTED = [
    "```cgraph\ngraph g(x: f32[2]) -> f32[3] { return x }\n```\n",
    "<!-- refused: E0301 -->\n```cgraph\nconst A = 1\n```\n",
    "<!-- part of: README.md -->\n```cgraph\nconst NOWHERE = 1\n```\n",
    "<!-- no marker -->\n```cgraph\nconst A = 1\n```\n",
    "```console\nno command\n```\n",
    "<!-- generated: nothing -->\n<!-- end of nothing -->\n",
    "[a link](nowhere.md)\n",
    "# Here\n[a link](#there)\n",
    "It is in `nowhere.cpp`.\n",
    "It is in `compiler/nowhere/nothing`.\n",
    "It is in `nowhere/`.\n",
    "They are `tests/golden/cases/nothing_*.cgraph`.\n",
    "| a | b |\n|---|---|\n| `one|two` | c |\n",
    "```console\n$ printf 'cgc: e'; echo 'rror: none'\nresult: 1\n```\n",
    "```console\n$ echo other\nthis\n```\n",
    "```cgraph\nconst  A=1\n```\n",
]


# What is named and exists, and what is no name of ours.
NAMED = "`README.md` `compiler/check` `scope/scope.h` `ordering/` `stdlib/std/*.cgraph` " \
        "`a/b.cgraph` `x.npy` `*`, `/`, `.h`, `and/or`, `build/release/cgc`\n"


def self_test(tools, names):
    for planted in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "planted.md"
            path.write_text(planted)
            document = Document(path, tools, folder, names)
            if document.wanted() == planted and not document.failures:
                sys.exit(f"self-test: nothing was found in\n{planted}")
    wrong = [name for name in SPAN.findall(NAMED) if names.is_absent(name)]
    if wrong:
        sys.exit(f"self-test: {wrong} was taken for a file that is absent")
    return len(PLANTED)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    tools = {"cgc": options.cgc, "cgrun": options.cgrun}

    names = Names(tree(ROOT))
    planted = self_test(tools, names)
    counts, failures = {}, []
    documents = [p for p in ROOT.rglob("*.md") if "build" not in p.relative_to(ROOT).parts]
    for path in sorted(documents):
        with tempfile.TemporaryDirectory() as folder:
            document = Document(path, tools, folder, names)
            wanted = document.wanted()
        failures += document.failures
        for kind, count in document.counts.items():
            counts[kind] = counts.get(kind, 0) + count
        if wanted == path.read_text():
            continue
        if options.update:
            path.write_text(wanted)
            print(f"{path.relative_to(ROOT)}: updated")
        else:
            failures.append(f"{path.relative_to(ROOT)}: line {first_difference(path, wanted)}: "
                            "not what its command prints (docs_test.py --update rewrites it)")
    print("".join(failure + "\n" for failure in failures), end="")
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    print(f"documents: {len(documents)} files, {told} checked, {len(failures)} failed; "
          f"{planted} planted cases")
    sys.exit(1 if failures or not all(counts.values()) else 0)


def first_difference(path, wanted):
    is_, should = path.read_text().splitlines(), wanted.splitlines()
    for number, (left, right) in enumerate(zip(is_, should), start=1):
        if left != right:
            return f"{number}: `{left}` should be `{right}`"
    return f"{min(len(is_), len(should)) + 1}"


if __name__ == "__main__":
    main()

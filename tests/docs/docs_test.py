#!/usr/bin/python3
"""Documents cannot rot: what they show is what the commands print, and their links exist.

A fenced block under a line `<!-- output of: COMMAND -->` must hold what the command prints on
standard output, run in the repository's root with `cgc` and `cgrun` of the build; with
`<!-- output of: COMMAND (lines A-B) -->` only those lines of it. `docs_test.py --update` rewrites
the blocks.

  docs_test.py --cgc build/release/cgc --cgrun build/release/cgrun [--update]
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(<!-- output of: (.+?)(?: \(lines (\d+)-(\d+)\))? -->\n+```\w*\n)(.*?)(```)", re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def output(command, tools, first, last):
    words = [tools.get(word, word) for word in shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"`{command}` exits with {done.returncode}\n{done.stderr}")
    # A refusal is on standard error; what is shown is whatever the command said.
    lines = (done.stdout or done.stderr).splitlines()
    if first:
        lines = lines[int(first) - 1:int(last)]
    return "".join(line.rstrip() + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    tools = {"cgc": options.cgc, "cgrun": options.cgrun}

    blocks = links = failed = 0
    documents = [p for p in ROOT.rglob("*.md") if "build" not in p.relative_to(ROOT).parts]
    for path in sorted(documents):
        text = path.read_text()

        def rewrite(match):
            nonlocal blocks
            blocks += 1
            return match[1] + output(match[2], tools, match[3], match[4]) + match[6]

        try:
            wanted = BLOCK.sub(rewrite, text)
        except RuntimeError as error:
            print(f"{path.relative_to(ROOT)}: {error}")
            failed += 1
            continue
        if wanted != text:
            if options.update:
                path.write_text(wanted)
                print(f"{path.relative_to(ROOT)}: updated")
            else:
                print(f"{path.relative_to(ROOT)}: a block is not what its command prints "
                      "(docs_test.py --update rewrites it)")
                failed += 1
        for link in LINK.findall(text):
            if "://" in link:
                continue
            links += 1
            if not (path.parent / link).exists():
                print(f"{path.relative_to(ROOT)}: there is no {link}")
                failed += 1
    print(f"documents: {len(documents)} files, {blocks} blocks and {links} links checked, "
          f"{failed} failed")
    sys.exit(1 if failed or not blocks or not links else 0)


if __name__ == "__main__":
    main()

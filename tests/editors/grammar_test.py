#!/usr/bin/python3
"""The editors' grammar against the language's: every keyword and dtype of grammar/Cgraph.g4 has its
scope, wherever it stands in any program of the repository, and no program is left with something
open or illegal.

  grammar_test.py
"""
import json
import pathlib
import re
import sys

from textmate import Grammar

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
import listings  # noqa: E402

EDITORS = ROOT / "editors"
# Comments, strings, words and numbers, however the editor sees them.
WORD = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"?|[A-Za-z_]\w*|[0-9][\w.]*",
                  re.S)
DECLARES = re.compile(
    r"^\s*(actor|optimizer|method|fn|op|graph|place|state|param|const|type) (\w+)", re.M)


def kinds_of_words():
    """word -> what its scope begins with, from the language's own grammar."""
    kinds = {word: ("keyword.", "constant.language") for word in listings.keywords()}
    kinds.update({word: ("storage.type.dtype",) for word in listings.dtypes()})
    return kinds


def faults(grammar, text, kinds):
    """Returns what the editor would show wrongly, as sentences."""
    tokens, left_open = grammar.tokens(text)
    if left_open:
        yield f"at the end {left_open} is open"
    shown = {}                                    # line -> [(word, scopes)] outside text
    for line, piece, scopes in tokens:
        if any(scope.startswith("invalid") for scope in scopes):
            yield f"line {line}: `{piece}` is shown as illegal"
        is_text = any(scope.startswith(("comment", "string")) for scope in scopes)
        if not is_text:
            shown.setdefault(line, []).append((piece, scopes))
    for match in WORD.finditer(text):
        word = match[0]
        # the op that cast<T>(x) means
        if word not in kinds or text[:match.start()].endswith("op "):
            continue
        line = text.count("\n", 0, match.start()) + 1
        scopes = [s for piece, s in shown.get(line, []) if piece == word]
        if not scopes or not all(s and s[-1].startswith(kinds[word]) for s in scopes):
            yield f"line {line}: `{word}` is shown as {scopes}"
    for match in DECLARES.finditer(without_text(text)):
        line = text.count("\n", 0, match.start(2)) + 1
        if not any(piece == match[2] and s and s[-1].startswith(("entity.name",
                                                                 "variable.other.decl"))
                   for piece, s in shown.get(line, [])):
            yield f"line {line}: `{match[2]}` is not shown as declared"


def without_text(text):
    """Comments and strings blanked, with all places kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0]) if match[0][0] in '/"' else match[0]
    return WORD.sub(blank, text)


def planted(grammar_text, kinds):
    """Grammars that lack something are found out; says how many were."""
    program = (ROOT / "examples" / "pipeline_1f1b.cgraph").read_text()
    cuts = [("|return", ""), ("|bf16|f32", "|bf16"), ("else|for", "else"),
            ('"end": "\\\\*/"', '"end": "XX"')]
    for old, new in cuts:
        broken = grammar_text.replace(old, new)
        if broken == grammar_text:
            sys.exit(f"FAILED: the planted case {old} is not in the grammar any more")
        if not list(faults(Grammar(broken), program + "/* a */\nconst A = 1\n", kinds)):
            sys.exit(f"FAILED: a grammar without {old} passes")
    return len(cuts)


def main():
    grammar_text = (EDITORS / "cgraph.tmLanguage.json").read_text()
    grammar, kinds = Grammar(grammar_text), kinds_of_words()
    package = json.loads((EDITORS / "package.json").read_text())
    json.loads((EDITORS / "language-configuration.json").read_text())
    contributed = package["contributes"]
    for path in (contributed["grammars"][0]["path"], contributed["languages"][0]["configuration"]):
        if not (EDITORS / path).exists():
            sys.exit(f"FAILED: package.json names {path}, which is not there")

    for word, scope in kinds.items():
        tokens, _ = grammar.tokens(f"( {word} )")
        shown = next((s for _, piece, s in tokens if piece == word), [])
        if not shown or not shown[-1].startswith(scope):
            sys.exit(f"FAILED: `{word}` of the language is shown as {shown}")

    # Every program but those that are wrong on purpose.
    files = [p for p in sorted(ROOT.rglob("*.cgraph"))
             if "build" not in p.relative_to(ROOT).parts and not p.name.startswith("fail_")]
    wrong = [f"{path.relative_to(ROOT)}: {fault}" for path in files
             for fault in faults(grammar, path.read_text(), kinds)]
    cases = planted(grammar_text, kinds)
    print("".join(line + "\n" for line in wrong), end="")
    print(f"editors: {len(kinds)} words, {len(files)} programs, {len(wrong)} wrong; {cases} "
          f"planted cases")
    sys.exit(1 if wrong or not files else 0)


if __name__ == "__main__":
    main()

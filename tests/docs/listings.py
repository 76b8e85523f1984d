"""The lists in the documents, made from where each thing is listed once: ops from the standard
library's sources, flags from --help, keywords from the grammar, limits from limits.h, examples from
their heads."""
import pathlib
import re
import subprocess
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]

DECLARES = re.compile(r"(op|fn|optimizer) ")
CONTINUES = re.compile(r"[ )}\]]")
DEPRECATED = re.compile(r" deprecated (.+?)(?: (?:cost\(|kernel \"|where ).*| \{.*)$")
CLAUSES = re.compile(r"\b(?:cost\(|kernel \"|inplace |elementwise)")
GRADIENT = re.compile(r" grad (?:\w+ |\w+, \w+ )?[({].*$")  # the last clause
WIDTH = 100


def libraries(tools):
    """Each file of std: its idea, then its ops and fns under the comments of the source."""
    text = ""
    for path in sorted((ROOT / "stdlib" / "std").glob("*.cgraph")):
        idea, declared = path.read_text().split("\n\n", 1)
        idea = "\n".join(line.removeprefix("//").strip() for line in idea.splitlines()
                         if line.startswith("//"))
        name = f"std.{path.stem}"
        idea = idea.removeprefix(f"{name}: ")
        text += f"\n### `import {name}`\n\n{idea[0].upper()}{idea[1:]}\n"
        text += f"\n```text\n{signatures(declared)}```\n"
    return text + "\n"


def signatures(source):
    """The source without what only the compiler reads: costs, kernels, what may work in place, and
    gradients."""
    shown, lines = [], source.splitlines()
    while lines:
        line = lines.pop(0)
        if DECLARES.match(line):
            while lines and CONTINUES.match(lines[0]):
                line += " " + lines.pop(0).strip()
            line = re.sub(r"(?<=[(\[]) | (?=[)\]])", "", " ".join(line.split()))
            shown += wrapped(signature(line))
        elif not line.startswith("import "):
            shown.append(line)
    return "\n".join(shown).strip("\n") + "\n"


def signature(declared):
    kind, rest = GRADIENT.sub("", declared).split(" ", 1)
    instead = DEPRECATED.search(declared)
    if instead:  # the old call, and the new one
        names = re.findall(r"(\w+): ", rest[rest.index("("):instead.start()])
        name = re.split(r"\W", rest)[0]
        return f"{name}({', '.join(names)})  // {instead[1]}"
    if kind == "fn":
        return declared if len(declared) <= WIDTH else declared[:declared.index(" {")]
    if kind == "optimizer":
        return declared[:declared.index(" {")]
    cut = CLAUSES.search(rest)
    if not cut:
        return rest
    kept = rest[:cut.start()].strip()
    if re.search(r" fails$", rest) and not kept.endswith(" fails"):
        kept += " fails"
    effect = re.search(r"\beffect \w+", rest[cut.start():])
    return f"{kept} {effect[0]}" if effect else kept


def wrapped(line):
    """Cuts a signature so that it is at most WIDTH wide."""
    if len(line) <= WIDTH:
        return [line]
    if " -> " not in line:
        return cut(re.sub("(?<!,) ", KEPT, line))
    left, right = line.split(" -> ", 1)
    result, where = (right.split(" where ", 1) + [""])[:2]
    lines = cut(re.sub("(?<!,) ", KEPT, left)) + cut(f"    -> {result}")
    return lines + (cut("    " + re.sub(" (?!and )", KEPT, f"where {where}")) if where else [])


KEPT = "\0"  # a space at which no line ends


def cut(part):
    lines = textwrap.wrap(part, WIDTH, subsequent_indent=" " * 8, break_long_words=False,
                          break_on_hyphens=False)
    return [line.replace(KEPT, " ") for line in lines]


FLAG = re.compile(r"^  (-\S.*?)(?:  +(\S.*))?$")
NAMES = re.compile(r"^((?:-\w|--[\w-]+)(?:,(?:-\w|--[\w-]+))*)(.*)$")


def flags_of(command):
    """[(names, rest)] from --help, where a flag stands on one line or its text on the next."""
    told = subprocess.run([*map(str, command), "--help"], capture_output=True, text=True,
                          check=True).stdout
    flags, inside = [], False
    for line in told.splitlines():
        if re.match(r"^\S", line):
            inside = line.startswith("Options")
            continue
        match = FLAG.match(line)
        if inside and match:
            names = NAMES.match(match[1])
            value, _, about = names[2].partition(" default: ")
            value = re.sub(r":(INT|UINT|TEXT|FLOAT)\b|TEXT:(?={)| Excludes: \S+", "", value)
            about = f"default: {about}" if about else match[2] or ""
            flags.append([(names[1].replace(",", ", ") + value).strip(), about])
        elif inside and flags and line.strip():
            flags[-1][1] = (flags[-1][1] + " " + line.strip()).strip()
    return [(flag, text) for flag, text in flags if not flag.startswith(("-h", "--version"))]


def subcommands(cgc):
    told = subprocess.run([str(cgc), "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z][\w-]*)  ", told.split("Subcommands:")[1], re.M)


def flag_row(flag, about):
    """A flag with its value, and what it does, as cells of a table. Of what the commands' library
    adds, the words of the language remain: N for a number, the choices, a default."""
    name, value = re.match(r"((?:-\S+, )*-\S+) ?(.*)$", flag).groups()
    value = re.sub(r" ?(Needs|Excludes): .*", "", re.sub(r" in \[[^\]]*\]", "", value))
    default = re.search(r"(?<=[\w}])=([\w.]+)$", value) if not value.startswith("NAME") else None
    if default:
        value, about = value[:default.start()], f"{about}; default: {default[1]}"
    value = re.sub(r"^[^{]*:(?={)", "", value)                     # one|peer:{one,peer}
    value = re.sub(r"\{([\w,]+)\}", lambda m: m[1].replace(",", "|"), value)
    value = {"UINT": "N", "INT": "N", "FLOAT": "SECONDS"}.get(value, value)
    name = name.replace("{all}", "[=NAME]")
    escaped = f"`{name} {value}".rstrip().replace("|", "\\|") + "`"
    return escaped, about.replace("|", "\\|")


# Flags of cgrun that are those of cgc; of others that are, the text names the .cgraph.
ALIKE = {"--no-overlap", "-q", "-v", "--color"}


def first_name(flag):
    return re.match(r"-[\w-]+", flag)[0]


def flags(tools):
    """The flags of cgc's subcommands, those of several once, and of cgrun, which takes some of
    them for the source that it compiles."""
    names = subcommands(tools["cgc"])
    users = {}
    for name in names:
        for flag in flags_of([tools["cgc"], name]):
            users.setdefault(flag, []).append(name)
    text = "\n| flag | | of `cgc` |\n|---|---|---|\n"
    for (flag, about), commands in sorted(users.items(), key=lambda item: -len(item[1])):
        others = [name for name in names if name not in commands]
        where = " ".join(commands) if len(others) > 2 else "all"
        where += f" but {' and '.join(others)}" if 0 < len(others) <= 2 else ""
        text += f"| {' | '.join(flag_row(flag, about))} | {where} |\n"
    compiles = {first_name(flag) for flag, _ in flags_of([tools["cgc"], "compile"])}
    text += "\n| flag | of `cgrun` |\n|---|---|\n"
    alike = []
    for flag, about in flags_of([tools["cgrun"]]):
        name = first_name(flag)
        if name in compiles and (".cgraph" in about or name in ALIKE):
            alike.append(f"`{name}`")
        else:
            text += f"| {' | '.join(flag_row(flag, about))} |\n"
    return f"{text}| {' '.join(alike)} | of a .cgraph and its messages, as of `cgc compile` |\n\n"


def grammar():
    return (ROOT / "grammar" / "Cgraph.g4").read_text()


def keywords(tools=None):
    """The words that the grammar does not let be names, and the dtypes."""
    rules = grammar()
    words = re.findall(r"^\s*(?:\w+ : '[a-z]+' ;\s*)+$", rules, re.M)
    every = re.findall(r"\b[A-Z]+ : '([a-z]+)' ;", "\n".join(words))
    usable = re.findall(r"'(\w+)'", re.search(r"^name\s+: (.*?);", rules, re.M | re.S)[1])
    return sorted(set(every) - set(usable))


def dtypes():
    return re.findall(r"'(\w+)'", re.search(r"^DTYPE\s+: (.*?);", grammar(), re.M | re.S)[1])


def keyword_list(tools):
    told = f"`{' '.join(keywords())}`, and the dtypes `{' '.join(dtypes())}`."
    return f"\n{textwrap.fill(told, 100, break_on_hyphens=False)}\n\n"


LIMIT = re.compile(r"constexpr \w+ k(Max\w+) = ([^;]+);(?: *// (.*))?")


def limits(tools):
    """The compiler's limits, and those that it shares with the runtime, in words."""
    rows = ""
    text = "".join((ROOT / folder / "limits.h").read_text()
                   for folder in ("compiler/base", "runtime/base/kinds"))
    for name, value, about in LIMIT.findall(text):
        words = re.sub(r"(?<!^)([A-Z])", r" \1", name).lower().removeprefix("max ")
        value = value.replace("'", ",").replace("int64_t{1}", "1")
        value = re.sub(r"1 << (\d+)", r"2^\1", value).replace("64 << 20", "64 MiB")
        rows += f"| {words}{f' ({about})' if about else ''} | {value} |\n"
    return f"\n| at most | |\n|---|---|\n{rows}\n"


def examples(tools):
    """Every example with the first sentence of its comment."""
    rows = ""
    for path in sorted((ROOT / "examples").rglob("*.cgraph")):
        head = " ".join(line.removeprefix("//").strip() for line in
                        path.read_text().split("\n\n")[0].splitlines() if line.startswith("//"))
        sentence = re.match(r".*?\.(?= |$)", head)
        name = path.relative_to(ROOT / "examples")
        rows += f"| [`{name}`]({name}) | {sentence[0][:-1] if sentence else ''} |\n"
    return f"\n| | |\n|---|---|\n{rows}\n"


LISTINGS = {"libraries": libraries, "flags": flags, "keywords": keyword_list, "limits": limits,
            "examples": examples}

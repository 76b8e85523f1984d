"""Plans: compiled from a source, loaded, saved, and shown."""
import builtins
import collections.abc
import os
import types

from cgraph import _arguments, _commands, _runtime
from cgraph.errors import (CompileError, CompileWarning, Error, InputError, PlanError,
                           PlanFileNotFoundError, SourceNotFoundError, absent_file)

# What a source that was given as text is called in messages.
TEXT_NAME = "source.cgraph"
# How many graphs a plan is shown with.
NAMES_SHOWN = 5


class Port:
    """An input or a result of a graph, or a part of one ("pair.x", "xs[0]"): its `name`, `dtype`
    ("f32"), `shape`, and `type` as text. An extent that each execution has anew is in the shape by
    its name."""

    __slots__ = ("name", "dtype", "shape", "type")

    def __init__(self, name, dtype, shape, type):
        self.name, self.dtype, self.shape, self.type = name, dtype, shape, type

    def __repr__(self):
        return _runtime.printable(f"{self.name}: {self.type}")


class GraphInfo:
    """A graph of a plan: `name`, `inputs` and `outputs` (Ports), `bounds` (the largest value of
    each extent that executions have anew), `inflight`, how many executions there may be at once,
    and `repeats`, whether it ends with `repeat`, so that it gives rows of outputs."""

    __slots__ = ("name", "inputs", "outputs", "bounds", "inflight", "repeats", "_index")

    def __init__(self, name, inputs, outputs, bounds, inflight, index=0, repeats=False):
        self.name, self.bounds, self.inflight = name, bounds, inflight
        self._index, self.repeats = index, repeats
        self.inputs = [Port(*port) for port in inputs]
        self.outputs = [Port(*port) for port in outputs]

    @property
    def signature(self):
        """As the source could say it: "classify(x: f32[n <= 64, 64]) -> (label: i64[n])"."""
        inputs = ", ".join(map(repr, self.inputs))
        outputs = ", ".join(map(repr, self.outputs))
        if len(self.outputs) == 1 and self.outputs[0].name == "result":
            return _runtime.printable(f"{self.name}({inputs}) -> {self.outputs[0].type}")
        return _runtime.printable(f"{self.name}({inputs}) -> ({outputs})")

    def __repr__(self):
        return f"<graph {self.signature}>"


class Graphs(dict):
    """The graphs of a plan by their names."""

    def __missing__(self, name):
        raise KeyError(f"the plan has no graph `{name}`; its graphs: {', '.join(self) or 'none'}")


class Proof:
    """What cgc finds when it proves a plan: true where it is `proved`; else `refusal` says which
    rule is broken, and `message` where. `certificate`: for each graph, an order of all starts and
    ends in which nothing waits for what comes later."""

    __slots__ = ("proved", "refusal", "message", "steps", "certificate")

    def __init__(self, found):
        self.proved, self.message = found["proved"], found["message"]
        self.refusal = None if self.proved else found["refusal"]
        self.steps, self.certificate = found.get("steps", []), found.get("certificate", [])

    def __bool__(self):
        return self.proved

    def __repr__(self):
        return "<proved>" if self.proved else f"<refused ({self.refusal}): {self.message}>"


class Plan:
    """A plan: what cgraph.compile() and cgraph.load() return. It is checked; nothing changes it."""

    def __init__(self, data, folder=".", diagnostics=()):
        self._runtime = _runtime.Plan.from_bytes(data)
        self.folder = folder  # where weights are looked for, unless an engine is told another
        self.diagnostics = list(diagnostics)
        self._graphs = None

    @property
    def graphs(self):
        """The graphs by their names, as GraphInfo."""
        if self._graphs is None:
            graphs = [GraphInfo(*graph) for graph in self._runtime.graphs()]
            self._graphs = Graphs({graph.name: graph for graph in graphs})
        return self._graphs

    @property
    def consts(self):
        """What the plan was compiled with, by name, as `defines` takes it: the consts and dtypes of
        the file, and what `defines` said of its imports. Read-only. Consts that are lists or tuples
        are left out: a plan has no more of them than their lengths."""
        return types.MappingProxyType({name: _value(text)
                                       for name, text in self._runtime.parameters()
                                       if text.startswith('"') or " " not in text})

    def save(self, path):
        """Writes the plan to a file (.cgplan), whole or not at all."""
        with absent_file(os.path.dirname(path)):
            _write(path, self._runtime.bytes())

    def __bytes__(self):
        return self._runtime.bytes()

    def __reduce__(self):
        return Plan, (self._runtime.bytes(), self.folder)

    def text(self):
        """The whole plan as `cgc plan` lists it, a line for each instruction and buffer."""
        return self._runtime.text()

    def __repr__(self):
        names = list(self.graphs)
        shown = ", ".join(names[:NAMES_SHOWN] + ["..."] * (len(names) > NAMES_SHOWN))
        instructions, devices = self._runtime.counts()
        return _runtime.printable(
            f"<cgraph.Plan: {_counted(len(names), 'graph')}{names and f' ({shown})' or ''}, "
            f"{_counted(instructions, 'instruction')}, {_counted(devices, 'device')}>")

    def simulate(self, *, graph=None, executions=1, workers=None, profile=None):
        """Predicts times without running. Returns a dict: `machine`; in `methods_without_cost`
        those that are `extern` and count as 0 operations, since nothing says more; in `graphs` for
        each graph its `makespan_ps`, `lower_bound_ps`, `bubble`, and its `devices` with their times
        and memory (picoseconds, bytes). `profile`: measured times, as compile() takes them."""
        import tempfile
        flags = ["--executions", str(executions)]
        for name, value in (("--graph", graph), ("--workers", workers)):
            if value is not None:
                flags += [name, str(value)]
        with tempfile.TemporaryDirectory(prefix="cgraph-") as folder:
            if isinstance(profile, dict):
                profile = _write_profile(folder, profile)
            if profile is not None:
                flags += ["--profile", os.fspath(profile)]
            with absent_file(*[profile] if profile is not None else []):
                return self._json("simulate", flags)

    def prove(self):
        """Proves the plan once more: that it cannot deadlock, and that every read finds the value
        that the program's order says. Returns a Proof."""
        return Proof(self._json("verify", [], codes=(0, 1)))

    def draw(self, what="schedule", *, graph=None, format="svg", output=None,
             executions=None, color_by=None, width=None):
        """Draws a graph: `what` is graph, schedule, timeline, transports or memory; `format` dot,
        svg, png, pdf or html. Returns the text (dot, svg, html) or bytes, or writes the file
        `output`, whole or not at all."""
        flags = ["--what", what, "--format", format]
        for name, value in (("--graph", graph), ("--executions", executions),
                            ("--color-by", color_by), ("--width", width)):
            if value is not None:
                flags += [name, str(value)]
        done = self._cgc("viz", flags)
        if done.returncode != 0:
            raise Error(_arguments.of_plan(_said(done)))
        if output is not None:
            with absent_file(os.path.dirname(output)):
                return _write(output, done.stdout)
        return done.stdout if format in ("png", "pdf") else done.stdout.decode()

    def _repr_svg_(self):
        import shutil
        if not self.graphs or shutil.which("dot") is None:
            return None
        return _below_each_other([self.draw("graph", graph=name) for name in self.graphs])

    def _cgc(self, command, flags):
        import tempfile
        with tempfile.TemporaryDirectory(prefix="cgraph-") as folder:
            file = os.path.join(folder, "plan.cgplan")
            self.save(file)
            return _commands.run([_commands.path("cgc"), command, file] + flags)

    def _json(self, command, flags, codes=(0,)):
        import json
        done = self._cgc(command, flags + ["--json"])
        if done.returncode not in codes:
            raise Error(_arguments.of_plan(_said(done)))
        return json.loads(done.stdout)


def _value(text):
    """The value of a const from its text in a plan; of a dtype or a module it is the name."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"'):
        return text[1:-1]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _below_each_other(drawings):
    """One SVG of several, which say their sizes in points."""
    import re

    roots = [re.search(r'<svg width="(\d+)pt" height="(\d+)pt"', each) for each in drawings]
    if len(drawings) == 1 or None in roots:
        return drawings[0]
    parts, width, height = [], 0, 0
    for each, root in zip(drawings, roots):
        parts.append(f'<svg x="0" y="{height}" width="{root[1]}" height="{root[2]}"'
                     f"{each[root.end():]}")
        width, height = max(width, int(root[1])), height + int(root[2])
    return (f'<svg width="{width}pt" height="{height}pt" viewBox="0 0 {width} {height}" '
            'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">\n'
            f"{''.join(parts)}</svg>\n")


def _counted(count, noun):
    return f"{count} {noun}{'s' * (count != 1)}"


def _write(path, data):
    """Writes a file, whole or not at all; Error where it cannot be written."""
    _runtime.write_file(os.fsencode(path), data)


def load(path):
    """Reads a plan that was saved, or that cgc has written. PlanError where it is none."""
    if isinstance(path, Plan):
        raise TypeError("load() takes the path of a file, and this is a plan already; "
                        "cgraph.Engine(plan) runs it")
    path = os.fspath(path)
    if _is_text(path):
        raise PlanError("this is the text of a program; cgraph.compile(text) makes a plan of it")
    if path.endswith(".cgraph") and os.path.exists(path):
        raise PlanError(f"{path} is a source; cgraph.compile({path!r}) makes a plan of it")
    try:
        with open(path, "rb") as file:
            data = file.read()
    except builtins.FileNotFoundError as error:
        raise PlanFileNotFoundError(f"cannot read {path}: {error.strerror}"
                                    f"{_runtime.near_plan_hint(path)}", path) from error
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}") from error
    try:
        return Plan(data, os.path.dirname(path) or ".")
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def _is_text(source):
    """Whether it is the text of a program, and no path of one."""
    return isinstance(source, str) and ("\n" in source or "{" in source)


def compile(source, *, graph=None, defines=None, topology=None, schedule=None,
            include=(), inflight=None, profile=None, no_warn=(), flags=()):
    """Compiles a program to a plan that is proved.

    source: the path of a .cgraph file, or the text of a program (anything with a line break or a
        brace in it).
    graph: the graphs to use, a name or several; all where it is None.
    defines: values of consts of the file, {"B": 64}; dtypes that it has names for, {"Real":
        "f64"}, and modules that it imports `as` a name, {"weights": "lib.q4"}.
    topology: the machine to schedule for: one of the library, with its arguments, or a file.
    schedule: instead of what the graphs say: "program", "auto", or a schedule with its arguments.
    include: folders that imports are looked up in, besides the file's own.
    inflight: executions that may be in progress at once.
    profile: measured times: a file of `cgrun --profile`, or what Engine.profile() returns.
    no_warn: the codes of warnings to leave out, "W0504" or several.
    flags: more flags of `cgc compile`, as they are.

    Raises CompileError, whose `diagnostics` hold codes, ranges, messages and notes. Warnings are
    warned of as CompileWarning, and are in the plan's `diagnostics`.
    """
    import tempfile
    if not isinstance(defines, (dict, type(None))):
        raise InputError(f"`defines` is a dict, {{'B': 3}}, and was given {defines!r}")
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise InputError(f"`source` {source!r}: expected the path of a program, or its text")
    words = []
    for name in _texts("graph", graph, "the name of a graph, or a list of them"):
        words += ["--graph", name]
    for name, value in (defines or {}).items():
        words += ["-D", f"{name}={_arguments.constant(value)}"]
    for code in _texts("no_warn", no_warn, "the code of a warning, or a list of them"):
        words += ["--no-warn", code]
    for folder in _texts("include", include, "a folder, or a list of them"):
        words += ["-I", os.path.abspath(folder)]
    for name, value in (("--topology", topology), ("--schedule", schedule),
                        ("--inflight", inflight), ("--profile", profile)):
        if value is not None and not isinstance(value, dict):
            value = str(value)
            is_file = name in ("--topology", "--profile") and os.path.exists(value)
            words += [name, os.path.abspath(value) if is_file else value]
    if isinstance(flags, str):
        raise InputError(f"`flags` is a list of words, {flags.split()}, and was given {flags!r}")
    words += _texts("flags", flags, "a list of words")
    files = [] if _is_text(source) else [source]
    files += [topology] if str(topology).endswith(".cgraph") else []
    files += [profile] if isinstance(profile, (str, os.PathLike)) else []
    with absent_file(*files), tempfile.TemporaryDirectory(prefix="cgraph-") as folder:
        if isinstance(profile, dict):
            words += ["--profile", _write_profile(folder, profile)]
        if _is_text(source):
            with open(os.path.join(folder, TEXT_NAME), "w", encoding="utf-8") as file:
                file.write(source)
            file, cwd, weights = TEXT_NAME, folder, "."
            words += ["-I", os.getcwd()]
        else:
            file, cwd = os.fsdecode(source), None
            weights = os.path.dirname(file) or "."
            if file.startswith("-"):  # which cgc would take for a flag
                file = os.path.join(".", file)
            if " " in file and not file.endswith(".cgraph") and not os.path.exists(file):
                raise SourceNotFoundError(f"cannot read {file}: there is no such file; a text "
                                          "without a line break or a brace is taken for a path",
                                          file)
        return _compile(file, cwd, os.path.join(folder, "plan.cgplan"), weights, words,
                        dict(defines or {}))


def _texts(name, given, expected):
    """What an argument was given that takes a text, a path, or several, as a list; None is none."""
    if given is None:
        return []
    if isinstance(given, (str, os.PathLike)):
        return [given]
    texts = list(given) if isinstance(given, collections.abc.Iterable) else [None]
    if all(isinstance(each, (str, os.PathLike)) for each in texts):
        return texts
    raise InputError(f"`{name}` {given!r}: expected {expected}")


def _write_profile(folder, calls):
    """Writes nanoseconds by "Actor.method" as cgrun does; returns the file."""
    import json
    path = os.path.join(folder, "profile.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"unit": "ns", "calls": calls}, file)
    return path


def _compile(file, cwd, output, weights, words, defines):
    done = _commands.run([_commands.path("cgc"), "compile", file, "--json", "--max-errors", "0",
                          "-o", output] + words, cwd=cwd)
    def in_arguments(said):
        return _arguments.of_compile(said, defines)

    diagnostics = _diagnostics(done, cwd, words, in_arguments)
    if done.returncode != 0:
        errors = [each for each in diagnostics if each.severity == "error"] or diagnostics
        text = "\n".join(map(str, errors)) if errors else in_arguments(_said(done))
        raise CompileError(text, diagnostics)
    for each in diagnostics:
        import warnings
        warnings.warn(str(each), CompileWarning, stacklevel=3)
    with open(output, "rb") as plan:
        return Plan(plan.read(), weights, diagnostics)


def _diagnostics(done, cwd, words, in_arguments):
    import json
    from cgraph._diagnostics import parse
    try:
        entries = json.loads(done.stdout or b"[]")
    except ValueError:  # it has not come so far
        return []
    files = {}

    def line_of(name, line):
        if name not in files:
            # A flag's own text is called as the flag is.
            is_flag = name in words and name.startswith("--")
            files[name] = ([words[words.index(name) + 1].encode()] if is_flag else
                           _lines(name, cwd))
        lines = files[name]
        return lines[line - 1] if lines and 1 <= line <= len(lines) else None

    return parse(entries, line_of, in_arguments) if isinstance(entries, list) else []


def _lines(name, cwd):
    if name.startswith("<std>/"):
        inside = name[len("<std>/"):]
        folder = "" if "/" in inside else "std"
        path = os.path.join(_commands.FOLDER, "share", "cgraph", "stdlib", folder, inside)
    else:
        path = os.path.join(cwd or ".", name)
    try:
        with open(path, "rb") as file:
            return file.read().split(b"\n")
    except OSError:
        return None


def _said(done):
    text = done.stderr.decode(errors="replace").strip()
    return text or done.stdout.decode(errors="replace").strip() or f"exit code {done.returncode}"

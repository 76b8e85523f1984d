"""Diagnostics of cgc, and how they are printed: as cgc prints them."""


class Range:
    """A part of a file, in lines and columns that count from 1; `end_column` is past the last."""

    __slots__ = ("file", "line", "column", "end_line", "end_column")

    def __init__(self, file, line, column, end_line, end_column):
        self.file, self.line, self.column = file, line, column
        self.end_line, self.end_column = end_line, end_column

    def __str__(self):
        return f"{self.file}:{self.line}:{self.column}"

    def __repr__(self):
        return f"Range({self})"


class Note:
    """Another place that a diagnostic speaks of. `range` is None where it is about none."""

    __slots__ = ("message", "range", "_text")
    severity = "note"
    code = None

    def __init__(self, message, range=None, text=None):
        self.message, self.range, self._text = message, range, text

    def __str__(self):
        return _render(self)

    def __repr__(self):
        return f"Note({self.message!r})"


class Diagnostic:
    """What cgc says of a program: `code` ("E0507"), `severity` ("error", "warning"), `message`,
    `range`, and `notes`. str() shows it with the source line and carets."""

    __slots__ = ("code", "severity", "message", "range", "notes", "_text")

    def __init__(self, code, severity, message, range, notes, text=None):
        self.code, self.severity, self.message, self.range = code, severity, message, range
        self.notes, self._text = notes, text

    @property
    def file(self):
        """The file that it is about, or None."""
        return self.range.file if self.range else None

    def __str__(self):
        return "\n".join([_render(self)] + [str(note) for note in self.notes])

    def __repr__(self):
        return f"Diagnostic({self.code}, {str(self.range)}, {self.message!r})"


def _render(said):
    place = f"{said.range}: " if said.range else ""
    code = f" [{said.code}]" if said.code else ""
    head = f"{place}{said.severity}: {said.message}{code}"
    line = said._text
    if line is None:
        return head
    prefix = f"{said.range.line:5d} | "
    until = said.range.end_column if said.range.end_line == said.range.line else len(line) + 1
    indent = "".join("\t" if c == "\t" else " " for c in line[:said.range.column - 1])
    carets = "^" + "~" * (until - said.range.column - 1)
    return f"{head}\n{prefix}{line}\n{' ' * 6}| {indent}{carets}"


def parse(entries, line_of):
    """Makes Diagnostics of what `cgc --json` prints. `line_of(file, line)`: a line's text or
    None."""
    def range_of(entry):
        if "file" not in entry or "line" not in entry:
            return None, None
        at = Range(entry["file"], entry["line"], entry["column"], entry["end_line"],
                   entry["end_column"])
        return at, line_of(at.file, at.line)

    found = []
    for entry in entries:
        notes = [Note(note["message"], *range_of(note)) for note in entry.get("notes", ())]
        found.append(Diagnostic(entry.get("code"), entry["severity"], entry["message"],
                                range_of(entry)[0], notes, range_of(entry)[1]))
    return found

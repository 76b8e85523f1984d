"""Diagnostics of cgc, printed as cgc prints them, in words of compile()'s arguments."""
from cgraph import _arguments, _runtime

# Of a long line, so many bytes are shown, so many of them before what is marked.
WINDOW, WINDOW_BEFORE = 140, 60


class Range:
    """A part of a file, in lines and columns (bytes of UTF-8) that count from 1; `end_column` is
    past the last."""

    __slots__ = ("file", "line", "column", "end_line", "end_column")

    def __init__(self, file, line, column, end_line, end_column):
        self.file, self.line, self.column = file, line, column
        self.end_line, self.end_column = end_line, end_column

    def __str__(self):
        return f"{self.file}:{self.line}:{self.column}"

    def __repr__(self):
        return f"Range({self})"


class Note:
    """Another place that a diagnostic speaks of; `range` is None where it is about none."""

    __slots__ = ("message", "range", "_line")

    def __init__(self, message, range, line):
        self.message, self.range, self._line = message, range, line

    def __str__(self):
        return _headline(self.range, "note", self.message) + _marked(self.range, self._line)

    def __repr__(self):
        return f"Note({self.message!r})"


class Fix:
    """A change that would mend the program: `text` instead of what is in `range`."""

    __slots__ = ("text", "range", "_line")

    def __init__(self, text, range, line):
        self.text, self.range, self._line = text, range, line

    def __str__(self):
        old = b""
        if self.range is not None and self._line is not None:
            begin, end = _columns(self.range, self._line)
            old = self._line[begin:end]
        if not self.text:
            return f"      = fix: remove '{_printable(old)}'"
        return f"      = fix: {'write' if old else 'insert'} '{_printable(self.text)}'"

    def __repr__(self):
        return f"Fix({self.text!r}, {self.range})"


class Diagnostic:
    """What cgc says of a program: `code` ("E0507"), `severity` ("error", "warning"), `message`,
    `range`, `notes` and `fixes`. str() shows it with the source line and carets."""

    __slots__ = ("code", "severity", "message", "range", "notes", "fixes", "_line")

    def __init__(self, code, severity, message, range, notes, fixes, line):
        self.code, self.severity, self.message, self.range = code, severity, message, range
        self.notes, self.fixes, self._line = notes, fixes, line

    @property
    def file(self):
        """The file that it is about, or None."""
        return self.range.file if self.range else None

    def __str__(self):
        head = _headline(self.range, self.severity, f"{self.message} [{self.code}]")
        return "\n".join([head + _marked(self.range, self._line), *map(str, self.notes),
                          *map(str, self.fixes)])

    def __repr__(self):
        return f"Diagnostic({self.code}, {str(self.range)}, {self.message!r})"


def _printable(line):
    """A line, or bytes of it, as a terminal may show it."""
    return _runtime.printable(line).replace("\n", "?")


def _headline(at, kind, message):
    return _printable(f"{at or 'cgc'}: {kind}: {message}")


def _columns(at, line):
    """What a range marks of the line that it begins in, in bytes from 0."""
    end = at.end_column - 1 if at.end_line == at.line else len(line)
    return at.column - 1, min(end, len(line))


def _marked(at, line):
    """The line, and carets under what is marked; nothing where there is no line."""
    if at is None or line is None:
        return ""
    begin, end = _columns(at, line)
    first, last = 0, len(line)
    if last > WINDOW:
        first = max(0, begin - WINDOW_BEFORE)
        last = min(last, first + WINDOW)
        while first > 0 and _continues(line, first):
            first -= 1
        while last < len(line) and _continues(line, last):
            last += 1
    before = ("..." if first > 0 else "") + _printable(line[first:begin])
    marked = _printable(line[begin:min(end, last)])
    after = _printable(line[max(begin, min(end, last)):last]) + ("..." if last < len(line) else "")
    carets = "^" + "~" * (len(marked) - 1)
    return f"\n{at.line:5d} | {before}{marked}{after}\n      | {' ' * len(before)}{carets}"


def _continues(line, at):
    """Whether a byte is inside a character of UTF-8."""
    return line[at] & 0xc0 == 0x80


def parse(entries, line_of, in_arguments):
    """Makes Diagnostics of what `cgc --json` prints. `line_of(file, line)`: a line's bytes or
    None. `in_arguments(message)`: what it says of flags in words of arguments."""
    def place(entry):
        if "file" not in entry:
            return None, None
        at = Range(_arguments.of_source(entry["file"]), entry["line"], entry["column"],
                   entry["end_line"], entry["end_column"])
        return at, line_of(entry["file"], at.line)

    found = []
    for entry in entries:
        notes = [Note(in_arguments(note["message"]), *place(note)) for note in entry["notes"]]
        fixes = [Fix(fix["text"], *place(fix)) for fix in entry["fixes"]]
        at, line = place(entry)
        found.append(Diagnostic(entry["code"], entry["severity"], in_arguments(entry["message"]),
                                at, notes, fixes, line))
    return found

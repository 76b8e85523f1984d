"""What calls of this package raise. Each message says what was seen, the rule, and the mend."""
import builtins
import contextlib
import errno
import os


class Error(Exception):
    """Whatever is wrong with cgraph's programs, plans or engines."""


class CompileError(Error):
    """A program that the compiler refuses. `diagnostics` says why, place by place; printed, each
    shows its line with carets below."""

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class PlanError(Error):
    """A plan that cannot be read or loaded, or whose weights, libraries or devices are absent, or
    whose states or objects cannot be made."""


class InputError(Error, ValueError):
    """Inputs that a graph does not take: a name, dtype, shape, layout, or a number beyond its type.
    Arguments of Engine and compile() that are none, or that exclude each other."""


class FileNotFoundError(Error, builtins.FileNotFoundError):
    """A file or folder that is not there; `filename` says which."""

    def __init__(self, message, filename=None):
        super().__init__(message)
        self.errno, self.strerror, self.filename = errno.ENOENT, os.strerror(errno.ENOENT), filename

    def __str__(self):  # the message, instead of what Python makes of errno and filename
        return self.args[0]

    def __reduce__(self):
        return type(self), (self.args[0], self.filename)


class SourceNotFoundError(CompileError, FileNotFoundError):
    """A CompileError about a file that is not there: the program, a topology, a profile."""

    def __init__(self, message, filename=None, diagnostics=()):
        super().__init__(message, diagnostics)
        self.filename = filename


class PlanFileNotFoundError(PlanError, FileNotFoundError):
    """A PlanError about a file that is not there: the plan, its weights, its libraries."""


class ExecutionError(Error):
    """An execution in which a method reported an error; the message names actor, method and source
    line. The engine stays usable."""


class TimeoutError(Error, builtins.TimeoutError):
    """A time that has passed; the message says who waits for whom."""


class LostError(Error):
    """A process that took part is gone; the message says which one. The engine has ended."""


class ClosedError(Error):
    """The engine was closed."""


class CompileWarning(UserWarning):
    """What the compiler warns of in a program that it accepts."""


def of_absent_file(error, paths):
    """The error as one of a file that is not there, where its message names one of `paths` that is
    none; else the error itself."""
    said = str(error)
    for path in map(os.fsdecode, paths):
        if path and _names(said, path) and _is_absent(path):
            if isinstance(error, CompileError):
                return SourceNotFoundError(said, path, error.diagnostics)
            kind = PlanFileNotFoundError if isinstance(error, PlanError) else FileNotFoundError
            return kind(said, path)
    return error


@contextlib.contextmanager
def absent_file(*paths):
    """Raises what the block raises, as of_absent_file() makes it."""
    try:
        yield
    except Error as error:
        made = of_absent_file(error, paths)
        if made is error:
            raise
        raise made from error.__cause__


def _names(said, path):
    """Whether the message has the path as a word of its own: `p`, not the p of `place`."""
    import re
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", said) is not None


def _is_absent(path):
    """Whether there is nothing of that path; of one that cannot be looked at nobody knows."""
    try:
        os.stat(path)
    except builtins.FileNotFoundError:
        return True
    except (OSError, ValueError):
        pass
    return False

"""What calls of this package raise. Each message says what was seen, the rule, and the mend."""
import builtins


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
    """Inputs that a graph does not take: a name, dtype, shape or layout. Arguments of Engine that
    exclude each other."""


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

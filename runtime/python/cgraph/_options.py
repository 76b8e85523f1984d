"""What Engine is given, checked by the rules of cgrun's flags and in their words."""
import collections.abc
import numbers
import operator
import os

from cgraph import _runtime
from cgraph.errors import InputError, PlanError, PlanFileNotFoundError


def read(given, device_map):
    """The options that Engine is given, by their names, as the runtime takes them."""
    options = {}
    for name, value in given.items():
        kind, most, _ = _runtime.ENGINE_OPTIONS[name]
        options[name] = _READERS[kind](name, value, most)
    given = given | {"device_map": device_map}
    for one, other, why in _runtime.EXCLUDED_OPTIONS:
        if _is_given(one, given) and _is_given(other, given):
            raise InputError(f"{_spelt(one)} excludes {_spelt(other)}: {why}; leave one of the two "
                             "out")
    return options


def _is_given(name, given):
    kind, _, initial = _runtime.ENGINE_OPTIONS.get(name, ("text", 0, None))
    return given[name] != initial if kind == "switch" else bool(given[name])


def _spelt(name):
    """An option as whoever gives it writes it."""
    kind, _, initial = _runtime.ENGINE_OPTIONS.get(name, ("text", 0, None))
    return f"`{name}=False`" if kind == "switch" and initial else f"`{name}`"


def _switch(name, value, _):
    if not isinstance(value, bool):
        raise InputError(f"`{name}` {value!r}: expected True or False")
    return value


def _count(name, value, most):
    """A number of threads or executions; None: 0, the runtime's own choice."""
    return 0 if value is None else _whole(name, value, most, _runtime.number_range_text(1, most))


def _processes(name, value, most):
    """As _count(); "device" is one process for each device."""
    if isinstance(value, str) and value == "device":
        return _runtime.PROCESS_PER_DEVICE
    if value is None:
        return 0
    return _whole(name, value, most, _runtime.PROCESSES_TEXT.replace("`device`", '"device"'))


def _whole(name, value, most, expected):
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not 1 <= number <= most:
        raise InputError(f"`{name}` {value!r}: {expected}")
    return number


def _seconds(name, value, _):
    """None: 0, for ever."""
    if value is None:
        return 0.0
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value <= _runtime.MAX_TIMEOUT:  # which not-a-number is not, either
        raise InputError(f"`{name}` {value!r}: {_runtime.TIMEOUT_TEXT}; None is for ever")
    return max(float(value), 1e-9)  # the runtime counts nanoseconds, and none would be for ever


_READERS = {"switch": _switch, "count": _count, "processes": _processes, "seconds": _seconds}


def results_on_gpus(value):
    if value not in ("host", "device"):
        raise InputError(f'`results` is "host" or "device", and was given {value!r}')
    return value == "device"


def device_map(value):
    """As the text that the runtime reads."""
    if not value and not isinstance(value, (int, float)):
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, collections.abc.Mapping) or not all(
            isinstance(word, str) for pair in value.items() for word in pair):
        raise InputError(f'`device_map` {value!r}: expected where devices run, as {{"gpu[0]": '
                         '"cpu:1"}')
    return ",".join(f"{device}={where}" for device, where in value.items())


def weights(value, folder):
    """The folder of the files that the plan loads; `folder` where none is given."""
    if value is None:
        return os.fspath(folder)
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"`weights` {value!r}: expected the folder of the files that `load` names")
    path = os.fspath(value)
    if not os.path.exists(path):
        raise PlanFileNotFoundError(f"`weights={path!r}`: there is no such folder", path)
    if not os.path.isdir(path):
        raise PlanError(f"`weights={path!r}`: it is a file; pass the folder that contains the "
                        f"files that `load` names: `weights={os.path.dirname(path) or '.'!r}`")
    return path

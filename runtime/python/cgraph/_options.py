"""What Engine is given, checked by the rules of cgrun's flags and in their words."""
import collections.abc
import numbers
import operator
import os

from cgraph import _runtime
from cgraph.errors import InputError, PlanError, PlanFileNotFoundError


def count(name, value, most):
    """A number of threads, processes or executions, for the runtime; None: 0, its own choice."""
    return 0 if value is None else _whole(name, value, most, _runtime.number_range_text(1, most))


def processes(value):
    """As count(); "device" is one process for each device."""
    if isinstance(value, str) and value == "device":
        return _runtime.PROCESS_PER_DEVICE
    if value is None:
        return 0
    expected = _runtime.PROCESSES_TEXT.replace("`device`", '"device"')
    return _whole("processes", value, _runtime.MAX_PROCESSES, expected)


def _whole(name, value, most, expected):
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not 1 <= number <= most:
        raise InputError(f"`{name}` {value!r}: {expected}")
    return number


def timeout(value):
    """Seconds for the runtime; None: 0, for ever."""
    if value is None:
        return 0.0
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value <= _runtime.MAX_TIMEOUT:  # which not-a-number is not, either
        raise InputError(f"`timeout` {value!r}: {_runtime.TIMEOUT_TEXT}; None is for ever")
    return max(float(value), 1e-9)  # the runtime counts nanoseconds, and none would be for ever


def check_flags(**flags):
    """Raises where something else than True or False is given."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise InputError(f"`{name}` {value!r}: expected True or False")


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
        raise PlanError(f"`weights={path!r}`: it is a file, and the folder is wanted in which the "
                        f"files are that `load` names: `weights={os.path.dirname(path) or '.'!r}`")
    return path


def check_excluded(processes, device_map, workers, proved, require_gpus):
    """Raises where two arguments say the same thing in two ways, as cgrun refuses their flags."""
    if processes and device_map:
        raise InputError("`processes` excludes `device_map`: it deals the devices to processes by "
                         "itself; leave one of the two out")
    if processes and workers:
        raise InputError("`processes` excludes `workers`: a process has one worker; leave one of "
                         "the two out")
    if device_map and workers:
        raise InputError("`device_map` excludes `workers`: a core has one worker; leave one of the "
                         "two out")
    if require_gpus and not proved:
        raise InputError("`proved=False` excludes `require_gpus`: without a proof a plan runs on "
                         "CPU threads; leave one of the two out")

"""Arrays as NumPy's. NumPy is imported when it is asked for."""
import operator
import struct

from cgraph import _runtime
from cgraph.errors import InputError


def permutation(rows, *, seed, epoch=0):
    """The order in which the epoch, from 0 on, of a shuffled training takes so many rows: an array
    i64[rows] of 0 to rows - 1. It is that of `cgrun --shuffle SEED`, the same on all machines."""
    given = {"rows": (rows, 2**48), "seed": (seed, 2**64), "epoch": (epoch, 2**64)}
    for name, (number, end) in given.items():
        try:
            fits = 0 <= operator.index(number) < end
        except TypeError:
            fits = False
        if not fits:
            raise InputError(f"`permutation` takes `{name}` as a whole number from 0 to {end - 1}, "
                             f"and was given {number!r}")
    return _runtime.permutation(*(operator.index(number) for number, _ in given.values()))


def _numpy(array):
    """The array as NumPy's, in the same memory. bf16 needs the package ml_dtypes."""
    if array.device != "cpu":
        raise TypeError(f"NumPy has no arrays on {array.device}; use .cpu() first, which copies")
    import numpy
    if array.dtype != "bf16":
        return numpy.asarray(memoryview(array))
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(
            "NumPy has no bf16: install ml_dtypes, or use torch.from_dlpack(x)") from error
    return numpy.frombuffer(array, dtype=ml_dtypes.bfloat16).reshape(array.shape)


def _array(array, dtype=None, copy=None):
    """NumPy's array protocol."""
    import numpy
    made = _numpy(array)
    if dtype is not None and numpy.dtype(dtype) != made.dtype:
        if copy is False:
            raise ValueError(f"{array.dtype} cannot be {dtype} without a copy")
        return made.astype(dtype)
    return made.copy() if copy else made


def _tolist(array):
    """The elements as numbers of Python's, in nested lists."""
    array = array.cpu()
    if array.dtype not in ("f16", "bf16"):
        return memoryview(array).tolist()
    # A memoryview knows f16 from CPython 3.12 on, and bf16 never.
    if array.dtype == "f16":
        values = struct.unpack(f"{array.size}e", array)
    else:  # the high half of an f32
        halves = struct.unpack(f"{array.size}H", array)
        values = struct.unpack(f"{array.size}f",
                               struct.pack(f"{array.size}I", *[bits << 16 for bits in halves]))
    return _nest(values, array.shape)


def _nest(values, shape):
    if not shape:
        return values[0]
    if len(shape) == 1:
        return list(values)
    each = len(values) // max(shape[0], 1)
    return [_nest(values[k * each:(k + 1) * each], shape[1:]) for k in range(shape[0])]


def _item(array):
    """The only element as a number of Python's."""
    if array.size != 1:
        raise ValueError(f"item() is for one element; this has {array.size}")
    value = _tolist(array)
    while isinstance(value, list):
        value = value[0]
    return value


def _index(array):
    """A whole number without dimensions, as an index."""
    if array.ndim != 0 or array.dtype not in ("i8", "u8", "i32", "i64"):
        raise TypeError(f"{array.dtype} of {array.ndim} dimensions is no index, which is a whole "
                        "number without dimensions")
    return _item(array)


def _compare(name):
    """A comparison: of a number with what it is compared with, else elementwise, by NumPy."""
    of = getattr(operator, name)

    def compare(array, other):
        if isinstance(other, _runtime.Array) and other.ndim == 0:
            other = _item(other)
        if array.ndim == 0 and not (hasattr(other, "__array__") or hasattr(other, "__dlpack__")):
            return of(_item(array), other)
        try:
            import numpy
        except ImportError as error:
            raise TypeError("arrays are compared by NumPy, numpy.asarray(x), which is not "
                            "installed; x.tolist() makes lists") from error
        del numpy
        return of(_numpy(array), _numpy(other) if isinstance(other, _runtime.Array) else other)

    compare.__name__ = f"__{name}__"
    return compare


def _number(array):
    """What arithmetic with an Array is of."""
    if array.ndim != 0:
        raise TypeError("an Array has no arithmetic: numpy.asarray(x) or torch.from_dlpack(x) "
                        "makes one that has")
    return _item(array)


def _operate(of, array, other, reflected):
    """An operation of a number with what stands on its other side."""
    if not reflected and hasattr(other, "__array_ufunc__"):
        return NotImplemented  # NumPy's own arrays know what to do with one
    number = _number(array)
    other = _number(other) if isinstance(other, _runtime.Array) else other
    return of(other, number) if reflected else of(number, other)


def _set_arithmetic(name):
    of = getattr(operator, name)
    setattr(_runtime.Array, f"__{name}__", lambda array, other: _operate(of, array, other, False))
    setattr(_runtime.Array, f"__r{name}__", lambda array, other: _operate(of, array, other, True))


def _format(array, form):
    """As its number is formatted; where it has dimensions, as it is printed."""
    return format(_item(array), form) if array.ndim == 0 and form else format(repr(array), form)


def _pickled(array):
    """How pickle and copy make an array anew, in memory of its own; from a GPU, in the host's."""
    array = array.cpu()
    data, = struct.unpack(f"{array.nbytes}s", array)  # bytes() wants a form, which bf16 has not
    return _unpickled, (array.dtype, array.shape, data)


def _unpickled(dtype, shape, data):
    return _runtime.array_of_bytes(dtype, shape, data)


_runtime.Array.__reduce__ = _pickled
_runtime.Array.numpy = _numpy
_runtime.Array.__array__ = _array
_runtime.Array.tolist = _tolist
_runtime.Array.item = _item
_runtime.Array.__float__ = lambda array: float(_item(array))
_runtime.Array.__int__ = lambda array: int(_item(array))
_runtime.Array.__bool__ = lambda array: bool(_item(array))
_runtime.Array.__getitem__ = lambda array, index: _numpy(array)[index]
_runtime.Array.__index__ = _index
_runtime.Array.__format__ = _format
_runtime.Array.__neg__ = lambda array: -_number(array)
_runtime.Array.__pos__ = lambda array: +_number(array)
_runtime.Array.__abs__ = lambda array: abs(_number(array))
_runtime.Array.__round__ = lambda array, digits=None: round(_number(array), digits)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _set_arithmetic(_name)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_runtime.Array, f"__{_name}__", _compare(_name))
# As NumPy's: what is equal to a number would have to hash as it does, and may be written.
_runtime.Array.__hash__ = None
del _name

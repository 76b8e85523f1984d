"""Arrays as NumPy's. NumPy is imported when it is asked for."""
import struct

from cgraph import _runtime


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


_runtime.Array.numpy = _numpy
_runtime.Array.__array__ = _array
_runtime.Array.tolist = _tolist
_runtime.Array.item = _item
_runtime.Array.__float__ = lambda array: float(_item(array))
_runtime.Array.__int__ = lambda array: int(_item(array))
_runtime.Array.__bool__ = lambda array: bool(_item(array))
_runtime.Array.__getitem__ = lambda array, index: _numpy(array)[index]

"""Reads and writes .safetensors files: dicts of NumPy arrays by name.

NumPy has no bf16. Here it is a type of two bytes, as .npy files have it: `bf16` makes such an
array, `wide` gives its numbers.
"""
import json
import pathlib
import struct

import numpy as np

BF16 = np.dtype("V2")
DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": BF16, "I64": np.int64}


def bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype(np.uint16).view(BF16).reshape(np.shape(x))


def wide(array):
    """The numbers of an array of any dtype, in f64 where it has floats."""
    if array.dtype == BF16:
        bits = np.ascontiguousarray(array).reshape(-1).view(np.uint16).astype(np.uint32) << 16
        array = bits.view(np.float32).reshape(array.shape)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def read(path):
    raw = pathlib.Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = np.frombuffer(raw[start + begin:start + end], DTYPES[entry["dtype"]])
        arrays[name] = data.reshape(entry["shape"])
    return arrays


def write(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        code = next(code for code, dtype in DTYPES.items() if dtype == array.dtype)
        header[name] = {"dtype": code, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)

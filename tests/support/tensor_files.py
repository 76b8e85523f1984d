"""Reads and writes .safetensors files: dicts of NumPy arrays by name."""
import json
import pathlib
import struct

import numpy as np

DTYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64}


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

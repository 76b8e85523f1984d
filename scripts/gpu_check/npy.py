"""Arrays of .npy files, read without NumPy, which a bare machine need not have."""
import array
import ast
import math
import struct

CODES = {"f4": "f", "f8": "d", "i8": "q", "i4": "i", "i1": "b", "u1": "B", "b1": "B"}
# What results may differ by from the CPU's, relative to the greatest magnitude of the result.
RELATIVE = {"f8": 1e-10, "f4": 1e-4, "f2": 1e-2, "V2": 2e-2, "u2": 2e-2}


class Array:
    def __init__(self, path):
        raw = path.read_bytes()
        if raw[:6] != b"\x93NUMPY":
            raise ValueError(f"{path} is no .npy")
        size, start = (struct.unpack("<H", raw[8:10])[0], 10) if raw[6] == 1 else \
            (struct.unpack("<I", raw[8:12])[0], 12)
        header = ast.literal_eval(raw[start:start + size].decode())
        self.shape = header["shape"]
        self.bytes = raw[start + size:]
        self.dtype = header["descr"].lstrip("<|=") if isinstance(header["descr"], str) else "V2"

    def numbers(self):
        if self.dtype == "f2":
            return [each[0] for each in struct.iter_unpack("<e", self.bytes)]
        if self.dtype in ("V2", "u2"):  # bf16: the upper half of an f32
            return [struct.unpack("<f", b"\0\0" + self.bytes[i:i + 2])[0]
                    for i in range(0, len(self.bytes), 2)]
        return array.array(CODES[self.dtype], self.bytes)


def difference(got, expected):
    """A sentence about two arrays that differ by more than they may; empty: they do not."""
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return (f"it is {got.dtype}{list(got.shape)}, expected "
                f"{expected.dtype}{list(expected.shape)}")
    if got.bytes == expected.bytes:
        return ""
    relative = RELATIVE.get(got.dtype)
    if relative is None:
        return "its integers differ from the CPU's"
    a, b = got.numbers(), expected.numbers()
    scale = max((abs(y) for y in b if math.isfinite(y)), default=0.0)
    worst, at = 0.0, None
    for i, (x, y) in enumerate(zip(a, b)):
        if x == y or (math.isnan(x) and math.isnan(y)):
            continue
        off = abs(x - y) if math.isfinite(x) and math.isfinite(y) else math.inf
        if off > worst:
            worst, at = off, i
    if worst <= relative * scale:
        return ""
    return f"element {at} is {a[at]}, and {b[at]} on the CPU; {relative * scale:.3g} may be between"

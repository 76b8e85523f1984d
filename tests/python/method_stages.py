"""The module whose methods methods_test.py calls; no test by itself."""
import ctypes
import gc
import itertools
import os
import random
import sys
import threading
import time
from os import getpid as imported  # noqa: F401  may not be called by a plan

import numpy as np

KEPT = []
DRAWS = itertools.count()
LOCAL = threading.local()


class Stage:
    def __init__(self, factor, name, sizes):
        if name == "refuse":
            raise ValueError("no stage is called that")
        self.factor, self.name, self.sizes = factor, name, sizes
        self.calls = 0

    def scale(self, x, by, offset):
        """Tensors and what is known when the plan is compiled, in the declared order."""
        self.calls += 1
        return np.asarray(x) * np.float32(self.factor * by) + np.asarray(offset)

    def about(self):
        return np.array([len(self.name), sum(self.sizes), self.calls, os.getpid()])

    def several(self, x):
        x = np.asarray(x)
        return x.sum(), x[::-1], x.T  # a scalar of NumPy's, and what does not lie densely

    def numbers(self, x):
        return float(x) * 2, int(x) + 1, bool(x), float(x) / 2

    def wide(self, a, b, c, d, e, f, g, h):
        kinds = [each.dtype for each in (a, b, c, d, e, f, g, h)]
        assert kinds == ["bool", "i8", "u8", "i32", "i64", "f16", "f32", "f64"], kinds
        return tuple(np.array(each) for each in (a, b, c, d, e, f, g, h))

    def bits(self, x):
        """bf16, which NumPy lacks: its bits come by DLPack, and go as an array of uint16."""
        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p)]
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        capsule = x.__dlpack__()
        tensor = Tensor.from_address(get(capsule, b"dltensor"))
        values = (ctypes.c_uint16 * x.size).from_address(tensor.data)
        return np.array(values, np.uint16) + np.uint16(1)

    def into(self, x, out):
        np.multiply(np.asarray(x), 2, out=np.asarray(out[0]))
        np.add(np.asarray(x), 1, out=np.asarray(out[1]))

    def parts(self, first, second, third):
        return np.asarray(first) + 10 * np.asarray(second) + 100 * np.asarray(third)

    def keep(self, x, what):
        if what == "view":
            KEPT.append(x)
        elif what == "array":
            KEPT.append(np.asarray(x))
        elif what == "capsule":
            KEPT.append(x.__dlpack__())
        elif what == "cycle":
            cycle = [np.asarray(x)]
            cycle.append(cycle)
        elif what == "use":
            return np.asarray(KEPT.pop())
        elif what == "argument":
            return x
        elif what == "write":
            np.asarray(x)[0] = 1
        elif what == "buffer":
            (ctypes.c_float * 3).from_buffer(x)[0] = 1
        elif what == "memory":
            memoryview(x)[0] = 1
        return np.array(x)

    def wrong(self, x, what):
        x = np.array(x)
        return {"dtype": x.astype(np.float64), "torch": TensorOf(x.astype(np.float64)),
                "short": x.astype(np.int16), "shape": x[:2], "rank": x.reshape(1, 3),
                "nothing": None, "text": "text", "number": 1.0, "tuple": (x, x), "complex": x * 1j,
                }[what]

    def end(self, x, what):
        if float(np.asarray(x)[0]) < 0:
            return np.array(x)
        if what == "raise":
            self.deep(3)
        elif what == "exit":
            sys.exit(3)
        elif what == "interrupt":
            raise KeyboardInterrupt("of its own")
        elif what == "bare":
            raise KeyboardInterrupt
        elif what == "holding":
            error = ValueError("it holds an array")
            error.array = np.asarray(x)
            raise error
        elif what == "text":
            raise Ugly()
        elif what == "long":
            raise ValueError("x" * 100000)
        elif what == "_exit":
            os._exit(5)
        elif what == "wait":
            time.sleep(30)
        return np.array(x)

    def deep(self, depth):
        if depth == 0:
            raise LookupError("at the bottom") from ValueError("the cause")
        self.deep(depth - 1)

    def local(self):
        LOCAL.count = getattr(LOCAL, "count", 0) + 1
        return LOCAL.count

    def busy(self, x):
        time.sleep(0.001)
        gc.collect(0)
        return np.array(x) + 1

    def hold(self, x):
        ctypes.PyDLL(None).usleep(200000)  # with the interpreter's lock
        return x

    def say(self, x):
        print("said by a method")
        return np.array(x)


class Keeper:
    """What has states of the graph's, too."""

    def read(self, bias, pair):
        try:
            np.asarray(bias)[0] = 7
        except ValueError:
            pass  # it is only read
        else:
            raise AssertionError("a state that is only read was written")
        return np.asarray(bias) + np.asarray(pair[0]) + np.asarray(pair[1])

    def learn(self, x, bias):
        bias = np.asarray(bias)
        bias += np.asarray(x)
        if bias[0] > 50:
            raise ArithmeticError("that is too much")


class Trained:
    """Keeps what it learns by itself, and puts it into a state and back when it is asked."""

    def __init__(self):
        self.w = np.zeros(3, np.float32)

    def step(self, x, w):
        assert w.shape == (3,)
        self.w = self.w * np.float32(0.5) + np.asarray(x)
        return self.w

    def keep(self, w):
        np.asarray(w)[:] = self.w

    def restore(self, w):
        self.w = np.array(w)


class Drawn:
    """Takes from what all objects of the process share, as a seeded generator is."""

    def __init__(self, size):
        time.sleep(random.random() / 500)
        self.number = next(DRAWS)
        time.sleep(0 if size != 99 else 2)

    def draw(self, w):
        return self.number


class TensorOf:
    """Has DLPack and no buffer, as PyTorch's tensors do."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()


class Unmade:
    def __new__(cls, width, name):
        raise LookupError(f"no weights for {name}")

    def run(self, x):
        return x


class Ugly(Exception):
    def __str__(self):
        raise ValueError("cannot be said")


def nothing(_):
    pass


def double(x):
    return np.asarray(x) * 2

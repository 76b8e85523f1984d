"""The module whose methods gpu_methods_test.py calls, on GPUs; no test by itself. What it gives
streams are copies and fills by CUDA's driver, so it needs no library that computes on GPUs."""
import ctypes
import random
import time

import cgraph_methods
import numpy as np
from cuda_tensors import CPU, CUDA, Cuda, Described, Device, DType
from gpu_arrays import I32, Array, Interface, opened

ROOM = 4096  # bytes of an object
KEPT = []
MADE = []  # what Counted was given, in the order in which its objects were made


class Stage:
    def __init__(self, name):
        if name == "refuse":
            raise ValueError("no stage is called that")
        kind, _, ordinal = cgraph_methods.current_device().partition(":")
        assert kind == "cuda" and cgraph_methods.current_stream() is None
        context = ctypes.c_void_p()
        self.cuda = Cuda.__new__(Cuda)
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuCtxGetCurrent(ctypes.byref(context))
        self.cuda.__init__(int(ordinal))
        assert context.value == self.cuda.context.value, "the GPU's context is not current"
        self.room, self.last, *self.pool = (self.cuda.allocate(ROOM) for _ in range(8))
        self.fill(self.last, 0, ROOM, self.cuda.stream)
        self.cuda.finish()
        self.calls = 0

    def copy(self, to, source, nbytes, stream):
        if nbytes:
            self.cuda.call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source),
                           ctypes.c_size_t(nbytes), ctypes.c_void_p(stream))

    def fill(self, to, byte, nbytes, stream):
        stream = getattr(stream, "value", stream)
        self.cuda.call("cuMemsetD8Async", ctypes.c_uint64(to), ctypes.c_ubyte(byte),
                       ctypes.c_size_t(nbytes), ctypes.c_void_p(stream))

    def append_roll(self, to, tensor, stream):
        """Each row of a tensor one up, the first one to the end."""
        rows = tensor.shape[0]
        if rows:
            row = 4 * tensor.shape[1]
            self.copy(to + (rows - 1) * row, tensor.data, row, stream)
            self.copy(to, tensor.data + row, (rows - 1) * row, stream)

    def opened(self, x, stream):
        capsule, tensor = opened(x, stream)
        here = (CUDA, self.cuda.ordinal)
        assert (tensor.device.type, tensor.device.id) == x.__dlpack_device__() == here
        assert x.device == cgraph_methods.current_device() == f"cuda:{self.cuda.ordinal}"
        return capsule, tensor

    def roll(self, x):
        """By the call's stream, and memory of its own."""
        self.calls += 1
        stream = cgraph_methods.current_stream()
        _held, tensor = self.opened(x, stream)
        self.append_roll(self.room, tensor, stream)
        return Array(self.cuda, self.room, x.shape)

    def roll_into(self, x, out):
        """Where the result lies."""
        stream = cgraph_methods.current_stream()
        _held, tensor = self.opened(x, stream)
        _out, result = self.opened(out, stream)
        self.append_roll(result.data, tensor, stream)

    def roll_described(self, x, how):
        """By the array interface, in and out; the work of `own` is in another stream."""
        said = x.__cuda_array_interface__
        stream = said["stream"]
        assert stream == cgraph_methods.current_stream()
        assert said["typestr"] == "<f4" and said["shape"] == x.shape and said["version"] == 3
        assert said["data"][1] is True and said["strides"] is None
        tensor = Described(said["data"][0], Device(), 2, DType(),
                           (ctypes.c_int64 * 2)(*x.shape), None, 0)
        if how == "own":
            own = self.cuda.stream.value
            self.cuda.call("cuEventRecord", self.cuda.event, ctypes.c_void_p(stream))
            self.cuda.call("cuStreamWaitEvent", self.cuda.stream, self.cuda.event, 0)
            stream = own
        self.append_roll(self.room, tensor, stream)
        return Interface(self.room, x.shape, stream)

    def roll_elsewhere(self, x, how):
        """In a stream of its own, which DLPack orders; `astray`: which nobody orders."""
        own = self.cuda.stream.value
        astray = how == "astray"
        _held, tensor = self.opened(x, -1 if astray else own)
        self.append_roll(self.room, tensor, own)
        return Array(self.cuda, self.room, x.shape, stream=None if astray else own)

    def remember(self, x):
        """In a stream of its own, which only the call itself can let others wait for."""
        own = self.cuda.stream.value
        _held, tensor = self.opened(x, own)
        self.copy(self.last, tensor.data, 4 * x.size, own)

    def remembered(self, x):
        del x
        return Array(self.cuda, self.last, (5, 3))

    def reused(self, x):
        """Whoever lets go of this result lets its memory be written to, in a stream of its own."""
        stream = cgraph_methods.current_stream()
        _held, tensor = self.opened(x, stream)
        memory = self.pool.pop() if self.pool else self.cuda.allocate(ROOM)
        self.cuda.call("cuEventRecord", self.cuda.event, self.cuda.stream)
        self.cuda.call("cuStreamWaitEvent", ctypes.c_void_p(stream), self.cuda.event, 0)
        nbytes = 4 * x.size
        self.copy(memory, tensor.data, nbytes, stream)

        def let_go():
            self.fill(memory, 7, nbytes, self.cuda.stream)
            self.pool.append(memory)

        return Array(self.cuda, memory, x.shape, let_go=let_go)

    def same(self, x):
        return x

    def numbers(self, x):
        del x
        return 1.5, -2, True, 0.5, 7

    def about(self, x):
        del x
        return self.calls

    def learn(self, x, bias):
        """Two numbers of the state; the third stays."""
        stream = cgraph_methods.current_stream()
        assert bias.__cuda_array_interface__["data"][1] is False
        _held, tensor = self.opened(x, stream)
        _bias, state = self.opened(bias, stream)
        self.copy(state.data, tensor.data, 8, stream)
        self.calls += 1

    def fail_learn(self, x, bias):
        self.learn(x, bias)
        raise ArithmeticError("that is too much")

    def wrong(self, x, what):
        if what == "host":
            return np.zeros((5, 3), np.float32)
        if what == "numpy":
            return np.asarray(x)
        if what == "float":
            return float(x)
        if what == "bytes":
            return bytes(memoryview(x))
        if what == "keep":
            KEPT.append(opened(x, cgraph_methods.current_stream()))
        elif what == "describe":
            KEPT.append((x, x.__cuda_array_interface__))
        elif what == "cpu":
            x.__dlpack__(dl_device=(CPU, 0))
        elif what == "context":
            self.cuda.call("cuCtxSetCurrent", None)
        elif what == "raise":
            raise LookupError("at the bottom")
        elif what in ("text", "nothing"):
            return {"text": "text", "nothing": None}[what]
        elif what in ("turned", "interface"):
            if what == "turned":
                return Array(self.cuda, self.room, (5, 3), strides=(1, 5))
            return Interface(self.room, (5, 3), None, strides=(4, 20))
        elif what == "mask":
            return Interface(self.room, (5, 3), None, mask=x)
        how = {"type": {"type": I32}, "other": {"device": (CUDA, 1 - self.cuda.ordinal)},
               "strange": {"device": (10, 0)}, "pinned": {"device": (3, 0)}}.get(what, {})
        return Array(self.cuda, self.room, (3, 5) if what == "shape" else (5, 3), **how)

    def state_dict(self):
        found = self.cuda.pinned(np.zeros(15, np.float32))
        self.cuda.copy(found.ctypes.data, self.last, found.nbytes)
        self.cuda.finish()
        return {"last": found.copy(), "device": cgraph_methods.current_device()}

    def load_state_dict(self, state):
        assert state["device"] == cgraph_methods.current_device()
        self.cuda.copy(self.last, self.cuda.pinned(state["last"]).ctypes.data, state["last"].nbytes)
        self.cuda.finish()


class Counted:
    def __init__(self, number):
        time.sleep(random.random() / 500)
        MADE.append(number)

    def same(self, x):
        return x


class Plain:
    """Of no GPU, so far."""

    def __init__(self):
        assert cgraph_methods.current_device() == "cpu"

    def where(self, x):
        assert x.device == "cpu" and cgraph_methods.current_stream() is None
        assert not hasattr(x, "__cuda_array_interface__")
        return np.array(x)


def same(x):
    """A function, without an object."""
    assert cgraph_methods.current_stream() is not None
    return x

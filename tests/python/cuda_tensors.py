"""A program that uses CUDA beside the engine: tensors on GPUs with DLPack, a stream, and memory, by
the driver alone. For tests, on the emulated driver or a GPU's."""
import ctypes
import time

import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
NON_BLOCKING = 1  # of streams
NO_TIMING = 2     # of events


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Described(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32),
                ("dtype", DType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("tensor", Described), ("context", ctypes.c_void_p), ("deleter", DELETER)]

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
DLTENSOR, USED = b"dltensor", b"used_dltensor"


class Cuda:
    """A GPU's primary context, and a stream of this program's."""

    def __init__(self, ordinal=0):
        self.ordinal, self.driver = ordinal, ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ordinal)
        self.make_current()
        self.stream, self.event = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamCreateWithPriority", ctypes.byref(self.stream), NON_BLOCKING, 0)
        self.call("cuEventCreate", ctypes.byref(self.event), NO_TIMING)
        self.gate = self.pinned(np.zeros(1, np.uint64))
        self.gates = 0

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status != 0:
            raise OSError(f"{name}: {status}")

    def make_current(self):
        self.call("cuCtxSetCurrent", self.context)

    def pinned(self, array):
        """A copy in pinned memory, which is never given back."""
        address = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(max(1, array.nbytes)), 1)
        held = (ctypes.c_uint8 * array.nbytes).from_address(address.value)
        made = np.frombuffer(held, array.dtype).reshape(array.shape)
        made[...] = array
        return made

    def allocate(self, nbytes):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def copy(self, to, source, nbytes):
        """Appends a copy to the stream."""
        self.call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source),
                  ctypes.c_size_t(nbytes), self.stream)

    def finish(self):
        self.call("cuStreamSynchronize", self.stream)

    def close(self):
        """Holds the stream until open() has been called as often."""
        self.gates += 1
        self.call("cuStreamWaitValue64_v2", self.stream, ctypes.c_uint64(self.gate.ctypes.data),
                  ctypes.c_uint64(self.gates), 0)

    def open_after(self, seconds):
        time.sleep(seconds)
        self.gate[0] = self.gates

    def hand_over(self, stream):
        """Lets another stream wait for all that this one has been given."""
        self.call("cuEventRecord", self.event, self.stream)
        self.call("cuStreamWaitEvent", ctypes.c_void_p(stream), self.event, 0)

    def read(self, capsule):
        """The numbers, f32, of a tensor on the GPU that a capsule holds; lets go of it."""
        managed = Managed.from_address(python.PyCapsule_GetPointer(capsule, DLTENSOR))
        tensor = managed.tensor
        shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
        to = self.pinned(np.zeros(shape, np.float32))
        self.copy(to.ctypes.data, tensor.data + tensor.byte_offset, to.nbytes)
        python.PyCapsule_SetName(capsule, USED)
        managed.deleter(ctypes.byref(managed))
        return to  # when the stream is over

    def tensor(self, array, device=CUDA):
        return CudaTensor(self, array, device)


class CudaTensor:
    """A tensor of this program's, which copies its numbers there in its stream."""

    def __init__(self, cuda, array, device):
        self.cuda, self.device, self.shape, self.dtype = cuda, device, array.shape, array.dtype
        source = cuda.pinned(array)
        self.streams, self.given, self.freed = [], 0, 0
        if device == CUDA_HOST:
            self.data, self.memory = source.ctypes.data, source
        else:
            self.data = cuda.allocate(max(256, array.nbytes)) if array.size else 0
            if array.size:
                cuda.copy(self.data, source.ctypes.data, array.nbytes)
        self.kept = []

    def fill(self, array):
        """Appends new numbers to the stream."""
        self.cuda.copy(self.data, self.cuda.pinned(array).ctypes.data, array.nbytes)

    def __dlpack_device__(self):
        return (self.device, 0 if self.device == CUDA_HOST else self.cuda.ordinal)

    def __dlpack__(self, stream=None):  # the first form alone
        self.streams.append(stream)
        if stream is not None:
            self.cuda.hand_over(stream)
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        code = {"f": 2, "i": 0, "u": 1}[self.dtype.kind]
        tensor = Described(self.data or None, Device(*self.__dlpack_device__()), len(self.shape),
                           DType(code, 8 * self.dtype.itemsize, 1), shape, None, 0)

        def let_go(_):
            self.freed += 1

        managed = Managed(tensor, None, DELETER(let_go))
        self.kept.append((shape, managed))
        self.given += 1
        return python.PyCapsule_New(ctypes.addressof(managed), DLTENSOR, None)

"""Tensors on a GPU as libraries have them, by DLPack and by the array interface of CUDA, over
memory of whoever makes them. For tests."""
import ctypes

from cuda_tensors import CUDA, DELETER, DLTENSOR, Described, Device, DType, Managed, python

F32, I32 = (2, 32), (0, 32)
alive = []  # what capsules point to


def opened(x, stream):
    """The tensor of DLPack's that a view gives, for a stream; valid while the capsule is held."""
    capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    managed = Managed.from_address(python.PyCapsule_GetPointer(capsule, DLTENSOR))
    return capsule, managed.tensor


class Array:
    """What a method returns: a tensor on a GPU, as a library has it whose work is in `stream`."""

    def __init__(self, cuda, data, shape, **how):
        self.cuda, self.data, self.shape = cuda, data, tuple(shape)
        self.device = how.get("device", (CUDA, cuda.ordinal))
        self.type, self.strides = how.get("type", F32), how.get("strides")
        self.stream, self.let_go = how.get("stream"), how.get("let_go")

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        if self.stream is not None:  # what is used there waits for what was made here
            self.cuda.call("cuEventRecord", self.cuda.event, self.stream)
            self.cuda.call("cuStreamWaitEvent", ctypes.c_void_p(stream), self.cuda.event, 0)
        numbers = [None if each is None else (ctypes.c_int64 * max(1, len(each)))(*each)
                   for each in (self.shape, self.strides)]
        tensor = Described(self.data, Device(*self.device), len(self.shape), DType(*self.type, 1),
                           *numbers, 0)

        def delete(_):
            if self.let_go is not None:
                self.let_go()
            alive.remove(held)

        managed = Managed(tensor, None, DELETER(delete))
        held = (numbers, managed)
        alive.append(held)
        return python.PyCapsule_New(ctypes.addressof(managed), DLTENSOR, DESTROY)


get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def destroy(capsule):
    """Of a capsule that nobody has taken over."""
    managed = Managed.from_address(get_pointer(capsule, DLTENSOR))
    managed.deleter(ctypes.byref(managed))


DESTROY = ctypes.cast(destroy, ctypes.c_void_p)


class Interface:
    """The same by the array interface alone."""

    def __init__(self, data, shape, stream, **more):
        self.__cuda_array_interface__ = {"data": (data, False), "shape": tuple(shape),
                                         "typestr": "<f4", "version": 3, "stream": stream, **more}

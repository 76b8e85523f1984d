"""A stand-in for PyTorch with GPUs, over CUDA's driver alone: of torch.cuda, nn.Module and tensors
what methods on GPUs meet, with the same rules. Memory that a tensor lets go of is written to at
once, by the stream that it was made in, behind the streams that record_stream() named."""
import ctypes
import threading

import cuda_tensors
import numpy as np
from gpu_arrays import Array, opened

HAS_GPUS = True  # False: a PyTorch for CPUs
__version__ = "0.fake"


class _Local(threading.local):
    device = 0
    streams = {}


_local = _Local()
_gpus = {}  # by their numbers
_pools = {}  # free memory, by GPU and stream


def _gpu(number):
    if number not in _gpus:
        _gpus[number] = cuda_tensors.Cuda(number)
    return _gpus[number]


class Stream:
    def __init__(self, device, handle=None):
        self.device = _number(device)
        self.cuda_stream = _gpu(self.device).stream.value if handle is None else handle

    def synchronize(self):
        with _Scope(self.device):  # the default stream is that of what is current
            _gpu(self.device).call("cuStreamSynchronize", ctypes.c_void_p(self.cuda_stream))

    def wait_stream(self, other):
        gpu = _gpu(self.device)
        gpu.call("cuEventRecord", gpu.event, ctypes.c_void_p(other.cuda_stream))
        gpu.call("cuStreamWaitEvent", ctypes.c_void_p(self.cuda_stream), gpu.event, 0)


def _number(device):
    return device if isinstance(device, int) else int(str(device).removeprefix("cuda:"))


class _Scope:
    """Sets what is current, and puts it back."""

    def __init__(self, device, stream=None):
        self.device, self.stream = device, stream

    def __enter__(self):
        self.before = _local.device, dict(_local.streams)
        _local.device = self.device
        _gpu(self.device).make_current()
        if self.stream is not None:
            _local.streams = {**_local.streams, self.device: self.stream}

    def __exit__(self, *_):
        _local.device, _local.streams = self.before
        _gpu(_local.device).make_current()


class cuda:
    Stream = Stream

    @staticmethod
    def ExternalStream(handle, device):
        return Stream(device, handle)

    @staticmethod
    def is_available():
        return HAS_GPUS

    @staticmethod
    def current_device():
        return _local.device

    @staticmethod
    def current_stream(device=None):
        number = _local.device if device is None else _number(device)
        return _local.streams.get(number) or Stream(number, 0)

    @staticmethod
    def set_stream(stream):
        """Makes its device current, too."""
        cuda.set_device(stream.device)
        _local.streams = {**_local.streams, stream.device: stream}

    @staticmethod
    def set_device(device):
        _local.device = _number(device)
        _gpu(_local.device).make_current()

    @staticmethod
    def stream(stream):
        return _Scope(stream.device, stream)

    @staticmethod
    def device(device):
        return _Scope(_number(device))


class _Storage:
    def __init__(self, device, nbytes):
        self.gpu, self.nbytes, self.uses = _gpu(device), nbytes, []
        self.stream = cuda.current_stream(device)
        pool = _pools.setdefault((device, self.stream.cuda_stream), [])
        self.data = pool.pop() if pool else self.gpu.allocate(4096)

    def __del__(self):
        for stream in self.uses:
            self.stream.wait_stream(stream)
        self.gpu.call("cuMemsetD8Async", ctypes.c_uint64(self.data), ctypes.c_ubyte(7),
                      ctypes.c_size_t(self.nbytes), ctypes.c_void_p(self.stream.cuda_stream))
        _pools[self.gpu.ordinal, self.stream.cuda_stream].append(self.data)


class Tensor:
    """f32. On the CPU its numbers are `array`."""

    def __init__(self, shape, device, data=None, storage=None, array=None, strides=None):
        self.shape, self.device, self.array, self.strides = tuple(shape), device, array, strides
        if device != "cpu" and storage is None:
            storage = _Storage(_number(device), 4 * int(np.prod(shape)))
            data = storage.data
        self.data, self.storage, self.requires_grad = data, storage, False

    def __dlpack_device__(self):
        return (1, 0) if self.device == "cpu" else (2, _number(self.device))

    def __dlpack__(self, *, stream=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        assert stream is not None and self.device != "cpu"
        current = cuda.current_stream(self.device)
        if stream != current.cuda_stream:
            Stream(self.device, stream).wait_stream(current)
        held = [self.storage]
        return Array(_gpu(_number(self.device)), self.data, self.shape, strides=self.strides,
                     let_go=held.clear).__dlpack__(stream)

    def detach(self):
        return Tensor(self.shape, self.device, self.data, self.storage, self.array, self.strides)

    def record_stream(self, stream):
        if isinstance(self.storage, _Storage) and stream.cuda_stream != \
                self.storage.stream.cuda_stream:
            self.storage.uses.append(stream)

    def copy_(self, source):
        """In the current stream; from the host by way of pinned memory."""
        if self.device == "cpu":
            self.array = source.array
            return self
        on_host = source.device == "cpu"
        data = _gpu(_number(self.device)).pinned(source.array).ctypes.data if on_host \
            else source.data
        _copy(self.device, self.data, data, 4 * int(np.prod(self.shape)))
        return self

    def clone(self):
        return Tensor(self.shape, self.device).copy_(self)

    def t(self):
        rows, columns = self.shape
        return Tensor((columns, rows), self.device, self.data, self.storage, strides=(1, columns))

    def contiguous(self):
        made = Tensor(self.shape, self.device)
        for at, index in enumerate(np.ndindex(*self.shape)):
            _copy(self.device, made.data + 4 * at, self.data + 4 * int(np.dot(index, self.strides)),
                  4)
        return made

    def numpy(self):
        if self.device == "cpu":
            return self.array
        gpu = _gpu(_number(self.device))
        found = gpu.pinned(np.zeros(self.shape, np.float32))
        _copy(self.device, found.ctypes.data, self.data, found.nbytes)
        cuda.current_stream(self.device).synchronize()
        return found.copy()


def _copy(device, to, source, nbytes):
    _gpu(_number(device)).call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source),
                               ctypes.c_size_t(nbytes),
                               ctypes.c_void_p(cuda.current_stream(device).cuda_stream))


def delay(device, seconds):
    """Lets what the current stream is given from now on begin so much later."""
    gpu = _gpu(_number(device))
    gpu.close()
    cuda.current_stream(device).wait_stream(Stream(device))
    threading.Thread(target=gpu.open_after, args=(seconds,)).start()


def tensor(array):
    return Tensor(array.shape, "cpu", array=array)


def from_dlpack(x):
    device = f"cuda:{x.__dlpack_device__()[1]}"
    stream = cuda.current_stream(device).cuda_stream
    capsule, found = opened(x, stream or 1)
    return Tensor(x.shape, device, found.data, storage=capsule)


class Module:
    def parameters(self):
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def to(self, device):
        for name, value in self.parameters().items():
            setattr(self, name, Tensor(value.shape, device).copy_(value))
        return self

    def state_dict(self):
        return {name: value.numpy() for name, value in self.parameters().items()}

    def load_state_dict(self, state):
        for name, value in self.parameters().items():
            value.copy_(tensor(state[name]))


class nn:
    Module = Module

"""Calls and objects on GPUs: what is current while they run, for methods that ask and for PyTorch.
PyTorch is asked only where it is loaded. It is compiled into the library, in one namespace with
helper.py."""
import contextlib
import sys
import threading
import types


class _At(threading.local):
    """Where the call of this thread works."""
    gpu = stream = None


_at = _At()
_streams = {}  # PyTorch's objects for streams, by GPU and stream
_torch = []    # PyTorch, once it was found to have GPUs: to ask it takes longer than many a call


def current_stream():
    """The CUDA stream of the call of a method on a GPU, as an int; else None."""
    return _at.stream


def current_device():
    """"cuda:1", in a method of a place on that GPU, or while its object is made; else "cpu"."""
    return "cpu" if _at.gpu is None else f"cuda:{_at.gpu}"


def writes(*names):
    """Says of a method that it writes these arguments: it is given copies of its own."""
    def mark(function):
        function.__cgraph_writes__ = names
        return function
    return mark


_published = types.ModuleType("cgraph_methods", "What a method says, and asks in a call.")
for _function in (current_stream, current_device, writes):
    _function.__module__ = _published.__name__
    setattr(_published, _function.__name__, _function)


def publish():
    """Makes these functions those of a module that methods may import. The package cgraph asks
    it for what was raised."""
    _published._take_raised = take_raised
    sys.modules[_published.__name__] = _published


def _torch_on_gpus():
    """PyTorch, where it is loaded and has GPUs; else None."""
    if _torch:
        return _torch[0]
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_available():
        return None
    _torch.append(torch)
    return torch


def _stream_of(torch, gpu, stream):
    """PyTorch's object for the stream of a call."""
    if (gpu, stream) not in _streams:
        _streams[gpu, stream] = torch.cuda.ExternalStream(stream, device=f"cuda:{gpu}")
    return _streams[gpu, stream]


def begin_call(gpu, stream):
    """Makes the stream and GPU of a call current; returns what end_call() is given.
    `torch.cuda.stream` does the same in twice the time, since it asks for what is known here."""
    torch, before = _torch_on_gpus(), None
    if torch is not None:
        before = torch.cuda.current_stream(gpu), torch.cuda.current_device()
        torch.cuda.set_stream(_stream_of(torch, gpu, stream))
    _at.gpu, _at.stream = gpu, stream
    return before


def end_call(before):
    gpu, _at.gpu, _at.stream = _at.gpu, None, None
    if before is not None:
        cuda, (stream, device) = _torch_on_gpus().cuda, before
        cuda.set_stream(stream)
        if device != gpu:
            cuda.set_device(device)


def is_kept_for_stream(result):
    """Whether the memory of a result stays as it is until the call's stream has done what it was
    given, though nobody holds it: PyTorch's allocator sees to that."""
    torch = _torch_on_gpus()
    if torch is None or not isinstance(result, torch.Tensor):
        return False
    here = result.device.index == _at.gpu
    result.record_stream(_stream_of(torch, _at.gpu, _at.stream) if here else
                         torch.cuda.current_stream(result.device))
    return True


@contextlib.contextmanager
def _on_device(gpu):
    """Makes a GPU current, for what has no stream of a call: an object is made, saved, restored.
    What PyTorch was given then is done at the end."""
    if gpu is None:
        yield
        return
    _at.gpu = gpu
    torch = _torch_on_gpus()
    try:
        with torch.cuda.device(gpu) if torch else contextlib.nullcontext():
            yield
        torch = _torch_on_gpus()  # which may have been loaded meanwhile
        if torch is not None:
            torch.cuda.current_stream(gpu).synchronize()
    finally:
        _at.gpu = None


def _move_module(made, gpu):
    """Moves a module of PyTorch's to the GPU of its place."""
    torch = sys.modules.get("torch")
    if not isinstance(made, getattr(getattr(torch, "nn", None), "Module", ())):
        return
    if not torch.cuda.is_available():
        raise RuntimeError(f"its object is a module of PyTorch's for a place on cuda:{gpu}, and "
                           f"PyTorch {torch.__version__} has no GPU here; place its actor on a cpu")
    made.to(f"cuda:{gpu}")

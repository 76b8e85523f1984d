"""Objects as bytes: what an object's state_dict() returns, written without code of its own, so that
a file of anybody's can be read. It is compiled into the library, in one namespace with helper.py.

Bytes: the length of a JSON text, 8 bytes, low first; the text; the elements of all arrays. In the
text a number, a text, True, False and None are themselves, a list is a list of what is in it, and
everything else is an object with one entry, whose name says what it is."""
import sys

LENGTH_BYTES = 8
NOT_SAVED = ("`{}` has no state_dict() and load_state_dict(), as nn.Module has; with both, its "
             "objects are saved")


def why_not_saved(made):
    """Returns None where an object can be saved, "" where there is nothing to save, or why not."""
    if made is None:
        return ""
    return None if _has_state(made) else NOT_SAVED.format(type(made).__qualname__)


def save(made, gpu):
    """Returns what an object keeps, as bytes; `gpu`: the number of its GPU, or None."""
    with _on_device(gpu):
        return _saved(made)


def _saved(made):
    import json
    writer = _Writer()
    parts = {"": made.state_dict()}
    for name, part in _parts_beside(made):
        parts[name] = part.state_dict()
    tree = {name: writer.write(value, f"state_dict() of `{name}`" if name else "state_dict()")
            for name, value in parts.items()}
    text = json.dumps(tree).encode()
    return b"".join([len(text).to_bytes(LENGTH_BYTES, "little"), text, *writer.pieces])


def restore(made, data, gpu):
    """Puts an object into a state that was saved."""
    with _on_device(gpu):
        _restore(made, data)


def _restore(made, data):
    parts = _read(data)
    beside = dict(_parts_beside(made))
    if parts.keys() != {"", *beside}:
        names = [", ".join(sorted(each)) or "nothing" for each in (set(parts) - {""}, beside)]
        raise ValueError(f"beside its own state_dict() that of {names[0]} was saved, and the "
                         f"object has {names[1]}")
    made.load_state_dict(parts.pop(""))
    for name, part in parts.items():
        beside[name].load_state_dict(part)


def _has_state(value):
    return not isinstance(value, type) and callable(getattr(value, "state_dict", None)) and \
        callable(getattr(value, "load_state_dict", None))


def _parts_beside(made):
    """What the state_dict() of PyTorch's modules leaves out: the object's optimizers, schedulers
    and the like. A class with a state_dict() of its own says itself what is in it."""
    torch = sys.modules.get("torch")
    module = getattr(getattr(torch, "nn", None), "Module", ())
    if not isinstance(made, module) or type(made).state_dict is not module.state_dict:
        return []
    return [(name, value) for name, value in sorted(vars(made).items())
            if _has_state(value) and not isinstance(value, module)]


class _Writer:
    def __init__(self):
        self.pieces, self.size = [], 0

    def add(self, data):
        """Returns where these bytes are: [begin, count]."""
        begin = self.size
        self.pieces.append(data)
        self.size += len(data)
        return [begin, len(data)]

    def write(self, value, where):
        """Returns a value as JSON can say it; `where` says in errors which one it is."""
        if value is None or isinstance(value, (bool, int, float, str)):
            plain = type(value)
            if plain in (type(None), bool, int, float, str):
                return value
        if isinstance(value, dict):
            return {"dict": [[self.write(key, f"a key of {where}"),
                              self.write(item, f"{where}[{key!r}]")]
                             for key, item in value.items()]}
        if isinstance(value, (list, tuple)):
            items = [self.write(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": self.add(bytes(value))}
        written = self.array(value) or self.tensor(value)
        if written is None:
            raise TypeError(
                f"{where} is of the type {type(value).__module__}.{type(value).__qualname__}; what "
                "is saved are numbers, texts, bytes, None, arrays of NumPy's, tensors of "
                "PyTorch's, and dicts, lists and tuples of these")
        return written

    def array(self, value):
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)):
            return None
        if value.dtype.hasobject or value.dtype.names is not None or hasattr(value, "mask"):
            return None  # of a masked array the elements are not all
        kind = "array" if isinstance(value, numpy.ndarray) else "scalar"
        return {kind: [value.dtype.str, list(value.shape), *self.add(value.tobytes())]}

    def tensor(self, value):
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(value, torch.Tensor):
            return None
        dense = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        data = dense.reshape(-1).view(torch.uint8).numpy().tobytes() if dense.numel() else b""
        name = str(value.dtype).removeprefix("torch.")
        return {"tensor": [name, list(value.shape), *self.add(data)]}


def _read(data):
    import json
    end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    text = data[LENGTH_BYTES:end]
    if len(data) < end or not text:
        raise ValueError("these bytes are no saved object, or not all of one")
    tree = json.loads(text.decode())
    if not isinstance(tree, dict):
        raise ValueError("these bytes are no saved object")
    rest = memoryview(data)[end:]
    return {name: _value(value, rest) for name, value in tree.items()}


def _value(tree, data):
    if isinstance(tree, list):
        return [_value(item, data) for item in tree]
    if not isinstance(tree, dict):
        return tree
    (kind, what), = tree.items()
    if kind == "dict":
        return {_value(key, data): _value(item, data) for key, item in what}
    if kind == "tuple":
        return tuple(_value(item, data) for item in what)
    if kind not in ("bytes", "array", "scalar", "tensor"):
        raise ValueError(f"a saved object has a `{kind}`, which is not known")
    *of, begin, count = what
    if not 0 <= begin <= begin + count <= len(data):
        raise ValueError("a saved object's array lies outside its bytes")
    part = data[begin:begin + count]
    if kind == "bytes":
        return bytes(part)
    dtype, shape = of
    if kind == "tensor":
        return _tensor(dtype, shape, part)
    import numpy
    array = numpy.frombuffer(part, dtype).reshape(shape)
    return array.copy() if kind == "array" else array[()]


def _tensor(dtype, shape, part):
    import torch
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype):
        raise ValueError(f"a saved tensor is of the type `{dtype}`, which this PyTorch has not")
    if len(part) == 0:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(bytearray(part), dtype=kind).reshape(shape)

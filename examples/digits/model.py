"""Code of train.py and check.py: the data, the .safetensors format, and the network in NumPy."""
import json
import math
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
WEIGHTS = HERE / "digits.safetensors"
LAST_WRITERS = 360  # the last images in file order are by writers that the first ones are not by


def load_data():
    """images f32[n, 64], labels i64[n], the indices for testing, those for training."""
    images = np.load(HERE / "images.npy")
    labels = np.load(HERE / "labels.npy")
    test = np.load(HERE / "test_indices.npy")
    return images, labels, test, np.setdiff1d(np.arange(len(labels)), test)


def save_safetensors(path, tensors):
    """f32 tensors by name: an 8-byte length, a JSON header, the bytes."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        assert tensor.dtype == np.float32
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())


def load_safetensors(path):
    """The f32 tensors by name. A saved state has numbers of other dtypes, too."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if entry.get("dtype") == "F32":  # the metadata have none
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])
    return tensors


def hidden(weights, x):
    """The input of relu in the first layer."""
    return x @ weights["fc1.weight"] + weights["fc1.bias"]


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def scores(weights, x, activation=relu):
    return activation(hidden(weights, x)) @ weights["fc2.weight"] + weights["fc2.bias"]

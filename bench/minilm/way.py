"""One way to encode batches, for `minilm`: encodes some whenever a line comes, and then prints one.
Takes how as JSON."""
import json
import os
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "minilm"))
from reference import NumPyEncoder, TorchEncoder, load_safetensors  # noqa: E402

SENTENCES, LENGTH = 8, 128


def batch():
    """A batch of random words, of 64 to 128 tokens each."""
    random = np.random.default_rng(1)
    lengths = random.integers(LENGTH // 2, LENGTH + 1, SENTENCES)
    mask = (np.arange(LENGTH) < lengths[:, None]).astype(np.float32)
    return np.where(mask > 0, random.integers(1000, 30000, mask.shape), 0), mask


def torch_way(how, weights):
    import torch
    torch.set_num_threads(how["threads"])
    encoder, (tokens, mask) = TorchEncoder(weights), batch()

    def encode():
        for _ in range(how["batches"]):
            vectors = encoder.encode(tokens, mask)
        return vectors
    return encode


def cgraph_way(how, _):
    sys.path.insert(0, f"{how['build']}/python")
    import cgraph
    copies = how["defines"]["M"]  # a batch is a micro-batch
    plan = cgraph.compile(ROOT / "examples" / "minilm" / "minilm.cgraph", defines=how["defines"],
                          inflight=how.get("inflight", 1))
    engine = cgraph.Engine(plan, weights=how["weights"], processes=how.get("processes"))
    tokens, mask = (np.stack([part] * copies) for part in batch())

    def encode():
        results = [engine.encode.submit(tokens=tokens, mask=mask)
                   for _ in range(how["batches"] // copies)]
        return np.asarray([each.result() for each in results][-1])[-1]
    return encode


def main():
    how = json.loads(sys.argv[1])
    os.sched_setaffinity(0, how["cores"])
    weights = load_safetensors(pathlib.Path(how["weights"]) / "model.safetensors")
    encode = {"torch": torch_way, "cgraph": cgraph_way}[how["kind"]](how, weights)
    off = np.abs(encode() - NumPyEncoder(weights).encode(*batch())).max()
    if not off <= 1e-5:  # nor where it is no number
        sys.exit(f"{off} from NumPy's vectors at most")
    print("ready", flush=True)
    for _ in sys.stdin:
        encode()
        print("done", flush=True)


if __name__ == "__main__":
    main()

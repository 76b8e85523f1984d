#!/usr/bin/env python3
"""MiniLM, batches of 8 sentences of 128 tokens, by cgraph and by PyTorch on the same cores, in
turn.

  build/torch-venv/bin/python bench/models/minilm.py [--rounds 20]
"""
import sys

import harness
import numpy as np

sys.path[:0] = [str(harness.ROOT / "examples"), str(harness.ROOT / "examples" / "minilm")]
from checkpoints import read_safetensors  # noqa: E402
from reference import NumPyEncoder, TorchEncoder  # noqa: E402

WEIGHTS = harness.ROOT / "build" / "minilm"
SENTENCES, LENGTH = 8, 128
BATCHES = 4  # of a round
ONE = {"T": 1, "P": 1, "M": 1}
CASES = [
    (1, "PyTorch, 1 thread", "torch", {"threads": 1}),
    (1, "cgraph, 1 device", "cgraph", {"defines": ONE}),
    (2, "PyTorch, 2 threads", "torch", {"threads": 2}),
    (2, "PyTorch, 2 processes, each with batches of its own", "torch",
     {"threads": 1, "alone": True}),
    (2, "cgraph, 2 devices by T", "cgraph", {"defines": {**ONE, "T": 2}}),
    (2, "cgraph, 2 devices by P", "cgraph", {"defines": {**ONE, "P": 2, "M": 2}, "inflight": 2}),
    (2, "cgraph, 2 processes by T", "cgraph",
     {"defines": {**ONE, "T": 2}, "processes": "device"}),
    (2, "cgraph, 2 processes by P", "cgraph",
     {"defines": {**ONE, "P": 2, "M": 2}, "inflight": 2, "processes": "device"}),
]


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
        for _ in range(BATCHES):
            vectors = encoder.encode(tokens, mask)
        return vectors
    return encode


def cgraph_way(how, _):
    import cgraph
    copies = how["defines"]["M"]  # a batch is a micro-batch
    plan = cgraph.compile(harness.ROOT / "examples" / "minilm" / "minilm.cgraph",
                          defines=how["defines"], inflight=how.get("inflight", 1))
    engine = cgraph.Engine(plan, weights=WEIGHTS, processes=how.get("processes"))
    tokens, mask = (np.stack([part] * copies) for part in batch())

    def encode():
        results = [engine.encode.submit(tokens=tokens, mask=mask)
                   for _ in range(BATCHES // copies)]
        return np.asarray([each.result() for each in results][-1])[-1]
    return encode


def make(how):
    weights = read_safetensors(WEIGHTS / "model.safetensors")
    encode = {"torch": torch_way, "cgraph": cgraph_way}[how["kind"]](how, weights)
    off = np.abs(encode() - NumPyEncoder(weights).encode(*batch())).max()
    if not off <= 1e-5:  # nor where it is no number
        sys.exit(f"{off} from NumPy's vectors at most")
    return encode


if __name__ == "__main__":
    harness.main(__doc__, CASES, make, BATCHES)

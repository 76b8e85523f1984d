"""The same encoder in NumPy and in PyTorch, from the same file of weights."""
import math

import numpy as np


def layers_of(weights):
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


class NumPyEncoder:
    """In f64, so that only the rounding of what is compared with it is measured."""

    def __init__(self, weights, heads=12):
        self.heads, self.layers = heads, layers_of(weights)
        self.weights = {name: w.astype(np.float64) for name, w in weights.items()
                        if w.dtype == np.float32}

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attention(self, x, mask, layer):
        batch, length, width = x.shape
        q, k, v = (self.linear(x, f"{layer}.attention.self.{name}")
                   .reshape(batch, length, self.heads, -1).transpose(0, 2, 1, 3)
                   for name in ("query", "key", "value"))
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // self.heads)
        scores = np.where(mask[:, None, None, :] > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        seen = weights / weights.sum(-1, keepdims=True) @ v
        return seen.transpose(0, 2, 1, 3).reshape(batch, length, width)

    def encode(self, tokens, mask):
        name = "embeddings.{}_embeddings.weight".format
        x = (self.weights[name("word")][tokens] + self.weights[name("position")][:tokens.shape[1]]
             + self.weights[name("token_type")][0])
        x = self.norm(x, "embeddings.LayerNorm")
        for layer in (f"encoder.layer.{i}" for i in range(self.layers)):
            attended = self.linear(self.attention(x, mask, layer),
                                   f"{layer}.attention.output.dense")
            x = self.norm(x + attended, f"{layer}.attention.output.LayerNorm")
            hidden = gelu(self.linear(x, f"{layer}.intermediate.dense"))
            x = self.norm(x + self.linear(hidden, f"{layer}.output.dense"),
                          f"{layer}.output.LayerNorm")
        means = (x * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


class TorchEncoder:
    """As one would write it for speed: PyTorch's own attention, and no gradients."""

    def __init__(self, weights, heads=12):
        import torch  # only where it is asked for
        self.torch, self.nn = torch, torch.nn.functional
        self.heads, self.layers = heads, layers_of(weights)
        self.weights = {name: torch.from_numpy(w.copy()) for name, w in weights.items()}
        for layer in (f"encoder.layer.{i}.attention.self" for i in range(self.layers)):
            for kind in ("weight", "bias"):  # one product instead of three
                self.weights[f"{layer}.qkv.{kind}"] = torch.cat(
                    [self.weights[f"{layer}.{part}.{kind}"] for part in ("query", "key", "value")])

    def linear(self, x, name):
        return self.nn.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, x, name):
        return self.nn.layer_norm(x, x.shape[-1:], self.weights[f"{name}.weight"],
                                  self.weights[f"{name}.bias"], 1e-12)

    def attention(self, x, hidden, layer):
        batch, length, width = x.shape
        qkv = self.linear(x, f"{layer}.attention.self.qkv").view(batch, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = self.nn.scaled_dot_product_attention(q, k, v, attn_mask=hidden)
        return seen.transpose(1, 2).reshape(batch, length, width)

    def encode(self, tokens, mask):
        """Takes and returns arrays of NumPy."""
        with self.torch.inference_mode():
            return self.run(self.torch.from_numpy(tokens), self.torch.from_numpy(mask)).numpy()

    def run(self, tokens, mask):
        name = "embeddings.{}_embeddings.weight".format
        x = (self.nn.embedding(tokens, self.weights[name("word")])
             + self.weights[name("position")][:tokens.shape[1]]
             + self.weights[name("token_type")][0])
        x = self.norm(x, "embeddings.LayerNorm")
        hidden = ((mask - 1) * 10000)[:, None, None, :].expand(-1, 1, mask.shape[1], -1)
        for layer in (f"encoder.layer.{i}" for i in range(self.layers)):
            attended = self.linear(self.attention(x, hidden, layer),
                                   f"{layer}.attention.output.dense")
            x = self.norm(x + attended, f"{layer}.attention.output.LayerNorm")
            wide = self.nn.gelu(self.linear(x, f"{layer}.intermediate.dense"))
            x = self.norm(x + self.linear(wide, f"{layer}.output.dense"),
                          f"{layer}.output.LayerNorm")
        means = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return self.nn.normalize(means)

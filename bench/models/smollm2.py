#!/usr/bin/env python3
"""SmolLM2-135M, by cgraph, by PyTorch's transformers and by llama.cpp on the same cores, in turn,
as far as this Python has them: the tokens of an answer, one after the other, or a prompt of about
as many tokens as are asked for.

  build/python-venv/bin/python bench/models/smollm2.py [prompt [233]] [--rounds 20]

What is not there is fetched and converted.
"""
import importlib.util
import pathlib
import sys

import harness

sys.path[:0] = [str(harness.ROOT / "examples" / "smollm2"), str(harness.ROOT / "examples")]
import fetch  # noqa: E402
from model import FORMATS, Model, Text, read_config  # noqa: E402
from reference import NumPyModel, TorchModel, greedy, load  # noqa: E402

FOLDER = fetch.FOLDER
STEPS = 16  # of a round
PROMPT = 233


def story(tokens):
    """A question of about so many tokens: 43 and ten for each repetition."""
    return ("Tell me, in a few words, what happens here. " +
            (tokens - 43) // 10 * "The cat sat on the mat, and slept. ")


def cases(what, tokens):
    what = {"what": what, "tokens": tokens}
    for cores in (1, 2):
        for weights, activations in [*((each, "f32") for each in FORMATS), ("bf16", "bf16")]:
            name = f"cgraph, {weights}" + f", activations {activations}" * (activations != "f32")
            defines = {"T": cores, "N": max(256, tokens)}
            if activations != "f32":
                defines["Activation"] = activations
            yield cores, name, "cgraph", {
                "weights": weights, "activations": activations, "defines": defines,
                "threads": cores, **what}
        for kind, name, formats in [("torch", "PyTorch", ("f32", "bf16")),
                                    ("llama_cpp", "llama.cpp", ("f32", "f16", "bf16", "q4_1"))]:
            if importlib.util.find_spec(kind):
                for weights in formats:
                    yield cores, f"{name}, {weights}", kind, {
                        "weights": weights, "threads": cores, **what}


class Cgraph:
    def __init__(self, how):
        self.model = Model(FOLDER, how["weights"], pathlib.Path(how["build"]),
                           {"S": 1024, "END": -1, **how["defines"]}, workers=how["threads"])

    def read(self, tokens):
        self.model.restart()
        self.answer = self.model.answer(tokens)
        self.next = next(self.answer)

    def step(self):
        token = self.next
        self.next = next(self.answer)
        return token


class Torch:
    def __init__(self, how):
        import torch
        torch.set_num_threads(how["threads"])
        self.model = TorchModel(load(FOLDER / "f32"), read_config(FOLDER))
        if how["weights"] == "bf16":
            self.model.model.bfloat16()

    def read(self, tokens):
        self.model.restart()
        self.scores = self.model.scores(tokens)

    def step(self):
        token = int(self.scores.argmax())
        self.scores = self.model.scores([token])
        return token


class Llama:
    def __init__(self, how):
        import llama_cpp
        self.model = llama_cpp.Llama(llama_file(how["weights"]), n_ctx=1024, n_batch=512,
                                     n_threads=how["threads"], n_threads_batch=how["threads"],
                                     verbose=False)

    def read(self, tokens):
        self.model.reset()
        self.model.eval(tokens)

    def step(self):
        token = self.model.sample(temp=0.0)
        self.model.eval([token])
        return token


def llama_file(weights):
    """The path of a GGUF file with weights of this format; that of the package is q4_1."""
    path = FOLDER / fetch.MODEL
    if weights != "q4_1":
        made = FOLDER / weights / "model.gguf"
        if not made.exists():
            write_gguf(path, made, weights)
        path = made
    return str(path)


def write_gguf(source, path, weights):
    """The same model with its matrices in another format."""
    import gguf
    kind = gguf.GGMLQuantizationType[weights.upper()]
    model = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, "llama")
    for field in model.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            of = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=of)
    for tensor in model.tensors:
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        to = kind if numbers.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(tensor.name, gguf.quants.quantize(numbers, to), raw_dtype=to)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(how):
    way = {"cgraph": Cgraph, "torch": Torch, "llama_cpp": Llama}[how["kind"]](how)
    tokens = Text(FOLDER).question(story(how["tokens"]))
    way.read(tokens)
    if how["kind"] == "cgraph":  # others round otherwise
        made = [way.step() for _ in range(STEPS)]
        weights = load(FOLDER / how["weights"])
        model = NumPyModel(weights, read_config(FOLDER), how["activations"])
        expected, _ = greedy(model, tokens, STEPS)
        if made != expected:
            sys.exit(f"{made} are not the tokens of NumPy, {expected}")
    if how["what"] == "prompt":
        return lambda: way.read(tokens)
    return lambda: [way.step() for _ in range(STEPS)]


if __name__ == "__main__":
    what, size = "token", PROMPT
    if sys.argv[1:2] == ["prompt"]:
        what = sys.argv.pop(1)
        if sys.argv[1:] and sys.argv[1].isdigit():
            size = int(sys.argv.pop(1))
    if sys.argv[1:2] != ["--way"]:
        fetch.fetch(FOLDER, sorted({"f32", *FORMATS}))
    harness.main(__doc__, [*cases(what, size)], make, 1 if what == "prompt" else STEPS)

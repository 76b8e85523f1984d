"""A chat as text, and the compiled program that goes on with it."""
import json
import os
import pathlib
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "build" / "smollm2"
POSITIONS = 2048  # of the cache, unless S says otherwise
WEIGHTS = "q4_1"  # the format of weights unless another is asked for
# The formats of weights, and what the program is told of each.
FORMATS = {"f32": {}, "f16": {"weights.Weight": "f16"}, "bf16": {"weights.Weight": "bf16"},
           "q8_0": {"weights": "q8_0"}, "q4_1": {"weights": "q4_1"}}


def expect_modules(*names):
    """Ends the program with a sentence where this Python lacks a module that the chat needs."""
    for name in names:
        try:
            __import__(name)
        except ImportError:
            python = ROOT / "build" / "python-venv" / "bin" / "python3"
            sys.exit(f"{sys.executable} has no module {name}; scripts/setup --chat installs it "
                     f"into build/python-venv, so run this by {os.path.relpath(python)}")


expect_modules("numpy")
import numpy as np  # noqa: E402


def missing(folder, weights):
    """A sentence on the first file that the folder lacks of what the model needs; else None."""
    for name in ("config.json", "tokenizer.json", "chat_template.jinja",
                 f"{weights}/model.safetensors"):
        if not (folder / name).is_file():
            made_by = shlex.join([sys.executable, os.path.relpath(HERE / "fetch.py"), "--to",
                                  str(folder), "--weights", weights])
            return f"there is no {folder / name}; this makes it: {made_by}"


def read_config(folder):
    return json.loads((folder / "config.json").read_text())


def sizes(config):
    """Consts of the program: what Hugging Face's config.json says of a model of this kind."""
    heads = config["num_attention_heads"]
    return {"LAYERS": config["num_hidden_layers"], "HEADS": heads,
            "KV_HEADS": config["num_key_value_heads"], "E": config["hidden_size"] // heads,
            "F": config["intermediate_size"], "WORDS": config["vocab_size"],
            "END": config["eos_token_id"], "THETA": float(config["rope_theta"]),
            "EPSILON": float(config["rms_norm_eps"])}


def package(build):
    """The Python package cgraph of a build folder."""
    sys.path.insert(0, str(build / "python"))
    try:
        import cgraph
    except ImportError as error:
        sys.exit(f"{sys.executable} has no package cgraph in {build / 'python'} ({error}); "
                 "scripts/setup --chat builds it, and --build names another build folder")
    return cgraph


class Text:
    """Texts to tokens and back. `folder` has what fetch.py made of the model."""

    def __init__(self, folder=FOLDER):
        expect_modules("tokenizers", "jinja2")
        import jinja2
        import tokenizers
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.template = jinja2.Template((folder / "chat_template.jinja").read_text())
        self.end = read_config(folder)["eos_token_id"]

    def chat(self, messages):
        """A chat as the model was trained on it, up to where it goes on with an answer.
        `messages` are dicts of a role (system, user or assistant) and a content."""
        return self.template.render(messages=messages, add_generation_prompt=True)

    def tokens(self, text):
        return self.tokenizer.encode(text).ids

    def question(self, text):
        """The tokens of a chat that begins with this question."""
        return self.tokens(self.chat([{"role": "user", "content": text}]))

    def pieces(self, tokens):
        """The text of tokens, piece by piece: each as soon as its characters are whole."""
        from tokenizers.decoders import DecodeStream
        stream = DecodeStream(skip_special_tokens=True)
        for token in tokens:
            piece = stream.step(self.tokenizer, token)
            if piece:
                yield piece


def compiled(folder, weights, build, defines):
    """The plan of the program for the model in a folder. Its consts are what `config.json` says,
    what the format of the weights wants, and last `defines`."""
    defines = {**sizes(read_config(folder)), "S": POSITIONS, **FORMATS[weights], **dict(defines)}
    return package(build).compile(HERE / "smollm2.cgraph", defines=defines), int(defines["S"])


class Model:
    """The program with weights. It has seen some tokens, `seen` of them, and names the most likely
    one after them, `next`."""

    def __init__(self, folder=FOLDER, weights=WEIGHTS, build=ROOT / "build" / "release", defines=(),
                 **engine):
        """`folder`: what fetch.py made, with weights of this format; `build`: the folder with the
        Python package; `defines`: consts of the program; `engine`: arguments of cgraph.Engine."""
        self.plan, self.positions = compiled(folder, weights, build, defines)
        self.engine = package(build).Engine(self.plan, weights=folder / weights, **engine)
        prefill = self.plan.graphs["prefill"]
        self.at_once = prefill.bounds[prefill.inputs[0].shape[0]]
        self.seen, self.next = 0, None
        self.end = int(dict(defines).get("END", read_config(folder)["eos_token_id"]))

    def room(self):
        """How many more tokens it can see."""
        return self.positions - self.seen

    def restart(self):
        self.engine.restart()
        self.seen, self.next = 0, None

    def answer(self, tokens, most=None, stopped=lambda: False):
        """Sees tokens and yields those that follow: until the one comes that ends an answer, which
        it does not yield, until there are `most`, or until the cache is full. The last one is not
        seen. Where `stopped()`, it sees no further part of many tokens, and yields nothing."""
        last = (len(tokens) - 1) // self.at_once * self.at_once
        for i in range(0, last, self.at_once):
            self.engine.prefill(np.array(tokens[i:i + self.at_once], np.int64))
            self.seen += self.at_once
            if stopped():
                return
        most = min(most or self.positions, self.room() - len(tokens[last:]) + 1)
        rounds = self.engine.answer.rounds(np.array(tokens[last:], np.int64), most - 1)
        seen = len(tokens[last:])
        for row in rounds:
            self.seen += seen
            seen, self.next = 1, int(np.asarray(row)[0])
            if self.next == self.end:
                return
            yield self.next

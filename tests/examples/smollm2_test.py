#!/usr/bin/python3
"""examples/smollm2: a small model of the same kind with random weights, from a GGUF file that is
made here to the tokens that it chooses, divided over devices in several ways, against NumPy; chats
of several turns; and, where examples/smollm2/fetch.py has put the real weights into build/smollm2,
what examples/smollm2/check.py says of them.

  smollm2_test.py --build build/release
"""
import argparse
import contextlib
import importlib.util
import io
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "smollm2"
sys.path[:0] = [str(EXAMPLE), str(EXAMPLE.parent), str(ROOT / "tests" / "support")]
import chat  # noqa: E402
import checkpoints  # noqa: E402
import expectations  # noqa: E402
import fetch  # noqa: E402
from expectations import expect, says  # noqa: E402
from model import FORMATS, WEIGHTS, Model, Text, missing  # noqa: E402
from reference import NumPyModel, greedy, load  # noqa: E402

SKIPPED = 77
MODULES = ("gguf", "tokenizers", "jinja2")
LAYERS, HEADS, KV_HEADS, E, F = 5, 6, 3, 16, 192
D = HEADS * E
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
            "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "l l", "he ll", "Ġ t", "hell o"]


def vocabulary():
    """Tokens of bytes and some merges, filled up to so many that 2 and 3 parts have
    groups of 16."""
    from tokenizers.pre_tokenizers import ByteLevel
    tokens = SPECIAL + sorted(ByteLevel.alphabet()) + [m.replace(" ", "") for m in MERGES]
    return tokens + [f"<|filler_{i}|>" for i in range(-len(tokens) % 96)]


def matrices(random):
    """Names as GGUF has them, and numbers."""
    def made(*shape):
        return (random.standard_normal(shape) * 0.15).astype(np.float32)

    yield "token_embd.weight", made(len(vocabulary()), D) * 3
    yield "output_norm.weight", 1 + made(D)
    for l in range(LAYERS):
        for name, shape in [("attn_norm", (D,)), ("attn_q", (D, D)), ("attn_k", (KV_HEADS * E, D)),
                            ("attn_v", (KV_HEADS * E, D)), ("attn_output", (D, D)),
                            ("ffn_norm", (D,)), ("ffn_gate", (F, D)), ("ffn_up", (F, D)),
                            ("ffn_down", (D, F))]:
            yield f"blk.{l}.{name}.weight", made(*shape) + (len(shape) == 1)


def write_gguf(path):
    """A model of the kind of SmolLM2's, in its formats; returns its matrices in f32."""
    import gguf
    types = gguf.GGMLQuantizationType
    writer, stored = gguf.GGUFWriter(path, "llama"), {}
    writer.add_context_length(512)
    writer.add_embedding_length(D)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(F)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(vocabulary()))
    writer.add_token_list(vocabulary())
    writer.add_token_types([3 if token.startswith("<|") else 1 for token in vocabulary()])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    for name, numbers in matrices(np.random.default_rng(7)):
        kind = types.F32 if numbers.ndim == 1 else \
            types.Q8_0 if name.startswith("token_embd") else types.Q4_1
        blocks = gguf.quants.quantize(numbers, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        stored[name] = gguf.quants.dequantize(blocks, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stored


def rope_of_pairs(x, turns):
    """As GGUF's queries and keys are turned: the pairs (2i, 2i + 1)."""
    c, s = np.cos(turns), np.sin(turns)
    even, odd = x[..., ::2], x[..., 1::2]
    return np.stack([even * c - odd * s, odd * c + even * s], -1).reshape(x.shape)


def conversion(folder, stored):
    """All formats have the numbers of the GGUF file, as closely as they can, and under the names
    and in the order of Hugging Face's."""
    weights = {kind: load(folder / kind) for kind in fetch.FORMATS}
    for kind, off in [("f32", 0), ("q4_1", 0), ("f16", 2**-11), ("bf16", 2**-8), ("q8_0", 0.02)]:
        expect(set(weights[kind]) == set(weights["f32"]), f"{kind} has other tensors")
        for name, expected in weights["f32"].items():
            error = np.abs(weights[kind][name] - expected).max() / np.abs(expected).max()
            expect(error <= off, f"{kind} {name}: {error} off")
    found = weights["f32"]
    for ours, name in [("blk.3.ffn_down", "layers.3.mlp.down_proj"), ("output_norm", "norm"),
                       ("token_embd", "embed_tokens"),
                       ("blk.0.attn_v", "layers.0.self_attn.v_proj"),
                       ("blk.4.ffn_norm", "layers.4.post_attention_layernorm")]:
        expect(np.array_equal(found[f"model.{name}.weight"], stored[f"{ours}.weight"]), name)
    # Scores are the same whichever pairs are turned, if rows lie as they should.
    model = NumPyModel(found, read_config(folder))
    model.seen = 9
    x = np.random.default_rng(3).standard_normal(D).astype(np.float32)
    theirs = rope_of_pairs((stored["blk.1.attn_q.weight"] @ x).reshape(HEADS, E), model.turns * 9)
    rows = (found["model.layers.1.self_attn.q_proj.weight"] @ x).reshape(HEADS, 1, E)
    ours = model.rope(rows)[:, 0]
    pairs = np.stack(np.split(ours, 2, -1), -1).reshape(HEADS, E)
    expect(np.allclose(pairs, theirs, atol=1e-5), "queries are turned otherwise than in the file")


def read_config(folder):
    import model
    return model.read_config(folder)


def ways(folder, build, kind):
    """The tokens of the compiled program are NumPy's, however it is divided."""
    reference = NumPyModel(load(folder / kind), read_config(folder))
    words, random = len(vocabulary()), np.random.default_rng(5)
    prompts = [random.integers(0, words, n).tolist() for n in (1, 23, 60)]
    expected, leads = zip(*(greedy(reference, prompt, 30) for prompt in prompts))
    expect(min(map(min, leads)) > 1e-4, f"two words are as likely, {min(map(min, leads))}")
    expect(len({tuple(tokens) for tokens in expected}) == 3, "all prompts are answered alike")
    for defines, engine in [
            ({}, {}), ({"T": 2}, {}), ({"T": 3}, {"workers": 1}), ({"P": 5, "N": 7}, {}),
            ({"T": 3, "P": 2}, {}), ({"T": 2, "P": 2, "M": 2}, {}),
            ({"T": 3, "P": 2, "N": 23}, {"processes": "device"})]:
        model = Model(folder, kind, build, {"S": 90, "END": -1, **defines}, **engine)
        for prompt, tokens in zip(prompts, expected):
            model.restart()
            found = list(model.answer(prompt, most=30))
            expect(found == tokens, f"{kind} {defines} {engine}: {found}, not {tokens}")
        model.engine.close()


def rounded_activations(folder, build):
    """Behind the same tokens the program chooses NumPy's next one, with the same rounding, where no
    other is nearly as likely. The parts of a divided product are rounded each for itself: there it
    is so nearly always."""
    weights, config = load(folder / "bf16"), read_config(folder)
    for seed in (1, 6):
        prompt = np.random.default_rng(seed).integers(0, len(vocabulary()), 9)
        expected, leads = greedy(NumPyModel(weights, config, activations="bf16"), prompt, 80)
        unrounded, _ = greedy(NumPyModel(weights, config), prompt, 80)
        same = [a == b for a, b in zip(expected, unrounded)]
        expect(False in same, "rounding changes no token")
        first = same.index(False)
        expect(leads[first] > 0.03, f"rounding makes little of a difference, {leads[first]}")
        for defines, most in (({}, 0), ({"T": 3, "P": 2}, 8)):
            model = Model(folder, "bf16", build, {"S": 90, "Activation": "bf16", **defines})
            found = [int(model.engine.prefill(np.array(tokens))[0])
                     for tokens in [prompt, *([token] for token in expected[:-1])]]
            model.engine.close()
            others = [lead for a, b, lead in zip(found, expected, leads) if a != b and lead > 0.03]
            expect(len(others) <= most and max(others, default=0) < 0.6,  # 0.4 was seen
                   f"seed {seed}, {defines}: other tokens, by {others}")


def faults(folder, build):
    """What must not be is refused before a state changes."""
    import cgraph
    model = Model(folder, "f32", build, {"S": 24, "T": 3, "P": 2, "N": 16, "END": -1})

    def refuse(tokens, what):
        try:
            model.engine.prefill(np.array(tokens))
            expect(False, f"{tokens} is not refused")
        except cgraph.ExecutionError as error:
            says(str(error), what)

    tokens = list(range(40, 52))
    first = list(model.answer(tokens, most=1))
    refuse([len(vocabulary())], "a token is not in the vocabulary")
    refuse([-1], "a token is not in the vocabulary")
    refuse(list(range(13)), "the cache is full")
    model.restart()
    found = list(model.answer(tokens))
    expect(found[:1] == first, f"{first}, then {found}")
    expect(model.room() == 0 and len(found) == 13, f"{len(found)}, and room for {model.room()}")
    refuse([1], "the cache is full")
    model.restart()
    again = list(model.answer(tokens[:7], most=1)) and list(model.answer(tokens[7:]))
    expect(again == found, f"{again}: not {found}")
    model.engine.close()
    refused = [({"T": 4}, "3 heads of keys and values are too few for 4 devices"),
               ({"P": 3, "M": 2}, "3 stages are not divided by 2 machines"),
               ({"M": 2}, "1 stages are not divided by 2 machines"),
               ({"HEADS": 7}, "7 heads of queries are not divided by 3 of keys")]
    for defines, what in refused:
        try:
            Model(folder, "f32", build, defines)
            expect(False, f"{defines} is not refused")
        except cgraph.CompileError as error:
            says(str(error).partition(" error: ")[2].partition("\n")[0], what)  # the first one


def conversation(folder, build):
    """After several turns, also cut ones, the model has seen what it would see in one go."""
    text = Text(folder)
    expect(text.tokens("hello<|im_end|>") == [vocabulary().index("hello"), 2], "tokens of hello")
    reference = NumPyModel(load(folder / "f32"), read_config(folder))
    model = Model(folder, "f32", build, {"S": 400, "N": 32})
    talk = chat.Conversation(text, model, system="be brief")
    seen = []
    answer_of = model.answer
    model.answer = lambda tokens, *more: (seen.extend(tokens), answer_of(tokens, *more))[1]
    for question, most in [("hello", 7), ("what the hell?", 20), ("日本 5", 1), ("", 9)]:
        counts = {}
        answer = list(talk.ask(question, most, counts))
        expect(counts["made"] <= most and counts["end"] >= counts["begin"], f"{counts}")
        expect(talk.messages[-1] == {"role": "assistant", "content": "".join(answer)}, "answer")
        # What was read in this turn, then what was made but for the last one.
        made, leads = [], []
        reference.restart()
        scores = reference.scores(seen)
        for _ in range(counts["made"]):
            made.append(int(scores.argmax()))
            leads.append(np.diff(np.partition(scores, -2)[-2:])[0])
            scores = reference.scores(made[-1:])
        expect(min(leads) > 1e-4, f"two words are as likely, {min(leads)}")
        expect(model.next == made[-1] or int(scores.argmax()) == model.next == text.end,
               f"after {question!r}: {model.next}, not one of {made}")
        seen.extend(made if model.next == text.end else made[:-1])
        expect(model.seen == len(seen), f"{model.seen} of {len(seen)} tokens seen")
    whole = text.tokenizer.decode(seen, skip_special_tokens=False)
    expect(whole.startswith("<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhello"),
           whole)
    expect(whole.count("<|im_start|>assistant\n") == 4, whole)
    talk.restart()
    expect(model.seen == 0 and len(talk.messages) == 1, "a new chat is not new")
    try:
        list(talk.ask("hello " * 300, 4, {}))
        expect(False, "a question that is too long is not refused")
    except chat.TooLong as error:
        says(str(error), "the cache has room for 400 more of 400; a shorter one fits, -D S=1024 ")
    list(talk.ask("hello", 9, {}))
    said, counts = list(talk.messages), {}
    found = list(talk.ask("hello " * 30, 9, counts, stopped=lambda: True))  # in parts
    expect(found == [] and counts["forgotten"] and talk.messages == said, f"{counts}")
    seen.clear()
    list(talk.ask("5", 400, counts))  # until the cache is full, or the end
    whole = text.chat([*said, {"role": "user", "content": "5"}])
    expect(seen == text.tokens(whole), f"{text.tokenizer.decode(seen)}, not {whole}")
    expect(not counts["forgotten"] and len(talk.messages) == 5, f"{talk.messages}")
    model.engine.close()


def pieces(folder):
    """Characters come whole, although each of their bytes is a token."""
    text = Text(folder)
    for sentence in ["hello", "日本語, é!", "a\n  b", "7"]:
        found = list(text.pieces(text.tokens(sentence)))
        expect("".join(found) == sentence and "\ufffd" not in found, f"{found} of {sentence!r}")
    expect(list(text.pieces([vocabulary().index("æ")])) == [], "half a character is printed")


def command(folder, build):
    program = [sys.executable, EXAMPLE / "chat.py", "--folder", folder, "--build", build]

    def run(*words, stdin="", **environment):
        return subprocess.run([*program, *words], input=stdin, capture_output=True, text=True,
                              errors="surrogateescape", env={**os.environ, **environment})

    done = run("hello", "--max-tokens", "5", "-D", "T=3", "-D", "P=2", "--processes", "2")
    expect(done.returncode == 0, "chat.py fails", done.stderr)
    says(done.stderr, "tokens read in", "after the start")
    done = run("--max-tokens", "4", "-D", "S=64", "-D", "N=8",
               stdin="hello\n\n/new\nhello\n" + "t" * 99 + "\n/what\n/quit\nhello\n")
    expect(done.returncode == 0, "a chat fails", done.stderr)
    first, second = done.stdout.splitlines()
    expect(first == second != "", f"other answers in a new chat: {first!r}, {second!r}")
    expect(done.stdout.endswith(first + "\n") and ">" not in done.stdout, f"{done.stdout!r}")
    says(done.stderr, "the cache has room for", "/new there", "[reading ", "/quit or Ctrl-D ends")
    # Bytes that are no UTF-8, and an output that has ASCII alone.
    for words, stdin in [(["h\udcffllo", "--system", "\udcff"], ""), ([], "h\udcffllo\n")]:
        done = run("--max-tokens", "9", *words, stdin=stdin, PYTHONIOENCODING="ascii")
        expect(done.returncode == 0, f"{words} {stdin!r}", done.stderr)
    bare = folder / "bare"  # has weights and no tokenizer
    bare.mkdir()
    for name in ("q4_1", "config.json"):
        (bare / name).symlink_to(folder / name)
    for words, code, what in [
            (["t" * 99, "-D", "S=64"], 1, "the cache has room for 64 more of 64; a shorter one "
             "fits, -D S=512 makes more"),
            (["x", "-D", "T"], 2, "T is not NAME=VALUE"), (["x", "-D", "T=4"], 1, "too few for 4"),
            (["x", "--max-tokens", "0"], 2, "0 is no number of 1 or more"),
            (["x", "-D", "Q=4"], 1, "`Q`"), (["x", "-D", "weights=q4_1"], 2, "use --weights q4_1"),
            (["x", "-D", "weights.Weight=bf16"], 2, "use --weights bf16"),
            (["x", "--processes", "some"], 1, "some"),
            (["x", "--build", "nowhere"], 1, "no package cgraph in nowhere/python"),
            (["x", "--folder", "nowhere"], 1, "there is no nowhere/config.json; this makes it: "),
            (["x", "--folder", bare], 1, f"there is no {bare / 'tokenizer.json'}; this makes it")]:
        done = run(*words)
        expect(done.returncode == code and "Traceback" not in done.stderr,
               f"chat.py {words}: {done.returncode}", done.stderr)
        says(done.stderr, what)
    expect(not pathlib.Path("nowhere").exists(), "a folder that is not there is made")
    ends(program)
    on_a_terminal(program)


def ends(program):
    """An output that nothing reads, and Ctrl-C beside a terminal, end the chat without a trace."""
    with subprocess.Popen([*program, "hello"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as chats:
        chats.stdout.close()
        said = chats.stderr.read()
        expect(chats.wait() == 141 and said == b"", f"{chats.returncode}, {said}")
    with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as chats:
        chats.stdin.write(b"/help\n")
        chats.stdin.flush()
        chats.stderr.readline()
        chats.send_signal(signal.SIGINT)
        said = chats.stderr.read()
        expect(chats.wait() == 130 and said == b"", f"{chats.returncode}, {said}")


def on_a_terminal(program):
    """The first line says the commands; Ctrl-C drops a line, Ctrl-D ends."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
                          env={**os.environ, "TERM": "dumb"}) as chats:
        says(chats.stderr.readline().decode(), "/new", "/help", "/quit")

        def wait_for(what):
            said = b""
            while not said.endswith(what):
                expect(select.select([ours], [], [], 60)[0], f"{said} after 60 s, not {what}")
                said += os.read(ours, 1000)

        wait_for(b"> ")
        os.write(ours, b"hel")
        wait_for(b"hel")
        chats.send_signal(signal.SIGINT)
        wait_for(b"\n> ")
        os.write(ours, b"\x04")
        expect(chats.wait() == 0, "Ctrl-D", chats.stderr.read().decode())
    os.close(theirs)
    os.close(ours)


def real_weights(build):
    if missing(fetch.FOLDER, WEIGHTS):
        print("SKIPPED: the real weights: examples/smollm2/fetch.py has not fetched them")
        return
    done = subprocess.run([sys.executable, EXAMPLE / "check.py", "--quick", "--build", build],
                          capture_output=True, text=True)
    print(done.stdout, end="")
    expect(done.returncode == 0, "examples/smollm2/check.py fails", done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    build = parser.parse_args().build.resolve()
    for module in MODULES:
        if not importlib.util.find_spec(module):
            print(f"SKIPPED: {sys.executable} has no module {module}; scripts/setup --tests "
                  "installs it into build/python-venv")
            return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        stored = write_gguf(folder / fetch.MODEL)
        fetch.FILES[fetch.MODEL] = checkpoints.digest(folder / fetch.MODEL)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            fetch.fetch(folder, fetch.FORMATS)
        expect(said.getvalue() == "", f"a model that is there is fetched: {said.getvalue()}")
        conversion(folder, stored)
        for kind in FORMATS:
            ways(folder, build, kind)
        rounded_activations(folder, build)
        faults(folder, build)
        conversation(folder, build)
        pieces(folder)
        command(folder, build)
    real_weights(build)
    print(f"{expectations.checks} checks")
    return 0


if __name__ == "__main__":
    sys.exit(main())

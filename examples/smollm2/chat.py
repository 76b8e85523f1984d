#!/usr/bin/env python3
"""A chat with SmolLM2-135M-Instruct, on the terminal, or the answer to one question.

    chat.py ['What is the capital of France?'] [--system TEXT] [--max-tokens N] [-D NAME=VALUE]...

The answer is printed as it comes, and then, on standard error, how fast it came. Ctrl-C ends an
answer, Ctrl-D the chat, and /new begins a new one. Weights that are not there are fetched.
"""
import time

START = time.monotonic()

import argparse  # noqa: E402
import pathlib  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402

import fetch  # noqa: E402
from model import FOLDER, FORMATS, ROOT, Model, Text, package  # noqa: E402


class TooLong(Exception):
    pass


class Conversation:
    """Questions and answers. The model has seen all of them but the end of the last answer."""

    def __init__(self, text, model, system=None):
        self.text, self.model = text, model
        self.opening = [{"role": "system", "content": system}] if system is not None else []
        self.messages, self.said = list(self.opening), ""

    def restart(self):
        self.messages, self.said = list(self.opening), ""
        self.model.restart()

    def unseen(self, messages):
        """The tokens of the chat that the model has not seen."""
        whole = self.text.chat(messages)
        if not whole.startswith(self.said):  # a template that says what was said in other words
            self.model.restart()
            return self.text.tokens(whole)
        cut = self.model.next not in (None, self.text.end)  # the last answer has no end
        return [self.model.next] * cut + self.text.tokens(whole[len(self.said):])

    def ask(self, question, most, counts):
        """Yields the answer in pieces. `counts` gets how many tokens were read and made, and
        when the first was there."""
        messages = [*self.messages, {"role": "user", "content": question}]
        tokens = self.unseen(messages)
        if len(tokens) > self.model.room():
            raise TooLong(
                f"this is {len(tokens)} tokens, and the cache has room for {self.model.room()} "
                f"more of {self.model.positions}; a shorter one fits, after /new there is room "
                f"again, and -D S={2 * self.model.positions} makes more")
        counts.update(read=len(tokens), made=0, begin=time.monotonic())

        def counted():
            for token in self.model.answer(tokens, most):
                counts["made"] += 1
                counts.setdefault("first", time.monotonic())
                yield token

        answer = ""
        try:
            for piece in self.text.pieces(counted()):
                answer += piece
                yield piece
        finally:
            counts["end"] = time.monotonic()
            self.messages = [*messages, {"role": "assistant", "content": answer}]
            self.said = self.text.chat(messages) + answer


def speed(counts):
    """How fast an answer came, as a line."""
    first = counts.get("first", counts["end"]) - counts["begin"]
    line = f"{counts['read']} tokens read in {first:.2f} s"
    if counts["made"] > 1:
        rate = (counts["made"] - 1) / (counts["end"] - counts["first"])
        line += f", {counts['made']} made, {rate:.1f} in a second"
    return line


def say(conversation, question, most):
    """Prints an answer as it comes, and returns its counts; Ctrl-C ends it."""
    counts, stopped = {}, []
    before = signal.signal(signal.SIGINT, lambda *_: stopped.append(True))
    try:
        pieces = conversation.ask(question, most, counts)
        for piece in pieces:
            print(piece, end="", flush=True)
            if stopped:
                pieces.close()
        print()
    finally:
        signal.signal(signal.SIGINT, before)
    model = conversation.model
    if not stopped and model.next != conversation.text.end:
        print("[the cache is full; /new begins anew, and -D S="
              f"{2 * model.positions} makes more room]" if model.room() == 0 else
              f"[cut after {counts['made']} tokens; --max-tokens allows more]", file=sys.stderr)
    return counts


def talk(conversation, most):
    try:
        import readline  # noqa: F401
    except ImportError:
        pass
    while True:
        try:
            question = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if question == "/new":
            conversation.restart()
        elif question:
            try:
                print(f"[{speed(say(conversation, question, most))}]", file=sys.stderr)
            except TooLong as error:
                print(f"[{error}]", file=sys.stderr)


def const(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE, as S=8192")
    return name, value


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of 1 or more")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("question", nargs="?")
    parser.add_argument("--system", metavar="TEXT", help="instead of the template's own")
    parser.add_argument("--max-tokens", type=positive, default=512, metavar="N",
                        help="of an answer")
    parser.add_argument("--weights", choices=FORMATS, default="f32")
    parser.add_argument("-D", action="append", default=[], dest="defines", type=const,
                        metavar="NAME=VALUE", help="a const of smollm2.cgraph, as T=3, P=2, S=8192")
    parser.add_argument("--processes", help="device, or a number: as cgrun has it")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    if not (options.folder / options.weights / "model.safetensors").exists():
        fetch.fetch(options.folder, [options.weights])
    text = Text(options.folder)
    try:
        model = Model(options.folder, options.weights, options.build, options.defines,
                      processes=options.processes)
    except package(options.build).Error as error:
        sys.exit(f"chat.py: {error}")
    conversation = Conversation(text, model, options.system)
    if options.question is None:
        return talk(conversation, options.max_tokens)
    try:
        counts = say(conversation, options.question, options.max_tokens)
    except TooLong as error:
        sys.exit(f"chat.py: {error}")
    first = counts.get("first", counts["end"]) - START
    print(f"[{speed(counts)}; the first {first:.2f} s after the start]", file=sys.stderr)


if __name__ == "__main__":
    main()

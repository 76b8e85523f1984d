#!/usr/bin/env python3
"""A chat with SmolLM2-135M-Instruct, on the terminal, or the answer to one question.

    chat.py ['What is the capital of France?'] [--system TEXT] [--max-tokens N] [-D NAME=VALUE]...

The answer is printed as it comes, and then, on standard error, how fast it came. Ctrl-C ends an
answer, Ctrl-D the chat, and /new begins a new one. Weights that are not there are fetched.
"""
import signal
import sys
import time

START = time.monotonic()
if __name__ == "__main__":  # before imports that take a while
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))

import argparse  # noqa: E402
import contextlib  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import re  # noqa: E402

from model import (FOLDER, FORMATS, ROOT, WEIGHTS, Model, Text, expect_modules,  # noqa: E402
                   missing, package)

ANSWER = 256  # tokens that advice on the cache's size leaves for an answer
HELP = "[/new begins a new chat, /help says this, /quit or Ctrl-D ends; Ctrl-C ends an answer]"


class TooLong(Exception):
    pass


def enough(tokens):
    """The next power of two of positions that holds so many tokens and an answer."""
    return 1 << (tokens + ANSWER - 1).bit_length()


@contextlib.contextmanager
def on_interrupt(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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

    def too_long(self, question, tokens):
        model, of_template = self.model, len(tokens) - len(self.text.tokens(question))
        mends = ["a shorter one fits"] if model.room() > of_template else []
        mends += ["after /new there is room again"] if self.messages != self.opening else []
        mends += [f"-D S={enough(model.seen + len(tokens))} makes more"]
        return TooLong(f"this is {len(tokens)} tokens, and the cache has room for {model.room()} "
                       f"more of {model.positions}; {', '.join(mends)}")

    def ask(self, question, most, counts, stopped=lambda: False):
        """Yields the answer in pieces. `counts` gets how many tokens were read and made, and
        when the first was there. A question that is `stopped` while it is read is forgotten."""
        messages = [*self.messages, {"role": "user", "content": question}]
        tokens = self.unseen(messages)
        if len(tokens) > self.model.room():
            raise self.too_long(question, tokens)
        if len(tokens) > self.model.at_once:
            print(f"[reading {len(tokens)} tokens]", file=sys.stderr)
        counts.update(read=len(tokens), made=0, begin=time.monotonic())

        def counted():
            for token in self.model.answer(tokens, most, stopped):
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
            counts["forgotten"] = counts["made"] == 0 and stopped()
            if counts["forgotten"]:
                self.said = ""  # the model reads the chat before it again
                self.model.restart()
            else:
                self.messages = [*messages, {"role": "assistant", "content": answer}]
                self.said = self.text.chat(messages) + answer


def speed(counts):
    """How fast an answer came, as a line."""
    if counts["forgotten"]:
        return "stopped; the question is forgotten"
    first = counts.get("first", counts["end"]) - counts["begin"]
    line = f"{counts['read']} tokens read in {first:.2f} s"
    if counts["made"] > 1:
        rate = (counts["made"] - 1) / (counts["end"] - counts["first"])
        line += f", {counts['made']} made, {rate:.1f} in a second"
    return line


def say(conversation, question, most, new=""):
    """Prints an answer as it comes, and returns its counts; Ctrl-C ends it. `new`: how a full
    cache is emptied."""
    counts, stopped = {}, []
    with on_interrupt(lambda *_: stopped.append(True)):
        pieces = conversation.ask(question, most, counts, lambda: bool(stopped))
        for piece in pieces:
            print(piece, end="", flush=True)
            if stopped:
                pieces.close()
        print()
    model = conversation.model
    if not stopped and model.next != conversation.text.end:
        print(f"[the cache is full; {new}-D S={enough(model.seen)} makes more room]"
              if model.room() == 0 else
              f"[cut after {counts['made']} tokens; --max-tokens allows more]", file=sys.stderr)
    return counts


def questions():
    """Lines of standard input. On a terminal Ctrl-C drops one."""
    terminal, on_ctrl_c = sys.stdin.isatty(), signal.getsignal(signal.SIGINT)
    if terminal:
        on_ctrl_c = signal.default_int_handler
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401
        print(HELP, file=sys.stderr)
    while True:
        try:
            with on_interrupt(on_ctrl_c):
                question = input("> " if terminal else "")
        except KeyboardInterrupt:
            print()
            continue
        except EOFError:
            if terminal:
                print()
            return
        yield question.strip()


def talk(conversation, most):
    for question in questions():
        if question == "/quit":
            return
        if question == "/new":
            conversation.restart()
        elif re.fullmatch(r"/\w*", question):
            print(HELP, file=sys.stderr)
        elif question:
            try:
                counts = say(conversation, question, most, "/new begins anew, and ")
                print(f"[{speed(counts)}]", file=sys.stderr)
            except TooLong as error:
                print(f"[{error}]", file=sys.stderr)


def const(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE, as S=8192")
    known = "f32" if value == "dense" else value
    if name in ("weights", "weights.Weight") and known in FORMATS:
        raise argparse.ArgumentTypeError(f"{text} needs a file of that format as well; use "
                                         f"--weights {known}")
    return name, value


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of 1 or more")
    return int(text)


def utf8(text):
    """An argument of any bytes."""
    return os.fsencode(text).decode(errors="replace")


def main():
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("question", nargs="?", type=utf8)
    parser.add_argument("--system", metavar="TEXT", type=utf8,
                        help="instead of the template's own")
    parser.add_argument("--max-tokens", type=positive, default=512, metavar="N",
                        help="of an answer")
    parser.add_argument("--weights", choices=FORMATS, default=WEIGHTS,
                        help=f"the format of the weights, by default {WEIGHTS}")
    parser.add_argument("-D", action="append", default=[], dest="defines", type=const,
                        metavar="NAME=VALUE", help="a const of smollm2.cgraph, as T=3, P=2, S=8192")
    parser.add_argument("--processes", help="device, or a number: as cgrun has it",
                        type=lambda text: int(text) if text.isdecimal() else text)
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER,
                        help="what fetch.py --to has made, by default build/smollm2")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="the folder that cgraph was built in")
    options = parser.parse_args()
    cgraph = package(options.build)
    expect_modules("tokenizers", "jinja2")
    lacking = missing(options.folder, options.weights)
    if lacking and options.folder != FOLDER:
        sys.exit(f"chat.py: {lacking}")
    if lacking:
        import fetch
        fetch.fetch(FOLDER, [options.weights])
    text = Text(options.folder)
    try:
        model = Model(options.folder, options.weights, options.build, options.defines,
                      processes=options.processes)
    except cgraph.Error as error:
        sys.exit(f"chat.py: {error}")
    conversation = Conversation(text, model, options.system)
    if options.question is None:
        return talk(conversation, options.max_tokens)
    try:
        counts = say(conversation, options.question, options.max_tokens)
    except TooLong as error:
        sys.exit(f"chat.py: {error}")
    if counts["forgotten"]:
        sys.exit(130)
    first = counts.get("first", counts["end"]) - START
    print(f"[{speed(counts)}; the first {first:.2f} s after the start]", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # what read the answer has ended; no flush at the end fails, too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)

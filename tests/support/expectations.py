"""Expectations of tests in Python. The first thing that is otherwise ends the test and is printed.

The expectations are counted, so that a test can say how many there were: one that expected nothing
has shown nothing.
"""
import sys

checks = 0


def expect(condition, what, more=""):
    """`more`: what helps to see why, as all that a command printed."""
    global checks
    checks += 1
    if not condition:
        sys.exit(f"FAILED: {what}" + (f"\n{more}" if more else ""))


def says(text, *words):
    for word in words:
        expect(word in text, f"{word!r} is not in:\n{text}")

"""The part of TextMate's tokeniser that our grammar uses: `match`, `begin`/`end`, captures,
`include` of the repository. One line at a time, the first pattern wins where two match at one
place.
"""
import json
import re


class Grammar:
    def __init__(self, text):
        self.tree = json.loads(text)
        self.compiled = {}

    def regex(self, pattern):
        if pattern not in self.compiled:
            self.compiled[pattern] = re.compile(pattern)
        return self.compiled[pattern]

    def rules(self, patterns):
        """The rules that may begin here, includes resolved."""
        for rule in patterns:
            if "include" in rule:
                target = self.tree["repository"][rule["include"].removeprefix("#")]
                whole = "match" in target or "begin" in target
                yield from self.rules([target] if whole else target["patterns"])
            else:
                yield rule

    def tokens(self, text):
        """[(line number, text, scopes)] and the names of the rules still open at the end."""
        found, stack = [], []
        for number, line in enumerate(text.split("\n"), start=1):
            self.line(number, line, stack, found)
        return found, [rule.get("name", "?") for rule in stack]

    def line(self, number, line, stack, found):
        at = 0
        while True:
            rule, match, ends = self.next(line, at, stack)
            until = match.start() if match else len(line)
            if line[at:until].strip():
                found.append((number, line[at:until], scopes(stack)))
            if not match:
                return
            if ends:
                open_rule = stack[-1]
                self.captured(number, match, open_rule.get("endCaptures"), scopes(stack), found)
                stack.pop()
            elif "begin" in rule:
                stack.append(rule)
                self.captured(number, match, rule.get("beginCaptures"), scopes(stack), found)
            else:
                inner = scopes(stack) + ([rule["name"]] if "name" in rule else [])
                self.captured(number, match, rule.get("captures"), inner, found)
            if match.end() == at and not ends and "begin" not in rule:
                raise ValueError(f"an empty match of {rule}")
            at = match.end()

    def next(self, line, at, stack):
        """The rule that matches first from `at`; the end of what is open goes before the others."""
        best, best_match, ends = None, None, False
        patterns = self.tree["patterns"]
        if stack:
            best_match = self.regex(stack[-1]["end"]).search(line, at)
            ends = best_match is not None
            patterns = stack[-1].get("patterns", [])
        for rule in self.rules(patterns):
            match = self.regex(rule.get("match") or rule["begin"]).search(line, at)
            if match and (best_match is None or match.start() < best_match.start()):
                best, best_match, ends = rule, match, False
        return best, best_match, ends

    def captured(self, number, match, captures, outer, found):
        text, at = match.string, match.start()
        pieces = sorted((match.span(int(i)), capture["name"])
                        for i, capture in (captures or {}).items()
                        if match.group(int(i)))
        for (begin, end), name in pieces:
            if text[at:begin].strip():
                found.append((number, text[at:begin], outer))
            found.append((number, text[begin:end], outer + [name]))
            at = end
        if text[at:match.end()].strip():
            found.append((number, text[at:match.end()], outer))


def scopes(stack):
    return [rule["name"] for rule in stack if "name" in rule]

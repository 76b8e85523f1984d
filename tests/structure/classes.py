#!/usr/bin/python3
"""No class in runtime/ with more than 40 methods and members together, and a report of how small
the pieces are.

A small parser reads declarations: methods and constructors, but for those that are defaulted or
deleted, and members, but for constants. What is nested counts for itself. The check counts what it
looked at and fails on nothing; it plants classes first and sees them counted.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 40
SHORT_HEADER = 30  # lines
SUFFIXES = (".h", ".cpp", ".cu")

# Classes that are too large still. One that no longer is has to leave the list; none may be added.
STILL = []

NOISE = re.compile(
    r'R"(?P<raw>\w*)\(.*?\)(?P=raw)"'
    r'|//[^\n]*|/\*.*?\*/'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r'|^[ \t]*\#(?:\\\n|[^\n])*', re.S | re.M)
TOKEN = re.compile(r"\w+|::|->|\S")
TYPE = ("class", "struct", "union", "enum")
IGNORED = ("using", "typedef", "friend", "static_assert", "public", "private", "protected")


class Class:
    def __init__(self, name):
        self.name, self.methods, self.members = name, 0, 0

    def total(self):
        return self.methods + self.members


def matching(tokens, at):
    """The place behind the bracket that closes the one at `at`."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth = 0
    opening, closing = tokens[at], pairs[tokens[at]]
    while at < len(tokens):
        depth += (tokens[at] == opening) - (tokens[at] == closing)
        at += 1
        if depth == 0:
            break
    return at


def behind_angles(tokens, at):
    """The place behind the template arguments that begin at `at`; `at` if `<` compares there."""
    start, depth = at, 0
    while at < len(tokens) and tokens[at] not in (";", "{", "}"):
        if tokens[at] == "(":
            at = matching(tokens, at)
            continue
        depth += (tokens[at] == "<") - (tokens[at] == ">")
        at += 1
        if depth == 0:
            return at
    return start


def statement(tokens, at):
    """The declaration that begins at `at`, without what stands in brackets and template arguments;
    the place behind it; and the places of the body where it defines a type."""
    words, body = [], None
    while at < len(tokens):
        token = tokens[at]
        if token == ";":
            return words, at + 1, body
        if token == "}":
            return words, at, body
        if token == ":" and words and words[-1] in IGNORED[-3:]:
            words.pop()
            at += 1
        elif token == "[" and tokens[at + 1:at + 2] == ["["]:
            at = matching(tokens, at)
        elif token == "alignas" or token == "decltype" or token == "__attribute__":
            at = matching(tokens, at + 1)
        elif token == "template":
            at = behind_angles(tokens, at + 1)
        elif token == "<" and words and re.match(r"\w", words[-1]) and words[-1] != "operator" \
                and behind_angles(tokens, at) != at:
            at = behind_angles(tokens, at)
        elif token == "(":
            words.append("pointer" if tokens[at + 1:at + 2] == ["*"] else "(")
            at = matching(tokens, at)
            if words[-1] == "pointer" and tokens[at:at + 1] == ["("]:
                at = matching(tokens, at)
        elif token == "{":
            behind = matching(tokens, at)
            if words and words[0] in TYPE and "(" not in words and body is None:
                body = (at + 1, behind - 1)
            elif "(" in words and "=" not in words:
                initializes = ":" in words and re.match(r"\w", words[-1])
                if not initializes or words[-1] in ("const", "override", "noexcept", "final"):
                    return words, behind + (tokens[behind:behind + 1] == [";"]), body
                words.append("(")
            at = behind
        else:
            words.append(token)
            at += 1
    return words, at, body


def count(words, owner):
    forward = len(words) == 2 and words[0] in TYPE
    if not words or words[0] in IGNORED or words[0] == "enum" or forward:
        return
    head = words[:words.index("=")] if "=" in words and "operator" not in words else words
    if "(" in head and ("operator" in head or re.match(r"\w", head[head.index("(") - 1])):
        owner.methods += words[-2:] not in (["=", "default"], ["=", "delete"])
    elif "constexpr" not in words:
        owner.members += 1 + words.count(",")


def read(tokens, begin, end, owner, found):
    """Reads the declarations of a class, or of a namespace, where there is no owner."""
    at = begin
    while at < end:
        words, behind, body = statement(tokens[:end], at)
        if behind == at:  # the end of a namespace
            at += 1
            continue
        if body is None and owner is not None:
            count(words, owner)
        elif body is not None and words[0] != "enum":
            head = words[1:words.index(":")] if ":" in words else words[1:]
            names = [word for word in head if re.match(r"\w", word) and word != "final"]
            named = names[0] if ":" in words else next(iter(names), "(unnamed)")
            inner = Class((owner.name + "::" if owner else "") + named)
            found.append(inner)
            read(tokens, *body, inner, found)
            if owner is not None and len(names) > 1 and ":" not in words:
                owner.members += 1  # struct { ... } name;
        at = behind


def classes_of(text):
    tokens = TOKEN.findall(NOISE.sub(lambda match: " " if match[0].lstrip()[0] in "/#" else " 0 ",
                                     text))
    found, at = [], 0
    # Namespaces are no owners: their braces are left out, so that what they hold stands alone.
    plain, depth_of_namespaces, depth = [], [], 0
    while at < len(tokens):
        token = tokens[at]
        if token == "namespace" and (not plain or plain[-1] != "using"):
            opening = at
            while tokens[opening] not in ("{", ";", "="):
                opening += 1
            if tokens[opening] == "{":
                depth_of_namespaces.append(depth)
                depth += 1
                at = opening + 1
                continue
        depth += (token == "{") - (token == "}")
        if token == "}" and depth_of_namespaces and depth == depth_of_namespaces[-1]:
            depth_of_namespaces.pop()
        else:
            plain.append(token)
        at += 1
    read(plain, 0, len(plain), None, found)
    return found


def faults(files, still):
    """Returns what is wrong and how many classes there are."""
    told, looked_at, large = [], 0, set()
    for path, text in sorted(files.items()):
        for each in classes_of(text):
            looked_at += 1
            if each.total() <= MOST:
                continue
            large.add(each.name)
            if each.name not in still:
                told.append(f"{path}: {each.name} has {each.methods} methods and {each.members} "
                            f"members, {MOST} together are the most: find the concept in it that "
                            "deserves a class")
    told += [f"{name} is small enough, take it off the list" for name in still
             if name not in large]
    return told, looked_at


def self_test():
    text = """
namespace a { namespace {
// class Comment { int a; };
template <typename T, int kN = (1 < 2)> class alignas(128) Planted final : public Base<T> {
  static constexpr int kConstant = 1;
 public:
  explicit Planted(int x) : a_{x}, b_(x), c_{} { if (x) { Do(); } }
  Planted(const Planted&) = delete;
  ~Planted() override = default;
  using Word = int;
  enum class Kind : uint8_t { kOne, kTwo };
  struct Nested { int x = 0, y{1}; bool Less() const { return x < y; } };
  bool operator()(int x) const { return x < 1; }
  bool operator==(const Planted&) const;
  [[nodiscard]] std::vector<std::pair<int, char>> Pairs() const noexcept override;
  template <typename U> void With(U&& u, std::function<void(int)> f = {}) { f('{'); }
 private:
  friend class Other;
  class Forward;
  static_assert(sizeof(T) > 1);
  int a_ = 0, b_;
  std::atomic<bool> c_{false}, d_{true};
  std::function<void(Frame&)> begins_;
  void (*pointer_)(int) = nullptr;
  std::map<std::string, std::vector<int>> map_ = {{"}", {1, 2}}};
  const char* text_ = R"({{{)";
};
}  // namespace
int Function(int x) { struct Local { int a; }; return x; }
}  // namespace a
struct Last { int array[3][4]; };
"""
    told = {each.name: (each.methods, each.members) for each in classes_of(text)}
    expected = {"Planted": (5, 8), "Planted::Nested": (1, 2), "Last": (0, 1)}
    if told != expected:
        sys.exit(f"self-test: {told} was counted, and {expected} is there")
    large = {"a.h": "struct A { " + "int a; " * 20 + "void F(); " * 21 + "};"}
    small = {"a.h": "struct A { " + "int a; " * 20 + "void F(); " * 20 + "};"}
    if len(faults(large, [])[0]) != 1 or faults(large, ["A"])[0] or faults(small, [])[0] \
            or len(faults(small, ["A"])[0]) != 1:
        sys.exit("self-test: a large class was not found, or a small one was refused")
    return len(expected) + 4


def report(files):
    """Prints types per 1,000 lines, short headers, and comment lines per room."""
    rooms = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for path, text in files.items():
        lines = text.splitlines()
        values = [len(lines), len(classes_of(text)) + len(re.findall(r"^\s*enum\b", text, re.M)),
                  path.endswith(".h"), path.endswith(".h") and len(lines) < SHORT_HEADER,
                  sum(line.lstrip().startswith("//") for line in lines)]
        for room in (path.split("/")[1] if path.count("/") > 1 else "beside them", "runtime"):
            rooms[room] = [a + b for a, b in zip(rooms[room], values)]
    print(f"{'room':12} {'lines':>6} {'types per 1,000':>16} {'headers < 30 lines':>19} "
          f"{'comment lines':>14}")
    for room, (lines, types, headers, short, comments) in sorted(rooms.items()):
        print(f"{room:12} {lines:6} {1000 * types / lines:16.1f} {f'{short} of {headers}':>19} "
              f"{100 * comments / lines:12.1f} %")


def main():
    planted = self_test()
    files = {str(path.relative_to(ROOT)): path.read_text()
             for path in (ROOT / "runtime").rglob("*") if path.suffix in SUFFIXES}
    told, looked_at = faults(files, STILL)
    report(files)
    print("\n".join(told) + "\n" if told else "", end="")
    print(f"classes: {looked_at} looked at, {len(told)} faults; {planted} planted cases")
    sys.exit(1 if told or not looked_at else 0)


if __name__ == "__main__":
    main()

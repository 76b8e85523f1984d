// Common mistakes. Each is one function that looks at the lexeme where the parser got stuck and at
// its neighbours; the first that recognises the form says how to write it here. They are called
// only after the text has failed to parse, so none of them can refuse a program.
#include "compiler/syntax/errors/stumble.h"

#include <fmt/format.h>

#include <string>

#include "runtime/base/kinds/logical_device.h"

namespace cgraph::syntax {
namespace {

class CommonMistakes : Stumble {
 public:
  CommonMistakes(const ParseFailure& failure, SyntaxErrors& errors)
      : Stumble(failure, errors), failure_(failure) {}

  bool Report() {
    return ContextBlock() || ScheduleWithDigit() || StarredParameter() || PrefixedString() ||
           ScheduleAttribute() ||
           MisplacedDeclaration() || Power() || Increment() || Choice() || UnknownExtent() ||
           Label() || Slice() || InclusiveRange() || NameWithColon() ||
           ParametersMissing() || ReportClauseHabit(failure_, errors_) || Arrow() || Turns() ||
           DeviceWithColon() || ReportTypeHabit(failure_, errors_) ||
           ResultWithOtherSign() || BodyAfterAssign() || PlaceWithoutDevice() ||
           BoundOfMemory() || PreferenceOfOne() || AttributeWithoutValue() || Generator() ||
           CommaBetweenLoops() || TypeWithOtherSign() || Lambda() || SeveralValues() ||
           Import() ||
           ResourceWithBracketsTwice() || AttributeAfterBody() || StatementInFile() ||
           TypeParameters() || PlacesWithoutIndex() || PlaceOnSeveralDevices() ||
           AttributeWithSign() || ClauseOfStates() || RoundsWithoutLimit();
  }

 private:
  // `with no_grad() {`, `with torch.no_grad():`
  bool ContextBlock() {
    if (type() != Lexer::LBRACE && type() != Lexer::COLON) return false;
    size_t first = at_;
    while (first > 0 && !lexemes_[first].first_on_line) --first;
    const auto at = static_cast<ptrdiff_t>(first) - static_cast<ptrdiff_t>(at_);
    if (TypeAt(at) != Lexer::WITH || !IsName(TypeAt(at + 1))) return false;
    return Say("there is no `with` before a block; stop_gradient(x) of std.tensor is a value "
               "without a gradient, as in no_grad, and f(x) on gpu[0] places an op");
  }

  // `using 1f1b(4)`
  bool ScheduleWithDigit() {
    if (type() != Lexer::BAD_NUMBER || TypeAt(-1) != Lexer::USING) return false;
    if (!TextAt(0).equals_insensitive("1f1b")) return false;
    return SayWithFix(fmt::format("a name begins with a letter, and the schedule `{}` is "
                                  "`one_f_one_b` here",
                                  TextAt(0).str()),
                      now().begin, now().end, "one_f_one_b");
  }

  // `fn f(*args)`, `fn f(x: f32, **kwargs)`, `f(*xs)`, `f(x, **options)`
  bool StarredParameter() {
    if (type() != Lexer::MUL || (TypeAt(-1) != Lexer::LPAREN && TypeAt(-1) != Lexer::COMMA)) {
      return false;
    }
    if (rule_ == Grammar::RuleParameters || rule_ == Grammar::RuleParameter) {
      return Say("there is no `*args` and no `**kwargs`: every parameter has a name and a type, "
                 "and a list takes several values, xs: [f32[4]; n]");
    }
    if (TypeAt(1) != Lexer::MUL && !IsName(TypeAt(1))) return false;
    return Say("arguments are written one by one; a parameter that is a list takes several values");
  }

  // `f"w.{i}"`
  bool PrefixedString() {
    const llvm::StringRef prefix = TextAt(-1);
    if (type() != Lexer::STRING || !JoinsBefore() || prefix.size() > 2) return false;
    if (!IsName(TypeAt(-1))) return false;
    const bool formatted = prefix.contains_insensitive("f");
    return SayWithFix(formatted ? "strings take values in braces without an `f`: \"layer{i}\""
                                : fmt::format("a string has no prefix such as `{}`", prefix.str()),
                      lexemes_[at_ - 1].begin, lexemes_[at_ - 1].end, "");
  }

  // `graph g(x: f32) -> f32 schedule auto {`
  bool ScheduleAttribute() {
    if (type() != Lexer::SCHEDULE || !Expects(Lexer::LBRACE)) return false;
    if (HeadWord() != Lexer::GRAPH) return false;
    return SayWithFix("a graph says its schedule by `using`: using auto, using gpipe()",
                      now().begin, now().end, "using");
  }

  // `state w: f32[2] = zeros()`, `place a[i in 0..2] = ...`, `method f(x: f32[2])` in a body, where
  // the first words are names.
  bool MisplacedDeclaration() {
    if (type() == Lexer::DTYPE && Expects(Lexer::INT) && LineDeclaresType()) {
      return SayMisplaced(Lexer::TYPE);
    }
    if (type() == Lexer::COLON && (TypeAt(-2) == Lexer::STATE || TypeAt(-2) == Lexer::PARAM)) {
      return SayMisplaced(TypeAt(-2));
    }
    const bool index = TypeAt(-2) == Lexer::LBRACKET && TypeAt(-4) == Lexer::PLACE;
    if (type() == Lexer::IN && index) return SayMisplaced(Lexer::PLACE);
    const bool parameter = type() == Lexer::DTYPE && TypeAt(-1) == Lexer::COLON &&
                           TypeAt(-3) == Lexer::LPAREN && TypeAt(-5) == Lexer::METHOD;
    const bool result = type() == Lexer::ARROW && TypeAt(-2) == Lexer::LPAREN &&
                        TypeAt(-4) == Lexer::METHOD;
    return (parameter || result) && SayMisplaced(Lexer::METHOD);
  }
  // `type Layer = (f32[4], f32)`
  bool LineDeclaresType() const {
    size_t first = at_;
    while (first > 0 && !lexemes_[first].first_on_line) --first;
    const auto at = static_cast<ptrdiff_t>(first) - static_cast<ptrdiff_t>(at_);
    return TypeAt(at) == Lexer::TYPE && IsName(TypeAt(at + 1)) &&
           (TypeAt(at + 2) == Lexer::ASSIGN || TypeAt(at + 2) == Lexer::LPAREN);
  }
  bool SayMisplaced(size_t word) { return Say(DeclarationInBody(word)); }

  bool Power() {
    const bool stars = type() == Lexer::MUL && TypeAt(-1) == Lexer::MUL && JoinsBefore();
    return stars && Say("there is no operator `**`; write x * x, or pow(x, y) and sqrt(x) of "
                        "std.tensor");
  }

  // Looks at the first of the two signs, or the second.
  bool Increment() {
    if (type() != Lexer::ADD || at_ + 1 >= lexemes_.size()) return false;
    const bool first = TypeAt(1) == Lexer::ADD && lexemes_[at_ + 1].begin == now().end;
    const bool second = TypeAt(-1) == Lexer::ADD && JoinsBefore();
    return (first || second) && Say("there is no operator `++`; write `x += 1`");
  }

  // `c ? a : b`, `a if c else b`
  bool Choice() {
    const bool conditional = TextAt(0) == "?" && TypeAt(-1) != Lexer::LBRACKET &&
                             TypeAt(-1) != Lexer::COMMA;
    const bool trailing = type() == Lexer::ELSE && TypeAt(-1) != Lexer::RBRACE;
    return (conditional || trailing) &&
           Say("a choice between values is written `if c { a } else { b }`; c is known while "
               "compiling, and where(c, a, b) chooses by a tensor",
               conditional ? Code::kE0211 : Code::kE0201);
  }

  bool UnknownExtent() {
    return TextAt(0) == "?" &&
           Say("a dimension whose extent varies has a name and a bound: n <= 4096", Code::kE0211);
  }

  // `sum(x, dim=1)`
  bool Label() {
    if (type() != Lexer::ASSIGN || !IsName(TypeAt(-1)) || !Expects(Lexer::RPAREN)) return false;
    if (TypeAt(-2) != Lexer::LPAREN && TypeAt(-2) != Lexer::COMMA) return false;
    const uint32_t begin = lexemes_[at_ - 1].end;
    const uint32_t end = std::max(now().end, lexemes_[at_ + 1].begin);
    return SayWithFix(fmt::format("an argument's label is followed by a colon: {}: ...",
                                  TextAt(-1).str()),
                      begin, end, ": ");
  }

  // `x[1:3]`, `x[1:]`, `x[:3]`, `x[::2]`, `x[1..]`, `x[..3]`
  bool Slice() {
    const bool open = (type() == Lexer::LBRACKET && TypeAt(1) == Lexer::RANGE) ||
                      (type() == Lexer::RANGE && TypeAt(-1) == Lexer::LBRACKET) ||
                      (type() == Lexer::RBRACKET && TypeAt(-1) == Lexer::RANGE);
    if (!open && !Expects(Lexer::RBRACKET)) return false;
    constexpr const char* kRange =
        "a part is written with both ends, x[a..b], rows a to b - 1; slice() of std.tensor cuts "
        "another dimension";
    // `x[::-1]`, `x[::2]`
    if (type() == Lexer::COLON && TypeAt(-1) == Lexer::COLON) {
      return Say("a part has no step; embedding(5 - arange(6), x) of std.tensor turns six rows "
                 "round, embedding(arange(3) * 2, x) takes every second one");
    }
    if (type() == Lexer::COLON && TypeAt(1) != Lexer::RBRACKET) {
      return SayWithFix(kRange, now().begin, now().end, "..");
    }
    return (open || type() == Lexer::COLON || TypeAt(-1) == Lexer::COLON) && Say(kRange);
  }

  // `0..=3`
  bool InclusiveRange() {
    return type() == Lexer::ASSIGN && TypeAt(-1) == Lexer::RANGE &&
           Say("a range ends before its second number: 0..4 has 0 to 3");
  }

  // `y: f32[4] = x`, `y := x`
  bool NameWithColon() {
    return type() == Lexer::COLON && IsName(TypeAt(-1)) && lexemes_[at_ - 1].first_on_line &&
           (TypeAt(1) == Lexer::ASSIGN || TypeAt(1) == Lexer::DTYPE || IsName(TypeAt(1))) &&
           Say("a name is declared by `let` or `var`, with its type or without: "
               "let y: f32[4] = x; what a `var` names is assigned by `y = x`");
  }

  // `a->f(x)`, `a::f(x)`, `f(x) -> y`
  bool Arrow() {
    const bool colons = type() == Lexer::COLON && TypeAt(1) == Lexer::COLON &&
                        lexemes_[at_ + 1].begin == now().end;
    if (colons || (type() == Lexer::ARROW && JoinsBefore())) {
      return IsName(TypeAt(colons ? 2 : 1)) && EndsOperand(TypeAt(-1)) &&
             Say("a dot stands before the name of a method or field: a.f(x)");
    }
    const bool in_body = rule_ == Grammar::RuleBlock || rule_ == Grammar::RuleTargetStatement;
    return type() == Lexer::ARROW && in_body &&
           Say("the name of a value stands before it: let y = a.f(x)");
  }

  // `repeat 3 { ... }`
  bool Turns() {
    return TypeAt(-1) == Lexer::REPEAT && Expects(Lexer::UNTIL) &&
           Say("a fixed number of turns is a loop, for i in 0..3; rounds at the end of a graph go "
               "on until a value says so: repeat until done limit 20");
  }

  // `on gpu:0`
  bool DeviceWithColon() {
    const llvm::StringRef before = TextAt(-1);
    return type() == Lexer::COLON && (DeviceKindOf(before.str()) || before == "cuda") &&
           Say("a device is written with brackets: gpu[0], cpu[0]");
  }

  // `method f -> f32 {`, `graph g {`
  bool ParametersMissing() {
    const size_t word = TypeAt(-2);
    const bool takes = word == Lexer::METHOD || word == Lexer::FN || word == Lexer::GRAPH;
    if (!takes || !IsName(TypeAt(-1)) || !Expects(Lexer::LPAREN)) return false;
    if (type() != Lexer::ARROW && type() != Lexer::LBRACE) return false;
    const uint32_t end = lexemes_[at_ - 1].end;
    return SayWithFix(fmt::format("parentheses stand behind the name, also without parameters: "
                                  "{} {}()",
                                  TextAt(-2).str(), TextAt(-1).str()),
                      end, end, "()");
  }

  // `graph g(x: f32): f32 {`, `graph g(x: f32) => f32 {`
  bool ResultWithOtherSign() {
    if (TypeAt(-1) != Lexer::RPAREN) return false;
    if (!Expects(Lexer::ARROW) && !Expects(Lexer::LBRACE)) return false;
    constexpr const char* kResult = "a result is written `-> TYPE`";
    const size_t word = HeadWord();
    if (type() == Lexer::COLON && (word == Lexer::SCHEDULE || word == Lexer::TOPOLOGY)) {
      return Say("a body stands in braces, { ... }, and not behind a colon");
    }
    if (type() == Lexer::COLON) {
      return SayWithFix(kResult, lexemes_[at_ - 1].end, now().end, " ->");
    }
    const bool arrow = type() == Lexer::ASSIGN && TypeAt(1) == Lexer::GT &&
                       lexemes_[at_ + 1].begin == now().end;
    return arrow && SayWithFix(kResult, now().begin, lexemes_[at_ + 1].end, "->");
  }

  // `fn f() -> f32 = x`
  bool BodyAfterAssign() {
    if (type() != Lexer::ASSIGN || !Expects(Lexer::LBRACE)) return false;
    const size_t word = HeadWord();
    const bool declares = word == Lexer::FN || word == Lexer::METHOD || word == Lexer::GRAPH;
    return declares && Say("a body stands in braces: { return x }");
  }

  bool PlaceWithoutDevice() {
    if (rule_ != Grammar::RulePlaceDecl || !Expects(Lexer::ON) || at_ == 0) return false;
    const uint32_t end = lexemes_[at_ - 1].end;
    errors_.ReportStructure(Code::kE0201, end, end,
                            "a place stands on a device: `place first = Layer(64) on gpu[0]`");
    return true;
  }

  // `memory 3GiB`, `memory: 3GiB`
  bool BoundOfMemory() {
    if (TypeAt(-1) != Lexer::MEMORY || rule_ != Grammar::RuleScheduleRule) return false;
    if (!Expects(Lexer::LE)) return false;
    constexpr const char* kBound = "a bound on memory is written `memory <= 3GiB`";
    if (IsLiteral(type())) return SayWithFix(kBound, now().begin, now().begin, "<= ");
    const bool sign = type() == Lexer::ASSIGN || type() == Lexer::COLON || type() == Lexer::LT;
    if (sign) return SayWithFix(kBound, now().begin, now().end, "<=");
    errors_.ReportStructure(Code::kE0201, lexemes_[at_ - 1].begin, lexemes_[at_ - 1].end, kBound);
    return true;
  }

  // `prefer forward`
  bool PreferenceOfOne() {
    if (rule_ != Grammar::RuleScheduleRule || TypeAt(-2) != Lexer::PREFER) return false;
    const uint32_t end = lexemes_[at_ - 1].end;
    errors_.ReportStructure(Code::kE0201, end, end,
                            fmt::format("a preference is between calls: `prefer {0} > other`, or "
                                        "`prefer {0} by (mb)`",
                                        TextAt(-1).str()));
    return true;
  }

  // `inflight {`
  bool AttributeWithoutValue() {
    return rule_ == Grammar::RuleAttributeValue && type() == Lexer::LBRACE &&
           Say(fmt::format("`{}` has no value; the attributes of a graph are inflight 4, overlap "
                           "off and timeout 5s",
                           TextAt(-1).str()));
  }

  // `graph g() { ... } using gpipe(4)`
  // `resource nic[k] [k in 0..4]`, as a device has it
  bool ResourceWithBracketsTwice() {
    const bool closed = type() == Lexer::RBRACKET && TypeAt(1) == Lexer::LBRACKET;
    const bool array = TypeAt(-2) == Lexer::LBRACKET && TypeAt(-4) == Lexer::RESOURCE;
    if (!closed || !array || !Expects(Lexer::IN)) return false;
    return SayWithFix("an array of resources has its indices behind its name: resource nic[k in "
                      "0..4]",
                      lexemes_[at_ - 2].begin, lexemes_[at_ + 1].begin, "");
  }

  bool AttributeAfterBody() {
    if (rule_ != Grammar::RuleItem && rule_ != Grammar::RuleFile) return false;
    if (TypeAt(-1) != Lexer::RBRACE) return false;
    const llvm::StringRef word = TextAt(0);
    const bool attribute = type() == Lexer::USING || word == "inflight" || word == "overlap" ||
                           word == "timeout";
    return attribute && Say(fmt::format("`{}` stands before the body of its graph: graph g(x: "
                                        "f32) -> f32 {} {{ ... }}",
                                        word.str(),
                                        type() == Lexer::USING ? "using gpipe(4)"
                                        : word == "inflight"   ? "inflight 4"
                                        : word == "overlap"    ? "overlap off"
                                                               : "timeout 5s"));
  }

  // `actor L<T: float>`
  bool TypeParameters() {
    const size_t word = TypeAt(-2);
    if (type() != Lexer::LT || !IsName(TypeAt(-1))) return false;
    if (word != Lexer::ACTOR && word != Lexer::METHOD && word != Lexer::GRAPH) return false;
    return Say(fmt::format("{}s are not generic over dtypes, as fns and ops are; parameters stand "
                           "in parentheses: {} {}({})",
                           TextAt(-2).str(), TextAt(-2).str(), TextAt(-1).str(),
                           word == Lexer::ACTOR ? "n: int" : "x: f32[4]"));
  }

  // `place l[3] = ...`, `place l[n] = ...`
  bool PlacesWithoutIndex() {
    const bool number = type() == Lexer::INT && TypeAt(-3) == Lexer::PLACE;
    const bool name = type() == Lexer::RBRACKET && TypeAt(-4) == Lexer::PLACE;
    const ptrdiff_t open = number ? -1 : -2;
    if ((!number && !name) || TypeAt(open) != Lexer::LBRACKET) return false;
    const Lexeme& count = lexemes_[number ? at_ : at_ - 1];
    const std::string index = "i in 0.." + TextAt(number ? 0 : -1).str();
    return SayWithFix(fmt::format("an array of places names its index, which its device and its "
                                  "arguments can use: place {}[{}]",
                                  TextAt(open - 1).str(), index),
                      count.begin, count.end, index);
  }

  // `on gpu[0], gpu[1]`
  bool PlaceOnSeveralDevices() {
    if (rule_ != Grammar::RuleItem && rule_ != Grammar::RuleFile) return false;
    if (type() != Lexer::COMMA || TypeAt(-1) != Lexer::RBRACKET || TypeAt(-5) != Lexer::ON) {
      return false;
    }
    return Say("a place stands on one device; an array of places has one each: "
               "place l[i in 0..2] = Layer() on gpu[i]");
  }

  // `inflight=2`
  bool AttributeWithSign() {
    if (rule_ != Grammar::RuleAttributeValue) return false;
    if (type() != Lexer::ASSIGN && type() != Lexer::COLON) return false;
    const bool valued = IsLiteral(TypeAt(1));
    const std::string value = " " + (valued ? TextAt(1).str() : "4");
    const std::string message =
        "an attribute's value follows without a sign: " + TextAt(-1).str() + value;
    if (!valued) return Say(message);
    return SayWithFix(message, lexemes_[at_ - 1].end, lexemes_[at_ + 1].end, value);
  }

  // `f(x for x in xs)`
  bool Generator() {
    return type() == Lexer::FOR && rule_ == Grammar::RuleArguments && EndsOperand(TypeAt(-1)) &&
           Say("a comprehension has brackets of its own: [f(x) for x in xs] is a list, "
               "(f(x) for x in xs) a tuple");
  }

  // `[f(a, b) for a in xs, b in ys]`, `[f(a, b) for a in xs, for b in ys]`
  bool CommaBetweenLoops() {
    // Before `in`, `for a, b in pairs`, several names are meant.
    if (type() != Lexer::COMMA || Expects(Lexer::IN) || !InComprehension()) return false;
    const bool again = TypeAt(1) == Lexer::FOR;
    if (!again && !(IsName(TypeAt(1)) && TypeAt(2) == Lexer::IN)) return false;
    return SayWithFix("the loops of a comprehension stand without commas, the outer one first: "
                      "[f(a, b) for a in xs for b in ys] is one list; "
                      "[[f(a, b) for b in ys] for a in xs] is a list of lists",
                      now().begin, now().end, again ? "" : " for");
  }
  // Returns whether a `for` stands before, inside the same brackets.
  bool InComprehension() const {
    int closed = 0;
    for (ptrdiff_t offset = -1; closed >= 0; --offset) {
      switch (TypeAt(offset)) {
        case Lexer::RBRACKET:
        case Lexer::RPAREN: ++closed; break;
        case Lexer::LBRACKET:
        case Lexer::LPAREN: --closed; break;
        case Lexer::FOR:
          if (closed == 0) return true;
          break;
        case Lexer::LBRACE:
        case Lexer::RBRACE:
        case antlr4::Token::EOF: return false;
        default: break;
      }
    }
    return false;
  }

  // `type W: (up: f32)`, `type W { up: f32 }`, `type W = { up: f32 }`, `type W<d> = f32[d]`
  bool TypeWithOtherSign() {
    const bool behind_name = TypeAt(-2) == Lexer::TYPE && IsName(TypeAt(-1));
    const bool braces = type() == Lexer::LBRACE && TypeAt(-1) == Lexer::ASSIGN &&
                        IsName(TypeAt(-2)) && TypeAt(-3) == Lexer::TYPE;
    if (behind_name && type() == Lexer::LT) {
      return Say(
          fmt::format("the parameters of a type stand in parentheses: type {}(d: int) = "
                      "f32[d, d]",
                      TextAt(-1).str()));
    }
    const bool sign = behind_name && (type() == Lexer::COLON || type() == Lexer::LBRACE);
    return (sign || braces) &&
           Say(fmt::format("a type is named with `=`, and a tuple has parentheses: type {} = (up: "
                           "f32[4], bias: f32)",
                           TextAt(braces ? -2 : -1).str()));
  }

  bool Lambda() {
    const bool here = TextAt(-1) == "lambda" || TextAt(-2) == "lambda" || TextAt(0) == "lambda";
    return here && Say("functions have names and stand beside the graphs: "
                       "`fn f(x: f32[n]) -> f32[n] { return x + 1 }`");
  }

  // `-> f32, f32`, `let a, b = t`, `return x, y`
  bool SeveralValues() {
    if (type() != Lexer::COMMA) return false;
    if (Expects(Lexer::ASSIGN)) return Say("several names stand in parentheses: let (a, b) = t");
    if (Expects(Lexer::IN)) {
      return Say(
          "several names stand in parentheses: for (a, b) in zip(xs, ys), for (name, x) in "
          "items(t)");
    }
    if (Expects(Lexer::LBRACE)) {
      return Say("several results are one tuple: -> (f32[4], i64), or -> (y: f32[4], i: i64)");
    }
    return rule_ == Grammar::RuleBlock &&
           Say("several values are one tuple, in parentheses: return (a, b)");
  }

  // `= extern "lib.so:f" write w`
  bool ClauseOfStates() {
    if (rule_ != Grammar::RuleMembers || TypeAt(-1) != Lexer::STRING) return false;
    const llvm::StringRef word = TextAt(0);
    if (word != "write" && word != "read") return false;
    return SayWithFix(fmt::format("states of a native method are named by `reads` and `writes`: "
                                  "{}s {}",
                                  word.str(), TextAt(1).str()),
                      now().end, now().end, "s");
  }

  bool Import() {
    if (TypeAt(-1) == Lexer::DOT && TextAt(-2) == "std" && TextAt(0) == "schedule") {
      return SayWithFix("the library of schedules is std.schedules", now().end, now().end, "s");
    }
    const bool in_file = rule_ == Grammar::RuleItem || rule_ == Grammar::RuleFile;
    const bool quoted = type() == Lexer::STRING && TypeAt(-1) == Lexer::IMPORT;
    return (quoted || (in_file && TextAt(0) == "from")) &&
           Say("an import names a file by dots and brings all its names: import std.tensor");
  }

  // `repeat until done {`
  bool RoundsWithoutLimit() {
    return type() == Lexer::LBRACE && Expects(Lexer::LIMIT) && !Expects(Lexer::ID) &&
           Say("rounds have a limit, which is known while compiling, or an input with such a "
               "bound: repeat until done limit 20 { ... }, limit most <= 256");
  }

  // Reports statements that only a body or a `const` can hold.
  bool StatementInFile() {
    if (rule_ != Grammar::RuleItem && rule_ != Grammar::RuleFile) return false;
    if (IsName(type()) && TypeAt(1) == Lexer::ASSIGN) {
      return SayWithFix(fmt::format("a value of the file is a const: `const {} = ...`",
                                    TextAt(0).str()),
                        now().begin, now().begin, "const ");
    }
    if (type() == Lexer::STATE || type() == Lexer::PARAM || type() == Lexer::METHOD) {
      return Say(fmt::format("`{}` stands inside an actor", TextAt(0).str()));
    }
    const bool statement = type() == Lexer::LET || type() == Lexer::VAR || type() == Lexer::FOR ||
                           type() == Lexer::IF || type() == Lexer::RETURN ||
                           type() == Lexer::YIELD ||
                           (type() == Lexer::REPEAT && TypeAt(1) == Lexer::UNTIL);
    return statement && Say(fmt::format("`{}` stands inside a graph, fn or method; what is known "
                                        "while compiling can be a const of the file",
                                        TextAt(0).str()));
  }

  const ParseFailure& failure_;
};

}  // namespace

const char* DeclarationInBody(size_t word) {
  switch (word) {
    case Lexer::PLACE:
      return "places are declared outside of graphs, fns and methods; move this line out of the "
             "body";
    case Lexer::TYPE:
      return "types are named outside of graphs, fns and actors; move this line out of the body";
    case Lexer::STATE:
    case Lexer::PARAM:
      return "states belong to actors; move this line into `actor NAME { ... }`, beside its "
             "methods";
    case Lexer::METHOD:
      return "methods belong to actors; move it into `actor NAME { ... }`, beside its states, or "
             "make it a fn of the file";
    case Lexer::CONST:
      return "consts are declared outside of graphs, fns and actors; `let` names a value of a body";
    case Lexer::IMPORT:
    case Lexer::TRANSPORT:
    case Lexer::FN:
    case Lexer::ACTOR:
    case Lexer::GRAPH:
    case Lexer::SCHEDULE:
    case Lexer::TOPOLOGY:
      return "this declares something for the whole file; move it out of the body";
    default:
      return nullptr;
  }
}

bool ReportHabit(const ParseFailure& failure, SyntaxErrors& errors) {
  return CommonMistakes(failure, errors).Report();
}

}  // namespace cgraph::syntax

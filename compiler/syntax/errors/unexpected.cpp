// Words for a token that does not fit. ANTLR knows which tokens would. A reader wants to hear "an
// expression" or "a name", so sets are named by what they begin, and tokens that could merely
// continue the text before are left out.
#include <fmt/format.h>

#include "compiler/syntax/errors/mistakes.h"
#include "compiler/syntax/errors/recovery.h"

namespace cgraph::syntax {
namespace {

std::string InBackquotes(llvm::StringRef text) {
  constexpr size_t kLongest = 40;
  std::string quoted = "`";
  for (char byte : text.take_front(kLongest)) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x20 || value == 0x7f) {
      quoted += fmt::format("\\x{:02x}", value);
    } else {
      quoted += byte;
    }
  }
  return quoted + (text.size() > kLongest ? "...`" : "`");
}

// Returns whether a token continues an expression: its absence is never the error.
bool Continues(size_t type) {
  switch (type) {
    case Lexer::ADD:
    case Lexer::SUB:
    case Lexer::MUL:
    case Lexer::DIV:
    case Lexer::MOD:
    case Lexer::MATMUL:
    case Lexer::EQ:
    case Lexer::NE:
    case Lexer::LT:
    case Lexer::LE:
    case Lexer::GT:
    case Lexer::GE:
    case Lexer::AND:
    case Lexer::OR:
    case Lexer::RANGE:
    case Lexer::DOT:
    case Lexer::LPAREN:
    case Lexer::LBRACKET:
    case Lexer::VIA:
    case Lexer::ON:
    case Lexer::AFTER:
      return true;
    default:
      return false;
  }
}

std::vector<std::string> Describe(const antlr4::misc::IntervalSet& expected) {
  std::vector<std::string> words;
  const bool expression = expected.contains(size_t{Lexer::INT}) &&
                          expected.contains(size_t{Lexer::LPAREN});
  const bool type = !expression && expected.contains(size_t{Lexer::DTYPE});
  const bool name = expected.contains(size_t{Lexer::ID});
  if (expression) {
    words.push_back("an expression");
  } else if (type) {
    words.push_back("a type");
  } else if (name) {
    words.push_back("a name");
  }
  if (!expression && expected.contains(size_t{Lexer::INT})) words.push_back("a number");
  const bool continues = expected.contains(size_t{Lexer::ADD}) || words.size() > 0;
  for (size_t token = Lexer::AS; token <= Lexer::OTHER; ++token) {
    if (!expected.contains(token)) continue;
    if (token == Lexer::STRING && !expression) words.push_back("a string");
    const char* spelling = FixedSpelling(token);
    if (spelling == nullptr || (name && IsName(token))) continue;
    if (expression && (IsKeyword(token) || token == Lexer::SUB)) continue;
    if (continues && Continues(token)) continue;
    words.push_back("`" + std::string(spelling) + "`");
  }
  return words;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

class Unexpected {
 public:
  Unexpected(const Lexemes& lexemes, size_t at, const antlr4::misc::IntervalSet& expected,
             size_t rule, SyntaxErrors& errors)
      : lexemes_(lexemes), at_(at), expected_(expected), rule_(rule), errors_(errors) {}

  void Report() {
    if (BareReturn() || ReportHabit({lexemes_, at_, expected_, rule_}, errors_) ||
        MeaninglessCharacter() || KeywordAsName() || NotADeclaration() ||
        AssignmentAsComparison() || HalfAFloat() || OnlyAValue()) {
      return;
    }
    const std::string found = Found();
    if (rule_ == Grammar::RuleBlock) {
      const char* const declaration = DeclarationInBody(now().type);
      Say(Code::kE0201, declaration != nullptr ? declaration
                                               : "a statement cannot begin with " + found);
    } else if (rule_ == Grammar::RuleMembers) {
      Say(Code::kE0201, "expected `state`, `param` or `method` inside an actor, found " + found);
    } else if (rule_ == Grammar::RuleScheduleBody) {
      Say(Code::kE0201,
          "expected `prefer`, `order`, `limit`, `fuse` or `memory` inside a schedule, found " +
              found);
    } else if (rule_ == Grammar::RuleTopologyBody) {
      Say(Code::kE0201,
          "expected `device`, `resource` or `link` inside a topology, found " + found);
    } else {
      Expected(found);
    }
  }

 private:
  const Lexeme& now() const { return lexemes_[at_]; }
  size_t before() const { return at_ == 0 ? antlr4::Token::EOF : lexemes_[at_ - 1].type; }
  llvm::StringRef TextOf(size_t at) const {
    return errors_.text().slice(lexemes_[at].begin, lexemes_[at].end);
  }
  bool Expects(size_t type) const { return expected_.contains(type); }

  std::string Found() const {
    if (now().type == antlr4::Token::EOF) {
      return now().end == errors_.text().size() ? "the end of the file"
                                                : "the end of the expression in this string";
    }
    if (now().begin == now().end) return "the end of what it is in";  // made up by Balance
    return InBackquotes(TextOf(at_));
  }

  // Returns whether to point at the line before: where something is missing at the end of a line,
  // that end is the place.
  bool PointsBack() const {
    return at_ > 0 && (now().first_on_line || now().type == antlr4::Token::EOF) &&
           rule_ != Grammar::RuleBlock && rule_ != Grammar::RuleMembers &&
           rule_ != Grammar::RuleScheduleBody && rule_ != Grammar::RuleTopologyBody;
  }

  Diagnostic* Say(Code code, std::string message) {
    if (PointsBack()) {
      const uint32_t end = lexemes_[at_ - 1].end;
      Diagnostic* diagnostic = errors_.ReportStructure(code, end, end, std::move(message));
      if (diagnostic != nullptr) NoteDivision(*diagnostic, end, errors_);
      return diagnostic;
    }
    return errors_.ReportStructure(code, now().begin, now().end, std::move(message));
  }

  void Expected(const std::string& found) {
    const std::vector<std::string> words = Describe(expected_);
    std::string message;
    if (words.empty() || words.size() > 5) {
      message = "unexpected " + found;
      if (at_ > 0) message += " after " + InBackquotes(TextOf(at_ - 1));
    } else {
      message = "expected " + Join(words);
      if (at_ > 0 && lexemes_[at_ - 1].begin != lexemes_[at_ - 1].end) {
        message += " after " + InBackquotes(TextOf(at_ - 1));
      }
      message += ", found " + found;
    }
    Say(Code::kE0201, std::move(message));
  }

  bool BareReturn() {
    if (before() != Lexer::RETURN && before() != Lexer::YIELD) return false;
    const bool ends = now().type == Lexer::RBRACE || now().type == Lexer::SEMICOLON ||
                      now().first_on_line || now().type == antlr4::Token::EOF;
    if (!ends) return false;
    Say(Code::kE0214, before() == Lexer::YIELD
                          ? "`yield` needs a value; a round that gives no row simply ends"
                          : "`return` needs a value; a body that returns nothing simply ends");
    return true;
  }

  bool MeaninglessCharacter() {
    if (now().type != Lexer::OTHER) return false;
    uint32_t end = now().end;  // the whole character, or the run of foreign ones
    size_t next = at_ + 1;
    for (; next < lexemes_.size() && lexemes_[next].type == Lexer::OTHER &&
           lexemes_[next].begin == end && (errors_.text()[now().begin] & 0x80) != 0;
         ++next) {
      end = lexemes_[next].end;
    }
    const llvm::StringRef text = errors_.text().slice(now().begin, end);
    std::string message = "the character " + InBackquotes(text) + " means nothing here";
    std::string mend;
    switch (text[0]) {
      case '!':
        mend = "not";
        break;
      case '&':
        mend = "and";
        break;
      case '|':
        mend = "or";
        break;
      case '\'':
        message += "; strings are written in double quotes";
        break;
      case '#':
        message += "; a comment begins with `//`";
        break;
      case '^':
        message += "; x * x is a square, and pow(x, y) of std.tensor any power";
        break;
      default:
        break;
    }
    if (!mend.empty()) message += "; did you mean `" + mend + "`?";
    const bool joins = (at_ > 0 && IsName(before()) && lexemes_[at_ - 1].end == now().begin) ||
                       (next < lexemes_.size() && IsName(lexemes_[next].type) &&
                        lexemes_[next].begin == end);
    if ((text[0] & 0x80) != 0 && joins) message += "; names are of ASCII letters, digits and `_`";
    Diagnostic* diagnostic =
        errors_.ReportStructure(Code::kE0211, now().begin, end, std::move(message));
    if (diagnostic != nullptr && !mend.empty()) AddWord(*diagnostic, mend);
    return true;
  }

  // `not` for `!`, `and` for `&&`: with blanks where it would join its neighbours.
  void AddWord(Diagnostic& diagnostic, const std::string& word) {
    const bool twice = at_ + 1 < lexemes_.size() && lexemes_[at_ + 1].begin == now().end &&
                       TextOf(at_ + 1) == TextOf(at_);
    const uint32_t end = twice ? lexemes_[at_ + 1].end : now().end;
    const bool joins = end < errors_.text().size() && errors_.text()[end] != ' ';
    const bool joined = at_ > 0 && lexemes_[at_ - 1].end == now().begin && word != "not";
    diagnostic.AddFix(errors_.At(now().begin, end),
                      (joined ? " " : "") + word + (joins ? " " : ""));
  }

  bool KeywordAsName() {
    if (!IsKeyword(now().type) || !NameIsMeant()) return false;
    const std::string word = TextOf(at_).str();
    errors_.ReportStructure(
        Code::kE0215, now().begin, now().end,
        fmt::format("`{0}` is a keyword and cannot be a name; `{0}_` can be one", word));
    return true;
  }

  // Returns whether the keyword stands for a name. What the parser expects does not say so where
  // the list that would go on with the name could also end.
  bool NameIsMeant() const {
    const size_t next = at_ + 1 < lexemes_.size() ? lexemes_[at_ + 1].type : antlr4::Token::EOF;
    if (before() == Lexer::LPAREN || before() == Lexer::COMMA) {
      if (next == Lexer::COLON) return true;  // a parameter, a field or a label
      const bool ends = next == Lexer::COMMA || next == Lexer::RPAREN;
      if (rule_ == Grammar::RuleParameters && ends) return true;
    }
    if (before() == Lexer::PREFER && next == Lexer::GT) return true;
    if (rule_ == Grammar::RuleBlock) return Assigns(next);
    if (!Expects(Lexer::ID) || Expects(Lexer::INT)) return false;
    return !now().first_on_line || at_ == 0;
  }

  static bool Assigns(size_t type) {
    return type == Lexer::ASSIGN || type == Lexer::ADD_ASSIGN || type == Lexer::SUB_ASSIGN ||
           type == Lexer::MUL_ASSIGN || type == Lexer::DIV_ASSIGN;
  }

  bool NotADeclaration() {
    if (rule_ != Grammar::RuleItem && rule_ != Grammar::RuleFile) return false;
    errors_.ReportStructure(
        Code::kE0201, now().begin, now().end,
        "expected a declaration (import, const, type, transport, fn, op, actor, optimizer, place, "
        "graph, schedule or topology), found " +
            Found());
    return true;
  }

  bool AssignmentAsComparison() {
    if (now().type != Lexer::ASSIGN || !EndsOperand(before()) || Expects(Lexer::ASSIGN)) {
      return false;
    }
    if (rule_ != Grammar::RuleBlock && !Expects(Lexer::EQ) && !Expects(Lexer::LBRACE)) return false;
    Diagnostic* diagnostic = Say(
        Code::kE0201, "`=` cannot stand here; it assigns to a name at the beginning of a "
                      "statement, and `==` compares");
    if (diagnostic != nullptr) diagnostic->AddFix(errors_.At(now().begin, now().end), "==");
    return true;
  }

  // `x + 1`, `x == 1`: what began like an assignment or a call turns out to be an expression.
  bool OnlyAValue() {
    if (rule_ != Grammar::RuleTargetStatement && rule_ != Grammar::RuleBlock) return false;
    if (!EndsOperand(before()) || now().first_on_line || !Continues(now().type)) return false;
    Say(Code::kE0204, "a statement that is only a value; a statement is a call, an assignment or "
                      "begins with a keyword");
    return true;
  }

  bool HalfAFloat() {
    if (now().type == Lexer::DOT && at_ + 1 < lexemes_.size() &&
        lexemes_[at_ + 1].type == Lexer::INT && lexemes_[at_ + 1].begin == now().end) {
      Say(Code::kE0207, "a float needs digits on both sides of its dot: write `0" +
                            errors_.text().slice(now().begin, lexemes_[at_ + 1].end).str() + "`");
      return true;
    }
    if (before() == Lexer::DOT && at_ > 1 && lexemes_[at_ - 2].type == Lexer::INT) {
      errors_.ReportStructure(
          Code::kE0207, lexemes_[at_ - 2].begin, lexemes_[at_ - 1].end,
          "a float needs digits on both sides of its dot: write `" + TextOf(at_ - 2).str() + ".0`");
      return true;
    }
    return false;
  }

  const Lexemes& lexemes_;
  const size_t at_;
  const antlr4::misc::IntervalSet& expected_;
  const size_t rule_;
  SyntaxErrors& errors_;
};

}  // namespace

void ReportUnexpected(const Lexemes& lexemes, size_t at, const antlr4::misc::IntervalSet& expected,
                      size_t rule, SyntaxErrors& errors) {
  Unexpected(lexemes, at, expected, rule, errors).Report();
}

}  // namespace cgraph::syntax

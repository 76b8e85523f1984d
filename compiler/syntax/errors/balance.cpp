#include "compiler/syntax/errors/mistakes.h"

#include <algorithm>
#include <optional>

#include "compiler/base/limits.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::syntax {
namespace {

struct Open {
  Lexeme bracket;
  SyntaxPosition place = SyntaxPosition::kExpression;  // what stands inside
  uint32_t indent = 0;               // of the line that opened it
  int ifs = 0;  // `if`s directly inside whose `{` has not come yet, in a block also `for`s
  bool by_colon = false;  // as in Python: it ends with its lines' indentation
};

// Suspect: a `}` that stands further left than the line of the `{` it closed. If a `}` turns out to
// be missing, it was missing there.
struct Suspect {
  Lexeme opener;
  uint32_t missing_at = 0;
};

size_t CloserOf(size_t opener) {
  if (opener == Lexer::LPAREN) return Lexer::RPAREN;
  return opener == Lexer::LBRACKET ? Lexer::RBRACKET : Lexer::RBRACE;
}

class Balancer {
 public:
  Balancer(Lexemes lexemes, SyntaxErrors& errors, Lexemes& out)
      : in_(std::move(lexemes)), errors_(errors), out_(out) {}

  bool Run() {
    out_.reserve(in_.size());
    for (at_ = 0; at_ + 1 < in_.size(); ++at_) {
      if (in_[at_].first_on_line) indent_ = in_[at_].column;
      Structure();
      Bracket();
      if (open_.size() > static_cast<size_t>(kMaxNesting)) {
        errors_.Report(Code::kE0105, in_[at_].begin, in_[at_].end,
                       "brackets are nested more than " + std::to_string(kMaxNesting) +
                           " deep here; the rest of this file was not read");
        return false;
      }
    }
    while (!open_.empty()) CloseInnermost();
    out_.push_back(in_.back());
    return true;
  }

 private:
  const Lexeme& now() const { return in_[at_]; }
  SyntaxPosition place() const {
    return open_.empty() ? SyntaxPosition::kFile : open_.back().place;
  }
  bool InBrackets() const { return !open_.empty() && open_.back().bracket.type != Lexer::LBRACE; }
  size_t before() const { return out_.empty() ? size_t{Lexer::SEMICOLON} : out_.back().type; }
  uint32_t end_before() const { return out_.empty() ? 0 : out_.back().end; }

  // Reads what the layout tells before the lexeme itself is looked at.
  void Structure() {
    while (!open_.empty() && open_.back().by_colon && now().first_on_line &&
           now().column <= open_.back().indent) {
      CloseInnermost();
    }
    CorrectKeyword(in_, at_, place(), now().column <= item_column_, errors_);
    if (StartsDeclaration(in_, at_) && (open_.empty() || now().column <= item_column_)) {
      while (!open_.empty()) CloseInnermost();
      BeginDeclaration();
    } else if (StartsMember(in_, at_)) {
      BeginMember();
    } else if (body_missing_ && place() != SyntaxPosition::kExpression && now().first_on_line &&
               StartsStatementOnly(now().type)) {
      InsertOpener(SyntaxPosition::kBlock);
    } else if (EndsHead()) {
      --open_.back().ifs;
      InsertOpener(SyntaxPosition::kBlock);
    }
    while (InBrackets() && EndsBrackets()) CloseInnermost();
    CheckLineBegin();
    CheckLoopHead();
    CheckColon();
    // `a if c else b`: no head; the parser will report it.
    if (now().type == Lexer::ELSE && before() != Lexer::RBRACE && !open_.empty() &&
        open_.back().ifs > 0) {
      --open_.back().ifs;
    }
    const bool heads = now().type == Lexer::IF ||
                       (now().type == Lexer::FOR && place() == SyntaxPosition::kBlock);
    if (heads && !open_.empty()) ++open_.back().ifs;
  }

  void BeginDeclaration() {
    parameters_read_ = false;
    suspect_.reset();
    item_column_ = now().column;
    member_column_ = UINT32_MAX;
    switch (now().type) {
      case Lexer::ACTOR:
        body_ = SyntaxPosition::kActor;
        break;
      case Lexer::SCHEDULE:
        body_ = SyntaxPosition::kSchedule;
        break;
      case Lexer::TOPOLOGY:
        body_ = SyntaxPosition::kTopology;
        break;
      default:
        body_ = SyntaxPosition::kBlock;
    }
    body_missing_ = now().type == Lexer::ACTOR || now().type == Lexer::GRAPH ||
                    now().type == Lexer::FN;
  }

  void BeginMember() {
    if (open_.empty() && body_missing_ && body_ == SyntaxPosition::kActor)
      InsertOpener(SyntaxPosition::kActor);
    const bool in_actor = !open_.empty() && open_.front().place == SyntaxPosition::kActor;
    if (!in_actor) return;
    if (open_.size() > 1 && (!now().first_on_line || now().column > member_column_)) return;
    while (open_.size() > 1) CloseInnermost();
    if (now().first_on_line) member_column_ = now().column;
    body_missing_ = now().type == Lexer::METHOD;
    parameters_read_ = false;
  }

  static bool StartsStatementOnly(size_t type) {
    return type == Lexer::LET || type == Lexer::VAR || type == Lexer::RETURN ||
           type == Lexer::YIELD;
  }

  // Returns whether a statement begins here, on a new line, though an `if` or `for` still lacks its
  // `{`.
  bool EndsHead() const {
    if (place() != SyntaxPosition::kBlock || open_.back().ifs == 0 || !now().first_on_line)
      return false;
    const size_t type = now().type;
    bool begins = StartsStatementOnly(type) || type == Lexer::FOR || type == Lexer::IF ||
                  IsName(type);
    return begins && EndsOperand(before());
  }

  // Returns whether this lexeme is the name of `[each n]`, where `each` is no operand.
  bool AfterEach() const {
    if (out_.size() < 2 || before() != Lexer::EACH || !IsName(now().type)) return false;
    const size_t opener = out_[out_.size() - 2].type;
    return opener == Lexer::LBRACKET || opener == Lexer::COMMA;
  }

  // Returns whether this `for` is that of a tuple, (f(x) for x in xs): a `)` comes behind it before
  // the `{` of a loop.
  bool BeginsComprehension() const {
    constexpr size_t kMostAhead = 1000;  // so that no text takes quadratic time
    const size_t end = std::min(in_.size(), at_ + kMostAhead);
    size_t depth = 0;
    for (size_t i = at_ + 1; i < end; ++i) {
      const size_t type = in_[i].type;
      if (type == Lexer::LPAREN || type == Lexer::LBRACKET) ++depth;
      if (type == Lexer::LBRACE && depth == 0) return false;
      if (type != Lexer::RPAREN && type != Lexer::RBRACKET) continue;
      if (depth == 0) return type == Lexer::RPAREN;
      --depth;
    }
    return false;
  }

  // Returns whether this lexeme cannot stand inside the innermost `(` or `[`, so that its end is
  // missing.
  bool EndsBrackets() const {
    const Open& open = open_.back();
    const bool round = open.bracket.type == Lexer::LPAREN;
    const size_t type = now().type;
    if (type == Lexer::ARROW) return true;
    // `f(let: x)` is a keyword as a name, which the parser reports.
    if (StartsStatementOnly(type)) return in_[at_ + 1].type != Lexer::COLON;
    if (type == Lexer::SEMICOLON) return round;
    if (type == Lexer::LBRACE) return open.ifs == 0 && before() != Lexer::ELSE;
    if (!now().first_on_line || !EndsOperand(before()) || now().column > open.indent) return false;
    if (AfterEach()) return false;
    if (type == Lexer::FOR) return round && !BeginsComprehension();
    if (type == Lexer::IF) return round;
    return IsName(type) && in_[at_ + 1].type != Lexer::COLON;
  }

  // Reports, inside a block, a line that would silently continue the line before.
  void CheckLineBegin() {
    const size_t type = now().type;
    const bool joins = type == Lexer::LPAREN || type == Lexer::LBRACKET || type == Lexer::SUB;
    if (!joins || !now().first_on_line || open_.empty() || InBrackets()) return;
    if (!EndsOperand(before()) || place() == SyntaxPosition::kTopology) return;
    Diagnostic* diagnostic = errors_.ReportStructure(
        Code::kE0205, now().begin, now().end,
        std::string("a line inside a block may not begin with `") + FixedSpelling(type) +
            "`, since it would continue the line before; write it at the end of that line, or "
            "inside brackets");
    if (diagnostic != nullptr) {
      diagnostic->AddNote(errors_.At(out_.back().begin, out_.back().end),
                          "this is what it would continue");
    }
  }

  // `for (i = 0; i < n; i++)`: before its `;` makes a bracket look unclosed.
  void CheckLoopHead() {
    if (now().type != Lexer::FOR || place() != SyntaxPosition::kBlock) return;
    if (in_[at_ + 1].type != Lexer::LPAREN) return;
    for (size_t i = at_ + 2; i + 1 < in_.size() && in_[i].line == now().line; ++i) {
      if (in_[i].type == Lexer::LBRACE) return;
      if (in_[i].type != Lexer::SEMICOLON) continue;
      errors_.ReportStructure(Code::kE0201, in_[at_ + 1].begin, in_[at_ + 1].end,
                              "a loop goes over a range or a list: for i in 0..n { ... }");
      return;
    }
  }

  // Handles `if c:` and `method f(x: f32) -> f32:` at the end of a line: the colon stands for the
  // `{` that is meant.
  void CheckColon() {
    if (now().type != Lexer::COLON || place() == SyntaxPosition::kExpression) return;
    const bool of_statement =
        place() == SyntaxPosition::kBlock && (open_.back().ifs > 0 || before() == Lexer::ELSE);
    // Before its parameters a head may have `<T: float>`.
    const bool of_head = body_missing_ && parameters_read_ && in_[at_ + 1].first_on_line;
    if (!of_statement && !of_head) return;
    errors_.ReportStructure(Code::kE0201, now().begin, now().end,
                            "a body stands in braces, { ... }, and not behind a colon");
    in_[at_].type = Lexer::LBRACE;
    by_colon_ = true;
  }

  void Bracket() {
    switch (now().type) {
      case Lexer::LPAREN:
      case Lexer::LBRACKET:
        open_.push_back({now(), SyntaxPosition::kExpression, indent_});
        break;
      case Lexer::LBRACE:
        OpenBrace();
        break;
      case Lexer::RPAREN:
      case Lexer::RBRACKET:
        if (!CloseBracket()) return;
        break;
      case Lexer::RBRACE:
        if (!CloseBrace()) return;
        break;
      default:
        break;
    }
    out_.push_back(now());
  }

  void OpenBrace() {
    SyntaxPosition inside = SyntaxPosition::kBlock;
    if (open_.empty()) {
      inside = body_;
    } else {
      if (place() == SyntaxPosition::kTopology)
        inside = SyntaxPosition::kExpression;  // of properties
      if (open_.back().ifs > 0) --open_.back().ifs;
    }
    body_missing_ = false;
    open_.push_back({now(), inside, indent_, 0, by_colon_});
    by_colon_ = false;
  }

  // Closes a bracket at `)` or `]`. Returns false where it closes nothing and is dropped.
  bool CloseBracket() {
    if (!InBrackets()) {
      errors_.ReportStructure(Code::kE0203, now().begin, now().end,
                              std::string("`") + FixedSpelling(now().type) + "` closes nothing");
      return false;
    }
    size_t depth = open_.size();
    while (depth > 0 && open_[depth - 1].bracket.type != Lexer::LBRACE &&
           CloserOf(open_[depth - 1].bracket.type) != now().type) {
      --depth;
    }
    if (depth == 0 || open_[depth - 1].bracket.type == Lexer::LBRACE) {
      const size_t wanted = CloserOf(open_.back().bracket.type);
      Diagnostic* diagnostic = errors_.ReportStructure(
          Code::kE0203, now().begin, now().end,
          std::string("`") + FixedSpelling(now().type) + "` cannot close `" +
              FixedSpelling(open_.back().bracket.type) + "`");
      if (diagnostic != nullptr) {
        diagnostic->AddNote(At(open_.back().bracket), "opened here")
            .AddFix(At(now()), FixedSpelling(wanted));
      }
      in_[at_].type = wanted;
    } else {
      while (open_.size() > depth) CloseInnermost();
    }
    open_.pop_back();
    parameters_read_ |= !InBrackets();
    return true;
  }

  bool CloseBrace() {
    size_t depth = open_.size();
    while (depth > 0 && open_[depth - 1].bracket.type != Lexer::LBRACE) --depth;
    if (depth == 0) {
      errors_.ReportStructure(Code::kE0203, now().begin, now().end, "`}` closes nothing");
      return false;
    }
    while (open_.size() > depth) CloseInnermost();
    const Open& open = open_.back();
    if (!suspect_ && now().first_on_line && now().column < open.indent &&
        now().line != open.bracket.line) {
      suspect_ = Suspect{open.bracket, end_before()};
    }
    open_.pop_back();
    return true;
  }

  // Returns what was read from that bracket on.
  llvm::ArrayRef<Lexeme> LexemesFrom(const Lexeme& opener) const {
    const llvm::ArrayRef<Lexeme> read(out_);
    const auto* first = llvm::partition_point(
        read, [&](const Lexeme& each) { return each.begin < opener.begin; });
    return {first, read.end()};
  }

  Range At(const Lexeme& lexeme) const { return errors_.At(lexeme.begin, lexeme.end); }

  // Reports that the innermost bracket is not closed, and closes it before the current lexeme.
  void CloseInnermost() {
    const Open open = open_.back();
    open_.pop_back();
    const size_t closer = CloserOf(open.bracket.type);
    if (open.by_colon) return Insert(closer);
    Lexeme opener = open.bracket;
    uint32_t missing_at = end_before();
    if (closer == Lexer::RBRACE && suspect_ && suspect_->opener.begin >= opener.begin) {
      opener = suspect_->opener;
      missing_at = suspect_->missing_at;
      suspect_.reset();
    }
    Diagnostic* diagnostic =
        errors_.ReportStructure(Code::kE0202, missing_at, missing_at,
                                std::string("`") + FixedSpelling(closer) + "` is missing here");
    if (diagnostic != nullptr) {
      diagnostic->AddNote(At(opener), std::string("this `") + FixedSpelling(opener.type) +
                                          "` is not closed");
      if (!NoteDivision(*diagnostic, missing_at, errors_) &&
          !NoteSwallowed(*diagnostic, LexemesFrom(opener), *FixedSpelling(closer), errors_)) {
        diagnostic->AddFix(errors_.At(missing_at, missing_at), FixedSpelling(closer));
      }
    }
    Insert(closer);
  }

  void InsertOpener(SyntaxPosition inside) {
    const uint32_t end = end_before();
    Diagnostic* diagnostic =
        errors_.ReportStructure(Code::kE0202, end, end, "`{` is missing here, before the body");
    if (diagnostic != nullptr) diagnostic->AddFix(errors_.At(end, end), " {");
    Insert(Lexer::LBRACE);
    body_missing_ = false;
    open_.push_back({out_.back(), inside, indent_});
  }

  void Insert(size_t type) {
    Lexeme made;
    made.type = type;
    made.begin = made.end = end_before();
    made.line = out_.empty() ? 1 : out_.back().line;
    out_.push_back(made);
  }

  Lexemes in_;
  SyntaxErrors& errors_;
  Lexemes& out_;
  size_t at_ = 0;
  std::vector<Open> open_;
  uint32_t indent_ = 0;         // of the current line
  uint32_t item_column_ = 0;    // of the declaration in work
  uint32_t member_column_ = UINT32_MAX;
  SyntaxPosition body_ = SyntaxPosition::kBlock;  // what the next `{` at the top opens
  bool body_missing_ = false;   // a header was read whose `{` has not come yet
  bool parameters_read_ = false;  // and its parameters, or something else in parentheses
  bool by_colon_ = false;       // the `{` that comes was a colon
  std::optional<Suspect> suspect_;
};

}  // namespace

bool Balance(Lexemes lexemes, SyntaxErrors& errors, Lexemes& balanced) {
  return Balancer(std::move(lexemes), errors, balanced).Run();
}

}  // namespace cgraph::syntax

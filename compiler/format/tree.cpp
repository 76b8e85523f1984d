#include "compiler/format/tree.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

namespace cgraph::format {
namespace {

using llvm::StringRef;
using syntax::WordKind;

bool IsClause(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases("where", "cost", "kernel", "effect", "inplace", "fails", "elementwise", true)
      .Case("deprecated", true)
      .Default(false);
}

bool IsModifier(StringRef word) { return word == "via" || word == "on" || word == "after"; }

// A long line may be broken behind these.
bool IsOperator(StringRef sign) {
  return llvm::StringSwitch<bool>(sign)
      .Cases("+", "-", "*", "/", "%", "@", true)
      .Cases("==", "!=", "<", "<=", ">", ">=", "and", "or", true)
      .Cases("=", "+=", "-=", "*=", "/=", true)
      .Default(false);
}

int Width(StringRef text) {  // in characters
  int width = 0;
  for (const char byte : text) width += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return width;
}

class TreeMaker {
 public:
  explicit TreeMaker(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::vector<Line> Run() { return Statements(); }

 private:
  const Token& now() const { return tokens_[at_]; }
  bool AtEnd() const { return now().kind == WordKind::kEnd; }
  static bool Closes(const Token& token) {
    return token.Is(")") || token.Is("]") || token.Is("}") || token.closes_types;
  }

  std::vector<Line> Statements() {
    std::vector<Line> lines;
    while (!AtEnd() && !Closes(now())) {
      Line line;
      line.is_clauses = now().Is("op");
      int branches = 0;  // braces to come that hold values
      do {
        Add(line, branches);
      } while (!AtEnd() && !Closes(now()) && !now().begins_statement);
      lines.push_back(std::move(line));
    }
    return lines;
  }

  void Add(Line& line, int& branches) {
    LineItem item;
    if (now().is_if_expr) branches += 2;
    item.break_before = BreakBefore(line);
    const bool opens =
        now().Is("(") || now().Is("[") || now().opens_types || now().opens_properties;
    if (opens || (now().Is("{") && branches > 0)) {
      branches -= now().Is("{");
      item.bracket = MakeBracket();
    } else if (now().Is("{")) {
      item.bracket = MakeBlock(line);
    } else {
      item.token = &now();
      ++at_;
    }
    Measure(item, line.items.empty());
    line.items.push_back(std::move(item));
  }

  LineItem::Break BreakBefore(const Line& line) const {
    if (line.items.empty()) return LineItem::kNever;
    if (BeginsPart(line)) return LineItem::kAtPart;
    const Token& last = line.items.back().last();
    const bool binary = IsOperator(last.text) && !last.is_sign && line.items.size() > 1;
    if (!binary || last.opens_types || last.closes_types) return LineItem::kNever;
    return llvm::StringSwitch<LineItem::Break>(last.text)
        .Cases("=", "+=", "-=", "*=", "/=", LineItem::kAtPart)
        .Case("or", LineItem::kBehindOr)
        .Case("and", LineItem::kBehindAnd)
        .Default(LineItem::kBehindOperator);
  }

  // Returns whether the next token is no operand of the token before it.
  bool BeginsPart(const Line& line) const {
    const Token& last = line.items.back().last();
    const bool begins_gradient = now().Is("grad") && now().kind == WordKind::kKeyword;
    if (begins_gradient) return true;
    const bool declares = line.items[0].first().Is("op") || line.items[0].first().Is("fn");
    if (last.Is(",")) return !declares;  // in a rule: elsewhere a comma ends the line's element
    if (IsModifier(now().text) && now().kind == WordKind::kKeyword) return last.EndsOperand();
    const bool uses = now().Is("using") || (now().Is("with") && now().kind == WordKind::kKeyword);
    if (uses) return last.EndsOperand();
    if (now().Is("for") || (now().Is("if") && !now().is_if_expr)) return last.EndsOperand();
    if (now().kind == WordKind::kName && last.EndsOperand()) {
      // Returns whether a clause of an op or an attribute of a graph begins; a word that belongs to
      // one does not begin one.
      const bool in_clause = IsClause(last.text) || last.Is("op");
      if (line.is_clauses) return IsClause(now().text) && !in_clause;
      return last.kind != WordKind::kName;
    }
    return false;
  }

  std::unique_ptr<Bracket> MakeBracket() {
    auto bracket = std::make_unique<Bracket>();
    bracket->open = &tokens_[at_++];
    while (!AtEnd() && !Closes(now())) {
      Line element;
      int branches = 0;
      while (!AtEnd() && !Closes(now())) {
        const bool comma = now().Is(",");
        Add(element, branches);
        if (comma) break;
      }
      bracket->elements.push_back(std::move(element));
    }
    bracket->close = &tokens_[at_];
    at_ += !AtEnd();
    return bracket;
  }

  std::unique_ptr<Bracket> MakeBlock(const Line& line) {
    auto block = std::make_unique<Bracket>();
    const StringRef keyword = line.items.empty() ? "" : line.items[0].first().text;
    block->is_block = true;
    block->open = &tokens_[at_++];
    block->elements = Statements();
    block->close = &tokens_[at_];
    at_ += !AtEnd();
    const std::vector<Line>& lines = block->elements;
    const bool of_declarations = keyword == "actor" || keyword == "optimizer" ||
                                 keyword == "schedule" || keyword == "topology";
    block->stays_open = lines.size() > 1 || (of_declarations && !lines.empty());
    for (const Line& statement : lines) {
      for (const LineItem& item : statement.items) {
        block->stays_open |= item.bracket != nullptr && item.bracket->is_block;
      }
    }
    return block;
  }

  static void Measure(const Token& token, LineItem& item) {
    item.width += Width(token.text);
  }
  static void MeasureComments(const Token& token, LineItem& item) {
    for (const Comment& comment : token.before) {
      item.width += Width(comment.text) + 1;
      item.breaks |= comment.ends_line;
    }
  }

  // Measures an item. Comments before the first token of a line stand above or before it, and those
  // behind the last token of a piece end the line: the item that holds them counts them.
  static void Measure(LineItem& item, bool is_first) {
    if (!is_first) MeasureComments(item.first(), item);
    if (item.token != nullptr) return Measure(*item.token, item);
    const Bracket& bracket = *item.bracket;
    Measure(*bracket.open, item);
    Measure(*bracket.close, item);
    MeasureComments(*bracket.close, item);
    item.breaks |= bracket.stays_open || !bracket.open->after.empty();
    const Token* last = bracket.open;
    for (const Line& element : bracket.elements) {
      MeasureComments(element.items[0].first(), item);
      for (const LineItem& inner : element.items) {
        item.width += inner.width + SpaceBetween(*last, inner.first());
        item.breaks |= inner.breaks || !inner.last().after.empty();
        last = &inner.last();
      }
    }
    item.width += SpaceBetween(*last, *bracket.close);
  }

  const std::vector<Token>& tokens_;
  size_t at_ = 0;
};

// Returns whether a space stands before a bracket: ( and [ continue the operand that they follow.
bool SpaceBeforeBracket(const Token& left) {
  if (left.Is("(") || left.Is("[") || left.opens_types) return false;
  return !(left.EndsOperand() || left.Is("cast")) || left.kind == WordKind::kLiteral;
}

}  // namespace

std::vector<Line> MakeTree(const std::vector<Token>& tokens) { return TreeMaker(tokens).Run(); }

bool SpaceBetween(const Token& left, const Token& right) {
  if (right.Is(",") || right.Is(";") || right.Is(")") || right.Is("]") || right.Is(".") ||
      right.Is("..") || right.opens_types || right.closes_types) {
    return false;
  }
  if (left.Is("(") || left.Is("[") || left.Is(".") || left.Is("..") || left.opens_types ||
      left.is_sign) {
    return false;
  }
  if (left.Is("{") && right.Is("}")) return false;
  if (right.opens_indices || right.opens_rule) return true;
  if (right.Is("(") || right.Is("[")) return SpaceBeforeBracket(left);
  if (right.Is(":")) return !left.EndsOperand();
  return true;
}

}  // namespace cgraph::format

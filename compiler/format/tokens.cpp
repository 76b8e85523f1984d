#include "compiler/format/tokens.h"

#include <set>
#include <utility>

#include "llvm/ADT/SmallVector.h"

namespace cgraph::format {
namespace {

using llvm::StringRef;
using syntax::WordKind;

// Roles: what Syntax says about places in the text.
struct Roles {
  std::set<uint32_t> statements;  // where statements, members and items begin
  std::set<uint32_t> if_exprs;
  std::set<uint32_t> types;       // where what stands in < > begins
  std::set<uint32_t> sorted;      // where the names of sorted calls begin: `by` follows
  std::set<uint32_t> properties;  // where the braces of properties begin
  std::set<uint32_t> indices;     // where the brackets behind a device begin
  std::set<uint32_t> gradients;   // where the rules of ops and fns begin

  explicit Roles(const syntax::File& file);
};

Roles::Roles(const syntax::File& file) {
  const auto generics = [&](const std::vector<syntax::Generic>& list) {
    if (!list.empty()) types.insert(list[0].name.range.begin);
  };
  const auto operation = [&](const auto& node) {
    generics(node.generics);
    if (node.gradient) gradients.insert(node.gradient->range.begin);
  };
  for (const syntax::Item& item : file.items) {
    statements.insert(item.range.begin);
    if (const auto* fn = std::get_if<syntax::FnDecl>(&item.node)) operation(*fn);
    if (const auto* op = std::get_if<syntax::OpDecl>(&item.node)) operation(*op);
    if (const auto* topology = std::get_if<syntax::TopologyDecl>(&item.node)) {
      for (const syntax::TopologyPart& part : topology->parts) {
        statements.insert(part.range.begin);
        properties.insert(part.properties_range.begin);
        const bool named = std::holds_alternative<syntax::ResourcePart>(part.node);
        if (part.indices_range.valid() && !named) indices.insert(part.indices_range.begin);
      }
    }
    if (const auto* schedule = std::get_if<syntax::ScheduleDecl>(&item.node)) {
      for (const syntax::Rule& rule : schedule->rules) {
        statements.insert(rule.range.begin);
        const auto* sort = std::get_if<syntax::SortBy>(&rule.node);
        if (sort == nullptr) continue;
        for (const auto& sorting : sort->sortings) sorted.insert(sorting.kind.range.begin);
      }
    }
    const auto members = [&](const auto& node) {
      for (const syntax::StateDecl& state : node.states) statements.insert(state.range.begin);
      for (const syntax::MethodDecl& method : node.methods) statements.insert(method.range.begin);
    };
    if (const auto* actor = std::get_if<syntax::ActorDecl>(&item.node)) members(*actor);
    if (const auto* optimizer = std::get_if<syntax::OptimizerDecl>(&item.node)) {
      generics(optimizer->generics);
      members(*optimizer);
    }
  }
  for (const syntax::Statement& statement : file.statements) {
    statements.insert(statement.range.begin);
  }
  for (const syntax::Expr& expr : file.exprs) {
    if (std::holds_alternative<syntax::IfExpr>(expr.node)) if_exprs.insert(expr.range.begin);
    syntax::TypeId type;
    if (const auto* call = std::get_if<syntax::CallExpr>(&expr.node)) type = call->type_argument;
    if (const auto* cast = std::get_if<syntax::CastExpr>(&expr.node)) type = cast->type;
    if (type.valid()) types.insert(file.types[type].range.begin);
  }
}

// Spaces at the ends of lines, and carriage returns, are no part of a comment.
std::string Trimmed(StringRef comment) {
  llvm::SmallVector<StringRef> lines;
  comment.split(lines, '\n');
  std::string text;
  for (StringRef line : lines) text += (text.empty() ? "" : "\n") + line.rtrim(" \t\r").str();
  return text;
}

struct Gap {  // what stands between two words
  struct GapComment {
    std::string comment;
    int newlines_before = 0;
    bool ends_line = false;
  };
  std::vector<GapComment> comments;
  int newlines = 0;  // after the last comment
};

Gap ReadGap(StringRef gap) {
  Gap result;
  while (!gap.empty()) {
    if (!gap.startswith("/")) {
      result.newlines += gap.front() == '\n';
      gap = gap.drop_front();
      continue;
    }
    const bool block = gap.startswith("/*");
    const StringRef comment = block ? gap.take_front(gap.find("*/", 2) + 2)
                                    : gap.take_until([](char c) { return c == '\n'; });
    gap = gap.drop_front(comment.size());
    const bool several_lines = comment.contains('\n');
    result.comments.push_back({Trimmed(comment), result.newlines, !block || several_lines});
    result.newlines = 0;
    const StringRef rest = gap.ltrim(" \t\r");
    if (rest.startswith("\n")) result.comments.back().ends_line = true;
  }
  return result;
}

class Maker {
 public:
  Maker(const syntax::File& file, const std::string& text, const std::vector<syntax::Word>& words)
      : roles_(file), text_(text), words_(words) {}

  std::vector<Token> Run() {
    uint32_t end = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      const syntax::Word& word = words_[i];
      uint32_t begin = i == 0 && StringRef(text_).startswith("\xef\xbb\xbf") ? 3 : end;
      TakeGap(ReadGap(text_.slice(begin, word.begin)));
      end = word.end;
      const StringRef text = text_.slice(word.begin, word.end);
      if (text == ";" && (open_.empty() || open_.back() == "{")) continue;
      if (text == "," && IsSuperfluous(i)) continue;
      if (text == ",") CommentsBehindComma();
      Add(word, text);
    }
    return std::move(tokens_);
  }

 private:
  void TakeGap(const Gap& gap) {
    for (size_t i = 0; i < gap.comments.size(); ++i) {
      const Gap::GapComment& piece = gap.comments[i];
      Comment comment{piece.comment, piece.ends_line, piece.newlines_before > 1};
      const bool trails = piece.newlines_before == 0 && i == 0 && piece.ends_line;
      if (trails && !tokens_.empty() && before_.empty() && tokens_.back().after.empty()) {
        comment.blank_before = false;
        tokens_.back().after.push_back(std::move(comment));
      } else {
        before_.push_back(std::move(comment));
      }
    }
    first_on_line_ = first_on_line_ || gap.newlines > 0;
    blank_before_ = blank_before_ || gap.newlines > 1;
  }

  // Moves comments behind a comma: no line begins with a comma.
  void CommentsBehindComma() {
    std::vector<Comment> after = std::move(tokens_.back().after);
    tokens_.back().after.clear();
    for (auto at = before_.begin(); at != before_.end();) {
      if (!at->ends_line) {
        ++at;
        continue;
      }
      after.push_back(std::move(*at));
      at = before_.erase(at);
    }
    behind_comma_ = std::move(after);
  }

  // Returns whether a comma is superfluous: the one after the last of several, `(a, b,)`. That of
  // `(a,)` makes a tuple.
  bool IsSuperfluous(size_t at) const {
    const StringRef next = text_.slice(words_[at + 1].begin, words_[at + 1].end);
    return next == "]" || next == "}" || (next == ")" && !commas_.empty() && commas_.back() > 0);
  }

  void Add(const syntax::Word& word, StringRef text) {
    Token token;
    token.text = text;
    token.kind = word.kind;
    token.before = std::move(before_);
    before_.clear();
    token.first_on_line = std::exchange(first_on_line_, false);
    token.blank_before = std::exchange(blank_before_, false);
    const bool after_operand = !tokens_.empty() && tokens_.back().EndsOperand();
    const bool names_op =
        !tokens_.empty() && (tokens_.back().Is("op") || tokens_.back().Is("deprecated"));
    const bool clause =
        (text == "where" || text == "with") && open_.empty() && after_operand && !names_op;
    const bool keys = !tokens_.empty() && tokens_.back().Is("keyed");
    const bool sorts = text == "by" && (keys || roles_.sorted.count(last_begin_) > 0);
    const bool begins_rule = roles_.gradients.count(word.begin) > 0;
    if (clause || sorts || begins_rule) token.kind = WordKind::kKeyword;
    last_begin_ = word.begin;
    const bool after_else = !tokens_.empty() && tokens_.back().Is("else");
    token.begins_statement = roles_.statements.count(word.begin) > 0 && !after_else;
    token.opens_properties = roles_.properties.count(word.begin) > 0;
    token.opens_rule = behind_rule_ && (text == "(" || text == "{");
    behind_rule_ = begins_rule || (behind_rule_ && !token.opens_rule);
    token.opens_indices = roles_.indices.count(word.begin) > 0;
    token.is_if_expr = text == "if" && roles_.if_exprs.count(word.begin) > 0;
    if (roles_.types.count(word.begin) > 0 && !tokens_.empty() && tokens_.back().Is("<")) {
      tokens_.back().opens_types = true;
      open_.push_back("<");
      commas_.push_back(0);
    }
    token.is_sign = (text == "-" || text == "*") && !after_operand;
    token.closes_types = text == ">" && !open_.empty() && open_.back() == "<";
    if (text == "(" || text == "[" || text == "{") {
      open_.push_back(text);
      commas_.push_back(0);
    } else if (text == ")" || text == "]" || text == "}" || token.closes_types) {
      open_.pop_back();
      commas_.pop_back();
    } else if (text == "," && !commas_.empty()) {
      ++commas_.back();
    }
    tokens_.push_back(std::move(token));
    // Of several comments that end a line, the first stands behind the comma and the others below
    // it.
    for (Comment& comment : behind_comma_) {
      auto& place = tokens_.back().after.empty() ? tokens_.back().after : before_;
      place.push_back(std::move(comment));
    }
    behind_comma_.clear();
  }

  const Roles roles_;
  const StringRef text_;
  const std::vector<syntax::Word>& words_;
  std::vector<Token> tokens_;
  llvm::SmallVector<StringRef> open_;  // the brackets
  llvm::SmallVector<int> commas_;      // in each of them
  // Comments of the next token.
  std::vector<Comment> before_, behind_comma_;
  bool first_on_line_ = true, blank_before_ = false;
  bool behind_rule_ = false;    // between the `grad` of a rule and its bracket
  uint32_t last_begin_ = UINT32_MAX;  // of the last token
};

}  // namespace

bool Token::EndsOperand() const {
  if (kind == WordKind::kName || kind == WordKind::kLiteral) return true;
  if (kind == WordKind::kKeyword) {
    // The dtypes and the truth values are operands, the other keywords are not.
    return Is("true") || Is("false") || text.find_first_of("0123456789") != StringRef::npos ||
           Is("bool");
  }
  return Is(")") || Is("]") || Is("}") || closes_types;
}

std::vector<Token> MakeTokens(const syntax::File& file, const std::string& text,
                              const std::vector<syntax::Word>& words) {
  return Maker(file, text, words).Run();
}

std::vector<std::string> CommentsIn(StringRef gap) {
  std::vector<std::string> comments;
  for (Gap::GapComment& piece : ReadGap(gap).comments) comments.push_back(std::move(piece.comment));
  return comments;
}

}  // namespace cgraph::format

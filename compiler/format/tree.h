// The words as a tree of what may be broken. A line is a row of tokens, brackets and blocks; a
// bracket holds elements, which are lines without blocks of their own; a block holds statements.
#ifndef CGRAPH_COMPILER_FORMAT_TREE_H_
#define CGRAPH_COMPILER_FORMAT_TREE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/format/tokens.h"

namespace cgraph::format {

struct Line;

// Bracket: ( [ < and the { of an `if` that is an expression, or the { } of a block.
struct Bracket {
  const Token* open = nullptr;
  const Token* close = nullptr;
  bool is_block = false;
  bool stays_open = false;      // a block that has more than one simple statement
  std::vector<Line> elements;   // each with its comma; or the statements
};

struct LineItem {
  const Token* token = nullptr;      // or
  std::unique_ptr<Bracket> bracket;
  // Break: where a line that is too long may be broken; the loosest kind comes first.
  enum Break : uint8_t { kNever, kAtPart, kBehindOr, kBehindAnd, kBehindOperator };
  Break break_before = kNever;
  int width = 0;                     // on one line, without the space before
  bool breaks = false;               // a comment or a block does not let it stand on one line

  const Token& first() const { return bracket ? *bracket->open : *token; }
  const Token& last() const { return bracket ? *bracket->close : *token; }
};

struct Line {
  std::vector<LineItem> items;
  bool is_clauses = false;  // of an op: what does not fit goes 2 columns in, else 4
};

// Returns all statements of the text: its declarations.
std::vector<Line> MakeTree(const std::vector<Token>& tokens);

// Returns whether a space stands between two tokens that follow each other on one line.
bool SpaceBetween(const Token& left, const Token& right);

}  // namespace cgraph::format

#endif  // CGRAPH_COMPILER_FORMAT_TREE_H_

// Layout: decides where lines are broken, and puts the tree onto a page.
#ifndef CGRAPH_COMPILER_FORMAT_LAYOUT_H_
#define CGRAPH_COMPILER_FORMAT_LAYOUT_H_

#include <vector>

#include "compiler/format/page.h"
#include "compiler/format/tree.h"

namespace cgraph::format {

class Layout {
 public:
  // The statements of the text, then `end`, its last token.
  void PutFile(const std::vector<Line>& lines, const Token& end);
  std::string Text() { return page_.Text(); }

 private:
  using Items = llvm::ArrayRef<LineItem>;

  void PutStatements(const std::vector<Line>& lines, int indent);
  void PutStatement(const Line& line, int indent);
  // Items that hold no block, and behind which `tail` columns must be left on their last line.
  void PutPieces(Items items, int continuation, int tail);
  void PutSegment(Items segment, int continuation, int tail);
  void PutFlat(Items items, int continuation);
  void PutBlock(const Bracket& block, int indent, int continuation);
  void PutBroken(const Bracket& bracket, int continuation);
  void Put(const Token& token, int continuation);

  bool Fits(Items items, int tail) const;
  // Returns whether a segment that is too long can begin on this line: up to where it is broken.
  bool HeadFits(Items segment) const;

  Page page_;
  const Token* last_ = nullptr;  // what was put
};

}  // namespace cgraph::format

#endif  // CGRAPH_COMPILER_FORMAT_LAYOUT_H_

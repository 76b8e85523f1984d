// What fits on a line stands on one line. A longer one is broken where Piece::break_before says, as
// late as possible: behind an `or` where there is one, else behind an `and`, else behind any
// operator. A part that does not fit on a line of its own is broken in the same way, and then
// inside its widest brackets, whose elements stand below each other.
#include "compiler/format/layout.h"

#include "llvm/ADT/STLExtras.h"

namespace cgraph::format {
namespace {

constexpr int kIndent = 2;
constexpr int kContinuation = 4;

int FlatWidth(llvm::ArrayRef<Piece> pieces) {
  int width = 0;
  const Token* last = nullptr;
  for (const Piece& piece : pieces) {
    width += piece.width + (last != nullptr && SpaceBetween(*last, piece.first()));
    last = &piece.last();
  }
  return width;
}

// A comment behind the last piece ends the line anyway.
bool Breaks(llvm::ArrayRef<Piece> pieces) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].breaks) return true;
    if (i + 1 < pieces.size() && !pieces[i].last().after.empty()) return true;
  }
  return false;
}

// The kind of break that parts of these are made by: what binds looser than others is torn first.
Piece::Break LoosestBreak(llvm::ArrayRef<Piece> pieces) {
  const auto has = [&](Piece::Break kind) {
    return llvm::any_of(pieces.drop_front(),
                        [&](const Piece& piece) { return piece.break_before == kind; });
  };
  for (const Piece::Break kind : {Piece::kBehindOr, Piece::kBehindAnd}) {
    if (has(kind)) return kind;
  }
  return Piece::kBehindOperator;
}

bool MayBreak(const Piece& piece, Piece::Break loosest) {
  return piece.break_before != Piece::kNever && piece.break_before <= loosest;
}

bool IsBlock(const Piece& piece) { return piece.bracket != nullptr && piece.bracket->is_block; }

// Where a segment that is too long is broken: its widest bracket, or its size.
size_t WidestBracket(llvm::ArrayRef<Piece> pieces) {
  size_t widest = pieces.size();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.bracket == nullptr || IsBlock(piece) || piece.bracket->elements.empty()) continue;
    const bool more = widest == pieces.size() || piece.breaks > pieces[widest].breaks ||
                      (piece.breaks == pieces[widest].breaks && piece.width > pieces[widest].width);
    if (more) widest = i;
  }
  return widest;
}

}  // namespace

void Layout::Put(const Token& token, int continuation) {
  page_.Put(token, last_, continuation);
  last_ = &token;
}

void Layout::PutFile(const std::vector<Line>& lines, const Token& end) {
  PutStatements(lines, 0);
  page_.NewLine(0);
  page_.PutCommentsBefore(end, 0, false);
}

void Layout::PutStatements(const std::vector<Line>& lines, int indent) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const Token& first = lines[i].pieces[0].first();
    page_.NewLine(indent);
    page_.PutCommentsBefore(first, indent, false);
    if (first.blank_before && (i > 0 || !first.before.empty())) page_.BlankLine();
    PutStatement(lines[i], indent);
  }
}

void Layout::PutStatement(const Line& line, int indent) {
  const Pieces pieces = line.pieces;
  const int continuation = indent + (line.is_clauses ? kIndent : kContinuation);
  if (!Breaks(pieces) && Fits(pieces, 0)) return PutFlat(pieces, continuation);
  const Bracket* last = pieces.back().bracket.get();
  if (last != nullptr && last->open->opens_properties) {
    PutPieces(pieces.drop_back(), continuation, 2);
    return PutBroken(*last, continuation);
  }
  size_t begin = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!IsBlock(pieces[i])) continue;
    PutPieces(pieces.slice(begin, i - begin), continuation, 2);
    PutBlock(*pieces[i].bracket, indent, continuation);
    begin = i + 1;
  }
  PutPieces(pieces.drop_front(begin), continuation, 0);
}

void Layout::PutBlock(const Bracket& block, int indent, int continuation) {
  Put(*block.open, continuation);
  if (block.elements.empty() && block.close->before.empty() && block.open->after.empty()) {
    return Put(*block.close, continuation);
  }
  PutStatements(block.elements, indent + kIndent);
  page_.NewLine(indent + kIndent);
  page_.PutCommentsBefore(*block.close, indent + kIndent, true);
  page_.NewLine(indent);
  Put(*block.close, indent);
}

bool Layout::Fits(Pieces pieces, int tail) const {
  return page_.column() + FlatWidth(pieces) + tail <= kMaxColumns;
}

bool Layout::HeadFits(Pieces segment) const {
  const size_t widest = WidestBracket(segment);
  return widest < segment.size() && Fits(segment.take_front(widest), 2);
}

void Layout::PutPieces(Pieces pieces, int continuation, int tail) {
  if (!Breaks(pieces) && Fits(pieces, tail)) return PutFlat(pieces, continuation);
  const Piece::Break loosest = LoosestBreak(pieces);
  bool after_torn = false;  // nothing follows on the last line of what was broken again
  for (size_t begin = 0, end; begin < pieces.size(); begin = end) {
    for (end = begin + 1; end < pieces.size() && !MayBreak(pieces[end], loosest);) ++end;
    const Pieces segment = pieces.slice(begin, end - begin);
    const int behind = end == pieces.size() ? tail : 0;
    // The cost of an op stands in a line of its own, unless all of the op is one line.
    const bool own_line = segment[0].first().Is("cost") && segment[0].break_before != Piece::kNever;
    const bool stays =
        begin == 0 ||
        (Fits(segment, behind + 1) && !Breaks(segment) && !own_line && !after_torn);
    if (!stays) {
      const bool fits_below =
          !Breaks(segment) && continuation + FlatWidth(segment) + behind <= kMaxColumns;
      // What is broken again, behind an operator that binds tighter, is so in lines of its own.
      const bool torn = loosest != Piece::kBehindOperator && segment[0].break_before == loosest;
      if (fits_below || own_line || torn || !HeadFits(segment)) page_.NewLine(continuation);
    }
    if (loosest == Piece::kBehindOperator) {
      PutSegment(segment, continuation, behind);
    } else {
      after_torn = begin > 0 && (Breaks(segment) || !Fits(segment, behind));
      PutPieces(segment, continuation, behind);
    }
  }
}

void Layout::PutSegment(Pieces segment, int continuation, int tail) {
  const size_t widest = WidestBracket(segment);
  if (widest == segment.size() || (Fits(segment, tail + 1) && !Breaks(segment))) {
    return PutFlat(segment, continuation);
  }
  if (widest > 0) PutSegment(segment.take_front(widest), continuation, 1);
  PutBroken(*segment[widest].bracket, continuation);
  const Pieces rest = segment.drop_front(widest + 1);
  if (!rest.empty()) PutSegment(rest, continuation, tail);
}

// Elements of ( ) stand below each other; of [ ], as many on a line as fit.
void Layout::PutBroken(const Bracket& bracket, int continuation) {
  const int base = page_.indent();
  const int inner = base + kIndent;
  Put(*bracket.open, continuation);
  for (size_t i = 0; i < bracket.elements.size(); ++i) {
    const Pieces element = bracket.elements[i].pieces;
    const bool joins = i > 0 && bracket.open->Is("[") && !Breaks(element) && Fits(element, 1);
    if (!joins) page_.NewLine(inner);
    page_.PutCommentsBefore(element[0].first(), inner, false);
    PutPieces(element, inner + kContinuation, 0);
  }
  page_.NewLine(inner);
  page_.PutCommentsBefore(*bracket.close, inner, true);
  page_.NewLine(base);
  Put(*bracket.close, base);
}

void Layout::PutFlat(Pieces pieces, int continuation) {
  for (const Piece& piece : pieces) {
    if (piece.token != nullptr) {
      Put(*piece.token, continuation);
      continue;
    }
    Put(*piece.bracket->open, continuation);
    for (const Line& element : piece.bracket->elements) PutFlat(element.pieces, continuation);
    Put(*piece.bracket->close, continuation);
  }
}

}  // namespace cgraph::format

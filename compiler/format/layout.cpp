// Layout. Text that fits on a line stands on one line. A longer line is broken where
// LineItem::break_before says, as late as possible: behind an `or` where there is one, else behind
// an `and`, else behind any operator. A part that does not fit on a line of its own is broken in
// the same way, and then inside its widest brackets, whose elements stand below each other.
#include "compiler/format/layout.h"

#include "llvm/ADT/STLExtras.h"

namespace cgraph::format {
namespace {

constexpr int kIndent = 2;
constexpr int kContinuation = 4;

int FlatWidth(llvm::ArrayRef<LineItem> items) {
  int width = 0;
  const Token* last = nullptr;
  for (const LineItem& item : items) {
    width += item.width + (last != nullptr && SpaceBetween(*last, item.first()));
    last = &item.last();
  }
  return width;
}

// A comment behind the last piece ends the line anyway.
bool Breaks(llvm::ArrayRef<LineItem> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].breaks) return true;
    if (i + 1 < items.size() && !items[i].last().after.empty()) return true;
  }
  return false;
}

// Returns the kind of break that separates the parts of these items: the loosest operators are
// broken first.
LineItem::Break LoosestBreak(llvm::ArrayRef<LineItem> items) {
  const auto has = [&](LineItem::Break kind) {
    return llvm::any_of(items.drop_front(),
                        [&](const LineItem& item) { return item.break_before == kind; });
  };
  for (const LineItem::Break kind : {LineItem::kBehindOr, LineItem::kBehindAnd}) {
    if (has(kind)) return kind;
  }
  return LineItem::kBehindOperator;
}

bool MayBreak(const LineItem& item, LineItem::Break loosest) {
  return item.break_before != LineItem::kNever && item.break_before <= loosest;
}

bool IsBlock(const LineItem& item) { return item.bracket != nullptr && item.bracket->is_block; }

// Returns where a segment that is too long is broken: its widest bracket, or its size.
size_t WidestBracket(llvm::ArrayRef<LineItem> items) {
  size_t widest = items.size();
  for (size_t i = 0; i < items.size(); ++i) {
    const LineItem& item = items[i];
    if (item.bracket == nullptr || IsBlock(item) || item.bracket->elements.empty()) continue;
    const bool more = widest == items.size() || item.breaks > items[widest].breaks ||
                      (item.breaks == items[widest].breaks && item.width > items[widest].width);
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
    const Token& first = lines[i].items[0].first();
    page_.NewLine(indent);
    page_.PutCommentsBefore(first, indent, false);
    if (first.blank_before && (i > 0 || !first.before.empty())) page_.BlankLine();
    PutStatement(lines[i], indent);
  }
}

void Layout::PutStatement(const Line& line, int indent) {
  const Items items = line.items;
  const int continuation = indent + (line.is_clauses ? kIndent : kContinuation);
  if (!Breaks(items) && Fits(items, 0)) return PutFlat(items, continuation);
  const Bracket* last = items.back().bracket.get();
  if (last != nullptr && last->open->opens_properties) {
    PutPieces(items.drop_back(), continuation, 2);
    return PutBroken(*last, continuation);
  }
  size_t begin = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!IsBlock(items[i])) continue;
    PutPieces(items.slice(begin, i - begin), continuation, 2);
    PutBlock(*items[i].bracket, line.is_clauses ? continuation : indent, continuation);
    begin = i + 1;
  }
  PutPieces(items.drop_front(begin), continuation, 0);
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

bool Layout::Fits(Items items, int tail) const {
  return page_.column() + FlatWidth(items) + tail <= kMaxColumns;
}

bool Layout::HeadFits(Items segment) const {
  const size_t widest = WidestBracket(segment);
  return widest < segment.size() && Fits(segment.take_front(widest), 2);
}

void Layout::PutPieces(Items items, int continuation, int tail) {
  if (items.empty()) return;  // between two blocks, or behind the last, beyond the last column too
  if (!Breaks(items) && Fits(items, tail)) return PutFlat(items, continuation);
  const LineItem::Break loosest = LoosestBreak(items);
  bool after_torn = false;  // nothing follows on the last line of what was broken again
  for (size_t begin = 0, end; begin < items.size(); begin = end) {
    for (end = begin + 1; end < items.size() && !MayBreak(items[end], loosest);) ++end;
    const Items segment = items.slice(begin, end - begin);
    const int behind = end == items.size() ? tail : 0;
    // The cost of an op and its gradient stand on lines of their own, unless all of the op is one
    // line.
    const Token& first = segment[0].first();
    const bool own_line =
        (first.Is("cost") || first.Is("grad")) && segment[0].break_before != LineItem::kNever;
    const bool stays =
        begin == 0 ||
        (Fits(segment, behind + 1) && !Breaks(segment) && !own_line && !after_torn);
    if (!stays) {
      const bool fits_below =
          !Breaks(segment) && continuation + FlatWidth(segment) + behind <= kMaxColumns;
      // A part that is broken again, behind an operator that binds tighter, stands on lines of its
      // own.
      const bool torn = loosest != LineItem::kBehindOperator && segment[0].break_before == loosest;
      if (fits_below || own_line || torn || !HeadFits(segment)) page_.NewLine(continuation);
    }
    if (loosest == LineItem::kBehindOperator) {
      PutSegment(segment, continuation, behind);
    } else {
      after_torn = begin > 0 && (Breaks(segment) || !Fits(segment, behind));
      PutPieces(segment, continuation, behind);
    }
  }
}

void Layout::PutSegment(Items segment, int continuation, int tail) {
  const size_t widest = WidestBracket(segment);
  if (widest == segment.size() || (Fits(segment, tail + 1) && !Breaks(segment))) {
    return PutFlat(segment, continuation);
  }
  if (widest > 0) PutSegment(segment.take_front(widest), continuation, 1);
  PutBroken(*segment[widest].bracket, continuation);
  const Items rest = segment.drop_front(widest + 1);
  if (!rest.empty()) PutSegment(rest, continuation, tail);
}

// Puts a bracket on several lines: elements of ( ) stand below each other; of [ ], as many on a
// line as fit.
void Layout::PutBroken(const Bracket& bracket, int continuation) {
  const int base = page_.indent();
  const int inner = base + kIndent;
  Put(*bracket.open, continuation);
  for (size_t i = 0; i < bracket.elements.size(); ++i) {
    const Items element = bracket.elements[i].items;
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

void Layout::PutFlat(Items items, int continuation) {
  for (const LineItem& item : items) {
    if (item.token != nullptr) {
      Put(*item.token, continuation);
      continue;
    }
    Put(*item.bracket->open, continuation);
    for (const Line& element : item.bracket->elements) PutFlat(element.items, continuation);
    Put(*item.bracket->close, continuation);
  }
}

}  // namespace cgraph::format

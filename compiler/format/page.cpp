#include "compiler/format/page.h"

#include <algorithm>

#include "compiler/format/tree.h"

namespace cgraph::format {
namespace {

int Columns(llvm::StringRef text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

}  // namespace

void Page::NewLine(int indent) {
  indent_ = indent;
  at_begin_ = true;
  must_end_ = false;
  column_ = indent;
}

void Page::Append(llvm::StringRef text) {
  if (at_begin_) {
    if (blank_ && !opened_) lines_.push_back({});
    blank_ = opened_ = false;
    lines_.push_back({std::string(static_cast<size_t>(indent_), ' '), "", indent_});
    column_ = indent_;
    at_begin_ = false;
  }
  Row& row = lines_.back();
  row.code += text;
  column_ += Columns(text);
  row.width = column_;
}

void Page::PutCommentsBefore(const Token& token, int indent, bool only_lines) {
  if (commented_ != &token) comments_put_ = 0;
  commented_ = &token;
  size_t end = token.before.size();
  while (only_lines && end > comments_put_ && !token.before[end - 1].ends_line) --end;
  for (; comments_put_ < end; ++comments_put_) {
    const Comment& comment = token.before[comments_put_];
    if (must_end_ || (comment.ends_line && !at_begin_)) NewLine(indent);
    if (comment.blank_before && at_begin_) BlankLine();
    if (!at_begin_ && !llvm::StringRef(" ([").contains(lines_.back().code.back())) Append(" ");
    Append(comment.text);
    if (!comment.ends_line) Append(" ");
    must_end_ = comment.ends_line;
  }
  if (must_end_) NewLine(indent);
}

void Page::Put(const Token& token, const Token* left, int continuation) {
  if (must_end_) NewLine(continuation);
  PutCommentsBefore(token, continuation, false);
  const bool closes = token.Is(",") || token.Is(")") || token.Is("]") || token.Is(";");
  if (closes && !at_begin_ && lines_.back().code.back() == ' ') {  // behind a comment
    lines_.back().code.pop_back();
    lines_.back().width = --column_;
  }
  const bool spaced = at_begin_ || lines_.back().code.back() == ' ';
  if (!spaced && left != nullptr && SpaceBetween(*left, token)) Append(" ");
  Append(token.text);
  opened_ = token.Is("{") || token.Is("(") || token.Is("[");
  for (const Comment& comment : token.after) {
    lines_.back().comment = comment.text;
    must_end_ = true;
  }
}

void Page::AlignComments(size_t begin, size_t end) {
  int widest = 0, longest = 0;
  for (size_t i = begin; i < end; ++i) {
    widest = std::max(widest, lines_[i].width);
    longest = std::max(longest, Columns(lines_[i].comment));
  }
  const bool fits = widest + 2 + longest <= kMaxColumns;
  for (size_t i = begin; i < end; ++i) {
    const int spaces = fits ? widest - lines_[i].width + 2 : 2;
    lines_[i].code.append(static_cast<size_t>(spaces), ' ').append(lines_[i].comment);
  }
}

std::string Page::Text() {
  for (size_t i = 0; i < lines_.size(); ++i) {
    const size_t begin = i;
    while (i < lines_.size() && !lines_[i].comment.empty()) ++i;
    AlignComments(begin, i);
  }
  std::string text;
  for (const Row& row : lines_) text += llvm::StringRef(row.code).rtrim(' ').str() + "\n";
  return text;
}

}  // namespace cgraph::format

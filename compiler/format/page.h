// The page that is written: lines of code with the comments that end them.
#ifndef CGRAPH_COMPILER_FORMAT_PAGE_H_
#define CGRAPH_COMPILER_FORMAT_PAGE_H_

#include <string>
#include <vector>

#include "compiler/format/tokens.h"

namespace cgraph::format {

inline constexpr int kMaxColumns = 100;

class Page {
 public:
  // Begins a line, unless one was just begun; the next text stands `indent` columns in.
  void NewLine(int indent);
  // Puts a blank line before the line that begins; not within a line, where a comment stands
  // already.
  void BlankLine() {
    if (at_begin_) blank_ = !lines_.empty();
  }
  // The token with its comments; `left` is what stands before it, or null.
  void Put(const Token& token, const Token* left, int continuation);
  // Puts the comments before a token, or only those that stand in lines of their own.
  void PutCommentsBefore(const Token& token, int indent, bool only_lines);

  int column() const { return column_; }
  int indent() const { return indent_; }  // of the line that is being written
  // Lines whose comments follow each other have them aligned.
  std::string Text();

 private:
  struct Row {
    std::string code, comment;
    int width = 0;  // of the code, in columns
  };
  void Append(llvm::StringRef text);
  void AlignComments(size_t begin, size_t end);

  std::vector<Row> lines_;
  int column_ = 0, indent_ = 0;
  bool at_begin_ = true;    // of a line
  bool must_end_ = false;   // a comment ended the line
  bool blank_ = false;      // to come before the next line
  bool opened_ = false;     // the last token is an open bracket, behind which no blank line stands
  // The token whose comments were put last, and how many of those before it were.
  const Token* commented_ = nullptr;
  size_t comments_put_ = 0;
};

}  // namespace cgraph::format

#endif  // CGRAPH_COMPILER_FORMAT_PAGE_H_

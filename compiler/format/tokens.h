// Tokens: the words of a text with what the layout needs to know of each: its comments, and its
// role, which comes from Syntax (a `<` that opens a type argument, an `if` that is an expression,
// the begin of a statement).
#ifndef CGRAPH_COMPILER_FORMAT_TOKENS_H_
#define CGRAPH_COMPILER_FORMAT_TOKENS_H_

#include <string>
#include <vector>

#include "compiler/syntax/syntax.h"
#include "compiler/syntax/words.h"
#include "llvm/ADT/StringRef.h"

namespace cgraph::format {

struct Comment {
  std::string text;           // without spaces at the ends of its lines
  bool ends_line = false;     // nothing else can or shall stand behind it
  bool blank_before = false;  // in the source, a blank line stands above
};

struct Token {
  llvm::StringRef text;
  syntax::WordKind kind = syntax::WordKind::kEnd;
  std::vector<Comment> before;   // in lines of their own, or in the line that the token is in
  std::vector<Comment> after;    // at most one, which ends the line
  bool first_on_line = false;
  bool blank_before = false;
  bool begins_statement = false;  // or a member, or an item
  bool is_if_expr = false;
  bool opens_properties = false;  // a { that stands for no block
  bool opens_indices = false;     // a [ behind a device, to which it does not belong
  bool opens_rule = false;        // the bracket of a rule, behind the names of results
  bool is_sign = false;                            // - and * before an operand
  bool opens_types = false, closes_types = false;  // < and > as brackets

  bool Is(llvm::StringRef spelling) const { return text == spelling; }
  // Returns whether the token ends an operand: then an operator follows, or something new begins.
  bool EndsOperand() const;
};

// `;` between statements and
// superfluous commas are left out. The last token is the text's end.
std::vector<Token> MakeTokens(const syntax::File& file, const std::string& text,
                              const std::vector<syntax::Word>& words);

// Returns the comments that stand in `gap`, which holds nothing but them and spaces.
std::vector<std::string> CommentsIn(llvm::StringRef gap);

}  // namespace cgraph::format

#endif  // CGRAPH_COMPILER_FORMAT_TOKENS_H_

#include "compiler/format/format.h"

#include "compiler/base/check.h"
#include "compiler/format/layout.h"
#include "compiler/format/tokens.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/syntax.h"
#include "compiler/syntax/words.h"

namespace cgraph {
namespace {

using syntax::Word;

std::string SyntaxText(const syntax::File& file) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Print(file, out);
  return out.str();
}

std::vector<std::string> Comments(llvm::StringRef text, const std::vector<Word>& words) {
  std::vector<std::string> comments;
  uint32_t end = 0;
  for (const Word& word : words) {
    for (std::string& comment : format::CommentsIn(text.slice(end, word.begin))) {
      comments.push_back(std::move(comment));
    }
    end = word.end;
  }
  return comments;
}

// Checks that the layout says the same as the text: anything else would be lost work, and a bug of
// ours.
void CheckSame(const syntax::File& file, const std::vector<Word>& words,
               const std::string& laid_out, const Diagnostics& diagnostics) {
  Sources sources;
  Diagnostics found(sources);
  const Source& original = diagnostics.sources()[file.source];
  const SourceId source = sources.Add(original.path, laid_out);
  const syntax::File again = Parse(source, found);
  const bool parses = !found.has_errors();
  CGRAPH_CHECK(parses, "format", original.path + " would not parse any more");
  CGRAPH_CHECK(SyntaxText(file) == SyntaxText(again), "format",
               original.path + " would mean something else");
  CGRAPH_CHECK(
      Comments(original.text, words) == Comments(laid_out, syntax::CutWords(source, found)),
      "format", original.path + " would lose a comment");
}

}  // namespace

std::string Format(const syntax::File& file, Diagnostics& diagnostics) {
  const std::string& text = diagnostics.sources()[file.source].text;
  const std::vector<Word> words = syntax::CutWords(file.source, diagnostics);
  const std::vector<format::Token> tokens = format::MakeTokens(file, text, words);
  format::Layout layout;
  layout.PutFile(format::MakeTree(tokens), tokens.back());
  std::string laid_out = layout.Text();
  CheckSame(file, words, laid_out, diagnostics);
  return laid_out;
}

}  // namespace cgraph

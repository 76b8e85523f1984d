// A text cut into words and comments, for what lays texts out: Syntax says what was written, words
// how. Only for a text that has been parsed without errors.
#ifndef CGRAPH_COMPILER_SYNTAX_WORDS_H_
#define CGRAPH_COMPILER_SYNTAX_WORDS_H_

#include <cstdint>
#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"

namespace cgraph::syntax {

enum class WordKind : uint8_t { kName, kKeyword, kLiteral, kSign, kEnd };

// Bytes [begin, end) of the source. The last word of a text is its end, which is empty.
struct Word {
  WordKind kind;
  uint32_t begin, end;
};

// Between two words are spaces and comments only.
std::vector<Word> CutWords(SourceId source, Diagnostics& diagnostics);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_WORDS_H_

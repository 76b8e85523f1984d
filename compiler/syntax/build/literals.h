// What the text of a literal stands for.
#ifndef CGRAPH_COMPILER_SYNTAX_BUILD_LITERALS_H_
#define CGRAPH_COMPILER_SYNTAX_BUILD_LITERALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/syntax/errors/errors.h"

namespace cgraph::syntax {

// 42, 32_000, 0xff. Nothing when it needs more than 64 bits.
std::optional<uint64_t> DecodeInt(llvm::StringRef text);
// 1.5, 1e-3, with separators. Nothing when it is not finite.
std::optional<double> DecodeFloat(llvm::StringRef text);

// "fc{i}.weight": texts[0] the expression at holes[0] texts[1] ...
struct DecodedString {
  struct Hole {
    uint32_t begin, end;  // the bytes of the source between the braces
  };
  std::vector<std::string> texts;
  std::vector<Hole> holes;
};
// `text` is the literal with its quotes, which begins at byte `begin`. Reports what is wrong in it.
DecodedString DecodeString(llvm::StringRef text, uint32_t begin, SyntaxErrors& errors);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_BUILD_LITERALS_H_

// Format: a source in the one layout that `cgc fmt` gives every program.
//
// The layout follows from the words alone: where lines were broken does not matter, only blank
// lines (one of several stays) and where comments stand. All comments are kept. Lines have at most
// 100 columns where that is possible; an argument list that does not fit is wrapped.
//
//   a block of one simple statement stands on one line, when that fits; others are broken
//   `;` between statements and a comma after the last of several arguments go
//   comments at the ends of lines that follow each other are aligned
#ifndef CGRAPH_COMPILER_FORMAT_FORMAT_H_
#define CGRAPH_COMPILER_FORMAT_FORMAT_H_

#include <string>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/syntax/syntax.h"

namespace cgraph {

// `file` was parsed without errors. That the result means the same is checked: it is parsed, and
// the two Syntaxes and the comments are compared.
std::string Format(const syntax::File& file, Diagnostics& diagnostics);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_FORMAT_FORMAT_H_

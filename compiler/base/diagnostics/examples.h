// An example for each diagnostic that a short program can show.
#ifndef CGRAPH_COMPILER_BASE_DIAGNOSTICS_EXAMPLES_H_
#define CGRAPH_COMPILER_BASE_DIAGNOSTICS_EXAMPLES_H_

#include "compiler/base/diagnostics/diagnostics.h"

namespace cgraph {

// A program that gets the diagnostic and no other; empty where none can be shown.
llvm::StringRef CodeExample(Code code);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_DIAGNOSTICS_EXAMPLES_H_

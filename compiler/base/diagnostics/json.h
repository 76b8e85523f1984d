// Diagnostics for programs.
#ifndef CGRAPH_COMPILER_BASE_DIAGNOSTICS_JSON_H_
#define CGRAPH_COMPILER_BASE_DIAGNOSTICS_JSON_H_

#include "compiler/base/diagnostics/diagnostics.h"
#include "llvm/Support/JSON.h"

namespace cgraph {

// Into an array of `json`, by source and position: objects of code, severity, message, file, line,
// column, end_line, end_column, notes and fixes.
void WriteJson(const Diagnostics& diagnostics, llvm::json::OStream& json);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_DIAGNOSTICS_JSON_H_

// Where the diagnostics of `cgc compile` and `cgc check` go: to standard error, or with --json to
// standard output, those of all files as one array.
#ifndef CGRAPH_COMPILER_COMMAND_DIAGNOSED_H_
#define CGRAPH_COMPILER_COMMAND_DIAGNOSED_H_

#include "compiler/command/flags/output_flags.h"
#include "compiler/driver/compile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "runtime/status/status.h"

namespace llvm::json {
class OStream;
}

namespace cgraph::command {

// Hands `compile` the array of --json, or null.
void Diagnosed(const OutputFlags& output, llvm::function_ref<void(llvm::json::OStream*)> compile);

// kInvalid when --json and --emit would both print to standard output, which can hold one of them.
Status CheckEmit(const OutputFlags& output, const CompileOptions& options);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_DIAGNOSED_H_

#include "compiler/command/diagnosed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph::command {

void Diagnosed(const OutputFlags& output, llvm::function_ref<void(llvm::json::OStream*)> compile) {
  if (!output.json) return compile(nullptr);
  llvm::json::OStream json(llvm::outs(), 1);
  json.array([&] { compile(&json); });
  llvm::outs() << "\n";
}

Status CheckEmit(const OutputFlags& output, const CompileOptions& options) {
  const bool prints = llvm::any_of(options.emit, [](const auto& emit) {
    return emit.second.empty() || emit.second == "-";
  });
  if (!output.json || !prints) return Status::Ok();
  return {StatusCode::kInvalid,
          "--json and --emit both print to standard output; give --emit a file: PHASE=FILE"};
}

}  // namespace cgraph::command

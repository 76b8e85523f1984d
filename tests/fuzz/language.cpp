// A program's text through every phase: whatever it is, the compiler answers with diagnostics or
// with a plan that proves. (A plan that does not prove is a failed CHECK inside Compile.) Every
// phase's printer runs as well.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/driver/compile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cgraph;
  const int file = memfd_create("program", 0);
  if (write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  Sources sources;
  Diagnostics diagnostics(sources);
  CompileOptions options;
  // The step limit is low, since a fuzzer finds the loop that takes longest, and some thousand
  // turns show as much.
  options.limits = {.steps = 5'000, .list_elements = 5'000};
  options.path = "/proc/self/fd/" + std::to_string(file);
  // The order of a pipeline is of one graph, and ends the compilation of several.
  for (const EmitKind kind : {EmitKind::kSyntax, EmitKind::kProgram, EmitKind::kGraph,
                              EmitKind::kTransports, EmitKind::kSchedule, EmitKind::kPlan}) {
    options.emit.push_back({kind, "/dev/null"});
  }
  Compile(options, sources, diagnostics);
  close(file);
  diagnostics.Print(llvm::nulls(), /*color=*/true, /*max_errors=*/0);
  llvm::json::OStream json(llvm::nulls());
  json.array([&] { WriteJson(diagnostics, json); });
  return 0;
}

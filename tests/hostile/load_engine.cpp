// Loads a plan through the C++ interface, executes its first graph once and says whether that went
// well: what resources_test.py drives with calls that fail.
//
//   load_engine PLAN
//
// Exit code: that of cgrun for the Status that came, or 4 for an exception: none may leave the
// engine. A load that failed is tried again, as a program would.
#include <cstdio>
#include <exception>
#include <vector>

#include "runtime/base/exit_code.h"
#include "runtime/engine/engine.h"

namespace {

using cgraph::Engine;
using cgraph::Status;

Status LoadAndExecute(const char* path) {
  auto engine = Engine::LoadFile(path);
  if (!engine.ok()) return engine.status();
  std::vector<cgraph::Input> inputs;
  std::vector<std::vector<int64_t>> dims;
  std::vector<std::vector<uint8_t>> zeros;
  const cgraph::plan::Graph& graph = *(*engine)->plan().graphs[0];
  dims.reserve(graph.inputs.size());
  for (const auto& port : graph.inputs) {
    const cgraph::plan::Value& type = graph.values[port->value];
    auto& extents = dims.emplace_back();
    for (int i = 0; i < type.rank(); ++i) {
      extents.push_back(graph.dims[type.first_dim() + i].extent());
    }
    zeros.emplace_back(size_t{1} << 16);
    inputs.push_back({port->name, zeros.back().data(), type.dtype(), extents});
  }
  auto execution = (*engine)->Execute(0, inputs);
  if (!execution.ok()) return execution.status();
  auto outputs = execution->Get();
  return outputs.ok() ? Status::Ok() : outputs.status();
}

}  // namespace

int main(int, char** argv) {
  constexpr int kException = 4;
  try {
    Status status = LoadAndExecute(argv[1]);
    if (status.ok()) return 0;
    std::fprintf(stderr, "%s\n", status.message().c_str());
    (void)LoadAndExecute(argv[1]);
    return cgraph::ExitCodeOf(status.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "an exception has left the engine: %s\n", error.what());
    return kException;
  }
}

// The time of a call from C++, for the comparison that bench/python/call makes: for each line of
// standard input it executes a graph so often, and prints how many nanoseconds each call took.
//
//   call_bench PLAN GRAPH CALLS
//
// Inputs are ones of the type of the ports, copied by the engine where they are small.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/plan/kinds.h"

namespace cgraph {
namespace {

struct Given {
  std::vector<Input> inputs;
  std::vector<std::vector<int64_t>> dims;
  std::vector<std::vector<float>> data;
};

Given Ones(const plan::Graph& graph) {
  Given given;
  const size_t ports = graph.inputs.size();
  given.dims.resize(ports);
  given.data.resize(ports);
  for (size_t p = 0; p < ports; ++p) {
    const plan::Value& value = graph.values[graph.inputs[p]->value];
    size_t elements = 1;
    for (uint32_t d = 0; d < value.rank(); ++d) {
      given.dims[p].push_back(graph.dims[value.first_dim() + d].extent());
      elements *= given.dims[p].back();
    }
    given.data[p].assign(elements, 1.0f);
    given.inputs.push_back({.name = graph.inputs[p]->name,
                            .data = given.data[p].data(),
                            .dtype = value.dtype(),
                            .dims = given.dims[p],
                            .lent = true});
  }
  return given;
}

int Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return EXIT_FAILURE;
}

int Main(const char* file, const std::string& name, int calls) {
  auto engine = Engine::LoadFile(file, {.workers = 1});
  if (!engine.ok()) return Fail(engine.status());
  const auto& graphs = (*engine)->plan().graphs;
  uint32_t index = 0;
  while (index < graphs.size() && graphs[index]->name != name) ++index;
  if (index == graphs.size()) return EXIT_FAILURE;
  const Given given = Ones(*graphs[index]);
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) {
      auto execution = (*engine)->Execute(index, given.inputs);
      if (!execution.ok()) return Fail(execution.status());
      auto outputs = execution->Get();
      if (!outputs.ok()) return Fail(outputs.status());
    }
    const auto took = std::chrono::steady_clock::now() - start;
    std::printf("%.1f\n", std::chrono::duration<double, std::nano>(took).count() / calls);
    std::fflush(stdout);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace cgraph

int main(int argc, char** argv) {
  if (argc != 4) return EXIT_FAILURE;
  return cgraph::Main(argv[1], argv[2], std::atoi(argv[3]));
}

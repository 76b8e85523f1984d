#include "tests/support/run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "runtime/cluster/launcher.h"

namespace cgraph::testing {
namespace {

cluster::Peers* peers = nullptr;  // of all engines

// Returns a program's text with device i, of the first node, on node n - 1 - i % n of `n` nodes, so
// that the first device lies elsewhere than the caller. What asks for a transport within a machine
// asks for mpi, and nothing for an order of calls (`after`): there is none between machines.
std::string Spread(const std::string& text, uint32_t nodes) {
  static const std::regex device(R"(\bon (cpu|gpu)\[([^\[\]]+)\])");
  static const std::regex transport(R"((\bvia|\btransport \w+ =) (shm|nccl|host|local)\b)");
  static const std::regex order(R"( after (\w+|\[[^\]]*\]))");
  const std::string on = fmt::format("on node[{} - ($2) % {}].$1[$2]", nodes - 1, nodes);
  std::string spread = std::regex_replace(text, device, on);
  spread = std::regex_replace(spread, transport, "$1 mpi");
  return std::regex_replace(spread, order, "");
}

// Writes a program with its devices on several nodes; returns where.
std::filesystem::path WriteSpread(const std::string& path, uint32_t nodes) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::filesystem::path written =
      std::filesystem::temp_directory_path() /
      fmt::format("spread_{}_{}", getpid(), std::filesystem::path(path).filename().string());
  std::ofstream(written) << Spread(text, nodes);
  return written;
}

}  // namespace

void UsePeers(cluster::Peers* of_all) { peers = of_all; }

std::unique_ptr<plan::Plan> CompileFile(const std::string& path, CompileOptions options) {
  options.path = path;
  std::filesystem::path spread;
  if (const char* const nodes = std::getenv("CGRAPH_TEST_NODES")) {
    options.path = spread = WriteSpread(path, static_cast<uint32_t>(std::stoul(nodes)));
  }
  Sources sources;
  Diagnostics diagnostics(sources);
  Compilation done = Compile(options, sources, diagnostics);
  if (!spread.empty()) std::filesystem::remove(spread);
  if (!done.plan) {
    throw std::runtime_error(path + " does not compile:\n" + diagnostics.Text());
  }
  return std::move(done.plan);
}

EngineOptions OnProcesses(EngineOptions options) {
  if (peers != nullptr && !peers->messenger.claimed() && options.proved) {
    options.peers = peers;
    options.workers = 0;
    return options;
  }
  const char* const processes = std::getenv("CGRAPH_TEST_PROCESSES");
  if (processes == nullptr) return options;
  const std::string text = processes;
  options.processes = options.workers != 0 ? std::exchange(options.workers, 0)
                      : text == "device"   ? kProcessPerDevice
                                           : static_cast<uint32_t>(std::stoul(text));
  options.rank_program = std::getenv("CGRAPH_TEST_CGRUN");
  return options;
}

Runner::Runner(const std::string& path, CompileOptions compile, EngineOptions options) {
  options = OnProcesses(std::move(options));
  Result<std::unique_ptr<Engine>> loaded =
      Engine::Load(CompileFile(path, std::move(compile)), options);
  if (!loaded.ok()) throw std::runtime_error(loaded.status().message());
  engine_ = std::move(*loaded);
}

Result<Execution> Runner::Start(const std::string& graph, std::vector<int64_t> inputs,
                                WhenFull when_full) {
  const auto& graphs = engine_->plan().graphs;
  auto found = std::find_if(graphs.begin(), graphs.end(),
                            [&](const auto& candidate) { return candidate->name == graph; });
  if (found == graphs.end()) throw std::runtime_error("no graph " + graph);
  std::vector<Input> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given.push_back({(*found)->inputs.at(i)->name, &inputs[i], plan::DType::i64, {}});
  }
  return engine_->Execute(graph, given, when_full);
}

std::vector<int64_t> Runner::Run(const std::string& graph, std::vector<int64_t> inputs) {
  Result<Execution> execution = Start(graph, std::move(inputs));
  if (!execution.ok()) throw std::runtime_error(execution.status().message());
  Result<Outputs> outputs = execution->Get();
  if (!outputs.ok()) throw std::runtime_error(outputs.status().message());
  return Numbers(*outputs);
}

std::string Runner::Fail(const std::string& graph, std::vector<int64_t> inputs) {
  Result<Execution> execution = Start(graph, std::move(inputs));
  if (!execution.ok()) throw std::runtime_error(execution.status().message());
  Result<Outputs> outputs = execution->Get();
  return outputs.ok() ? "" : outputs.status().message();
}

std::vector<int64_t> Numbers(const Outputs& outputs) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t* data = outputs[i].as<int64_t>();
    numbers.insert(numbers.end(), data, data + outputs[i].elements());
  }
  return numbers;
}

}  // namespace cgraph::testing

#include "tests/support/run.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace cgraph::testing {

std::unique_ptr<plan::Plan> CompileFile(const std::string& path, CompileOptions options) {
  options.path = path;
  Sources sources;
  Diagnostics diagnostics(sources);
  Compilation done = Compile(options, sources, diagnostics);
  if (!done.plan) {
    throw std::runtime_error(path + " does not compile:\n" + diagnostics.Text());
  }
  return std::move(done.plan);
}

EngineOptions OnProcesses(EngineOptions options) {
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

#include "runtime/command/run/calls.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "runtime/command/run/clock.h"
#include "runtime/device/format_tensor.h"
#include "runtime/plan/loaded_plan.h"
#include "runtime/status/text.h"

namespace cgraph::command {
namespace {

double NumberAt(const device::Tensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case plan::DType::bool_:
    case plan::DType::u8: return tensor.as<uint8_t>()[i];
    case plan::DType::i8: return tensor.as<int8_t>()[i];
    case plan::DType::i32: return tensor.as<int32_t>()[i];
    case plan::DType::i64: return static_cast<double>(tensor.as<int64_t>()[i]);
    default: return device::ElementAsDouble(tensor, i);
  }
}

bool HasPort(const std::vector<std::unique_ptr<plan::Port>>& ports, const std::string& name) {
  return std::any_of(ports.begin(), ports.end(),
                     [&](const auto& port) { return port->name == name; });
}

// Returns the options as they are for one graph: the inputs that it has.
Options For(const plan::Graph& graph, const Options& options) {
  Options own = options;
  std::erase_if(own.inputs,
                [&](const NameAndValue& input) { return !HasPort(graph.inputs, input.first); });
  return own;
}

// Checks that each --input is one of some graph that is called, and that one call alone takes
// standard input.
Problem CheckInputs(const std::vector<const plan::Graph*>& calls, const Options& options) {
  for (const auto& [name, value] : options.inputs) {
    const auto takers = std::count_if(calls.begin(), calls.end(), [&](const plan::Graph* graph) {
      return HasPort(graph->inputs, name);
    });
    if (takers == 0) {
      std::vector<std::string> names;
      for (const plan::Graph* graph : calls) {
        for (const auto& port : graph->inputs) names.push_back(port->name);
      }
      return {kUsage, fmt::format("--input {}: no graph that is called has such an input{}", name,
                                  DidYouMeanHint(name, names))};
    }
    if (takers > 1 && value == "-") {
      return {kUsage, fmt::format("--input {}=-: {} calls take it, and standard input can be read "
                                  "once; name a file",
                                  name, takers)};
    }
  }
  return {};
}

Problem CheckUntil(const std::vector<const plan::Graph*>& graphs, const Options& options,
                   double& number) {
  const auto& [name, text] = options.until;
  if (name.empty()) return {};
  const bool is_bool = text == "true" || text == "false";
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (is_bool) {
    number = text == "true";
  } else if (error != std::errc() || read != end) {
    return {kUsage, fmt::format("--until {}=={}: expected a number", name, text)};
  }
  std::vector<std::string> names;
  for (const plan::Graph* graph : graphs) {
    for (const auto& port : graph->outputs) {
      names.push_back(port->name);
      names.push_back(graph->name + "." + port->name);
    }
  }
  if (std::count(names.begin(), names.end(), name) > 0) return {};
  return {kUsage, fmt::format("--until {}=={}: no graph that is called has such an output{}", name,
                              text, DidYouMeanHint(name, names))};
}

}  // namespace

Problem Calls::Prepare(const plan::Plan& plan, const Options& options, Calls& calls) {
  std::vector<const plan::Graph*> graphs;  // by call
  for (const GraphCall& wanted : options.calls) {
    const Result<uint32_t> found = plan::FindGraph(plan, wanted.graph);
    if (!found.ok()) return ProblemOf(found.status());
    graphs.push_back(plan.graphs[*found].get());
    Call& call = calls.calls_.emplace_back();
    call.graph = wanted.graph;
    call.index = *found;
    call.times = wanted.times;
    for (const auto& port : graphs.back()->inputs) call.ports.push_back(port->name);
  }
  if (Problem problem = CheckInputs(graphs, options); !problem.ok()) return problem;
  std::vector<std::string> fed;  // outputs of the calls before
  for (size_t i = 0; i < graphs.size(); ++i) {
    Problem problem = Inputs::Read(plan, *graphs[i], For(*graphs[i], options),
                                   calls.calls_[i].inputs, fed);
    if (!problem.ok()) return problem;
    for (const auto& port : graphs[i]->outputs) fed.push_back(port->name);
  }
  return CheckUntil(graphs, options, calls.until_);
}

void Calls::Run(Engine& engine, const Options& options, Outcome& outcome) {
  const Clock::time_point start = Clock::now();
  Status status;
  for (Call& call : calls_) {
    status = RunCall(engine, options, call, outcome);
    if (!status.ok()) break;
  }
  std::lock_guard lock(outcome.mutex);
  outcome.measurements.wall_ns = NsSince(start);
  outcome.status = std::move(status);
  outcome.over = true;
}

Status Calls::RunCall(Engine& engine, const Options& options, Call& call, Outcome& outcome) {
  for (uint64_t i = 0; i < call.times; ++i) {
    const Clock::time_point start = Clock::now();
    Result<Outputs> outputs = Execute(engine, call);
    const uint64_t latency = NsSince(start);
    std::lock_guard lock(outcome.mutex);
    ++outcome.measurements.executions;
    if (!outputs.ok()) {
      ++outcome.measurements.errors;
      return {outputs.status().code(),
              fmt::format("{}\nin execution {} of {} of {}", outputs.status().message(), i + 1,
                          call.times, call.graph)};
    }
    outcome.measurements.latencies.Add(latency);
    CGRAPH_RETURN_IF_ERROR(outcome.results.Add(*outputs, call.graph));
    for (size_t o = 0; o < outputs->size(); ++o) {
      given_.insert_or_assign(outputs->name(o), Given{*outputs, o});
    }
    if (!IsOver(options, call.graph, *outputs)) continue;
    if (!options.quiet && i + 1 < call.times) {
      Say(fmt::format("cgrun: note: {} ended after {} of {}, with {} == {}\n", call.graph, i + 1,
                      Counted(call.times, "execution"), options.until.first,
                      options.until.second));
    }
    break;
  }
  return Status::Ok();
}

Result<Outputs> Calls::Execute(Engine& engine, Call& call) {
  std::vector<Input> inputs;
  for (const Input& read : call.inputs.Slice(0)) {
    if (given_.count(std::string(read.name)) == 0) inputs.push_back(read);
  }
  for (const std::string& port : call.ports) {
    const auto given = given_.find(port);
    if (given == given_.end()) continue;
    const device::Tensor& tensor = given->second.outputs[given->second.position];
    inputs.push_back({port, tensor.data, tensor.dtype, {tensor.dims, tensor.rank}});
  }
  Result<Execution> execution = engine.Execute(call.index, inputs);
  if (!execution.ok()) return execution.status();
  return execution->Get();
}

bool Calls::IsOver(const Options& options, const std::string& graph,
                   const Outputs& outputs) const {
  std::string name = options.until.first;
  if (name.empty()) return false;
  if (name.starts_with(graph + ".")) name.erase(0, graph.size() + 1);
  const device::Tensor* tensor = outputs.Find(name);
  if (tensor == nullptr) return false;
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    if (NumberAt(*tensor, i) != until_) return false;
  }
  return true;
}

}  // namespace cgraph::command

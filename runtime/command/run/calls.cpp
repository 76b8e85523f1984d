#include "runtime/command/run/calls.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/plan/load.h"

namespace cgraph::command {

namespace {

bool HasPort(const std::vector<std::unique_ptr<plan::Port>>& ports, const std::string& name) {
  return std::any_of(ports.begin(), ports.end(),
                     [&](const auto& port) { return port->name == name; });
}

// Returns the --input that a graph gets for a port: the one that names the graph, else the one that
// does not; null for none.
const NameAndValue* InputOf(const plan::Graph& graph, const std::string& port,
                            const Options& options) {
  const NameAndValue* found = nullptr;
  for (const NameAndValue& input : options.inputs) {
    if (NameIn(graph, input.first) != port) continue;
    if (found == nullptr || found->first == port) found = &input;
  }
  return found;
}

// Checks that each --input is read: a call has such an input, and gets no other one for it, neither
// one that names its graph nor an output of a call before.
Problem CheckRead(const std::vector<const plan::Graph*>& calls, const Options& options) {
  std::set<std::string> fed, read;
  for (const plan::Graph* graph : calls) {
    for (const auto& port : graph->inputs) {
      const NameAndValue* const input = InputOf(*graph, port->name, options);
      if (input != nullptr && fed.count(port->name) == 0) read.insert(input->first);
    }
    for (const auto& port : graph->outputs) fed.insert(port->name);
  }
  for (const auto& [name, value] : options.inputs) {
    if (read.count(name) > 0) continue;
    return {kUsage, fmt::format("--input {}: no call reads it: each that has such an input gets an "
                                "output of that name of a call before, or an --input that names "
                                "its graph; leave it out",
                                name)};
  }
  return {};
}

// Checks that each --input is one of some graph that is called, and that one call alone takes
// standard input.
Problem CheckInputs(const std::vector<const plan::Graph*>& calls, const Options& options) {
  for (const auto& [name, value] : options.inputs) {
    const auto takers = std::count_if(calls.begin(), calls.end(), [&](const plan::Graph* graph) {
      return !NameIn(*graph, name).empty();
    });
    if (takers == 0) {
      return {kUsage, fmt::format("--input {}: no graph that is called has such an input{}", name,
                                  PortNames(calls, &plan::Graph::inputs, name))};
    }
    if (takers > 1 && value == "-") {
      return {kUsage, fmt::format("--input {}=-: {} calls take it, and standard input can be read "
                                  "once; name a file",
                                  name, takers)};
    }
  }
  return CheckRead(calls, options);
}

// Adds to what is wrong with an input of a graph that another graph takes, too, how the graph gets
// one of its own, where it has none.
Problem WithOwnInput(Problem problem, const plan::Graph& graph,
                     const std::vector<const plan::Graph*>& calls, const Options& options) {
  for (const auto& port : graph.inputs) {
    if (!problem.message.starts_with(fmt::format("input {}: ", port->name))) continue;
    const bool is_shared = std::any_of(calls.begin(), calls.end(), [&](const plan::Graph* other) {
      return other != &graph && HasPort(other->inputs, port->name);
    });
    const NameAndValue* const input = InputOf(graph, port->name, options);
    if (!is_shared || input == nullptr || input->first != port->name) continue;
    problem.message += fmt::format("; --input {0}.{1}=... is of {0} alone", graph.name, port->name);
    break;
  }
  return problem;
}

}  // namespace

std::string NameIn(const plan::Graph& graph, const std::string& name) {
  if (HasPort(graph.inputs, name)) return name;
  if (!name.starts_with(graph.name + ".")) return "";
  const std::string own = name.substr(graph.name.size() + 1);
  return HasPort(graph.inputs, own) ? own : "";
}

Options OptionsOf(const plan::Graph& graph, const Options& options) {
  Options own = options;
  own.inputs.clear();
  own.batch.clear();
  for (const auto& port : graph.inputs) {
    const NameAndValue* const input = InputOf(graph, port->name, options);
    if (input != nullptr) own.inputs.emplace_back(port->name, input->second);
  }
  for (const std::string& name : options.batch) {
    const std::string in_graph = NameIn(graph, name);
    if (!in_graph.empty()) own.batch.push_back(in_graph);
  }
  return own;
}

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
    Problem problem =
        Inputs::Read(plan, *graphs[i], OptionsOf(*graphs[i], options), calls.calls_[i].inputs, fed);
    if (!problem.ok()) return WithOwnInput(std::move(problem), *graphs[i], graphs, options);
    for (const auto& port : graphs[i]->outputs) fed.push_back(port->name);
  }
  return Until::Read(graphs, options, calls.until_);
}

void Calls::Run(Engine& engine, const Options& options, Outcome& outcome) {
  const Clock::time_point start = Clock::now();
  for (const Call& call : calls_) outcome.measurements.wanted += call.times;
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
    {
      std::lock_guard lock(outcome.mutex);
      ++outcome.measurements.begun;
    }
    Result<Outputs> outputs = Execute(engine, call);
    const uint64_t latency = NsSince(start);
    std::lock_guard lock(outcome.mutex);
    const bool over = outputs.ok() || outputs.status().code() == StatusCode::kFailed;
    if (over) ++outcome.measurements.executions;
    if (!outputs.ok()) {
      if (over) ++outcome.measurements.errors;
      return {outputs.status().code(),
              fmt::format("{}\nin execution {} of {} of {}", outputs.status().message(), i + 1,
                          call.times, call.graph)};
    }
    outcome.measurements.latencies.Add(latency);
    CGRAPH_RETURN_IF_ERROR(outcome.results.Add(*outputs, call.graph));
    for (size_t o = 0; o < outputs->size(); ++o) {
      given_.insert_or_assign(outputs->name(o), Given{*outputs, o});
    }
    if (!until_.Holds(call.graph, *outputs)) continue;
    if (i + 1 < call.times) {
      SayNote(options, fmt::format("{} ended after {} of {}, with {} == {}", call.graph, i + 1,
                                   Counted(call.times, "execution"), options.until.first,
                                   options.until.second));
    }
    return Status::Ok();
  }
  SayNote(options, until_.NoteOfNone({call.graph, call.times}, options));
  return Status::Ok();
}

Result<Outputs> Calls::Execute(Engine& engine, Call& call) {
  std::vector<Input> inputs;
  const auto slice = call.inputs.Slice(0);
  if (!slice.ok()) return slice.status();
  for (const Input& read : *slice) {
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

}  // namespace cgraph::command

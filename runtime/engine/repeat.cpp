// Runs of graphs that repeat. A run is executions one after the other, each submitted when the one
// before it is over, so the plan knows nothing of rounds, and nothing new has to be proved. What a
// round reads of executions before it is inputs that the program does not see.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/engine/inputs.h"
#include "runtime/engine/parts.h"
#include "runtime/plan/load.h"

namespace cgraph {
namespace {

// Returns whether all elements of an output are true, wherever it lies.
Result<bool> AllTrue(const Outputs& outputs, const device::Tensor& tensor, size_t at) {
  std::vector<uint8_t> bytes(tensor.bytes());
  if (!bytes.empty()) CGRAPH_RETURN_IF_ERROR(outputs.CopyOut(at, bytes.data()));
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != 0; });
}

}  // namespace

Input Rounds::Given::View() const {
  return {name, lent || gpu ? data : bytes.data(), dtype, dims, lent, gpu};
}

Result<Rounds> Engine::Repeat(std::string_view graph, std::span<const Input> inputs) {
  const auto& graphs = plan().graphs;
  for (uint32_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->name == graph) return Repeat(i, inputs);
  }
  return Status(StatusCode::kInvalid, fmt::format("the plan has no graph `{}`", graph));
}

Result<Rounds> Engine::Repeat(uint32_t graph, std::span<const Input> inputs) {
  const auto& graphs = plan().graphs;
  if (graph >= graphs.size()) {
    return Status(StatusCode::kInvalid,
                  fmt::format("the plan has no graph {}, it has {}", graph, graphs.size()));
  }
  if (graphs[graph]->repeat == nullptr) {
    return Status(StatusCode::kInvalid,
                  fmt::format("`{}` does not repeat: Engine::Execute() executes it",
                              graphs[graph]->name));
  }
  Rounds rounds(this, graph);
  CGRAPH_RETURN_IF_ERROR(rounds.Take(inputs));
  return rounds;
}

// Keeps the inputs, and reads the limit.
Status Rounds::Take(std::span<const Input> inputs) {
  const plan::Plan& plan = engine_->plan();
  const plan::Graph& graph = *plan.graphs[graph_];
  const plan::Repeat& repeat = *graph.repeat;
  // The graph that is executed first has the program's inputs, and no others.
  const uint32_t first = repeat.before != plan::kNone ? repeat.before : graph_;
  std::vector<const Input*> given(graph.inputs.size());
  CGRAPH_RETURN_IF_ERROR(
      engine::MatchInputs(plan, *engine_->parts_->loaded.graphs[first], inputs, given));
  for (const Input& input : inputs) {
    Given& kept = inputs_.emplace_back();
    kept.name = input.name;
    kept.dims.assign(input.dims.begin(), input.dims.end());
    kept.dtype = input.dtype;
    kept.data = input.data;
    kept.lent = input.lent;
    kept.gpu = input.gpu;
    if (input.lent || input.gpu) continue;
    int64_t bytes = plan::DTypeBytes(input.dtype);
    for (const int64_t dim : input.dims) bytes *= dim;
    const auto* data = static_cast<const uint8_t*>(input.data);
    kept.bytes.assign(data, data + bytes);
    kept.bytes.reserve(1);  // an input without elements has an address, too
  }
  limit_ = repeat.limit;
  if (repeat.limit_input == plan::kNone) return Status::Ok();
  const Input& input = *given[repeat.limit_input];
  int64_t limit = 0;
  if (input.gpu) {
    device::SharedGpu* const gpu = engine_->parts_->callers_gpus.Of(*input.gpu);
    CGRAPH_RETURN_IF_ERROR(gpu->Fetch(&limit, input.data, sizeof limit));
  } else {
    std::memcpy(&limit, input.data, sizeof limit);
  }
  if (limit < 0 || static_cast<uint64_t>(limit) > limit_) {
    return Status(StatusCode::kInvalid,
                  fmt::format("input {} is {}, and `{}` makes 0 to {} rounds, which is its "
                              "declared bound: give less, or compile it with a greater bound",
                              input.name, limit, graph.name, limit_));
  }
  limit_ = static_cast<uint64_t>(limit);
  return Status::Ok();
}

Result<std::optional<Outputs>> Rounds::Next() {
  if (!failed_.ok()) return failed_;
  const plan::Repeat& repeat = *engine_->plan().graphs[graph_]->repeat;
  if (!begun_) {
    begun_ = true;
    if (repeat.before != plan::kNone) {
      auto row = Before();
      if (!row.ok() || row->has_value()) return row;
    }
  }
  if (done_ || made_ >= limit_) return std::optional<Outputs>();
  return Round();
}

// Executes what stands before the rounds.
Result<std::optional<Outputs>> Rounds::Before() {
  const plan::Repeat& repeat = *engine_->plan().graphs[graph_]->repeat;
  auto outputs = Execute(repeat.before, false);
  if (!outputs.ok()) return Fail(outputs.status());
  before_ = *outputs;
  if (repeat.before_done != plan::kNone) {
    const auto done = AllTrue(*before_, (*before_)[repeat.before_done], repeat.before_done);
    if (!done.ok()) return Fail(done.status());
    done_ = *done;
  }
  if (!repeat.before_yields) return std::optional<Outputs>();
  outputs->size_ = repeat.outputs;
  return std::optional<Outputs>(std::move(*outputs));
}

Result<std::optional<Outputs>> Rounds::Round() {
  const plan::Repeat& repeat = *engine_->plan().graphs[graph_]->repeat;
  auto outputs = Execute(graph_, true);
  if (!outputs.ok()) return Fail(outputs.status());
  ++made_;
  last_ = *outputs;
  const auto done = AllTrue(*last_, (*last_)[repeat.done], repeat.done);
  if (!done.ok()) return Fail(done.status());
  done_ = *done;
  outputs->size_ = repeat.outputs;
  return std::optional<Outputs>(std::move(*outputs));
}

Result<Outputs> Rounds::Execute(uint32_t graph, bool carries) {
  const plan::Graph& round = *engine_->plan().graphs[graph];
  std::vector<Input> inputs;
  inputs.reserve(round.inputs.size());
  for (const Given& given : inputs_) inputs.push_back(given.View());
  if (carries) {
    for (const plan::Carry& carry : round.repeat->carries) {
      const bool again = carry.next() != plan::kNone && last_;
      const Outputs& from = again ? *last_ : *before_;
      const size_t at = again ? carry.next() : carry.first();
      const device::Tensor& tensor = from[at];
      inputs.push_back({round.inputs[carry.input()]->name, tensor.data, tensor.dtype,
                        {tensor.dims, tensor.rank}, false, from.gpu(at)});
    }
  }
  engine::Parts& parts = *engine_->parts_;
  const device::CallersContext context(parts.callers_gpus.any());
  const auto submitted = parts.submitter.Submit(graph, inputs, WhenFull::kWait);
  if (!submitted.ok()) return submitted.status();
  return Execution(*submitted).Get();
}

Status Rounds::Fail(Status why) {
  const std::string& name = engine_->plan().graphs[graph_]->name;
  const std::string where = made_ == 0 && !before_ &&
                                    engine_->plan().graphs[graph_]->repeat->before != plan::kNone
                                ? fmt::format("before the first round of {}", name)
                                : fmt::format("in round {} of {}", made_ + 1, name);
  failed_ = Status(why.code(), fmt::format("{}\n{}", why.message(), where));
  if (why.code() == StatusCode::kFailed) {
    engine_->parts_->states.MarkBroken(graph_, fmt::format("{} an execution failed", where));
  }
  return failed_;
}

}  // namespace cgraph

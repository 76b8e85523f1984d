#include "tests/support/plans/plan_trial.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "compiler/inspect/simulate.h"
#include "runtime/engine/engine.h"
#include "runtime/plan/check.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"

namespace cgraph::plan::testing {
namespace {

// A larger plan is honest work that takes long, and no plan for a test.
constexpr uint64_t kMaxBytes = 1 << 20;

// Returns whether the memory and work that an engine would need are small; none of this is refused
// elsewhere.
bool IsSmall(const Plan& plan) {
  uint64_t bytes = 0;
  const auto add = [&](uint64_t more, uint64_t times) {
    bytes += times != 0 && more > kMaxBytes / times ? kMaxBytes : more * times;
    bytes = std::min(bytes, kMaxBytes);
  };
  for (const auto& actor : plan.actors) add(actor->state_bytes, 1);
  std::vector<const Graph*> graphs = {plan.start.get()};
  for (const auto& graph : plan.graphs) graphs.push_back(graph.get());
  for (const Graph* graph : graphs) {
    uint32_t lag = 0;
    for (const Instruction& at : graph->instructions) lag = std::max<uint32_t>(lag, at.lag());
    for (const Arena& arena : graph->arenas) {
      const uint64_t copies = arena.copies() == 0 ? graph->inflight + lag + 1 : arena.copies();
      add(arena.bytes(), copies);
    }
    add(graph->instructions.size(), graph->inflight + lag + 1);
  }
  bool sleeps = false;
  for (const auto& kernel : plan.kernels) {
    add(kernel->scratch, 1);
    for (const auto& primitive : kernel->body) sleeps |= primitive->op == "sleep";
  }
  return bytes < kMaxBytes && !sleeps;
}

void ExecuteOnZeros(Engine& engine, uint32_t graph) {
  const Graph& at = *engine.plan().graphs[graph];
  std::vector<std::vector<int64_t>> dims(at.inputs.size());
  const std::vector<uint64_t> zeros(kMaxBytes / 8 + 1);
  std::vector<Input> inputs;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    const Value& value = at.values[at.inputs[i]->value];
    for (uint32_t d = 0; d < value.rank(); ++d) {
      dims[i].push_back(at.dims[value.first_dim() + d].extent());
    }
    inputs.push_back({at.inputs[i]->name, zeros.data(), value.dtype(), dims[i]});
  }
  if (at.repeat) {
    inputs.resize(std::min<size_t>(at.repeat->inputs, inputs.size()));
    constexpr int kRounds = 3;
    Result<Rounds> rounds = engine.Repeat(graph, inputs);
    for (int i = 0; rounds.ok() && i < kRounds; ++i) {
      const auto row = rounds->Next();
      if (!row.ok() || !*row) return;
    }
    return;
  }
  Result<Execution> execution = engine.Execute(graph, inputs);
  if (execution.ok()) (void)execution->Get();
}

TrialEnd RunIt(std::unique_ptr<Plan> plan) {
  EngineOptions options;
  options.workers = 2;
  options.timeout = std::chrono::seconds(5);
  Result<std::unique_ptr<Engine>> engine = Engine::Load(std::move(plan), options);
  if (!engine.ok()) return TrialEnd::kNotLoaded;
  for (uint32_t g = 0; g < (*engine)->plan().graphs.size(); ++g) ExecuteOnZeros(**engine, g);
  return TrialEnd::kRan;
}

}  // namespace

TrialEnd TryPlan(std::span<const uint8_t> bytes) {
  Result<std::unique_ptr<Plan>> plan = FromBytes(bytes);
  if (!plan.ok()) return TrialEnd::kNoPlan;
  if (!CheckPlan(**plan).ok()) return TrialEnd::kNotChecked;
  ToText(**plan);
  for (uint32_t g = 0; g < (*plan)->graphs.size(); ++g) Simulate(**plan, g, {.executions = 2});
  if (!Prove(**plan).proved()) return TrialEnd::kNotProved;
  CertificateText(**plan);
  if (!IsSmall(**plan)) return TrialEnd::kTooLarge;
  return RunIt(std::move(*plan));
}

}  // namespace cgraph::plan::testing

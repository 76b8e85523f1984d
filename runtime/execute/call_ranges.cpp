#include "runtime/execute/call_ranges.h"

#include <set>

#include <fmt/format.h>

#include "runtime/execute/nvtx.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {

std::unique_ptr<CallRanges> CallRanges::MakeIfAttached() {
  return std::unique_ptr<CallRanges>(NvtxIsAttached() ? new CallRanges : nullptr);
}

void CallRanges::AddGraph(const plan::Plan& plan, const plan::Graph& graph,
                          const StepList& program) {
  Names& names = names_.emplace_back();
  for (const plan::Instruction& instruction : graph.instructions) {
    names.call_of.push_back(instruction.call());
  }
  for (uint32_t call = 0; call < graph.calls.size(); ++call) {
    names.calls.push_back(plan::CallName(plan, graph, call));
  }
  for (const Segment& segment : program.segments) {
    std::set<uint32_t> calls;
    for (const uint32_t step : segment.steps) {
      calls.insert(names.call_of[program.steps[step].instruction]);
    }
    calls.erase(plan::kNone);
    std::string name = "CUDA graph";
    if (!calls.empty()) name = names.calls[*calls.begin()];
    if (calls.size() > 1) name += fmt::format(" and {} more", calls.size() - 1);
    names.segments.push_back(std::move(name));
  }
}

// Names are compared by address: each call of a graph has one string, made at load, so two steps of
// one call have the same.
void CallRanges::Enter(uint32_t graph, const Step& step) {
  if (step.op == Op::kWait || step.op == Op::kSignal) return;
  const Names& names = names_[graph];
  const uint32_t call = names.call_of[step.instruction];
  const std::string* name = nullptr;
  if (step.segment != 0) name = &names.segments[step.segment - 1];
  else if (call != plan::kNone) name = &names.calls[call];
  if (name == open_) return;
  Leave();
  if (name != nullptr) BeginRange(name->c_str());
  open_ = name;
}

void CallRanges::Leave() {
  if (open_ != nullptr) EndRange();
  open_ = nullptr;
}

}  // namespace cgraph::engine

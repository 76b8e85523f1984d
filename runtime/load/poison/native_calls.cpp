#include "runtime/load/poison/native_calls.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "runtime/load/frames.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

class NativeCallFinder {
 public:
  NativeCallFinder(const plan::GraphIndex& index,
                   const std::vector<std::unique_ptr<device::Device>>& devices,
                   const PoisonFlags& poison_flags)
      : index_(index),
        graph_(index.graph()),
        devices_(devices),
        poison_flags_(poison_flags),
        calls_{std::vector<bool>(graph_.instructions.size()),
               std::vector<uint32_t>(graph_.instructions.size(), plan::kNone)},
        known_(poison_flags.count, true) {}

  NativeCalls Find() {
    bool any = false;
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      any |= calls_.is_native[i] = IsNative(i);
    }
    if (!any) return std::move(calls_);
    given_ = GivenSymbols(graph_);
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) ForgetFailing(i);
    ForgetDependents();
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      if (calls_.is_native[i] && !KnowsChecks(i)) calls_.event[i] = calls_.late++;
    }
    return std::move(calls_);
  }

 private:
  bool IsNative(uint32_t i) const {
    const plan::Instruction& at = graph_.instructions[i];
    return at.kind() == plan::Kind::call && !index_.plan().kernels[at.subject()]->library.empty() &&
           !devices_[index_.device(i)]->traits().host_reaches_memory;
  }

  // The issuing thread does not know what a device finds to fail, nor what comes from others.
  void ForgetFailing(uint32_t i) {
    const plan::Instruction& at = graph_.instructions[i];
    if (at.kind() == plan::Kind::comm) {
      for (uint32_t p = at.first(); p < at.first() + at.inputs(); ++p) {
        if (poison_flags_.of_part[p] != plan::kNone) Forget(poison_flags_.of_part[p]);
      }
      return;
    }
    const uint32_t flag = poison_flags_.of_instruction[i];
    if (flag == plan::kNone || calls_.is_native[i]) return;
    const bool brings_state =
        at.kind() == plan::Kind::copy && (at.flags() & plan::kCommitsState) != 0;
    bool knows = brings_state ||
                 (at.kind() == plan::Kind::call && !index_.plan().kernels[at.subject()]->fails);
    index_.ForEachSymbol(i, [&](uint32_t symbol, uint32_t, uint32_t) { knows &= given_[symbol]; });
    if (!knows) Forget(flag);
  }

  void Forget(uint32_t flag) {
    const uint32_t setter = poison_flags_.setters[flag];
    const bool host = setter != plan::kNone && devices_[setter]->traits().immediate;
    if (poison_flags_.may_fail[flag] && !host) known_[flag] = false;
  }

  bool KnowsChecks(uint32_t i) const {
    const std::vector<uint32_t>& checks = poison_flags_.checks_of_instruction[i];
    return std::all_of(checks.begin(), checks.end(), [&](uint32_t flag) { return known_[flag]; });
  }

  // Forgets the flags of instructions that check an unknown flag, in program order. A native call's
  // own flag stays known: the thread waits for what the call checks.
  void ForgetDependents() {
    std::vector<uint32_t> order(graph_.instructions.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return graph_.instructions[a].program_order() < graph_.instructions[b].program_order();
    });
    for (uint32_t i : order) {
      const uint32_t flag = poison_flags_.of_instruction[i];
      if (flag != plan::kNone && !calls_.is_native[i] && !KnowsChecks(i)) Forget(flag);
    }
  }

  const plan::GraphIndex& index_;
  const plan::Graph& graph_;
  const std::vector<std::unique_ptr<device::Device>>& devices_;
  const PoisonFlags& poison_flags_;
  NativeCalls calls_;
  std::vector<bool> known_;  // per flag: the host's flag is final once its setter is issued
  std::vector<bool> given_;  // per symbol: by an input
};

}  // namespace

NativeCalls FindNativeCalls(const plan::GraphIndex& index,
                            const std::vector<std::unique_ptr<device::Device>>& devices,
                            const PoisonFlags& poison_flags) {
  return NativeCallFinder(index, devices, poison_flags).Find();
}

Status CheckExtents(const plan::Plan& plan, const plan::Graph& graph, uint32_t instruction,
                    std::span<const device::DynamicDim> dims) {
  for (const device::DynamicDim& dim : dims) {
    if (dim.given) continue;
    return Status(StatusCode::kUnsupported,
                  fmt::format("{}: its dimension `{}` is made on the GPU, and native code on a GPU "
                              "is given extents that inputs have; place its actor on a cpu",
                              plan::InstructionText(plan, graph, instruction),
                              plan.names[graph.symbols[dim.symbol].name()]));
  }
  return Status::Ok();
}

}  // namespace cgraph::engine

#include "compiler/inspect/simulate/durations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "compiler/cost/call_times.h"
#include "compiler/inspect/graph_messages.h"
#include "compiler/inspect/simulate.h"

namespace cgraph {
namespace {

// Returns the names by which a profile may name a call: those of FindCall().
std::vector<std::string> NamesOf(const plan::Plan& plan, const plan::Call& call) {
  if (call.method() == plan::kNone) return {};
  const std::string& method = plan.names[call.method()];
  if (call.place() == plan::kNone) return {method};
  const plan::Actor& on = *plan.actors[call.place()];
  return {on.name + "." + method, on.class_name + "." + method, method};
}

std::optional<cost::CallName> NameOf(const plan::Plan& plan, const plan::Call& call) {
  if (call.method() == plan::kNone) return std::nullopt;
  const std::string& method = plan.names[call.method()];
  if (call.place() == plan::kNone) return cost::CallName{{}, {}, method};
  const plan::Actor& on = *plan.actors[call.place()];
  return cost::CallName{on.name, on.class_name, method};
}

}  // namespace

std::vector<std::string> ProfiledCalls(const plan::Plan& plan, const plan::Graph& graph) {
  std::set<std::string> names;
  for (const plan::Call& call : graph.calls) {
    for (std::string& name : NamesOf(plan, call)) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> MethodsWithoutCost(const plan::Plan& plan,
                                            llvm::ArrayRef<uint32_t> graphs,
                                            const Profile* profile) {
  if (profile != nullptr && profile->default_ps) return {};
  std::set<std::string> names;
  for (uint32_t number : graphs) {
    const plan::Graph& graph = plan::GraphAt(plan, number);
    for (const plan::Instruction& instruction : graph.instructions) {
      const bool of_call =
          instruction.kind() == plan::Kind::call && instruction.call() != plan::kNone;
      if (!of_call || !plan.kernels[instruction.subject()]->cost_unstated) continue;
      const auto name = NameOf(plan, graph.calls[instruction.call()]);
      if (!name) continue;
      if (profile != nullptr && profile->FindCall(name->place, name->actor, name->method)) continue;
      names.insert(name->actor + "." + name->method);
    }
  }
  return {names.begin(), names.end()};
}

std::vector<uint64_t> ExpectedTimes(const plan::Graph& graph) {
  std::vector<uint64_t> expected;
  for (const plan::Instruction& instruction : graph.instructions) {
    const bool waits = instruction.kind() == plan::Kind::signal ||
                       instruction.kind() == plan::Kind::wait;
    expected.push_back(waits ? 0 : instruction.expected());
  }
  return expected;
}

void HalveBuffered(const plan::Plan& plan, const plan::Graph& graph,
                   std::vector<uint64_t>& durations) {
  const plan::GraphIndex index = IndexMessages(plan, graph);
  for (uint32_t number = 0; number < graph.channels.size(); ++number) {
    const plan::Channel& channel = graph.channels[number];
    if (channel.protocol() != plan::Protocol::buffered || channel.capacity() == 0) continue;
    const auto sends = index.sends(number), receives = index.receives(number);
    for (size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
      uint64_t& put = durations[sends[i].instruction];
      uint64_t& taken = durations[receives[i].instruction];
      const uint64_t whole = std::max(put, taken);
      put = whole - whole / 2;
      taken = whole / 2;
    }
  }
}

std::vector<uint64_t> Durations(const plan::Plan& plan, const plan::Graph& graph,
                                const Profile* profile, std::vector<uint64_t> expected) {
  std::vector<uint64_t> durations = std::move(expected);
  if (profile == nullptr) return durations;
  std::vector<cost::CallTimes> calls;
  for (const plan::Call& call : graph.calls) calls.emplace_back(profile, NameOf(plan, call));
  for (const plan::Range& program : graph.programs) {
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& instruction = graph.instructions[i];
      if (instruction.kind() == plan::Kind::signal || instruction.kind() == plan::Kind::wait) {
        continue;
      }
      const bool of_call =
          instruction.kind() == plan::Kind::call && instruction.call() != plan::kNone;
      cost::CallTimes alone(profile, std::nullopt);
      durations[i] = (of_call ? calls[instruction.call()] : alone).Next(durations[i]);
    }
  }
  return durations;
}

}  // namespace cgraph

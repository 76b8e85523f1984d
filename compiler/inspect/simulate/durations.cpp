#include "compiler/inspect/simulate/durations.h"

#include <optional>
#include <set>
#include <string>

namespace cgraph {
namespace {

// The names by which a profile may call it: those of FindCall().
std::vector<std::string> NamesOf(const plan::Plan& plan, const plan::Call& call) {
  if (call.method() == plan::kNone) return {};
  const std::string& method = plan.names[call.method()];
  if (call.place() == plan::kNone) return {method};
  const plan::Actor& on = *plan.actors[call.place()];
  return {on.name + "." + method, on.class_name + "." + method, method};
}

std::optional<uint64_t> NamedTime(const plan::Plan& plan, const plan::Call& call,
                                  const Profile& profile) {
  if (call.method() == plan::kNone) return std::nullopt;
  const std::string& method = plan.names[call.method()];
  if (call.place() == plan::kNone) return profile.FindCall("", "", method);
  const plan::Actor& on = *plan.actors[call.place()];
  return profile.FindCall(on.name, on.class_name, method);
}

}  // namespace

std::vector<std::string> ProfiledCalls(const plan::Plan& plan, const plan::Graph& graph) {
  std::set<std::string> names;
  for (const plan::Call& call : graph.calls) {
    for (std::string& name : NamesOf(plan, call)) names.insert(std::move(name));
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

std::vector<uint64_t> Durations(const plan::Plan& plan, const plan::Graph& graph,
                                const Profile* profile, std::vector<uint64_t> expected) {
  std::vector<uint64_t> durations = std::move(expected);
  if (profile == nullptr) return durations;
  std::vector<bool> begun(graph.calls.size(), false);
  for (const plan::Range& program : graph.programs) {
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& instruction = graph.instructions[i];
      if (instruction.kind() == plan::Kind::signal || instruction.kind() == plan::Kind::wait) {
        continue;
      }
      if (profile->default_ps) {
        durations[i] = *profile->default_ps;
      }
      const uint32_t call = instruction.call();
      if (instruction.kind() != plan::Kind::call || call == plan::kNone) {
        continue;
      }
      if (const auto time = NamedTime(plan, graph.calls[call], *profile)) {
        durations[i] = begun[call] ? 0 : *time;
        begun[call] = true;
      }
    }
  }
  return durations;
}

}  // namespace cgraph

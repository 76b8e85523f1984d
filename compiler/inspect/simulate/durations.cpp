#include "compiler/inspect/simulate/durations.h"

#include <optional>
#include <string>

namespace cgraph {
namespace {

// What a profile says of a call by name: of "Actor.method", or of an op outside a method.
std::optional<uint64_t> NamedTime(const plan::Plan& plan, const plan::Call& call,
                                  const Profile& profile) {
  if (call.method() == plan::kNone) {
    return std::nullopt;
  }
  const std::string& method = plan.names[call.method()];
  if (call.place() != plan::kNone) {
    const auto found = profile.call_ps.find(plan.actors[call.place()]->class_name + "." + method);
    if (found != profile.call_ps.end()) {
      return found->second;
    }
  }
  const auto found = profile.call_ps.find(method);
  return found != profile.call_ps.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace

std::vector<uint64_t> Durations(const plan::Plan& plan, const plan::Graph& graph,
                                const Profile* profile) {
  std::vector<uint64_t> durations(graph.instructions.size(), 0);
  std::vector<bool> begun(graph.calls.size(), false);
  for (const plan::Range& program : graph.programs) {
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& instruction = graph.instructions[i];
      if (instruction.kind() == plan::Kind::signal || instruction.kind() == plan::Kind::wait) {
        continue;
      }
      durations[i] = instruction.expected();
      if (profile == nullptr) {
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

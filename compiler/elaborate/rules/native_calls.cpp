#include "compiler/elaborate/rules/native_calls.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"
#include "compiler/graph/graph.h"

namespace cgraph::elaborate {
namespace {

using graph::CallId;
using graph::InstanceId;

// Returns the method of a call where it is native code that says nothing of what it does to its
// object; null: it is none, or says it.
const program::Method* UnstatedMethod(const ElaborationContext& elaboration,
                                      const graph::Call& call) {
  const program::ActorId actor = elaboration.places.instances[call.instance.index].actor;
  const std::string& name = call.forward_method.empty() ? call.method : call.forward_method;
  const program::MethodId id = FindMethod(elaboration.program, actor, name);
  if (!id.valid()) return nullptr;
  const program::Method& method = elaboration.program.methods[id];
  const bool is_unstated = method.native && method.native->effect == program::Effect::kUnstated;
  return is_unstated ? &method : nullptr;
}

}  // namespace

void WarnOfNativeCode(ElaborationContext& elaboration, const graph::Graph& graph,
                      const graph::Rules& rules) {
  std::map<InstanceId, std::set<uint32_t>> actions;
  std::map<InstanceId, std::map<std::string, const program::Method*>> unstated;
  for (CallId id : graph.calls.Ids()) {
    const graph::Call& call = graph.calls[id];
    if (rules.calls[id.index].kind == graph::kNoKind) continue;
    actions[call.instance].insert(rules.calls[id.index].action);
    const program::Method* method = UnstatedMethod(elaboration, call);
    if (method != nullptr) unstated[call.instance].emplace(method->name, method);
  }
  std::set<program::ActorId> warned;
  for (const auto& [instance, methods] : unstated) {
    const program::ActorId actor = elaboration.places.instances[instance.index].actor;
    if (actions[instance].size() < 2 || !warned.insert(actor).second) continue;
    std::vector<std::string> names;
    for (const auto& [name, method] : methods) names.push_back("`" + name + "`");
    const bool one = names.size() == 1;
    Report(elaboration, Code::kW0511, rules.range,
           fmt::format("`{}` cannot change the order of the calls of `{}`: {} {} native code that "
                       "may do anything to {} object, so all calls of the place keep program "
                       "order; `keyed by (mb)`, `adds object`, `reads object` or `writes object` "
                       "behind `extern` says what {}",
                       rules.name, elaboration.module.instances[instance].name,
                       fmt::join(names, " and "), one ? "is" : "are", one ? "its" : "their",
                       one ? "it does" : "they do"))
        .AddNote(methods.begin()->second->native->range, "the method");
  }
}

}  // namespace cgraph::elaborate

#include "compiler/elaborate/rules/call_variables.h"

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/names.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {

std::optional<int64_t> VariableOf(const ElaborationContext& elaboration, const graph::Call& call,
                                  const std::string& name) {
  for (size_t i = call.indices.size(); i-- > 0;) {
    if (call.index_names[i] == name) return call.indices[i];
  }
  for (const auto& [index, value] : elaboration.places.instances[call.instance.index].indices) {
    if (index == name) return value;
  }
  return std::nullopt;
}

CallVariables::CallVariables(ElaborationContext& elaboration, const program::Using& use,
                             const program::Schedule& schedule)
    : elaboration_(elaboration),
      use_(use),
      schedule_(schedule),
      frame_(schedule.name, nullptr, &use.locals) {
  for (size_t i = 0; i < use.variables.size(); ++i) {
    if (use.variables[i].value.valid()) renamed_[schedule.variables[i]] = &use.variables[i];
  }
}

std::optional<int64_t> CallVariables::ValueOf(const graph::Call& call, program::LocalId variable,
                                              Range rule) {
  const auto renamed = renamed_.find(variable);
  if (renamed == renamed_.end()) return Find(call, schedule_.locals[variable].name, rule);
  for (program::LocalId used : renamed->second->uses) {
    const std::optional<int64_t> value = Find(call, use_.locals[used].name, rule);
    if (!value) return std::nullopt;
    frame_.locals[used.index] = Value(*value);
  }
  return EvaluateInt(elaboration_, renamed->second->value, frame_, "a variable of a schedule");
}

std::string CallVariables::CallText(const graph::Call& call) const {
  return cgraph::CallText(elaboration_.module, call);
}

std::optional<int64_t> CallVariables::Find(const graph::Call& call, const std::string& name,
                                           Range rule) {
  const std::optional<int64_t> value = VariableOf(elaboration_, call, name);
  if (!value) ReportMissing(call, name, rule);
  return value;
}

void CallVariables::ReportMissing(const graph::Call& call, const std::string& name, Range rule) {
  std::vector<std::string> names = call.index_names;
  for (const auto& [index, value] : elaboration_.places.instances[call.instance.index].indices) {
    names.push_back(index);
  }
  const std::string has =
      names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "));
  const std::string near = DidYouMean(name, names);
  Report(elaboration_, Code::kE0533, use_.range,
         fmt::format("{} has no variable `{}`, which the rules of `{}` name: {}{}", CallText(call),
                     name, schedule_.name, has,
                     near.empty() ? "; `with` says what a variable is called here"
                                  : fmt::format(" (did you mean `{}`?)", near)))
      .AddNote(rule, "the rule")
      .AddNote(call.site, "the call");
}

}  // namespace cgraph::elaborate

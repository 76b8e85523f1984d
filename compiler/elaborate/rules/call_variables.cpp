#include "compiler/elaborate/rules/call_variables.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/names.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {

std::optional<int64_t> LoopVariableOf(const graph::Call& call, const std::string& name) {
  for (size_t i = call.indices.size(); i-- > 0;) {
    if (call.index_names[i] == name) return call.indices[i];
  }
  return std::nullopt;
}

std::optional<int64_t> VariableOf(const ElaborationContext& elaboration, const graph::Call& call,
                                  const std::string& name) {
  if (const auto own = LoopVariableOf(call, name)) return own;
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
  const program::Using::Variable* counts = use.per.value.valid() ? &use.per : nullptr;
  for (program::LocalId variable : schedule.variables) {
    if (counts != nullptr || schedule.locals[variable].name != program::kMicrobatch) continue;
    microbatch_ = variable;
    if (const auto found = renamed_.find(variable); found != renamed_.end()) counts = found->second;
    else counters_ = {program::kMicrobatch};
  }
  if (counts == nullptr) return;
  for (program::LocalId used : counts->uses) counters_.push_back(use.locals[used].name);
}

std::optional<CallVariables::Turn> CallVariables::MicrobatchOf(const graph::Call& call) {
  const std::optional<int64_t> number = MicrobatchNumber(call);
  if (!number) return std::nullopt;
  // Turns of outer loops are other micro-batches.
  size_t outer = call.indices.size();
  for (const std::string& name : counters_) {
    const auto own = std::find(call.index_names.rbegin(), call.index_names.rend(), name);
    if (own == call.index_names.rend()) continue;
    outer = std::min<size_t>(outer, call.index_names.rend() - own - 1);
  }
  Turn turn(call.indices.begin(), call.indices.begin() + static_cast<std::ptrdiff_t>(outer));
  turn.push_back(*number);
  return turn;
}

std::optional<int64_t> CallVariables::MicrobatchNumber(const graph::Call& call) {
  if (is_wrong_) return std::nullopt;
  if (use_.per.value.valid()) {
    const Range per = elaboration_.program.exprs[use_.per.value].range;
    const std::optional<int64_t> number = Evaluated(call, use_.per, per, "`per`");
    is_wrong_ = !number;
    return number;
  }
  const bool has = microbatch_.valid() &&
                   std::all_of(counters_.begin(), counters_.end(), [&](const std::string& name) {
                     return VariableOf(elaboration_, call, name).has_value();
                   });
  return has ? ValueOf(call, microbatch_, use_.range) : std::nullopt;
}

std::optional<int64_t> CallVariables::ValueOf(const graph::Call& call, program::LocalId variable,
                                              Range rule) {
  const auto renamed = renamed_.find(variable);
  if (renamed == renamed_.end()) return Find(call, schedule_.locals[variable].name, rule);
  return Evaluated(call, *renamed->second, rule, "a variable of a schedule");
}

std::optional<int64_t> CallVariables::Evaluated(const graph::Call& call,
                                                const program::Using::Variable& variable,
                                                Range rule, const char* what) {
  for (program::LocalId used : variable.uses) {
    const std::optional<int64_t> value = Find(call, use_.locals[used].name, rule);
    if (!value) return std::nullopt;
    frame_.locals[used.index] = Value(*value);
  }
  return EvaluateInt(elaboration_, variable.value, frame_, what);
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
  // Nested loops may share a name, by which rules find the inner one; and so may a loop and an
  // index of the place.
  graph::Call found = call;
  for (size_t i = found.indices.size(); i-- > 0;) {
    if (!llvm::is_contained(llvm::drop_begin(found.index_names, i + 1), found.index_names[i])) {
      continue;
    }
    found.indices.erase(found.indices.begin() + static_cast<std::ptrdiff_t>(i));
    found.index_names.erase(found.index_names.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::vector<std::string> names;
  const auto add = [&names](const std::string& each) {
    if (!llvm::is_contained(names, each)) names.push_back(each);
  };
  for (const std::string& variable : call.index_names) add(variable);
  for (const auto& [index, value] : elaboration_.places.instances[call.instance.index].indices) {
    add(index);
  }
  const std::string has =
      names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "));
  const std::string near = DidYouMean(name, names);
  const bool counts =
      use_.per.value.valid() && rule == elaboration_.program.exprs[use_.per.value].range;
  const char* const mend = counts ? "" : "; `with` says what a variable is called here";
  Report(elaboration_, Code::kE0533, use_.range,
         fmt::format("{} has no variable `{}`, which {}: {}{}", CallText(found), name,
                     counts ? "counts its micro-batches"
                            : fmt::format("the rules of `{}` name", schedule_.name),
                     has, near.empty() ? mend : fmt::format(" (did you mean `{}`?)", near)))
      .AddNote(rule, counts ? "named here" : "the rule")
      .AddNote(call.site, "the call");
}

}  // namespace cgraph::elaborate

// A schedule of a pipeline bounds what device `index` holds by `stages - index`: 1 on the last
// device, one more on each before. Which parameter counts the devices shows from that difference
// alone, so own schedules are looked at as the library's are.
#include "compiler/elaborate/rules/stages.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "compiler/base/operators.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"
#include "compiler/graph/names.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {
namespace {

using graph::CallId;
using graph::DeviceId;

class StageCount {
 public:
  StageCount(ElaborationContext& elaboration, const program::Schedule& schedule,
             const graph::Graph& graph, const graph::Rules& rules,
             const std::map<DeviceId, int64_t>& positions)
      : elaboration_(elaboration),
        schedule_(schedule),
        graph_(graph),
        rules_(rules),
        positions_(positions) {}

  // Finds a difference of a parameter and `index` in the rules; null: there is none.
  const program::Parameter* Find() {
    for (const program::LimitRule& limit : schedule_.limits) Look(limit.bound);
    for (const program::SortRule& rule : schedule_.rankings) LookAtKeys(rule);
    for (const program::OrderRule& rule : schedule_.orders) {
      for (const program::SortRule& sort : rule.sorts) LookAtKeys(sort);
    }
    return parameter_;
  }

  // Warns where `along` counts copies, which pass nothing on, instead of stages; returns whether
  // it did.
  bool CheckAlong(const program::Using& use) {
    const int64_t first = positions_.begin()->second;
    const bool one = llvm::all_of(positions_, [&](const auto& at) { return at.second == first; });
    if (use.along.empty() || one || PassOn()) return false;
    Report(elaboration_, Code::kW0504, use.range,
           fmt::format("`along: {0}` takes copies for stages: no call that the rules name reads "
                       "what one with another `{0}` made; {1}",
                       use.along, MendOfAlong(use.along)))
        .AddNote(elaboration_.program.exprs[where_].range, "the rule");
    return true;
  }

  void Check(int64_t stages, Range use) {
    std::set<int64_t> counted;
    for (const auto& [device, position] : positions_) counted.insert(position);
    const std::map<DeviceId, CallId> between = Between();
    // Several devices may be one stage together, where `along` gives them one position.
    const auto least = static_cast<int64_t>(counted.size() + (between.empty() ? 0 : 1));
    const auto most = static_cast<int64_t>(counted.size() + between.size());
    if (stages >= least && stages <= most) return;
    Report(elaboration_, Code::kW0504, use, Message(stages, most, between))
        .AddNote(elaboration_.program.exprs[where_].range, "the rule");
  }

 private:
  // Returns whether a call that the rules name reads what such a call at another position made,
  // maybe by way of other calls.
  bool PassOn() const {
    struct Positions {
      int64_t least = std::numeric_limits<int64_t>::max();
      int64_t most = std::numeric_limits<int64_t>::min();
    };
    std::vector<Positions> made(graph_.calls.size());  // where what a call makes comes from
    const auto own = [&](CallId id) -> const int64_t* {
      if (rules_.calls[id.index].kind == graph::kNoKind) return nullptr;
      const auto found = positions_.find(graph_.calls[id].device);
      return found == positions_.end() ? nullptr : &found->second;
    };
    for (const graph::Op& op : graph_.ops) {
      const int64_t* const here = own(op.call);
      Positions& of_call = made[op.call.index];
      for (const graph::Use& use : op.operands) {
        const CallId maker = graph::MakerOf(graph_, use.value);
        if (!maker.valid() || maker == op.call) continue;
        const Positions& read = made[maker.index];
        of_call.least = std::min(of_call.least, read.least);
        of_call.most = std::max(of_call.most, read.most);
        if (here != nullptr && (read.least < *here || read.most > *here)) return true;
      }
      if (here != nullptr) of_call = {*here, *here};
    }
    return false;
  }

  // Names the index that counts stages instead, where the places have one other alone.
  std::string MendOfAlong(const std::string& along) const {
    std::set<std::string> others;
    for (CallId id : graph_.calls.Ids()) {
      const graph::InstanceId instance = graph_.calls[id].instance;
      if (rules_.calls[id.index].kind == graph::kNoKind || !instance.valid()) continue;
      for (const auto& [name, value] : elaboration_.places.instances[instance.index].indices) {
        if (name != along) others.insert(name);
      }
    }
    return others.size() == 1 ? fmt::format("`along: {}` counts stages", *others.begin())
                              : "name the index of the places that counts stages";
  }

  void LookAtKeys(const program::SortRule& rule) {
    for (program::ExprId key : rule.keys) Look(key);
  }

  void Look(program::ExprId id) {
    if (parameter_ != nullptr || !id.valid()) return;
    const auto& node = elaboration_.program.exprs[id].node;
    if (const auto* chain = std::get_if<program::Chain>(&node)) {
      LookAtChain(id, *chain);
      for (program::ExprId operand : chain->operands) Look(operand);
    } else if (const auto* call = std::get_if<program::CallFn>(&node)) {
      for (const program::Argument& argument : call->arguments) Look(argument.value);
    } else if (const auto* tuple = std::get_if<program::Tuple>(&node)) {
      for (const program::Argument& field : tuple->fields) Look(field.value);
    } else if (const auto* choice = std::get_if<program::If>(&node)) {
      Look(choice->then_value);
      Look(choice->else_value);
    } else if (const auto* unary = std::get_if<program::Unary>(&node)) {
      Look(unary->operand);
    }
  }

  // Looks for `+ parameter` before `- index` among the terms of a sum. Of two parameters neither is
  // surely the number of stages.
  void LookAtChain(program::ExprId id, const program::Chain& chain) {
    std::vector<const program::Parameter*> added;
    for (size_t i = 0; i < chain.operands.size(); ++i) {
      const bool plus = i == 0 || chain.operators[i - 1] == BinaryOperator::kAdd;
      const bool minus = i > 0 && chain.operators[i - 1] == BinaryOperator::kSubtract;
      const auto* local =
          std::get_if<program::LocalRef>(&elaboration_.program.exprs[chain.operands[i]].node);
      if (local == nullptr) continue;
      if (minus && local->local == schedule_.index && added.size() == 1) {
        parameter_ = added.front();
        where_ = id;
        return;
      }
      const auto found = std::find_if(
          schedule_.parameters.begin(), schedule_.parameters.end(),
          [&](const program::Parameter& parameter) { return parameter.local == local->local; });
      if (plus && found != schedule_.parameters.end()) added.push_back(&*found);
    }
  }

  // Returns the devices without calls that the rules name that lie between such calls, each with
  // one of its calls: what it reads comes from one that is named, and what it makes goes to
  // another.
  std::map<DeviceId, CallId> Between() const {
    std::vector<bool> after(graph_.calls.size()), before(graph_.calls.size());
    for (CallId id : graph_.calls.Ids()) {
      after[id.index] = before[id.index] = rules_.calls[id.index].kind != graph::kNoKind;
    }
    for (const graph::Op& op : graph_.ops) {
      for (const graph::Use& use : op.operands) {
        const CallId maker = graph::MakerOf(graph_, use.value);
        if (maker.valid() && after[maker.index]) after[op.call.index] = true;
      }
    }
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      const graph::Op& op = graph_.ops[graph::OpId(static_cast<uint32_t>(i))];
      for (const graph::Use& use : op.operands) {
        const CallId maker = graph::MakerOf(graph_, use.value);
        if (maker.valid() && before[op.call.index]) before[maker.index] = true;
      }
    }
    std::map<DeviceId, CallId> found;
    for (CallId id : graph_.calls.Ids()) {
      const DeviceId device = graph_.calls[id].device;
      const bool is_device = device.index != 0;  // 0 is the caller
      if (!is_device || positions_.count(device) || !after[id.index] || !before[id.index]) continue;
      found.emplace(device, id);
    }
    return found;
  }

  std::string Names(const std::vector<std::string>& names) const {
    if (names.size() < 3) return fmt::format("{}", fmt::join(names, " and "));
    return fmt::format("{} to {}", names.front(), names.back());
  }

  std::string Message(int64_t stages, int64_t right,
                      const std::map<DeviceId, CallId>& between) const {
    std::vector<std::string> named;
    int64_t first = positions_.begin()->second, last = first;
    for (const auto& [device, position] : positions_) {
      named.push_back(DeviceName(elaboration_.module.devices[device]));
      first = std::min(first, position);
      last = std::max(last, position);
    }
    std::string text =
        fmt::format("`{}` is given {} as `{}`, and its rules name calls on {}, {}", schedule_.name,
                    stages, parameter_->name, Counted(named.size(), "device"), Names(named));
    for (const auto& [device, call] : between) {
      text += fmt::format("; between them lies {} on {}",
                          CallText(elaboration_.module, graph_.calls[call]),
                          DeviceName(elaboration_.module.devices[device]));
    }
    text += fmt::format("; `{} - {}` is {} on the first of them", parameter_->name,
                        schedule_.locals[schedule_.index].name, stages - first);
    if (last > first) text += fmt::format(" and {} on the last", stages - last);
    text += fmt::format(". The pipeline has {}: give {}", Counted(right, "device"), right);
    const bool several = stages > 0 && right > stages && right % stages == 0;
    return several ? text + fmt::format("; or, if each {} of them are one stage, `along: INDEX` "
                                        "names the index of the places that counts stages",
                                        right / stages)
                   : text;
  }

  ElaborationContext& elaboration_;
  const program::Schedule& schedule_;
  const graph::Graph& graph_;
  const graph::Rules& rules_;
  const std::map<DeviceId, int64_t>& positions_;
  const program::Parameter* parameter_ = nullptr;
  program::ExprId where_;  // the difference
};

}  // namespace

void CheckStages(ElaborationContext& elaboration, const program::Using& use,
                 const program::Schedule& schedule, const Frame& frame, const graph::Graph& graph,
                 const graph::Rules& rules, const std::map<DeviceId, int64_t>& positions) {
  std::vector<bool> called(schedule.kinds.size());
  for (const graph::CallRule& call : rules.calls) {
    if (call.kind < called.size()) called[call.kind] = true;
  }
  if (positions.empty() || std::count(called.begin(), called.end(), false) > 0) return;
  StageCount count(elaboration, schedule, graph, rules, positions);
  const program::Parameter* parameter = count.Find();
  if (parameter == nullptr) return;
  const std::optional<Value>& value = frame.locals[parameter->local.index];
  const int64_t* const stages = value ? value->As<int64_t>() : nullptr;
  if (count.CheckAlong(use)) return;
  if (stages != nullptr) count.Check(*stages, use.range);
}

}  // namespace cgraph::elaborate

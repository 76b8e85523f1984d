#include "compiler/elaborate/rules/fusions.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {
namespace {

using graph::CallId;
using graph::InstanceId;

class Pairer {
 public:
  Pairer(ElaborationContext& elaboration, const CallVariables& variables,
         const program::Schedule& schedule, const program::FuseRule& rule,
         const graph::Graph& graph, const graph::Rules& rules, const graph::Call* removed)
      : elaboration_(elaboration),
        variables_(variables),
        rule_(rule),
        graph_(graph),
        rules_(rules),
        removed_(removed),
        first_(schedule.kinds[rule.first].name),
        second_(schedule.kinds[rule.second].name) {}

  std::optional<std::vector<std::pair<CallId, CallId>>> Run() {
    FindCommonVariables();
    std::map<Key, std::deque<CallId>> seconds;
    std::set<InstanceId> with_first, with_second;
    for (CallId id : graph_.calls.Ids()) {
      if (Has(id, rule_.first)) with_first.insert(graph_.calls[id].instance);
      if (!Has(id, rule_.second)) continue;
      with_second.insert(graph_.calls[id].instance);
      seconds[KeyOf(id)].push_back(id);
    }
    std::vector<std::pair<CallId, CallId>> pairs;
    std::set<InstanceId> with_pairs;
    std::vector<CallId> alone, derived;
    for (CallId id : graph_.calls.Ids()) {
      if (!Has(id, rule_.first)) continue;
      std::deque<CallId>& queue = seconds[KeyOf(id)];
      if (queue.empty() && IsDerived(id)) {
        derived.push_back(id);
        continue;
      }
      if (queue.empty() || queue.front() < id) {
        ReportNoPair(id, !queue.empty());
        return std::nullopt;
      }
      pairs.emplace_back(id, queue.front());
      with_pairs.insert(graph_.calls[id].instance);
      queue.pop_front();
    }
    // A derived call whose method, or whose whole place, has no params has no second half.
    for (CallId id : derived) {
      const InstanceId on = graph_.calls[id].instance;
      if (with_second.count(on) && !with_pairs.count(on)) alone.push_back(id);
    }
    // Of a derived second half the first may be missing: an input of a graph has no gradient.
    for (const auto& [key, queue] : seconds) {
      for (CallId id : queue) {
        if (with_first.count(key.first) && !IsDerived(id)) alone.push_back(id);
      }
    }
    // Calls of a kind that no graph makes are W0502's.
    if (!alone.empty()) WarnOfAlone(alone);
    else if (pairs.empty() && !with_second.empty()) WarnOfNoPairs(!with_first.empty());
    return pairs;
  }

 private:
  using Key = std::pair<InstanceId, std::map<std::string, int64_t>>;

  bool Has(CallId id, program::KindId kind) const {
    return rules_.calls[id.index].kind == kind.index;
  }
  bool IsDerived(CallId id) const { return !graph_.calls[id].forward_method.empty(); }

  Key KeyOf(CallId id) const {
    const graph::Call& call = graph_.calls[id];
    Key key{call.instance, {}};
    for (size_t i = 0; i < call.indices.size(); ++i) {
      if (common_.count(call.index_names[i])) key.second[call.index_names[i]] = call.indices[i];
    }
    return key;
  }

  void FindCommonVariables() {
    std::optional<std::set<std::string>> common;
    for (CallId id : graph_.calls.Ids()) {
      if (!Has(id, rule_.first) && !Has(id, rule_.second)) continue;
      const std::vector<std::string>& names = graph_.calls[id].index_names;
      if (!common) common.emplace(names.begin(), names.end());
      std::erase_if(*common, [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) == names.end();
      });
    }
    if (common) common_ = std::move(*common);
  }

  void ReportNoPair(CallId id, bool is_before) {
    const graph::Call& call = graph_.calls[id];
    Report(elaboration_, Code::kE0535, rule_.range,
           fmt::format(
               "{} has no call of `{}` to be fused with: {}", variables_.CallText(call), second_,
               !is_before         ? "none of its place has its loop variables"
               : OtherOrderFits() ? fmt::format("the one with its loop variables comes before it; "
                                                "write `fuse {} {}`",
                                                second_, first_)
                                  : "the one with its loop variables comes before it"))
        .AddNote(call.site, "the call");
  }

  // Returns whether the rule would pair each call of both kinds if it named them the other way
  // round.
  bool OtherOrderFits() const {
    std::map<Key, std::pair<std::vector<CallId>, std::vector<CallId>>> calls;
    for (CallId id : graph_.calls.Ids()) {
      if (Has(id, rule_.first)) calls[KeyOf(id)].first.push_back(id);
      if (Has(id, rule_.second)) calls[KeyOf(id)].second.push_back(id);
    }
    return llvm::all_of(calls, [](const auto& entry) {
      const auto& [firsts, seconds] = entry.second;
      return std::equal(seconds.begin(), seconds.end(), firsts.begin(), firsts.end(),
                        [](CallId second, CallId first) { return second < first; });
    });
  }

  void WarnOfAlone(const std::vector<CallId>& alone) {
    const CallId id = *std::min_element(alone.begin(), alone.end());
    const graph::Call& call = graph_.calls[id];
    const size_t others = alone.size() - 1;
    Report(elaboration_, Code::kW0513, rule_.range,
           fmt::format("{}{} no call of `{}` to be fused with: a call is fused with one other, of "
                       "its place and with its loop variables; call both methods equally often in "
                       "the same loops",
                       variables_.CallText(call),
                       others == 0 ? std::string(" finds")
                                   : fmt::format(" and {} find", Counted(others, "more call")),
                       Has(id, rule_.first) ? second_ : first_))
        .AddNote(call.site, "the call");
  }

  void WarnOfNoPairs(bool has_first) {
    if (has_first) {
      Report(elaboration_, Code::kW0513, rule_.range,
             fmt::format("nothing is fused: no place has calls of both `{}` and `{}`, and `fuse` "
                         "joins two calls of one place; name methods of one place",
                         first_, second_));
    } else if (removed_ != nullptr) {
      Report(elaboration_, Code::kW0513, rule_.range,
             fmt::format("nothing is fused: calls of `{}` alone are left, since nothing reads "
                         "what {} makes, so that it is removed; use its result",
                         second_, variables_.CallText(*removed_)))
          .AddNote(removed_->site, "the call that is removed");
    }
  }

  ElaborationContext& elaboration_;
  const CallVariables& variables_;
  const program::FuseRule& rule_;
  const graph::Graph& graph_;
  const graph::Rules& rules_;
  const graph::Call* const removed_;
  const std::string first_, second_;  // the kinds' names
  std::set<std::string> common_;      // loop variables that all calls of both kinds have
};

}  // namespace

std::optional<std::vector<std::pair<graph::CallId, graph::CallId>>> PairCalls(
    ElaborationContext& elaboration, const CallVariables& variables,
    const program::Schedule& schedule, const program::FuseRule& rule, const graph::Graph& graph,
    const graph::Rules& rules, const graph::Call* removed) {
  return Pairer(elaboration, variables, schedule, rule, graph, rules, removed).Run();
}

}  // namespace cgraph::elaborate

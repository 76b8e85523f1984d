#include "compiler/elaborate/rules/actions.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::elaborate {
namespace {

using graph::CallId;
using graph::DeviceId;
using graph::InstanceId;
using graph::OpId;

constexpr int64_t kLacks = -1;  // the value of a variable that a call lacks; loops count from 0

using Turn = CallVariables::Turn;

Turn TurnOf(const graph::Call& call, const std::vector<std::string>& names) {
  Turn turn;
  for (const std::string& name : names) {
    turn.push_back(LoopVariableOf(call, name).value_or(kLacks));
  }
  return turn;
}

// Dependences: whether calls of one group use what others of it make.
class Dependences {
 public:
  explicit Dependences(const graph::Graph& graph)
      : graph_(graph), ops_(graph.calls.size()), reached_(graph.ops.size(), 0) {
    for (OpId id : graph.ops.Ids()) {
      const CallId call = graph.ops[id].call;
      if (call.valid()) ops_[call.index].push_back(id);
    }
  }

  // Returns whether each of these calls, in program order, uses what an earlier one makes, directly
  // or not, if an earlier one is of the same method and place.
  bool Follow(const std::vector<CallId>& calls) {
    std::map<std::pair<InstanceId, std::string>, size_t> first_of;
    size_t begin = calls.size();
    for (size_t i = 0; i < calls.size(); ++i) {
      const graph::Call& call = graph_.calls[calls[i]];
      const auto [first, is_new] = first_of.emplace(std::pair(call.instance, call.method), i);
      if (!is_new) begin = std::min(begin, first->second);
    }
    if (begin == calls.size()) return true;
    ++visit_;
    std::set<std::pair<InstanceId, std::string>> met;
    OpId next;
    for (size_t i = begin; i < calls.size(); ++i) {
      const graph::Call& call = graph_.calls[calls[i]];
      const std::vector<OpId>& own = ops_[calls[i].index];
      if (own.empty()) continue;
      for (; next.valid() && next < own.front(); next = OpId(next.index + 1)) {
        if (UsesReached(next)) reached_[next.index] = visit_;
      }
      const bool uses =
          std::any_of(own.begin(), own.end(), [&](OpId op) { return UsesReached(op); });
      if (!met.emplace(call.instance, call.method).second && !uses) return false;
      for (OpId op : own) reached_[op.index] = visit_;
      next = OpId(own.front().index + 1);
    }
    return true;
  }

 private:
  bool UsesReached(OpId id) const {
    if (reached_[id.index] == visit_) return true;
    const graph::Op& op = graph_.ops[id];
    return std::any_of(op.operands.begin(), op.operands.end(), [&](const graph::Use& use) {
      const graph::Value& value = graph_.values[graph::RootOf(graph_, use.value)];
      // What a call leaves in a state is for all that come after it.
      return value.storage != graph::Value::kState && value.producer.valid() &&
             reached_[value.producer.index] == visit_;
    });
  }

  const graph::Graph& graph_;
  std::vector<std::vector<OpId>> ops_;  // by call
  std::vector<uint32_t> reached_;       // by op: the last visit that reached it
  uint32_t visit_ = 0;
};

class ActionFinder {
 public:
  ActionFinder(const graph::Graph& graph, CallVariables* variables, graph::Rules& rules)
      : graph_(graph), variables_(variables), rules_(rules), dependences_(graph) {}

  void Run() {
    std::map<uint32_t, std::vector<CallId>> kinds;
    for (CallId id : graph_.calls.Ids()) {
      const uint32_t kind = rules_.calls[id.index].kind;
      if (kind != graph::kNoKind) kinds[kind].push_back(id);
    }
    for (const auto& [kind, calls] : kinds) {
      if (!AreCounted(calls)) Divide(kind, calls);
    }
    Agree(kinds);
    Number();
  }

 private:
  // Counted: by which loop variables the calls of a kind are divided; nothing: every call is an
  // action of its own, as where a program repeats calls without a loop.
  using Counted = std::optional<std::vector<std::string>>;

  // Whether all of these calls have the variable that counts micro-batches, by what is written.
  bool AreCounted(const std::vector<CallId>& calls) {
    if (variables_ == nullptr) return false;
    std::map<CallId, Turn> turns;
    for (CallId id : calls) {
      std::optional<Turn> turn = variables_->MicrobatchOf(graph_.calls[id]);
      if (!turn) return false;
      turns.emplace(id, std::move(*turn));
    }
    turns_.merge(turns);
    return true;
  }

  // All names of loop variables around these calls, the outermost first.
  std::vector<std::string> NamesOf(const std::vector<CallId>& calls) const {
    std::vector<std::string> names;
    for (CallId id : calls) {
      for (const std::string& name : graph_.calls[id].index_names) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }

  std::map<DeviceId, std::map<Turn, std::vector<CallId>>> Groups(
      const std::vector<CallId>& calls, const std::vector<std::string>& names) const {
    std::map<DeviceId, std::map<Turn, std::vector<CallId>>> groups;
    for (CallId id : calls) {
      const graph::Call& call = graph_.calls[id];
      groups[call.device][TurnOf(call, names)].push_back(id);
    }
    return groups;
  }

  // Returns whether a variable counts stages or replicas: it has one value on each device, and not
  // one everywhere, as that of micro-batches has where there is one.
  bool CountsDevices(const std::vector<CallId>& calls, const std::string& name) const {
    const auto groups = Groups(calls, {name});
    std::set<Turn> values;
    for (const auto& [device, turns] : groups) {
      if (turns.size() > 1) return false;
      values.insert(turns.begin()->first);
    }
    return values.size() > 1;
  }

  void Divide(uint32_t kind, const std::vector<CallId>& calls) {
    const std::vector<std::string> all = NamesOf(calls);
    counted_[kind] = std::nullopt;
    if (all.empty()) return;
    const auto mb = std::find(all.begin(), all.end(), program::kMicrobatch);
    if (mb != all.end()) {
      counted_[kind] = std::vector<std::string>(all.begin(), mb + 1);
      return;
    }
    const auto first = std::find_if(all.begin(), all.end(), [&](const std::string& name) {
      return !CountsDevices(calls, name);
    });
    size_t count = std::min<size_t>(first - all.begin() + 1, all.size());
    for (; count <= all.size(); ++count) {
      std::vector<std::string> names(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
      if (!AreActions(calls, names)) continue;
      counted_[kind] = std::move(names);
      return;
    }
  }

  bool AreActions(const std::vector<CallId>& calls, const std::vector<std::string>& names) {
    for (const auto& [device, turns] : Groups(calls, names)) {
      for (const auto& [turn, group] : turns) {
        if (!dependences_.Follow(group)) return false;
      }
    }
    return true;
  }

  // Lets all kinds go by the variables of the one that comes first, where they have them: that is
  // the forward. Gradients of the weights of layers are independent, and of one micro-batch
  // nevertheless; backwards that add to a sum of gradients use each other, and are of several.
  void Agree(const std::map<uint32_t, std::vector<CallId>>& kinds) {
    const std::vector<std::string>* first = nullptr;
    CallId begin;
    for (const auto& [kind, names] : counted_) {
      const CallId own = kinds.at(kind).front();
      if (!names || (begin.valid() && begin < own)) continue;
      first = &*names;
      begin = own;
    }
    if (first == nullptr) return;
    const std::vector<std::string> chosen = *first;
    for (auto& [kind, names] : counted_) {
      const std::vector<std::string> all = NamesOf(kinds.at(kind));
      const bool has = std::all_of(chosen.begin(), chosen.end(), [&](const std::string& name) {
        return std::find(all.begin(), all.end(), name) != all.end();
      });
      if (has) names = chosen;
    }
  }

  // The micro-batch of a call; nothing: it is an action of its own.
  std::optional<Turn> MicrobatchOf(CallId id) const {
    if (const auto turn = turns_.find(id); turn != turns_.end()) return turn->second;
    const Counted& names = counted_.at(rules_.calls[id.index].kind);
    if (!names) return std::nullopt;
    return TurnOf(graph_.calls[id], *names);
  }

  void Number() {
    using Key = std::tuple<uint32_t, DeviceId, std::vector<int64_t>, std::vector<int64_t>,
                           std::vector<uint32_t>, Turn>;
    std::map<Key, uint32_t> numbers;
    for (CallId id : graph_.calls.Ids()) {
      graph::CallRule& own = rules_.calls[id.index];
      if (own.kind == graph::kNoKind) continue;
      const std::optional<Turn> turn = MicrobatchOf(id);
      if (turns_.count(id)) own.microbatch = *turn;
      if (!turn) {
        own.action = next_++;
        continue;
      }
      const auto [number, is_new] =
          numbers.emplace(Key(own.kind, graph_.calls[id].device, own.ranking, own.sequence,
                              own.counted, *turn),
                          next_);
      if (is_new) ++next_;
      own.action = number->second;
    }
  }

  const graph::Graph& graph_;
  CallVariables* const variables_;
  graph::Rules& rules_;
  Dependences dependences_;
  std::map<CallId, Turn> turns_;         // of calls whose micro-batch is written
  std::map<uint32_t, Counted> counted_;  // by kind, of the others
  uint32_t next_ = 0;
};

}  // namespace

void FindActions(const graph::Graph& graph, CallVariables* variables, graph::Rules& rules) {
  ActionFinder(graph, variables, rules).Run();
}

}  // namespace cgraph::elaborate

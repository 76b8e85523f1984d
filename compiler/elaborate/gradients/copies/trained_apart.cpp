// Copies that are trained apart. The values of all graphs are numbered, and states are told apart
// by what graphs leave in them (partition refinement). Declared copies that are told apart get
// W0509, and params that only look like copies W0507.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/elaborate/gradients/copies/copies.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {
namespace {

using graph::StateId;
using graph::ValueId;

// Returns the index in which two places of one array differ; empty where there is no one.
std::string DifferingIndex(const ElaborationContext& elaboration, StateId a, StateId b) {
  const InstanceDetails &first = DetailsOf(elaboration, a), &second = DetailsOf(elaboration, b);
  if (first.place != second.place) return "";
  std::string differing;
  for (size_t i = 0; i < first.indices.size(); ++i) {
    if (first.indices[i].second == second.indices[i].second) continue;
    if (!differing.empty()) return "";
    differing = first.indices[i].first;
  }
  return differing;
}

// GraphEnds: what states hold when a graph ends, by StateId.
struct GraphEnds {
  std::vector<ValueId> written;       // invalid: it keeps its value
  std::vector<uint32_t> numbers;      // of states that are written; equal where what they hold is
  std::vector<std::string> failures;  // of these: equal where the calls that write them fail alike

  bool Writes(StateId state) const { return written[state.index].valid(); }
  bool Same(StateId a, StateId b) const {
    return Writes(a) == Writes(b) && (!Writes(a) || numbers[a.index] == numbers[b.index]);
  }
};

// Fills `written`; returns whether the graph writes a state that has copies.
bool FindWritten(const graph::Module& module, const graph::Graph& graph, GraphEnds& ends) {
  const size_t states = module.states.size();
  ends = {std::vector<ValueId>(states), std::vector<uint32_t>(states),
          std::vector<std::string>(states)};
  bool any = false;
  for (ValueId id : graph.values.Ids()) {
    const graph::Value& value = graph.values[id];
    const bool holds =
        value.storage == graph::Value::kState && value.producer.valid() && !value.base.valid();
    if (!holds) continue;
    ends.written[value.state.index] = id;
    any |= !module.states[value.state].copies.empty();
  }
  return any;
}

// Fills `numbers` and `failures`.
void NumberEnds(const graph::Graph& graph, const ValueNumbers& numbers, GraphEnds& ends) {
  std::map<graph::CallId, std::string> of_calls;
  for (const graph::Op& op : graph.ops) {
    if (!op.fails) continue;
    std::string& text = of_calls[op.call];
    text += op.kernel;
    for (const graph::Use& use : op.operands) text += fmt::format(" {}", numbers[use.value]);
  }
  for (size_t s = 0; s < ends.written.size(); ++s) {
    if (!ends.written[s].valid()) continue;
    ends.numbers[s] = numbers[ends.written[s]];
    const graph::OpId producer = graph.values[ends.written[s]].producer;
    const auto found = of_calls.find(graph.ops[producer].call);
    ends.failures[s] = found == of_calls.end() ? "" : found->second;
  }
}

// Returns for each state a text that is equal where states may be equal whenever a graph begins:
// they have one name at places of one actor, and begin alike. Declared copies have one text.
std::vector<std::string> BeginningClasses(ElaborationContext& elaboration,
                                          const std::vector<StateId>& stands_for) {
  const std::vector<std::string>& begins = BeginningsOf(elaboration);
  std::vector<std::string> texts;
  for (StateId id : elaboration.module.states.Ids()) {
    const InstanceDetails& details = DetailsOf(elaboration, id);
    const bool is_object = details.object == id;  // it begins with a number of its own
    texts.push_back(fmt::format("{}.{} {}", details.actor.index, elaboration.module.states[id].name,
                                is_object ? "" : begins[stands_for[id.index].index]));
  }
  return texts;
}

// Finds what states hold at the end of each graph, by refinement: those that begin alike are taken
// for equal, then those are told apart that a graph leaves with different values, until none is
// left. A momentum that each place has for itself stays equal so where the gradients are equal.
// Nothing where no graph writes a copy, and nothing is suspected to be one.
std::vector<GraphEnds> FindGraphEnds(ElaborationContext& elaboration) {
  constexpr int kMostRounds = 8;  // then too many are taken for equal, and nobody is warned
  const graph::Module& module = elaboration.module;
  std::vector<GraphEnds> ends(module.graphs.size());
  bool asked = !elaboration.suspects.empty();
  for (size_t g = 0; g < ends.size(); ++g) asked |= FindWritten(module, module.graphs[g], ends[g]);
  if (!asked) return {};
  std::map<Variable, StateId> first;
  std::vector<StateId> stands_for;  // by StateId: declared copies are never told apart
  for (StateId id : module.states.Ids()) {
    const graph::State& state = module.states[id];
    stands_for.push_back(
        state.copies.empty() ? id : first.try_emplace(VariableOf(state), id).first->second);
  }
  std::vector<std::string> texts = BeginningClasses(elaboration, stands_for);
  size_t count = std::set<std::string>(texts.begin(), texts.end()).size();
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<std::string> keys = texts;
    for (size_t g = 0; g < ends.size(); ++g) {
      const graph::Graph& graph = module.graphs[g];
      elaboration.budget.Charge(graph.ops.size() + module.states.size());
      NumberEnds(graph, ValueNumbers(graph, &texts), ends[g]);
      for (StateId id : module.states.Ids()) {
        keys[id.index] += ends[g].Writes(id) ? fmt::format(" {}", ends[g].numbers[id.index]) : " -";
      }
    }
    std::map<std::string, size_t> classes;
    for (StateId id : module.states.Ids()) {
      const std::string& key = keys[stands_for[id.index].index];
      texts[id.index] = std::to_string(classes.try_emplace(key, classes.size()).first->second);
    }
    if (classes.size() == count) break;
    count = classes.size();
  }
  return ends;
}

// Warns where a graph leaves declared copies with different values, or may: a state keeps what it
// has where the call that writes it fails.
void WarnOfDeclared(ElaborationContext& elaboration, const graph::Graph& graph,
                    const GraphEnds& ends) {
  const graph::Module& module = elaboration.module;
  for (const auto& [variable, states] : DeclaredCopies(module)) {
    const auto one = llvm::find_if(states, [&](StateId state) { return ends.Writes(state); });
    if (one == states.end()) continue;
    const auto other = llvm::find_if_not(states, [&](StateId state) {
      return ends.Same(*one, state) && ends.failures[one->index] == ends.failures[state.index];
    });
    if (other == states.end()) continue;
    const bool alone = !ends.Writes(*other), may_fail = ends.Same(*one, *other);
    const StateId at = alone ? *one : *other;
    Report(elaboration, Code::kW0509,
           graph.ops[graph.values[ends.written[at.index]].producer].range,
           fmt::format(
               "`{}.{}` and `{}.{}` are copies of one variable, and {}; {}",
               InstanceOf(elaboration, *one).name, module.states[*one].name,
               InstanceOf(elaboration, *other).name, module.states[*other].name,
               alone      ? "the graph updates the first alone: they drift apart"
               : may_fail ? "the call that sets one may fail without that of the other: they drift "
                            "apart then"
                          : "the graph gives each a value of its own: they drift apart",
               may_fail ? "check values that differ in a call of its own"
               : DetailsOf(elaboration, at).training ? "update_all() updates all places alike"
                                                     : "set all of them, to the same value"));
    return;
  }
}

// Warns of all suspects of a gradient at once, but for those to which graphs give one value.
void WarnOfSuspects(ElaborationContext& elaboration, const std::vector<GraphEnds>& ends) {
  constexpr size_t kMost = 4;
  for (const SuspectedCopies& suspects : elaboration.suspects) {
    std::vector<std::string> texts;
    std::set<std::string> along;
    for (const auto& [a, b] : suspects.pairs) {
      const auto writes = [&](const GraphEnds& graph) { return graph.Writes(a); };
      const auto same = [&](const GraphEnds& graph) { return graph.Same(a, b); };
      if (llvm::any_of(ends, writes) && llvm::all_of(ends, same)) continue;
      texts.push_back(fmt::format("`{}` of {} and of {}", elaboration.module.states[a].name,
                                  InstanceOf(elaboration, a).name,
                                  InstanceOf(elaboration, b).name));
      along.insert(DifferingIndex(elaboration, a, b));
    }
    if (texts.empty()) continue;
    const std::string& index = *along.begin();  // mostly the one
    const size_t shown = std::min(texts.size(), kMost);
    std::string list = fmt::format("{}", fmt::join(texts.begin(), texts.begin() + shown, ", "));
    if (texts.size() > shown) list += fmt::format(" and {} more", texts.size() - shown);
    Report(elaboration, Code::kW0507, suspects.range,
           fmt::format("{} look like copies of one variable, and are trained apart; `equal "
                       "along{}` declares copies (parts of one tensor need nothing)",
                       list, along.size() > 1 || index.empty() ? "" : " " + index));
  }
}

}  // namespace

void WarnOfCopiesTrainedApart(ElaborationContext& elaboration) {
  const std::vector<GraphEnds> ends = FindGraphEnds(elaboration);
  for (size_t g = 0; g < ends.size(); ++g) {
    WarnOfDeclared(elaboration, elaboration.module.graphs[g], ends[g]);
  }
  WarnOfSuspects(elaboration, ends);
}

}  // namespace cgraph::elaborate

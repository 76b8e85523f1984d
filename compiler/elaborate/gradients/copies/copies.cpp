#include "compiler/elaborate/gradients/copies/copies.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/cost/costs.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

using graph::DeviceId;
using graph::StateId;
using graph::ValueId;

// Returns the param that a value is; invalid: it is none.
StateId ParamOf(const ElaborationContext& elaboration, ValueId id) {
  return IsParam(elaboration, id) ? elaboration.builder->value(id).state : StateId();
}

// A bucket of gradients takes at most this many latencies of its link, so that the latency counts
// for little. The first and the last take few: the link is idle until the first bucket is full, and
// nothing is computed beside the last. Bounds: less is not worth a message of its own, more is
// memory.
constexpr int64_t kMostLatencies = 10, kLeastLatencies = 2;
constexpr int64_t kMinBucketBytes = 64 << 10, kMaxBucketBytes = 256 << 20;

class CopySummer {
 public:
  CopySummer(ElaborationContext& elaboration, OpMaker& maker, FoundGradients& found)
      : elaboration_(elaboration), maker_(maker), found_(found) {}

  bool Run() {
    if (!FindGroups() || !CheckBeginnings()) return false;
    std::map<std::vector<DeviceId>, std::vector<Group*>> by_devices;
    for (Group& group : groups_) {
      if (!AddOnDevices(group)) return false;
      if (group.sums.size() > 1) by_devices[DevicesOf(group)].push_back(&group);
    }
    for (auto& [devices, groups] : by_devices) {
      if (!Reduce(devices, groups)) return false;
    }
    for (const Group& group : groups_) {
      for (ValueId param : group.params) {
        const DeviceId home = elaboration_.builder->value(param).home;
        found_[param] = group.sums.at(home);
      }
    }
    return true;
  }

 private:
  struct Group {
    std::vector<ValueId> params;
    std::map<DeviceId, Tensor> sums;  // of the copies on a device; after Reduce of all
    int64_t bytes = 0;
    uint32_t done = 0;  // the last op that makes one of the sums
  };

  static std::vector<DeviceId> DevicesOf(const Group& group) {
    std::vector<DeviceId> devices;
    for (const auto& [device, sum] : group.sums) devices.push_back(device);
    return devices;
  }

  // Groups the params that are declared as copies, of which all must have been asked for. Where the
  // loss depends on none of them they stay without a gradient.
  bool FindGroups() {
    std::map<Variable, std::vector<ValueId>> copies;
    for (const auto& [param, gradient] : found_) {
      const StateId state = ParamOf(elaboration_, param);
      if (!state.valid()) continue;
      const graph::State& row = elaboration_.module.states[state];
      if (!row.copies.empty()) copies[VariableOf(row)].push_back(param);
    }
    if (copies.empty()) return true;
    if (!Step(elaboration_, maker_.range(), elaboration_.places.params.size())) return false;
    const Copies declared = DeclaredCopies(elaboration_.module);
    for (const auto& [variable, params] : copies) {
      if (!CheckAll(declared.at(variable), params)) return false;
      const bool has =
          llvm::any_of(params, [&](ValueId param) { return found_[param].has_value(); });
      if (has) groups_.push_back({params, {}, 0, 0});
    }
    return true;
  }

  // Reports a copy that `of:` leaves out.
  bool CheckAll(const std::vector<StateId>& copies, const std::vector<ValueId>& params) {
    if (copies.size() == params.size()) return true;
    const StateId first = elaboration_.builder->value(params[0]).state;
    for (StateId other : copies) {
      const bool asked = llvm::any_of(
          params, [&](ValueId param) { return elaboration_.builder->value(param).state == other; });
      if (asked) continue;
      Report(elaboration_, Code::kE0906, maker_.range(),
             fmt::format("`{0}.{2}` and `{1}.{2}` are copies of one variable, and `of:` has the "
                         "first and not the other: write `of: {3}`, and take one of the result",
                         InstanceOf(elaboration_, first).name, InstanceOf(elaboration_, other).name,
                         elaboration_.module.states[other].name,
                         elaboration_.program.places[DetailsOf(elaboration_, other).place].name));
      return false;
    }
    return true;
  }

  // Reports copies that begin with different values.
  bool CheckBeginnings() {
    if (groups_.empty()) return true;
    const graph::Module& module = elaboration_.module;
    const std::vector<std::string>& begins = BeginningsOf(elaboration_);
    for (const Group& group : groups_) {
      const StateId first = elaboration_.builder->value(group.params[0]).state;
      for (ValueId param : group.params) {
        const StateId state = elaboration_.builder->value(param).state;
        if (begins[state.index] == begins[first.index]) continue;
        Report(
            elaboration_, Code::kE0906, InstanceOf(elaboration_, state).range,
            fmt::format("`{0}.{2}` and `{1}.{2}` are declared equal along {3}, and their initial "
                        "values differ",
                        InstanceOf(elaboration_, first).name, InstanceOf(elaboration_, state).name,
                        module.states[state].name, fmt::join(AlongOf(elaboration_, state), ", ")));
        return false;
      }
    }
    return true;
  }

  // Adds the gradients of copies that are on one device; zeros where there are none.
  bool AddOnDevices(Group& group) {
    for (ValueId param : group.params) {
      const graph::Value value = elaboration_.builder->value(param);
      llvm::SaveAndRestore<std::optional<DeviceId>> on(elaboration_.on, value.home);
      const std::optional<Tensor>& gradient = found_[param];
      const auto known = group.sums.find(value.home);
      if (!gradient && known != group.sums.end()) continue;
      Tensor sum = gradient ? *gradient : ZerosLike(group, value);
      if (sum.value.valid() && elaboration_.builder->value(sum.value).home != value.home) {
        sum = maker_.Copy(sum);
      }
      if (known != group.sums.end()) sum = maker_.Add(known->second, sum);
      if (!sum.value.valid()) return false;
      group.sums[value.home] = sum;
      group.bytes = maker_.type(sum).bytes();
      const graph::OpId producer = elaboration_.builder->value(sum.value).producer;
      if (producer.valid()) group.done = std::max(group.done, producer.index);
    }
    return true;
  }

  Tensor ZerosLike(const Group& group, const graph::Value& param) {
    graph::Type type = param.type;
    for (ValueId other : group.params) {
      if (found_[other]) type = maker_.type(*found_[other]);  // f32 of an f16 param
    }
    return maker_.Zeros(type);
  }

  // Sums over devices, several variables at once, in the order in which they are done. Buckets grow
  // by half of what is summed already; faster growth leaves the link idle while one fills, where
  // sums take nearly as long as what is computed. Towards the end each has half of what is left.
  bool Reduce(const std::vector<DeviceId>& devices, std::vector<Group*>& groups) {
    llvm::stable_sort(groups, [](Group* a, Group* b) { return a->done < b->done; });
    const int64_t most = BucketBytes(devices, kMostLatencies);
    const int64_t least = BucketBytes(devices, kLeastLatencies);
    int64_t summed = 0, left = 0;
    for (const Group* group : groups) left += group->bytes;
    for (size_t begin = 0, end = 0; begin < groups.size(); begin = end) {
      const int64_t bucket =
          left < 2 * least ? left : std::min({most, least + summed / 2, left / 2});
      int64_t bytes = 0;
      for (; end < groups.size() && (bytes < bucket || end == begin); ++end) {
        bytes += groups[end]->bytes;
      }
      summed += bytes;
      left -= bytes;
      if (!ReduceBucket(devices, {groups.begin() + begin, groups.begin() + end})) return false;
    }
    return true;
  }

  bool ReduceBucket(const std::vector<DeviceId>& devices, const std::vector<Group*>& groups) {
    Participants given;
    given.devices = devices;
    given.ranges.assign(devices.size(), maker_.range());
    for (DeviceId device : devices) {
      given.tensors.emplace_back();
      for (const Group* group : groups) given.tensors.back().push_back(group->sums.at(device));
    }
    const std::optional<graph::OpId> made = EmitCollective(
        elaboration_,
        {CollectiveKind::kAllReduce, Reduction::kSum, 0, TransportKind::kAuto, maker_.range()},
        given);
    if (!made) return false;
    const std::vector<ValueId> results = elaboration_.builder->graph().ops[*made].results;
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      for (size_t i = 0; i < groups.size(); ++i) {
        groups[i]->sums[devices[rank]] = Tensor{results[rank * groups.size() + i]};
      }
    }
    return true;
  }

  // Returns how many bytes the links of these devices sum in `latencies` times their latency.
  int64_t BucketBytes(const std::vector<DeviceId>& ids, int64_t latencies) {
    if (!topology_) {
      topology_ =
          ElaborateTopology(elaboration_.program, elaboration_.options, elaboration_.diagnostics);
    }
    if (!topology_) return kMaxBucketBytes;
    std::vector<LogicalDevice> devices;
    for (DeviceId id : ids) devices.push_back(elaboration_.module.devices[id]);
    const bool gpus = llvm::all_of(
        devices, [](const LogicalDevice& device) { return device.kind == DeviceKind::kGpu; });
    const TransportKind by = gpus ? TransportKind::kNccl : TransportKind::kShm;
    const cost::Costs costs(*topology_);
    const auto time = [&](int64_t bytes) {
      return costs.Collective(CollectiveKind::kAllReduce, devices, by, bytes).ps;
    };
    const uint64_t enough = latencies * time(1);
    int64_t bytes = kMinBucketBytes;
    while (bytes < kMaxBucketBytes && time(bytes) < enough) bytes *= 2;
    return bytes;
  }

  ElaborationContext& elaboration_;
  OpMaker& maker_;
  FoundGradients& found_;
  std::vector<Group> groups_;
  std::optional<cost::Topology> topology_;
};

// ---- copies that are not declared ---------------------------------------------------------------

class CopyFinder {
 public:
  CopyFinder(ElaborationContext& elaboration, const FoundGradients& found, Range range)
      : elaboration_(elaboration), suspects_{range, {}} {
    for (const auto& [param, gradient] : found) {
      const StateId state = ParamOf(elaboration, param);
      if (state.valid()) params_.insert(state);
    }
  }

  void Run() {
    if (!HasCandidates()) return;
    begins_ = BeginningsOf(elaboration_);
    FindByReaders();
    FindByBeginnings();
    if (!suspects_.pairs.empty()) elaboration_.suspects.push_back(std::move(suspects_));
  }

 private:
  // Two places on different devices have params of one name that are not declared as copies.
  bool HasCandidates() const {
    std::map<std::pair<program::ActorId, std::string>, DeviceId> devices;
    return llvm::any_of(params_, [&](StateId state) {
      const DeviceId device = InstanceOf(elaboration_, state).device;
      const auto [known, added] = devices.emplace(
          std::pair(DetailsOf(elaboration_, state).actor, elaboration_.module.states[state].name),
          device);
      return !added && known->second != device;
    });
  }

  // Finds params whose readers make the same value at two places.
  void FindByReaders() {
    const graph::Graph& graph = elaboration_.builder->graph();
    const ValueNumbers numbers = NumberValues(elaboration_);
    std::map<std::pair<uint32_t, std::string>, StateId> readers;
    for (const graph::Op& op : graph.ops) {
      if (op.collective || op.results.empty()) continue;
      for (const graph::Use& use : op.operands) {
        const graph::Value& value = graph.values[graph::RootOf(graph, use.value)];
        const bool is_param = value.storage == graph::Value::kState && !value.producer.valid() &&
                              params_.count(value.state) != 0;
        if (!is_param) continue;
        const auto [first, added] = readers.emplace(
            std::pair(numbers[op.results[0]], begins_[value.state.index]), value.state);
        if (!added) Suspect(first->second, value.state);
      }
    }
  }

  // Finds places all of whose params begin alike.
  void FindByBeginnings() {
    std::map<graph::InstanceId, std::vector<StateId>> instances;
    for (StateId state : params_)
      instances[elaboration_.module.states[state].instance].push_back(state);
    std::map<std::pair<program::ActorId, std::vector<std::string>>, const std::vector<StateId>*>
        seen;
    for (const auto& [instance, states] : instances) {
      std::vector<std::string> texts;
      for (StateId state : states) {
        texts.push_back(elaboration_.module.states[state].name + "=" + begins_[state.index]);
      }
      const auto [first, added] = seen.emplace(
          std::pair(elaboration_.places.instances[instance.index].actor, texts), &states);
      if (added) continue;
      for (size_t i = 0; i < states.size(); ++i) Suspect((*first->second)[i], states[i]);
    }
  }

  // Warns once for each param of an actor, where the two are no declared copies.
  void Suspect(StateId a, StateId b) {
    const graph::Instance &first = InstanceOf(elaboration_, a),
                          &second = InstanceOf(elaboration_, b);
    const graph::State &one = elaboration_.module.states[a], &other = elaboration_.module.states[b];
    const std::string& name = one.name;
    if (first.device == second.device || name != other.name) return;
    if (!one.copies.empty() && one.copies == other.copies) return;
    if (!reported_.insert({DetailsOf(elaboration_, a).actor, name}).second) return;
    suspects_.pairs.push_back({a, b});
  }

  ElaborationContext& elaboration_;
  std::set<StateId> params_;
  std::vector<std::string> begins_;  // by StateId: equal where the initial values are
  std::set<std::pair<program::ActorId, std::string>> reported_;
  SuspectedCopies suspects_;
};

}  // namespace

const graph::Instance& InstanceOf(const ElaborationContext& elaboration, StateId state) {
  return elaboration.module.instances[elaboration.module.states[state].instance];
}

const InstanceDetails& DetailsOf(const ElaborationContext& elaboration, StateId state) {
  return elaboration.places.instances[elaboration.module.states[state].instance.index];
}

Copies DeclaredCopies(const graph::Module& module) {
  Copies copies;
  for (StateId id : module.states.Ids()) {
    const graph::State& state = module.states[id];
    if (!state.copies.empty()) copies[VariableOf(state)].push_back(id);
  }
  return copies;
}

const std::vector<std::string>& BeginningsOf(ElaborationContext& elaboration) {
  if (elaboration.beginnings.empty()) {
    const graph::Module& module = elaboration.module;
    elaboration.budget.Charge(module.start.ops.size());
    elaboration.beginnings = ValueNumbers(module.start).StateTexts(module.states.size());
  }
  return elaboration.beginnings;
}

std::vector<std::string> AlongOf(const ElaborationContext& elaboration, StateId id) {
  const InstanceDetails& details = DetailsOf(elaboration, id);
  std::vector<std::string> along = elaboration.program.places[details.place].along;
  const std::string& name = elaboration.module.states[id].name;
  for (program::StateId state : elaboration.program.actors[details.actor].states) {
    const program::State& row = elaboration.program.states[state];
    const bool owns = name == row.name || name.rfind(row.name + "[", 0) == 0 ||
                      name.rfind(row.name + ".", 0) == 0;
    if (owns) along.insert(along.end(), row.along.begin(), row.along.end());
  }
  llvm::erase_if(along, [&](const std::string& index) {
    return llvm::none_of(details.indices, [&](const auto& has) { return has.first == index; });
  });
  return along;
}

void NameCopies(ElaborationContext& elaboration) {
  graph::Module& module = elaboration.module;
  elaboration.budget.Charge(elaboration.places.params.size());
  for (StateId param : elaboration.places.params) {
    const std::vector<std::string> along = AlongOf(elaboration, param);
    if (along.empty()) continue;
    const InstanceDetails& details = DetailsOf(elaboration, param);
    const program::Place& place = elaboration.program.places[details.place];
    std::vector<std::string> indices;
    for (const auto& [name, value] : details.indices) {
      indices.push_back(llvm::is_contained(along, name) ? "*" : std::to_string(value));
    }
    const std::string copies = fmt::format("{}[{}]", place.name, fmt::join(indices, ", "));
    module.states[param].copies = copies;
    if (!details.training) continue;
    for (const Value& slot : details.training->slots.at(param)) {
      MapLeaves(elaboration, place.range, slot, [&](const Value& leaf) {
        module.states[leaf.As<StateLeaf>()->state].copies = copies;
        return leaf;
      });
    }
  }
}

void NoteVariable(ElaborationContext& elaboration, graph::ValueId gradient, graph::ValueId of,
                  size_t call) {
  const graph::StateId id = elaboration.builder->value(of).state;
  if (!id.valid()) return;
  const graph::State& state = elaboration.module.states[id];
  if (state.copies.empty()) return;
  elaboration.tape->variables[gradient].insert(
      fmt::format("{} {}.{} {}", call, state.copies, state.name,
                  elaboration.builder->value(of).offset));
}

ValueNumbers NumberValues(ElaborationContext& elaboration) {
  const std::vector<std::string>& begins = BeginningsOf(elaboration);
  elaboration.budget.Charge(elaboration.builder->graph().ops.size());
  return ValueNumbers(elaboration.builder->graph(), &begins);
}

bool CheckWholeVariables(ElaborationContext& elaboration, const FoundGradients& found,
                         Range range) {
  for (const auto& [param, gradient] : found) {
    const StateId state = ParamOf(elaboration, param);
    const std::vector<std::string> along =
        state.valid() ? AlongOf(elaboration, state) : std::vector<std::string>();
    if (along.empty()) continue;
    Report(
        elaboration, Code::kE0906, range,
        fmt::format("`{}.{}` is a copy along {}, and within a method `grad` sees this one alone; "
                    "ask for its gradient in the graph",
                    InstanceOf(elaboration, state).name, elaboration.module.states[state].name,
                    fmt::join(along, ", ")));
    return false;
  }
  return true;
}

bool SumCopies(ElaborationContext& elaboration, OpMaker& maker, FoundGradients& found) {
  return CopySummer(elaboration, maker, found).Run();
}

void FindUndeclaredCopies(ElaborationContext& elaboration, const FoundGradients& found,
                          Range range) {
  CopyFinder(elaboration, found, range).Run();
}

}  // namespace cgraph::elaborate

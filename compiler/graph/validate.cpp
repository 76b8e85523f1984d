// Validate: the properties of a graph that every phase after elaboration relies on, checked in one
// place.
#include "compiler/graph/graph.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/base/check.h"

namespace cgraph {
namespace {

using graph::Value;
using graph::ValueId;

class GraphValidator {
 public:
  GraphValidator(const graph::Module& module, const graph::Graph& graph, const char* phase)
      : module_(module), graph_(graph), phase_(phase), made_(graph.values.size()) {}

  void Run() {
    for (graph::CallId id : graph_.calls.Ids()) {
      CheckCall(graph_.calls[id]);
      CheckDerived(id);
      for (graph::CallId before : graph_.calls[id].after) {
        Expect(before < id, id.str() + ": after a call that is made later");
      }
    }
    for (ValueId id : graph_.values.Ids()) CheckValue(id);
    for (const graph::Symbol& symbol : graph_.symbols) CheckSymbol(symbol);
    for (const graph::Port& port : graph_.inputs) {
      Expect(Get(port.use.value).storage == Value::kInput, port.name + ": a port of no input");
    }
    for (graph::OpId id : graph_.ops.Ids()) CheckOp(id);
    for (const graph::Port& port : graph_.outputs) CheckRead(port.use.value, port.name);
    Expect(graph_.inflight >= 1, "inflight is not positive");
    for (const graph::Bucket& bucket : graph_.buckets) CheckBucket(bucket);
    if (graph_.rules) CheckRules(*graph_.rules);
    if (graph_.repeat) CheckRepeat(*graph_.repeat);
  }

 private:
  void CheckRepeat(const graph::Repeat& repeat) const {
    Expect(graph_.inflight == 1, "rounds in flight");
    Expect(repeat.inputs <= graph_.inputs.size() && repeat.outputs <= graph_.outputs.size() &&
               repeat.done < graph_.outputs.size() &&
               repeat.limit_input.value_or(0) < std::max<size_t>(repeat.inputs, 1),
           "a port of a run does not exist");
    Expect(repeat.inputs + repeat.carries.size() == graph_.inputs.size(),
           "each further input of a round is handed on");
    Expect(repeat.carries.empty() || repeat.before, "nothing gives the first inputs");
    if (!repeat.before) return;
    Expect(*repeat.before < module_.graphs.size(), "no graph before the rounds");
    const graph::Graph& before = module_.graphs[*repeat.before];
    Expect(before.inputs.size() == repeat.inputs, "other inputs before the rounds");
    Expect(repeat.before_done.value_or(0) < std::max<size_t>(before.outputs.size(), 1),
           "a port of the graph before does not exist");
    for (const graph::Repeat::Carry& carry : repeat.carries) {
      Expect(carry.first < before.outputs.size() && carry.input < graph_.inputs.size() &&
                 carry.next.value_or(0) < graph_.outputs.size(),
             "what is handed on has no port");
    }
  }

  // Checks a property. The message, of parts, is made only where it does not hold: there are
  // several of them for each value and op, and a validator runs behind each phase.
  template <typename... Parts>
  void Expect(bool condition, const Parts&... parts) const {
    if (condition) return;
    std::string message;
    ((message += TextOf(parts)), ...);
    CGRAPH_CHECK(false, phase_, "graph " + graph_.name + ": " + message);
  }
  static const std::string& TextOf(const std::string& text) { return text; }
  static const char* TextOf(const char* text) { return text; }
  template <typename Tag>
  static std::string TextOf(Id<Tag> id) {
    return id.str();
  }
  std::string TextOf(graph::OpId id) const {
    return fmt::format("{} ({})", id.str(), graph_.ops[id].name);
  }
  const Value& Get(ValueId id) const {
    Expect(graph_.values.Contains(id), id, " is not in the graph");
    return graph_.values[id];
  }

  void CheckRules(const graph::Rules& rules) {
    Expect(rules.calls.size() == graph_.calls.size(), rules.name, ": not a rule for every call");
    std::map<uint32_t, graph::DeviceId> devices;  // by action
    for (graph::CallId id : graph_.calls.Ids()) {
      const graph::CallRule& rule = rules.calls[id.index];
      Expect(rule.kind == graph::kNoKind || rule.kind < rules.kinds.size(), id, ": no kind");
      Expect((rule.kind == graph::kNoKind) == (rule.action == graph::kNoAction), id,
             ": a kind without an action, or an action of none");
      if (rule.action != graph::kNoAction) {
        const auto [device, is_new] = devices.emplace(rule.action, graph_.calls[id].device);
        Expect(device->second == graph_.calls[id].device, id, ": an action on two devices");
      }
      if (!rule.fused.valid()) continue;
      Expect(rule.fused > id && graph_.calls.Contains(rule.fused), id,
             ": fused with an earlier call");
      Expect(graph_.calls[id].device == graph_.calls[rule.fused].device, id,
             ": fused with a call of another device");
    }
    for (const graph::Kind& kind : rules.kinds) {
      Expect(kind.order == graph::kNoOrder || kind.order < rules.orders.size(), kind.name,
             ": in no order");
    }
    for (const graph::Limit& limit : rules.limits) {
      Expect(limit.minuend < rules.kinds.size() && limit.subtrahend < rules.kinds.size(),
             rules.name, ": a limit of no kind");
      Expect(limit.bounds.size() == module_.devices.size(), rules.name, ": bounds and devices");
    }
    Expect(rules.memory.empty() || rules.memory.size() == module_.devices.size(), rules.name,
           ": memory and devices");
  }

  void CheckBucket(const graph::Bucket& bucket) {
    Expect(module_.devices.Contains(bucket.to), "a bucket to no device");
    Expect(bucket.values.size() >= 2, "a bucket of less than two values");
    Expect(bucket.via.transport == TransportKind::kNccl ||
               bucket.via.transport == TransportKind::kShm,
           "a bucket that is no message");
    for (ValueId id : bucket.values) {
      const Value& value = Get(id);
      Expect(
          value.home.valid() && value.home != bucket.to && value.home == Get(bucket.values[0]).home,
          id, ": not on the way of its bucket");
      Expect(value.storage != Value::kState && IsStatic(value.type), id,
             ": a state, or of unknown extents, in a bucket");
    }
  }
  static bool IsStatic(const graph::Type& type) {
    return std::none_of(type.dims.begin(), type.dims.end(),
                        [](const graph::Dim& dim) { return dim.symbol.valid(); });
  }

  void CheckCall(const graph::Call& call) {
    Expect(module_.devices.Contains(call.device), call.method, ": no device");
    Expect(call.indices.size() == call.index_names.size(), call.method, ": indices without names");
    if (!call.instance.valid()) return;
    Expect(module_.instances.Contains(call.instance), call.method, ": no instance");
    Expect(module_.instances[call.instance].device == call.device, call.method,
           ": not on its instance's device");
  }

  // Checks what a call is derived of. Both halves belong to a place, and follow their forward call.
  void CheckDerived(graph::CallId id) {
    const graph::Call& call = graph_.calls[id];
    Expect(!call.derived_from.valid() || call.derived_from < id, id,
           ": derived of a call that is made later");
    // Calls that are ops are left out: a rewrite may have replaced them.
    const bool of_method = call.derived_from.valid() && call.instance.valid();
    Expect(!of_method || graph_.calls[call.derived_from].method == call.forward_method, id,
           ": derived of a call of another method");
    Expect(call.half == Half::kWhole || call.instance.valid(), id, ": a half of no method");
    Expect(!call.recompute || call.instance.valid(), id, ": recomputes no method");
  }

  void CheckSymbol(const graph::Symbol& symbol) {
    const Value& extent = Get(symbol.extent);
    Expect(extent.type == graph::Type{DType::kI64, {}}, symbol.name, ": the extent is not an i64");
  }

  void CheckValue(ValueId id) {
    const Value& value = graph_.values[id];
    for (const graph::Dim& dim : value.type.dims) {
      Expect(dim.extent >= 0, id, ": a negative extent");
      if (!dim.symbol.valid()) continue;
      Expect(graph_.symbols.Contains(dim.symbol), id, ": no such symbol");
      Expect(graph_.symbols[dim.symbol].bound == dim.extent, id, ": not the symbol's bound");
    }
    if (value.storage == Value::kConstant) {
      Expect(!value.home.valid(), id, ": a constant has no home");
      Expect(static_cast<int64_t>(value.constant.size()) == value.type.bytes(), id,
             ": a constant of the wrong size");
      return;
    }
    Expect(module_.devices.Contains(value.home), id, ": no home");
    if (value.base.valid()) {
      const Value& base = Get(value.base);
      Expect(!base.base.valid(), id, ": a view of a view");
      Expect(base.storage == value.storage && base.home == value.home && base.state == value.state,
             id, ": a view is stored where its base is");
      Expect(value.offset >= 0 && value.offset + value.type.bytes() <= base.type.bytes(), id,
             ": a view outside its base");
      return;
    }
    Expect(value.storage != Value::kTemporary || graph_.ops.Contains(value.producer), id,
           ": a temporary that nothing makes");
    if (value.storage == Value::kState) {
      Expect(module_.states.Contains(value.state), id, ": no such state");
      const graph::State& state = module_.states[value.state];
      const int64_t end = value.offset + value.type.bytes();
      Expect(IsPart(value) ? value.offset >= 0 && end <= state.type.bytes() : value.offset == 0, id,
             ": not the state's type");
      Expect(value.home == module_.instances[state.instance].device, id, ": away from its actor");
    }
  }

  // Returns whether a value is what was written into a part of a state.
  bool IsPart(const Value& value) const {
    return !value.base.valid() && value.producer.valid() &&
           value.type != module_.states[value.state].type;
  }

  // Checks that a value can be read here; a state only by the value that it holds now.
  template <typename Where>
  void CheckRead(ValueId id, const Where& where) {
    const Value& value = Get(id);
    ValueId root_id = value.base.valid() ? value.base : id;
    const Value& root = Get(root_id);
    Expect(!root.producer.valid() || made_[root_id.index], where, " reads ", id,
           " before it is made");
    if (root.storage != Value::kState || IsPart(root)) return;
    auto [current, is_new] = current_.try_emplace(root.state, root_id);
    Expect(current->second == root_id, where, " reads a state that has been overwritten");
  }

  void CheckOp(graph::OpId id) {
    const graph::Op& op = graph_.ops[id];
    Expect(graph_.calls.Contains(op.call), id, ": no call");
    const graph::Call& call = graph_.calls[op.call];
    Expect(op.device == call.device, id, ": not on its call's device");
    if (op.call != last_call_) {
      Expect(!last_call_.valid() || op.call > last_call_, id, ": its call's ops are scattered");
      last_call_ = op.call;
      committed_ = false;
    }
    if (op.collective) CheckCollective(id);
    for (const graph::Use& operand : op.operands) {
      CheckRead(operand.value, id);
      CheckOwner(operand.value, call, id);
    }
    Expect(!op.fails || !committed_, id, ": may fail after its call has written state");
    for (auto [operand, result] : op.inplace) {
      Expect(operand >= 0 && operand < static_cast<int>(op.operands.size()) && result >= 0 &&
                 result < static_cast<int>(op.results.size()),
             id, ": inplace of operands that it does not have");
    }
    for (ValueId result : op.results) {
      const Value& value = Get(result);
      Expect(value.producer == id && !made_[result.index], id, ": makes a value of another op");
      Expect((op.collective || value.home == op.device) && !value.base.valid(), id,
             ": its result is elsewhere");
      made_[result.index] = true;
      if (value.storage != Value::kState) continue;
      CheckOwner(result, call, id);
      Expect(&graph_ == &module_.start || module_.states[value.state].written, id,
             ": writes a state that is said not to be written");
      committed_ = true;
      if (!IsPart(value)) current_[value.state] = result;
    }
  }

  void CheckCollective(graph::OpId id) {
    const graph::Op& op = graph_.ops[id];
    using Traits = CollectiveTraits;
    const graph::Collective& collective = *op.collective;
    const Traits& traits = TraitsOf(collective.kind);
    const size_t members = collective.participants.size();
    Expect(members > 0 && collective.root < members, id, ": no such root");
    Expect(op.device == collective.participants[collective.root], id, ": not at its root");
    const std::set<graph::DeviceId> devices(collective.participants.begin(),
                                            collective.participants.end());
    Expect(devices.size() == members, id, ": a participant twice");
    Expect(collective.reduction.has_value() == traits.reduces, id, ": a reduction out of place");
    const size_t givers = traits.from == Traits::kEach ? members : 1;
    const size_t takers = traits.to == Traits::kEach ? members : 1;
    Expect(op.operands.size() % givers == 0 && op.results.size() % takers == 0 &&
               op.operands.size() / givers == op.results.size() / takers,
           id, ": participants with other numbers of tensors");
    for (size_t i = 0; i < op.results.size(); ++i) {
      const size_t rank =
          traits.to == Traits::kEach ? i / (op.results.size() / members) : collective.root;
      Expect(Get(op.results[i]).home == collective.participants[rank], id,
             ": a result away from its participant");
    }
  }

  // Checks that a state is touched by its own actor's calls. What no graph writes others may read.
  void CheckOwner(ValueId touched, const graph::Call& call, graph::OpId id) {
    const Value& value = graph_.values[touched];
    if (value.storage != Value::kState) return;
    const bool own = module_.states[value.state].instance == call.instance;
    Expect(own || !module_.states[value.state].written, id, ": touches another actor's state");
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const char* const phase_;
  std::vector<bool> made_;
  std::map<graph::StateId, ValueId> current_;
  graph::CallId last_call_;
  bool committed_ = false;
};

}  // namespace

void Validate(const graph::Module& module, const char* phase) {
  CGRAPH_CHECK(
      !module.devices.empty() && module.devices[graph::DeviceId(0)].kind == DeviceKind::kCaller,
      phase, "device0 is not the caller");
  for (graph::InstanceId id : module.instances.Ids()) {
    for (graph::StateId state : module.instances[id].states) {
      CGRAPH_CHECK(module.states.Contains(state) && module.states[state].instance == id, phase,
                   "a state of another instance");
    }
  }
  GraphValidator(module, module.start, phase).Run();
  for (const graph::Graph& graph : module.graphs) GraphValidator(module, graph, phase).Run();
}

}  // namespace cgraph

#include "tests/support/modules/random_modules.h"

#include <algorithm>
#include <random>

#include "compiler/graph/transports.h"
#include "tests/support/modules/module_builder.h"

namespace cgraph::graph::testing {
namespace {

class RandomGraph {
 public:
  RandomGraph(ModuleBuilder& module, GraphMaker& graph, std::mt19937& random)
      : module_(module), graph_(graph), random_(random) {}

  void Fill() {
    const int inputs = Below(4);
    Dim symbol;
    for (int i = 0; i < inputs; ++i) {
      if (Below(3) == 0) {
        if (!symbol.symbol.valid() || Below(2)) symbol = graph_.TakenSymbol("n", 8);
        Know(graph_.Input("x", Floats({symbol, D(4)})));
      } else if (Below(3) == 0) {
        numbers_.push_back(graph_.Input("k", Number()));
      } else {
        Know(graph_.Input("x", Floats({D(Below(4)), D(4)})));
      }
    }
    if (Below(3) == 0) Know(graph_.Constant(Floats({D(2), D(4)})));
    const int calls = 1 + Below(12);
    for (int i = 0; i < calls; ++i) {
      if (Below(5) == 0) Collective();
      else Call();
    }
    const int outputs = Below(4);
    for (int i = 0; i < outputs && !values_.empty(); ++i) {
      const ValueId value = Pick(values_);
      graph_.Output("y", value, Via(value, DeviceId(0)));
    }
    for (ValueId value : snapshots_) {
      if (Below(2)) graph_.Output("s", value, Via(value, DeviceId(0)));
    }
    for (ValueId value : numbers_) {
      if (Below(4) == 0) graph_.Output("k", value, Via(value, DeviceId(0)));
    }
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }
  template <typename T>
  T Pick(const std::vector<T>& items) { return items[Below(static_cast<int>(items.size()))]; }
  void Know(ValueId value) { values_.push_back(value); }
  const Value& Get(ValueId value) { return graph_.graph().values[value]; }

  // Returns how a value may be asked to travel to a device.
  TransportKind Via(ValueId id, DeviceId to) {
    using enum TransportKind;
    static constexpr TransportKind kAll[] = {kAuto, kAuto, kAuto, kLocal, kShm, kNccl, kHost};
    const Value& value = Get(id);
    if (value.storage == Value::kConstant) return kAuto;
    const TransportKind via = kAll[Below(7)];
    return ChooseTransport(module_.module(), value.home, to, via).possible ? via : kAuto;
  }

  Use UseOf(ValueId value) {
    return {.value = value, .via = {.transport = Via(value, graph_.device())}};
  }

  void Call() {
    const bool method = !module_.module().instances.empty() && Below(5) > 0;
    std::vector<StateId> states;
    if (method) {
      const InstanceId instance(Below(static_cast<int>(module_.module().instances.size())));
      graph_.Call(instance, "run");
      states = module_.module().instances[instance].states;
    } else {
      graph_.Alone(DeviceId(Below(static_cast<int>(module_.module().devices.size()))));
    }
    std::vector<ValueId> local;
    const int ops = method ? 1 + Below(4) : 1;
    for (int i = 0; i < ops; ++i) local.push_back(OneOp(local, states));
    if (method && !states.empty() && Below(2)) WriteState(local, Pick(states));
    for (ValueId value : local) {
      if (Below(2)) Know(value);
    }
    if (Below(6) == 0) AddView();
    if (!states.empty() && Below(8) == 0) snapshots_.push_back(graph_.Read(Pick(states)));
  }

  ValueId OneOp(const std::vector<ValueId>& local, const std::vector<StateId>& states) {
    std::vector<Use> operands;
    Type type = Floats({D(1 + Below(3)), D(4)});
    const int count = Below(4);
    for (int i = 0; i < count; ++i) {
      const int from = Below(4);
      if (from == 0 && !local.empty()) {
        operands.push_back({.value = Pick(local)});
      } else if (from == 1 && !states.empty()) {
        operands.push_back({.value = graph_.Read(Pick(states))});
      } else if (!values_.empty()) {
        operands.push_back(UseOf(Pick(values_)));
        // The results' extents may only be those that the op reads, or that its operands have.
        if (Below(2)) type = Get(operands.back().value).type;
      }
    }
    if (!numbers_.empty() && Below(3) == 0) {
      const ValueId length = Pick(numbers_);
      operands.push_back(UseOf(length));
      if (Below(2)) type = Floats({graph_.Symbol("m", 6, length), D(4)});
    }
    const ValueId result = graph_.Op("op", std::move(operands), type);
    // Every op is another kernel, so that none can stand for another unnoticed.
    graph_.last_op().attributes = {{"id", static_cast<int64_t>(graph_.graph().ops.size())}};
    graph_.last_op().fails = Below(4) == 0;
    if (Below(8) == 0) {
      const ValueId number = graph_.Op("count", {result}, Number());
      numbers_.push_back(number);
    }
    return result;
  }

  // Adds a collective of some devices, in some order, with some tensors each.
  void Collective() {
    using Traits = CollectiveTraits;
    graph::Collective collective;
    collective.kind = static_cast<CollectiveKind>(Below(9));
    const Traits& traits = TraitsOf(collective.kind);
    if (traits.reduces) collective.reduction = static_cast<Reduction>(Below(5));
    for (DeviceId id : module_.module().devices.Ids()) {
      if (Below(2)) collective.participants.push_back(id);
    }
    if (collective.participants.empty()) collective.participants.push_back(DeviceId(0));
    std::shuffle(collective.participants.begin(), collective.participants.end(), random_);
    const int members = static_cast<int>(collective.participants.size());
    if (traits.rooted()) collective.root = Below(members);
    const TransportKind via =
        Pick(std::vector{TransportKind::kAuto, TransportKind::kShm, TransportKind::kHost});
    const bool serves =
        ChooseGroupTransport(module_.module(), collective.participants, via).possible;
    collective.via = serves ? via : TransportKind::kAuto;
    std::vector<Type> given;
    const int tensors = traits.from == Traits::kNobody ? 0 : 1 + Below(2);
    for (int t = 0; t < tensors; ++t) given.push_back(Floats({D(members * Below(3)), D(4)}));
    std::vector<Use> operands;
    for (int rank = 0; rank < members; ++rank) {
      const bool gives =
          traits.from == Traits::kEach ||
          (traits.from == Traits::kRoot && rank == static_cast<int>(collective.root));
      // The value that a root gives may live elsewhere.
      const bool far = traits.from == Traits::kRoot && Below(3) == 0;
      graph_.Alone(far ? DeviceId(0) : collective.participants[rank]);
      for (int t = 0; gives && t < tensors; ++t) {
        std::vector<Use> from;
        if (!values_.empty()) from.push_back(UseOf(Pick(values_)));
        operands.push_back({.value = graph_.Op("give", from, given[t])});
        graph_.last_op().attributes = {{"id", static_cast<int64_t>(graph_.graph().ops.size())}};
        graph_.last_op().fails = Below(4) == 0;
      }
    }
    std::vector<Type> got;
    const int takers = traits.to == Traits::kEach ? members : traits.to == Traits::kRoot ? 1 : 0;
    for (int i = 0; i < takers * tensors; ++i) {
      Type type = given[i % tensors];
      if (traits.rows == Traits::kOver) type.dims[0].extent /= members;
      if (traits.rows == Traits::kTimes) type.dims[0].extent *= members;
      got.push_back(type);
    }
    for (ValueId result : graph_.Collective(std::move(collective), std::move(operands), got)) {
      if (Below(2)) Know(result);
    }
  }

  void WriteState(const std::vector<ValueId>& local, StateId state) {
    const ValueId value = graph_.Op("narrow", {local.back()}, Floats({D(4)}));
    graph_.Write(state, value);
  }

  void AddView() {
    if (values_.empty()) return;
    const ValueId base = Pick(values_);
    const Value& value = Get(base);
    const bool rows = value.type.dims.size() == 2 && !value.type.dims[0].symbol.valid() &&
                      value.type.dims[0].extent > 0 && !value.base.valid();
    if (rows && value.storage != Value::kState) {
      Know(graph_.View(base, 16 * (value.type.dims[0].extent - 1), Floats({D(4)})));
    }
  }

  ModuleBuilder& module_;
  GraphMaker& graph_;
  std::mt19937& random_;
  std::vector<ValueId> values_;   // tensors that any call may read
  std::vector<ValueId> numbers_;  // i64 scalars
  std::vector<ValueId> snapshots_;  // versions of state, to be given out
};

}  // namespace

Module RandomModule(uint32_t seed, uint32_t nodes) {
  std::mt19937 random(seed), of_nodes(~seed);
  const auto below = [&](uint32_t n) { return random() % n; };
  ModuleBuilder module;
  const uint32_t devices = 1 + below(4);
  for (uint32_t i = 0; i < devices; ++i) {
    module.Device(below(2) ? DeviceKind::kGpu : DeviceKind::kCpu, i, of_nodes() % nodes);
  }
  const uint32_t actors = below(5);
  for (uint32_t i = 0; i < actors; ++i) {
    const std::vector<std::string> states(below(3), "s");
    module.Actor("a", DeviceId(below(devices + 1)), states);
  }
  const uint32_t graphs = 1 + below(3);
  for (uint32_t i = 0; i < graphs; ++i) {
    GraphMaker& graph = module.Graph("g" + std::to_string(i), 1 + below(4));
    if (below(3) == 0) graph.graph().overlap = below(2) == 1;
    RandomGraph(module, graph, random).Fill();
  }
  return module.Build();
}

}  // namespace cgraph::graph::testing

#include "compiler/elaborate/expressions/evaluate.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {

Value EvaluateVia(ElaborationContext& elaboration, program::ExprId base,
                  const TransportRequest& via, Frame& frame, Expected expected) {
  const program::Expr& expr = elaboration.program.exprs[base];
  if (const auto* collective = std::get_if<program::CallCollective>(&expr.node)) {
    return Step(elaboration, expr.range) ? CallCollective(elaboration, *collective, via.transport,
                                                          {frame, expr.range, expected})
                                         : Value();
  }
  return WithVia(elaboration, expr.range, Evaluate(elaboration, base, frame, expected), via);
}

Value Eval(ElaborationContext& elaboration, const program::Via& e, const Context& context) {
  return EvaluateVia(elaboration, e.base, JourneyOf(elaboration, e.route), context.frame,
                     context.expected);
}

namespace {

// Returns the expression that `expr via t after y` modifies.
const program::Expr& WithoutModifiers(const program::Program& program, program::ExprId id) {
  while (true) {
    const program::Expr& expr = program.exprs[id];
    if (const auto* via = std::get_if<program::Via>(&expr.node)) {
      id = via->base;
    } else if (const auto* after = std::get_if<program::After>(&expr.node)) {
      id = after->base;
    } else {
      return expr;
    }
  }
}

// Warns where `on` places no op: `a[0].f(x) on gpu[1]` and `x on gpu[1]` read as if the call or the
// value went there. An expression that makes no op for another reason, such as a loop's turn that
// does nothing, is no mistake.
void WarnOfNothingPlaced(ElaborationContext& elaboration, const program::On& e, const Value& base,
                         graph::DeviceId device, const Context& context) {
  const auto name_of = [&](graph::DeviceId id) {
    return DeviceName(elaboration.module.devices[id]);
  };
  const program::Expr& expr = WithoutModifiers(elaboration.program, e.base);
  if (const auto* call = std::get_if<program::CallMethod>(&expr.node)) {
    const Value receiver = Evaluate(elaboration, call->receiver, context.frame);
    const graph::InstanceId* id = receiver.As<graph::InstanceId>();
    if (id == nullptr || elaboration.module.instances[*id].device == device) return;
    const graph::Instance& instance = elaboration.module.instances[*id];
    Report(elaboration, Code::kW0601, context.range,
           fmt::format("`on {}` places nothing here: a method runs where its actor is, and `{}` is "
                       "on {}",
                       name_of(device), instance.name, name_of(instance.device)))
        .AddNote(instance.range, "placed here");
    return;
  }
  if (!std::holds_alternative<program::LocalRef>(expr.node)) return;
  MapLeaves(elaboration, context.range, base, [&](const Value& leaf) {
    const graph::DeviceId home = elaboration.builder->value(leaf.As<Tensor>()->value).home;
    if (home.valid() && home != device) {
      Report(elaboration, Code::kW0601, context.range,
             fmt::format("`on {}` places nothing here: it is for ops, and this value is there "
                         "already, on {}; a value travels by itself to where it is used",
                         name_of(device), name_of(home)));
    }
    return leaf;
  });
}

}  // namespace

Value Eval(ElaborationContext& elaboration, const program::On& e, const Context& context) {
  Value where = Evaluate(elaboration, e.where, context.frame);
  if (where.poisoned()) return where;
  std::optional<graph::DeviceId> device =
      DeviceOf(elaboration, where, elaboration.program.exprs[e.where].range);
  if (!device) return Value();
  if (elaboration.method && elaboration.method->call.device != *device) {
    Report(elaboration, Code::kE0603, context.range,
           fmt::format("a method's ops run where its actor is, on {}; `on` belongs outside methods",
                       DeviceName(elaboration.module.devices[elaboration.method->call.device])));
    return Value();
  }
  const int64_t before = elaboration.ops_placed;
  Value base;
  {
    llvm::SaveAndRestore<std::optional<graph::DeviceId>> nearer(elaboration.on, device);
    base = Evaluate(elaboration, e.base, context.frame, context.expected);
  }
  if (elaboration.ops_placed == before && !base.poisoned()) {
    WarnOfNothingPlaced(elaboration, e, base, *device, context);
  }
  return base;
}

// Returns the devices of a call: that of its instance, or all participants of a collective.
std::vector<graph::DeviceId> DevicesOf(const graph::Graph& graph, graph::CallId id) {
  const auto op = std::partition_point(graph.ops.begin(), graph.ops.end(),
                                       [&](const graph::Op& other) { return other.call < id; });
  const bool collective = op != graph.ops.end() && op->call == id && op->collective;
  return collective ? op->collective->participants : std::vector{graph.calls[id].device};
}

// Returns two devices, one of each list, that are on different machines. If there are any, the
// first of one of the lists is one of them.
std::optional<std::pair<graph::DeviceId, graph::DeviceId>> OnTwoMachines(
    const graph::Module& module, const std::vector<graph::DeviceId>& from,
    const std::vector<graph::DeviceId>& to) {
  const auto elsewhere = [&](const std::vector<graph::DeviceId>& devices, graph::DeviceId than) {
    const auto found = llvm::find_if(devices, [&](graph::DeviceId device) {
      return module.devices[device].node != module.devices[than].node;
    });
    return found == devices.end() ? graph::DeviceId() : *found;
  };
  const graph::DeviceId before = elsewhere(from, to[0]), later = elsewhere(to, from[0]);
  if (later.valid()) return std::pair(from[0], later);
  return before.valid() ? std::optional(std::pair(before, to[0])) : std::nullopt;
}

// Refuses an order of calls on different machines: only values go from one to another. A collective
// is on the machines of all its participants.
void CheckOneMachine(ElaborationContext& elaboration, const std::vector<graph::CallId>& before,
                     size_t first_later, Range range) {
  const graph::Graph& graph = elaboration.builder->graph();
  for (size_t later = first_later; later < graph.calls.size(); ++later) {
    const std::vector<graph::DeviceId> later_devices = DevicesOf(graph, graph::CallId(later));
    for (graph::CallId earlier : before) {
      const auto apart =
          OnTwoMachines(elaboration.module, DevicesOf(graph, earlier), later_devices);
      if (!apart) continue;
      Report(elaboration, Code::kE0602, range,
             fmt::format("`after` orders calls on {} and on {}, which are different machines: only "
                         "values go from one to the other; pass the later call a value of the "
                         "earlier one",
                         DeviceName(elaboration.module.devices[apart->first]),
                         DeviceName(elaboration.module.devices[apart->second])));
      return;
    }
  }
}

// The op that made `done` comes first in program order too, so that it can be waited for.
Value Eval(ElaborationContext& elaboration, const program::After& e, const Context& context) {
  if (!elaboration.builder || elaboration.method) return Value();  // Check has refused it
  const graph::Graph& graph = elaboration.builder->graph();
  const size_t before_done = graph.calls.size();
  Value done = Evaluate(elaboration, e.done, context.frame);
  if (done.poisoned()) return done;
  std::vector<graph::CallId> calls = elaboration.after;
  MapLeaves(elaboration, context.range, done, [&](const Value& leaf) {
    const graph::OpId producer = elaboration.builder->value(leaf.As<Tensor>()->value).producer;
    if (producer.valid()) calls.push_back(graph.ops[producer].call);
    return leaf;
  });
  const Tuple* nothing = done.As<Tuple>();
  if (nothing && nothing->items->values.empty()) {  // a call without a result: what it did
    for (size_t i = before_done; i < graph.calls.size(); ++i) calls.push_back(graph::CallId(i));
  }
  llvm::sort(calls);
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  if (!Step(elaboration, context.range, calls.size())) return Value();
  const size_t before_base = graph.calls.size();
  Value base;
  {
    llvm::SaveAndRestore<std::vector<graph::CallId>> later(elaboration.after, calls);
    base = Evaluate(elaboration, e.base, context.frame, context.expected);
  }
  if (base.poisoned()) return base;
  if (graph.calls.size() > before_base) {
    CheckOneMachine(elaboration, calls, before_base, context.range);
    return base;
  }
  Report(
      elaboration, Code::kE0532, context.range,
      "`after` holds back the calls and ops of its expression, and this has none; write it where "
      "the value is made");
  return Value();
}

}  // namespace cgraph::elaborate

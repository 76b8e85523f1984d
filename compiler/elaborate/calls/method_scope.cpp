#include "compiler/elaborate/calls/method_scope.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

Tensor Snapshot(ElaborationContext& elaboration, MethodScope& scope, const Tensor& tensor) {
  graph::Use use{tensor.value, tensor.via, tensor.use.valid() ? tensor.use : scope.call.site};
  CheckTransport(elaboration, use, scope.call.device);
  const Tensor copy{elaboration.builder->AddCopy(CallOf(elaboration, scope), use, scope.call.site)};
  RecordCopy(elaboration, tensor, copy.value, {}, scope.call.site);
  return copy;
}

}  // namespace

graph::Call MakeCall(ElaborationContext& elaboration, graph::InstanceId instance,
                     std::string method, graph::DeviceId device, Range site) {
  graph::Call call;
  call.instance = instance;
  call.method = std::move(method);
  call.device = device;
  call.site = site;
  call.after = elaboration.after;
  if (elaboration.derived != nullptr) {
    call.indices = elaboration.derived->indices;
    call.index_names = elaboration.derived->index_names;
    call.derived_from = elaboration.derived->forward;
    if (call.derived_from.valid()) {
      call.forward_method = elaboration.builder->graph().calls[call.derived_from].method;
    }
    return call;
  }
  for (const Backtrace::Loop& loop : elaboration.backtrace.loops) {
    const std::optional<Value>& value = loop.frame->locals[loop.local.index];
    const int64_t* index = value ? value->As<int64_t>() : nullptr;
    if (!index) continue;
    if (*index < -kMaxCallIndex || *index > kMaxCallIndex) {
      Report(
          elaboration, Code::kE0511, site,
          fmt::format("calls are told apart by the loop variables around them, from -{0} to {0}; "
                      "`{1}` is {2} here",
                      kMaxCallIndex, *loop.name, *index));
      continue;
    }
    call.indices.push_back(*index);
    call.index_names.push_back(*loop.name);
  }
  return call;
}

graph::CallId CallOf(ElaborationContext& elaboration, MethodScope& scope) {
  if (!scope.call_id.valid()) scope.call_id = elaboration.builder->AddCall(scope.call);
  return scope.call_id;
}

Value LeaveMethod(ElaborationContext& elaboration, MethodScope& scope, const Value& result) {
  OrderedMap<graph::ValueId, Tensor> snapshots;
  Value left = MapLeaves(elaboration, scope.call.site, result, [&](const Value& leaf) {
    const Tensor& tensor = *leaf.As<Tensor>();
    const graph::Value& value = elaboration.builder->value(tensor.value);
    bool made_here = value.storage == graph::Value::kTemporary && scope.call_id.valid() &&
                     elaboration.builder->graph().ops[value.producer].call == scope.call_id;
    if (made_here) return Value(Tensor{tensor.value, tensor.via, {}});
    auto [known, is_new] = snapshots.insert({tensor.value, Tensor()});
    if (is_new) known->second = Snapshot(elaboration, scope, tensor);
    return Value(known->second);
  });
  CommitStates(elaboration, scope);
  return left;
}

void CommitStates(ElaborationContext& elaboration, MethodScope& scope) {
  // A state that is assigned to another, and is itself assigned, is read before it is overwritten.
  for (auto& [state, tensor] : scope.pending) {
    if (tensor.value == elaboration.builder->CurrentState(state)) continue;
    const graph::Value& value = elaboration.builder->value(tensor.value);
    bool overwritten = value.storage == graph::Value::kState && scope.pending.count(value.state);
    if (overwritten) tensor = Snapshot(elaboration, scope, tensor);
  }
  for (auto& [state, tensor] : scope.pending) {
    if (tensor.value == elaboration.builder->CurrentState(state)) continue;  // w = w
    graph::Use use{tensor.value, tensor.via, tensor.use.valid() ? tensor.use : scope.call.site};
    CheckTransport(elaboration, use, scope.call.device);
    elaboration.builder->Commit(CallOf(elaboration, scope), state, use, scope.call.site);
    RecordCopy(elaboration, tensor, elaboration.builder->CurrentState(state), state,
               scope.call.site);
  }
}

}  // namespace cgraph::elaborate

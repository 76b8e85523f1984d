#include "compiler/elaborate/calls/method_scope.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/places/routes.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/work.h"

namespace cgraph::elaborate {
namespace {

Tensor Snapshot(Work& work, MethodScope& scope, const Tensor& tensor) {
  graph::Use use{tensor.value, tensor.via, tensor.use.valid() ? tensor.use : scope.call.site};
  CheckTransport(work, use, scope.call.device);
  return Tensor{work.builder->AddCopy(CallOf(work, scope), use, scope.call.site)};
}

}  // namespace

graph::Call MakeCall(Work& work, graph::InstanceId instance, std::string method,
                     graph::DeviceId device, Range site) {
  graph::Call call;
  call.instance = instance;
  call.method = std::move(method);
  call.device = device;
  call.site = site;
  call.after = work.after;
  for (const Trail::Loop& loop : work.trail.loops) {
    const std::optional<Value>& value = loop.frame->locals[loop.local.index];
    const int64_t* index = value ? value->As<int64_t>() : nullptr;
    if (!index) continue;
    if (*index < -kMaxCallIndex || *index > kMaxCallIndex) {
      Report(
          work, Code::kE0511, site,
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

graph::CallId CallOf(Work& work, MethodScope& scope) {
  if (!scope.call_id.valid()) scope.call_id = work.builder->AddCall(scope.call);
  return scope.call_id;
}

Value LeaveMethod(Work& work, MethodScope& scope, const Value& result) {
  OrderedMap<graph::ValueId, Tensor> snapshots;
  Value left = MapLeaves(result, [&](const Value& leaf) {
    const Tensor& tensor = *leaf.As<Tensor>();
    const graph::Value& value = work.builder->value(tensor.value);
    bool made_here = value.storage == graph::Value::kTemporary && scope.call_id.valid() &&
                     work.builder->graph().ops[value.producer].call == scope.call_id;
    if (made_here) return Value(Tensor{tensor.value, tensor.via, {}});
    auto [known, is_new] = snapshots.insert({tensor.value, Tensor()});
    if (is_new) known->second = Snapshot(work, scope, tensor);
    return Value(known->second);
  });
  CommitStates(work, scope);
  return left;
}

void CommitStates(Work& work, MethodScope& scope) {
  // A state that is assigned to another, and itself assigned, is read before it is overwritten.
  for (auto& [state, tensor] : scope.pending) {
    if (tensor.value == work.builder->CurrentState(state)) continue;
    const graph::Value& value = work.builder->value(tensor.value);
    bool overwritten = value.storage == graph::Value::kState && scope.pending.count(value.state);
    if (overwritten) tensor = Snapshot(work, scope, tensor);
  }
  for (auto& [state, tensor] : scope.pending) {
    if (tensor.value == work.builder->CurrentState(state)) continue;  // w = w
    graph::Use use{tensor.value, tensor.via, tensor.use.valid() ? tensor.use : scope.call.site};
    CheckTransport(work, use, scope.call.device);
    work.builder->Commit(CallOf(work, scope), state, use, scope.call.site);
  }
}

}  // namespace cgraph::elaborate

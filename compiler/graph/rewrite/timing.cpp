#include "compiler/graph/rewrite/timing.h"

#include <algorithm>

#include "compiler/cost/formulas.h"
#include "compiler/graph/names.h"
#include "compiler/graph/rewrite/passes.h"

namespace cgraph::graph {

Timing::Timing(const Module& module, const RewriteOptions& options, const Graph& graph)
    : module_(module),
      options_(options),
      graph_(graph),
      costs_(options.topology),
      times_(graph.calls.size()) {
  FindOps();
  Forward();
  Backward();
}

uint64_t Timing::StartWithout(CallId call, CallId maker) const {
  const Times& times = times_[call.index];
  const Arrival& other = times.last.maker == maker ? times.next : times.last;
  return std::max(times.free, other.time);
}

void Timing::FindOps() {
  for (OpId id : graph_.ops.Ids()) {
    Times& times = times_[graph_.ops[id].call.index];
    if (times.ops++ == 0) times.first_op = id.index;
  }
}

void Timing::Forward() {
  std::vector<uint64_t> free(module_.devices.size(), 0);
  for (CallId id : graph_.calls.Ids()) {
    const Call& call = graph_.calls[id];
    Times& times = times_[id.index];
    bool collective = false;
    for (uint32_t i = 0; i < times.ops; ++i) {
      const Op& op = graph_.ops[OpId(times.first_op + i)];
      collective |= op.collective.has_value();
      for (size_t at = 0; at < op.operands.size(); ++at) {
        const CallId maker = MakerOf(graph_, op.operands[at].value);
        if (maker == id) continue;
        const uint64_t made = maker.valid() ? times_[maker.index].end : 0;
        Arrive(times, maker, made + EdgeTime(op.operands[at], ReaderOf(op, at)));
      }
    }
    for (CallId before : call.after) Arrive(times, before, times_[before.index].end);
    // A collective has a lane of its own.
    times.free = collective ? 0 : free[call.device.index];
    times.duration = Duration(call, times);
    times.end = std::max(times.free, times.last.time) + times.duration;
    if (!collective) free[call.device.index] = times.end;
  }
}

void Timing::Arrive(Times& times, CallId maker, uint64_t time) const {
  if (maker == times.last.maker) {
    times.last.time = std::max(times.last.time, time);
  } else if (time >= times.last.time) {
    times.next = times.last;
    times.last = {maker, time};
  } else if (time > times.next.time) {
    times.next = {maker, time};
  }
}

void Timing::Backward() {
  std::vector<uint64_t> following(module_.devices.size(), 0);  // what each device does then
  for (size_t i = times_.size(); i-- > 0;) {
    const CallId id(i);
    const Call& call = graph_.calls[id];
    Times& times = times_[i];
    bool collective = false;
    for (uint32_t k = 0; k < times.ops; ++k) {
      collective |= graph_.ops[OpId(times.first_op + k)].collective.has_value();
    }
    uint64_t& next = following[call.device.index];
    if (!collective) times.remaining = std::max(times.remaining, next);
    times.remaining += times.duration;
    if (!collective) next = times.remaining;
    const auto follow = [&](CallId maker, uint64_t time) {
      if (!maker.valid() || maker == id) return;
      uint64_t& remaining = times_[maker.index].remaining;
      remaining = std::max(remaining, time + times.remaining);
    };
    for (uint32_t k = 0; k < times.ops; ++k) {
      const Op& op = graph_.ops[OpId(times.first_op + k)];
      for (size_t at = 0; at < op.operands.size(); ++at) {
        follow(MakerOf(graph_, op.operands[at].value), EdgeTime(op.operands[at], ReaderOf(op, at)));
      }
    }
    for (CallId before : call.after) follow(before, 0);
  }
}

uint64_t Timing::Duration(const Call& call, const Times& times) const {
  cost::CallTimes profiled(options_.profile, NameOf(module_, call));
  uint64_t duration = 0;
  for (uint32_t i = 0; i < times.ops; ++i) {
    const Op& op = graph_.ops[OpId(times.first_op + i)];
    const DType dtype = op.results.empty() ? DType::kF32 : graph_.values[op.results[0]].type.dtype;
    duration += profiled.Next(
        op.collective ? CollectiveTime(op)
                      : costs_.Kernel(module_.devices[op.device], op.flops, op.bytes, dtype));
  }
  return duration;
}

uint64_t Timing::CollectiveTime(const Op& op) const {
  int64_t bytes = 0;  // what one gives
  for (size_t at = 0; at < op.operands.size(); ++at) {
    if (ReaderOf(op, at) == op.device) bytes += graph_.values[op.operands[at].value].type.bytes();
  }
  const bool gpus = std::all_of(op.collective->participants.begin(),
                                op.collective->participants.end(),
                                [&](DeviceId id) { return IsGpu(id); });
  std::vector<LogicalDevice> participants;
  for (DeviceId id : op.collective->participants) {
    participants.push_back(module_.devices[id]);
  }
  const TransportKind by = gpus ? TransportKind::kNccl : TransportKind::kShm;
  return costs_.Collective(op.collective->kind, participants, by, bytes, op.collective->root).ps;
}

uint64_t Timing::EdgeTime(const Use& use, DeviceId to) const {
  const DeviceId from = graph_.values[RootOf(graph_, use.value)].home;
  if (!from.valid() || from == to) return 0;
  const int64_t bytes = graph_.values[use.value].type.bytes();
  if (const auto message = MessageOf(module_, from, to, use.via.transport)) {
    return cost::TransferPicoseconds(LinkOf(module_, costs_, from, to, *message), bytes);
  }
  if (module_.devices[from].node != module_.devices[to].node ||
      use.via.transport == TransportKind::kMpi) {
    const LogicalDevice &source = module_.devices[from], &target = module_.devices[to];
    return costs_.Message(source, target, TransportKind::kShm, bytes).ps;
  }
  const bool copied = use.via.transport == TransportKind::kHost || IsGpu(from) || IsGpu(to);
  if (!copied) {
    return costs_.RemoteRead(module_.devices[to], module_.devices[from], bytes);
  }
  const DeviceId lane = IsGpu(from) || !IsGpu(to) ? from : to;
  if (!IsGpu(lane)) return cost::TransferPicoseconds(costs_.topology().host, bytes);
  return costs_.Copy(module_.devices[lane], module_.devices[from], module_.devices[to], bytes).ps;
}

}  // namespace cgraph::graph

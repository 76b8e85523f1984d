#include "runtime/execute/exchange.h"

#include <algorithm>

#include "runtime/base/wait_point.h"
#include "runtime/device/operations.h"
#include "runtime/transport/local/local_channel.h"
#include "runtime/transport/local/local_collective.h"

namespace cgraph::engine {

bool Exchange::Try(LoadedGraph& graph, const StepList& program, const Step& step, uint64_t round,
                   uint32_t frame) {
  const At at{program, round};
  bool all = true;
  for (uint32_t i = 0; i < step.operands.count; ++i) {
    if (states_[i] == kDone) continue;
    const CommOp& part = program.parts[step.operands.first + i];
    all &= TryPart(at, part, graph.FrameOf(frame, part.lag), states_[i]);
  }
  if (all) std::fill_n(states_.begin(), step.operands.count, kNew);
  return all;
}

bool Exchange::TryPart(const At& at, const CommOp& part, const Frame& frame, State& state) {
  // Channels of the local transport are called directly, without a virtual call.
  const auto on_channel = [&](auto&& visit) {
    if (part.local) return visit(static_cast<transport::LocalChannel&>(*part.channel));
    return visit(*part.channel);
  };
  switch (part.kind) {
    case CommOp::Kind::kMove:
      Move(at, part, frame);
      state = kDone;
      break;
    case CommOp::Kind::kSend:
      on_channel([&](auto& channel) { TrySend(at, part, frame, state, channel); });
      break;
    case CommOp::Kind::kReceive:
      on_channel([&](auto& channel) { TryReceive(at, part, frame, state, channel); });
      break;
    case CommOp::Kind::kCollective:
      if (part.local) {
        TryCollective(at, part, frame, state,
                      static_cast<transport::LocalCollective&>(*part.collective));
      } else {
        TryCollective(at, part, frame, state, *part.collective);
      }
      break;
  }
  return state == kDone;
}

bool Exchange::Poisoned(const At& at, const CommOp& part, const Frame& frame) const {
  return device::AnyPoisoned(at.program.Checks(part.checks), frame.bindings);
}

bool Exchange::Describe(const At& at, const CommOp& part, const Frame& frame) {
  const DynamicDim* beyond = device::FillDims(at.program.Dims(part.extents), frame.bindings);
  if (beyond == nullptr) return true;
  if (part.poison_flag != plan::kNone) frame.bindings.Poison(part.poison_flag);
  failures_.push_back({&part, beyond, device::ExtentOf(*beyond, frame.bindings)});
  return false;
}

template <typename ChannelType>
void Exchange::TrySend(const At& at, const CommOp& part, const Frame& frame, State& state,
                       ChannelType& channel) {
  const uint64_t number = at.round * part.per_round + part.message;
  if (state == kNew) {
    // The extents of a poisoned value may be anything, so they are not looked at. A poisoned
    // message is sent all the same: without it the receiver would wait for ever.
    const bool poison = Poisoned(at, part, frame) || !Describe(at, part, frame);
    const bool shown = channel.TrySend(number, Spans(part.sources, frame), poison);
    if (!Passed(WaitPoint::kRoom, shown)) return;
    state = kShown;
  }
  if (Passed(WaitPoint::kSent, channel.Sent(number))) state = kDone;
}

template <typename ChannelType>
void Exchange::TryReceive(const At& at, const CommOp& part, const Frame& frame, State& state,
                          ChannelType& channel) {
  const uint64_t number = at.round * part.per_round + part.message;
  if (!Passed(WaitPoint::kArrived, channel.Arrived(number))) return;
  const bool poisoned = Poisoned(at, part, frame);  // the extents, and so the message
  // The dims come first: they say how many bytes are taken. A message that does not fit is taken,
  // too, since its slot and its sender wait for that.
  const bool fits = poisoned || device::FillDims(at.program.Dims(part.extents),
                                                 frame.bindings) == nullptr;
  const bool poison = channel.Receive(number, Spans(part.targets, frame));
  if (poison || poisoned) {
    frame.bindings.Poison(part.poison_flag);
  } else if (!fits) {
    Describe(at, part, frame);  // says so
  }
  state = kDone;
}

template <typename CollectiveType>
void Exchange::TryCollective(const At& at, const CommOp& part, const Frame& frame, State& state,
                             CollectiveType& collective) {
  if (state == kNew) {
    const bool poison = Poisoned(at, part, frame) || !Describe(at, part, frame);
    // The targets lie behind the sources in the frame (CommStepMaker::AddCollectivePart). Arrive()
    // copies the spans: the next part of the group uses this memory again.
    const Slice all{part.sources.first, part.sources.count + part.targets.count};
    const std::span<const transport::BufferSpan> spans = Spans(all, frame);
    collective.Arrive(part.member, at.round, spans.first(part.sources.count),
                      spans.subspan(part.sources.count), poison);
    state = kShown;
  }
  if (state == kShown && Passed(WaitPoint::kAllArrived, collective.AllArrived(at.round))) {
    const bool poison = collective.Reduce(part.member, at.round);
    if (poison && part.targets.count != 0) frame.bindings.Poison(part.poison_flag);
    state = kReduced;
  }
  const bool left = Passed(WaitPoint::kLeft, collective.Left(at.round));
  if (state == kReduced && left) state = kDone;
}

// Moves a message whose two ends are in this group.
void Exchange::Move(const At& at, const CommOp& part, const Frame& frame) {
  if (Poisoned(at, part, frame)) {
    frame.bindings.Poison(part.poison_flag);
    return;
  }
  if (!Describe(at, part, frame)) return;
  const Tensor* tensors = frame.bindings.tensors;
  for (uint32_t i = 0; i < part.sources.count; ++i) {
    const Tensor& from = tensors[part.sources.first + i];
    const Tensor& to = tensors[part.targets.first + i];
    device::CopyBytes(to.data, from.data, std::min(from.bytes(), to.bytes()));
  }
}

std::span<const transport::BufferSpan> Exchange::Spans(const Slice& tensors, const Frame& frame) {
  for (uint32_t i = 0; i < tensors.count; ++i) {
    const Tensor& tensor = frame.bindings.tensors[tensors.first + i];
    spans_[i] = {tensor.data, tensor.bytes()};
  }
  return {spans_.data(), tensors.count};
}

}  // namespace cgraph::engine

#include "runtime/engine/work_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include "runtime/plan/dtype.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

uint64_t Bytes(const Tensor& tensor) {
  return static_cast<uint64_t>(tensor.elements() * plan::DTypeBytes(tensor.dtype));
}

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

enum PartState : uint8_t { kNew, kShown, kReduced, kDone };

constexpr int kGraphBits = 24;  // of an inbox entry, below its number
constexpr uint64_t kGraphMask = (1ull << kGraphBits) - 1;

}  // namespace

WorkQueue::WorkQueue(const plan::Plan* plan, uint32_t index,
               std::vector<std::unique_ptr<LoadedGraph>>* graphs, uint32_t entries, void* scratch,
               device::EventCount* own, device::EventCount* driver)
    : plan_(plan),
      inbox_(std::bit_ceil(entries + 1)),
      mask_(inbox_.size() - 1),
      index_(index),
      scratch_(scratch),
      own_(own),
      driver_(driver) {
  uint32_t parts = 1, spans = 1;
  for (auto& graph : *graphs) {
    const StepList& program = graph->programs[index];
    tracks_.push_back({&program, graph.get(), 0, 0});
    parts = std::max(parts, program.most_parts);
    spans = std::max(spans, program.most_spans);
  }
  states_.assign(parts, kNew);
  spans_.resize(spans);
}

void WorkQueue::Push(uint32_t graph) {
  const uint64_t number = pushed_.load(std::memory_order_relaxed);
  CGRAPH_ASSERT(number - done() < inbox_.size());
  pushed_.store(number + 1, std::memory_order_relaxed);
  inbox_[number & mask_].store((number + 1) << kGraphBits | graph, std::memory_order_release);
  own_->Notify();
}

bool WorkQueue::Begin() {
  const uint64_t entry = inbox_[finished_ & mask_].load(std::memory_order_acquire);
  if (entry >> kGraphBits != finished_ + 1) return false;
  graph_ = static_cast<uint32_t>(entry & kGraphMask);
  track_ = &tracks_[graph_];
  frame_ = &track_->graph->frames[track_->frame];
  CGRAPH_ASSERT(frame_->run->execution == track_->round + track_->graph->lag);
  step_ = 0;
  return true;
}

void WorkQueue::Finish() {
  ++track_->round;
#if CGRAPH_ASSERTS
  track_->graph->rounds_finished[index_].store(track_->round, std::memory_order_release);
#endif
  if (++track_->frame == track_->graph->frames.size()) track_->frame = 0;
  track_ = nullptr;
  at_.store(kIdle, std::memory_order_relaxed);
  done_.store(++finished_, std::memory_order_release);
  driver_->Notify();
}

Frame& WorkQueue::FrameOf(uint16_t lag) {
  if (lag == 0) return *frame_;
  std::vector<Frame>& frames = track_->graph->frames;
  const uint32_t count = static_cast<uint32_t>(frames.size());
  Frame& frame = frames[(track_->frame + count - lag % count) % count];
  CGRAPH_ASSERT(frame.run->execution == track_->round + track_->graph->lag - lag);
  return frame;
}

void WorkQueue::Publish(uint64_t step, bool running) {
  at_.store(static_cast<uint64_t>(graph_) << 33 | static_cast<uint64_t>(running) << 32 | step,
            std::memory_order_relaxed);
}

Position WorkQueue::Where() const {
  Position position;
  position.done = done();
  const uint64_t at = at_.load(std::memory_order_relaxed);
  if (at == kIdle) return position;
  position.idle = false;
  position.running = (at >> 32 & 1) != 0;
  position.graph = static_cast<uint32_t>(at >> 33);
  position.step = static_cast<uint32_t>(at);
  return position;
}

void WorkQueue::Trace(const Step& step) {
  const uint64_t start = std::exchange(begun_ns_, 0);
  if (!traces_ || step.op == Op::kWait || step.op == Op::kSignal) return;
  const bool comm = step.op == Op::kComm;
  const uint16_t lag = comm ? track_->program->parts[step.operands.first].lag : step.lag;
  const ExecutionState* run = FrameOf(lag).run;
  if (run->empty) return;  // before the first execution, or between two
  traced_.Append({graph_, step_, track_->round, start, Now()});
}

template <bool kProfile>
bool WorkQueue::Advance() {
  if (track_ == nullptr && !Begin()) return false;
  const StepList& program = *track_->program;
  const uint32_t begun = step_;
  const uint32_t count = static_cast<uint32_t>(program.steps.size());
  for (; step_ != count; ++step_) {
    const Step& step = program.steps[step_];
    if (kProfile && begun_ns_ == 0) begun_ns_ = Now();
    bool well = true;
    switch (step.op) {
      case Op::kCall: well = RunCall<kProfile>(step, FrameOf(step.lag)); break;
      case Op::kCopy: RunCopy(step, FrameOf(step.lag)); break;
      case Op::kInput: RunInput(step, FrameOf(step.lag)); break;
      case Op::kOutput: well = RunOutput(step, FrameOf(step.lag)); break;
      case Op::kSignal: step.event->Signal(track_->round); break;
      case Op::kWait:
        if (step.event->Passed(track_->round, step.lag)) break;
        Publish(step_, false);
        return step_ != begun;
      case Op::kComm:
        if (TryComm(step)) break;
        Publish(step_, false);
        return step_ != begun;
    }
    if constexpr (kProfile) Trace(step);
    if (!well) {
      ++step_;  // the driver looks up: its caller may want to know at once
      return true;
    }
  }
  Finish();
  return true;
}
template bool WorkQueue::Advance<true>();
template bool WorkQueue::Advance<false>();

bool WorkQueue::AnyPoisoned(const Slice& checks, const Frame& frame) const {
  const uint32_t* poison_flags = track_->program->checks.data() + checks.first;
  for (uint32_t i = 0; i < checks.count; ++i) {
    if (frame.IsPoisoned(poison_flags[i])) return true;
  }
  return false;
}

bool WorkQueue::Skipped(const Step& step, Frame& frame) {
  if (frame.IsPoisoned(step.poison_flag)) return true;
  if (!AnyPoisoned(step.checks, frame)) return false;
  frame.SetPoison(step.poison_flag);
  return true;
}

bool WorkQueue::FillExtents(const Slice& extents, Frame& frame) {
  const ExtentUse* uses = track_->program->extents.data() + extents.first;
  for (uint32_t i = 0; i < extents.count; ++i) {
    const ExtentUse& use = uses[i];
    const int64_t extent = *static_cast<const int64_t*>(frame.extents[use.extent]);
    if (extent < 0 || extent > use.bound) {
      const plan::Symbol& symbol = track_->graph->plan->symbols[use.symbol];
      error_ = fmt::format("the dimension `{}` is {}, and must be from 0 to {}",
                           plan_->names[symbol.name()], extent, use.bound);
      return false;
    }
    frame.tensors[use.tensor].dims[use.dim] = extent;
  }
  return true;
}

template <bool kProfile>
bool WorkQueue::RunCall(const Step& step, Frame& frame) {
  if (Skipped(step, frame)) return true;
  const Tensor* operands = frame.tensors.data() + step.operands.first;
  bool well = step.extents.count == 0 || FillExtents(step.extents, frame);
  if (well) {
    Publish(step_, true);
    const uint64_t start = kProfile ? Now() : 0;
    well = step.kernel->Run({operands, step.inputs}, {operands + step.inputs, step.outputs},
                            scratch_, error_);
    if constexpr (kProfile) {
      Timing& timing = track_->program->timings[step_];
      timing.ns.store(timing.ns.load(std::memory_order_relaxed) + Now() - start,
                      std::memory_order_relaxed);
      timing.count.store(timing.count.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    }
  }
  if (!well) Fail(step.instruction, step.poison_flag, frame);
  return well;
}

void WorkQueue::RunCopy(const Step& step, Frame& frame) {
  if (Skipped(step, frame)) return;
  if (!FillExtents(step.extents, frame)) {
    Fail(step.instruction, step.poison_flag, frame);
    return;
  }
  const Tensor* operands = frame.tensors.data() + step.operands.first;
  if (const uint64_t bytes = Bytes(operands[0]); bytes != 0) {
    std::memcpy(operands[1].data, operands[0].data, bytes);
  }
}

void WorkQueue::RunInput(const Step& step, Frame& frame) {
  if (Skipped(step, frame)) return;
  const uint32_t* symbols = track_->program->symbols.data() + step.subject;
  const Tensor* extents = frame.tensors.data() + step.operands.first;
  for (uint32_t i = 0; i < step.operands.count; ++i) {
    *extents[i].as<int64_t>() = frame.taken[symbols[i]];
  }
}

bool WorkQueue::RunOutput(const Step& step, Frame& frame) {
  if (Skipped(step, frame)) return true;
  if (!FillExtents(step.extents, frame)) {
    Fail(step.instruction, step.poison_flag, frame);
    return false;
  }
  const Tensor& value = frame.tensors[step.operands.first];
  Tensor& output = frame.run->outputs[step.subject];
  std::copy_n(value.dims, value.rank, output.dims);
  if (const uint64_t bytes = step.into_output ? Bytes(value) : 0; bytes != 0) {
    std::memcpy(output.data, value.data, bytes);
  }
  return true;
}

bool WorkQueue::TryComm(const Step& step) {
  bool all = true;
  for (uint32_t i = 0; i < step.operands.count; ++i) {
    if (states_[i] == kDone) continue;
    all &= TryPart(track_->program->parts[step.operands.first + i], states_[i]);
  }
  if (all) std::fill_n(states_.begin(), step.operands.count, uint8_t{kNew});
  return all;
}

// Every part of a group is started before any is waited for: a part that has to wait leaves its
// state and the next one is tried.
bool WorkQueue::TryPart(const CommOp& part, uint8_t& state) {
  Frame& frame = FrameOf(part.lag);
  const uint64_t number = track_->round * part.per_round + part.message;
  if (part.kind == CommOp::Kind::kMove) {
    Move(part, frame);
    state = kDone;
  } else if (part.kind == CommOp::Kind::kCollective) {
    TryCollective(part, state, frame);
  } else if (part.kind == CommOp::Kind::kSend) {
    if (state == kNew) {
      bool poison = AnyPoisoned(part.checks, frame);
      if (!poison && !FillExtents(part.extents, frame)) {
        Fail(part.instruction, plan::kNone, frame);
        poison = true;
      }
      if (!part.channel->TrySend(number, Spans(part.sources, frame), poison)) return false;
      state = kShown;
    }
    if (part.channel->Sent(number)) state = kDone;
  } else {
    if (!part.channel->Arrived(number)) return false;
    const bool poisoned = AnyPoisoned(part.checks, frame);  // the extents, and so the message
    const bool fits = poisoned || FillExtents(part.extents, frame);
    const bool poison = part.channel->Receive(number, Spans(part.targets, frame));
    Receive(part, frame, poison || poisoned, fits);
    state = kDone;
  }
  return state == kDone;
}

void WorkQueue::TryCollective(const CommOp& part, uint8_t& state, Frame& frame) {
  channel::Collective& collective = *part.collective;
  const uint64_t round = track_->round;
  if (state == kNew) {
    bool poison = AnyPoisoned(part.checks, frame);
    if (!poison && !FillExtents(part.extents, frame)) {
      Fail(part.instruction, part.poison_flag, frame);
      poison = true;
    }
    const Slice all{part.sources.first, part.sources.count + part.targets.count};
    const std::span<const channel::BufferSpan> spans = Spans(all, frame);
    collective.Arrive(part.member, round, spans.first(part.sources.count),
                      spans.subspan(part.sources.count), poison);
    state = kShown;
  }
  if (state == kShown && collective.AllArrived(round)) {
    const bool poison = collective.Reduce(part.member, round);
    if (poison && part.targets.count != 0) frame.SetPoison(part.poison_flag);
    state = kReduced;
  }
  if (state == kReduced && collective.Left(round)) state = kDone;
}

void WorkQueue::Receive(const CommOp& part, Frame& frame, bool poison, bool fits) {
  if (poison) {
    frame.SetPoison(part.poison_flag);
  } else if (!fits) {
    Fail(part.instruction, part.poison_flag, frame);
  }
}

void WorkQueue::Move(const CommOp& part, Frame& frame) {
  const bool poison = AnyPoisoned(part.checks, frame);
  const bool fits = poison || FillExtents(part.extents, frame);
  Receive(part, frame, poison, fits);
  if (poison || !fits) return;
  const Tensor* tensors = frame.tensors.data();
  for (uint32_t i = 0; i < part.sources.count; ++i) {
    const Tensor& from = tensors[part.sources.first + i];
    const Tensor& to = tensors[part.targets.first + i];
    if (const uint64_t bytes = std::min(Bytes(from), Bytes(to)); bytes != 0) {
      std::memcpy(to.data, from.data, bytes);
    }
  }
}

std::span<const channel::BufferSpan> WorkQueue::Spans(const Slice& tensors, const Frame& frame) {
  for (uint32_t i = 0; i < tensors.count; ++i) {
    const Tensor& tensor = frame.tensors[tensors.first + i];
    spans_[i] = {tensor.data, Bytes(tensor)};
  }
  return {spans_.data(), tensors.count};
}

void WorkQueue::Fail(uint32_t instruction, uint32_t poison_flag, Frame& frame) {
  if (poison_flag != plan::kNone) frame.SetPoison(poison_flag);
  const plan::Graph& graph = *track_->graph->plan;
  const plan::Instruction& failed = graph.instructions[instruction];
  std::string who;
  if (failed.call() == plan::kNone) {
    who = plan::InstructionText(*plan_, graph, instruction);
  } else {
    who = plan::CallName(*plan_, graph, failed.call());
    const uint32_t site = graph.calls[failed.call()].site();
    if (site != plan::kNone) who += fmt::format(" ({})", plan::SiteText(*plan_, site));
  }
  frame.run->Fail(failed.program_order(),
                  Status(StatusCode::kFailed, fmt::format("{} failed: {}", who, error_)));
  error_.clear();
  driver_->Notify();
}

}  // namespace cgraph::engine

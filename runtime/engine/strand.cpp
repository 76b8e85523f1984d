#include "runtime/engine/strand.h"

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

constexpr size_t kMaxTraced = size_t{1} << 20;

enum PartState : uint8_t { kNew, kShown, kShared, kDone };

constexpr int kGraphBits = 24;  // of an inbox entry, below its number
constexpr uint64_t kGraphMask = (1ull << kGraphBits) - 1;

}  // namespace

Strand::Strand(const plan::Plan* plan, uint32_t index,
               std::vector<std::unique_ptr<LoadedGraph>>* graphs, uint32_t entries, void* scratch,
               device::Bell* own, device::Bell* driver)
    : plan_(plan),
      inbox_(std::bit_ceil(entries + 1)),
      mask_(inbox_.size() - 1),
      scratch_(scratch),
      own_(own),
      driver_(driver) {
  uint32_t parts = 1, pieces = 1;
  for (auto& graph : *graphs) {
    const Program& program = graph->programs[index];
    tracks_.push_back({&program, graph.get(), 0, 0});
    parts = std::max(parts, program.most_parts);
    pieces = std::max(pieces, program.most_pieces);
  }
  states_.assign(parts, kNew);
  pieces_.resize(pieces);
}

void Strand::Push(uint32_t graph) {
  const uint64_t number = pushed_.load(std::memory_order_relaxed);
  pushed_.store(number + 1, std::memory_order_relaxed);
  inbox_[number & mask_].store((number + 1) << kGraphBits | graph, std::memory_order_release);
  own_->Ring();
}

bool Strand::Begin() {
  const uint64_t entry = inbox_[finished_ & mask_].load(std::memory_order_acquire);
  if (entry >> kGraphBits != finished_ + 1) return false;
  graph_ = static_cast<uint32_t>(entry & kGraphMask);
  track_ = &tracks_[graph_];
  frame_ = &track_->graph->frames[track_->frame];
  step_ = 0;
  return true;
}

void Strand::Finish() {
  ++track_->round;
  if (++track_->frame == track_->graph->frames.size()) track_->frame = 0;
  track_ = nullptr;
  at_.store(kIdle, std::memory_order_relaxed);
  done_.store(++finished_, std::memory_order_release);
  driver_->Ring();
}

Frame& Strand::FrameOf(uint16_t lag) {
  if (lag == 0) return *frame_;
  std::vector<Frame>& frames = track_->graph->frames;
  const uint32_t count = static_cast<uint32_t>(frames.size());
  return frames[(track_->frame + count - lag % count) % count];
}

void Strand::Publish(uint64_t step, bool running) {
  at_.store(static_cast<uint64_t>(graph_) << 33 | static_cast<uint64_t>(running) << 32 | step,
            std::memory_order_relaxed);
}

Position Strand::Where() const {
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

void Strand::Trace(const Step& step) {
  const uint64_t start = std::exchange(begun_ns_, 0);
  if (!traces_ || step.op == Op::kWait || step.op == Op::kSignal) return;
  const bool comm = step.op == Op::kComm;
  const uint16_t lag = comm ? track_->program->parts[step.operands.first].lag : step.lag;
  const Run* run = FrameOf(lag).run;
  if (run == nullptr || run->empty) return;  // before the first execution, or between two
  if (traced_.size() < kMaxTraced) traced_.push_back({graph_, step_, track_->round, start, Now()});
}

template <bool kProfile>
bool Strand::Advance() {
  if (track_ == nullptr && !Begin()) return false;
  const Program& program = *track_->program;
  const uint32_t begun = step_;
  const uint32_t count = static_cast<uint32_t>(program.steps.size());
  for (; step_ != count; ++step_) {
    const Step& step = program.steps[step_];
    if (kProfile && begun_ns_ == 0) begun_ns_ = Now();
    bool well = true;
    switch (step.op) {
      case Op::kCall: well = RunCall<kProfile>(step, FrameOf(step.lag)); break;
      case Op::kCopy: RunCopy(step, FrameOf(step.lag)); break;
      case Op::kTake: RunTake(step, FrameOf(step.lag)); break;
      case Op::kGive: well = RunGive(step, FrameOf(step.lag)); break;
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
template bool Strand::Advance<true>();
template bool Strand::Advance<false>();

bool Strand::AnyMarked(const Slice& checks, const Frame& frame) const {
  const uint32_t* cells = track_->program->checks.data() + checks.first;
  for (uint32_t i = 0; i < checks.count; ++i) {
    if (frame.Marked(cells[i])) return true;
  }
  return false;
}

bool Strand::Skipped(const Step& step, Frame& frame) {
  if (frame.Marked(step.cell)) return true;
  if (!AnyMarked(step.checks, frame)) return false;
  frame.Mark(step.cell);
  return true;
}

bool Strand::FillExtents(const Slice& extents, Frame& frame) {
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
bool Strand::RunCall(const Step& step, Frame& frame) {
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
  if (!well) Fail(step.instruction, step.cell, frame);
  return well;
}

void Strand::RunCopy(const Step& step, Frame& frame) {
  if (Skipped(step, frame)) return;
  if (!FillExtents(step.extents, frame)) {
    Fail(step.instruction, step.cell, frame);
    return;
  }
  const Tensor* operands = frame.tensors.data() + step.operands.first;
  if (const uint64_t bytes = Bytes(operands[0]); bytes != 0) {
    std::memcpy(operands[1].data, operands[0].data, bytes);
  }
}

void Strand::RunTake(const Step& step, Frame& frame) {
  if (Skipped(step, frame)) return;
  const uint32_t* symbols = track_->program->symbols.data() + step.subject;
  const Tensor* extents = frame.tensors.data() + step.operands.first;
  for (uint32_t i = 0; i < step.operands.count; ++i) {
    *extents[i].as<int64_t>() = frame.taken[symbols[i]];
  }
}

bool Strand::RunGive(const Step& step, Frame& frame) {
  if (Skipped(step, frame)) return true;
  if (!FillExtents(step.extents, frame)) {
    Fail(step.instruction, step.cell, frame);
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

bool Strand::TryComm(const Step& step) {
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
bool Strand::TryPart(const Part& part, uint8_t& state) {
  Frame& frame = FrameOf(part.lag);
  const uint64_t number = track_->round * part.per_round + part.message;
  if (part.kind == Part::Kind::kMove) {
    Move(part, frame);
    state = kDone;
  } else if (part.kind == Part::Kind::kCollective) {
    TryCollective(part, state, frame);
  } else if (part.kind == Part::Kind::kSend) {
    if (state == kNew) {
      bool mark = AnyMarked(part.checks, frame);
      if (!mark && !FillExtents(part.extents, frame)) {
        Fail(part.instruction, plan::kNone, frame);
        mark = true;
      }
      if (!part.channel->TrySend(number, Pieces(part.sources, frame), mark)) return false;
      state = kShown;
    }
    if (part.channel->Sent(number)) state = kDone;
  } else {
    if (!part.channel->Arrived(number)) return false;
    const bool poisoned = AnyMarked(part.checks, frame);  // the extents, and so the message
    const bool fits = poisoned || FillExtents(part.extents, frame);
    const bool mark = part.channel->Receive(number, Pieces(part.targets, frame));
    Receive(part, frame, mark || poisoned, fits);
    state = kDone;
  }
  return state == kDone;
}

void Strand::TryCollective(const Part& part, uint8_t& state, Frame& frame) {
  channel::Collective& collective = *part.collective;
  const uint64_t round = track_->round;
  if (state == kNew) {
    bool mark = AnyMarked(part.checks, frame);
    if (!mark && !FillExtents(part.extents, frame)) {
      Fail(part.instruction, part.cell, frame);
      mark = true;
    }
    const Slice all{part.sources.first, part.sources.count + part.targets.count};
    const std::span<const channel::Piece> pieces = Pieces(all, frame);
    collective.Arrive(part.member, round, pieces.first(part.sources.count),
                      pieces.subspan(part.sources.count), mark);
    state = kShown;
  }
  if (state == kShown && collective.AllArrived(round)) {
    const bool mark = collective.Share(part.member, round);
    if (mark && part.targets.count != 0) frame.Mark(part.cell);
    state = kShared;
  }
  if (state == kShared && collective.Left(round)) state = kDone;
}

void Strand::Receive(const Part& part, Frame& frame, bool mark, bool fits) {
  if (mark) {
    frame.Mark(part.cell);
  } else if (!fits) {
    Fail(part.instruction, part.cell, frame);
  }
}

void Strand::Move(const Part& part, Frame& frame) {
  const bool mark = AnyMarked(part.checks, frame);
  const bool fits = mark || FillExtents(part.extents, frame);
  Receive(part, frame, mark, fits);
  if (mark || !fits) return;
  const Tensor* tensors = frame.tensors.data();
  for (uint32_t i = 0; i < part.sources.count; ++i) {
    const Tensor& from = tensors[part.sources.first + i];
    const Tensor& to = tensors[part.targets.first + i];
    if (const uint64_t bytes = std::min(Bytes(from), Bytes(to)); bytes != 0) {
      std::memcpy(to.data, from.data, bytes);
    }
  }
}

std::span<const channel::Piece> Strand::Pieces(const Slice& tensors, const Frame& frame) {
  for (uint32_t i = 0; i < tensors.count; ++i) {
    const Tensor& tensor = frame.tensors[tensors.first + i];
    pieces_[i] = {tensor.data, Bytes(tensor)};
  }
  return {pieces_.data(), tensors.count};
}

void Strand::Fail(uint32_t instruction, uint32_t cell, Frame& frame) {
  if (cell != plan::kNone) frame.Mark(cell);
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
  frame.run->Fail(failed.written(),
                  Status(StatusCode::kFailed, fmt::format("{} failed: {}", who, error_)));
  error_.clear();
  driver_->Ring();
}

}  // namespace cgraph::engine

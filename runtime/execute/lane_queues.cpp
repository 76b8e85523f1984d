#include "runtime/execute/lane_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/wait_point.h"

namespace cgraph::engine {
namespace {

// What is moved has the extents that the inputs gave; of others, all up to the bound is moved: the
// host issues before the device has made them. The dims lie in the frame, so they are set anew in
// each round before a queue reads them.
void SetGivenExtents(std::span<const DynamicDim> dims, Frame& frame) {
  for (const DynamicDim& dim : dims) {
    if (dim.given) frame.bindings.tensors[dim.tensor].dims[dim.dim] = frame.taken[dim.symbol];
  }
}

}  // namespace

std::string BeyondBound(const plan::Plan& plan, const plan::Graph& graph, const DynamicDim& dim,
                        int64_t extent) {
  return fmt::format("the dimension `{}` is {}, and must be from 0 to {}",
                     plan.names[graph.symbols[dim.symbol].name()], extent, dim.bound);
}

Frame& CommGroup::FrameOf(const CommOp& part, uint64_t round) const {
  return graph_->FrameOf(static_cast<uint32_t>(round % graph_->frames.size()), part.lag);
}

bool CommGroup::Issue(transport::Pass pass, device::Queue& queue, const device::Tag& tag,
                      bool held) {
  const Slice operands = program().steps[step_].operands;
  const std::span<const CommOp> parts(program().parts.data() + operands.first, operands.count);
  // All parts are prepared before any is issued, also behind one that waits: members of other work
  // queues may wait for any of them. A part that is prepared stays so: to ask it again does
  // nothing.
  bool prepared = true;
  for (const CommOp& part : parts) prepared &= PreparePart(pass, part, queue, tag);
  if (!prepared || held) return false;
  for (const CommOp& part : parts) IssuePart(pass, part, queue, tag);
  // One group for the whole comm: its collectives begin together, as they do at all other members.
  if (pass == transport::Pass::kMove) queue.EndCollectives();
  return true;
}

template <typename OnMessage, typename OnMember>
void CommGroup::WithPart(const CommOp& part, device::Queue& queue, const device::Tag& tag,
                         OnMessage&& on_message, OnMember&& on_member) {
  Frame& frame = FrameOf(part, tag.round);
  Tensor* tensors = frame.bindings.tensors;
  SetGivenExtents(program().Dims(part.extents), frame);
  // A part that gets nothing has no flag of its own to set, so its operation looks at none.
  const bool gets = part.poison_flag != plan::kNone;
  const bool empty = frame.words->empty.load(std::memory_order_relaxed);
  const std::span<const uint32_t> checks = program().Checks(part.checks);
  const device::Operation operation{&frame.bindings,
                                    {gets ? checks : std::span<const uint32_t>(),
                                     gets ? part.poison_flag : device::kNoFlag},
                                    {},
                                    tag};
  if (part.kind == CommOp::Kind::kCollective) {
    inputs_.clear();
    for (uint32_t giver = 0; giver < part.givers.count; ++giver) {
      const uint32_t first = program().givers[part.givers.first + giver];
      inputs_.push_back(first == plan::kNone ? nullptr : tensors + first);
    }
    return on_member(transport::QueuedMember{
        .queue = &queue,
        .round = tag.round,
        .member = part.member,
        .operation = &operation,
        .inputs = inputs_.data(),
        .outputs = part.targets.count != 0 ? tensors + part.targets.first : nullptr,
        .checks = checks,
        .empty = empty,
    });
  }
  transport::QueuedMessage message{
      .queue = &queue,
      .number = tag.round * part.per_round + part.message,
      .operation = &operation,
      .from = tensors + part.sources.first,
      .count = part.sources.count,
      .empty = empty,
      .checks = checks,
  };
  if (part.kind == CommOp::Kind::kReceive) {
    message.to = tensors + part.targets.first;
    message.count = part.targets.count;  // the sender's values may be on another machine
  }
  on_message(message);
}

bool CommGroup::PreparePart(transport::Pass pass, const CommOp& part, device::Queue& queue,
                            const device::Tag& tag) {
  if (part.kind != CommOp::Kind::kCollective) {
    const uint64_t number = tag.round * part.per_round + part.message;
    if (pass == transport::Pass::kShow && part.kind == CommOp::Kind::kSend) {
      return part.channel->ReadyToSend(number);
    }
    if (pass == transport::Pass::kMove && part.kind == CommOp::Kind::kReceive) {
      return part.channel->ReadyToReceive(number);
    }
    return true;
  }
  bool prepared = true;
  WithPart(part, queue, tag, [](const transport::QueuedMessage&) {},
           [&](const transport::QueuedMember& member) {
             prepared = part.collective->Prepare(pass, member);
           });
  return prepared;
}

void CommGroup::IssuePart(transport::Pass pass, const CommOp& part, device::Queue& queue,
                          const device::Tag& tag) {
  WithPart(
      part, queue, tag,
      [&](const transport::QueuedMessage& message) {
        if (part.kind == CommOp::Kind::kSend) return part.channel->IssueSend(pass, message);
        part.channel->IssueReceive(pass, message);
      },
      [&](const transport::QueuedMember& member) { part.collective->Issue(pass, member); });
}

device::Communication::Progress CommGroup::Advance(uint64_t round, std::string& error) {
  const StepList& program = graph_->programs[work_queue_];
  const uint32_t frame = static_cast<uint32_t>(round % graph_->frames.size());
  if (!exchange_.Try(*graph_, program, program.steps[step_], round, frame)) {
    return Progress::kPending;
  }
  std::vector<PartFailure>& failures = exchange_.failures();
  if (failures.empty()) return Progress::kDone;
  error = BeyondBound(*plan_, *graph_->plan, *failures[0].beyond, failures[0].extent);
  failures.clear();
  return Progress::kFailed;
}

uint32_t LaneQueues::Add(uint32_t number, std::unique_ptr<device::Queue> queue,
                         TimelineSemaphore* over, EventCount* own) {
  over->AddListener(own);
  queues_.push_back({number, over, std::move(queue)});
  return static_cast<uint32_t>(queues_.size());
}

void LaneQueues::Issue(const Step& step, const device::Tag& tag, const StepList& program,
                       Frame& frame) {
  device::Queue& queue = *queues_[step.queue - 1].queue;
  Tensor* operands = frame.bindings.tensors + step.operands.first;
  const device::Operation common{&frame.bindings,
                                 {program.Checks(step.checks), step.poison_flag},
                                 program.Dims(step.extents),
                                 tag};
  switch (step.op) {
    case Op::kCall:
      queue.Launch({common, step.executable, operands, step.inputs, step.outputs});
      break;
    case Op::kCopy: queue.Copy({common, operands, operands + 1}); break;
    case Op::kInput:
      for (uint32_t i = 0; i < step.operands.count; ++i) {
        const uint32_t symbol = program.symbols[step.subject + i];
        queue.Store({common, operands + i, frame.taken[symbol]});
      }
      break;
    case Op::kOutput:
      if (frame.execution == nullptr) break;  // a round before the first execution
      queue.Copy({common, operands, &frame.execution->outputs[step.subject],
                  /*describes=*/true, /*moves=*/step.into_output});
      break;
    case Op::kComm: CGRAPH_ASSERT(false); break;
    case Op::kSignal: queue.Signal(step.semaphore, tag.round + 1); break;
    case Op::kWait:
      if (tag.round < step.rounds_back) break;  // there was no such round
      queue.Wait(step.semaphore, tag.round - step.rounds_back + 1, tag);
  }
}

bool LaneQueues::IssueComm(transport::Pass pass, const Step& step, const device::Tag& tag,
                           bool held) {
  device::Queue& queue = *queues_[step.queue - 1].queue;
  if (step.queued) return step.group->Issue(pass, queue, tag, held);
  if (pass == transport::Pass::kShow) queue.Communicate({step.group, tag});
  return true;
}

// A recording holds addresses, and each frame has its own; so there is one for each frame. The
// round of the tags is filled in when it is replayed.
Status LaneQueues::Record(uint32_t graph, StepList& program, std::span<Frame> frames) {
  for (Segment& segment : program.segments) {
    device::Queue& queue = *queues_[program.steps[segment.steps.front()].queue - 1].queue;
    for (Frame& frame : frames) {
      queue.recorder()->BeginRecording();
      for (uint32_t step : segment.steps) {
        Issue(program.steps[step], {graph, step, 0}, program, frame);
      }
      auto recording = queue.recorder()->EndRecording();
      if (!recording.ok()) return recording.status();
      segment.recordings.push_back(std::move(*recording));
    }
  }
  return Status::Ok();
}

void LaneQueues::Replay(const Segment& segment, const device::Tag& tag, const StepList& program,
                        const Frame& frame) {
  if (frame.words->empty.load(std::memory_order_relaxed)) return;  // all of it is poisoned
  device::Queue& queue = *queues_[program.steps[segment.steps.front()].queue - 1].queue;
  queue.recorder()->Replay(*segment.recordings[frame.bindings.frame], tag);
}

// The signal is an operation like others, so it comes when all that was issued before it is over.
void LaneQueues::EndEntry(uint64_t number) {
  for (Opened& opened : queues_) opened.queue->Signal(opened.over, number);
}

uint64_t LaneQueues::Over() const {
  uint64_t over = ~0ull;
  for (const Opened& opened : queues_) {
    if (!Omits(WaitPoint::kOneQueue, opened.number)) over = std::min(over, opened.over->value());
  }
  return over;
}

bool LaneQueues::Poll(std::vector<device::Report>& reports) {
  bool any = false;
  for (Opened& opened : queues_) any |= opened.queue->Poll(reports);
  return any;
}

// The head is asked for first: Close() signals in place of others what a queue waits for, and so
// moves it.
bool LaneQueues::Close(std::vector<device::Head>& abandoned) {
  bool all = true;
  for (Opened& opened : queues_) {
    const std::optional<device::Head> head = opened.queue->Head();
    if (opened.queue->Close()) continue;
    all = false;
    if (head && head->running) abandoned.push_back(*head);
  }
  return all;
}

std::vector<device::Head> LaneQueues::Heads() const {
  std::vector<device::Head> heads;
  for (const Opened& opened : queues_) {
    if (auto head = opened.queue->Head()) heads.push_back(*head);
  }
  return heads;
}

}  // namespace cgraph::engine

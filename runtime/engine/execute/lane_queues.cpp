#include "runtime/engine/execute/lane_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/omission.h"
#include "runtime/engine/execution_state.h"

namespace cgraph::engine {

std::string BeyondBound(const plan::Plan& plan, const plan::Graph& graph, const DynamicDim& dim,
                        int64_t extent) {
  return fmt::format("the dimension `{}` is {}, and must be from 0 to {}",
                     plan.names[graph.symbols[dim.symbol].name()], extent, dim.bound);
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

uint32_t LaneQueues::Add(std::unique_ptr<device::Queue> queue, device::TimelineSemaphore* over,
                         device::EventCount* own) {
  over->AddListener(own);
  queues_.push_back({over, std::move(queue)});
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
      return queue.Launch({common, step.executable, operands, step.inputs, step.outputs});
    case Op::kCopy:
      return queue.Copy({common, operands, operands + 1});
    case Op::kInput:
      for (uint32_t i = 0; i < step.operands.count; ++i) {
        const uint32_t symbol = program.symbols[step.subject + i];
        queue.Store({common, operands + i, frame.taken[symbol]});
      }
      return;
    case Op::kOutput:
      if (frame.run == nullptr) return;  // a round before the first execution
      return queue.Copy({common, operands, &frame.run->outputs[step.subject],
                         /*describes=*/true, /*moves=*/step.into_output});
    case Op::kComm:
      return queue.Communicate({step.group, tag});
    case Op::kSignal:
      return queue.Signal(step.semaphore, tag.round + 1);
    case Op::kWait:
      if (tag.round >= step.lag) queue.Wait(step.semaphore, tag.round - step.lag + 1, tag);
  }
}

void LaneQueues::EndEntry(uint64_t number) {
  for (Opened& opened : queues_) opened.queue->Signal(opened.over, number);
}

uint64_t LaneQueues::Over() const {
  uint64_t over = ~0ull;
  for (uint32_t i = 0; i < queues_.size(); ++i) {
    if (!Omits(Omission::kOneQueue, i)) over = std::min(over, queues_[i].over->value());
  }
  return over;
}

bool LaneQueues::Poll(std::vector<device::Report>& reports) {
  bool any = false;
  for (Opened& opened : queues_) any |= opened.queue->Poll(reports);
  return any;
}

std::vector<device::Head> LaneQueues::Heads() const {
  std::vector<device::Head> heads;
  for (const Opened& opened : queues_) {
    if (auto head = opened.queue->Head()) heads.push_back(*head);
  }
  return heads;
}

}  // namespace cgraph::engine

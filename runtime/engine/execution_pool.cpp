#include "runtime/engine/execution_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/base/wait_point.h"
#include "runtime/load/kernels.h"

namespace cgraph::engine {
namespace {

// Stands for the list of a closed pool.
ExecutionState* ClosedList() {
  static ExecutionState closed;
  return &closed;
}

}  // namespace

Status ExecutionPool::Reserve(uint32_t g, uint64_t executions) {
  const LoadedGraph& graph = *loaded_.graphs[g];
  const uint64_t each = sizeof(ExecutionState) +
                        graph.participants.size() * sizeof(ExecutionState::Target) +
                        graph.plan->outputs.size() * sizeof(device::Tensor) +
                        std::max(graph.result_blocks.front().bytes, device::kBlockAlign);
  CGRAPH_RETURN_IF_ERROR(device::CheckFree(
      each > UINT64_MAX / executions ? UINT64_MAX : executions * each,
      fmt::format("the results of {} executions of `{}`", executions, graph.plan->name)));
  free_.resize(loaded_.graphs.size(), nullptr);
  for (uint64_t i = 0; i < executions; ++i) {
    auto execution = Make(g);
    if (!execution.ok()) return execution.status();
    Put(*execution);
  }
  return Status::Ok();
}

Result<ExecutionState*> ExecutionPool::Take(uint32_t graph) {
  if (free_[graph] == nullptr) {
    for (ExecutionState* execution = returned_.exchange(nullptr, std::memory_order_acq_rel);
         execution != nullptr;) {
      Put(std::exchange(execution, execution->next));
    }
  }
  if (free_[graph] == nullptr) {
    made_.fetch_add(1, std::memory_order_relaxed);
    return Make(graph);
  }
  ExecutionState** unused = &free_[graph];
  while (*unused != nullptr && !(*unused)->Unused()) unused = &(*unused)->next;
  if (*unused == nullptr) unused = &free_[graph];
  ExecutionState* execution = *unused;
  execution->AwaitUnused();
  *unused = execution->next;
  if (execution->failed.load(std::memory_order_relaxed)) {
    execution->failed.store(false, std::memory_order_relaxed);
    execution->error = Status::Ok();
  }
  return execution;
}

Result<ExecutionState*> ExecutionPool::Make(uint32_t g) try {
  const LoadedGraph& graph = *loaded_.graphs[g];
  auto execution = std::make_unique<ExecutionState>();
  execution->engine = &engine_;
  execution->device_failures = &device_failures_;
  execution->pool = this;
  execution->graph = g;
  execution->lags = graph.lag != 0;
  execution->target_count = static_cast<uint32_t>(graph.participants.size());
  execution->targets = std::make_unique<ExecutionState::Target[]>(execution->target_count);
  for (uint32_t i = 0; i < execution->target_count; ++i) {
    const WorkQueue& work_queue = *workers_.work_queues[graph.participants[i]];
    execution->targets[i].finished = &work_queue.inbox().finished_counter();
    execution->targets[i].first_failure = graph.first_failures[i];
  }
  for (const auto& [device, bytes] : graph.result_blocks) {
    auto block = loaded_.devices[device]->Allocate(bytes, plan::Memory::plain,
                                                   "the results of " + graph.plan->name);
    if (!block.ok()) return block.status();
    execution->blocks.push_back(std::move(*block));
  }
  for (size_t i = 0; i < graph.plan->outputs.size(); ++i) {
    const device::OperandType type = OperandTypeOf(*graph.plan, graph.plan->outputs[i]->value);
    device::Tensor& output = execution->outputs.emplace_back();
    output.data = execution->blocks[graph.results[i].block].data() + graph.results[i].offset;
    output.dtype = type.dtype;
    output.rank = type.rank;
    std::copy_n(type.dims, type.rank, output.dims);
  }
  return all_.emplace_back(std::move(execution)).get();
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

bool ExecutionPool::Close() {
  uint64_t free = 0;
  for (const ExecutionState* execution : free_) {
    for (; execution != nullptr; execution = execution->next) ++free;
  }
  for (ExecutionState* execution = returned_.exchange(ClosedList()); execution != nullptr;
       execution = execution->next) {
    ++free;
  }
  const uint64_t surplus = kBias - (all_.size() - free);
  return Passed(WaitPoint::kEndHeld, held_.fetch_sub(surplus) == surplus);
}

void ExecutionPool::Return(ExecutionState* execution) {
  ExecutionState* head = returned_.load(std::memory_order_acquire);
  do {
    if (head == ClosedList()) {
      const auto last = last_;  // the pool may go with it
      if (held_.fetch_sub(1) == 1) last();
      return;
    }
    execution->next = head;
  } while (!returned_.compare_exchange_weak(head, execution, std::memory_order_acq_rel));
}

}  // namespace cgraph::engine

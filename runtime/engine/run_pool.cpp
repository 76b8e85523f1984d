#include "runtime/engine/run_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/base/omission.h"
#include "runtime/load/kernels.h"

namespace cgraph::engine {
namespace {

// Stands for the list of a closed pool.
ExecutionState* ClosedList() {
  static ExecutionState closed;
  return &closed;
}

}  // namespace

Status RunPool::Reserve(uint32_t g, uint64_t runs) {
  const LoadedGraph& graph = *loaded_.graphs[g];
  const uint64_t each = sizeof(ExecutionState) +
                        graph.participants.size() * sizeof(ExecutionState::Target) +
                        graph.plan->outputs.size() * sizeof(device::Tensor) +
                        std::max(graph.result_blocks.front().bytes, device::kBlockAlign);
  CGRAPH_RETURN_IF_ERROR(device::CheckFree(
      each > UINT64_MAX / runs ? UINT64_MAX : runs * each,
      fmt::format("the results of {} executions of `{}`", runs, graph.plan->name)));
  free_.resize(loaded_.graphs.size(), nullptr);
  for (uint64_t i = 0; i < runs; ++i) {
    auto run = Make(g);
    if (!run.ok()) return run.status();
    Put(*run);
  }
  return Status::Ok();
}

Result<ExecutionState*> RunPool::Take(uint32_t graph) {
  if (free_[graph] == nullptr) {
    for (ExecutionState* run = returned_.exchange(nullptr, std::memory_order_acq_rel);
         run != nullptr;) {
      Put(std::exchange(run, run->next));
    }
  }
  if (free_[graph] == nullptr) {
    made_.fetch_add(1, std::memory_order_relaxed);
    return Make(graph);
  }
  ExecutionState** unused = &free_[graph];
  while (*unused != nullptr && !(*unused)->Unused()) unused = &(*unused)->next;
  if (*unused == nullptr) unused = &free_[graph];
  ExecutionState* run = *unused;
  run->AwaitUnused();
  *unused = run->next;
  if (run->failed.load(std::memory_order_relaxed)) {
    run->failed.store(false, std::memory_order_relaxed);
    run->error = Status::Ok();
  }
  return run;
}

void RunPool::Put(ExecutionState* run) {
  run->next = free_[run->graph];
  free_[run->graph] = run;
}

Result<ExecutionState*> RunPool::Make(uint32_t g) try {
  const LoadedGraph& graph = *loaded_.graphs[g];
  auto run = std::make_unique<ExecutionState>();
  run->engine = &engine_;
  run->device_failures = &device_failures_;
  run->pool = this;
  run->graph = g;
  run->lags = graph.lag != 0;
  run->target_count = static_cast<uint32_t>(graph.participants.size());
  run->targets = std::make_unique<ExecutionState::Target[]>(run->target_count);
  for (uint32_t i = 0; i < run->target_count; ++i) {
    const WorkQueue& work_queue = *workers_.work_queues[graph.participants[i]];
    run->targets[i].finished = &work_queue.inbox().finished_counter();
    run->targets[i].first_failure = graph.first_failures[i];
  }
  for (const auto& [device, bytes] : graph.result_blocks) {
    auto block = loaded_.devices[device]->Allocate(bytes, plan::Memory::plain,
                                                   "the results of " + graph.plan->name);
    if (!block.ok()) return block.status();
    run->blocks.push_back(std::move(*block));
  }
  for (size_t i = 0; i < graph.plan->outputs.size(); ++i) {
    const device::OperandType type = OperandTypeOf(*graph.plan, graph.plan->outputs[i]->value);
    device::Tensor& output = run->outputs.emplace_back();
    output.data = run->blocks[graph.results[i].block].data() + graph.results[i].offset;
    output.dtype = type.dtype;
    output.rank = type.rank;
    std::copy_n(type.dims, type.rank, output.dims);
  }
  return runs_.emplace_back(std::move(run)).get();
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

bool RunPool::Close() {
  uint64_t free = 0;
  for (const ExecutionState* run : free_) {
    for (; run != nullptr; run = run->next) ++free;
  }
  for (ExecutionState* run = returned_.exchange(ClosedList()); run != nullptr; run = run->next) {
    ++free;
  }
  const uint64_t surplus = kBias - (runs_.size() - free);
  return held_.fetch_sub(surplus) == surplus || Omits(Omission::kEndHeld);
}

void RunPool::Return(ExecutionState* run) {
  ExecutionState* head = returned_.load(std::memory_order_acquire);
  do {
    if (head == ClosedList()) {
      const auto last = last_;  // the pool may go with it
      if (held_.fetch_sub(1) == 1) last();
      return;
    }
    run->next = head;
  } while (!returned_.compare_exchange_weak(head, run, std::memory_order_acq_rel));
}

}  // namespace cgraph::engine

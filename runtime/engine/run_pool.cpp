#include "runtime/engine/run_pool.h"

#include <utility>

#include "runtime/base/omission.h"

namespace cgraph::engine {
namespace {

// Stands for the list of a closed pool.
ExecutionState* ClosedList() {
  static ExecutionState closed;
  return &closed;
}

}  // namespace

ExecutionState* RunPool::Add(std::unique_ptr<ExecutionState> run) {
  runs_.push_back(std::move(run));
  return runs_.back().get();
}

ExecutionState* RunPool::TakeReturned() {
  return returned_.exchange(nullptr, std::memory_order_acq_rel);
}

bool RunPool::Close(uint64_t free) {
  for (ExecutionState* run = returned_.exchange(ClosedList()); run != nullptr; run = run->next) {
    ++free;
  }
  const uint64_t surplus = kBias - (runs_.size() - free);
  return held_.fetch_sub(surplus) == surplus || Omits(Omission::kEndHeld);
}

bool RunPool::Return(ExecutionState* run) {
  ExecutionState* head = returned_.load(std::memory_order_acquire);
  do {
    if (head == ClosedList()) return held_.fetch_sub(1) == 1;
    run->next = head;
  } while (!returned_.compare_exchange_weak(head, run, std::memory_order_acq_rel));
  return false;
}

}  // namespace cgraph::engine

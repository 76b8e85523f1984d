#include "compiler/schedule/ordering/search/serial_scheduler.h"

#include <algorithm>
#include <functional>

namespace cgraph::schedule {
namespace {

template <typename T>
void Push(std::vector<T>& heap, T value) {
  heap.push_back(std::move(value));
  std::push_heap(heap.begin(), heap.end(), std::greater<T>());
}

template <typename T>
T Pop(std::vector<T>& heap) {
  std::pop_heap(heap.begin(), heap.end(), std::greater<T>());
  T value = std::move(heap.back());
  heap.pop_back();
  return value;
}

}  // namespace

bool SerialScheduler::Place(std::span<const uint32_t> order) {
  Reset();
  uint64_t last = 0;  // start
  for (uint32_t task : order) {
    const Queue& queue = tasks_.queues[tasks_.queue[task]];
    uint64_t start = Limited() ? last : 0;
    for (uint32_t before : tasks_.predecessors[task]) {
      start = std::max(start, starts_[before] + tasks_.durations[before]);
    }
    for (uint32_t lane : queue.lanes) start = std::max(start, free_at_[lane]);
    if (Limited() && !FindMemory(task, start)) return false;
    for (uint32_t lane : queue.lanes) free_at_[lane] = start + tasks_.durations[task];
    last = starts_[task] = start;
    if (Limited()) Take(task);
  }
  return true;
}

void SerialScheduler::Reset() {
  free_at_.assign(tasks_.lanes, 0);
  if (!Limited()) return;
  holdings_.Reset();
  ends_.clear();
  releases_.clear();
}

// Moves the start to the first moment at which the memory that the task takes is free.
bool SerialScheduler::FindMemory(uint32_t task, uint64_t& start) {
  PassUntil(start);
  while (!Fits(task)) {
    if (ends_.empty() && releases_.empty()) return false;
    start = ends_.empty() ? releases_.front().first : ends_.front().first;
    if (!releases_.empty()) start = std::min(start, releases_.front().first);
    PassUntil(start);
  }
  return true;
}

void SerialScheduler::PassUntil(uint64_t now) {
  while (!ends_.empty() && ends_.front().first <= now) {
    holdings_.GiveMemory(Pop(ends_).second);
  }
  while (!releases_.empty() && releases_.front().first <= now) {
    holdings_.GiveTokens(Pop(releases_).second);
  }
}

void SerialScheduler::Take(uint32_t task) {
  const uint64_t start = starts_[task];
  holdings_.TakeMemory(task);
  if (!tasks_.memories.empty() && !tasks_.touches[task].empty()) {
    Push(ends_, {start + tasks_.durations[task], task});
  }
  if (holdings_.TakeTokens(task)) Push(releases_, {start + tasks_.held[task], task});
}

}  // namespace cgraph::schedule

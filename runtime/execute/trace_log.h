// TraceLog: the steps that one work queue was at work on, in order; the first 131,072 of them.
//
// One thread appends. Others may read at the same time; they see the entries up to some point: the
// release of the count shows the steps before it and the chunks that they lie in. Memory comes in
// chunks that stay where they are, so a reader's index stays valid while the log grows; or it is
// there from the beginning, for logs that another process reads.
#ifndef CGRAPH_RUNTIME_EXECUTE_TRACE_LOG_H_
#define CGRAPH_RUNTIME_EXECUTE_TRACE_LOG_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace cgraph::engine {

// TracedStep: a step that was at work, with times of the steady clock. A communication of a queue
// may have several entries in a row: of what it waits for, and of what it moves.
struct TracedStep {
  uint32_t graph;
  uint32_t step;
  uint64_t round;
  uint64_t start_ns;
  uint64_t end_ns;
  bool waited = false;  // for another queue, all that time
};

class TraceLog {
 public:
  static constexpr size_t kMostSteps = 1 << 17;

  // Called at load, for a log in shared memory, which consists of these two.
  void Share(std::atomic<uint64_t>* count, std::span<TracedStep> steps) {
    shared_count_ = count;
    shared_steps_ = steps;
  }

  // Appends a step; where there is no room or no memory the step is left out.
  void Append(const TracedStep& step) {
    if (shared_count_ != nullptr) return AppendShared(step);
    const size_t at = count_.load(std::memory_order_relaxed);
    if (at == kMostSteps) return;
    std::unique_ptr<TracedStep[]>& chunk = chunks_[at / kChunk];
    if (chunk == nullptr) chunk.reset(new (std::nothrow) TracedStep[kChunk]);
    if (chunk == nullptr) return;
    chunk[at % kChunk] = step;
    count_.store(at + 1, std::memory_order_release);
  }
  size_t size() const {
    if (shared_count_ == nullptr) return count_.load(std::memory_order_acquire);
    // Another process has written the count, and may have crashed.
    return std::min<size_t>(shared_count_->load(std::memory_order_acquire), shared_steps_.size());
  }
  bool full() const { return size() == kMostSteps; }
  const TracedStep& operator[](size_t i) const {
    return shared_count_ != nullptr ? shared_steps_[i] : chunks_[i / kChunk][i % kChunk];
  }

 private:
  void AppendShared(const TracedStep& step) {
    const uint64_t at = shared_count_->load(std::memory_order_relaxed);
    if (at == shared_steps_.size()) return;
    shared_steps_[at] = step;
    shared_count_->store(at + 1, std::memory_order_release);
  }

  static constexpr size_t kChunk = 4096;
  std::array<std::unique_ptr<TracedStep[]>, kMostSteps / kChunk> chunks_;
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t>* shared_count_ = nullptr;  // null: the log is this process's
  std::span<TracedStep> shared_steps_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_TRACE_LOG_H_

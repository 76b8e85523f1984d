// TraceLog: the steps that one work queue was at work on, in order; the first million of them.
//
// One thread appends. Others may read at the same time; they see the entries up to some point.
// Memory comes in chunks that stay where they are.
#ifndef CGRAPH_RUNTIME_ENGINE_EXECUTE_TRACE_LOG_H_
#define CGRAPH_RUNTIME_ENGINE_EXECUTE_TRACE_LOG_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

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
  // Appends a step; where there is no room or no memory the step is left out.
  void Append(const TracedStep& step) {
    const size_t at = count_.load(std::memory_order_relaxed);
    if (at == kChunks * kChunk) return;
    std::unique_ptr<TracedStep[]>& chunk = chunks_[at / kChunk];
    if (chunk == nullptr) chunk.reset(new (std::nothrow) TracedStep[kChunk]);
    if (chunk == nullptr) return;
    chunk[at % kChunk] = step;
    count_.store(at + 1, std::memory_order_release);
  }
  size_t size() const { return count_.load(std::memory_order_acquire); }
  const TracedStep& operator[](size_t i) const { return chunks_[i / kChunk][i % kChunk]; }

 private:
  static constexpr size_t kChunk = 4096, kChunks = 256;
  std::array<std::unique_ptr<TracedStep[]>, kChunks> chunks_;
  std::atomic<size_t> count_{0};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_EXECUTE_TRACE_LOG_H_

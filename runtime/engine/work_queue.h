// WorkQueue: an in-order list of work that one worker drives without ever blocking in it.
//
// Of a proved plan a worker has one work queue, its lanes merged by the certificate. Of an unproved
// one every lane is a work queue of its own and the worker goes round: so a wrong order really
// hangs.
//
// What it measures, if it is asked to, others may read at any time.
//
// The inbox holds the graphs to run next, one entry per round, numbered in the slot itself; the
// submitter writes it, the worker reads it. `done` counts finished entries: that is how everybody
// else learns of progress.
#ifndef CGRAPH_RUNTIME_ENGINE_WORK_QUEUE_H_
#define CGRAPH_RUNTIME_ENGINE_WORK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/event_count.h"
#include "runtime/engine/loaded_graph.h"
#include "runtime/engine/step.h"
#include "runtime/engine/trace_log.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Where a work queue is, as others see it.
struct Position {
  bool idle = true;
  bool running = false;  // inside a kernel
  uint32_t graph = 0;
  uint32_t step = 0;
  uint64_t done = 0;
};

class alignas(128) WorkQueue {
 public:
  // `entries`: most that can be submitted and not finished. `scratch`: what kernels need.
  WorkQueue(const plan::Plan* plan, uint32_t index,
            std::vector<std::unique_ptr<LoadedGraph>>* graphs, uint32_t entries, void* scratch,
            device::EventCount* own, device::EventCount* driver);

  // Runs until nothing is left to do, a wait is not over, an entry is finished or a step has
  // failed. True when anything was done. One thread at a time.
  bool Advance() { return measures_ ? Advance<true>() : Advance<false>(); }

  // Under the submission lock.
  void Push(uint32_t graph);
  uint64_t pushed() const { return pushed_.load(std::memory_order_relaxed); }

  uint64_t done() const { return done_.load(std::memory_order_acquire); }
  const std::atomic<uint64_t>& finished_counter() const { return done_; }
  Position Where() const;
  // Before it runs.
  void Measure(bool profile, bool trace) {
    measures_ = profile || trace;
    traces_ = trace;
  }
  const TraceLog& traced() const { return traced_; }

 private:
  static constexpr uint64_t kIdle = ~0ull;
  // What a work queue knows of a graph: how far it is in it.
  struct Track {
    const StepList* program = nullptr;
    LoadedGraph* graph = nullptr;
    uint64_t round = 0;
    uint32_t frame = 0;  // round mod frames
  };

  template <bool kProfile>
  bool Advance();
  bool Begin();
  void Finish();
  Frame& FrameOf(uint16_t lag);
  bool Skipped(const Step& step, Frame& frame);
  bool AnyPoisoned(const Slice& checks, const Frame& frame) const;
  // Sets the dims of this execution; false (with error_ filled) when an extent is out of bounds.
  bool FillExtents(const Slice& extents, Frame& frame);
  template <bool kProfile>
  bool RunCall(const Step& step, Frame& frame);
  void RunCopy(const Step& step, Frame& frame);
  void RunInput(const Step& step, Frame& frame);
  bool RunOutput(const Step& step, Frame& frame);
  bool TryComm(const Step& step);
  bool TryPart(const CommOp& part, uint8_t& state);
  void TryCollective(const CommOp& part, uint8_t& state, Frame& frame);
  void Move(const CommOp& part, Frame& frame);
  void Receive(const CommOp& part, Frame& frame, bool poison, bool fits);
  std::span<const channel::BufferSpan> Spans(const Slice& tensors, const Frame& frame);
  void Fail(uint32_t instruction, uint32_t poison_flag, Frame& frame);
  void Publish(uint64_t step, bool running);
  void Trace(const Step& step);

  const plan::Plan* plan_;
  std::vector<Track> tracks_;  // per graph
  std::vector<std::atomic<uint64_t>> inbox_;
  uint64_t mask_;
  [[maybe_unused]] uint32_t index_;  // for assertions
  void* scratch_;
  device::EventCount* own_;
  device::EventCount*
      driver_;  // worker 0's: notified when an entry is finished or something failed
  bool measures_ = false, traces_ = false;

  // The driver's.
  Track* track_ = nullptr;  // of the entry in progress
  Frame* frame_ = nullptr;
  uint32_t graph_ = 0;
  uint32_t step_ = 0;
  uint64_t finished_ = 0;
  std::vector<uint8_t> states_;           // of the parts of the comm in progress
  std::vector<channel::BufferSpan> spans_;
  std::string error_;
  uint64_t begun_ns_ = 0;  // when the step in progress was first tried; 0: not yet
  TraceLog traced_;

  alignas(128) std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> at_{kIdle};       // graph, running, step; for reports
  alignas(128) std::atomic<uint64_t> pushed_{0};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_WORK_QUEUE_H_

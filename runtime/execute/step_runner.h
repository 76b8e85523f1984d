// StepRunner: runs steps where they stand, on the worker's own thread.
//
// A work queue whose devices are all immediate runs every step so; one with queues those that no
// queue takes.
//
// In the steady state nothing is allocated and no lock is taken. A step that cannot go on yet is
// pending: it keeps its state, and is tried again from there. A step that fails sets its poison
// flag, and the steps behind it run all the same, so that no peer waits for a message that does not
// come.
#ifndef CGRAPH_RUNTIME_EXECUTE_STEP_RUNNER_H_
#define CGRAPH_RUNTIME_EXECUTE_STEP_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/device/queue.h"
#include "runtime/execute/entry_inbox.h"
#include "runtime/execute/exchange.h"
#include "runtime/execute/trace_log.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/step.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Track: how far a work queue is in a graph.
struct Track {
  const StepList* program = nullptr;
  LoadedGraph* graph = nullptr;
  uint64_t round = 0;
  uint32_t frame = 0;  // round mod frames

  // Returns the frame that a step works on in a round of the past.
  Frame& FrameOf(const Step& step, uint64_t of_round) const {
    return graph->FrameOf(static_cast<uint32_t>(of_round % graph->frames.size()), step.lag);
  }
};

// Entry: the entry in progress.
struct Entry {
  Track* track = nullptr;  // null: there is none
  Frame* frame = nullptr;
  uint32_t graph = 0;
  uint32_t step = 0;

  device::Tag tag() const { return {graph, step, track->round}; }
  Frame& FrameOf(uint16_t lag) const {
    Frame& at = lag == 0 ? *frame : track->graph->FrameOf(track->frame, lag);
    CGRAPH_ASSERT(at.execution == nullptr ||
                  at.execution->number == track->round + track->graph->lag - lag);
    return at;
  }
};

// StepTracer: what is measured of the steps of a work queue. Other threads may read the log at any
// time.
class StepTracer {
 public:
  // Switches measuring on; called before the work queue runs.
  void Measure(bool profile, bool trace) {
    measures_ = profile || trace;
    traces_ = trace;
  }
  bool measures() const { return measures_; }
  TraceLog& log() { return log_; }

  // Called whenever the step in progress is tried, and when it is over.
  void Try();
  void Finish(const Entry& at);
  // Called when a queue has reported that an operation is over.
  void Finish(const Track& track, const device::Report& report);

 private:
  void Append(const Track& track, const TracedStep& traced);

  bool measures_ = false, traces_ = false;
  uint64_t begun_ns_ = 0;  // when the step in progress was first tried; 0: not yet
  TraceLog log_;
};

class StepRunner {
 public:
  enum class Outcome : uint8_t { kDone, kPending, kFailed };

  // `index`: of the work queue. `scratch`: the bytes that kernels need.
  StepRunner(const plan::Plan* plan, uint32_t index, void* scratch, EntryInbox* inbox,
             StepTracer* tracer)
      : plan_(plan), index_(index), scratch_(scratch), inbox_(inbox), tracer_(tracer) {}
  // Called at load: the most parts of a comm, and the most buffers that one moves.
  void Reserve(uint32_t parts, uint32_t spans) { exchange_.Reserve(parts, spans); }

  // Runs the steps of an entry from the one in progress on, until one is pending or has failed.
  template <bool kMeasured>
  Outcome RunAll(Entry& at);
  // Runs the step in progress alone.
  Outcome RunOne(const Entry& at);

  // Notes that an operation has failed that a queue has reported.
  void Fail(const Track& track, const device::Report& report);
  // Returns how many failures were noted in their frames, for rank 0 to be told of.
  uint64_t failures() const { return failures_.load(std::memory_order_acquire); }

 private:
  template <bool kMeasured>
  Outcome Run(const Entry& at, const Step& step);
  template <bool kMeasured>
  bool RunCall(const Entry& at, const Step& step, Frame& frame);
  bool RunCopy(const Entry& at, const Step& step, Frame& frame);
  void RunInput(const Entry& at, const Step& step, Frame& frame);
  bool RunOutput(const Entry& at, const Step& step, Frame& frame);
  bool TryComm(const Entry& at, const Step& step);
  // Returns whether the step has failed because a dimension of this execution is beyond its bound.
  bool Beyond(const Entry& at, const Step& step, Frame& frame) {
    return step.extents.count != 0 && !FillDims(*at.track, step, frame);
  }
  bool FillDims(const Track& track, const Step& step, Frame& frame);
  void Fail(const Track& track, uint32_t instruction, Frame& frame, const std::string& error,
            bool device_failed = false);

  const plan::Plan* const plan_;
  const uint32_t index_;
  void* const scratch_;
  EntryInbox* const inbox_;
  StepTracer* const tracer_;
  // The comm in progress. There is one at a time: all that the work queue drives itself of the
  // comms that happen together is one step (load/communication/comm_steps.h).
  Exchange exchange_;
  std::string error_;  // of the step in progress; cleared, not freed, when it is told
  std::atomic<uint64_t> failures_{0};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_STEP_RUNNER_H_

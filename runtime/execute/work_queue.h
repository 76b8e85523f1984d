// WorkQueue: an in-order list of work that one worker issues without ever blocking in it.
//
// For a proved plan a worker has one work queue, with its lanes merged by the certificate, and the
// caller's worker may have two. For an unproved plan every lane is a work queue of its own and the
// worker goes round, so a wrong order really deadlocks.
//
// Where all devices are immediate, issuing is doing: the work queue runs each step where it stands,
// and is one in-order queue. Steps of other lanes go to the lanes' queues (lane_queues.h), which
// finish them at some later time; only then is the entry that they belong to finished.
//
// Measurements, if they were asked for, may be read at any time by other threads.
//
// The inbox holds the graphs to run next, one entry per round, numbered in the slot itself; the
// submitter writes it, the worker reads it. `done` counts finished entries: it is how all others
// learn of progress. Submitter, worker and reporter may be threads of several processes, each with
// a WorkQueue of its own on the same words (Shared); one of them drives.
#ifndef CGRAPH_RUNTIME_EXECUTE_WORK_QUEUE_H_
#define CGRAPH_RUNTIME_EXECUTE_WORK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/device/shared_heap.h"
#include "runtime/execute/call_ranges.h"
#include "runtime/execute/exchange.h"
#include "runtime/execute/lane_queues.h"
#include "runtime/execute/shared_heads.h"
#include "runtime/execute/trace_log.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/step.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Position: where a work queue is, as other threads see it.
struct Position {
  bool idle = true;
  bool running = false;  // inside a kernel
  uint32_t graph = 0;
  uint32_t step = 0;
  uint64_t done = 0;
  uint64_t round = 0;
  // Of a queue: how many of the issued operations are over and how many are not, and the last step
  // that may be the one that runs (device::Head).
  bool of_queue = false;
  uint64_t finished = 0, pending = 0;
  uint32_t last_step = 0;
};

class alignas(128) WorkQueue {
  static constexpr uint64_t kIdle = ~0ull;

 public:
  // Shared: what the submitter, the worker and those who report read and write of each other.
  struct Shared {
    // Separate lines: others wait for `done`; nobody waits for `at`, which changes at every call.
    struct Words {
      alignas(128) std::atomic<uint64_t> done{0};
      alignas(128) std::atomic<uint64_t> at{kIdle};  // graph, running, step; for reports
      std::atomic<uint64_t> round{0};                // of that graph
      alignas(128) std::atomic<uint64_t> pushed{0};
    };
    Words* words = nullptr;
    std::span<std::atomic<uint64_t>> inbox;  // a power of two
  };
  // Makes that of a work queue with at most `entries` submitted and not finished.
  static Result<Shared> Share(device::SharedHeap& heap, uint32_t entries);

  // `scratch`: the bytes that kernels need.
  WorkQueue(const plan::Plan* plan, uint32_t index,
            std::vector<std::unique_ptr<LoadedGraph>>* graphs, const Shared& shared, void* scratch,
            EventCount* own, EventCount* driver);

  // Called at load: adds queue `number` of the engine's, for steps whose `queue` is what this
  // returns.
  // `over` is a semaphore of that queue's own.
  uint32_t AddQueue(uint32_t number, std::unique_ptr<device::Queue> queue,
                    TimelineSemaphore* over) {
    mode_ = Mode::kQueues;
    return queues_.Add(number, std::move(queue), over, own_);
  }
  // Called at load: `begins` is called with the frame of each round before anything of it is issued
  // to queues.
  void OnBegin(std::function<void(Frame&)> begins) { begins_ = std::move(begins); }
  // Called at load, after all queues were added: records what they issue as one.
  Status Record();
  void AbortCollectives() { queues_.AbortCollectives(); }
  // Ends the queues: no issued operation goes on afterwards, but in those that a kernel keeps which
  // never ends. `kernels` are the positions of these, where they are known. No worker may drive any
  // more. Returns whether all queues have ended.
  bool CloseQueues(std::vector<Position>& kernels);
  void FreeQueues() { queues_.Free(); }  // see LaneQueues

  // Runs until nothing is left to do, a wait is not over, an entry is finished or a step has
  // failed. True when anything was done. One thread at a time.
  bool Advance() {
    if (mode_ == Mode::kPlain) return Advance<false>();
    return mode_ == Mode::kMeasured ? Advance<true>() : AdvanceQueues();
  }

  // Appends an entry to the inbox; under the submission lock.
  void Push(uint32_t graph);
  uint64_t pushed() const { return words_->pushed.load(std::memory_order_relaxed); }

  uint64_t done() const { return words_->done.load(std::memory_order_acquire); }
  const std::atomic<uint64_t>& finished_counter() const { return words_->done; }
  Position Where() const;
  // Progress: what a rank that shares no memory tells of its work queue, and rank 0 sets.
  struct Progress {
    uint64_t done = 0, at = 0, round = 0;
  };
  Progress progress() const {
    const uint64_t done = this->done();
    return {done, words_->at.load(std::memory_order_relaxed),
            words_->round.load(std::memory_order_relaxed)};
  }
  void SetProgress(const Progress& progress);
  // Returns the graph of the first entry that is not finished; for reports.
  std::optional<uint32_t> NextGraph() const;
  bool has_queues() const { return !queues_.empty(); }
  // Returns where its queues are.
  std::vector<device::Head> Heads() const { return queues_.Heads(); }
  // Sets where they are, as the rank has told that drives the work queue.
  void SetHeads(std::vector<device::Head> heads);
  // Called at load: where its queues are lies in memory that ranks share, as often as the rank that
  // drives the work queue tells it.
  void ShareHeads(SharedHeads* heads) { shared_heads_ = heads; }
  void TellHeads() const {
    if (shared_heads_ != nullptr) shared_heads_->Set(queues_.Heads());
  }
  // Returns how many failures were noted in their frames, for rank 0 to be told of.
  uint64_t failures() const { return failures_.load(std::memory_order_acquire); }
  // Returns the position of the work queue and of each of its queues, which may all be at different
  // places.
  std::vector<Position> Everywhere() const;
  // Switches measuring on; called before the queue runs.
  void Measure(bool profile, bool trace) {
    measures_ = profile || trace;
    if (measures_ && mode_ == Mode::kPlain) mode_ = Mode::kMeasured;
    traces_ = trace;
  }
  // Called at load: the log is one that other processes read.
  void ShareTrace(const TraceLog::Shared& shared) { traced_.Share(shared); }
  const TraceLog& traced() const { return traced_; }
  // Adds a step that was at work at a rank which shares no memory with this one.
  void AddTraced(const TracedStep& traced) { traced_.Append(traced); }

 private:
  // Track: how far the work queue is in a graph.
  struct Track {
    const StepList* program = nullptr;
    LoadedGraph* graph = nullptr;
    uint64_t round = 0;
    uint32_t frame = 0;  // round mod frames
  };

  enum class Mode : uint8_t { kPlain, kMeasured, kQueues };
  enum class Outcome : uint8_t { kDone, kPending, kFailed };

  template <bool kProfile>
  bool Advance();
  std::vector<Position> PositionsOf(const std::vector<device::Head>& heads) const;
  bool AdvanceQueues();
  bool Issue();
  bool IssueSteps();
  bool IssueComms();
  uint32_t IssuePass(transport::Pass pass);
  bool FinishEntries();
  void Hear(const device::Report& report);
  bool Begin();
  bool BeginIssuing();
  std::vector<device::Head> Known(std::vector<device::Head> heads) const;
  void NextRound();
  void Finish();
  Frame& FrameOf(uint16_t lag) {
    Frame& frame = lag == 0 ? *frame_ : track_->graph->FrameOf(track_->frame, lag);
    CGRAPH_ASSERT(frame.run == nullptr ||
                  frame.run->execution == track_->round + track_->graph->lag - lag);
    return frame;
  }
  template <bool kProfile>
  Outcome RunStep(const Step& step);
  Outcome RunOwn(const Step& step);
  // Returns whether the step has failed because a dimension of this execution is beyond its bound.
  bool Beyond(const Step& step, Frame& frame) {
    return step.extents.count != 0 && !FillDims(step, frame);
  }
  bool FillDims(const Step& step, Frame& frame);
  template <bool kProfile>
  bool RunCall(const Step& step, Frame& frame);
  bool RunCopy(const Step& step, Frame& frame);
  void RunInput(const Step& step, Frame& frame);
  bool RunOutput(const Step& step, Frame& frame);
  bool TryComm(const Step& step);
  void Fail(const Track& track, uint32_t instruction, Frame& frame, const std::string& error,
            bool device_failed = false);
  void Publish(uint64_t step, bool running);
  void Trace();
  void AddTrace(const TracedStep& traced);

  const plan::Plan* plan_;
  std::vector<Track> tracks_;  // per graph
  Shared::Words* const words_;
  const std::span<std::atomic<uint64_t>> inbox_;
  const uint64_t mask_;
  [[maybe_unused]] uint32_t index_;  // for assertions
  void* scratch_;
  EventCount* own_;
  // Worker 0's: notified when an entry is finished or something failed.
  EventCount* driver_;
  Mode mode_ = Mode::kPlain;
  bool measures_ = false, traces_ = false;

  // The driver's fields.
  Track* track_ = nullptr;  // of the entry in progress
  Frame* frame_ = nullptr;
  uint32_t graph_ = 0;
  uint32_t step_ = 0;
  uint64_t issued_ = 0;    // entries that were issued, where there are queues
  Exchange exchange_;      // the comm in progress
  // Of the comms that happen together with the step in progress: the pass, and which of them have
  // gone through it.
  uint32_t comms_pass_ = 0;
  std::vector<bool> comms_issued_;
  std::string error_;
  std::atomic<uint64_t> failures_{0};
  uint64_t begun_ns_ = 0;  // when the step in progress was first tried; 0: not yet
  TraceLog traced_;
  LaneQueues queues_;
  std::vector<device::Report> reports_;
  mutable std::mutex far_heads_mutex_;  // of the next
  std::vector<device::Head> far_heads_;  // what another rank tells of its queues
  SharedHeads* shared_heads_ = nullptr;
  std::function<void(Frame&)> begins_;
  std::unique_ptr<CallRanges> ranges_;  // null: no profiler is attached
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_WORK_QUEUE_H_

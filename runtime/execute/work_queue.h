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
// It consists of its entries (entry_inbox.h), the steps that it runs itself and what is measured of
// them (step_runner.h), its queues, and where it is, for reports (positions.h).
#ifndef CGRAPH_RUNTIME_EXECUTE_WORK_QUEUE_H_
#define CGRAPH_RUNTIME_EXECUTE_WORK_QUEUE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/execute/call_ranges.h"
#include "runtime/execute/entry_inbox.h"
#include "runtime/execute/lane_queues.h"
#include "runtime/execute/positions.h"
#include "runtime/execute/step_runner.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/step.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

class alignas(128) WorkQueue {
 public:
  // `scratch`: the bytes that kernels need. `own` is notified of what may have become possible.
  WorkQueue(const plan::Plan* plan, uint32_t index,
            std::vector<std::unique_ptr<LoadedGraph>>* graphs, const EntryInbox::Shared& shared,
            void* scratch, EventCount* own, EventCount* driver);

  // Called at load: adds queue `number` of the engine's, for steps whose `queue` is what this
  // returns. `over` is a semaphore of that queue's own.
  uint32_t AddQueue(uint32_t number, std::unique_ptr<device::Queue> queue,
                    TimelineSemaphore* over) {
    return queues_.Add(number, std::move(queue), over, inbox_.worker());
  }
  // Called at load: `begins` is called with the frame of each round before anything of it is issued
  // to queues.
  void OnBegin(std::function<void(Frame&)> begins) { begins_ = std::move(begins); }
  // Called at load, after all queues were added: records what they issue as one.
  Status Record();
  // Ends the queues: no issued operation goes on afterwards, but in those that a kernel keeps which
  // never ends. `kernels` are the positions of these, where they are known. No worker may drive any
  // more. Returns whether all queues have ended.
  bool CloseQueues(std::vector<Position>& kernels);

  // Runs until nothing is left to do, a wait is not over, an entry is finished or a step has
  // failed. True when anything was done. One thread at a time: the worker's own or, for worker 0,
  // the one that holds Driver's lock, which hands over what this has written.
  bool Advance() {
    if (!queues_.empty()) return AdvanceQueues();
    return tracer_.measures() ? AdvanceSteps<true>() : AdvanceSteps<false>();
  }
  uint64_t failures() const { return runner_.failures(); }  // see StepRunner

  EntryInbox& inbox() { return inbox_; }
  const EntryInbox& inbox() const { return inbox_; }
  Positions& positions() { return positions_; }
  const Positions& positions() const { return positions_; }
  StepTracer& tracer() { return tracer_; }
  LaneQueues& queues() { return queues_; }
  const LaneQueues& queues() const { return queues_; }

 private:
  template <bool kMeasured>
  bool AdvanceSteps();
  bool AdvanceQueues();
  bool IssueSteps();
  bool IssueComms();
  uint32_t IssuePass(transport::Pass pass);
  bool FinishEntries();
  bool Begin();
  void EndEntry();

  const uint32_t index_;
  std::vector<Track> tracks_;  // per graph; complete before other threads look (Positions)
  EntryInbox inbox_;
  // The submitter reads what is above; the worker writes what follows, with every entry.
  alignas(128) Entry at_;
  uint64_t issued_ = 0;  // entries that were issued
  StepTracer tracer_;
  StepRunner runner_;
  LaneQueues queues_;
  Positions positions_;
  // The pass of the comms that happen together with the step in progress, and which of them have
  // gone through it.
  uint32_t comms_pass_ = 0;
  std::vector<bool> comms_issued_;
  std::vector<device::Report> reports_;
  std::function<void(Frame&)> begins_;
  std::unique_ptr<CallRanges> ranges_;  // null: no profiler is attached
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_WORK_QUEUE_H_

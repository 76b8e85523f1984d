// LaneQueues: the queues of those lanes of a work queue whose devices are not immediate. The work
// queue issues to them in the order of its programs and hears later how the operations ended.
//
// Behind each entry of its inbox a work queue lets every queue signal the entry's number: the entry
// is over when all have. Until then everything that its operations work on stays as it is. A queue
// with nothing to do in an entry signals, too, so one number says of all queues what is over.
#ifndef CGRAPH_RUNTIME_EXECUTE_LANE_QUEUES_H_
#define CGRAPH_RUNTIME_EXECUTE_LANE_QUEUES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/sync/semaphore.h"
#include "runtime/device/queue.h"
#include "runtime/execute/exchange.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/step.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Returns a dimension beyond its bound in words.
std::string BeyondBound(const plan::Plan& plan, const plan::Graph& graph, const DynamicDim& dim,
                        int64_t extent);

// A comm step that a queue runs. It is made at load and used in every round; a queue is in order,
// so it is in one round at a time.
class CommGroup : public device::Communication {
 public:
  // The group of step `step` in the program that work queue `work_queue` has for `graph`.
  CommGroup(const plan::Plan* plan, LoadedGraph* graph, uint32_t work_queue, uint32_t step,
            uint32_t parts, uint32_t spans)
      : plan_(plan), graph_(graph), work_queue_(work_queue), step_(step) {
    exchange_.Reserve(parts, spans);
  }
  Progress Advance(uint64_t round, std::string& error) override;

  // Issues one pass of a step that its queue carries out by itself. Returns false while the pass
  // waits for the host, which may be in other comms that happen together with this one. `held`:
  // does the host's part alone, and returns false.
  bool Issue(transport::Pass pass, device::Queue& queue, const device::Tag& tag, bool held);

 private:
  const StepList& program() const { return graph_->programs[work_queue_]; }
  // Calls visit(message) or visit(member), which shows what the part moves.
  template <typename OnMessage, typename OnMember>
  void WithPart(const CommOp& part, device::Queue& queue, const device::Tag& tag,
                OnMessage&& on_message, OnMember&& on_member);
  bool PreparePart(transport::Pass pass, const CommOp& part, device::Queue& queue,
                   const device::Tag& tag);
  void IssuePart(transport::Pass pass, const CommOp& part, device::Queue& queue,
                 const device::Tag& tag);
  Frame& FrameOf(const CommOp& part, uint64_t round) const;

  const plan::Plan* plan_;
  LoadedGraph* graph_;
  uint32_t work_queue_;
  uint32_t step_;
  Exchange exchange_;
  std::vector<const device::Tensor*> inputs_;  // of the collective that is issued, by member
};

class LaneQueues {
 public:
  // Adds queue `number` of the engine's. Returns its number among those of the work queue, from 1.
  // `own` is the work queue's event count, `over` a semaphore of this queue's own, which outlives
  // it.
  uint32_t Add(uint32_t number, std::unique_ptr<device::Queue> queue,
               TimelineSemaphore* over, EventCount* own);
  bool empty() const { return queues_.empty(); }

  // Issues the step of a round, which is no comm, to its queue.
  void Issue(const Step& step, const device::Tag& tag, const StepList& program, Frame& frame);
  // Issues one pass of a comm to its queue; of one that the host drives, all with the first pass.
  // False while the pass waits for the host, or is held.
  bool IssueComm(transport::Pass pass, const Step& step, const device::Tag& tag, bool held);
  // Records the segments of a program in all frames. kFailed where a queue cannot.
  Status Record(uint32_t graph, StepList& program, std::span<Frame> frames);
  // Issues a segment in a frame.
  void Replay(const Segment& segment, const device::Tag& tag, const StepList& program,
              const Frame& frame);
  // Called when entry `number`, counted from 1, is issued.
  void EndEntry(uint64_t number);
  // Returns how many entries are over.
  uint64_t Over() const;
  bool Poll(std::vector<device::Report>& reports);
  // Returns the fronts of all queues that have one.
  std::vector<device::Head> Heads() const;
  // Ends what is pending of communicators' collectives, before any queue is closed: Close() of a
  // queue waits for its collectives, whose other members may be on queues that are closed later.
  void AbortCollectives() {
    for (Opened& opened : queues_) opened.queue->AbortCollectives();
  }
  // Returns whether all queues have ended (device::Queue::Close). Adds the heads of those that have
  // not to `abandoned`; a queue that has broken before does not know any more which kernel it is.
  bool Close(std::vector<device::Head>& abandoned);
  // Frees the queues, once all of the engine are closed: what frees memory of a device may wait for
  // all that the device does, and must not where a kernel of another queue was abandoned.
  void Free() { queues_.clear(); }

 private:
  struct Opened {
    uint32_t number;  // among the engine's
    TimelineSemaphore* over;  // entries
    std::unique_ptr<device::Queue> queue;
  };
  std::vector<Opened> queues_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_LANE_QUEUES_H_

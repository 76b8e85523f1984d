// Exchange: one comm step in progress. Every part of the group is begun before any is waited for: a
// part that has to wait leaves its state and the next one is tried.
//
// A work queue has one Exchange for the comms that it runs itself, and each comm of a queue has its
// own.
//
// If a part were waited for before the next is begun, two work queues that begin two parts in
// different orders would wait for each other, although the plan says that they happen together.
#ifndef CGRAPH_RUNTIME_EXECUTE_EXCHANGE_H_
#define CGRAPH_RUNTIME_EXECUTE_EXCHANGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/load/loaded_graph.h"
#include "runtime/load/step.h"

namespace cgraph::engine {

// PartFailure: a part that failed, and its dimension that was beyond its bound.
struct PartFailure {
  const CommOp* part;
  const DynamicDim* beyond;
  int64_t extent;
};

class Exchange {
 public:
  void Reserve(uint32_t parts, uint32_t spans) {
    states_.assign(parts, kNew);
    spans_.resize(spans);
  }

  // Does what can be done of the step in this round; `frame` is the round's. Returns true when all
  // of it is over. Failures are added to `failures`, and their poison flags are set.
  bool Try(LoadedGraph& graph, const StepList& program, const Step& step, uint64_t round,
           uint32_t frame);

  std::vector<PartFailure>& failures() { return failures_; }

 private:
  // kShown: a send that its receiver may take, or a member that has arrived. kReduced: a member
  // whose share is done, and whose memory others may still read. A part goes through each state
  // once in a round; when all are done, all are new again for the next comm.
  enum State : uint8_t { kNew, kShown, kReduced, kDone };
  struct At {
    const StepList& program;
    uint64_t round;
  };

  bool TryPart(const At& at, const CommOp& part, const Frame& frame, State& state);
  template <typename ChannelType>
  void TrySend(const At& at, const CommOp& part, const Frame& frame, State& state,
               ChannelType& channel);
  template <typename ChannelType>
  void TryReceive(const At& at, const CommOp& part, const Frame& frame, State& state,
                  ChannelType& channel);
  template <typename CollectiveType>
  void TryCollective(const At& at, const CommOp& part, const Frame& frame, State& state,
                     CollectiveType& collective);
  void Move(const At& at, const CommOp& part, const Frame& frame);
  // Sets the dims of this execution; false when the part has failed.
  bool Describe(const At& at, const CommOp& part, const Frame& frame);
  bool Poisoned(const At& at, const CommOp& part, const Frame& frame) const;
  std::span<const transport::BufferSpan> Spans(const Slice& tensors, const Frame& frame);

  std::vector<State> states_;           // of the parts
  std::vector<transport::BufferSpan> spans_;
  std::vector<PartFailure> failures_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_EXCHANGE_H_

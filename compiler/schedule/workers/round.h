// Round: the work of the workers in one round of a graph, by the times that the plan expects.
//
// A step is everything that stands at one position of the certificate: an instruction, or
// communications that begin together. Each worker runs the steps of its lanes in the certificate's
// order. The length of the round decides which devices share a worker, and whether another order
// would be sooner.
#ifndef CGRAPH_COMPILER_SCHEDULE_WORKERS_ROUND_H_
#define CGRAPH_COMPILER_SCHEDULE_WORKERS_ROUND_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::schedule {

class Round {
 public:
  // The graph must have passed CheckPlan.
  explicit Round(const plan::Graph& graph);

  // Returns how many steps Play goes through for so many executions.
  uint64_t Effort(uint32_t executions) const {
    return uint64_t{executions + most_lag_} * graph_.instructions.size();
  }
  // Returns how much Play keeps of earlier rounds.
  uint64_t Kept() const { return uint64_t{most_awaited_} * graph_.events; }
  // Returns when the last of so many executions ends, all submitted together, in picoseconds.
  // `hop`: picoseconds from a signal, or a message, on one worker until another one sees it.
  uint64_t Play(const std::vector<uint32_t>& worker_of_lane, uint32_t executions,
                uint64_t hop) const;

  // Returns the positions that a list schedule on these workers gives each instruction: whenever a
  // worker is free it does the step with the longest remaining path among those that need not wait.
  // They increase along every wait within a round, so they are a certificate, too. Empty where some
  // steps wait for each other.
  std::vector<uint32_t> Rearranged(const std::vector<uint32_t>& worker_of_lane) const;

 private:
  struct CertificateStep {
    uint32_t first = 0, count = 0;  // of members_
  };
  struct Buffered {
    uint32_t channel = plan::kNone, message = 0;  // kNone: it has none, or meets its partner
    bool is_send = false;
  };
  void FindSteps();
  void FindMessages();
  std::vector<std::vector<uint32_t>> Successors() const;
  void AddMessageEdges(std::vector<std::vector<uint32_t>>& next) const;
  uint64_t DurationOf(const CertificateStep& step) const;
  bool Works(uint32_t instruction, uint32_t round, uint32_t executions) const;

  friend class RoundPlayer;
  const plan::Graph& graph_;
  uint32_t most_lag_ = 0;           // of an instruction
  uint32_t most_awaited_ = 0;       // how many rounds back a wait looks
  std::vector<uint32_t> lane_of_;   // by instruction
  std::vector<uint32_t> members_;   // instructions, step by step
  std::vector<CertificateStep> steps_;         // by position
  std::vector<uint32_t> step_of_;   // by instruction
  std::vector<Buffered> buffered_;  // by instruction: of its only part
  std::vector<uint32_t> messages_;  // by channel: in a round
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_WORKERS_ROUND_H_

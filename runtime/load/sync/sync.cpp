#include "runtime/load/sync/sync.h"

#include <algorithm>

namespace cgraph::engine {
namespace {

constexpr uint32_t kNever = 0xffffffff;

class Reducer {
 public:
  Reducer(const plan::Graph& graph, const std::vector<std::vector<uint32_t>>& queues,
          const std::vector<uint32_t>& queue_of, const std::vector<bool>& has_work, uint32_t depth)
      : graph_(graph),
        queues_(queues),
        queue_of_(queue_of),
        has_work_(has_work),
        depth_(depth),
        signal_at_(graph_.events, kNever),
        needs_{std::vector<bool>(graph_.events, false),
               std::vector<bool>(graph_.waits.size(), false)} {
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      if (graph_.instructions[i].kind() == plan::Kind::signal) {
        signal_at_[graph_.instructions[i].subject()] = i;
      }
    }
  }

  SyncNeeds Reduce() {
    LookAtLanes();
    for (const std::vector<uint32_t>& queue : queues_) KeepAcross(queue);
    DropImplied();
    FindSignals();
    if (depth_ == 1) {
      // The loop repeats because a dropped wait at a queue's end may have been all that kept a
      // signal, and so another wait.
      while (DropTrailing()) FindSignals();
    }
    return std::move(needs_);
  }

 private:
  template <typename Visit>
  void ForWaits(uint32_t instruction, Visit&& visit) {
    const plan::Instruction& wait = graph_.instructions[instruction];
    if (wait.kind() != plan::Kind::wait) return;
    for (uint32_t w = wait.first(); w < wait.first() + wait.inputs(); ++w) visit(w);
  }

  void LookAtLanes() {
    lane_of_.resize(graph_.instructions.size());
    lanes_.resize(graph_.programs.size());
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      const plan::Range& range = graph_.programs[lane];
      std::fill_n(lane_of_.begin() + range.first(), range.count(), lane);
    }
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      Lane& lane = lanes_[lane_of_[i]];
      lane.has_work = lane.has_work || has_work_[i];
      ForWaits(i, [&](uint32_t w) {
        const plan::Wait& wait = graph_.waits[w];
        const uint32_t from = lane_of_[signal_at_[wait.event()]];
        if (wait.lag() >= depth_ || from == lane_of_[i]) return;
        lane.waits = true;
        lanes_[from].signals = true;
      });
    }
  }

  // Keeps waits for other queues, unless the same queue has waited for the same signal or a later
  // one already.
  void KeepAcross(const std::vector<uint32_t>& queue) {
    std::vector<uint32_t> waited(graph_.events, kNever);  // least lag so far
    for (uint32_t instruction : queue) {
      const Lane& lane = lanes_[lane_of_[instruction]];
      if (!lane.has_work && !lane.signals) continue;
      ForWaits(instruction, [&](uint32_t w) {
        const plan::Wait& wait = graph_.waits[w];
        const uint32_t signal = signal_at_[wait.event()];
        const bool same = queue_of_[signal] == queue_of_[instruction];
        if (same || wait.lag() >= depth_ || waited[wait.event()] <= wait.lag()) return;
        waited[wait.event()] = wait.lag();
        needs_.wait[w] = true;
      });
    }
  }

  void FindSignals() {
    std::fill(needs_.signal.begin(), needs_.signal.end(), false);
    for (uint32_t w = 0; w < graph_.waits.size(); ++w) {
      if (needs_.wait[w]) needs_.signal[graph_.waits[w].event()] = true;
    }
  }

  // Drops waits for signals that say no more than the submission does.
  void DropImplied() {
    std::vector<bool> implied(graph_.events, false);
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      if (depth_ != 1 && (lanes_[lane].has_work || lanes_[lane].waits)) continue;
      const plan::Range& range = graph_.programs[lane];
      for (uint32_t i = range.first(); i < range.first() + range.count(); ++i) {
        bool waits = false;
        ForWaits(i, [&](uint32_t w) { waits |= graph_.waits[w].lag() < depth_; });
        if (waits || has_work_[i]) break;
        const plan::Instruction& instruction = graph_.instructions[i];
        if (instruction.kind() == plan::Kind::signal) implied[instruction.subject()] = true;
      }
    }
    for (uint32_t w = 0; w < graph_.waits.size(); ++w) {
      if (implied[graph_.waits[w].event()]) needs_.wait[w] = false;
    }
  }

  // Drops waits that nothing follows: the round is over only when every queue is through with it.
  bool DropTrailing() {
    bool dropped = false;
    for (const std::vector<uint32_t>& queue : queues_) {
      for (size_t i = queue.size(); i-- > 0;) {
        const plan::Instruction& instruction = graph_.instructions[queue[i]];
        if (has_work_[queue[i]]) break;
        if (instruction.kind() == plan::Kind::signal && needs_.signal[instruction.subject()]) break;
        ForWaits(queue[i], [&](uint32_t w) {
          dropped |= needs_.wait[w];
          needs_.wait[w] = false;
        });
      }
    }
    return dropped;
  }

  struct Lane {
    bool has_work = false;
    bool waits = false;    // for another lane, less than `depth` rounds back
    bool signals = false;  // to a lane that waits so
  };

  const plan::Graph& graph_;
  const std::vector<std::vector<uint32_t>>& queues_;
  const std::vector<uint32_t>& queue_of_;
  const std::vector<bool>& has_work_;
  const uint32_t depth_;
  std::vector<uint32_t> lane_of_;    // per instruction
  std::vector<Lane> lanes_;
  std::vector<uint32_t> signal_at_;  // per event: its signal instruction
  SyncNeeds needs_;
};

}  // namespace

SyncNeeds FindSyncNeeds(const plan::Graph& graph, const std::vector<std::vector<uint32_t>>& queues,
                        const std::vector<uint32_t>& queue_of, const std::vector<bool>& has_work,
                        uint32_t depth) {
  return Reducer(graph, queues, queue_of, has_work, depth).Reduce();
}

SyncNeeds KeepAllSync(const plan::Graph& graph) {
  return {std::vector<bool>(graph.events, true), std::vector<bool>(graph.waits.size(), true)};
}

}  // namespace cgraph::engine

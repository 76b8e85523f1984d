// ConstraintGraph: the waits between instructions in one round, endlessly repeated. For the start
// graph it is the one round that it runs, in which nothing waits for a round before.
//
// An edge from -> to with distance d says: `to` in round r waits for `from` in round r - d. Nodes
// are instructions that are done. A comm has a second node for its start, since its partner waits
// for that. (Other instructions wait for nothing between start and done, so one node serves as
// both.) A hub stands for "all members of a collective have started", and two nodes for a capture's
// launch and end: a capture is the instructions with one `capture_id` number. Credit edges say that
// a transport buffers nothing beyond its capacity: true for deadlocks, not to be relied on for
// memory.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_EDGES_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_EDGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/plan/graph_index.h"

namespace cgraph::plan::prove {

enum class Why : uint8_t {
  kRuns,        // an instruction is done after it started; a capture's parts after its launch
  kLane,        // a lane runs its list in order
  kEvent,       // a wait passes after the signal
  kTransfer,    // a receive is done after its send has started
  kRendezvous,  // credit: a send is done after its receive has started
  kCapacity,    // credit: a send is done after an earlier receive has made room
  kCollective,  // a member is done after others have started
  kCapture,     // a capture starts when all that it waits for is there
};

struct Edge {
  uint32_t from = 0, to = 0;
  uint32_t distance = 0;
  Why why = Why::kRuns;
  bool credit = false;
};

class ConstraintGraph {
 public:
  ConstraintGraph(const GraphIndex& index, std::optional<uint32_t> capacity);

  const GraphIndex& index() const { return index_; }
  const std::vector<Edge>& edges() const { return edges_; }
  uint32_t nodes() const { return static_cast<uint32_t>(instruction_.size()); }

  uint32_t done(uint32_t instruction) const { return instruction; }
  uint32_t start(uint32_t instruction) const { return start_[instruction]; }
  bool is_done(uint32_t node) const { return node < start_.size(); }
  // Returns the instruction of a node; kNone for hubs and captures.
  uint32_t instruction(uint32_t node) const { return instruction_[node]; }
  bool rendezvous(uint32_t channel) const { return Capacity(channel) == 0; }

  struct Capture {
    uint32_t number = 0;
    uint32_t launch = 0, end = 0;  // its nodes
  };
  const std::vector<Capture>& captures() const { return captures_; }
  const Capture* CaptureOf(uint32_t instruction) const;  // null for none

 private:
  void Add(uint32_t from, uint32_t to, uint32_t distance, Why why, bool credit = false) {
    if (distance > 0 && index_.runs_once()) return;
    edges_.push_back({from, to, distance, why, credit});
  }
  uint32_t AddNode(uint32_t instruction) {
    instruction_.push_back(instruction);
    return nodes() - 1;
  }
  uint32_t Capacity(uint32_t channel) const;
  void FindCaptures();
  void AddLanes();
  void AddEvents();
  void AddChannel(uint32_t channel);
  void AddCollectives();
  void AddCollective(std::span<const CollectivePart> parts);

  const GraphIndex& index_;
  const Graph& graph_;
  std::optional<uint32_t> capacity_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> start_;        // by instruction
  std::vector<uint32_t> instruction_;  // by node
  std::vector<Capture> captures_;      // by number
};

// Returns the edges by the node at one of their ends, `&Edge::from` or `&Edge::to`, as lists of
// positions in `edges`.
Lists<uint32_t> EdgesBy(uint32_t Edge::*end, uint32_t nodes, const std::vector<Edge>& edges);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_EDGES_H_

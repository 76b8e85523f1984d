// GraphParts: the parts of one graph (node_parts.h). What it looks up in the whole graph it looks
// up once, so that all parts together take about the time of the graph.
#ifndef CGRAPH_RUNTIME_PLAN_PART_GRAPH_PARTS_H_
#define CGRAPH_RUNTIME_PLAN_PART_GRAPH_PARTS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/part/renumbering.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// SharedTables: the tables that graphs of a plan share, as far as a part keeps them.
struct SharedTables {
  explicit SharedTables(const Plan& plan)
      : names(plan.names.size()),
        sites(plan.sites.size()),
        kernels(plan.kernels.size()),
        weights(plan.weights.size()) {}
  Renumbering names, sites, kernels, weights;
};

class GraphParts {
 public:
  GraphParts(const Plan& plan, const Graph& graph);

  const GraphIndex& index() const { return index_; }
  bool may_fail() const { return others_flags_ != 0; }  // some operation of the graph
  std::unique_ptr<Graph> Of(uint32_t node, SharedTables& shared);

 private:
  uint32_t NodeOf(uint32_t lane) const { return plan_.devices[plan_.lanes[lane].device()]->node; }
  bool MayFail() const;
  void FindCollectives();
  void FindConstants();

  // All about the part that is being made.
  void KeepOthers(uint32_t node);
  void AddOwnLane(uint32_t lane);
  void AddOtherLane(std::span<const Message> messages);
  void AddInstruction(uint32_t instruction);
  void AddPart(uint32_t part, uint8_t flags);
  uint32_t AddOperands(uint32_t first, uint32_t count);
  uint32_t Subject(const Instruction& at);
  void AddPorts();
  void AddExtents();
  void AddCalls();
  void AddCollectives();
  void AddValues();
  void AddBuffers(uint32_t node);

  const Plan& plan_;
  const Graph& graph_;
  GraphIndex index_;
  const uint8_t others_flags_;      // of parts of comms of other nodes
  std::vector<std::span<const CollectivePart>> collectives_;  // by communicator
  std::vector<uint32_t> constant_of_buffer_;

  Renumbering values_, buffers_, events_, calls_, collective_numbers_;
  SharedTables* shared_ = nullptr;
  std::unique_ptr<Graph> part_;
  std::vector<Message> others_;  // ends and members of other nodes
  std::vector<bool> devices_;    // that have instructions in the part
};

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_PART_GRAPH_PARTS_H_

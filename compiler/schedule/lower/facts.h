// Facts: what Lower asks of a graph again and again, found once.
#ifndef CGRAPH_COMPILER_SCHEDULE_LOWER_FACTS_H_
#define CGRAPH_COMPILER_SCHEDULE_LOWER_FACTS_H_

#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

inline constexpr graph::DeviceId kCaller(0);

class Facts {
 public:
  Facts(const graph::Module& module, const graph::Graph& graph);

  bool IsGpu(graph::DeviceId id) const { return module_.devices[id].kind == DeviceKind::kGpu; }
  bool IsPort(graph::ValueId id) const { return ports_[id.index]; }  // of an input

  // Returns Step::ProgramPosition::call for the work of the call of `op`, and for what follows from
  // it.
  uint32_t PlaceOf(graph::OpId op) const { return last_op_[graph_.ops[op].call.index] + 1; }
  // Returns the same for the maker of a value; 0 for an input.
  uint32_t MadeAt(graph::ValueId id) const;

  // Returns whether the op that makes the value may write it straight into the output's memory.
  bool IsDirect(graph::ValueId id) const { return direct_[id.index]; }
  // Returns where a value lies at its home.
  Space HomeSpace(graph::ValueId id) const;

 private:
  void FindDirectOutputs();

  const graph::Module& module_;
  const graph::Graph& graph_;
  std::vector<uint32_t> last_op_;      // by call
  std::vector<bool> direct_, ports_;   // by value
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_LOWER_FACTS_H_

// What the parts of Lower share.
#ifndef CGRAPH_COMPILER_SCHEDULE_LOWER_LOWERING_CONTEXT_H_
#define CGRAPH_COMPILER_SCHEDULE_LOWER_LOWERING_CONTEXT_H_

#include "compiler/schedule/lower/facts.h"
#include "compiler/schedule/lower/tables.h"
#include "compiler/schedule/lower/values.h"

namespace cgraph::schedule {

struct LoweringContext {
  const graph::Module& module;
  const graph::Graph& graph;
  Schedule& schedule;
  const Facts facts;
  Tables tables;
  Values values;

  LoweringContext(const graph::Module& module, const graph::Graph& graph, CommLanes comm_lanes,
                  Schedule& schedule)
      : module(module),
        graph(graph),
        schedule(schedule),
        facts(module, graph),
        tables(graph, comm_lanes, schedule),
        values(module, graph, facts, tables, schedule) {}
};

// Collectives: one step with a part at every participant; or, through host memory, the caller's.
void AddCollective(LoweringContext& lowering, graph::OpId id);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_LOWER_LOWERING_CONTEXT_H_

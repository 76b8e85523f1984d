// The order that a schedule gives a graph, if the graph is a pipeline.
//
// What makes it one: calls of kinds named `forward`, and `backward` or `backward_input` and
// `backward_weight`, by the names of the graph's rules or else of the methods. Their places are the
// stages, in the order of the first forwards; the micro-batch is the loop variable `mb`, or else
// the outermost that all of them have. Devices are ranks, in the order of their places.
#ifndef CGRAPH_COMPILER_PIPELINE_ORDER_OF_H_
#define CGRAPH_COMPILER_PIPELINE_ORDER_OF_H_

#include "compiler/graph/graph.h"
#include "compiler/pipeline/order.h"
#include "compiler/schedule/ir.h"

namespace cgraph::pipeline {

// With `transfers` both ends of what goes from stage to stage stand between the calls, without idle
// steps; without, every call is at the first time step that the order lets it have. The status says
// what the graph lacks.
Result<Order> OrderOf(const graph::Module& module, const graph::Graph& graph,
                      const schedule::Schedule& schedule, bool transfers);

}  // namespace cgraph::pipeline

#endif  // CGRAPH_COMPILER_PIPELINE_ORDER_OF_H_

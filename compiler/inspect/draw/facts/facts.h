// What drawings ask of a plan, operation by operation.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_FACTS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_FACTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/inspect/draw/facts/operations.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// Which operation's value reaches which other operation, and how it travels there.
struct Flow {
  uint32_t from = 0;   // operations that make or use values: calls, inputs, outputs, loads,
  uint32_t to = 0;     // collectives; not the copies and transfers between them
  uint32_t value = 0;  // as its maker wrote it, or the part of it that is read
  // As `--emit transports` says it: "host", "nccl through gpu[1]", in order; none: no device is
  // left.
  std::vector<std::string> transports;
  bool is_copied = false;  // into the memory of the output that it goes to
};
// "by nccl, host", "by local, copied", "copied"; "" for what stays where it is.
std::string WayText(const Flow& flow);

// In program order of the readers. State is not followed: it belongs to an actor and is no value
// that travels. Extents are followed only when they are used as numbers.
std::vector<Flow> FindFlows(const plan::Plan& plan, const plan::Graph& graph,
                            const Operations& operations);

// By instruction: the output that the copy fills with what host memory holds already, because the
// value is also used elsewhere; kNone for all else. Such a copy carries nothing between devices.
// What `via host` carries to the caller is copied by the caller's lane, and is not among them.
std::vector<uint32_t> FindOutputCopies(const plan::Plan& plan, const plan::Graph& graph);

// Each method that is called for micro-batches has a shade, from 0 for the first in program order
// to 1 for the last; what is no call has 0.
void ChooseShades(const plan::Graph& graph, Operations& operations);

// By shade the name of its method; none where colours are not of micro-batches, or one is enough.
std::map<double, std::string> ShadesOf(const plan::Plan& plan, const plan::Graph& graph,
                                       const Operations& operations);

// Which micro-batch an operation works for: the part of the graph's inputs on which its data
// depends.
//
// A pipeline cuts an input into equal rows, x[0], x[1], ..., or by `split`, or takes a list of
// inputs, xs[0], xs[1], ...; what is computed of part k, forwards or backwards, is of micro-batch
// k. State is not followed: a weight belongs to all of them. Parts are micro-batches only where one
// method of one actor is called for several of them; where each part has actors of its own they are
// shards.
//
// By instruction; kNone for what depends on no part or on several, and everywhere in a graph
// without micro-batches.
std::vector<uint32_t> FindMicroBatches(const plan::Plan& plan, const plan::Graph& graph);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_FACTS_H_

// The order of a pipeline: what each rank does, one action after the other. PyTorch's pipelining
// reads and writes it as CSV: a line for each rank, a cell for each action; an empty cell is an
// idle time step.
//
//   0F0,0F1,,0B0,,0B1
//   ,1F0,1B0,1F1,1B1,
//
// A cell is a stage, what it does, and with which micro-batch. `(0F7;7B3)OVERLAP_F_B` is a forward
// and a backward that run as one.
#ifndef CGRAPH_COMPILER_PIPELINE_ORDER_H_
#define CGRAPH_COMPILER_PIPELINE_ORDER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"
#include "runtime/base/status.h"

namespace cgraph::pipeline {

enum class ActionKind : uint8_t {
#define X(id, text) id,
#include "compiler/pipeline/actions.def"
#undef X
};

struct Action {
  uint32_t stage = 0;
  ActionKind kind = ActionKind::kForward;
  uint32_t microbatch = 0;
  auto operator<=>(const Action&) const = default;
};
std::string ActionText(const Action& action);  // "2F0"
bool IsTransfer(ActionKind kind);

// Cell: the actions of one rank at one time step; idle steps are no cells.
struct Cell {
  std::vector<Action> actions;  // one; or a forward and a backward that run as one
  uint32_t step = 0;            // the cell's position in its line, from 0
};

struct Order {
  std::vector<std::vector<Cell>> ranks;
  uint32_t stages = 0, microbatches = 0;
  bool split = false;      // some backward is in two halves
  bool transfers = false;  // some cells are ends of transfers
  // What cells did for sharded parameters, such as UNSHARD: here a stage has its parameters whole.
  std::set<std::string> left_out;
};

// Reads an order. `name`, the file's, stands before an error. The status gives line, cell and mend.
Result<Order> ReadOrder(const std::string& name, const std::string& text);

// Counts the stages and micro-batches of an order, and checks the rules: every stage is on one rank
// and does everything once for each micro-batch, forward before backward; both ends of a transfer
// are there; and the ranks, each in its order, come to their ends. A backward B with a W is an I,
// as older files have it.
Status Complete(const std::string& name, Order& order);

// Gives every cell the first time step at which it can be, one action per rank and step, when
// transfers take no time: then the lines of a CSV show which ranks wait. `order` must be complete.
void Align(Order& order);

std::string WriteOrder(const Order& order);

// Returns a schedule of the language that keeps the order: `using NAME` on a pipeline whose places
// have an index `s`, the stage, and whose micro-batches are counted by `mb`.
std::string WriteSchedule(const std::string& name, const Order& order);

// The order that a schedule gives a graph, if the graph is a pipeline.
//
// What makes it one: calls of kinds named `forward`, and `backward` or `backward_input` and
// `backward_weight`, by the names of the graph's rules or else of the methods. A cell is an action
// of the rules, which begins with its first call. Their places are the stages, in the order of the
// first forwards, those of one action one stage; the micro-batch is the loop variable `mb`, or else
// the outermost that all of them have and that varies. Devices are ranks, in the order of their
// places. A graph may have several pipelines side by side, such as the replicas of a model, between
// whose places no results of forwards go, or a stage on several devices, each of which uses what
// the others make: then the order is that of each, if they have one order.
//
// With `transfers` both ends of what goes from stage to stage stand between the calls, without idle
// steps; without, every call is at the first time step that the order lets it have. The status says
// what the graph lacks.
Result<Order> OrderOf(const graph::Module& module, const graph::Graph& graph,
                      const schedule::Schedule& schedule, bool transfers);

}  // namespace cgraph::pipeline

#endif  // CGRAPH_COMPILER_PIPELINE_ORDER_H_

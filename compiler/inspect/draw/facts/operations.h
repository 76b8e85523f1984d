// Operations: the work of a lane in the words of its users: method calls and transfers, not kernels
// and waits.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_OPERATIONS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_OPERATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph {

// Operation: the instructions of one method call that follow each other on a lane (signals and
// waits between them do not count), or one other instruction.
struct Operation {
  uint32_t lane = 0;
  plan::Kind kind{};
  uint32_t call = plan::kNone;
  std::vector<uint32_t> instructions;
  uint32_t micro_batch = plan::kNone;  // see FindMicroBatches
  bool needs_indices = true;           // to be told from others of its micro-batch
  uint32_t output = plan::kNone;       // that a copy fills (output_copies.cpp)
  // The call that made what a transfer or a copy moves, where its name alone would mean two of
  // them; else kNone.
  uint32_t told_by = plan::kNone;
  bool is_colored_by_micro_batch = false;
  double shade = 0;  // of that colour, from 0 to 1 (shades.cpp)
};

struct Operations {
  std::vector<Operation> all;                // lane by lane, in their order
  std::vector<std::vector<uint32_t>> lanes;  // by lane
  std::vector<uint32_t> of;                  // by instruction; kNone for signals and waits
};
enum class ColorBy : uint8_t;
Operations FindOperations(const plan::Plan& plan, const plan::Graph& graph, ColorBy color_by);

// Returns the name: "stage[0].forward(3)", "stage[0].forward mb 3", "send h mb 3 to gpu[1] by
// nccl", "input x".
std::string OperationName(const plan::Plan& plan, const plan::Graph& graph,
                          const Operation& operation);
// Returns the first word of the name: "send", "all_reduce".
std::string OperationVerb(const plan::Plan& plan, const plan::Graph& graph,
                          const Operation& operation);
// Returns shorter and shorter names, for where there is little room: "forward(3)", "3"; "forward mb
// 3", "mb 3", "3", with "forward" as the second where colours tell micro-batches.
std::vector<std::string> ShortNames(const plan::Plan& plan, const plan::Graph& graph,
                                    const Operation& operation);
// Returns the family that one colour stands for: a method, or the kind of an operation that is no
// call; or a micro-batch.
std::string OperationFamily(const plan::Plan& plan, const plan::Graph& graph,
                            const Operation& operation);

// Returns all families: methods in program order, then the others. So a family has one colour in
// all drawings of a graph.
std::vector<std::string> FamiliesOf(const plan::Plan& plan, const plan::Graph& graph,
                                    const Operations& operations);

// Returns "h", or "%12" for a value without a name.
std::string ValueName(const plan::Plan& plan, const plan::Graph& graph, uint32_t value);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_OPERATIONS_H_

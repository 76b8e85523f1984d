// Meaning: what a graph of a plan means: its instructions one at a time, by (execution, program
// order), every buffer in memory of its own. Every run that the lanes allow must read and leave the
// same.
#ifndef CGRAPH_TESTS_INTERPRETER_MEANING_H_
#define CGRAPH_TESTS_INTERPRETER_MEANING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/interpreter/symbolic.h"
#include "tests/interpreter/view.h"

namespace cgraph::interpreter {

// Observation: what one instruction found in its inputs and in the extents that it needs.
struct Observation {
  std::vector<Content> inputs;
  std::vector<Content> extents;

  Tag hash() const;
};

// Returns the tag of the writer of an output: the instruction, for an execution.
Tag Writer(const InstructionView& instruction, int64_t execution);

// Returns what call, copy, take and load leave in their outputs.
std::vector<Content> Produce(const InstructionView& instruction, int64_t execution,
                             const Observation& found);

// Returns the result of member `member` of a collective; `given` are the inputs of each member.
std::vector<Content> CollectiveOutputs(const plan::Collective& collective, uint32_t member,
                                       const std::vector<std::vector<Content>>& given,
                                       const std::vector<uint64_t>& lengths);
// Returns whether anything that `from` contributes flows to `to`.
bool Flows(const plan::Collective& collective, uint32_t from, uint32_t to);
// Returns the position of a lane among a communicator's members; kNone if it is none of them.
uint32_t MemberOf(const View& view, uint32_t communicator, uint32_t lane);
uint32_t Members(const View& view, uint32_t communicator);

// Returns what state and constants hold before anything runs.
Content InitialContent(const View& view, uint32_t buffer);

struct Meaning {
  std::string problem;                   // why the plan has none; empty: it has one
  uint32_t problem_instruction = 0;
  std::vector<std::vector<Tag>> found;   // by submitted execution, then instruction
  std::vector<Content> buffers;          // at the end; state only
};

// `submitted[e]`: whether execution e was; the others are empty.
Meaning FindMeaning(const View& view, const std::vector<bool>& submitted);

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_MEANING_H_

// View: a graph of a plan as the interpreter walks it: per instruction all that it touches, with
// indices resolved. Making it is also the interpreter's only check of structure: an index or a
// range outside its table is reported, never followed.
#ifndef CGRAPH_TESTS_INTERPRETER_VIEW_H_
#define CGRAPH_TESTS_INTERPRETER_VIEW_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "tests/interpreter/symbolic.h"

namespace cgraph::interpreter {

// Bytes [begin, end) of an arena, which are a part of one buffer.
struct Touch {
  uint32_t arena = 0;
  uint32_t buffer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct DimView {
  int64_t extent = 0;    // or its bound
  bool dynamic = false;  // then the extent is in the arena, at `at`
  uint32_t symbol = plan::kNone;
  Touch at;
};

// A symbol that an instruction's operands have, and where its device finds the number.
struct SymbolView {
  uint32_t symbol = 0;
  bool made = false;  // by the instruction itself
  Touch at;
};

struct Operand {
  uint32_t value = 0;
  plan::DType dtype{};
  Touch touch;
  std::vector<DimView> dims;
};

struct PartView {
  plan::Part part{};
  uint32_t subject = 0;
  uint32_t transfer = 0;
  bool at_bound = false;
  uint32_t first_input = 0;  // in the instruction's inputs
  uint32_t inputs = 0;
  uint32_t first_output = 0;
  uint32_t outputs = 0;
};

struct InstructionView {
  plan::Kind kind{};
  uint32_t lane = 0;
  int64_t lag = 0;
  uint32_t subject = 0;
  uint32_t capture = 0;
  uint32_t order = 0;
  uint32_t program_order = 0;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::vector<Touch> extents;  // read besides the inputs: extents of the operands that it does
                               // not make itself, nor moves at their bound
  std::vector<SymbolView> symbols;  // those, and what it makes itself
  std::vector<PartView> parts;
  std::vector<plan::Wait> waits;
  bool clashes = false;        // two of its own operands share bytes, one is written, and nothing
                               // says that this is meant
};

struct View {
  const plan::Plan* plan = nullptr;
  const plan::Graph* graph = nullptr;
  std::vector<InstructionView> instructions;
  std::string malformed;  // what is outside its table; empty: nothing

  // Returns whether two touch the same bytes. An empty tensor touches nothing, wherever it lies.
  bool Overlap(const Touch& a, const Touch& b) const {
    return a.arena == b.arena && std::max(a.begin, b.begin) < std::min(a.end, b.end);
  }
};

// `graph`: index into the plan's graphs, kNone for the start graph.
View MakeView(const plan::Plan& plan, uint32_t graph);

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_VIEW_H_

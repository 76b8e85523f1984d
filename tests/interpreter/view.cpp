#include "tests/interpreter/view.h"

#include <algorithm>
#include <stdexcept>

namespace cgraph::interpreter {
namespace {

struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Rows [first, first + count) of a table.
void Within(uint64_t first, uint64_t count, uint64_t size, const char* what) {
  if (first > size || count > size - first) {
    throw Malformed(what);
  }
}

class Maker {
 public:
  Maker(const plan::Plan& plan, const plan::Graph& graph, View& view)
      : plan_(plan), graph_(graph), view_(view) {}

  void Make() {
    CheckTables();
    view_.instructions.resize(graph_.instructions.size());
    std::vector<bool> placed(graph_.instructions.size(), false);
    Within(graph_.programs.size(), 0, plan_.lanes.size(), "more programs than lanes");
    for (uint32_t lane = 0; lane < graph_.programs.size(); ++lane) {
      const plan::Range& program = graph_.programs[lane];
      Within(program.first(), program.count(), placed.size(), "a lane's program");
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        if (placed[i]) {
          throw Malformed("an instruction on two lanes");
        }
        placed[i] = true;
        view_.instructions[i] = MakeInstruction(graph_.instructions[i], lane);
      }
    }
    if (std::find(placed.begin(), placed.end(), false) != placed.end()) {
      throw Malformed("an instruction on no lane");
    }
  }

 private:
  void CheckTables() {
    for (const plan::LaneInfo& lane : plan_.lanes) {
      Within(lane.device(), 1, plan_.devices.size(), "a lane's device");
    }
    for (const plan::Buffer& buffer : graph_.buffers) {
      Within(buffer.arena(), 1, graph_.arenas.size(), "a buffer's arena");
      Within(buffer.offset(), buffer.bytes(), graph_.arenas[buffer.arena()].bytes(),
             "a buffer outside its arena");
    }
    for (const plan::Value& value : graph_.values) {
      Within(value.buffer(), 1, graph_.buffers.size(), "a value's buffer");
      Within(value.offset(), value.bytes(), graph_.buffers[value.buffer()].bytes(),
             "a value outside its buffer");
      Within(value.first_dim(), value.rank(), graph_.dims.size(), "a value's dimensions");
    }
    for (const plan::Constant& constant : graph_.constants) {
      Within(constant.buffer(), 1, graph_.buffers.size(), "a constant's buffer");
      Within(constant.first(), graph_.buffers[constant.buffer()].bytes(),
             graph_.constant_data.size(), "a constant's bytes");
    }
    for (const auto& collective : graph_.collectives) {
      Within(collective->communicator, 1, plan_.communicators.size(), "a communicator");
    }
    for (const plan::Communicator& communicator : plan_.communicators) {
      Within(communicator.first_member(), communicator.members(), plan_.members.size(),
             "a communicator's members");
    }
  }

  Touch TouchOf(uint32_t value_index) const {
    Within(value_index, 1, graph_.values.size(), "an operand");
    const plan::Value& value = graph_.values[value_index];
    const plan::Buffer& buffer = graph_.buffers[value.buffer()];
    const uint64_t begin = buffer.offset() + value.offset();
    return {buffer.arena(), value.buffer(), begin, begin + value.bytes()};
  }

  Operand MakeOperand(uint32_t value_index, uint32_t device) const {
    Operand operand{value_index, {}, TouchOf(value_index), {}};
    const plan::Value& value = graph_.values[value_index];
    operand.dtype = value.dtype();
    for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
      const plan::Dim& dim = graph_.dims[d];
      DimView view{dim.extent(), dim.symbol() != plan::kNone, dim.symbol(), {}};
      if (view.dynamic) {
        view.at = TouchOf(ExtentOf(dim.symbol(), device));
      }
      operand.dims.push_back(view);
    }
    return operand;
  }

  uint32_t ExtentOf(uint32_t symbol, uint32_t device) const {
    for (const plan::Extent& extent : graph_.extents) {
      if (extent.symbol() == symbol && extent.device() == device) {
        return extent.value();
      }
    }
    throw Malformed("a device without the extent of a symbol that it needs");
  }

  void AddOperands(uint32_t first, uint32_t inputs, uint32_t outputs, uint32_t device,
                   InstructionView& view) const {
    Within(first, uint64_t{inputs} + outputs, graph_.operands.size(), "operands");
    for (uint32_t i = 0; i < inputs + outputs; ++i) {
      (i < inputs ? view.inputs : view.outputs)
          .push_back(MakeOperand(graph_.operands[first + i], device));
    }
  }

  InstructionView MakeInstruction(const plan::Instruction& instruction, uint32_t lane) const {
    const uint32_t device = plan_.lanes[lane].device();
    InstructionView view;
    view.kind = instruction.kind();
    view.lane = lane;
    view.lag = instruction.lag();
    view.subject = instruction.subject();
    view.capture = instruction.capture_id();
    view.order = instruction.certificate_position();
    view.program_order = instruction.program_order();
    switch (instruction.kind()) {
      case plan::Kind::wait:
        Within(instruction.first(), instruction.inputs(), graph_.waits.size(), "waits");
        for (uint32_t w = 0; w < instruction.inputs(); ++w) {
          view.waits.push_back(graph_.waits[instruction.first() + w]);
          Within(view.waits.back().event(), 1, graph_.events, "an event");
        }
        break;
      case plan::Kind::signal:
        Within(instruction.subject(), 1, graph_.events, "an event");
        break;
      case plan::Kind::comm:
        Within(instruction.first(), instruction.inputs(), graph_.parts.size(), "parts");
        for (uint32_t p = 0; p < instruction.inputs(); ++p) {
          AddPart(graph_.parts[instruction.first() + p], device, view);
        }
        break;
      default:
        CheckSubject(instruction);
        AddOperands(instruction.first(), instruction.inputs(), instruction.outputs(), device, view);
    }
    AddExtents(view);
    view.clashes = Clashes(instruction, view);
    return view;
  }

  void CheckSubject(const plan::Instruction& instruction) const {
    const uint32_t subject = instruction.subject();
    switch (instruction.kind()) {
      case plan::Kind::call: Within(subject, 1, plan_.kernels.size(), "a kernel"); break;
      case plan::Kind::input: Within(subject, 1, graph_.inputs.size(), "an input"); break;
      case plan::Kind::output: Within(subject, 1, graph_.outputs.size(), "an output"); break;
      case plan::Kind::load: Within(subject, 1, plan_.weights.size(), "a weight file"); break;
      default: break;
    }
  }

  void AddPart(const plan::CommPart& part, uint32_t device, InstructionView& view) const {
    if (part.part() == plan::Part::collective) {
      Within(part.subject(), 1, graph_.collectives.size(), "a collective");
    } else {
      Within(part.subject(), 1, graph_.channels.size(), "a channel");
    }
    PartView result{part.part(), part.subject(), part.transfer(),
                    (part.flags() & plan::kAtBound) != 0};
    result.first_input = static_cast<uint32_t>(view.inputs.size());
    result.first_output = static_cast<uint32_t>(view.outputs.size());
    result.inputs = part.inputs();
    result.outputs = part.outputs();
    AddOperands(part.first(), part.inputs(), part.outputs(), device, view);
    view.parts.push_back(result);
    if (!result.at_bound) {
      return;
    }
    // Moved at the bound: both sides know its size without reading anything.
    for (size_t i = result.first_input; i < view.inputs.size(); ++i) {
      MakeStatic(view.inputs[i]);
    }
    for (size_t i = result.first_output; i < view.outputs.size(); ++i) {
      MakeStatic(view.outputs[i]);
    }
  }

  static void MakeStatic(Operand& operand) {
    for (DimView& dim : operand.dims) {
      dim.dynamic = false;
    }
  }

  static bool SameTouch(const Touch& a, const Touch& b) {
    return a.buffer == b.buffer && a.begin == b.begin && a.end == b.end;
  }

  void AddExtents(InstructionView& view) const {
    const auto add = [&](const Operand& operand) {
      for (const DimView& dim : operand.dims) {
        const auto same = [&](const Touch& touch) { return SameTouch(touch, dim.at); };
        const bool made_here =
            std::any_of(view.outputs.begin(), view.outputs.end(),
                        [&](const Operand& output) { return same(output.touch); });
        const auto known = [&](const SymbolView& symbol) { return symbol.symbol == dim.symbol; };
        if (dim.dynamic && std::none_of(view.symbols.begin(), view.symbols.end(), known)) {
          view.symbols.push_back({dim.symbol, made_here, dim.at});
        }
        if (dim.dynamic && !made_here &&
            std::none_of(view.extents.begin(), view.extents.end(), same)) {
          view.extents.push_back(dim.at);
        }
      }
    };
    std::for_each(view.inputs.begin(), view.inputs.end(), add);
    std::for_each(view.outputs.begin(), view.outputs.end(), add);
  }

  bool IsInplace(const plan::Instruction& instruction, uint32_t input, uint32_t output) const {
    if (instruction.kind() != plan::Kind::call) {
      return false;
    }
    for (const plan::Inplace& inplace : plan_.kernels[instruction.subject()]->inplace) {
      if (inplace.input() == input && inplace.output() == output) {
        return true;
      }
    }
    return false;
  }

  bool Clashes(const plan::Instruction& instruction, const InstructionView& view) const {
    for (uint32_t o = 0; o < view.outputs.size(); ++o) {
      const Touch& output = view.outputs[o].touch;
      for (uint32_t other = 0; other < o; ++other) {
        if (view_.Overlap(output, view.outputs[other].touch)) {
          return true;
        }
      }
      for (uint32_t i = 0; i < view.inputs.size(); ++i) {
        const Touch& input = view.inputs[i].touch;
        const bool meant = IsInplace(instruction, i, o) && SameTouch(input, output);
        if (view_.Overlap(output, input) && !meant) {
          return true;
        }
      }
      for (const Touch& extent : view.extents) {
        if (view_.Overlap(output, extent)) {
          return true;
        }
      }
    }
    return false;
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  View& view_;
};

}  // namespace

View MakeView(const plan::Plan& plan, uint32_t graph) {
  View view;
  view.plan = &plan;
  view.graph = graph == plan::kNone ? plan.start.get() : plan.graphs[graph].get();
  try {
    Maker(plan, *view.graph, view).Make();
  } catch (const Malformed& malformed) {
    view.malformed = malformed.what();
  }
  return view;
}

}  // namespace cgraph::interpreter

// The whole plan as text: the module's tables first, then graph by graph its memory and what each
// lane runs. Ids print with their kind (`arena2`, `event0`), values as `%name#id`, so that a dump
// is stable and can be searched. Works on plans that nothing has checked.
#include <iterator>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::plan {
namespace {

class Listing {
 public:
  explicit Listing(const Plan& plan) : plan_(plan) {}

  std::string Print() {
    PrintModule();
    if (plan_.start != nullptr) PrintGraph(*plan_.start, "start graph");
    for (const auto& graph : plan_.graphs) {
      if (graph != nullptr) PrintGraph(*graph, fmt::format("graph {}", graph->name));
    }
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Line(int indent, fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<size_t>(indent) * 2, ' ');
    out_ += fmt::format(format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  std::string Name(uint32_t name) const {
    if (name == kNone) return "";
    return name < plan_.names.size() ? plan_.names[name] : "?";
  }

  std::string ValueText(const Graph& graph, uint32_t value) const {
    if (value >= graph.values.size()) return fmt::format("%?#{}", value);
    return fmt::format("%{}#{} {}", Name(graph.values[value].name()), value,
                       TypeText(plan_, graph, value));
  }

  std::string Operands(const Graph& graph, uint64_t first, uint64_t count) const {
    std::string text;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = first + i;
      if (i > 0) text += ", ";
      text += at < graph.operands.size() ? ValueText(graph, graph.operands[at]) : "%?";
      if (at >= graph.operands.size()) break;
    }
    return text;
  }

  void PrintModule() {
    Line(0, "plan format {}, {} workers, compiler {}", plan_.format, plan_.workers, plan_.compiler);
    for (const auto& partition : plan_.partitions) {
      Line(1, "for {} workers: lanes of {}", partition->workers,
           fmt::join(partition->worker_of_lane, " "));
    }
    if (!plan_.topology.empty()) Line(1, "topology {}", plan_.topology);
    for (const auto& parameter : plan_.parameters) {
      Line(1, "parameter {} = {}", parameter->name, parameter->value);
    }
    for (uint32_t i = 0; i < plan_.devices.size(); ++i) {
      Line(1, "device{} {}", i, DeviceName(plan_, i));
    }
    for (uint32_t i = 0; i < plan_.lanes.size(); ++i) {
      Line(1, "lane{} {}, worker {}", i, LaneName(plan_, i), Index(plan_.lanes[i].worker()));
    }
    for (uint32_t i = 0; i < plan_.actors.size(); ++i) PrintActor(i, *plan_.actors[i]);
    for (uint32_t i = 0; i < plan_.kernels.size(); ++i) PrintKernel(i, *plan_.kernels[i]);
    for (uint32_t i = 0; i < plan_.communicators.size(); ++i) PrintCommunicator(i);
    for (uint32_t i = 0; i < plan_.weights.size(); ++i) {
      const WeightFile& weight = *plan_.weights[i];
      std::string slice;
      for (size_t d = 0; d < weight.first.size() && d < weight.count.size(); ++d) {
        slice += fmt::format("{}{}+{}", d == 0 ? "" : ", ", weight.first[d], weight.count[d]);
      }
      Line(1, "weight{} {} of {}{}", i, weight.tensor, weight.name,
           slice.empty() ? "" : fmt::format(" [{}]", slice));
    }
  }

  void PrintActor(uint32_t id, const Actor& actor) {
    Line(1, "actor{} {}: {} on {}, {} bytes, layout {:016x}", id, actor.name, actor.class_name,
         DeviceName(plan_, actor.device), actor.state_bytes, actor.layout);
    for (const auto& state : actor.states) {
      Line(2, "{}: {}[{}] at {}, {} bytes{}", state->name, DTypeName(state->dtype),
           fmt::join(state->dims, ", "), state->offset, state->bytes,
           state->copies.empty() ? "" : ", a copy of " + state->copies);
    }
  }

  void PrintKernel(uint32_t id, const Kernel& kernel) {
    std::string extra;
    if (kernel.scratch > 0) extra += fmt::format(", scratch {}", kernel.scratch);
    if (kernel.cost_unstated) extra += ", cost not stated";
    if (kernel.fails) extra += ", fails";
    for (const Inplace& pair : kernel.inplace) {
      extra += fmt::format(", inplace {}->{}", pair.input(), pair.output());
    }
    if (!kernel.library.empty()) extra += fmt::format(", {}:{}", kernel.library, kernel.symbol);
    Line(1, "kernel{} {}: {} flops, {} bytes{}", id, kernel.name, kernel.flops, kernel.bytes,
         extra);
    for (const auto& primitive : kernel.body) {
      std::string attributes;
      for (const auto& attribute : primitive->attributes) {
        attributes += " " + AttributeText(*attribute);
      }
      std::vector<std::string> operands;
      for (int32_t operand : primitive->operands) {
        operands.push_back(operand < 0 ? fmt::format("t{}", -1 - int64_t{operand})
                                       : std::to_string(operand));
      }
      Line(2, "{}({}){}", primitive->op, fmt::join(operands, ", "), attributes);
    }
  }

  static std::string AttributeText(const Attribute& attribute) {
    if (!attribute.text.empty()) return fmt::format("{}=\"{}\"", attribute.name, attribute.text);
    if (!attribute.ints.empty()) {
      return fmt::format("{}={}", attribute.name, fmt::join(attribute.ints, ","));
    }
    if (!attribute.bits.empty()) {
      return fmt::format("{}=0x{:x}", attribute.name, fmt::join(attribute.bits, ",0x"));
    }
    return fmt::format("{}={}", attribute.name, DTypeName(attribute.dtype));
  }

  void PrintCommunicator(uint32_t id) {
    const Communicator& communicator = plan_.communicators[id];
    std::string members;
    for (uint64_t i = 0; i < communicator.members(); ++i) {
      const uint64_t at = communicator.first_member() + i;
      if (at >= plan_.members.size()) break;
      members += fmt::format("{}{}", i == 0 ? "" : ", ", LaneName(plan_, plan_.members[at]));
    }
    Line(1, "communicator{} {}", id, members);
  }

  void PrintRepeat(const Repeat& repeat) {
    const auto port = [](const char* word, uint32_t index) {
      return index == kNone ? "" : fmt::format(", {} {}", word, index);
    };
    Line(1, "repeat until output {}, limit {}{}{}{}{}, {} inputs and {} outputs of the program",
         repeat.done, repeat.limit, port("of input", repeat.limit_input),
         port("behind graph", repeat.before), port("unless its output", repeat.before_done),
         repeat.before_yields ? ", which gives a row" : "", repeat.inputs, repeat.outputs);
    for (const Carry& carry : repeat.carries) {
      Line(2, "input {} is its output {}{}", carry.input(), carry.first(),
           port("then output", carry.next()));
    }
  }

  void PrintGraph(const Graph& graph, const std::string& title) {
    Line(0, "{}, inflight {}, {} events", title, graph.inflight, graph.events);
    for (const auto& port : graph.inputs) {
      Line(1, "input {}: {}", port->name, ValueText(graph, port->value));
    }
    for (const auto& port : graph.outputs) {
      Line(1, "output {}: {}", port->name, ValueText(graph, port->value));
    }
    if (graph.repeat != nullptr) PrintRepeat(*graph.repeat);
    PrintMemory(graph);
    for (const Extent& extent : graph.extents) {
      const std::string symbol = extent.symbol() < graph.symbols.size()
                                     ? Name(graph.symbols[extent.symbol()].name())
                                     : "?";
      Line(1, "extent {} on {}: {}", symbol, DeviceName(plan_, extent.device()),
           ValueText(graph, extent.value()));
    }
    for (uint32_t i = 0; i < graph.channels.size(); ++i) {
      const Channel& channel = graph.channels[i];
      Line(1, "channel{} {} {} from {} to {}, capacity {}", i, EnumNameProtocol(channel.protocol()),
           EnumNameTransportKind(channel.transport()), LaneName(plan_, channel.from_lane()),
           LaneName(plan_, channel.to_lane()), channel.capacity());
    }
    for (uint32_t i = 0; i < graph.collectives.size(); ++i) {
      const Collective& collective = *graph.collectives[i];
      Line(1, "collective{} {} root {} {} on communicator{}", i, CollectiveText(collective),
           collective.root, EnumNameTransportKind(collective.transport), collective.communicator);
    }
    for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
      const Range& program = graph.programs[lane];
      if (program.count() == 0) continue;
      Line(1, "{}", LaneName(plan_, lane));
      for (uint64_t i = program.first(); i < uint64_t{program.first()} + program.count(); ++i) {
        if (i >= graph.instructions.size()) break;
        PrintInstruction(graph, static_cast<uint32_t>(i));
      }
    }
  }

  static std::string Index(uint32_t index) {
    return index == kNone ? "none" : fmt::format("{}", index);
  }

  void PrintMemory(const Graph& graph) {
    for (uint32_t i = 0; i < graph.arenas.size(); ++i) {
      const Arena& arena = graph.arenas[i];
      std::string owner;
      if (arena.owner() < plan_.actors.size()) owner = " of " + plan_.actors[arena.owner()]->name;
      Line(1, "arena{} {}{} on {}, {}, copies {}, {} bytes", i, EnumNameSpace(arena.space()), owner,
           DeviceName(plan_, arena.device()), EnumNameMemory(arena.memory()), arena.copies(),
           arena.bytes());
    }
    for (uint32_t i = 0; i < graph.values.size(); ++i) {
      const Value& value = graph.values[i];
      if (value.buffer() >= graph.buffers.size()) {
        Line(2, "{} in no buffer", ValueText(graph, i));
        continue;
      }
      const Buffer& buffer = graph.buffers[value.buffer()];
      Line(2, "{} in buffer{} of arena{} at {}+{}, {} bytes", ValueText(graph, i), value.buffer(),
           buffer.arena(), buffer.offset(), value.offset(), value.bytes());
    }
  }

  void PrintInstruction(const Graph& graph, uint32_t id) {
    const Instruction& instruction = graph.instructions[id];
    std::string notes;
    if (instruction.lag() > 0) notes += fmt::format(" lag {}", instruction.lag());
    if (instruction.capture_id() > 0) notes += fmt::format(" capture {}", instruction.capture_id());
    if (instruction.flags() & kMayFail) notes += " may-fail";
    if (instruction.flags() & kCommitsState) notes += " commits-state";
    if (instruction.flags() & kMayBeCaptured) notes += " may-be-captured";
    if (instruction.expected() > 0) notes += fmt::format(" {}ps", instruction.expected());
    const std::string call = CallName(plan_, graph, instruction.call());
    if (!call.empty()) {
      notes += "  // " + call;
      if (instruction.call() < graph.calls.size()) {
        const std::string site = SiteText(plan_, graph.calls[instruction.call()].site());
        if (!site.empty()) notes += " " + site;
      }
    }
    Line(2, "@{} #{} {}{}", instruction.certificate_position(), instruction.program_order(),
         InstructionPhrase(graph, instruction), notes);
  }

  std::string InstructionPhrase(const Graph& graph, const Instruction& instruction) const {
    const std::string inputs = Operands(graph, instruction.first(), instruction.inputs());
    switch (instruction.kind()) {
      case Kind::comm:
        return Parts(graph, instruction);
      case Kind::wait:
        return Waits(graph, instruction);
      case Kind::signal:
        return fmt::format("signal event{}", instruction.subject());
      case Kind::copy:
      case Kind::output:
      case Kind::call:
      case Kind::input:
      case Kind::load:
        break;
      default:
        return fmt::format("kind {}", static_cast<int>(instruction.kind()));
    }
    std::string text = EnumNameKind(instruction.kind());
    if (instruction.kind() == Kind::call) {
      const bool known = instruction.subject() < plan_.kernels.size();
      text += " " + (known ? plan_.kernels[instruction.subject()]->name : "?");
    }
    if (instruction.kind() == Kind::load) text += fmt::format(" weight{}", instruction.subject());
    text += fmt::format("({})", inputs);
    if (instruction.outputs() > 0) {
      const uint64_t first = uint64_t{instruction.first()} + instruction.inputs();
      text += " -> " + Operands(graph, first, instruction.outputs());
    }
    return text;
  }

  std::string Waits(const Graph& graph, const Instruction& instruction) const {
    std::string text = "wait";
    for (uint64_t i = 0; i < instruction.inputs(); ++i) {
      const uint64_t at = instruction.first() + i;
      if (at >= graph.waits.size()) break;
      const Wait& wait = graph.waits[at];
      text += fmt::format("{} event{}", i == 0 ? "" : ",", wait.event());
      if (wait.lag() > 0) text += fmt::format(" -{}", wait.lag());
    }
    return text;
  }

  std::string Parts(const Graph& graph, const Instruction& instruction) const {
    std::string text;
    for (uint64_t i = 0; i < instruction.inputs(); ++i) {
      const uint64_t at = instruction.first() + i;
      if (at >= graph.parts.size()) break;
      const CommPart& part = graph.parts[at];
      if (i > 0) text += " + ";
      if (part.part() == Part::collective) {
        const bool known = part.subject() < graph.collectives.size();
        text += fmt::format("{} collective{}",
                            known ? CollectiveName(*graph.collectives[part.subject()]) : "?",
                            part.subject());
      } else {
        text +=
            fmt::format("{} channel{} transfer {}", part.part() == Part::send ? "send" : "receive",
                        part.subject(), part.transfer());
      }
      if (part.flags() & kAtBound) text += " at-bound";
      text += fmt::format("({})", Operands(graph, part.first(), part.inputs()));
      if (part.outputs() > 0) {
        text += " -> " + Operands(graph, uint64_t{part.first()} + part.inputs(), part.outputs());
      }
    }
    return text;
  }

  const Plan& plan_;
  std::string out_;
};

}  // namespace

std::string ToText(const Plan& plan) { return Listing(plan).Print(); }

}  // namespace cgraph::plan

// The tables around the instructions, and each instruction by its kind. Ranges into the pools are
// not shared: together they fit in their pool, which also keeps every later pass linear in the
// file.
#include <algorithm>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/print.h"

namespace cgraph::plan::check {
namespace {

constexpr uint8_t kAllFlags = kMayFail | kCommitsState | kMayBeCaptured | kAlwaysRuns;

// Checks that every instruction is in exactly one lane's list.
Status CheckPrograms(const Context& context) {
  const Graph& graph = context.graph;
  if (graph.programs.size() != context.plan.lanes.size()) {
    return Refuse(context, fmt::format("{} lists for {} lanes", graph.programs.size(),
                                       context.plan.lanes.size()));
  }
  std::vector<uint8_t> listed(graph.instructions.size(), 0);
  uint64_t total = 0;
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const Range& program = graph.programs[lane];
    if (!InRange(program.first(), program.count(), graph.instructions.size())) {
      return Refuse(context, fmt::format("the list of {} is outside the instructions",
                                         LaneName(context.plan, lane)));
    }
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      if (listed[i]++ != 0) {
        return Refuse(context, fmt::format("instruction {} is in the lists of two lanes", i));
      }
    }
    total += program.count();
  }
  if (total != graph.instructions.size()) {
    return Refuse(context, fmt::format("{} instructions are in no lane's list",
                                       graph.instructions.size() - total));
  }
  return Status::Ok();
}

Status CheckPorts(const Context& context) {
  const Graph& graph = context.graph;
  if (context.start && !(graph.inputs.empty() && graph.outputs.empty())) {
    return Refuse(context, "it has inputs or outputs");
  }
  for (const auto* ports : {&graph.inputs, &graph.outputs}) {
    for (const auto& port : *ports) {
      if (port == nullptr || port->value >= graph.values.size()) {
        return Refuse(context, fmt::format("port `{}` has a value that does not exist",
                                           port == nullptr ? "?" : port->name));
      }
    }
  }
  return Status::Ok();
}

Status CheckCallTable(const Context& context) {
  const Graph& graph = context.graph;
  for (size_t id = 0; id < graph.calls.size(); ++id) {
    const Call& call = graph.calls[id];
    if (!NoneOrIn(call.place(), context.plan.actors.size()) ||
        !NoneOrIn(call.method(), context.plan.names.size()) ||
        !NoneOrIn(call.site(), context.plan.sites.size()) ||
        !InRange(call.first_index(), call.indices(), graph.call_indices.size())) {
      return Refuse(context, fmt::format("call {} has a place, method, site or indices that do not "
                                         "exist",
                                         id));
    }
  }
  return Status::Ok();
}

Status CheckExtentTable(const Context& context) {
  const Graph& graph = context.graph;
  std::vector<std::pair<uint32_t, uint32_t>> seen;
  for (const Extent& extent : graph.extents) {
    if (extent.symbol() >= graph.symbols.size() || extent.device() >= context.plan.devices.size() ||
        extent.value() >= graph.values.size()) {
      return Refuse(context, "an extent has a symbol, device or value that does not exist");
    }
    const Value& value = graph.values[extent.value()];
    if (value.dtype() != DType::i64 || value.rank() != 0) {
      return Refuse(
          context, 7,
          fmt::format("an extent is an i64[], and {} is not", ValueText(context, extent.value())));
    }
    seen.emplace_back(extent.symbol(), extent.device());
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice == seen.end()) return Status::Ok();
  return Refuse(
      context, 7,
      fmt::format("{} has two extents for one symbol", DeviceName(context.plan, twice->second)));
}

struct PoolUse {
  uint64_t operands = 0, parts = 0, waits = 0;
};

bool OperandsExist(const Graph& graph, uint32_t first, uint32_t count, PoolUse& use) {
  use.operands += count;
  if (use.operands > graph.operands.size() || !InRange(first, count, graph.operands.size())) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (graph.operands[first + i] >= graph.values.size()) return false;
  }
  return true;
}

Space SpaceOf(const Graph& graph, uint32_t value) {
  return graph.arenas[graph.buffers[graph.values[value].buffer()].arena()].space();
}

// Returns whether a kind of instruction may write a space. Nothing writes constants, only take
// writes inputs. A comm, which also runs for empty and poisoned executions, writes neither state
// nor output (rule 3).
bool MayWrite(Kind kind, Space space) {
  switch (space) {
    case Space::slot:
    case Space::scratch:
      return true;
    case Space::state:
      return kind == Kind::call || kind == Kind::copy || kind == Kind::load;
    case Space::output:
      return kind == Kind::call || kind == Kind::copy;
    case Space::input:
      return kind == Kind::input;
    case Space::constant:
      return false;
  }
  return false;
}

Status CheckWrites(const Context& context, uint32_t id, uint32_t first, uint32_t count) {
  const Graph& graph = context.graph;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t value = graph.operands[first + i];
    const Space space = SpaceOf(graph, value);
    if (MayWrite(graph.instructions[id].kind(), space)) continue;
    const bool comm = graph.instructions[id].kind() == Kind::comm;
    return Refuse(context, comm ? 3 : 6,
                  fmt::format("{} may not write {}, which is {} memory", At(context, id),
                              ValueText(context, value), EnumNameSpace(space)));
  }
  return Status::Ok();
}

Status CheckPart(const Context& context, uint32_t id, const CommPart& part, PoolUse& use) {
  const Graph& graph = context.graph;
  if (!Known(part.part()) || (part.flags() & ~(kAtBound | kIsMessage)) != 0 ||
      !OperandsExist(graph, part.first(), part.inputs() + part.outputs(), use)) {
    return Refuse(context, fmt::format("{} has a part whose kind, flags or operands do not exist",
                                       At(context, id)));
  }
  const bool collective = part.part() == Part::collective;
  const size_t subjects = collective ? graph.collectives.size() : graph.channels.size();
  if (part.subject() >= subjects) {
    return Refuse(context, fmt::format("{} has no such channel or collective", At(context, id)));
  }
  if ((part.part() == Part::send && part.outputs() != 0) ||
      (part.part() == Part::recv && part.inputs() != 0)) {
    return Refuse(
        context, fmt::format("{}: a send has no outputs and a receive no inputs", At(context, id)));
  }
  return CheckWrites(context, id, part.first() + part.inputs(), part.outputs());
}

Status CheckComm(const Context& context, uint32_t id, PoolUse& use) {
  const Graph& graph = context.graph;
  const Instruction& comm = graph.instructions[id];
  use.parts += comm.inputs();
  if (comm.inputs() == 0 || comm.outputs() != 0 || use.parts > graph.parts.size() ||
      !InRange(comm.first(), comm.inputs(), graph.parts.size())) {
    return Refuse(context, fmt::format("comm {} has parts that do not exist", id));
  }
  for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
    CGRAPH_RETURN_IF_ERROR(CheckPart(context, id, graph.parts[p], use));
  }
  return Status::Ok();
}

Status CheckCall(const Context& context, uint32_t id) {
  const Instruction& call = context.graph.instructions[id];
  if (call.subject() >= context.plan.kernels.size()) {
    return Refuse(context, fmt::format("{} has no such kernel", At(context, id)));
  }
  const Kernel& kernel = *context.plan.kernels[call.subject()];
  const int64_t used = context.kernel_operands[call.subject()];
  if (used > call.inputs() + call.outputs()) {
    return Refuse(context, fmt::format("{} has {} operands and its kernel uses {}", At(context, id),
                                       call.inputs() + call.outputs(), used));
  }
  if (kernel.fails && (call.flags() & kMayFail) == 0) {
    return Refuse(context, fmt::format("{} may fail and is not marked so", At(context, id)));
  }
  return Status::Ok();
}

Status CheckTake(const Context& context, uint32_t id) {
  const Graph& graph = context.graph;
  const Instruction& take = graph.instructions[id];
  if (take.inputs() != 0 || take.outputs() == 0 || take.subject() >= graph.inputs.size() ||
      graph.operands[take.first()] != graph.inputs[take.subject()]->value) {
    return Refuse(context, fmt::format("{} does not take the value of its port", At(context, id)));
  }
  if (SpaceOf(graph, graph.operands[take.first()]) == Space::input) return Status::Ok();
  return Refuse(context, 6, fmt::format("{}: an input lies in input memory", At(context, id)));
}

Status CheckGive(const Context& context, uint32_t id) {
  const Graph& graph = context.graph;
  const Instruction& give = graph.instructions[id];
  if (give.inputs() != 1 || give.outputs() != 0 || give.subject() >= graph.outputs.size() ||
      graph.operands[give.first()] != graph.outputs[give.subject()]->value) {
    return Refuse(context, fmt::format("{} does not give the value of its port", At(context, id)));
  }
  if (SpaceOf(graph, graph.operands[give.first()]) == Space::output) return Status::Ok();
  return Refuse(context, 6, fmt::format("{}: a result lies in output memory", At(context, id)));
}

Status CheckKind(const Context& context, uint32_t id) {
  const Graph& graph = context.graph;
  const Instruction& instruction = graph.instructions[id];
  switch (instruction.kind()) {
    case Kind::call:
      return CheckCall(context, id);
    case Kind::input:
      return CheckTake(context, id);
    case Kind::output:
      return CheckGive(context, id);
    case Kind::copy:
      if (instruction.inputs() == 1 && instruction.outputs() == 1 &&
          SameType(graph, graph.operands[instruction.first()],
                   graph.operands[instruction.first() + 1])) {
        return Status::Ok();
      }
      return Refuse(context,
                    fmt::format("{} is not between two values of one type", At(context, id)));
    case Kind::load:
      if (context.start && instruction.inputs() == 0 && instruction.outputs() == 1 &&
          instruction.subject() < context.plan.weights.size()) {
        return Status::Ok();
      }
      return Refuse(context,
                    fmt::format("{}: a load makes one value of a weight, in the start graph",
                                At(context, id)));
    case Kind::comm:
    case Kind::signal:
    case Kind::wait:
      break;
  }
  return Status::Ok();
}

Status CheckInstruction(const Context& context, uint32_t id, PoolUse& use) {
  const Graph& graph = context.graph;
  const Instruction& instruction = graph.instructions[id];
  if (!Known(instruction.kind()) || (instruction.flags() & ~kAllFlags) != 0 ||
      !NoneOrIn(instruction.call(), graph.calls.size())) {
    return Refuse(context,
                  fmt::format("instruction {} has a kind, flags or call that does not exist", id));
  }
  const Kind kind = instruction.kind();
  const bool always = kind == Kind::comm || kind == Kind::signal || kind == Kind::wait;
  if (always != ((instruction.flags() & kAlwaysRuns) != 0)) {
    return Refuse(context, fmt::format("{}: exactly comm, signal and wait run for empty executions",
                                       At(context, id)));
  }
  if ((kind == Kind::signal || kind == Kind::wait) && instruction.lag() != 0) {
    return Refuse(context, 1, fmt::format("{} has a lag of its own", At(context, id)));
  }
  if (kind == Kind::comm) return CheckComm(context, id, use);
  if (kind == Kind::wait) {
    use.waits += instruction.inputs();
    if (instruction.inputs() > 0 && instruction.outputs() == 0 && use.waits <= graph.waits.size() &&
        InRange(instruction.first(), instruction.inputs(), graph.waits.size())) {
      return Status::Ok();
    }
    return Refuse(context, fmt::format("wait {} waits for nothing that exists", id));
  }
  const uint32_t operands = instruction.inputs() + instruction.outputs();
  if (!OperandsExist(graph, instruction.first(), operands, use) ||
      (kind == Kind::signal && operands != 0)) {
    return Refuse(context, fmt::format("{} has operands that do not exist", At(context, id)));
  }
  CGRAPH_RETURN_IF_ERROR(CheckKind(context, id));
  return CheckWrites(context, id, instruction.first() + instruction.inputs(),
                     instruction.outputs());
}

// Checks that a port is taken at most once, and that every result is given once.
Status CheckPortUse(const Context& context) {
  const Graph& graph = context.graph;
  std::vector<uint32_t> taken(graph.inputs.size(), 0), given(graph.outputs.size(), 0);
  for (const Instruction& instruction : graph.instructions) {
    if (instruction.kind() == Kind::input && taken[instruction.subject()]++ > 0) {
      return Refuse(context, fmt::format("input `{}` is taken twice",
                                         graph.inputs[instruction.subject()]->name));
    }
    if (instruction.kind() == Kind::output) ++given[instruction.subject()];
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != 1) {
      return Refuse(context,
                    fmt::format("output `{}` is given {} times", graph.outputs[i]->name, given[i]));
    }
  }
  return Status::Ok();
}

}  // namespace

Status CheckTables(const Context& context) {
  const Graph& graph = context.graph;
  CGRAPH_RETURN_IF_ERROR(CheckPrograms(context));
  CGRAPH_RETURN_IF_ERROR(CheckPorts(context));
  CGRAPH_RETURN_IF_ERROR(CheckCallTable(context));
  CGRAPH_RETURN_IF_ERROR(CheckExtentTable(context));
  for (size_t id = 0; id < graph.channels.size(); ++id) {
    const Channel& channel = graph.channels[id];
    if (!Known(channel.protocol()) || !Known(channel.transport()) ||
        channel.from_lane() >= context.plan.lanes.size() ||
        channel.to_lane() >= context.plan.lanes.size() ||
        !NoneOrIn(channel.communicator(), context.plan.communicators.size())) {
      return Refuse(context,
                    fmt::format("channel {} has a protocol, transport, lane or communicator that "
                                "does not exist",
                                id));
    }
  }
  for (size_t id = 0; id < graph.collectives.size(); ++id) {
    if (graph.collectives[id] == nullptr || !Known(graph.collectives[id]->transport) ||
        graph.collectives[id]->communicator >= context.plan.communicators.size()) {
      return Refuse(context,
                    fmt::format("collective {} has a transport or communicator that does not exist",
                                id));
    }
  }
  return Status::Ok();
}

Status CheckInstructions(const Context& context) {
  PoolUse use;
  for (uint32_t id = 0; id < context.graph.instructions.size(); ++id) {
    CGRAPH_RETURN_IF_ERROR(CheckInstruction(context, id, use));
  }
  return CheckPortUse(context);
}

}  // namespace cgraph::plan::check

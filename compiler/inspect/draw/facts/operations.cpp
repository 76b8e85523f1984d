#include "compiler/inspect/draw/facts/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/inspect/draw.h"
#include "compiler/inspect/draw/facts/facts.h"
#include "compiler/inspect/draw/facts/value_makers.h"
#include "runtime/base/kinds/native.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

bool IsSync(const plan::Instruction& instruction) {
  return instruction.kind() == plan::Kind::signal || instruction.kind() == plan::Kind::wait;
}

// Names the values that an instruction, or a part of one, reads, or else those that it writes: "h",
// or "h and 2 more".
template <typename Reader>
std::string Names(const plan::Plan& plan, const plan::Graph& graph, const Reader& reader) {
  const uint32_t count = reader.inputs() == 0 ? reader.outputs() : reader.inputs();
  if (count == 0) return "nothing";
  const std::string first = ValueName(plan, graph, graph.operands[reader.first()]);
  return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
}

std::string PartName(const plan::Plan& plan, const plan::Graph& graph, const plan::CommPart& part) {
  const std::string names = Names(plan, graph, part);
  if (part.part() == plan::Part::collective) {
    const std::string name = plan::CollectiveName(*graph.collectives[part.subject()]);
    return part.inputs() + part.outputs() == 0 ? name : name + ' ' + names;  // a barrier has none
  }
  const plan::Channel& channel = graph.channels[part.subject()];
  const auto device = [&](uint32_t lane) {
    return plan::DeviceName(plan, plan.lanes[lane].device());
  };
  return part.part() == plan::Part::send
             ? fmt::format("send {} to {} by {}", names, device(channel.to_lane()),
                           wire::EnumNameTransportKind(channel.transport()))
             : fmt::format("receive {} from {}", names, device(channel.from_lane()));
}

// Names a copy; its destination is named only where it leaves its device.
std::string CopyName(const plan::Plan& plan, const plan::Graph& graph,
                     const plan::Instruction& copy, uint32_t output) {
  const std::string name = "copy " + Names(plan, graph, copy);
  if (output != plan::kNone) return name + " to output " + graph.outputs[output]->name;
  if (copy.inputs() == 0 || copy.outputs() == 0) return name;
  const auto device = [&](uint32_t operand) {
    const plan::Value& value = graph.values[graph.operands[copy.first() + operand]];
    return graph.arenas[graph.buffers[value.buffer()].arena()].device();
  };
  const uint32_t to = device(copy.inputs());
  return device(0) == to ? name : name + " to " + plan::DeviceName(plan, to);
}

std::string OtherName(const plan::Plan& plan, const plan::Graph& graph,
                      const Operation& operation) {
  const plan::Instruction& instruction = graph.instructions[operation.instructions.front()];
  if (instruction.kind() == plan::Kind::comm) {
    std::string text;
    for (uint32_t p = 0; p < instruction.inputs(); ++p) {
      text += (p == 0 ? "" : " + ") + PartName(plan, graph, graph.parts[instruction.first() + p]);
    }
    return text;
  }
  switch (instruction.kind()) {
    case plan::Kind::call: return plan.kernels[instruction.subject()]->name;
    case plan::Kind::input: return "input " + graph.inputs[instruction.subject()]->name;
    case plan::Kind::output: return "output " + graph.outputs[instruction.subject()]->name;
    case plan::Kind::load: return "load " + plan.weights[instruction.subject()]->tensor;
    default: return CopyName(plan, graph, instruction, operation.output);
  }
}

// Returns the micro-batch of all instructions that have one; kNone where they differ.
uint32_t MicroBatchOf(const std::vector<uint32_t>& of_instructions, const Operation& operation) {
  uint32_t found = plan::kNone;
  for (uint32_t i : operation.instructions) {
    if (of_instructions[i] == plan::kNone) continue;
    if (found != plan::kNone && found != of_instructions[i]) return plan::kNone;
    found = of_instructions[i];
  }
  return found;
}

// Finds calls that need their indices. Indices that say no more than the micro-batch are left out:
// those of calls that are the only one of their place, method and micro-batch.
void FindNeededIndices(const plan::Graph& graph, Operations& operations) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::set<uint32_t>> calls;
  const auto key = [&](const Operation& operation) {
    const plan::Call& call = graph.calls[operation.call];
    return std::tuple(call.place(), call.method(), operation.micro_batch);
  };
  const auto is_call = [](const Operation& operation) {
    return operation.kind == plan::Kind::call && operation.call != plan::kNone &&
           operation.micro_batch != plan::kNone;
  };
  for (const Operation& operation : operations.all) {
    if (is_call(operation)) calls[key(operation)].insert(operation.call);
  }
  for (Operation& operation : operations.all) {
    if (is_call(operation)) operation.needs_indices = calls[key(operation)].size() > 1;
  }
}

// The one value that a copy, or one end of a transfer, moves; kNone for anything else.
uint32_t MovedValue(const plan::Graph& graph, const Operation& operation) {
  const plan::Instruction& at = graph.instructions[operation.instructions.front()];
  if (at.kind() == plan::Kind::copy) {
    return at.inputs() == 1 ? graph.operands[at.first()] : plan::kNone;
  }
  if (at.kind() != plan::Kind::comm || at.inputs() != 1) return plan::kNone;
  const plan::CommPart& part = graph.parts[at.first()];
  const bool one = part.part() != plan::Part::collective && part.inputs() + part.outputs() == 1;
  return one ? graph.operands[part.first()] : plan::kNone;
}

// Returns " mb 3"; "" for an operation of no micro-batch.
std::string MicroBatchText(const Operation& operation) {
  return operation.micro_batch == plan::kNone ? "" : fmt::format(" mb {}", operation.micro_batch);
}

// Transfers that would have the same name, though two calls made what they move, say which call.
void FindMakersToTell(const plan::Plan& plan, const plan::Graph& graph, Operations& operations) {
  const std::vector<uint32_t> makers = FindValueMakers(plan, graph);
  std::map<std::string, std::set<uint32_t>> of_name;
  const auto maker = [&](const Operation& operation) {
    const uint32_t value = MovedValue(graph, operation);
    return value == plan::kNone ? plan::kNone : makers[value];
  };
  for (const Operation& operation : operations.all) {
    if (maker(operation) == plan::kNone) continue;
    of_name[OperationName(plan, graph, operation)].insert(maker(operation));
  }
  for (Operation& operation : operations.all) {
    if (maker(operation) == plan::kNone) continue;
    const bool unclear = of_name[OperationName(plan, graph, operation)].size() > 1;
    if (unclear) operation.told_by = maker(operation);
  }
}

// Returns where the name of one transfer or copy says where it comes from or goes to; npos for
// several.
size_t WayIn(const std::string& name) {
  const bool alone = name.find(" + ") == std::string::npos;
  return alone ? std::min(name.find(" to "), name.find(" from ")) : std::string::npos;
}

// Returns the name without the parentheses at its end.
std::string WithoutIndices(const std::string& name) {
  const size_t bracket = name.rfind('(');
  return bracket != std::string::npos && name.ends_with(')') ? name.substr(0, bracket) : name;
}

}  // namespace

std::string ValueName(const plan::Plan& plan, const plan::Graph& graph, uint32_t value) {
  const uint32_t number = graph.values[value].name();
  if (number == plan::kNone || plan.names[number].empty()) return fmt::format("%{}", value);
  const std::string& name = plan.names[number];
  // "stage[0].native object"
  const std::string object = fmt::format(".{}", kNativeObjectState);
  if (!name.ends_with(object)) return name;
  return "object of " + name.substr(0, name.size() - object.size());
}

Operations FindOperations(const plan::Plan& plan, const plan::Graph& graph, ColorBy color_by) {
  Operations operations;
  operations.lanes.resize(graph.programs.size());
  operations.of.assign(graph.instructions.size(), plan::kNone);
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& program = graph.programs[lane];
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& instruction = graph.instructions[i];
      if (IsSync(instruction)) {
        continue;
      }
      const bool computes = instruction.kind() == plan::Kind::call;
      const bool goes_on = computes && instruction.call() != plan::kNone &&
                           !operations.lanes[lane].empty() &&
                           operations.all.back().kind == plan::Kind::call &&
                           operations.all.back().call == instruction.call();
      if (!goes_on) {
        operations.lanes[lane].push_back(static_cast<uint32_t>(operations.all.size()));
        operations.all.push_back({lane, instruction.kind(), instruction.call(), {}});
      }
      operations.all.back().instructions.push_back(i);
      operations.of[i] = static_cast<uint32_t>(operations.all.size() - 1);
    }
  }
  const std::vector<uint32_t> micro_batches = FindMicroBatches(plan, graph);
  const std::vector<uint32_t> output_copies = FindOutputCopies(plan, graph);
  for (Operation& operation : operations.all) {
    operation.micro_batch = MicroBatchOf(micro_batches, operation);
    operation.output = output_copies[operation.instructions.front()];
    operation.is_colored_by_micro_batch = color_by == ColorBy::kMicroBatch;
  }
  FindNeededIndices(graph, operations);
  FindMakersToTell(plan, graph, operations);
  if (color_by == ColorBy::kMicroBatch) ChooseShades(graph, operations);
  return operations;
}

std::string OperationName(const plan::Plan& plan, const plan::Graph& graph,
                          const Operation& operation) {
  std::string name = operation.kind == plan::Kind::call && operation.call != plan::kNone
                         ? plan::CallName(plan, graph, operation.call)
                         : OtherName(plan, graph, operation);
  if (!operation.needs_indices) name = WithoutIndices(name);
  const size_t way = operation.kind == plan::Kind::call ? std::string::npos : WayIn(name);
  const std::string maker = operation.told_by == plan::kNone
                                ? ""
                                : " of " + plan::CallName(plan, graph, operation.told_by);
  return name.insert(std::min(way, name.size()), maker + MicroBatchText(operation));
}

std::string OperationVerb(const plan::Plan& plan, const plan::Graph& graph,
                          const Operation& operation) {
  const std::string name = OperationName(plan, graph, operation);
  return name.substr(0, name.find(' '));
}

std::vector<std::string> ShortNames(const plan::Plan& plan, const plan::Graph& graph,
                                    const Operation& operation) {
  std::vector<std::string> names = {OperationName(plan, graph, operation)};
  const std::string micro_batch = MicroBatchText(operation);
  if (operation.kind != plan::Kind::call || operation.call == plan::kNone) {
    const size_t way = WayIn(names[0]);
    if (way != std::string::npos) names.push_back(names[0].substr(0, way));
    if (names[0].find(' ') != std::string::npos) {
      names.push_back(OperationVerb(plan, graph, operation) + micro_batch);
    }
  } else {
    const plan::Call& call = graph.calls[operation.call];
    if (call.place() != plan::kNone) {
      names.push_back(names[0].substr(plan.actors[call.place()]->name.size() + 1));
    }
    const size_t bracket = names.back().rfind('(');
    if (micro_batch.empty() && bracket != std::string::npos && names.back().ends_with(')')) {
      names.push_back(names.back().substr(bracket + 1, names.back().size() - bracket - 2));
    }
  }
  if (micro_batch.empty()) return names;
  // Where the colour tells the micro-batch, the method is what is left to tell.
  const bool is_call = operation.kind == plan::Kind::call && operation.call != plan::kNone;
  if (operation.is_colored_by_micro_batch && is_call && names.back().ends_with(micro_batch)) {
    names.push_back(names.back().substr(0, names.back().size() - micro_batch.size()));
  }
  names.push_back(micro_batch.substr(1));
  const bool kernel = operation.kind == plan::Kind::call &&
                      (operation.call == plan::kNone ||
                       graph.calls[operation.call].place() == plan::kNone);
  if (!kernel) names.push_back(std::to_string(operation.micro_batch));
  return names;
}

std::string OperationFamily(const plan::Plan& plan, const plan::Graph& graph,
                            const Operation& operation) {
  if (operation.is_colored_by_micro_batch && operation.micro_batch != plan::kNone) {
    return MicroBatchText(operation).substr(1);
  }
  if (operation.kind == plan::Kind::call && operation.call != plan::kNone &&
      graph.calls[operation.call].method() != plan::kNone) {
    return plan.names[graph.calls[operation.call].method()];
  }
  switch (operation.kind) {
    case plan::Kind::call:
      return plan.kernels[graph.instructions[operation.instructions.front()].subject()]->name;
    case plan::Kind::comm: return "transfer";
    case plan::Kind::copy: return "copy";
    default: return "input and output";
  }
}

std::vector<std::string> FamiliesOf(const plan::Plan& plan, const plan::Graph& graph,
                                    const Operations& operations) {
  std::vector<std::pair<std::pair<bool, uint32_t>, std::string>> found;
  std::set<std::string> seen;
  for (const Operation& operation : operations.all) {
    std::string family = OperationFamily(plan, graph, operation);
    if (!seen.insert(family).second) continue;
    const bool is_method = operation.kind == plan::Kind::call && operation.call != plan::kNone &&
                           graph.calls[operation.call].method() != plan::kNone &&
                           graph.calls[operation.call].place() != plan::kNone;
    const bool is_micro_batch =
        operation.is_colored_by_micro_batch && operation.micro_batch != plan::kNone;
    const uint32_t program_order =
        graph.instructions[operation.instructions.front()].program_order();
    found.push_back({{!is_method && !is_micro_batch,
                      is_micro_batch ? operation.micro_batch : program_order},
                     std::move(family)});
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> families;
  for (auto& [rank, family] : found) families.push_back(std::move(family));
  return families;
}

}  // namespace cgraph

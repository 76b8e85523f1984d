// Words for the things in a plan. Messages about a plan that was just refused are made with these,
// so every index is checked before it is used. One that is out of bounds prints as "?", but that of
// a call or a site, which not all instructions have: they print as nothing.
#include "runtime/plan/print.h"

#include <fmt/format.h>

#include "runtime/plan/kinds.h"

namespace cgraph::plan {
namespace {

template <typename T>
const T* Find(const std::vector<T>& table, uint64_t index) {
  return index < table.size() ? &table[index] : nullptr;
}
template <typename T>
const T* Find(const std::vector<std::unique_ptr<T>>& table, uint64_t index) {
  return index < table.size() ? table[index].get() : nullptr;
}

std::string NameText(const Plan& plan, uint32_t name) {
  const std::string* text = Find(plan.names, name);
  return text == nullptr ? "?" : *text;
}

std::string ValueName(const Plan& plan, const Graph& graph, uint32_t value) {
  const Value* found = Find(graph.values, value);
  if (found == nullptr) return "`?`";
  const std::string name = found->name() == kNone ? "" : NameText(plan, found->name());
  return name.empty() ? fmt::format("`%{}`", value) : fmt::format("`{}`", name);
}

// Lists operands: "`a`, `b` and 3 more".
std::string OperandNames(const Plan& plan, const Graph& graph, uint64_t first, uint64_t count) {
  constexpr uint64_t kShown = 3;
  std::string text;
  for (uint64_t i = 0; i < count && i < kShown; ++i) {
    const uint32_t* operand = Find(graph.operands, first + i);
    if (i > 0) text += ", ";
    text += operand == nullptr ? "`?`" : ValueName(plan, graph, *operand);
  }
  if (count > kShown) text += fmt::format(" and {} more", count - kShown);
  return text.empty() ? "nothing" : text;
}

std::string PeerName(const Plan& plan, uint32_t lane) {
  const LaneInfo* info = Find(plan.lanes, lane);
  return info == nullptr ? "?" : DeviceName(plan, info->device());
}

// InstructionPhrase: "send `h`" and, apart from it, where the value goes, since the method stands
// between the two.
struct InstructionPhrase {
  std::string what;
  std::string where;
};

// Returns the deed of an end of a message that is a broadcast among two.
InstructionPhrase MessageDeed(const Plan& plan, const Graph& graph, const CommPart& part) {
  const bool sends = part.inputs() > 0;
  const Collective* collective = Find(graph.collectives, part.subject());
  const Communicator* group =
      collective == nullptr ? nullptr : Find(plan.communicators, collective->communicator);
  std::string peer = "?";
  if (group != nullptr) {
    const uint64_t root = collective->root == 0 ? 0 : 1;
    const uint32_t* lane = Find(plan.members, group->first_member() + (sends ? 1 - root : root));
    if (lane != nullptr) peer = PeerName(plan, *lane);
  }
  return {fmt::format("{} {}", sends ? "send" : "receive",
                      OperandNames(plan, graph, part.first(), part.inputs() + part.outputs())),
          fmt::format(" {} {}", sends ? "to" : "from", peer)};
}

InstructionPhrase PartDeed(const Plan& plan, const Graph& graph, const CommPart& part) {
  if (part.part() == Part::collective) {
    if ((part.flags() & kIsMessage) != 0) return MessageDeed(plan, graph, part);
    const Collective* collective = Find(graph.collectives, part.subject());
    const uint64_t count = part.inputs() > 0 ? part.inputs() : part.outputs();
    const uint64_t first = part.first();
    const std::string name = collective == nullptr ? "collective" : CollectiveName(*collective);
    return {count == 0 ? name : name + ' ' + OperandNames(plan, graph, first, count), ""};
  }
  const bool send = part.part() == Part::send;
  const Channel* channel = Find(graph.channels, part.subject());
  const std::string peer =
      channel == nullptr ? "?" : PeerName(plan, send ? channel->to_lane() : channel->from_lane());
  return {fmt::format("{} {}", send ? "send" : "receive",
                      OperandNames(plan, graph, part.first(), part.inputs() + part.outputs())),
          fmt::format(" {} {}", send ? "to" : "from", peer)};
}

InstructionPhrase CommDeed(const Plan& plan, const Graph& graph, const Instruction& comm) {
  if (comm.inputs() == 1) {
    const CommPart* part = Find(graph.parts, comm.first());
    return part == nullptr ? InstructionPhrase{"communicate", ""} : PartDeed(plan, graph, *part);
  }
  constexpr uint64_t kShown = 4;
  InstructionPhrase all{"group of", ""};
  for (uint64_t i = 0; i < comm.inputs() && i < kShown; ++i) {
    const CommPart* part = Find(graph.parts, uint64_t{comm.first()} + i);
    if (part == nullptr) continue;
    const InstructionPhrase phrase = PartDeed(plan, graph, *part);
    all.what += fmt::format("{} {}{}", i == 0 ? "" : " +", phrase.what, phrase.where);
  }
  if (comm.inputs() > kShown) all.what += fmt::format(" + {} more", comm.inputs() - kShown);
  return all;
}

InstructionPhrase WaitDeed(const Graph& graph, const Instruction& instruction) {
  InstructionPhrase phrase{"wait for", ""};
  for (uint64_t i = 0; i < instruction.inputs(); ++i) {
    const Wait* wait = Find(graph.waits, uint64_t{instruction.first()} + i);
    if (wait == nullptr) continue;
    phrase.what += fmt::format("{} event {}", i == 0 ? "" : ",", wait->event());
    if (wait->lag() > 0) {
      phrase.what += fmt::format(" ({} round{} before)", wait->lag(), wait->lag() == 1 ? "" : "s");
    }
  }
  return phrase;
}

InstructionPhrase InstructionDeed(const Plan& plan, const Graph& graph,
                                  const Instruction& instruction) {
  const uint64_t first = instruction.first();
  switch (instruction.kind()) {
    case Kind::call: {
      const Kernel* kernel = Find(plan.kernels, instruction.subject());
      return {fmt::format("call {}", kernel == nullptr ? "?" : kernel->name), ""};
    }
    case Kind::comm:
      return CommDeed(plan, graph, instruction);
    case Kind::copy:
      return {"copy " + OperandNames(plan, graph, first, 1), ""};
    case Kind::signal:
      return {fmt::format("signal event {}", instruction.subject()), ""};
    case Kind::wait:
      return WaitDeed(graph, instruction);
    case Kind::input:
      return {"input " + OperandNames(plan, graph, first, 1), ""};
    case Kind::output:
      return {"output " + OperandNames(plan, graph, first, 1), ""};
    case Kind::load: {
      const WeightFile* weight = Find(plan.weights, instruction.subject());
      return {fmt::format("load {}", OperandNames(plan, graph, first, 1)),
              fmt::format(" from {}", weight == nullptr ? "?" : weight->name)};
    }
  }
  return {"no instruction", ""};
}

}  // namespace

std::string DeviceName(const Plan& plan, uint32_t device) {
  const Device* found = Find(plan.devices, device);
  if (found == nullptr) return "?";
  return DeviceName(LogicalDeviceOf(*found));
}

std::string LaneName(const Plan& plan, uint32_t lane) {
  const LaneInfo* info = Find(plan.lanes, lane);
  if (info == nullptr) return "?";
  std::string name =
      fmt::format("{} {}", DeviceName(plan, info->device()), EnumNameLaneKind(info->kind()));
  if (info->peer() != kNone) name += " " + DeviceName(plan, info->peer());
  // Lanes of one kind on one device for one peer are distinguished by their number.
  uint32_t alike = 0, before = 0;
  for (uint32_t i = 0; i < plan.lanes.size(); ++i) {
    const LaneInfo& other = plan.lanes[i];
    if (other.device() != info->device() || other.kind() != info->kind() ||
        other.peer() != info->peer()) {
      continue;
    }
    ++alike;
    if (i < lane) ++before;
  }
  return alike > 1 ? fmt::format("{} {}", name, before) : name;
}

std::string CallName(const Plan& plan, const Graph& graph, uint32_t call) {
  const Call* found = Find(graph.calls, call);
  if (found == nullptr) return "";
  std::string text;
  if (const Actor* actor = Find(plan.actors, found->place())) text = actor->name + ".";
  text += found->method() == kNone ? "?" : NameText(plan, found->method());
  for (uint32_t i = 0; i < found->indices(); ++i) {
    const int32_t* index = Find(graph.call_indices, uint64_t{found->first_index()} + i);
    text += i == 0 ? "(" : ", ";
    text += index == nullptr ? "?" : std::to_string(*index);
  }
  return found->indices() > 0 ? text + ")" : text;
}

std::string SiteText(const Plan& plan, uint32_t site) {
  const Site* found = Find(plan.sites, site);
  if (found == nullptr) return "";
  const std::string* file = Find(plan.files, found->file());
  return fmt::format("{}:{}:{}", file == nullptr ? "?" : *file, found->line(), found->column());
}

std::string InstructionText(const Plan& plan, const Graph& graph, uint32_t instruction) {
  const Instruction* found = Find(graph.instructions, instruction);
  if (found == nullptr) return "?";
  const InstructionPhrase phrase = InstructionDeed(plan, graph, *found);
  std::string text = phrase.what;
  const std::string call = CallName(plan, graph, found->call());
  if (!call.empty()) text += " of " + call;
  text += phrase.where;
  if (const Call* of = Find(graph.calls, found->call())) {
    const std::string site = SiteText(plan, of->site());
    if (!site.empty()) text += " (" + site + ")";
  }
  return text;
}

uint32_t LaneOf(const Graph& graph, uint32_t instruction) {
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const Range& program = graph.programs[lane];
    if (instruction >= program.first() && instruction - program.first() < program.count()) {
      return lane;
    }
  }
  return kNone;
}

std::string TypeText(const Plan& plan, const Graph& graph, uint32_t value) {
  const Value* found = Find(graph.values, value);
  if (found == nullptr) return "?";
  std::string text(DTypeName(found->dtype()));
  text += "[";
  for (uint32_t i = 0; i < found->rank(); ++i) {
    const Dim* dim = Find(graph.dims, uint64_t{found->first_dim()} + i);
    if (i > 0) text += ", ";
    if (dim == nullptr) {
      text += "?";
    } else if (dim->symbol() == kNone) {
      text += fmt::format("{}", dim->extent());
    } else {
      const Symbol* symbol = Find(graph.symbols, dim->symbol());
      text += fmt::format("{} <= {}", symbol == nullptr ? "?" : NameText(plan, symbol->name()),
                          dim->extent());
    }
  }
  return text + "]";
}

}  // namespace cgraph::plan

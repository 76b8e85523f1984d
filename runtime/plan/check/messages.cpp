// Rules 1 to 3: signals, messages and collectives between lanes. An event has one signal, a
// channel's sends and receives meet in order, and all members of a communicator make the same
// collectives in the same order with types that agree.
#include <algorithm>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::plan::check {
namespace {

bool IsMember(const Plan& plan, uint32_t communicator, uint32_t lane) {
  const Communicator& found = plan.communicators[communicator];
  const auto first = plan.members.begin() + found.first_member();
  return std::find(first, first + found.members(), lane) != first + found.members();
}

Status CheckProtocol(const Context& context, uint32_t id) {
  const Channel& channel = context.graph.channels[id];
  const bool good = channel.protocol() == Protocol::rendezvous
                        ? channel.capacity() == 0
                        : Known(channel.protocol()) && channel.capacity() >= 1;
  if (!good) {
    return Refuse(context, 2,
                  fmt::format("channel {} is {} with capacity {}: a rendezvous has 0, a "
                              "buffered channel at least 1",
                              id, EnumNameProtocol(channel.protocol()), channel.capacity()));
  }
  if (channel.communicator() != kNone &&
      !(IsMember(context.plan, channel.communicator(), channel.from_lane()) &&
        IsMember(context.plan, channel.communicator(), channel.to_lane()))) {
    return Refuse(context, 3,
                  fmt::format("channel {} joins lanes that are not members of its "
                              "communicator",
                              id));
  }
  return Status::Ok();
}

Status CheckEnd(const Context& context, const GraphIndex& index, uint32_t channel,
                std::span<const Message> messages, uint32_t lane, const char* doing) {
  for (const Message& message : messages) {
    if (index.lane(message.instruction) == lane) continue;
    return Refuse(
        context, 2,
        fmt::format("{} {} channel {}, whose lane for that is {}", At(context, message.instruction),
                    doing, channel, LaneName(context.plan, lane)));
  }
  return Status::Ok();
}

Status CheckMatch(const Context& context, const Message& send, const Message& receive) {
  const Graph& graph = context.graph;
  const CommPart& from = graph.parts[send.part];
  const CommPart& to = graph.parts[receive.part];
  auto refuse = [&](const std::string& what) {
    return Refuse(context, 2,
                  fmt::format("{}\n  {}\n  {}", what, At(context, send.instruction),
                              At(context, receive.instruction)));
  };
  if (from.transfer() != to.transfer()) {
    return refuse(fmt::format("a send meets the receive of another transfer ({} and {})",
                              from.transfer(), to.transfer()));
  }
  if (graph.instructions[send.instruction].lag() != graph.instructions[receive.instruction].lag()) {
    return refuse("the ends of a transfer work for different executions (their lags differ)");
  }
  // The positions are equal in an exchange, whose parts happen at once.
  if (graph.instructions[send.instruction].program_order() >
      graph.instructions[receive.instruction].program_order()) {
    return refuse("a receive stands before its send in program order");
  }
  if (from.flags() != to.flags()) return refuse("one end of a transfer is at the bound");
  if ((from.flags() & kIsMessage) != 0) return refuse("is flagged as a message");
  if (from.inputs() != to.outputs())
    return refuse("the ends of a transfer have other numbers of values");
  for (uint32_t i = 0; i < from.inputs(); ++i) {
    const uint32_t sent = graph.operands[from.first() + i];
    const uint32_t received = graph.operands[to.first() + i];
    if (SameType(graph, sent, received)) continue;
    return refuse(fmt::format("the ends of a transfer have different types: {} and {}",
                              ValueText(context, sent), ValueText(context, received)));
  }
  return Status::Ok();
}

using Traits = CollectiveTraits;

Status CheckCollective(const Context& context, uint32_t id) {
  const Collective& collective = *context.graph.collectives[id];
  const Traits* kind = FindTraits(collective);
  if (kind == nullptr) {
    return Refuse(context, 3,
                  fmt::format("collective {} is of the unknown kind {}", id,
                              static_cast<int>(collective.kind)));
  }
  if (kind->reduces ? !ReductionOf(collective) : collective.reduction != wire::Reduction::none) {
    const char* name = EnumNameReduction(collective.reduction);
    return Refuse(context, 3,
                  fmt::format("collective {} ({}) cannot have the reduction {}", id, kind->name,
                              *name == 0 ? std::to_string(static_cast<int>(collective.reduction))
                                         : fmt::format("`{}`", name)));
  }
  const uint32_t members = context.plan.communicators[collective.communicator].members();
  if (kind->rooted() &&
      (collective.root < 0 || static_cast<uint32_t>(collective.root) >= members)) {
    return Refuse(context, 3,
                  fmt::format("collective {} ({}) has root {} of {} members", id, kind->name,
                              collective.root, members));
  }
  return Status::Ok();
}

// Checks one collective; `parts` are its members' parts, in order.
class GroupCheck {
 public:
  GroupCheck(const Context& context, std::span<const CollectivePart> parts)
      : context_(context),
        graph_(context.graph),
        parts_(parts),
        collective_(*graph_.collectives[part(0).subject()]),
        kind_(*FindTraits(collective_)) {}

  Status Check() const {
    const uint32_t root = kind_.rooted() ? static_cast<uint32_t>(collective_.root) : 0;
    const uint32_t tensors = kind_.from == Traits::kNobody ? 0
                             : kind_.from == Traits::kEach ? part(0).inputs()
                                                           : part(root).inputs();
    if (tensors == 0 && kind_.from != Traits::kNobody) return RefusePart(root, "moves no tensor");
    for (uint32_t m = 0; m < parts_.size(); ++m) CGRAPH_RETURN_IF_ERROR(CheckMember(m, tensors));
    for (uint32_t t = 0; t < tensors; ++t) CGRAPH_RETURN_IF_ERROR(CheckTensor(t, root));
    return Status::Ok();
  }

 private:
  const CommPart& part(uint32_t member) const { return graph_.parts[parts_[member].part]; }

  Status RefusePart(uint32_t member, const std::string& what) const {
    return Refuse(context_, 3,
                  fmt::format("{} {}", At(context_, parts_[member].instruction), what));
  }

  Status CheckMember(uint32_t member, uint32_t tensors) const {
    const CommPart& first = part(0);
    if (part(member).subject() != first.subject()) {
      return Refuse(context_, 3,
                    fmt::format("members make different collectives at turn {}\n  {}\n  {}",
                                parts_[0].turn, At(context_, parts_[0].instruction),
                                At(context_, parts_[member].instruction)));
    }
    const Instruction& mine = graph_.instructions[parts_[member].instruction];
    if (mine.lag() != graph_.instructions[parts_[0].instruction].lag()) {
      return RefusePart(member, "works for another execution than the first member");
    }
    if (mine.program_order() != graph_.instructions[parts_[0].instruction].program_order()) {
      return RefusePart(member, "has another position in program order than the first member");
    }
    if (part(member).flags() != first.flags()) {
      return RefusePart(member, "is at the bound where the first member is not, or the reverse");
    }
    if ((first.flags() & kIsMessage) != 0 && !IsMessage()) {
      return RefusePart(member, "is flagged as a message, which is a broadcast among two whose "
                                "root leaves its own output out");
    }
    const auto root = static_cast<uint32_t>(collective_.root);
    const uint32_t inputs = kind_.gives(member, root) ? tensors : 0;
    const uint32_t outputs = kind_.gets(member, root) ? tensors : 0;
    // The root of a broadcast or scatter may leave its own output out.
    const bool left = kind_.from == Traits::kRoot && inputs > 0 && part(member).outputs() == 0;
    if (part(member).inputs() != inputs || (part(member).outputs() != outputs && !left)) {
      return RefusePart(
          member, fmt::format("has {} inputs and {} outputs instead of {} and {}",
                              part(member).inputs(), part(member).outputs(), inputs, outputs));
    }
    return Status::Ok();
  }

  bool IsMessage() const {
    return kind_.kind == CollectiveKind::kBroadcast && parts_.size() == 2 &&
           part(static_cast<uint32_t>(collective_.root)).outputs() == 0;
  }

  uint32_t InputOf(uint32_t m, uint32_t t) const { return graph_.operands[part(m).first() + t]; }
  uint32_t OutputOf(uint32_t m, uint32_t t) const {
    return graph_.operands[part(m).first() + part(m).inputs() + t];
  }

  Status CheckTensor(uint32_t t, uint32_t root) const {
    const uint32_t input = InputOf(root, t);
    const Value& type = graph_.values[input];
    const unsigned __int128 members = parts_.size();
    for (uint32_t m = 0; m < parts_.size(); ++m) {
      if (part(m).inputs() > 0 && !SameType(graph_, InputOf(m, t), input)) {
        return RefusePart(
            m, fmt::format("sends {} where another member sends {}",
                           ValueText(context_, InputOf(m, t)), ValueText(context_, input)));
      }
      if (part(m).outputs() == 0) continue;
      const Value& result = graph_.values[OutputOf(m, t)];
      const unsigned __int128 have = result.bytes(), from = type.bytes();
      bool fits = result.dtype() == type.dtype();
      switch (kind_.rows) {
        case Traits::kSame:
        case Traits::kExchanged:
          fits = fits && SameType(graph_, OutputOf(m, t), input);
          break;
        case Traits::kTimes:
          fits = fits && have == from * members;
          break;
        case Traits::kOver:
          fits = fits && have * members == from;
          break;
      }
      if (!fits) {
        return RefusePart(
            m, fmt::format("makes {} from {} on {} members", ValueText(context_, OutputOf(m, t)),
                           ValueText(context_, input), parts_.size()));
      }
    }
    if (collective_.reduction == wire::Reduction::avg && !IsFloat(type.dtype())) {
      return RefusePart(root, "averages integers");
    }
    if (kind_.reduces && type.dtype() == DType::bool_) return RefusePart(root, "reduces bools");
    return Status::Ok();
  }

  const Context& context_;
  const Graph& graph_;
  std::span<const CollectivePart> parts_;
  const Collective& collective_;
  const Traits& kind_;
};

// Checks that a lane that makes a collective is a member of its communicator.
Status CheckMembership(const Context& context, const GraphIndex& index) {
  uint64_t parts = 0;
  uint32_t stranger = kNone;
  for (uint32_t i = 0; i < context.graph.instructions.size(); ++i) {
    const Instruction& comm = context.graph.instructions[i];
    if (comm.kind() != Kind::comm) continue;
    for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
      if (context.graph.parts[p].part() == Part::collective) ++parts;
    }
  }
  if (parts == index.collective_parts().size()) return Status::Ok();
  std::vector<uint8_t> seated(context.graph.parts.size(), 0);
  for (const CollectivePart& part : index.collective_parts()) seated[part.part] = 1;
  for (uint32_t i = 0; i < context.graph.instructions.size() && stranger == kNone; ++i) {
    const Instruction& comm = context.graph.instructions[i];
    if (comm.kind() != Kind::comm) continue;
    for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
      if (context.graph.parts[p].part() == Part::collective && seated[p] == 0) stranger = i;
    }
  }
  return Refuse(
      context, 3,
      fmt::format("{} is on a lane that is no member of its communicator", At(context, stranger)));
}

}  // namespace

Status CheckEvents(const Context& context) {
  const Graph& graph = context.graph;
  uint64_t signals = 0;
  for (const Instruction& instruction : graph.instructions) {
    if (instruction.kind() == Kind::signal) ++signals;
  }
  if (signals != graph.events) {
    return Refuse(
        context, 1,
        fmt::format("{} signals for {} events: each event has exactly one", signals, graph.events));
  }
  std::vector<uint8_t> signalled(graph.events, 0);
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    const Instruction& instruction = graph.instructions[i];
    if (instruction.kind() == Kind::signal) {
      const uint32_t event = instruction.subject();
      if (event >= graph.events || signalled[event]++ != 0) {
        return Refuse(
            context, 1,
            fmt::format("{}: no such event, or it is signalled elsewhere too", At(context, i)));
      }
    }
    for (uint32_t w = 0; instruction.kind() == Kind::wait && w < instruction.inputs(); ++w) {
      if (graph.waits[instruction.first() + w].event() >= graph.events) {
        return Refuse(context, 1, fmt::format("{}: no such event", At(context, i)));
      }
    }
  }
  return Status::Ok();
}

Status CheckChannels(const Context& context, const GraphIndex& index) {
  for (uint32_t id = 0; id < context.graph.channels.size(); ++id) {
    const Channel& channel = context.graph.channels[id];
    CGRAPH_RETURN_IF_ERROR(CheckProtocol(context, id));
    const auto sends = index.sends(id);
    const auto receives = index.receives(id);
    CGRAPH_RETURN_IF_ERROR(CheckEnd(context, index, id, sends, channel.from_lane(), "sends on"));
    CGRAPH_RETURN_IF_ERROR(
        CheckEnd(context, index, id, receives, channel.to_lane(), "receives on"));
    for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
      CGRAPH_RETURN_IF_ERROR(CheckMatch(context, sends[j], receives[j]));
    }
    if (sends.size() != receives.size()) {
      return Refuse(
          context, 2,
          fmt::format("channel {} from {} to {} has {} sends and {} receives in "
                      "a round",
                      id, LaneName(context.plan, channel.from_lane()),
                      LaneName(context.plan, channel.to_lane()), sends.size(), receives.size()));
    }
  }
  return Status::Ok();
}

Status CheckCollectives(const Context& context, const GraphIndex& index) {
  if (context.graph.collectives.empty()) return Status::Ok();
  for (uint32_t id = 0; id < context.graph.collectives.size(); ++id) {
    CGRAPH_RETURN_IF_ERROR(CheckCollective(context, id));
  }
  CGRAPH_RETURN_IF_ERROR(CheckMembership(context, index));
  const auto parts = index.collective_parts();
  for (size_t first = 0; first < parts.size();) {
    const uint32_t members = context.plan.communicators[parts[first].communicator].members();
    size_t last = first;
    while (last < parts.size() && parts[last].communicator == parts[first].communicator &&
           parts[last].turn == parts[first].turn) {
      ++last;
    }
    if (last - first != members) {
      return Refuse(context, 3,
                    fmt::format("{}: only {} of {} members make it",
                                At(context, parts[first].instruction), last - first, members));
    }
    CGRAPH_RETURN_IF_ERROR(GroupCheck(context, parts.subspan(first, members)).Check());
    first = last;
  }
  return Status::Ok();
}

}  // namespace cgraph::plan::check

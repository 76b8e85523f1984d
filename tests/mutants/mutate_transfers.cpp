// Damage to channels, transfers and collectives.
#include "tests/mutants/mutate.h"

namespace cgraph::mutants {
namespace {

using plan::CommPart;
using plan::Kind;
using plan::Part;

void SuspectPart(Damage& damage, uint32_t part) {
  for (uint32_t i = 0; i < damage.graph.instructions.size(); ++i) {
    const plan::Instruction& comm = damage.graph.instructions[i];
    if (comm.kind() == Kind::comm && part >= comm.first() && part < comm.first() + comm.inputs()) {
      damage.suspects.insert(i);
    }
  }
}

bool Channel(Damage& damage) {
  if (damage.graph.parts.empty() || damage.graph.channels.empty()) return false;
  const uint32_t index = damage.random.Below(damage.graph.parts.size());
  CommPart& part = damage.graph.parts[index];
  if (part.part() == Part::collective) return false;
  part.mutate_subject(damage.random.Below(damage.graph.channels.size()));
  SuspectPart(damage, index);
  return true;
}

bool Transfer(Damage& damage) {
  if (damage.graph.parts.empty()) return false;
  const uint32_t index = damage.random.Below(damage.graph.parts.size());
  const uint32_t other = damage.random.Below(damage.graph.parts.size());
  damage.graph.parts[index].mutate_transfer(damage.graph.parts[other].transfer());
  SuspectPart(damage, index);
  return true;
}

// The ends of a channel, or what they move, trade places with those of another part.
bool SwapParts(Damage& damage) {
  if (damage.graph.parts.size() < 2) return false;
  const uint32_t a = damage.random.Below(damage.graph.parts.size());
  const uint32_t b = damage.random.Below(damage.graph.parts.size());
  if (a == b) return false;
  std::swap(damage.graph.parts[a], damage.graph.parts[b]);
  SuspectPart(damage, a);
  SuspectPart(damage, b);
  return true;
}

bool Reverse(Damage& damage) {
  if (damage.graph.parts.empty()) return false;
  CommPart& part = damage.graph.parts[damage.random.Below(damage.graph.parts.size())];
  if (part.part() == Part::collective) return false;
  part.mutate_part(part.part() == Part::send ? Part::recv : Part::send);
  const uint16_t inputs = part.inputs();
  part.mutate_inputs(part.outputs());
  part.mutate_outputs(inputs);
  return true;
}

bool AtBound(Damage& damage) {
  if (damage.graph.parts.empty()) return false;
  CommPart& part = damage.graph.parts[damage.random.Below(damage.graph.parts.size())];
  part.mutate_flags(part.flags() ^ plan::kAtBound);
  if (damage.random.OneIn(2)) return true;  // at both ends, otherwise
  for (CommPart& other : damage.graph.parts) {
    if (&other != &part && other.subject() == part.subject() &&
        other.transfer() == part.transfer() && other.part() != Part::collective) {
      other.mutate_flags(part.flags());
    }
  }
  return true;
}

bool Protocol(Damage& damage) {
  if (damage.graph.channels.empty()) return false;
  plan::Channel& channel =
      damage.graph.channels[damage.random.Below(damage.graph.channels.size())];
  const uint32_t capacity = damage.random.Below(4);
  channel.mutate_capacity(capacity);
  channel.mutate_protocol(capacity == 0 ? plan::Protocol::rendezvous : plan::Protocol::buffered);
  return true;
}

bool AllProtocols(Damage& damage) {
  const uint32_t capacity = damage.random.Below(3);
  for (plan::Channel& channel : damage.graph.channels) {
    channel.mutate_capacity(capacity);
    channel.mutate_protocol(capacity == 0 ? plan::Protocol::rendezvous : plan::Protocol::buffered);
  }
  return !damage.graph.channels.empty();
}

bool SplitGroup(Damage& damage) {  // a group loses its last part
  for (uint32_t i = 0; i < damage.graph.instructions.size(); ++i) {
    plan::Instruction& comm = damage.graph.instructions[i];
    if (comm.kind() == Kind::comm && comm.inputs() > 1 && damage.random.OneIn(2)) {
      comm.mutate_inputs(comm.inputs() - 1);
      damage.suspects.insert(i);
      return true;
    }
  }
  return false;
}

bool Collective(Damage& damage) {
  if (damage.graph.collectives.empty()) return false;
  plan::Collective& collective =
      *damage.graph.collectives[damage.random.Below(damage.graph.collectives.size())];
  if (damage.random.OneIn(2)) {
    collective.root = static_cast<int32_t>(damage.random.Below(2));
    return true;
  }
  for (CommPart& part : damage.graph.parts) {
    if (part.part() == Part::collective && damage.random.OneIn(2)) {
      part.mutate_subject(damage.random.Below(damage.graph.collectives.size()));
      return true;
    }
  }
  return false;
}

}  // namespace

const std::vector<MutationKind>& TransferMutations() {
  static const std::vector<MutationKind> kinds = {
      {Fault::kPeer, "channel", Channel},
      {Fault::kPeer, "transfer id", Transfer},
      {Fault::kPeer, "swap parts", SwapParts},
      {Fault::kPeer, "reverse", Reverse},
      {Fault::kExtent, "at bound", AtBound},
      {Fault::kOther, "protocol", Protocol},
      {Fault::kOther, "all protocols", AllProtocols},
      {Fault::kDroppedEnd, "split group", SplitGroup},
      {Fault::kPeer, "collective", Collective},
  };
  return kinds;
}

}  // namespace cgraph::mutants

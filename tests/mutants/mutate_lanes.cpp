// Damage to the order of lanes' instructions, and to how lanes wait for each other.
#include <algorithm>

#include "tests/mutants/mutate.h"

namespace cgraph::mutants {
namespace {

using plan::Instruction;
using plan::Kind;
using plan::Range;

// A random instruction of a kind; kNone if there is none.
uint32_t Pick(Damage& damage, Kind kind) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < damage.graph.instructions.size(); ++i) {
    if (damage.graph.instructions[i].kind() == kind) {
      found.push_back(i);
    }
  }
  return found.empty() ? plan::kNone : found[damage.random.Below(found.size())];
}

// A lane with at least `least` instructions; kNone if there is none.
uint32_t PickLane(Damage& damage, uint32_t least) {
  std::vector<uint32_t> found;
  for (uint32_t lane = 0; lane < damage.graph.programs.size(); ++lane) {
    if (damage.graph.programs[lane].count() >= least) {
      found.push_back(lane);
    }
  }
  return found.empty() ? plan::kNone : found[damage.random.Below(found.size())];
}

uint32_t PickAny(Damage& damage) { return damage.random.Below(damage.graph.instructions.size()); }

// Takes an instruction out of its lane; all later indices move down by one.
Instruction Remove(plan::Graph& graph, uint32_t index) {
  const Instruction removed = graph.instructions[index];
  graph.instructions.erase(graph.instructions.begin() + index);
  for (Range& program : graph.programs) {
    if (program.first() > index) {
      program.mutate_first(program.first() - 1);
    } else if (index < program.first() + program.count()) {
      program.mutate_count(program.count() - 1);
    }
  }
  return removed;
}

// Puts an instruction into a lane, so that it stands at `position` there; returns its index.
uint32_t Insert(plan::Graph& graph, uint32_t lane, uint32_t position,
                const Instruction& instruction) {
  const uint32_t index = graph.programs[lane].first() + position;
  graph.instructions.insert(graph.instructions.begin() + index, instruction);
  for (uint32_t other = 0; other < graph.programs.size(); ++other) {
    Range& program = graph.programs[other];
    if (other != lane && program.first() >= index) {
      program.mutate_first(program.first() + 1);
    }
  }
  Range& program = graph.programs[lane];
  program.mutate_count(program.count() + 1);
  return index;
}

// Lanes whose programs lie before and behind one with no instructions share its `first`; inserting
// must know which is which, so ranges are laid out again first.
void LayOutRanges(plan::Graph& graph) {
  std::vector<Instruction> instructions;
  for (Range& program : graph.programs) {
    const uint32_t first = static_cast<uint32_t>(instructions.size());
    const auto begin = graph.instructions.begin() + program.first();
    instructions.insert(instructions.end(), begin, begin + program.count());
    program.mutate_first(first);
  }
  graph.instructions = std::move(instructions);
}

bool Swap(Damage& damage) {
  const uint32_t lane = PickLane(damage, 2);
  if (lane == plan::kNone) return false;
  const Range program = damage.graph.programs[lane];
  const uint32_t a = program.first() + damage.random.Below(program.count());
  const uint32_t near = 1 + damage.random.Below(3);
  const uint32_t b = program.first() + (a - program.first() + near) % program.count();
  if (a == b) return false;
  std::swap(damage.graph.instructions[a], damage.graph.instructions[b]);
  damage.suspects.insert({a, b});
  return true;
}

bool Move(Damage& damage) {
  const uint32_t lane = PickLane(damage, 2);
  if (lane == plan::kNone) return false;
  const Range program = damage.graph.programs[lane];
  const auto first = damage.graph.instructions.begin() + program.first();
  const uint32_t from = damage.random.Below(program.count());
  const uint32_t to = damage.random.Below(program.count());
  if (from == to) return false;
  if (from < to) {
    std::rotate(first + from, first + from + 1, first + to + 1);
  } else {
    std::rotate(first + to, first + from, first + from + 1);
  }
  damage.suspects.insert(program.first() + to);
  return true;
}

bool DropAt(Damage& damage, uint32_t index) {
  if (index == plan::kNone) return false;
  if (index > 0) damage.suspects.insert(index - 1);
  Remove(damage.graph, index);
  if (index < damage.graph.instructions.size()) damage.suspects.insert(index);
  return true;
}

bool Drop(Damage& damage) { return DropAt(damage, PickAny(damage)); }
bool DropEnd(Damage& damage) { return DropAt(damage, Pick(damage, Kind::comm)); }
bool DropWait(Damage& damage) { return DropAt(damage, Pick(damage, Kind::wait)); }

bool Duplicate(Damage& damage) {
  LayOutRanges(damage.graph);
  const uint32_t lane = PickLane(damage, 1);
  if (lane == plan::kNone) return false;
  const Range program = damage.graph.programs[lane];
  const Instruction copy =
      damage.graph.instructions[program.first() + damage.random.Below(program.count())];
  const uint32_t position = damage.random.Below(program.count() + 1);
  damage.suspects.insert(Insert(damage.graph, lane, position, copy));
  return true;
}

bool ToAnotherLane(Damage& damage) {
  const uint32_t index = PickAny(damage);
  const Instruction moved = Remove(damage.graph, index);
  LayOutRanges(damage.graph);
  const uint32_t lane = damage.random.Below(damage.graph.programs.size());
  const uint32_t position = damage.random.Below(damage.graph.programs[lane].count() + 1);
  damage.suspects.insert(Insert(damage.graph, lane, position, moved));
  return true;
}

bool AddSync(Damage& damage) {  // harmless, unless it closes a cycle
  LayOutRanges(damage.graph);
  if (damage.graph.programs.size() < 2) return false;
  const uint32_t from = damage.random.Below(damage.graph.programs.size());
  const uint32_t to = damage.random.Below(damage.graph.programs.size());
  const uint32_t event = damage.graph.events++;
  Instruction instruction;
  instruction.mutate_flags(plan::kAlwaysRuns);
  instruction.mutate_call(plan::kNone);
  instruction.mutate_program_order(static_cast<uint32_t>(damage.graph.instructions.size()));
  instruction.mutate_kind(Kind::signal);
  instruction.mutate_subject(event);
  Insert(damage.graph, from, damage.random.Below(damage.graph.programs[from].count() + 1),
         instruction);
  instruction.mutate_kind(Kind::wait);
  instruction.mutate_subject(0);
  instruction.mutate_first(static_cast<uint32_t>(damage.graph.waits.size()));
  instruction.mutate_inputs(1);
  damage.graph.waits.emplace_back(event, static_cast<uint16_t>(damage.random.Below(3)));
  Insert(damage.graph, to, damage.random.Below(damage.graph.programs[to].count() + 1),
         instruction);
  return true;
}

bool WaitEvent(Damage& damage) {
  const uint32_t index = Pick(damage, Kind::wait);
  if (index == plan::kNone || damage.graph.instructions[index].inputs() == 0) return false;
  const Instruction& wait = damage.graph.instructions[index];
  damage.graph.waits[wait.first() + damage.random.Below(wait.inputs())].mutate_event(
      damage.random.Below(damage.graph.events));
  damage.suspects.insert(index);
  return true;
}

bool WaitLag(Damage& damage) {
  const uint32_t index = Pick(damage, Kind::wait);
  if (index == plan::kNone || damage.graph.instructions[index].inputs() == 0) return false;
  const Instruction& wait = damage.graph.instructions[index];
  plan::Wait& changed = damage.graph.waits[wait.first() + damage.random.Below(wait.inputs())];
  changed.mutate_lag(static_cast<uint16_t>(changed.lag() > 0 && damage.random.OneIn(2)
                                               ? changed.lag() - 1
                                               : changed.lag() + 1));
  damage.suspects.insert(index);
  return true;
}

bool WaitLess(Damage& damage) {  // a wait for nothing is none: Drop does that
  const uint32_t index = Pick(damage, Kind::wait);
  if (index == plan::kNone || damage.graph.instructions[index].inputs() < 2) return false;
  Instruction& wait = damage.graph.instructions[index];
  std::swap(damage.graph.waits[wait.first() + damage.random.Below(wait.inputs())],
            damage.graph.waits[wait.first() + wait.inputs() - 1]);
  wait.mutate_inputs(wait.inputs() - 1);
  for (uint32_t near = index; near < damage.graph.instructions.size() && near < index + 3; ++near) {
    damage.suspects.insert(near);
  }
  return true;
}

bool SignalEvent(Damage& damage) {
  const uint32_t index = Pick(damage, Kind::signal);
  if (index == plan::kNone) return false;
  damage.graph.instructions[index].mutate_subject(damage.random.Below(damage.graph.events));
  return true;
}

bool SwapSignals(Damage& damage) {
  const uint32_t a = Pick(damage, Kind::signal);
  const uint32_t b = Pick(damage, Kind::signal);
  if (a == b) return false;
  Instruction& first = damage.graph.instructions[a];
  Instruction& second = damage.graph.instructions[b];
  const uint32_t event = first.subject();
  first.mutate_subject(second.subject());
  second.mutate_subject(event);
  return true;
}

bool IsTimeless(const Instruction& instruction) {
  return instruction.kind() == Kind::signal || instruction.kind() == Kind::wait;
}

bool Lag(Damage& damage) {
  const uint32_t index = PickAny(damage);
  Instruction& instruction = damage.graph.instructions[index];
  if (IsTimeless(instruction)) return false;
  const bool less = instruction.lag() > 0 && damage.random.OneIn(2);
  instruction.mutate_lag(
      static_cast<uint16_t>(less ? instruction.lag() - 1 : instruction.lag() + 1));
  damage.suspects.insert(index);
  return true;
}

// Makes all of a lane work for an earlier execution.
bool LagOfLane(Damage& damage) {
  const uint32_t lane = PickLane(damage, 1);
  if (lane == plan::kNone) return false;
  const Range program = damage.graph.programs[lane];
  for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
    Instruction& instruction = damage.graph.instructions[i];
    if (!IsTimeless(instruction)) {
      instruction.mutate_lag(instruction.lag() + 1);
      damage.suspects.insert(i);
    }
  }
  return true;
}

bool Order(Damage& damage) {
  const uint32_t a = PickAny(damage), b = PickAny(damage);
  Instruction& first = damage.graph.instructions[a];
  Instruction& second = damage.graph.instructions[b];
  if (first.certificate_position() == second.certificate_position()) return false;
  const uint32_t order = first.certificate_position();
  first.mutate_certificate_position(second.certificate_position());
  second.mutate_certificate_position(order);
  return true;
}

bool Written(Damage& damage) {
  const uint32_t a = PickAny(damage), b = PickAny(damage);
  Instruction& first = damage.graph.instructions[a];
  Instruction& second = damage.graph.instructions[b];
  if (first.program_order() == second.program_order()) return false;
  const uint32_t program_order = first.program_order();
  first.mutate_program_order(second.program_order());
  if (damage.random.OneIn(4)) {  // otherwise both share one
    return true;
  }
  second.mutate_program_order(program_order);
  return true;
}

// A stretch of a lane becomes a capture, joins one, or stops being one.
bool Capture(Damage& damage) {
  const uint32_t lane = PickLane(damage, 2);
  if (lane == plan::kNone) return false;
  const Range program = damage.graph.programs[lane];
  const uint32_t begin = damage.random.Below(program.count());
  const uint32_t end = std::min(program.count(), begin + 1 + damage.random.Below(4));
  const uint32_t capture = damage.random.Below(3);
  for (uint32_t k = begin; k < end; ++k) {
    damage.graph.instructions[program.first() + k].mutate_capture_id(capture);
  }
  return true;
}

bool Inflight(Damage& damage) {
  damage.graph.inflight = 1 + damage.random.Below(4);
  return true;
}

}  // namespace

const std::vector<MutationKind>& LaneMutations() {
  static const std::vector<MutationKind> kinds = {
      {Fault::kOrder, "swap", Swap},
      {Fault::kOrder, "move", Move},
      {Fault::kOther, "drop any", Drop},
      {Fault::kDroppedEnd, "drop end", DropEnd},
      {Fault::kMissingWait, "drop wait", DropWait},
      {Fault::kOther, "duplicate", Duplicate},
      {Fault::kOrder, "to another lane", ToAnotherLane},
      {Fault::kOther, "add sync", AddSync},
      {Fault::kMissingWait, "wait event", WaitEvent},
      {Fault::kLag, "wait lag", WaitLag},
      {Fault::kMissingWait, "wait less", WaitLess},
      {Fault::kMissingWait, "signal event", SignalEvent},
      {Fault::kMissingWait, "swap signals", SwapSignals},
      {Fault::kLag, "lag", Lag},
      {Fault::kLag, "lag of lane", LagOfLane},
      {Fault::kOther, "order", Order},
      {Fault::kOrder, "program_order", Written},
      {Fault::kOther, "capture", Capture},
      {Fault::kOther, "inflight", Inflight},
  };
  return kinds;
}

}  // namespace cgraph::mutants

#include "runtime/plan/part/graph_parts.h"

#include <algorithm>
#include <tuple>

#include "runtime/plan/node_parts.h"

namespace cgraph::plan {

GraphParts::GraphParts(const Plan& plan, const Graph& graph)
    : plan_(plan),
      graph_(graph),
      index_(plan, graph),
      others_flags_(MayFail() ? kMayBePoisoned : 0),
      values_(graph.values.size()),
      buffers_(graph.buffers.size()),
      events_(graph.events),
      calls_(graph.calls.size()),
      collective_numbers_(graph.collectives.size()) {
  index_.IndexMessages();
  FindCollectives();
  FindConstants();
}

// Returns whether anything in the graph may fail, so that what other nodes send may be poisoned.
bool GraphParts::MayFail() const {
  return !graph_.symbols.empty() ||
         std::any_of(graph_.instructions.begin(), graph_.instructions.end(),
                     [&](const Instruction& at) {
                       return at.kind() == Kind::load ||
                              (at.kind() == Kind::call && plan_.kernels[at.subject()]->fails);
                     });
}

void GraphParts::FindCollectives() {
  collectives_.resize(plan_.communicators.size());
  const std::span<const CollectivePart> parts = index_.collective_parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    std::span<const CollectivePart>& own = collectives_[parts[i].communicator];
    own = parts.subspan(i - own.size(), own.size() + 1);
  }
}

void GraphParts::FindConstants() {
  constant_of_buffer_.assign(graph_.buffers.size(), kNone);
  for (uint32_t c = 0; c < graph_.constants.size(); ++c) {
    constant_of_buffer_[graph_.constants[c].buffer()] = c;
  }
}

std::unique_ptr<Graph> GraphParts::Of(uint32_t node, SharedTables& shared) {
  shared_ = &shared;
  for (Renumbering* table : {&values_, &buffers_, &events_, &calls_, &collective_numbers_}) {
    table->Clear();
  }
  devices_.assign(plan_.devices.size(), false);
  part_ = std::make_unique<Graph>();
  part_->name = graph_.name;
  part_->inflight = graph_.inflight;
  part_->deadline_ps = graph_.deadline_ps;
  if (graph_.repeat) part_->repeat = std::make_unique<Repeat>(*graph_.repeat);
  part_->arenas = graph_.arenas;
  part_->channels = graph_.channels;
  KeepOthers(node);
  auto others = others_.begin();
  for (uint32_t lane = 0; lane < graph_.programs.size(); ++lane) {
    const auto first = static_cast<uint32_t>(part_->instructions.size());
    auto end = others;
    while (end != others_.end() && index_.lane(end->instruction) == lane) ++end;
    if (NodeOf(lane) == node) {
      AddOwnLane(lane);
    } else {
      AddOtherLane({others, end});
    }
    others = end;
    const auto count = static_cast<uint32_t>(part_->instructions.size()) - first;
    part_->programs.emplace_back(first, count);
    if (count != 0) devices_[plan_.lanes[lane].device()] = true;
  }
  part_->events = static_cast<uint32_t>(events_.kept().size());
  AddPorts();
  AddExtents();
  AddCalls();
  AddCollectives();
  AddValues();
  AddBuffers(node);
  return std::move(part_);
}

// Finds the ends of messages, and the members of collectives, that other nodes have and this one
// must know of.
void GraphParts::KeepOthers(uint32_t node) {
  others_.clear();
  for (uint32_t c = 0; c < graph_.channels.size(); ++c) {
    const bool sends = NodeOf(graph_.channels[c].from_lane()) == node;
    const bool receives = NodeOf(graph_.channels[c].to_lane()) == node;
    if (sends == receives) continue;
    for (const Message& end : sends ? index_.receives(c) : index_.sends(c)) others_.push_back(end);
  }
  for (uint32_t c = 0; c < plan_.communicators.size(); ++c) {
    const auto first = plan_.members.begin() + plan_.communicators[c].first_member();
    const bool takes_part = std::any_of(first, first + plan_.communicators[c].members(),
                                        [&](uint32_t lane) { return NodeOf(lane) == node; });
    if (!takes_part) continue;
    for (const CollectivePart& at : collectives_[c]) {
      if (NodeOf(index_.lane(at.instruction)) == node) continue;
      others_.push_back({at.instruction, at.part});
    }
  }
  std::sort(others_.begin(), others_.end(), [&](const Message& a, const Message& b) {
    return std::tuple(index_.lane(a.instruction), a.instruction, a.part) <
           std::tuple(index_.lane(b.instruction), b.instruction, b.part);
  });
}

void GraphParts::AddOwnLane(uint32_t lane) {
  const auto& program = graph_.programs[lane];
  for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) AddInstruction(i);
}

// Adds the comms of a lane of another node, with those of their parts that are kept.
void GraphParts::AddOtherLane(std::span<const Message> messages) {
  for (size_t i = 0; i < messages.size();) {
    const uint32_t instruction = messages[i].instruction;
    Instruction comm = graph_.instructions[instruction];
    comm.mutate_first(static_cast<uint32_t>(part_->parts.size()));
    comm.mutate_call(calls_.Of(comm.call()));
    for (; i < messages.size() && messages[i].instruction == instruction; ++i) {
      AddPart(messages[i].part, others_flags_);
    }
    comm.mutate_inputs(static_cast<uint16_t>(part_->parts.size() - comm.first()));
    part_->instructions.push_back(comm);
  }
}

void GraphParts::AddInstruction(uint32_t instruction) {
  Instruction at = graph_.instructions[instruction];
  const uint32_t first = at.first();
  if (at.kind() == Kind::comm) {
    at.mutate_first(static_cast<uint32_t>(part_->parts.size()));
    for (uint32_t p = first; p < first + at.inputs(); ++p) AddPart(p, 0);
  } else if (at.kind() == Kind::wait) {
    at.mutate_first(static_cast<uint32_t>(part_->waits.size()));
    for (uint32_t w = first; w < first + at.inputs(); ++w) {
      const Wait& wait = graph_.waits[w];
      part_->waits.emplace_back(events_.Of(wait.event()), wait.lag());
    }
  } else if (at.kind() != Kind::signal) {
    at.mutate_first(AddOperands(first, uint32_t{at.inputs()} + at.outputs()));
  }
  at.mutate_subject(Subject(at));
  at.mutate_call(calls_.Of(at.call()));
  part_->instructions.push_back(at);
}

uint32_t GraphParts::Subject(const Instruction& at) {
  switch (at.kind()) {
    case Kind::call:
      return shared_->kernels.Of(at.subject());
    case Kind::signal:
      return events_.Of(at.subject());
    case Kind::load:
      return shared_->weights.Of(at.subject());
    default:
      return at.subject();
  }
}

void GraphParts::AddPart(uint32_t number, uint8_t flags) {
  CommPart part = graph_.parts[number];
  part.mutate_first(AddOperands(part.first(), uint32_t{part.inputs()} + part.outputs()));
  part.mutate_flags(part.flags() | flags);
  if (part.part() == Part::collective) {
    part.mutate_subject(collective_numbers_.Of(part.subject()));
  }
  part_->parts.push_back(part);
}

uint32_t GraphParts::AddOperands(uint32_t first, uint32_t count) {
  const auto at = static_cast<uint32_t>(part_->operands.size());
  for (uint32_t o = first; o < first + count; ++o) {
    part_->operands.push_back(values_.Of(graph_.operands[o]));
  }
  return at;
}

void GraphParts::AddPorts() {
  const auto add = [&](const auto& ports, auto& to) {
    for (const auto& port : ports) {
      to.push_back(std::make_unique<Port>(*port));
      to.back()->value = values_.Of(port->value);
    }
  };
  add(graph_.inputs, part_->inputs);
  add(graph_.outputs, part_->outputs);
  for (const Symbol& symbol : graph_.symbols) {
    part_->symbols.emplace_back(symbol.bound(), shared_->names.Of(symbol.name()));
  }
}

void GraphParts::AddExtents() {
  for (const Extent& extent : graph_.extents) {
    if (!devices_[extent.device()]) continue;
    part_->extents.emplace_back(extent.symbol(), extent.device(), values_.Of(extent.value()));
  }
}

void GraphParts::AddCalls() {
  for (uint32_t number : calls_.kept()) {
    Call call = graph_.calls[number];
    const auto first = graph_.call_indices.begin() + call.first_index();
    call.mutate_first_index(static_cast<uint32_t>(part_->call_indices.size()));
    part_->call_indices.insert(part_->call_indices.end(), first, first + call.indices());
    call.mutate_method(shared_->names.Of(call.method()));
    call.mutate_site(shared_->sites.Of(call.site()));
    part_->calls.push_back(call);
  }
}

void GraphParts::AddCollectives() {
  for (uint32_t number : collective_numbers_.kept()) {
    part_->collectives.push_back(std::make_unique<Collective>(*graph_.collectives[number]));
  }
}

void GraphParts::AddValues() {
  for (uint32_t number : values_.kept()) {
    Value value = graph_.values[number];
    const auto first = graph_.dims.begin() + value.first_dim();
    value.mutate_first_dim(static_cast<uint32_t>(part_->dims.size()));
    part_->dims.insert(part_->dims.end(), first, first + value.rank());
    value.mutate_name(shared_->names.Of(value.name()));
    value.mutate_buffer(buffers_.Of(value.buffer()));
    part_->values.push_back(value);
  }
}

void GraphParts::AddBuffers(uint32_t node) {
  for (uint32_t number : buffers_.kept()) {
    const Buffer& buffer = graph_.buffers[number];
    const auto at = static_cast<uint32_t>(part_->buffers.size());
    part_->buffers.push_back(buffer);
    const uint32_t constant = constant_of_buffer_[number];
    const uint32_t device = graph_.arenas[buffer.arena()].device();
    if (constant == kNone || plan_.devices[device]->node != node) continue;
    const auto first = graph_.constant_data.begin() +
                       static_cast<std::ptrdiff_t>(graph_.constants[constant].first());
    part_->constants.emplace_back(at, part_->constant_data.size());
    part_->constant_data.insert(part_->constant_data.end(), first,
                                first + static_cast<std::ptrdiff_t>(buffer.bytes()));
  }
}

}  // namespace cgraph::plan

#include "runtime/plan/kinds.h"
#include "tests/support/plans/plan_builder.h"

#include <algorithm>
#include <map>
#include <queue>

namespace cgraph::plan::testing {
namespace {

uint64_t Width(DType dtype) {
  static constexpr uint64_t kWidths[] = {1, 1, 1, 4, 8, 2, 2, 4, 8};
  return kWidths[static_cast<int>(dtype)];
}

uint64_t Bytes(DType dtype, const Dims& dims) {
  uint64_t bytes = Width(dtype);
  for (const DimSpec& dim : dims) bytes *= static_cast<uint64_t>(dim.extent);
  return bytes;
}

uint64_t RoundUp(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

uint32_t GraphBuilder::FindArena(uint32_t device, Space space, uint32_t owner) {
  for (uint32_t i = 0; i < graph_->arenas.size(); ++i) {
    const Arena& arena = graph_->arenas[i];
    if (arena.device() == device && arena.space() == space && arena.owner() == owner) return i;
  }
  uint16_t copies = 1;
  if (space == Space::slot) copies = copies_;
  if (space == Space::input || space == Space::output) copies = 0;
  const uint64_t bytes = space == Space::state ? plan_->plan().actors[owner]->state_bytes : 0;
  graph_->arenas.emplace_back(device, owner, space, Memory::plain, copies, bytes);
  return static_cast<uint32_t>(graph_->arenas.size() - 1);
}

uint32_t GraphBuilder::AddBuffer(uint32_t arena, uint64_t offset, uint64_t bytes) {
  Arena& in = graph_->arenas[arena];
  in.mutate_bytes(std::max(in.bytes(), RoundUp(offset + bytes)));
  graph_->buffers.emplace_back(arena, /*group=*/kNone, offset, bytes, /*align=*/1);
  return static_cast<uint32_t>(graph_->buffers.size() - 1);
}

uint32_t GraphBuilder::AddValue(const std::string& name, DType dtype, const Dims& dims,
                                uint32_t buffer, uint64_t offset) {
  const uint32_t first = static_cast<uint32_t>(graph_->dims.size());
  for (const DimSpec& dim : dims) graph_->dims.emplace_back(dim.extent, dim.symbol);
  graph_->values.emplace_back(plan_->Name(name), dtype, static_cast<uint8_t>(dims.size()), first,
                              buffer, offset, Bytes(dtype, dims));
  return static_cast<uint32_t>(graph_->values.size() - 1);
}

uint32_t GraphBuilder::Value(const std::string& name, uint32_t device, DType dtype,
                             const Dims& dims, Space space) {
  const uint32_t arena = FindArena(device, space, kNone);
  return ValueAt(name, device, graph_->arenas[arena].bytes(), dtype, dims, space);
}

uint32_t GraphBuilder::ValueAt(const std::string& name, uint32_t device, uint64_t offset,
                               DType dtype, const Dims& dims, Space space) {
  const uint32_t buffer = AddBuffer(FindArena(device, space, kNone), offset, Bytes(dtype, dims));
  return AddValue(name, dtype, dims, buffer, 0);
}

uint32_t GraphBuilder::View(uint32_t of, uint64_t offset, DType dtype, const Dims& dims) {
  const plan::Value base = graph_->values[of];
  return AddValue("view", dtype, dims, base.buffer(), base.offset() + offset);
}

uint32_t GraphBuilder::Input(const std::string& name, DType dtype, const Dims& dims) {
  const uint32_t value = Value(name, PlanBuilder::kCaller, dtype, dims, Space::input);
  auto port = std::make_unique<Port>();
  port->name = name;
  port->value = value;
  graph_->inputs.push_back(std::move(port));
  return value;
}

uint32_t GraphBuilder::Output(const std::string& name, DType dtype, const Dims& dims) {
  const uint32_t value = Value(name, PlanBuilder::kCaller, dtype, dims, Space::output);
  auto port = std::make_unique<Port>();
  port->name = name;
  port->value = value;
  graph_->outputs.push_back(std::move(port));
  return value;
}

uint32_t GraphBuilder::State(uint32_t actor, uint32_t state) {
  const plan::Actor& owner = *plan_->plan().actors[actor];
  const plan::State& variable = *owner.states[state];
  const uint32_t arena = FindArena(owner.device, Space::state, actor);
  Dims dims;
  for (int64_t extent : variable.dims) dims.emplace_back(extent);
  for (uint32_t i = 0; i < graph_->buffers.size(); ++i) {
    const Buffer& buffer = graph_->buffers[i];
    if (buffer.arena() == arena && buffer.offset() == variable.offset) {
      return AddValue(variable.name, variable.dtype, dims, i, 0);
    }
  }
  return AddValue(variable.name, variable.dtype, dims,
                  AddBuffer(arena, variable.offset, variable.bytes), 0);
}

uint32_t GraphBuilder::Constant(const std::string& name, uint32_t device, DType dtype,
                                const Dims& dims, const std::vector<uint8_t>& bytes) {
  const uint32_t value = Value(name, device, dtype, dims, Space::constant);
  graph_->constants.emplace_back(graph_->values[value].buffer(), graph_->constant_data.size());
  graph_->constant_data.insert(graph_->constant_data.end(), bytes.begin(), bytes.end());
  return value;
}

uint32_t GraphBuilder::Symbol(const std::string& name, int64_t bound) {
  graph_->symbols.emplace_back(bound, plan_->Name(name));
  return static_cast<uint32_t>(graph_->symbols.size() - 1);
}

uint32_t GraphBuilder::Extent(uint32_t symbol, uint32_t device, uint32_t value) {
  if (value == kNone) value = Value("extent", device, DType::i64, {});
  graph_->extents.emplace_back(symbol, device, value);
  return value;
}

uint32_t GraphBuilder::Channel(uint32_t from_lane, uint32_t to_lane, uint32_t capacity,
                               TransportKind transport, uint32_t communicator) {
  graph_->channels.emplace_back(capacity == 0 ? Protocol::rendezvous : Protocol::buffered,
                                transport, communicator, from_lane, to_lane, capacity);
  return static_cast<uint32_t>(graph_->channels.size() - 1);
}

uint32_t GraphBuilder::Collective(const std::string& kind, uint32_t communicator,
                                  const std::string& reduction, int32_t root) {
  auto collective = std::make_unique<plan::Collective>();
  collective->kind = static_cast<wire::CollectiveKind>(ParseCollective(kind).value());
  if (!reduction.empty()) {
    collective->reduction = static_cast<wire::Reduction>(ParseReduction(reduction).value());
  }
  collective->root = root;
  collective->communicator = communicator;
  graph_->collectives.push_back(std::move(collective));
  return static_cast<uint32_t>(graph_->collectives.size() - 1);
}

GraphBuilder& GraphBuilder::Method(uint32_t place, const std::string& method, uint32_t line,
                                   std::vector<int32_t> indices) {
  uint32_t site = kNone;
  if (line != 0) {
    Plan& plan = plan_->plan();
    if (plan.files.empty()) plan.files.push_back("test.cgraph");
    site = static_cast<uint32_t>(plan.sites.size());
    plan.sites.emplace_back(0, line, 1, line, 2);
  }
  call_ = static_cast<uint32_t>(graph_->calls.size());
  graph_->calls.emplace_back(place, plan_->Name(method), site,
                             static_cast<uint32_t>(graph_->call_indices.size()),
                             static_cast<uint16_t>(indices.size()), uint16_t{0});
  graph_->call_indices.insert(graph_->call_indices.end(), indices.begin(), indices.end());
  return *this;
}

GraphBuilder::Handle GraphBuilder::Append(uint32_t lane, Instruction instruction) {
  instruction.mutate_call(call_);
  instruction.mutate_program_order(static_cast<uint32_t>(items_.size()));
  items_.push_back({instruction, lane, 0});
  return Last();
}

uint32_t GraphBuilder::AddOperands(const std::vector<uint32_t>& inputs,
                                   const std::vector<uint32_t>& outputs) {
  std::vector<uint32_t>& pool = graph_->operands;
  const uint32_t first = static_cast<uint32_t>(pool.size());
  pool.insert(pool.end(), inputs.begin(), inputs.end());
  pool.insert(pool.end(), outputs.begin(), outputs.end());
  return first;
}

GraphBuilder::Handle GraphBuilder::AppendOperands(uint32_t lane, Kind kind, uint32_t subject,
                                                  const std::vector<uint32_t>& inputs,
                                                  const std::vector<uint32_t>& outputs) {
  Instruction instruction;
  instruction.mutate_kind(kind);
  instruction.mutate_subject(subject);
  instruction.mutate_first(AddOperands(inputs, outputs));
  instruction.mutate_inputs(static_cast<uint16_t>(inputs.size()));
  instruction.mutate_outputs(static_cast<uint16_t>(outputs.size()));
  return Append(lane, instruction);
}

GraphBuilder::Handle GraphBuilder::Call(uint32_t lane, uint32_t kernel,
                                        const std::vector<uint32_t>& inputs,
                                        const std::vector<uint32_t>& outputs) {
  const Handle handle = AppendOperands(lane, Kind::call, kernel, inputs, outputs);
  if (plan_->plan().kernels[kernel]->fails) At(handle).mutate_flags(kMayFail);
  return handle;
}

GraphBuilder::Handle GraphBuilder::Copy(uint32_t lane, uint32_t from, uint32_t to) {
  return AppendOperands(lane, Kind::copy, 0, {from}, {to});
}

GraphBuilder::Handle GraphBuilder::Take(uint32_t lane, uint32_t input,
                                        const std::vector<uint32_t>& extents) {
  uint32_t port = 0;
  while (graph_->inputs[port]->value != input) ++port;
  std::vector<uint32_t> outputs = {input};
  outputs.insert(outputs.end(), extents.begin(), extents.end());
  return AppendOperands(lane, Kind::input, port, {}, outputs);
}

GraphBuilder::Handle GraphBuilder::Give(uint32_t lane, uint32_t output) {
  uint32_t port = 0;
  while (graph_->outputs[port]->value != output) ++port;
  return AppendOperands(lane, Kind::output, port, {output}, {});
}

GraphBuilder::Handle GraphBuilder::Load(uint32_t lane, uint32_t weight, uint32_t value) {
  return AppendOperands(lane, Kind::load, weight, {}, {value});
}

GraphBuilder::Handle GraphBuilder::Signal(uint32_t lane, uint32_t event) {
  Instruction instruction;
  instruction.mutate_kind(Kind::signal);
  instruction.mutate_flags(kAlwaysRuns);
  instruction.mutate_subject(event);
  return Append(lane, instruction);
}

GraphBuilder::Handle GraphBuilder::Wait(uint32_t lane, uint32_t event, uint16_t lag) {
  Instruction instruction;
  instruction.mutate_kind(Kind::wait);
  instruction.mutate_flags(kAlwaysRuns);
  instruction.mutate_first(static_cast<uint32_t>(graph_->waits.size()));
  instruction.mutate_inputs(1);
  graph_->waits.emplace_back(event, lag);
  return Append(lane, instruction);
}

uint32_t GraphBuilder::Sync(uint32_t from_lane, uint32_t to_lane, uint16_t lag) {
  const uint32_t event = Event();
  Signal(from_lane, event);
  Wait(to_lane, event, lag);
  return event;
}

GraphBuilder::Handle GraphBuilder::AppendComm(uint32_t lane, CommPart part,
                                              const std::vector<uint32_t>& inputs,
                                              const std::vector<uint32_t>& outputs) {
  Instruction instruction;
  instruction.mutate_kind(Kind::comm);
  instruction.mutate_flags(kAlwaysRuns);
  instruction.mutate_first(static_cast<uint32_t>(graph_->parts.size()));
  const Handle handle = Append(lane, instruction);
  Group(handle, part.part(), part.subject(), inputs, outputs, part.transfer());
  return handle;
}

void GraphBuilder::Group(Handle comm, plan::Part part, uint32_t subject,
                         const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
                         uint32_t transfer) {
  graph_->parts.emplace_back(part, 0, static_cast<uint16_t>(inputs.size()),
                             static_cast<uint16_t>(outputs.size()), subject, transfer,
                             AddOperands(inputs, outputs));
  At(comm).mutate_inputs(static_cast<uint16_t>(At(comm).inputs() + 1));
}

GraphBuilder::Handle GraphBuilder::Send(uint32_t channel, const std::vector<uint32_t>& values,
                                        uint32_t transfer) {
  return AppendComm(graph_->channels[channel].from_lane(),
                    CommPart(plan::Part::send, 0, 0, 0, channel, transfer, 0), values, {});
}

GraphBuilder::Handle GraphBuilder::Receive(uint32_t channel, const std::vector<uint32_t>& values,
                                           uint32_t transfer) {
  return AppendComm(graph_->channels[channel].to_lane(),
                    CommPart(plan::Part::recv, 0, 0, 0, channel, transfer, 0), {}, values);
}

GraphBuilder::Handle GraphBuilder::Transfer(uint32_t channel, uint32_t from, uint32_t to) {
  const uint32_t transfer = static_cast<uint32_t>(graph_->parts.size());
  const Handle send = Send(channel, {from}, transfer);
  Receive(channel, {to}, transfer);
  return send;
}

GraphBuilder::Handle GraphBuilder::Part(uint32_t lane, uint32_t collective,
                                        const std::vector<uint32_t>& inputs,
                                        const std::vector<uint32_t>& outputs) {
  const Handle handle = AppendComm(
      lane, CommPart(plan::Part::collective, 0, 0, 0, collective, 0, 0), inputs, outputs);
  for (Handle other = 0; other < handle; ++other) {
    const Instruction& comm = At(other);
    if (comm.kind() != Kind::comm) continue;
    for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
      const CommPart& part = graph_->parts[p];
      if (part.part() == plan::Part::collective && part.subject() == collective) {
        At(handle).mutate_program_order(comm.program_order());
      }
    }
  }
  return handle;
}

// Kahn's algorithm over units: instructions, joined where a rendezvous or a collective joins them.
// Of the units that are ready the earliest in program order comes first.
void GraphBuilder::FindOrder() {
  const uint32_t count = static_cast<uint32_t>(items_.size());
  std::vector<uint32_t> unit(count);
  for (uint32_t i = 0; i < count; ++i) unit[i] = i;
  auto find = [&](uint32_t i) {
    while (unit[i] != i) i = unit[i];
    return i;
  };
  auto join = [&](uint32_t a, uint32_t b) { unit[find(std::max(a, b))] = find(std::min(a, b)); };

  std::map<uint32_t, std::vector<uint32_t>> sends, receives;
  std::map<uint32_t, uint32_t> signals, collectives, last;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i < count; ++i) {
    const Instruction& instruction = items_[i].instruction;
    if (auto before = last.find(items_[i].lane); before != last.end()) {
      edges.emplace_back(before->second, i);
    }
    last[items_[i].lane] = i;
    if (instruction.kind() == Kind::signal) signals[instruction.subject()] = i;
    if (instruction.kind() != Kind::comm) continue;
    for (uint32_t p = 0; p < instruction.inputs(); ++p) {
      const CommPart& part = graph_->parts[instruction.first() + p];
      if (part.part() == plan::Part::send) sends[part.subject()].push_back(i);
      if (part.part() == plan::Part::recv) receives[part.subject()].push_back(i);
      if (part.part() == plan::Part::collective) {
        join(collectives.emplace(part.subject(), i).first->second, i);
      }
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Instruction& instruction = items_[i].instruction;
    for (uint32_t w = 0; instruction.kind() == Kind::wait && w < instruction.inputs(); ++w) {
      const plan::Wait& wait = graph_->waits[instruction.first() + w];
      auto signal = signals.find(wait.event());
      if (signal != signals.end() && wait.lag() == 0) edges.emplace_back(signal->second, i);
    }
  }
  for (auto& [channel, from] : sends) {
    const std::vector<uint32_t>& to = receives[channel];
    const uint32_t capacity = graph_->channels[channel].capacity();
    for (uint32_t j = 0; j < std::min(from.size(), to.size()); ++j) {
      if (capacity == 0) {
        join(from[j], to[j]);
      } else {
        edges.emplace_back(from[j], to[j]);
        if (j >= capacity) edges.emplace_back(to[j - capacity], from[j]);
      }
    }
  }

  std::vector<std::vector<uint32_t>> after(count);
  std::vector<uint32_t> pending(count, 0);
  for (auto [from, to] : edges) {
    if (find(from) == find(to)) continue;
    after[find(from)].push_back(find(to));
    ++pending[find(to)];
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < count; ++i) {
    if (find(i) == i && pending[i] == 0) ready.push(i);
  }
  std::vector<uint32_t> order(count, kNone);
  uint32_t next = 0;
  while (!ready.empty()) {
    const uint32_t at = ready.top();
    ready.pop();
    order[at] = next++;
    for (uint32_t to : after[at]) {
      if (--pending[to] == 0) ready.push(to);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t found = order[find(i)];
    items_[i].instruction.mutate_certificate_position(found == kNone ? i : found);
  }
}

void GraphBuilder::Finish() {
  FindOrder();
  graph_->programs.clear();
  graph_->instructions.clear();
  for (uint32_t lane = 0; lane < plan_->plan().lanes.size(); ++lane) {
    const uint32_t first = static_cast<uint32_t>(graph_->instructions.size());
    for (Item& item : items_) {
      if (item.lane != lane) continue;
      item.index = static_cast<uint32_t>(graph_->instructions.size());
      graph_->instructions.push_back(item.instruction);
    }
    graph_->programs.emplace_back(first,
                                  static_cast<uint32_t>(graph_->instructions.size()) - first);
  }
}

PlanBuilder::PlanBuilder() : plan_(std::make_unique<plan::Plan>()) {
  plan_->format = kFormat;
  plan_->compiler = "test";
  plan_->workers = 1;
  Device(DeviceKind::caller, 0);
  plan_->start = std::make_unique<plan::Graph>();
  plan_->start->name = "start";
  plan_->start->inflight = 1;
  start_.reset(new GraphBuilder(this, plan_->start.get()));
}

uint32_t PlanBuilder::Name(const std::string& text) {
  for (uint32_t i = 0; i < plan_->names.size(); ++i) {
    if (plan_->names[i] == text) return i;
  }
  plan_->names.push_back(text);
  return static_cast<uint32_t>(plan_->names.size() - 1);
}

uint32_t PlanBuilder::Device(DeviceKind kind, uint32_t index) {
  auto device = std::make_unique<plan::Device>();
  device->kind = kind;
  device->index = index;
  plan_->devices.push_back(std::move(device));
  return static_cast<uint32_t>(plan_->devices.size() - 1);
}

uint32_t PlanBuilder::Lane(uint32_t device, LaneKind kind) {
  plan_->lanes.emplace_back(device, kind, kNone, 0);
  return static_cast<uint32_t>(plan_->lanes.size() - 1);
}

uint32_t PlanBuilder::Kernel(const std::string& name, const KernelOptions& options) {
  auto kernel = std::make_unique<plan::Kernel>();
  kernel->name = name;
  kernel->fails = options.fails;
  kernel->inplace = options.inplace;
  auto primitive = std::make_unique<Primitive>();
  primitive->op = name;
  kernel->body.push_back(std::move(primitive));
  plan_->kernels.push_back(std::move(kernel));
  return static_cast<uint32_t>(plan_->kernels.size() - 1);
}

uint32_t PlanBuilder::Actor(const std::string& name, uint32_t device,
                            const std::vector<std::pair<std::string, uint64_t>>& states) {
  auto actor = std::make_unique<plan::Actor>();
  actor->name = name;
  actor->class_name = "Test";
  actor->device = device;
  for (const auto& [state_name, elements] : states) {
    auto state = std::make_unique<plan::State>();
    state->name = state_name;
    state->dtype = DType::f32;
    state->dims = {static_cast<int64_t>(elements)};
    state->offset = actor->state_bytes;
    state->bytes = elements * 4;
    actor->state_bytes += RoundUp(state->bytes);
    actor->states.push_back(std::move(state));
  }
  plan_->actors.push_back(std::move(actor));
  return static_cast<uint32_t>(plan_->actors.size() - 1);
}

uint32_t PlanBuilder::Communicator(const std::vector<uint32_t>& lanes) {
  const uint32_t first = static_cast<uint32_t>(plan_->members.size());
  const uint32_t communicator = static_cast<uint32_t>(plan_->communicators.size());
  plan_->members.insert(plan_->members.end(), lanes.begin(), lanes.end());
  plan_->communicators.emplace_back(first, static_cast<uint32_t>(lanes.size()));
  return communicator;
}

uint32_t PlanBuilder::Weight(const std::string& file, const std::string& tensor) {
  auto weight = std::make_unique<WeightFile>();
  weight->name = file;
  weight->tensor = tensor;
  plan_->weights.push_back(std::move(weight));
  return static_cast<uint32_t>(plan_->weights.size() - 1);
}

GraphBuilder& PlanBuilder::Graph(const std::string& name, uint32_t inflight) {
  plan_->graphs.push_back(std::make_unique<plan::Graph>());
  plan::Graph* graph = plan_->graphs.back().get();
  graph->name = name;
  graph->inflight = inflight;
  graphs_.emplace_back(new GraphBuilder(this, graph));
  graphs_.back()->Copies(static_cast<uint16_t>(inflight));
  return *graphs_.back();
}

std::unique_ptr<plan::Plan> PlanBuilder::Build() {
  start_->Finish();
  for (auto& graph : graphs_) graph->Finish();
  return std::move(plan_);
}

}  // namespace cgraph::plan::testing

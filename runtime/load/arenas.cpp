#include "runtime/load/arenas.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/kinds/limits.h"
#include "runtime/base/text.h"
#include "runtime/device/memory.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// The most frames of a graph. With one number of copies, as the compiler's plans have, fewer than
// three times kMaxInflight are needed: for executions in progress, for lags, and to round up.
constexpr uint32_t kMaxFrames = 4 * kMaxInflight;
// The kind behind those of memory: a block of inputs that callers mostly lend.
constexpr uint32_t kReserved = static_cast<uint32_t>(plan::Memory::MAX) + 1;
constexpr uint32_t kKinds = kReserved + 1;
constexpr uint64_t kLeastReserved = 1 << 20;  // bytes of inputs; less is soon touched

uint32_t BlockFor(uint32_t device, plan::Memory kind) {
  return device * kKinds + static_cast<uint32_t>(kind);
}

// Adds room for `copies` blocks in a row; the stride keeps each of them aligned.
uint64_t AddCopies(device::BumpLayout& layout, uint64_t bytes, uint64_t copies, uint64_t& stride) {
  if (bytes > UINT64_MAX / 2 / copies) return layout.Add(UINT64_MAX);
  stride = (bytes + device::kLineAlign - 1) / device::kLineAlign * device::kLineAlign;
  return layout.Add(stride * copies);
}

}  // namespace

Result<uint32_t> Arenas::Frames(const plan::Graph& graph, uint32_t progress) {
  uint64_t multiple = 1;
  for (const plan::Arena& arena : graph.arenas) {
    if (arena.copies() == 0) continue;
    multiple = std::lcm(multiple, static_cast<uint64_t>(arena.copies()));
    if (multiple > kMaxFrames) break;
  }
  const uint64_t frames = (progress + multiple - 1) / multiple * multiple;
  if (multiple > kMaxFrames || frames > kMaxFrames) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("`{}` would need more than {} executions' worth of bookkeeping for "
                              "the copies of its arenas; give them one number of copies",
                              graph.name, kMaxFrames));
  }
  return static_cast<uint32_t>(frames);
}

Status Arenas::Allocate(const plan::Plan& plan,
                        const std::vector<std::unique_ptr<device::Device>>& devices,
                        std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                        const std::vector<std::vector<bool>>& native,
                        const std::vector<bool>& elsewhere, const RankView& view) {
  native_ = &native;
  view_ = &view;
  all_devices_ = &devices;
  peers_.Find(plan, graphs, view);
  for (const auto& device : devices) devices_.push_back(device.get());
  layouts_.resize(devices.size() * kKinds);
  LayOutStates(plan, graphs);
  for (auto& graph : graphs) {
    graphs_.push_back(graph.get());
    LayOutGraph(*graph, places_.emplace_back());
  }
  CGRAPH_RETURN_IF_ERROR(AllocateBlocks(plan, elsewhere));
  CGRAPH_RETURN_IF_ERROR(FillConstants());
  return OpenPeers(view);
}

Status Arenas::OpenPeers(const RankView& view) {
  std::vector<const device::Memory*> blocks;
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    blocks.push_back(&blocks_[BlockFor(device, plan::Memory::shareable)]);
  }
  return peers_.Open(*all_devices_, blocks, view);
}

plan::Memory Arenas::KindOf(const LoadedGraph& graph, uint32_t arena) const {
  const uint32_t device = graph.plan->arenas[arena].device();
  if (view_->exchange != nullptr && view_->OnGpu(device) &&
      graph.plan->arenas[arena].memory() != plan::Memory::pinned) {
    return peers_.Exports(device) ? plan::Memory::shareable : plan::Memory::plain;
  }
  if ((*native_)[graph.index][arena]) return plan::Memory::symmetric;
  return graph.plan->arenas[arena].memory();
}

// Lays out the states. The kind of an actor's memory is stated by the first graph that has it,
// unless collectives of another graph need it.
void Arenas::LayOutStates(const plan::Plan& plan,
                          const std::vector<std::unique_ptr<LoadedGraph>>& graphs) {
  std::vector<plan::Memory> kinds(plan.actors.size(), plan::Memory::plain);
  std::vector<bool> used(plan.actors.size(), false);
  for (size_t g = graphs.size(); g-- > 0;) {
    for (uint32_t a = 0; a < graphs[g]->plan->arenas.size(); ++a) {
      const plan::Arena& arena = graphs[g]->plan->arenas[a];
      if (arena.space() != plan::Space::state) continue;
      if (!used[arena.owner()]) kinds[arena.owner()] = KindOf(*graphs[g], a);
      if ((*native_)[graphs[g]->index][a]) used[arena.owner()] = true;
    }
  }
  for (size_t a = 0; a < plan.actors.size(); ++a) {
    BlockAddress place;
    place.block = BlockFor(plan.actors[a]->device, kinds[a]);
    place.offset = layouts_[place.block].Add(plan.actors[a]->state_bytes);
    states_.push_back(place);
  }
  for (const device::BumpLayout& layout : layouts_) state_bytes_.push_back(layout.size());
}

// One allocation for each block, when all sizes are known: a plan that does not fit is refused
// before anything runs, and the message has the sum.
Status Arenas::AllocateBlocks(const plan::Plan& plan, const std::vector<bool>& elsewhere) {
  for (uint32_t b = 0; b < layouts_.size(); ++b) {
    const uint32_t device = b / kKinds;
    if (elsewhere[device]) {
      blocks_.emplace_back();
      continue;
    }
    const bool reserved = b % kKinds == kReserved;
    auto block = reserved ? device::ReserveMemory(layouts_[b].size(), WhatIsIn(plan, b))
                          : devices_[device]->Allocate(layouts_[b].size(),
                                                       static_cast<plan::Memory>(b % kKinds),
                                                       WhatIsIn(plan, b));
    if (!block.ok()) return block.status();
    if (!reserved) bytes_ += layouts_[b].size();
    blocks_.push_back(std::move(*block));
  }
  return Status::Ok();
}

// Returns "the arenas of gpu[0] (8 MiB of states, 1 GiB of values and inputs)".
std::string Arenas::WhatIsIn(const plan::Plan& plan, uint32_t block) const {
  std::string what = fmt::format("the {} of {}", block % kKinds == kReserved ? "inputs" : "arenas",
                                 plan::DeviceName(plan, block / kKinds));
  if (state_bytes_[block] == 0) return what;
  return what + fmt::format(" ({} of states, {} of values and inputs)",
                            BytesText(state_bytes_[block]),
                            BytesText(layouts_[block].size() - state_bytes_[block]));
}

// Whether memory of an arena waits for an input that is copied there. A device reads those of
// callers in place where it reads any memory of this process.
bool Arenas::MayStayUntouched(const LoadedGraph& graph, uint32_t arena) const {
  const plan::Arena& of = graph.plan->arenas[arena];
  const device::Device& device = *devices_[of.device()];
  return of.space() == plan::Space::input && of.bytes() >= kLeastReserved &&
         KindOf(graph, arena) == plan::Memory::plain && device.traits().immediate &&
         device.CanLend(this);
}

void Arenas::LayOutGraph(LoadedGraph& graph, std::vector<BlockAddress>& places) {
  device::BumpLayout output;
  graph.output_offsets.assign(graph.plan->arenas.size(), 0);
  for (uint32_t a = 0; a < graph.plan->arenas.size(); ++a) {
    const plan::Arena& arena = graph.plan->arenas[a];
    BlockAddress place;
    place.block = MayStayUntouched(graph, a) ? arena.device() * kKinds + kReserved
                                             : BlockFor(arena.device(), KindOf(graph, a));
    if (arena.space() == plan::Space::state) {
      place = states_[arena.owner()];
    } else if (arena.space() == plan::Space::output) {
      graph.output_offsets[a] = output.Add(arena.bytes());
    } else {
      place.copies = arena.space() == plan::Space::input
                         ? static_cast<uint32_t>(graph.frames.size())
                         : std::max<uint32_t>(1, arena.copies());
      place.offset =
          AddCopies(layouts_[place.block], arena.bytes(), place.copies, place.stride);
    }
    places.push_back(place);
  }
  // A result that does not lie in an output arena is copied behind the output arenas: a result is
  // the caller's for as long as it holds it, and other memory is used again.
  for (const auto& port : graph.plan->outputs) {
    const plan::Value& value = graph.plan->values[port->value];
    const uint32_t arena = graph.plan->buffers[value.buffer()].arena();
    const bool in_block = graph.plan->arenas[arena].space() == plan::Space::output;
    const uint64_t inside = graph.plan->buffers[value.buffer()].offset() + value.offset();
    graph.results.push_back(
        {0, in_block ? graph.output_offsets[arena] + inside : output.Add(value.bytes())});
  }
  graph.result_blocks = {{0, output.size()}};  // of the caller's device
}

Status Arenas::FillConstants() {
  for (uint32_t g = 0; g < graphs_.size(); ++g) {
    const plan::Graph& graph = *graphs_[g]->plan;
    for (const plan::Constant& constant : graph.constants) {
      const plan::Buffer& buffer = graph.buffers[constant.buffer()];
      if (buffer.bytes() == 0) continue;
      const BlockAddress& place = places_[g][buffer.arena()];
      if (blocks_[place.block].data() == nullptr) continue;
      CGRAPH_RETURN_IF_ERROR(devices_[place.block / kKinds]->CopyIn(
          blocks_[place.block], place.offset + buffer.offset(),
          graph.constant_data.data() + constant.first(), buffer.bytes()));
    }
  }
  return Status::Ok();
}

const Arenas::BlockAddress& Arenas::PlaceOf(uint32_t graph, uint32_t value) const {
  const plan::Graph& g = *graphs_[graph]->plan;
  return places_[graph][g.buffers[g.values[value].buffer()].arena()];
}

const device::Memory& Arenas::BlockOf(uint32_t graph, uint32_t value) const {
  return blocks_[PlaceOf(graph, value).block];
}

device::Device& Arenas::DeviceOf(uint32_t graph, uint32_t value) const {
  return *devices_[PlaceOf(graph, value).block / kKinds];
}

Arenas::StateAddress Arenas::StatesOf(uint32_t actor) const {
  const BlockAddress& at = states_[actor];
  return {devices_[at.block / kKinds], &blocks_[at.block], at.offset};
}

void* Arenas::Address(uint32_t graph, uint32_t value, uint32_t frame) const {
  const plan::Graph& g = *graphs_[graph]->plan;
  const plan::Value& v = g.values[value];
  const plan::Buffer& buffer = g.buffers[v.buffer()];
  if (g.arenas[buffer.arena()].space() == plan::Space::output) return nullptr;
  return AddressIn(blocks_[places_[graph][buffer.arena()].block].data(), graph, value, frame);
}

// Frame f uses copy f mod copies. The number of frames is a multiple of the copies (Frames()), so
// two executions share a copy just where the plan says so: rule 6 of docs/plan.md.
void* Arenas::AddressIn(std::byte* block, uint32_t graph, uint32_t value, uint32_t frame) const {
  if (block == nullptr) return nullptr;
  const plan::Graph& g = *graphs_[graph]->plan;
  const plan::Value& v = g.values[value];
  const plan::Buffer& buffer = g.buffers[v.buffer()];
  const BlockAddress& place = places_[graph][buffer.arena()];
  return block + place.offset + (frame % place.copies) * place.stride + buffer.offset() +
         v.offset();
}

void* Arenas::AddressFor(uint32_t reader, uint32_t graph, uint32_t value, uint32_t frame) const {
  if (void* const here = Address(graph, value, frame)) return here;
  const plan::Graph& g = *graphs_[graph]->plan;
  if (g.arenas[g.buffers[g.values[value].buffer()].arena()].space() == plan::Space::output) {
    return nullptr;
  }
  const uint32_t block = PlaceOf(graph, value).block;
  if (static_cast<plan::Memory>(block % kKinds) != plan::Memory::shareable) return nullptr;
  return AddressIn(peers_.AddressOf(reader, block / kKinds), graph, value, frame);
}

bool Arenas::IsUntouched(uint32_t graph, uint32_t value) const {
  return PlaceOf(graph, value).block % kKinds == kReserved;
}

bool Arenas::HasOneAddress(uint32_t graph, uint32_t value) const {
  return BlockOf(graph, value).host_visible();
}

uint64_t Arenas::OutputOffset(uint32_t graph, uint32_t value) const {
  const plan::Graph& g = *graphs_[graph]->plan;
  const plan::Value& v = g.values[value];
  const plan::Buffer& buffer = g.buffers[v.buffer()];
  return graphs_[graph]->output_offsets[buffer.arena()] + buffer.offset() + v.offset();
}

}  // namespace cgraph::engine

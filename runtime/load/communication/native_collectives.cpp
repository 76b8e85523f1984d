#include "runtime/load/communication/native_collectives.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/load/arenas.h"
#include "runtime/load/communication/collectives.h"
#include "runtime/plan/kinds.h"
#include "runtime/transport/nccl/native_collective.h"

namespace cgraph::engine {

// ---- finding ------------------------------------------------------------------------------------

Status NativeCollectives::Find(const plan::Plan& plan,
                               const std::vector<std::unique_ptr<device::Device>>& devices,
                               const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                               const std::vector<bool>& elsewhere, const RankView& view,
                               const MachineView& machines) {
  if (view.exchange != nullptr) {
    for (const auto& graph : graphs) arenas_.emplace_back(graph->plan->arenas.size(), false);
    return FindAmongRanks(plan, devices, graphs, view);
  }
  const bool communicates = std::any_of(devices.begin(), devices.end(), [](const auto& device) {
    return device->traits().queues_communicate;
  });
  for (const auto& graph : graphs) {
    arenas_.emplace_back(graph->plan->arenas.size(), false);
    if (!communicates) continue;
    plan::GraphIndex index(plan, *graph->plan);
    index.IndexMessages();
    CGRAPH_RETURN_IF_ERROR(ForEachCollective(plan, index, [&](size_t first, auto parts) {
      return FindOne(*graph, index, devices, elsewhere, first, parts);
    }));
  }
  if (machines.links == nullptr) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(FindAmongMachines(plan, devices, graphs, machines));
  std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
    return std::pair(a.graph->index, a.first) < std::pair(b.graph->index, b.first);
  });
  return Status::Ok();
}

// A communicator is made for collectives that it carries out alone: making one takes time and
// memory of the GPUs, and where NCCL keeps no order between several, a GPU has the first only.
Status NativeCollectives::FindOne(LoadedGraph& graph, const plan::GraphIndex& index,
                                  const std::vector<std::unique_ptr<device::Device>>& devices,
                                  const std::vector<bool>& elsewhere, size_t first,
                                  std::span<const plan::CollectivePart> parts) {
  std::vector<device::Device*> on;
  for (const plan::CollectivePart& part : parts) {
    const uint32_t device = index.device(part.instruction);
    on.push_back(devices[device].get());
    if (!on.back()->traits().queues_communicate || elsewhere[device]) return Status::Ok();
  }
  const transport::CollectiveShape shape = ShapeOf(*graph.plan, parts);
  if (!transport::CarriesOut(*on.front(), shape)) return Status::Ok();
  auto communicator = on.front()->communicators()->MakeCommunicator(parts.front().communicator, on);
  if (!communicator.ok()) return communicator.status();
  if (*communicator == nullptr) return Status::Ok();
  Add(index, parts, {&graph, first, shape.kind, shape.root, std::move(*communicator), {}});
  return Status::Ok();
}

void NativeCollectives::Add(const plan::GraphIndex& index,
                            std::span<const plan::CollectivePart> parts, Found found) {
  const plan::Graph& graph = *found.graph->plan;
  for (const plan::CollectivePart& at : parts) {
    const plan::CommPart& part = graph.parts[at.part];
    const std::span<const uint32_t> operands(graph.operands.data() + part.first(),
                                             size_t{part.inputs()} + part.outputs());
    for (uint32_t value : operands) {
      const uint32_t arena = graph.buffers[graph.values[value].buffer()].arena();
      if (graph.arenas[arena].device() != index.device(at.instruction)) continue;
      arenas_[found.graph->index][arena] = true;
    }
    found.members.push_back({index.lane(at.instruction), operands.first(part.inputs()),
                             operands.subspan(part.inputs())});
  }
  AddCommunicator(found.communicator);
  found_.push_back(std::move(found));
}

void NativeCollectives::AddApart(Found found) {
  apart_ = true;
  AddCommunicator(found.communicator);
  found_.push_back(std::move(found));
}

void NativeCollectives::AddCommunicator(const std::shared_ptr<device::Communicator>& communicator) {
  const bool known =
      std::find(communicators_.begin(), communicators_.end(), communicator) != communicators_.end();
  if (!known) communicators_.push_back(communicator);
}

std::shared_ptr<device::Communicator> NativeCollectives::Of(uint32_t graph, size_t first) const {
  const auto place = [](const Found& found) { return std::pair(found.graph->index, found.first); };
  const auto at = std::lower_bound(
      found_.begin(), found_.end(), std::pair(graph, first),
      [&](const Found& found, const auto& wanted) { return place(found) < wanted; });
  return at != found_.end() && place(*at) == std::pair(graph, first) ? at->communicator : nullptr;
}

// ---- registering --------------------------------------------------------------------------------

// Layout: where the values of one communicator's collectives lie.
struct NativeCollectives::Layout {
  const Arenas& arenas;
  const plan::Placement& placement;
  std::vector<const device::Memory*> blocks;  // by rank; null: it has no value
  bool fits = true;    // in one block of memory at each rank, with a thread for each
  bool common = true;  // at the same offsets at all ranks, in all frames
  uint64_t end = 0;    // of the last value

  void Add(const Found& found) {
    blocks.resize(found.members.size(), nullptr);
    std::set<uint32_t> workers;
    for (size_t rank = 0; rank < found.members.size(); ++rank) {
      const Member& member = found.members[rank];
      const uint32_t work_queue = placement.work_queue_of_lane[member.lane];
      workers.insert(placement.worker_of_work_queue[work_queue]);
      for (const auto values : {member.inputs, member.outputs}) {
        for (uint32_t value : values) AddValue(*found.graph, rank, value);
      }
    }
    fits = fits && workers.size() == found.members.size();
    for (uint32_t rank = 0; rank < found.members.size(); ++rank) {
      const Member& member = found.members[rank];
      // A root that leaves its own output out has it at an offset of its own.
      const bool left = member.outputs.empty() && TraitsOf(found.kind).gets(rank, found.root);
      common = common && !left;
      CompareOffsets(found, member, &Member::inputs);
      CompareOffsets(found, member, &Member::outputs);
    }
  }

  void AddValue(const LoadedGraph& graph, size_t rank, uint32_t value) {
    if (graph.plan->values[value].bytes() == 0) return;
    const device::Memory* block = &arenas.BlockOf(graph.index, value);
    if (blocks[rank] == nullptr) blocks[rank] = block;
    fits = fits && block == blocks[rank] && block->kind() == device::MemoryKind::symmetric;
  }

  uint64_t Offset(const LoadedGraph& graph, uint32_t value, uint32_t frame) const {
    const auto* address = static_cast<const std::byte*>(arenas.Address(graph.index, value, frame));
    return static_cast<uint64_t>(address - arenas.BlockOf(graph.index, value).data());
  }

  // Compares where the inputs, or the outputs, of one member lie with those of all that have such.
  void CompareOffsets(const Found& found, const Member& member,
                      std::span<const uint32_t> Member::*side) {
    const LoadedGraph& graph = *found.graph;
    const std::span<const uint32_t> values = member.*side;
    for (uint32_t frame = 0; fits && frame < graph.frames.size(); ++frame) {
      for (size_t t = 0; t < values.size(); ++t) {
        const uint64_t offset = Offset(graph, values[t], frame);
        end = std::max(end, offset + graph.plan->values[values[t]].bytes());
        for (const Member& other : found.members) {
          const std::span<const uint32_t> theirs = other.*side;
          common = common && (theirs.empty() || Offset(graph, theirs[t], frame) == offset);
        }
      }
    }
  }
};

Status NativeCollectives::Register(const Arenas& arenas, const plan::Placement& placement) {
  if (!placement.merged) return Status::Ok();  // members may be issued in other orders
  for (const auto& communicator : communicators_) {
    Layout layout{arenas, placement, {}};
    for (const Found& found : found_) {
      if (found.communicator == communicator) layout.Add(found);
    }
    if (layout.blocks.empty()) continue;  // some of its members are on other machines
    uint64_t least = UINT64_MAX;
    for (const device::Memory* block : layout.blocks) {
      layout.fits = layout.fits && block != nullptr;
      if (block != nullptr) least = std::min(least, block->size());
    }
    if (!layout.fits) continue;
    const bool common = layout.common && layout.end <= least;
    CGRAPH_RETURN_IF_ERROR(communicator->Register(layout.blocks, common ? least : 0));
  }
  return Status::Ok();
}

void NativeCollectives::Deregister() {
  for (const auto& communicator : communicators_) communicator->Deregister();
  communicators_.clear();
  found_.clear();
}

void NativeCollectives::Stop() {
  for (const auto& communicator : communicators_) communicator->Stop();
}

bool NativeCollectives::Close(std::chrono::nanoseconds stall_timeout) {
  bool over = true;
  for (const auto& communicator : communicators_) over &= communicator->Close(stall_timeout);
  return over;
}

}  // namespace cgraph::engine

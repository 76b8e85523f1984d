#include "runtime/load/peers/peer_memory.h"

#include <cstring>

#include "runtime/load/communication/collectives.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/kinds.h"

namespace cgraph::engine {

// A collective that NCCL will carry out counts as well: that is not known yet.
void PeerMemory::Find(const plan::Plan& plan,
                      const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                      const RankView& view) {
  if (view.exchange == nullptr) return;
  const auto add = [&](uint32_t reader, uint32_t owner) {
    const bool apart = view.rank_of_device[reader] != view.rank_of_device[owner];
    if (!apart || !view.OnGpu(reader) || !view.OnGpu(owner)) return;
    pairs_.insert({reader, owner});
    exporters_.insert(owner);
  };
  for (const auto& loaded : graphs) {
    const plan::Graph& graph = *loaded->plan;
    plan::GraphIndex index(plan, graph);
    index.IndexMessages();
    for (const plan::Channel& channel : graph.channels) {
      if (channel.protocol() != plan::Protocol::rendezvous) continue;  // through slots
      add(plan.lanes[channel.to_lane()].device(), plan.lanes[channel.from_lane()].device());
    }
    static_cast<void>(ForEachCollective(plan, index, [&](size_t, auto parts) {
      for (const plan::CollectivePart& reader : parts) {
        for (const plan::CollectivePart& owner : parts) {
          add(index.device(reader.instruction), index.device(owner.instruction));
        }
      }
      return Status::Ok();
    }));
  }
}

Status PeerMemory::Open(const Devices& devices, std::span<const device::Memory* const> blocks,
                        const RankView& view) {
  if (view.exchange == nullptr) return Status::Ok();
  exported_.resize(devices.size());
  for (uint32_t owner : exporters_) {
    if (!view.IsHere(owner) || blocks[owner] == nullptr || blocks[owner]->size() == 0) continue;
    device::SharedMemory* const memory = devices[owner]->shared_memory();
    if (memory == nullptr) continue;
    auto exported = memory->Export(*blocks[owner]);
    if (exported.ok()) exported_[owner] = {true, *exported};
  }
  const auto all =
      view.exchange->All(std::as_bytes(std::span(exported_)), "what GPUs read of each other");
  if (!all.ok()) return all.status();
  for (uint32_t owner : exporters_) {
    if (view.IsHere(owner)) continue;
    const std::span<const std::byte> theirs = (*all)[view.rank_of_device[owner]];
    std::memcpy(&exported_[owner], theirs.data() + owner * sizeof(Exported), sizeof(Exported));
  }
  Import(devices, view);
  return Agree(devices, view);
}

void PeerMemory::Import(const Devices& devices, const RankView& view) {
  for (const auto& [reader, owner] : pairs_) {
    if (!view.IsHere(reader) || !exported_[owner].any) continue;
    device::SharedMemory* const reads = devices[reader]->shared_memory();
    if (reads == nullptr) continue;
    auto memory = reads->Import(exported_[owner].memory);
    if (memory.ok()) imported_.emplace(Pair{reader, owner}, std::move(*memory));
  }
}

// Every rank tells what its devices reach: both ends of a channel must take it for the same.
Status PeerMemory::Agree(const Devices& devices, const RankView& view) {
  const size_t count = devices.size();
  std::vector<uint8_t> own(count * count, 0);
  for (uint32_t reader = 0; reader < count; ++reader) {
    for (uint32_t owner = 0; view.IsHere(reader) && owner < count; ++owner) {
      own[reader * count + owner] = view.IsHere(owner) ? devices[reader]->Reaches(*devices[owner])
                                                       : imported_.contains({reader, owner});
    }
  }
  const auto all = view.exchange->All(std::as_bytes(std::span(own)), "what GPUs reach");
  if (!all.ok()) return all.status();
  reaches_.assign(count * count, false);
  for (size_t reader = 0; reader < count; ++reader) {
    const std::span<const std::byte> theirs = (*all)[view.rank_of_device[reader]];
    for (size_t at = reader * count; at < (reader + 1) * count; ++at) {
      reaches_[at] = theirs[at] != std::byte{0};
    }
  }
  return Status::Ok();
}

bool PeerMemory::Reaches(const Devices& devices, uint32_t reader, uint32_t owner) const {
  if (reaches_.empty()) return devices[reader]->Reaches(*devices[owner]);
  return reaches_[reader * devices.size() + owner];
}

std::byte* PeerMemory::AddressOf(uint32_t reader, uint32_t owner) const {
  const auto found = imported_.find({reader, owner});
  return found != imported_.end() ? found->second.data() : nullptr;
}

}  // namespace cgraph::engine

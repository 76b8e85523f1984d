#include "runtime/device/cuda/collectives/communicators.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/device/cuda/libraries/shared_library.h"

namespace cgraph::cuda {

bool NcclCommunicators::Allowed(const Nccl& nccl, const Key& key) const {
  const std::vector<int>& ordinals = key.second;
  const std::set<int> distinct(ordinals.begin(), ordinals.end());
  if (ordinals.size() < 2) return false;
  if (distinct.size() != ordinals.size() && !nccl.several_ranks) return false;
  if (nccl.ordered()) return true;
  // Operations of two communicators would wait for each other where two GPUs begin them in
  // different orders.
  const auto shares = [&](const Key& other) {
    return std::any_of(other.second.begin(), other.second.end(),
                       [&](int ordinal) { return distinct.contains(ordinal); });
  };
  const bool first = std::none_of(offered_.begin(), offered_.end(), shares) &&
                     std::none_of(made_.begin(), made_.end(),
                                  [&](const auto& other) { return shares(other.first); });
  if (!first && !nccl.unordered.empty()) Warn("NCCL", nccl.unordered);
  return first;
}

Result<std::shared_ptr<NcclCommunicator>> NcclCommunicators::Of(
    uint32_t number, std::vector<std::shared_ptr<Gpu>> gpus) {
  Key key{number, {}};
  for (const auto& gpu : gpus) key.second.push_back(gpu->ordinal());
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  const Result<const Nccl*> nccl = Nccl::Get();
  WarnUnused("NCCL", nccl.status());
  if (!nccl.ok() || !Allowed(**nccl, key)) return std::shared_ptr<NcclCommunicator>();
  NcclId id;
  CGRAPH_RETURN_IF_ERROR(NcclCommunicator::NewId(**nccl, id));
  return Make(**nccl, std::move(key), std::move(gpus), id);
}

Result<std::shared_ptr<NcclCommunicator>> NcclCommunicators::Make(
    const Nccl& nccl, Key key, std::vector<std::shared_ptr<Gpu>> gpus, const NcclId& id) {
  // NCCL does not say how much memory of a GPU it takes: the account has what is less free
  // afterwards.
  std::vector<uint64_t> free;
  for (const auto& gpu : gpus) free.push_back(gpu != nullptr ? gpu->account().FreeBytes() : 0);
  auto communicator = NcclCommunicator::Make(nccl, gpus, id, gives_up_);
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i] == nullptr) continue;
    MemoryAccount& account = gpus[i]->account();
    account.Add("NCCL", free[i] - std::min(account.FreeBytes(), free[i]));
  }
  if (communicator.ok()) made_.emplace(std::move(key), *communicator);
  return communicator;
}

Result<device::CommunicatorOffer> NcclCommunicators::Offer(uint32_t number,
                                                       std::span<const uint32_t> units,
                                                       bool makes_id) {
  device::CommunicatorOffer offer;
  const Result<const Nccl*> nccl = Nccl::Get();
  WarnUnused("NCCL", nccl.status());
  const Key key{number, {units.begin(), units.end()}};
  offer.joins = nccl.ok() && Allowed(**nccl, key);
  if (offer.joins) offered_.insert(key);
  if (!offer.joins || !makes_id) return offer;
  NcclId id;
  CGRAPH_RETURN_IF_ERROR(NcclCommunicator::NewId(**nccl, id));
  static_assert(sizeof id == sizeof offer.id.bytes);
  std::memcpy(offer.id.bytes.data(), &id, sizeof id);
  return offer;
}

Result<std::shared_ptr<NcclCommunicator>> NcclCommunicators::Join(
    uint32_t number, std::vector<std::shared_ptr<Gpu>> gpus, std::span<const uint32_t> units,
    const device::CommunicatorId& id) {
  const Result<const Nccl*> nccl = Nccl::Get();
  if (!nccl.ok()) return nccl.status();
  NcclId copy;
  std::memcpy(&copy, id.bytes.data(), sizeof copy);
  return Make(**nccl, {number, {units.begin(), units.end()}}, std::move(gpus), copy);
}

Status NcclCommunicators::Failure() const {
  for (const auto& [key, communicator] : made_) {
    if (communicator->aborted()) return {StatusCode::kFailed, communicator->why_aborted()};
  }
  return Status::Ok();
}

}  // namespace cgraph::cuda

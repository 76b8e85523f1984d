#include "runtime/cuda/collectives/communicators.h"

#include <algorithm>
#include <set>

#include "runtime/cuda/libraries/warnings.h"

namespace cgraph::cuda {

bool Communicators::Allowed(const Nccl& nccl, const Key& key) const {
  const std::vector<int>& ordinals = key.second;
  const std::set<int> distinct(ordinals.begin(), ordinals.end());
  if (ordinals.size() < 2) return false;
  if (distinct.size() != ordinals.size() && !nccl.several_ranks) return false;
  if (nccl.ordered()) return true;
  // Operations of two communicators would wait for each other where two GPUs begin them in
  // different orders.
  const bool first = std::none_of(made_.begin(), made_.end(), [&](const auto& other) {
    return std::any_of(other.first.second.begin(), other.first.second.end(),
                       [&](int ordinal) { return distinct.contains(ordinal); });
  });
  if (!first && !nccl.unordered.empty()) Warn("NCCL", nccl.unordered);
  return first;
}

Result<std::shared_ptr<NcclCommunicator>> Communicators::Of(
    uint32_t number, std::vector<std::shared_ptr<Gpu>> gpus) {
  Key key{number, {}};
  for (const auto& gpu : gpus) key.second.push_back(gpu->ordinal());
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  const Result<const Nccl*> nccl = Nccl::Get();
  WarnUnused("NCCL", nccl.status());
  if (!nccl.ok() || !Allowed(**nccl, key)) return std::shared_ptr<NcclCommunicator>();
  std::vector<uint64_t> free;
  for (const auto& gpu : gpus) free.push_back(gpu->FreeBytes());
  auto communicator = NcclCommunicator::Make(**nccl, gpus);
  for (size_t i = 0; i < gpus.size(); ++i) {
    gpus[i]->AddTaken("NCCL", free[i] - std::min(gpus[i]->FreeBytes(), free[i]));
  }
  if (communicator.ok()) made_.emplace(std::move(key), *communicator);
  return communicator;
}

Status Communicators::Failure() const {
  for (const auto& [key, communicator] : made_) {
    if (communicator->aborted()) return {StatusCode::kFailed, communicator->why_aborted()};
  }
  return Status::Ok();
}

}  // namespace cgraph::cuda

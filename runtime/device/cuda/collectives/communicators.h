// Communicators: those that one engine has made on its GPUs.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_COMMUNICATORS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_COMMUNICATORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/cuda/collectives/nccl_communicator.h"

namespace cgraph::cuda {

class NcclCommunicators {
 public:
  // Returns the plan's communicator `number` on these GPUs, by rank; makes it the first time. Null
  // where NCCL is not there or has none for them: two ranks on one GPU, unless the environment asks
  // for that; where NCCL keeps no order between communicators (Nccl::ordered), a second one of a
  // GPU. kFailed with NCCL's error.
  Result<std::shared_ptr<NcclCommunicator>> Of(uint32_t number,
                                               std::vector<std::shared_ptr<Gpu>> gpus);
  // The same of GPUs that several processes serve (device::Communicators). `units`: by rank, a
  // number that no other GPU has, of this machine's the ordinal. Offer says whether this process
  // would join, with an id if it `makes_id`; Join makes its communicator, in which the GPUs of
  // others are null.
  Result<device::CommunicatorOffer> Offer(uint32_t number, std::span<const uint32_t> units,
                                          bool makes_id);
  Result<std::shared_ptr<NcclCommunicator>> Join(uint32_t number,
                                                 std::vector<std::shared_ptr<Gpu>> gpus,
                                                 std::span<const uint32_t> units,
                                                 const device::CommunicatorId& id);
  // From here on what waits for other processes ends where this returns true.
  void GiveUpWhere(std::function<bool()> gives_up) { gives_up_ = std::move(gives_up); }
  // kFailed where one of them was aborted, with why.
  Status Failure() const;

 private:
  using Key = std::pair<uint32_t, std::vector<int>>;  // number, units
  bool Allowed(const Nccl& nccl, const Key& key) const;
  Result<std::shared_ptr<NcclCommunicator>> Make(const Nccl& nccl, Key key,
                                                 std::vector<std::shared_ptr<Gpu>> gpus,
                                                 const NcclId& id);

  std::function<bool()> gives_up_;
  std::set<Key> offered_;  // which this process would join
  std::map<Key, std::shared_ptr<NcclCommunicator>> made_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_COMMUNICATORS_H_

// Communicators: those that one engine has made on its GPUs.
#ifndef CGRAPH_RUNTIME_CUDA_COLLECTIVES_COMMUNICATORS_H_
#define CGRAPH_RUNTIME_CUDA_COLLECTIVES_COMMUNICATORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/collectives/nccl_communicator.h"

namespace cgraph::cuda {

class Communicators {
 public:
  // Returns the plan's communicator `number` on these GPUs, by rank; makes it the first time. Null
  // where NCCL is not there or has none for them: two ranks on one GPU, unless the environment asks
  // for that; where NCCL keeps no order between communicators (Nccl::ordered), a second one of a
  // GPU. kFailed with NCCL's error.
  Result<std::shared_ptr<NcclCommunicator>> Of(uint32_t number,
                                               std::vector<std::shared_ptr<Gpu>> gpus);
  // kFailed where one of them was aborted, with why.
  Status Failure() const;

 private:
  using Key = std::pair<uint32_t, std::vector<int>>;  // number, ordinals
  bool Allowed(const Nccl& nccl, const Key& key) const;

  std::map<Key, std::shared_ptr<NcclCommunicator>> made_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_CUDA_COLLECTIVES_COMMUNICATORS_H_

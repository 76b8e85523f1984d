// AbsentGpu: stands for a GPU that another rank serves, of this machine or of another one.
//
// All ranks prepare the same steps for a work queue, since they speak of it by the numbers of its
// steps. What those are depends on what a device is like, so this one is like a GPU; it has no
// memory but the host's that all ranks of a machine share, and nothing is issued to it.
#ifndef CGRAPH_RUNTIME_LOAD_PEERS_ABSENT_GPU_H_
#define CGRAPH_RUNTIME_LOAD_PEERS_ABSENT_GPU_H_

#include <memory>

#include "runtime/device/device.h"

namespace cgraph::engine {

// `shared`: what ranks of this machine share; null where the GPU is another machine's.
std::unique_ptr<device::Device> MakeAbsentGpu(
    std::shared_ptr<device::MemorySource> shared = nullptr);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_PEERS_ABSENT_GPU_H_

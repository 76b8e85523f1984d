// AbsentGpu: stands for a GPU of another machine, which another rank serves.
//
// All ranks prepare the same steps for a work queue, since they speak of it by the numbers of its
// steps. What those are depends on what a device is like, so this one is like a GPU; it has no
// memory, and nothing is issued to it.
#ifndef CGRAPH_RUNTIME_ENGINE_LOAD_ABSENT_GPU_H_
#define CGRAPH_RUNTIME_ENGINE_LOAD_ABSENT_GPU_H_

#include <memory>

#include "runtime/device/device.h"

namespace cgraph::engine {

std::unique_ptr<device::Device> MakeAbsentGpu();

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOAD_ABSENT_GPU_H_

// Memory of the host for tests of what lanes share, without an engine.
#ifndef CGRAPH_TESTS_SUPPORT_HOST_MEMORY_H_
#define CGRAPH_TESTS_SUPPORT_HOST_MEMORY_H_

#include <memory>

#include "runtime/device/backends.h"
#include "runtime/device/shared_heap.h"

namespace cgraph::testing {

struct HostMemory {
  plan::Plan plan;  // of one device, the caller
  std::unique_ptr<device::Backend> backend = device::MakeCpuBackend();
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::SharedHeap> heap;

  HostMemory() {
    plan.devices.push_back(std::make_unique<plan::Device>());
    device = std::move(*backend->Open(plan, 0));
    heap = std::make_unique<device::SharedHeap>(*device);
  }
};

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_HOST_MEMORY_H_

// QueueOfDevice: the deferred device with one queue, beside its host, for tests that do by hand
// what a worker does.
#ifndef CGRAPH_TESTS_SUPPORT_DEFERRED_QUEUE_OF_DEVICE_H_
#define CGRAPH_TESTS_SUPPORT_DEFERRED_QUEUE_OF_DEVICE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/backends.h"
#include "tests/support/deferred/deferred.h"

namespace cgraph::testing {

struct QueueOfDevice {
  std::unique_ptr<device::Backend> backend;
  plan::Plan plan;
  std::unique_ptr<device::Device> host, device;
  std::unique_ptr<device::Queue> queue;
  EventCount event_count;
  std::vector<device::Report> reports;

  explicit QueueOfDevice(uint64_t seed)
      : backend(MakeDeferredBackend(
            {.seed = seed, .communicates = DeferredOptions::Communicates::kAll})) {
    for (int i = 0; i < 2; ++i) plan.devices.push_back(std::make_unique<plan::Device>());
    plan.devices[1]->kind = plan::DeviceKind::gpu;
    host = std::move(*backend->Open(plan, 0));
    device = std::move(*backend->Open(plan, 1));
    queue = std::move(*device->OpenQueue({&event_count, 0, false}));
  }
};

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_DEFERRED_QUEUE_OF_DEVICE_H_

// Device: where memory lies and kernels run. The engine asks a device for the memory of its arenas
// and for prepared kernels at load, and drives its lanes through steps; nothing else of a device is
// visible to it.
//
// Every logical device of a plan, `gpu[i]` too, is served by the CPU here: the same lanes, the same
// order and the same rendezvous, in ordinary memory. Lanes are steps of a work queue (engine/work
// queue.h), events are counters (event.h).
#ifndef CGRAPH_RUNTIME_DEVICE_DEVICE_H_
#define CGRAPH_RUNTIME_DEVICE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::device {

class Device {
 public:
  virtual ~Device() = default;

  virtual Result<Memory> Allocate(uint64_t bytes, const std::string& what) = 0;
  virtual Result<std::unique_ptr<Kernel>> MakeKernel(const plan::Kernel& kernel,
                                                     std::span<const OperandType> inputs,
                                                     std::span<const OperandType> outputs) = 0;
};

// Serves one logical device of the plan. kUnsupported for a device of another machine.
Result<std::unique_ptr<Device>> OpenDevice(const plan::Plan& plan, uint32_t device);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_DEVICE_H_

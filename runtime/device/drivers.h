// Drivers: who serves a plan's devices.
//
// A driver serves the devices of one kind of machinery for one engine, and says of each device of a
// plan whether it serves it and, if not, why. The registry holds how to make each driver; an engine
// makes all of them and asks in turn, the last registered first.
#ifndef CGRAPH_RUNTIME_DEVICE_DRIVERS_H_
#define CGRAPH_RUNTIME_DEVICE_DRIVERS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::device {

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::string_view name() const = 0;
  // Ok, or the reason: "gpu[0] is on another machine".
  virtual Status Serves(const plan::Plan& plan, uint32_t device) const = 0;
  virtual Result<std::unique_ptr<Device>> Open(const plan::Plan& plan, uint32_t device) = 0;
};

class DriverRegistry {
 public:
  using Maker = std::function<std::unique_ptr<Driver>()>;

  // The process's own: the CPU's driver, and what was added.
  static DriverRegistry& Get();

  void Add(Maker maker) { makers_.push_back(std::move(maker)); }

  // A device for each of the plan. kUnsupported with every driver's reason when none serves one.
  Result<std::vector<std::unique_ptr<Device>>> OpenAll(const plan::Plan& plan) const;

 private:
  std::vector<Maker> makers_;
};

// Serves every logical device of this machine in ordinary memory, `gpu[i]` too.
std::unique_ptr<Driver> MakeCpuDriver();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_DRIVERS_H_

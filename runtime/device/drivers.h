// Drivers: open the devices of a plan.
//
// A driver serves the devices of one kind of machinery for one engine. It says of each device of a
// plan whether it serves that device and, if not, why. The registry holds a factory per driver; an
// engine makes all drivers and asks them in turn, the last registered first.
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
  // Returns Ok, or kUnsupported with the reason: "gpu[0] is on another machine".
  virtual Status Serves(const plan::Plan& plan, uint32_t device) const = 0;
  // Opens a device that this driver serves. The CPU's driver never refuses.
  virtual Result<std::unique_ptr<Device>> Open(const plan::Plan& plan, uint32_t device) = 0;
};

class DriverRegistry {
 public:
  using Maker = std::function<std::unique_ptr<Driver>()>;

  // Returns the registry of this process: the CPU's driver and those that were added.
  static DriverRegistry& Get();

  void Add(Maker maker) { makers_.push_back(std::move(maker)); }

  // Returns a device for each device of the plan. kUnsupported with every driver's reason when none
  // serves one; where one serves it and cannot open it, the status of its Open().
  Result<std::vector<std::unique_ptr<Device>>> OpenAll(const plan::Plan& plan) const;

 private:
  std::vector<Maker> makers_;
};

// Makes the driver that serves every logical device of this machine in ordinary memory, `gpu[i]`
// too.
std::unique_ptr<Driver> MakeCpuDriver();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_DRIVERS_H_

// Backends: open the devices of a plan.
//
// A backend serves the devices of one kind of machinery for one engine. It says of each device of a
// plan whether it serves that device and, if not, why. The registry holds a factory per backend; an
// engine makes all backends and asks them in turn, the last registered first.
#ifndef CGRAPH_RUNTIME_DEVICE_BACKENDS_H_
#define CGRAPH_RUNTIME_DEVICE_BACKENDS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // Returns Ok, or kUnsupported with the reason: "gpu[0] is not one of this machine's".
  virtual Status Serves(const plan::Plan& plan, uint32_t device) const = 0;
  // Opens a device that this backend serves. The CPU's backend never refuses.
  virtual Result<std::unique_ptr<Device>> Open(const plan::Plan& plan, uint32_t device) = 0;
};

class BackendRegistry {
 public:
  using Maker = std::function<std::unique_ptr<Backend>()>;

  // Returns the registry of this process: the CPU's backend and those that were added.
  static BackendRegistry& Get();

  void Add(Maker maker) { makers_.push_back(std::move(maker)); }

  // Returns a device for each device of the plan. kUnsupported with every backend's reason when
  // none serves one; where one serves it and cannot open it, the status of its Open(). `first`, if
  // any, is asked before the others.
  Result<std::vector<std::unique_ptr<Device>>> OpenAll(
      const plan::Plan& plan, std::unique_ptr<Backend> first = nullptr) const;

 private:
  std::vector<Maker> makers_;
};

// Makes the backend that serves every logical device of this machine in ordinary memory, `gpu[i]`
// too: memory of `source`, else of this process.
std::unique_ptr<Backend> MakeCpuBackend(std::shared_ptr<MemorySource> source = nullptr);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_BACKENDS_H_

// Backends: open the devices of a plan.
//
// A backend serves the devices of one kind of machinery for one engine. It says of each device of a
// plan whether it serves that device and, if not, why. The registry holds a maker per backend; an
// engine makes those that its devices may need and asks them in turn, the last registered first.
#ifndef CGRAPH_RUNTIME_DEVICE_BACKENDS_H_
#define CGRAPH_RUNTIME_DEVICE_BACKENDS_H_

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/device/gpus.h"
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

// What the backends of a process need to know that serves a plan together with others.
struct AmongProcesses {
  // That all processes of the machine share: of host devices, and of the kind pinned. Null: none.
  std::shared_ptr<MemorySource> memory;
  // Called when a device has failed as a whole, before anybody can see what has come of it.
  std::function<void(const Status&)> failed;
  // Returns whether other ranks are gone, so that a device must not wait for them any more.
  std::function<bool()> gives_up;
};

// What an engine tells the backends of its plan's devices.
struct Assignment {
  GpuMap gpus;           // of the devices that this process serves on GPUs
  AmongProcesses among;  // empty: no other process serves devices of the plan
};

// A kind of backend, as it is registered.
struct BackendKind {
  // Makes the backend of an engine; null where it has nothing to do for this one. kNotFound when
  // something must be installed, kUnsupported when this machine cannot do it.
  std::function<Result<std::unique_ptr<Backend>>(const Assignment&)> make;
  // The platform of a backend for GPUs, which lives as long as the process. The backend is made
  // only where the assignment has GPUs of this platform. Null: it is always made.
  GpuPlatform* gpus = nullptr;
};

class BackendRegistry {
 public:
  // Returns the registry of this process: the backends of the CPU and of CUDA, and those that were
  // added.
  static BackendRegistry& Get();

  // At most CallersContext::kMostPlatforms have GPUs.
  void Add(BackendKind kind);
  const std::vector<GpuPlatform*>& platforms() const { return platforms_; }

  // Returns the backends of an engine, in the order in which they are asked.
  Result<std::vector<std::unique_ptr<Backend>>> MakeAll(const Assignment& assignment) const;
  // Returns a device for each device of the plan. kUnsupported with every backend's reason when
  // none serves one; where one serves it and cannot open it, the status of its Open().
  Result<std::vector<std::unique_ptr<Device>>> OpenAll(const plan::Plan& plan,
                                                       const Assignment& assignment = {}) const;

 private:
  std::vector<BackendKind> kinds_;
  std::vector<GpuPlatform*> platforms_;
};

// Makes the backend that serves every logical device of this machine in ordinary memory, `gpu[i]`
// too: memory of `source`, else of this process.
std::unique_ptr<Backend> MakeCpuBackend(std::shared_ptr<MemorySource> source = nullptr);

// Returns the backend of NVIDIA GPUs and their platform. They open libcgraph_cuda.so when something
// asks for such GPUs (cuda_library/cuda_library.cpp).
BackendKind CudaBackends();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_BACKENDS_H_

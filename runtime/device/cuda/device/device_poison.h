// DevicePoison: the poison flags of all graphs on one device, and what looks at them and sets them
// beside kernels.
//
// Each frame has a copy of its flags in the device's memory, which the device's kernels read; the
// host's flags are the truth that other devices read. What operations check is uploaded at load,
// without the flags that nothing sets (PoisonTable).
//
// A kernel reads the device's copy of a flag that an operation of this device sets, which costs no
// way over the bus, and the host's of any other (kElsewhere). A kernel that fails sets both.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_DEVICE_POISON_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_DEVICE_POISON_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"

namespace cgraph::cuda {

// PoisonTable: the poison flags of one graph.
class PoisonTable {
 public:
  // kInvalid when there is no memory for it.
  static Result<std::unique_ptr<PoisonTable>> Make(const std::shared_ptr<Gpu>& gpu,
                                                   const device::GraphLayout& layout);

  // Returns the guard of an operation, without log and step.
  Guard GuardOf(const device::Bindings& bindings, const device::Predicate& predicate) const;
  bool MayFail(uint32_t flag) const { return may_fail_[flag]; }
  uint32_t frames() const { return frames_; }
  uint32_t steps() const { return steps_; }  // most of any program
  // Returns how many operations of this device may have failed at once, in all frames.
  uint64_t most_failures() const { return most_failures_; }

  // Clears the flags of a frame; done when it returns.
  CUresult Clear(const device::Bindings& bindings) const;
  uint8_t* FlagsOf(uint32_t frame) const {
    return reinterpret_cast<uint8_t*>(flags_.data()) + frame * stride_;
  }

 private:
  // Pool: the checks of one program. Entry i of the host's pool is entry kept_before[i] here, where
  // it is kept.
  struct Pool {
    std::span<const uint32_t> host;
    std::vector<uint32_t> kept_before;
    device::Memory kept;
  };
  explicit PoisonTable(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  std::shared_ptr<Gpu> gpu_;
  std::vector<bool> may_fail_;  // per flag
  std::vector<Pool> pools_;
  device::Memory flags_;        // of all frames
  uint64_t stride_ = 0;         // bytes from one frame's flags to the next one's
  uint32_t frames_ = 0;
  uint32_t steps_ = 0;
  uint64_t most_failures_ = 0;
};

class DevicePoison {
 public:
  // kUnsupported when the kernels of this library lack one that is needed here; else the driver's
  // error.
  static Result<std::unique_ptr<DevicePoison>> Make(std::shared_ptr<Gpu> gpu);

  Status Add(const device::GraphLayout& layout);
  uint32_t graphs() const { return static_cast<uint32_t>(graphs_.size()); }
  const PoisonTable& table(uint32_t graph) const { return *graphs_[graph]; }
  // Returns how many operations may have failed at once, in all frames of all graphs.
  uint64_t most_failures() const;

  // Returns the guard of an operation, without log and step.
  Guard GuardOf(const device::Operation& operation) const {
    return table(operation.bindings->graph).GuardOf(*operation.bindings, operation.predicate);
  }

  // Appends a copy between any memories that this GPU reaches, of as many elements as `sized` has,
  // of `width` bytes each. Nothing is written where the guard finds poison.
  CUresult Copy(CUstream stream, const Guard& guard, void* to, const void* from, const View& sized,
                uint32_t width) const;
  // Appends a grid that does nothing but look at its guard.
  CUresult Pass(CUstream stream, const Guard& guard) const;
  // Append grids for the flags that members of a collective tell each other: before it, one that
  // writes to a byte of this GPU's memory whether something is poisoned that the collective checks;
  // behind it, one that sets the collective's own flag where the byte says so.
  CUresult Show(CUstream stream, const device::Collect& collect) const;
  CUresult Take(CUstream stream, const device::Collect& collect) const;
  // Sets an operation's flag on the host now, and on the GPU where the operation would have stood.
  CUresult SetFlag(CUstream stream, const device::Operation& operation) const;

  // From here on PassPoisonOn() does something: code of others looks at flags on the host.
  void LetHostLook() { host_looks_ = true; }
  // Sets the operation's flag on the host where something that it checks is poisoned there: code of
  // others behind it is not called then.
  void PassPoisonOn(const device::Operation& operation) const;

 private:
  explicit DevicePoison(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  const std::shared_ptr<Gpu> gpu_;
  CUfunction pass_ = nullptr;
  CUfunction show_ = nullptr;
  CUfunction take_ = nullptr;
  CUfunction copy_guarded_ = nullptr;
  bool host_looks_ = false;
  std::vector<std::unique_ptr<PoisonTable>> graphs_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_DEVICE_POISON_H_

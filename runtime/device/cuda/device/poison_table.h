// PoisonTable: the poison flags of one graph on one device. Each frame has a copy of its flags in
// the device's memory, which the device's kernels read; the host's flags are the truth that other
// devices read. What operations check is uploaded at load, without the flags that nothing sets.
//
// A kernel reads the device's copy of a flag that an operation of this device sets, which costs no
// way over the bus, and the host's of any other (kElsewhere). A kernel that fails sets both.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_POISON_TABLE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_POISON_TABLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/device.h"

namespace cgraph::cuda {

class PoisonTable {
 public:
  // kInvalid when there is no memory for it.
  static Result<std::unique_ptr<PoisonTable>> Make(const std::shared_ptr<Gpu>& gpu,
                                                   const device::GraphLayout& layout);

  // Returns the guard of an operation, without log and step.
  Guard GuardOf(const device::Bindings& bindings, const device::Predicate& predicate) const;
  bool MayFail(uint32_t flag) const { return may_fail_[flag]; }
  uint32_t frames() const { return frames_; }
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
  uint64_t most_failures_ = 0;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_POISON_TABLE_H_

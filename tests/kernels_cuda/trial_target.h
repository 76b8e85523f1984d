// The device that trials launch kernels on: kernels_cuda_test has one whose grids run on the CPU
// (emulated_target.cpp), kernels_gpu_test has the first GPU of the driver (gpu_target.cpp).
#ifndef CGRAPH_TESTS_KERNELS_CUDA_TRIAL_TARGET_H_
#define CGRAPH_TESTS_KERNELS_CUDA_TRIAL_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/device/cuda/kernels/executable.h"

namespace cgraph::cuda::testing {

// The seed of the order in which threads and blocks of the next grids run, where that can be
// chosen.
void SetGridSeed(uint64_t seed);

// Fails the case that runs, with the reason, where there is no such device.
const Target& TrialTarget();

// Staging: what one launch works on, where the device finds it.
class Staging {
 public:
  virtual ~Staging() = default;
  // Returns where the device has these bytes, aligned to 256 where that is a copy.
  virtual void* Put(void* bytes, size_t size) = 0;
  // Copies what Put was given to the device. Called before the launch.
  virtual void Upload() = 0;
  // Waits for the device and copies what Put was given back to where it came from.
  virtual void Download() = 0;
};
std::unique_ptr<Staging> MakeStaging();

}  // namespace cgraph::cuda::testing

#endif  // CGRAPH_TESTS_KERNELS_CUDA_TRIAL_TARGET_H_

// Launches of kernels that work on rows.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_LAUNCH_ROWS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_LAUNCH_ROWS_H_

#include "runtime/device/cuda/kernels/division.h"
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/rows/arguments.h"

namespace cgraph::cuda {

// RowLauncher: launches kernels over the rows of a tensor along a dimension, of `operands` operands
// with these rows. How a block's threads are divided between rows is settled when the kernel is
// made.
class RowLauncher {
 public:
  RowLauncher(const Launcher& launcher, const device::OperandType& x, int dim, int operands);

  int dim() const { return dim_; }
  // `rows` has x and the operands; the rest of how they are gone through is filled in here.
  CUresult operator()(const Call& call, CUfunction function, Rows rows) const;

 private:
  Launcher launcher_;
  int dim_;
  Division division_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_LAUNCH_ROWS_H_

// RowOrder: puts the rows of a tensor in order, by as many grids as there are merges and one.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ORDER_ROW_ORDER_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ORDER_ROW_ORDER_H_

#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/order/arguments.h"

namespace cgraph::cuda {

class RowOrder {
 public:
  // The rows of `x` along `dim`, of which the first `kept` entries are asked for. `tiles` is the
  // kernel that makes entries of elements, of `entry_bytes`.
  static Result<RowOrder> Make(const Making& making, const device::OperandType& x, int dim,
                               CUfunction tiles, int64_t entry_bytes, int64_t kept);

  uint64_t scratch() const { return 2 * buffer_; }
  // Appends the grids to the stream. `ordering` has x, and whether it is descending; the rest is
  // filled in, `from` with where the entries lie, each row one run.
  CUresult operator()(const Call& call, Ordering& ordering) const;

 private:
  explicit RowOrder(const Launcher& launcher) : launcher_(launcher) {}

  Launcher launcher_;
  CUfunction tiles_ = nullptr, merge_ = nullptr;
  int dim_ = 0;
  int64_t rows_ = 0, along_ = 0, kept_ = 0;  // at their bounds
  uint64_t buffer_ = 0;                      // bytes of all entries
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ORDER_ROW_ORDER_H_

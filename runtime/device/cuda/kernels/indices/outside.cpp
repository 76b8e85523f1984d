#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {

Result<OutsideCheck> OutsideCheck::Make(const Making& making) {
  Result<CUfunction> function = making.Find("CheckIndices");
  if (!function.ok()) return function.status();
  return OutsideCheck(making.launcher, *function);
}

CUresult OutsideCheck::operator()(const Call& call, const View& indices,
                                  const Extent& limit) const {
  if (BoundOfElements(indices) == 0) return launcher_.PassPoison(call);
  return launcher_.Blocks(call, function_, 1, kThreads, indices, limit);
}

}  // namespace cgraph::cuda

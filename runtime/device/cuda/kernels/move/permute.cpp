// permute and transpose.
#include <utility>

#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/move/arguments.h"

namespace cgraph::cuda {
namespace {

ExecutableResult MakePermutation(const Making& making, const Permutation& permutation) {
  Result<CUfunction> function = making.FindByWidth("Permute", making.out().dtype);
  if (!function.ok()) return function.status();
  return ExecutableOf([launcher = making.launcher, function = *function,
                       permutation](const Call& call) {
    Permutation arguments = permutation;
    arguments.x = call.inputs[0];
    arguments.out = call.outputs[0].data;
    return launcher.Items(call, function, BoundOfElements(arguments.x), arguments);
  });
}

}  // namespace

ExecutableResult MakePermute(const Making& making) {
  const std::vector<int64_t> order = *device::IntsAttribute(making.request, "order");
  Permutation permutation;
  std::copy(order.begin(), order.end(), permutation.order);
  return MakePermutation(making, permutation);
}

ExecutableResult MakeTranspose(const Making& making) {
  Permutation permutation;
  const int rank = making.in(0).rank;
  for (int i = 0; i < rank; ++i) permutation.order[i] = i;
  std::swap(permutation.order[rank - 1], permutation.order[rank - 2]);
  return MakePermutation(making, permutation);
}

}  // namespace cgraph::cuda

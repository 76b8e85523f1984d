// take_along_dim and scatter_add: a check of the indices first.
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/indices/arguments.h"
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/order/row_order.h"

namespace cgraph::cuda {
namespace {

ExecutableOptions AlongOptions(const char* op, uint64_t scratch) {
  return {.scratch = scratch, .error_text = [op](const Failure& failure) {
            return device::NotAlongText(op, failure.numbers[0], failure.numbers[1],
                                        failure.numbers[2]);
          }};
}

}  // namespace

ExecutableResult MakeTakeAlongDim(const Making& making) {
  Result<OutsideCheck> check = OutsideCheck::Make(making);
  if (!check.ok()) return check.status();
  Result<CUfunction> function = making.FindByWidth("TakeAlong", making.out().dtype);
  if (!function.ok()) return function.status();
  const int dim = *device::DimAttribute(making.request, "dim", making.in(0));
  const auto launch = [launcher = making.launcher, check = *check, function = *function,
                       dim](const Call& call) {
    Taking taking;
    taking.x = call.inputs[0];
    taking.index = call.inputs[1];
    taking.out = call.outputs[0].data;
    taking.dim = dim;
    const CUresult result = check(call, taking.index, taking.x.dims[dim]);
    if (result != CUDA_SUCCESS) return result;
    return launcher.Items(Checked(call), function, BoundOfElements(taking.index), taking);
  };
  return ExecutableOf(launch, AlongOptions("take_along_dim", 0));
}

ExecutableResult MakeScatterAdd(const Making& making) {
  Result<OutsideCheck> check = OutsideCheck::Make(making);
  if (!check.ok()) return check.status();
  Result<CUfunction> tiles = making.Find("OrderIndexTiles");
  if (!tiles.ok()) return tiles.status();
  Result<CUfunction> add = making.Find("AddAlong", making.out().dtype);
  if (!add.ok()) return add.status();
  const int dim = *device::DimAttribute(making.request, "dim", making.in(0));
  const device::OperandType& index = making.in(1);
  constexpr int64_t kEntryBytes = 8;
  Result<RowOrder> order = RowOrder::Make(making, index, dim, *tiles, kEntryBytes, index.dims[dim]);
  if (!order.ok()) return order.status();
  const auto launch = [launcher = making.launcher, check = *check, order = *order, add = *add,
                       dim](const Call& call) {
    Adding adding;
    adding.order.x = call.inputs[1];
    adding.x = call.inputs[0];
    adding.source = call.inputs[2].data;
    adding.out = call.outputs[0].data;
    CUresult result = check(call, adding.order.x, adding.x.dims[dim]);
    const Call checked = Checked(call);
    if (result == CUDA_SUCCESS) result = order(checked, adding.order);
    if (result != CUDA_SUCCESS) return result;
    return launcher.Items(checked, add, BoundOfElements(adding.x), adding);
  };
  return ExecutableOf(launch, AlongOptions("scatter_add", order->scratch()));
}

}  // namespace cgraph::cuda

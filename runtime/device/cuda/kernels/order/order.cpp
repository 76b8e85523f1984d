// sort and topk.
#include <algorithm>
#include <bit>

#include "runtime/device/cuda/kernels/order/row_order.h"

namespace cgraph::cuda {
namespace {

int64_t EntryBytesOf(DType dtype) { return plan::DTypeBytes(dtype) == 8 ? 16 : 8; }

ExecutableResult MakeOrdered(const Making& making, int dim, bool descending) {
  const device::OperandType& x = making.in(0);
  Result<CUfunction> tiles = making.Find("OrderTiles", x.dtype);
  if (!tiles.ok()) return tiles.status();
  Result<CUfunction> write = making.FindByWidth("WriteOrdered", x.dtype);
  if (!write.ok()) return write.status();
  Result<RowOrder> order =
      RowOrder::Make(making, x, dim, *tiles, EntryBytesOf(x.dtype), making.out().dims[dim]);
  if (!order.ok()) return order.status();
  const auto launch = [launcher = making.launcher, order = *order, write = *write,
                       descending](const Call& call) {
    Ordering ordering;
    ordering.x = call.inputs[0];
    ordering.descending = descending;
    const CUresult result = order(call, ordering);
    if (result != CUDA_SUCCESS) return result;
    return launcher.Items(call, write, BoundOfElements(call.outputs[0]), ordering,
                          call.outputs[0].data, call.outputs[1].data);
  };
  return ExecutableOf(launch, {.scratch = order->scratch(), .error_text = {}});
}

}  // namespace

Result<RowOrder> RowOrder::Make(const Making& making, const device::OperandType& x, int dim,
                                CUfunction tiles, int64_t entry_bytes, int64_t kept) {
  Result<CUfunction> merge = making.Find(entry_bytes == 8 ? "MergeShortRuns" : "MergeLongRuns");
  if (!merge.ok()) return merge.status();
  RowOrder order(making.launcher);
  order.tiles_ = tiles;
  order.merge_ = *merge;
  order.dim_ = dim;
  const RowShape shape = RowsOf(BoundsOf(x), dim);
  order.rows_ = shape.rows;
  order.along_ = shape.along;
  order.kept_ = kept;
  const auto bytes = static_cast<uint64_t>(shape.rows * shape.along * entry_bytes);
  order.buffer_ = AlignScratch(bytes);
  return order;
}

CUresult RowOrder::operator()(const Call& call, Ordering& ordering) const {
  void* buffers[] = {call.scratch, static_cast<char*>(call.scratch) + buffer_};
  ordering.dim = dim_;
  ordering.stride = along_;
  ordering.kept = kept_;
  ordering.run = std::min<int64_t>(
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(along_, 1)))),
      kOrderTile);
  ordering.to = buffers[0];
  const int64_t each = kOrderTile / ordering.run;  // runs that a block makes at once
  const int64_t runs = rows_ * ((along_ + ordering.run - 1) / ordering.run);
  CUresult result = launcher_.Blocks(
      call, tiles_, std::min((runs + each - 1) / each, launcher_.most()), kThreads, ordering);
  int64_t in = 0;
  ordering.from = buffers[in];
  for (; result == CUDA_SUCCESS && ordering.run < along_; ordering.run *= 2) {
    ordering.to = buffers[1 - in];
    const int64_t count = (along_ + ordering.run - 1) / ordering.run;
    result = launcher_.Items(call, merge_, rows_ * count * std::min(ordering.run, kept_), ordering);
    in = 1 - in;
    ordering.from = buffers[in];
  }
  return result;
}

ExecutableResult MakeSort(const Making& making) {
  return MakeOrdered(making, *device::DimAttribute(making.request, "dim", making.in(0)),
                     *device::BoolAttribute(making.request, "descending"));
}

ExecutableResult MakeTopk(const Making& making) {
  return MakeOrdered(making, *device::DimAttribute(making.request, "dim", making.in(0)),
                     *device::BoolAttribute(making.request, "largest"));
}

}  // namespace cgraph::cuda

// sort and topk along a dimension: the elements in order, and where each was.
#include <algorithm>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/order/entry.h"
#include "runtime/device/cpu/kernels/order/radix_sort.h"
#include "runtime/device/cpu/kernels/workspace.h"

namespace cgraph::device {
namespace {

// Gives the first elements of each column in order, as many as the result has.
template <typename T>
class OrderKernel final : public Kernel {
 public:
  OrderKernel(const OperandType& x, int dim, bool descending, bool sorts)
      : dim_(dim), descending_(descending), entries_(static_cast<size_t>(x.dims[dim])) {
    if (sorts) room_.resize(entries_.size());
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    const Tensor& x = inputs[0];
    const Columns columns = ColumnsOf(x, dim_);
    const int64_t inner = columns.inner;
    const int64_t kept = std::min(outputs[0].dims[dim_], columns.along);
    for (int64_t o = 0; o < columns.outer; ++o) {
      for (int64_t j = 0; j < inner; ++j) {
        const T* from = x.as<T>() + o * columns.along * inner + j;
        Order(from, columns.along, inner, kept);
        const int64_t to = o * kept * inner + j;
        for (int64_t i = 0; i < kept; ++i) {
          const int64_t position = entries_[static_cast<size_t>(i)].position();
          outputs[0].as<T>()[to + i * inner] = from[position * inner];
          outputs[1].as<int64_t>()[to + i * inner] = position;
        }
      }
    }
    return true;
  }

 private:
  void Order(const T* x, int64_t count, int64_t stride, int64_t kept) {
    for (int64_t i = 0; i < count; ++i) {
      entries_[static_cast<size_t>(i)] = EntryFor(x[i * stride], i, descending_);
    }
    EntryOf<T>* first = entries_.data();
    if (kept < count) std::nth_element(first, first + kept, first + count);
    if (kept == count && count >= RadixSort<EntryOf<T>>::kLeast) {
      RadixSort<EntryOf<T>>::Run(first, room_.data(), count);
    } else {
      std::sort(first, first + kept);
    }
  }

  int dim_;
  bool descending_;
  Workspace<EntryOf<T>> entries_, room_;
};

KernelResult MakeOrder(const Request& request, int dim, bool descending) {
  const OperandType& x = request.inputs[0];
  if (request.outputs[0].dtype != x.dtype || request.outputs[1].dtype != DType::i64) {
    return Invalid(request, "its results are elements of its operand, and i64");
  }
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.outputs[0], request.outputs[1]));
  if (!Contains(DTypes::kNumber, x.dtype)) return NoKernel(request);
  CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, x, dim));
  std::unique_ptr<Kernel> kernel;
  WithType(x.dtype, [&](auto zero) {
    const bool all = request.outputs[0].dims[dim] == x.dims[dim];
    kernel = std::make_unique<OrderKernel<decltype(zero)>>(x, dim, descending, all);
  });
  return kernel;
}

}  // namespace

KernelResult MakeSort(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 2));
  Result<int> dim = DimAttribute(request, "dim", request.inputs[0]);
  if (!dim.ok()) return dim.status();
  Result<bool> descending = BoolAttribute(request, "descending");
  if (!descending.ok()) return descending.status();
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  return MakeOrder(request, *dim, *descending);
}

KernelResult MakeTopk(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 2));
  OperandType x = request.inputs[0];
  Result<int> dim = DimAttribute(request, "dim", x);
  if (!dim.ok()) return dim.status();
  Result<bool> largest = BoolAttribute(request, "largest");
  if (!largest.ok()) return largest.status();
  Result<int64_t> k = IntAttribute(request, "k");
  if (!k.ok()) return k.status();
  if (x.dynamic[*dim] || *k < 0 || *k > x.dims[*dim]) {
    return Invalid(request, TypeText(x) + " may have fewer elements than are asked for");
  }
  x.dims[*dim] = *k;
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, x, request.outputs[0]));
  return MakeOrder(request, *dim, *largest);
}

}  // namespace cgraph::device

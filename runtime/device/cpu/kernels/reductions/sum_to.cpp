// sum_to: the sum over the dimensions that broadcasting added or stretched, which is the gradient
// of broadcasting.
//
// Dimensions are kept or summed; neighbours of one kind are merged. Where the innermost is kept,
// columns are summed side by side, else rows.
#include <algorithm>
#include <cstring>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/reductions/reductions.h"

namespace cgraph::device {
namespace {

// Counts through dimensions, innermost first, and says how far each position is from the first.
class Odometer {
 public:
  void Append(int64_t extent, int64_t x, int64_t out) {
    extents_[rank_] = extent, x_[rank_] = x, out_[rank_] = out;
    ++rank_;
  }
  // Goes to the next position; false, and back at the first, when there is none.
  bool Next() {
    for (int i = 0; i < rank_; ++i) {
      x += x_[i], out += out_[i];
      if (++index_[i] < extents_[i]) return true;
      x -= extents_[i] * x_[i], out -= extents_[i] * out_[i];
      index_[i] = 0;
    }
    return false;
  }
  int64_t x = 0, out = 0;

 private:
  int rank_ = 0;
  int64_t extents_[kMaxRank], x_[kMaxRank], out_[kMaxRank], index_[kMaxRank] = {};
};

// The dimensions of x: the innermost stands apart from the others. Where it is kept, so does the
// next, `along` which columns are summed.
struct Plan {
  Odometer kept, summed;
  int64_t inner = 1, along = 1;
  bool inner_kept = true;

  Plan(const Tensor& x, const Tensor& out) {
    int64_t x_stride = 1, out_stride = 1, extent = 1, first_x = 1, first_out = 1;
    bool kept_now = true, any = false;
    int groups = 0;
    const auto end_group = [&] {
      if (!any) return;
      if (groups == 0) inner = extent, inner_kept = kept_now;
      else if (groups == 1 && inner_kept) along = extent;
      else if (kept_now) kept.Append(extent, first_x, first_out);
      else summed.Append(extent, first_x, 0);
      ++groups;
    };
    for (int i = 1; i <= x.rank; ++i) {
      const int64_t size = x.dims[x.rank - i];
      if (size == 1) continue;
      const bool keeps = i <= out.rank && out.dims[out.rank - i] == size;
      if (!any || keeps != kept_now) {
        end_group();
        any = true, kept_now = keeps, extent = 1, first_x = x_stride, first_out = out_stride;
      }
      extent *= size;
      x_stride *= size;
      if (keeps) out_stride *= size;
    }
    end_group();
  }
};

template <typename T>
void SumTo(const Tensor& x, const Tensor& out) {
  if (x.elements() == 0) {
    std::memset(out.data, 0, out.bytes());
    return;
  }
  Plan plan(x, out);
  using Reducer = ElementReducer<T, Adding>;
  Reducer reducer;
  Sum<T> sums[Reducer::kColumns];
  do {
    const T* from = x.as<T>() + plan.kept.x;
    T* to = out.as<T>() + plan.kept.out;
    if (!plan.inner_kept) {
      Sum<T> sum = 0;
      do sum = Add::Of(sum, reducer.Row(from + plan.summed.x, plan.inner));
      while (plan.summed.Next());
      *to = static_cast<T>(sum);
      continue;
    }
    for (int64_t first = 0; first < plan.inner; first += Reducer::kColumns) {
      const int64_t count = std::min(Reducer::kColumns, plan.inner - first);
      std::fill_n(sums, count, Sum<T>(0));
      do reducer.Columns(from + plan.summed.x + first, plan.along, plan.inner, count, sums);
      while (plan.summed.Next());
      for (int64_t j = 0; j < count; ++j) to[first + j] = static_cast<T>(sums[j]);
    }
  } while (plan.kept.Next());
}

}  // namespace

KernelResult MakeSumTo(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcast(request, request.outputs[0], request.inputs[0]));
  if (!Contains(DTypes::kNumber, request.outputs[0].dtype)) return NoKernel(request);
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    kernel = KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
      SumTo<decltype(zero)>(in[0], out[0]);
    });
  });
  return kernel;
}

}  // namespace cgraph::device

// Kernels that give elements another shape or order: reshape, transpose, permute, expand, concat,
// split.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/elementwise/walk.h"
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

// ---- permutations -------------------------------------------------------------------------------

// A result in row-major order, read with these strides: dimension 0 is the innermost. Neighbouring
// dimensions that can be read as one are merged; dimensions of extent 1 are dropped.
struct Strided {
  int rank = 0;
  int64_t extents[kMaxRank], from[kMaxRank], to[kMaxRank];

  Strided(const Tensor& x, const int* order) {
    int64_t strides[kMaxRank], size = 1;
    for (int i = x.rank - 1; i >= 0; --i) {
      strides[i] = size;
      size *= x.dims[i];
    }
    size = 1;
    for (int i = x.rank - 1; i >= 0; --i) {
      const int64_t extent = x.dims[order[i]], stride = strides[order[i]];
      if (extent == 1) continue;
      if (rank > 0 && stride == from[rank - 1] * extents[rank - 1]) {
        extents[rank - 1] *= extent;
      } else {
        extents[rank] = extent, from[rank] = stride, to[rank] = size;
        ++rank;
      }
      size *= extent;
    }
    if (rank == 0) extents[0] = from[0] = to[0] = 1, rank = 1;
  }
};

// Copies one plane: rows of the result, each read with a stride, in square blocks that stay in the
// cache; or whole rows, where their elements are neighbours.
template <typename T>
void CopyPlane(const T* x, T* out, int64_t rows, int64_t row_stride_in, int64_t row_stride_out,
               int64_t columns, int64_t column_stride_in) {
  if (column_stride_in == 1) {
    for (int64_t r = 0; r < rows; ++r) {
      CopyBytes(out + r * row_stride_out, x + r * row_stride_in,
                columns * static_cast<int64_t>(sizeof(T)));
    }
    return;
  }
  constexpr int64_t kEdge = 32;
  for (int64_t r = 0; r < rows; r += kEdge) {
    for (int64_t c = 0; c < columns; c += kEdge) {
      const int64_t r_end = std::min(rows, r + kEdge), c_end = std::min(columns, c + kEdge);
      for (int64_t i = r; i < r_end; ++i) {
        for (int64_t j = c; j < c_end; ++j) {
          out[i * row_stride_out + j] = x[i * row_stride_in + j * column_stride_in];
        }
      }
    }
  }
}

template <typename T>
void Permute(const Tensor& x, const int* order, const Tensor& out) {
  if (out.elements() == 0) return;
  const Strided s(x, order);
  // The plane's rows go along the dimension whose elements lie closest in x, where there is another
  // one.
  int row = 1;
  for (int i = 1; i < s.rank; ++i) {
    if (s.from[i] < s.from[row]) row = i;
  }
  const bool has_row = s.rank > 1;
  int64_t index[kMaxRank] = {}, from = 0, to = 0;
  for (;;) {
    CopyPlane(x.as<T>() + from, out.as<T>() + to, has_row ? s.extents[row] : 1,
              has_row ? s.from[row] : 0, has_row ? s.to[row] : 0, s.extents[0], s.from[0]);
    int i = 1;
    for (; i < s.rank; ++i) {
      if (i == row) continue;
      from += s.from[i], to += s.to[i];
      if (++index[i] < s.extents[i]) break;
      from -= s.extents[i] * s.from[i], to -= s.extents[i] * s.to[i];
      index[i] = 0;
    }
    if (i >= s.rank) return;
  }
}

// The result's dimension i is the operand's order[i].
KernelResult MakePermutation(const Request& request, const std::vector<int64_t>& order) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  const OperandType& x = request.inputs[0];
  OperandType result = x;
  std::vector<bool> used(x.rank);
  bool fits = order.size() == x.rank;
  for (size_t i = 0; fits && i < order.size(); ++i) {
    fits = order[i] >= 0 && order[i] < x.rank && !used[static_cast<size_t>(order[i])];
    if (!fits) break;
    used[static_cast<size_t>(order[i])] = true;
    result.dims[i] = x.dims[order[i]];
    result.dynamic[i] = x.dynamic[order[i]];
  }
  if (!fits) return Invalid(request, fmt::format("[{}] is no order of the dimensions of {}",
                                                 fmt::join(order, ", "), TypeText(x)));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, result, request.outputs[0]));
  struct Order { int of[kMaxRank]; } fixed = {};
  std::copy(order.begin(), order.end(), fixed.of);
  const auto kernel_of = [&](auto zero) {
    return KernelOf([fixed](std::span<const Tensor> in, std::span<const Tensor> out) {
      Permute<decltype(zero)>(in[0], fixed.of, out[0]);
    });
  };
  switch (plan::DTypeBytes(x.dtype)) {
    case 1: return KernelResult(kernel_of(uint8_t{}));
    case 2: return KernelResult(kernel_of(uint16_t{}));
    case 4: return KernelResult(kernel_of(uint32_t{}));
    default: return KernelResult(kernel_of(uint64_t{}));
  }
}

// ---- expand -------------------------------------------------------------------------------------

// Writes `count` elements of `width` bytes, all equal to the first: the filled part is doubled
// until all are there.
void Repeat(const char* element, int64_t width, char* out, int64_t count) {
  CopyBytes(out, element, width);
  for (int64_t done = 1; done < count; done *= 2) {
    CopyBytes(out + done * width, out, std::min(done, count - done) * width);
  }
}

void Expand(const Tensor& x, const Tensor& out) {
  if (out.elements() == 0 || x.elements() == 0) return;
  const Walk walk({&x, 1}, out);
  const int64_t width = plan::DTypeBytes(x.dtype);
  const char* in = x.as<char>();
  walk.ForEachRow(&in, &width, out.as<char>(), width, [&](const char* const* at, char* to) {
    if (walk.strides[0][0] == 0) Repeat(at[0], width, to, walk.extents[0]);
    else CopyBytes(to, at[0], walk.extents[0] * width);
  });
}

// ---- concat and split ---------------------------------------------------------------------------

// Returns whether `part` has the dimensions of `whole` except for its extent along `dim`, which is
// static.
bool IsPart(const OperandType& part, const OperandType& whole, int dim) {
  if (part.rank != whole.rank || part.dtype != whole.dtype || part.dynamic[dim]) return false;
  for (int i = 0; i < whole.rank; ++i) {
    if (i != dim && !SameDim(part, i, whole, i)) return false;
  }
  return true;
}

// Checks that `parts` make up `whole` along the attribute `dim`, and returns that dimension.
Result<int> CheckParts(const Request& request, std::span<const OperandType> parts,
                       const OperandType& whole) {
  Result<int> dim = DimAttribute(request, "dim", whole);
  if (!dim.ok()) return dim;
  int64_t sum = 0;
  bool fits = !whole.dynamic[*dim];
  for (const OperandType& part : parts) {
    fits = fits && IsPart(part, whole, *dim) &&
           !__builtin_add_overflow(sum, part.dims[*dim], &sum);
  }
  if (fits && sum == whole.dims[*dim]) return dim;
  return Invalid(request, fmt::format("{} operands, the first {}, are not the parts of {} along "
                                      "dimension {}", parts.size(),
                                      parts.empty() ? "nothing" : TypeText(parts[0]),
                                      TypeText(whole), *dim));
}

// Copies each part to or from its place in the whole.
template <bool into_parts>
void CopyParts(std::span<const Tensor> parts, const Tensor& whole, int dim) {
  const int64_t outer = Product(whole, 0, dim);
  const int64_t inner = Product(whole, dim + 1, whole.rank) * plan::DTypeBytes(whole.dtype);
  const int64_t stride = whole.dims[dim] * inner;
  char* at = whole.as<char>();
  for (const Tensor& part : parts) {
    const int64_t run = part.dims[dim] * inner;
    for (int64_t o = 0; o < outer; ++o) {
      char* there = at + o * stride;
      char* here = part.as<char>() + o * run;
      CopyBytes(into_parts ? here : there, into_parts ? there : here, run);
    }
    at += run;
  }
}

}  // namespace

// The numbers of elements are compared at the bounds here, and at their actual extents when the
// kernel runs.
KernelResult MakeReshape(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out, std::string& error) {
    if (in[0].elements() != out[0].elements()) {
      error = ReshapeText(in[0].elements(), out[0].elements());
      return false;
    }
    CopyBytes(out[0].data, in[0].data, in[0].bytes());
    return true;
  });
}

KernelResult MakePermute(const Request& request) {
  Result<std::vector<int64_t>> order = IntsAttribute(request, "order");
  if (!order.ok()) return order.status();
  return MakePermutation(request, *order);
}

KernelResult MakeTranspose(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  const int64_t rank = request.inputs[0].rank;
  if (rank < 2) return Invalid(request, "it exchanges the last two dimensions");
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return MakePermutation(request, order);
}

KernelResult MakeExpand(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcast(request, request.inputs[0], request.outputs[0]));
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
    Expand(in[0], out[0]);
  });
}

KernelResult MakeConcat(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, request.inputs.size(), 1));
  Result<int> dim = CheckParts(request, request.inputs, request.outputs[0]);
  if (!dim.ok()) return dim.status();
  return KernelOf([dim = *dim](std::span<const Tensor> in, std::span<const Tensor> out) {
    CopyParts<false>(in, out[0], dim);
  });
}

KernelResult MakeSplit(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, request.outputs.size()));
  Result<int> dim = CheckParts(request, request.outputs, request.inputs[0]);
  if (!dim.ok()) return dim.status();
  return KernelOf([dim = *dim](std::span<const Tensor> in, std::span<const Tensor> out) {
    CopyParts<true>(out, in[0], dim);
  });
}

}  // namespace cgraph::device

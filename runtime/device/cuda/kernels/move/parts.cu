// Kernels that copy parts of tensors: parts along a dimension, a span of a dimension, a box.
#include "runtime/device/cpu/kernels/rules.h"
#include "runtime/device/cuda/kernels/move/arguments.h"
#include "runtime/device/cuda/kernels/move/copy_runs.h"

namespace cgraph::cuda {

KERNEL(MoveParts, (Guard guard, const __grid_constant__ Parts parts)) {
  if (!Enter(guard)) return;
  const Dims whole = DimsOf(parts.whole);
  const int64_t outer = whole.Product(0, parts.dim);
  const int64_t inner = whole.Product(parts.dim + 1, whole.rank) * parts.width;
  const int64_t stride = whole.of[parts.dim] * inner;
  for (int p = 0; p < parts.count; ++p) {
    const Parts::Part& part = parts.part[p];
    char* at = static_cast<char*>(parts.whole.data) + part.first * inner;
    char* data = static_cast<char*>(part.data);
    const int64_t run = part.extent * inner;
    if (parts.into_parts) CopyRuns({at, stride, data, run, outer, run});
    else CopyRuns({data, run, at, stride, outer, run});
  }
}

// Returns a length as the program asks for it, whatever it is.
__device__ int64_t AskedOf(const Extent& length) {
  return length.where != nullptr ? *length.where : length.number;
}

// Finds the first span that does not lie in its dimension.
KERNEL(CheckSpans, (Guard guard, Spans spans)) {
  if (!Enter(guard)) return;
  for (int i = 0; i < spans.count; ++i) {
    const int64_t from = *spans.span[i].from;
    const int64_t length = AskedOf(spans.span[i].length);
    const int64_t extent = ExtentOf(spans.span[i].extent);
    if (device::IsWithin(from, length, extent)) continue;
    return Fail(guard, kOutside, from, length, extent);
  }
  if (!spans.has_result) return;
  const int64_t length = AskedOf(spans.span[0].length), result = ExtentOf(spans.result);
  if (length != result) Fail(guard, kOtherResult, length, result);
}

// Copies the elements of x from *from on along a dimension, as many as the result has there.
KERNEL(Slice, (Guard guard, View x, const int64_t* from, View out, int64_t dim, int64_t width)) {
  if (!Enter(guard)) return;
  const Dims dims = DimsOf(x);
  const auto d = static_cast<int>(dim);
  const int64_t inner = dims.Product(d + 1, dims.rank) * width;
  const int64_t run = ExtentOf(out.dims[d]) * inner;
  CopyRuns({static_cast<const char*>(x.data) + *from * inner, dims.of[d] * inner,
            static_cast<char*>(out.data), run, dims.Product(0, d), run});
}

// The box as runs: those of its dimensions that are covered as a whole are one run with the
// dimension before them, `last`.
struct BoxRuns {
  Dims into, part;
  int32_t last;
  int64_t bytes, count;
  int64_t first;  // of all runs, in bytes from the result's begin, but for the dimensions before
  int64_t at[kMaxRank];
};
__device__ inline void MakeBoxRuns(const Box& box, BoxRuns& runs) {
  runs.into = DimsOf(box.into);
  runs.part = DimsOf(box.part);
  const int rank = runs.into.rank;
  int last = rank - 1;
  while (last > 0 && runs.part.of[last] == runs.into.of[last]) --last;
  runs.last = last;
  runs.bytes = box.width;
  runs.count = 1;
  runs.first = 0;
  if (rank == 0) return;
  for (int i = 0; i < rank; ++i) runs.at[i] = *box.at[i];
  runs.bytes = runs.part.Product(last, rank) * box.width;
  runs.count = runs.part.Product(0, last);
  runs.first = runs.at[last] * runs.into.Product(last + 1, rank) * box.width;
}

template <int width>
__device__ void CopyBoxBy(const Box& box, const BoxRuns& runs) {
  using Word = Words<width>;
  const int64_t words = runs.bytes / width;
  for (int64_t i = GridThread(); i < runs.count * words; i += GridThreads()) {
    const Quotient place = Divided(i, words);
    int64_t offset = runs.first, rest = place.whole;
    int64_t stride = runs.into.Product(runs.last < 0 ? 0 : runs.last, runs.into.rank) * box.width;
    CGRAPH_KEEP_LOOP for (int d = runs.last - 1; d >= 0; --d) {
      const Quotient index = Divided(rest, runs.part.of[d]);
      offset += (runs.at[d] + index.rest) * stride;
      rest = index.whole;
      stride *= runs.into.of[d];
    }
    reinterpret_cast<Word*>(static_cast<char*>(box.out) + offset)[place.rest] =
        static_cast<const Word*>(box.part.data)[i];
  }
}

// Writes the part over the box of the result, which has the operand's elements elsewhere.
KERNEL(WriteBox, (Guard guard, const __grid_constant__ Box box)) {
  if (!Enter(guard)) return;
  __shared__ BoxRuns runs;
  if (threadIdx.x == 0) MakeBoxRuns(box, runs);
  __syncthreads();
  if (runs.bytes == 0 || runs.count == 0) return;
  const int last = runs.last < 0 ? 0 : runs.last;
  const auto stride =
      static_cast<uint64_t>(runs.into.Product(last, runs.into.rank) * box.width);
  const int width = WordWidth(reinterpret_cast<uintptr_t>(box.out) |
                              reinterpret_cast<uintptr_t>(box.part.data) | stride |
                              static_cast<uint64_t>(runs.bytes) |
                              static_cast<uint64_t>(runs.first));
  switch (width) {
    case 16: return CopyBoxBy<16>(box, runs);
    case 8: return CopyBoxBy<8>(box, runs);
    case 4: return CopyBoxBy<4>(box, runs);
    case 2: return CopyBoxBy<2>(box, runs);
    default: return CopyBoxBy<1>(box, runs);
  }
}

// Writes a row, of so many bytes an element, as row *at of a tensor.
KERNEL(WriteRow, (Guard guard, View row, const int64_t* at, void* out, int64_t width)) {
  if (!Enter(guard)) return;
  const int64_t bytes = ElementsOf(row) * width;
  CopyRuns({static_cast<const char*>(row.data), bytes, static_cast<char*>(out) + *at * bytes,
            bytes, 1, bytes});
}

// Finds that two extents differ.
KERNEL(CheckSame, (Guard guard, Extent a, Extent b)) {
  if (!Enter(guard)) return;
  if (ExtentOf(a) != ExtentOf(b)) Fail(guard, 0, ExtentOf(a), ExtentOf(b));
}

}  // namespace cgraph::cuda

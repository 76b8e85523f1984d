// Reductions over the members of a collective, element by element in the order of the members as on
// the CPU, so that results have the same bits; copies of parts; the size of a part.
#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/collective/arguments.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/move/copy_runs.h"

namespace cgraph::cuda {

template <typename T, typename Operation, bool average>
__device__ void ReduceAcross(const Across& across) {
  using C = Compute<T>;
  const int64_t count = ExtentOf(across.elements), first = across.rank * count;
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    C sum = Widened(static_cast<const T*>(across.from[0])[first + i]);
    for (int64_t member = 1; member < across.members; ++member) {
      sum = Operation::Of(sum, C(Widened(static_cast<const T*>(across.from[member])[first + i])));
    }
    if constexpr (average) sum = sum / static_cast<C>(across.members);
    static_cast<T*>(across.out)[i] = Stored<T>(sum);
  }
}

#define ACROSS_KERNEL(dtype, type, name, operation, average)                              \
  KERNEL(name##_##dtype, (Guard guard, const __grid_constant__ Across across)) {          \
    if (Enter(guard)) ReduceAcross<type, device::operation, average>(across);             \
  }
FOR_kNumber(ACROSS_KERNEL, AcrossSum, Add, false)
FOR_kNumber(ACROSS_KERNEL, AcrossProd, Multiply, false)
FOR_kNumber(ACROSS_KERNEL, AcrossMin, Minimum, false)
FOR_kNumber(ACROSS_KERNEL, AcrossMax, Maximum, false)
FOR_kFloat(ACROSS_KERNEL, AcrossAvg, Add, true)

KERNEL(CopyPart, (Guard guard, PartCopy copy)) {
  if (!Enter(guard)) return;
  const int64_t bytes = ExtentOf(copy.elements) * copy.width;
  CopyRuns({static_cast<const char*>(copy.from) + copy.from_part * bytes, bytes,
            static_cast<char*>(copy.to) + copy.to_part * bytes, bytes, 1, bytes});
}

// Makes *least the elements of a part, where each tensor of `x` that comes along has room for
// `parts` of them.
KERNEL(FindPart, (Guard guard, View x, int64_t parts, int64_t* least, int64_t begins)) {
  if (!Enter(guard)) return;
  const int64_t elements = ElementsOf(x) / parts;
  if (begins != 0 || elements < *least) *least = elements;
}

}  // namespace cgraph::cuda

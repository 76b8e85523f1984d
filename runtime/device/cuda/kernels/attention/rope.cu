// rope: a thread turns one pair at a time, by an angle that it makes as the CPU does.
#include "runtime/device/cpu/kernels/attention/rotation.h"
#include "runtime/device/cuda/kernels/attention/arguments.h"
#include "runtime/device/cuda/kernels/device_numbers.h"

namespace cgraph::cuda {

// Returns which position of rows [.., n] goes with batch element `batch` of x.
__device__ inline int64_t PositionOf(const Rope& rope, const Dims& x, int64_t batch, int64_t row) {
  const View& at = rope.positions;
  const int own = rope.listed ? 1 : 0;
  int64_t index = 0, size = 1;
  CGRAPH_KEEP_LOOP for (int d = 1; d <= at.rank - own; ++d) {
    const int64_t extent = ExtentOf(at.dims[at.rank - own - d]);
    const int64_t step = x.of[x.rank - 3 - d];
    if (extent != 1) index += batch % step * size;
    size *= extent;
    batch /= step;
  }
  const auto* positions = static_cast<const int64_t*>(at.data);
  return rope.listed ? positions[index * x.of[x.rank - 2] + row] : positions[index] + row;
}

template <typename T>
__device__ void TurnPairs(const Rope& rope) {
  using C = Compute<T>;
  const Dims x = DimsOf(rope.x);
  const int64_t e = x.of[x.rank - 1], n = x.of[x.rank - 2], heads = x.of[x.rank - 3];
  const int64_t pairs = e / 2, count = x.elements() / 2;
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    const int64_t pair = i % pairs, row = i / pairs;
    const int64_t position = PositionOf(rope, x, row / (n * heads), row % n);
    const double frequency = rope.frequencies != nullptr
                                 ? rope.frequencies[pair]
                                 : device::FrequencyOf(rope.theta, pair, e);
    const int64_t first = device::FirstTogether(position);
    const device::Turn turn =
        device::Joined(device::TurnBy(static_cast<double>(first) * frequency),
                       device::TurnBy(static_cast<double>(position - first) * frequency));
    const int64_t at = row * e + (rope.adjacent ? 2 * pair : pair);
    const int64_t other = at + (rope.adjacent ? 1 : pairs);
    C a = Widened(static_cast<const T*>(rope.x.data)[at]);
    C b = Widened(static_cast<const T*>(rope.x.data)[other]);
    device::Turned(a, b, static_cast<C>(turn.cosine),
                   static_cast<C>(rope.inverse ? -turn.sine : turn.sine));
    static_cast<T*>(rope.out)[at] = Stored<T>(a);
    static_cast<T*>(rope.out)[other] = Stored<T>(b);
  }
}

#define ROPE_KERNEL(dtype, type, ...)                                        \
  KERNEL(Rope_##dtype, (Guard guard, const __grid_constant__ Rope rope)) {   \
    if (Enter(guard)) TurnPairs<type>(rope);                                 \
  }
FOR_kFloat(ROPE_KERNEL)

}  // namespace cgraph::cuda

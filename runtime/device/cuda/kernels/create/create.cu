// Kernels that make tensors out of nothing: one element again and again, and counts.
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/pack.h"

namespace cgraph::cuda {

// Writes elements of `width` bytes, which are those of `pattern` again and again: its 8 bytes hold
// the element as often as it fits.
KERNEL(Fill, (Guard guard, View out, int64_t width, uint64_t pattern)) {
  if (!Enter(guard)) return;
  auto* to = static_cast<uint8_t*>(out.data);
  const int64_t bytes = ElementsOf(out) * width;
  const auto half = std::bit_cast<Words<8>>(pattern);
  const Words<kPackBytes> words = {{half.of[0], half.of[1], half.of[0], half.of[1]}};
  const int64_t whole = IsAligned(to, kPackBytes) ? bytes / kPackBytes : 0;
  for (int64_t i = GridThread(); i < whole; i += GridThreads()) {
    reinterpret_cast<Words<kPackBytes>*>(to)[i] = words;
  }
  for (int64_t i = whole * kPackBytes + GridThread(); i < bytes; i += GridThreads()) {
    to[i] = static_cast<uint8_t>(pattern >> (i % 8 * 8));
  }
}

template <typename T>
__device__ void WriteIota(const View& out) {
  const int64_t count = ElementsOf(out);
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    static_cast<T*>(out.data)[i] = static_cast<T>(i);
  }
}
#define IOTA_KERNEL(dtype, type, ...)              \
  KERNEL(Iota_##dtype, (Guard guard, View out)) {  \
    if (Enter(guard)) WriteIota<type>(out);        \
  }
FOR_kNumber(IOTA_KERNEL)

}  // namespace cgraph::cuda

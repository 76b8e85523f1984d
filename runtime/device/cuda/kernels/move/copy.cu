// Kernels that copy tensors as they lie in memory.
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/pack.h"

namespace cgraph::cuda {

// Copies the elements of a tensor, of `width` bytes each, to memory that does not overlap it.
KERNEL(CopyWhole, (Guard guard, View x, int64_t width, void* to)) {
  if (!Enter(guard)) return;
  const int64_t bytes = ElementsOf(x) * width;
  const bool packs = IsAligned(x.data, kPackBytes) && IsAligned(to, kPackBytes);
  const int64_t whole = packs ? bytes / kPackBytes : 0;
  for (int64_t i = GridThread(); i < whole; i += GridThreads()) {
    static_cast<Words<kPackBytes>*>(to)[i] = static_cast<const Words<kPackBytes>*>(x.data)[i];
  }
  for (int64_t i = whole * kPackBytes + GridThread(); i < bytes; i += GridThreads()) {
    static_cast<uint8_t*>(to)[i] = static_cast<const uint8_t*>(x.data)[i];
  }
}

// Finds that two tensors have different numbers of elements.
KERNEL(CheckReshape, (Guard guard, View x, View out)) {
  if (!Enter(guard)) return;
  const int64_t from = ElementsOf(x), to = ElementsOf(out);
  if (from != to) Fail(guard, 0, from, to);
}

}  // namespace cgraph::cuda

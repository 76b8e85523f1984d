// Random numbers by a seed, which lies on the device unless it is known when the kernel is made. An
// element is a function of the seed and its position.
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/numbers/normal_numbers.h"

namespace cgraph::cuda {

template <typename T, typename Number>
__device__ void WriteRandom(const View& out, Number number) {
  const int64_t count = ElementsOf(out);
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    static_cast<T*>(out.data)[i] = static_cast<T>(number(i));
  }
}

#define NORMAL_KERNEL(dtype, type, ...)                                                  \
  KERNEL(Normal_##dtype, (Guard guard, View out, uint64_t fixed, const int64_t* seed)) { \
    if (!Enter(guard)) return;                                                           \
    const uint64_t stream = seed == nullptr ? fixed : device::StreamOf(*seed);           \
    WriteRandom<type>(out, [=](int64_t i) { return device::NormalNumber(stream, i); });  \
  }
FOR_kFloat(NORMAL_KERNEL)
#define UNIFORM_KERNEL(dtype, type, ...)                                                      \
  KERNEL(Uniform_##dtype, (Guard guard, View out, const int64_t* seed)) {                     \
    if (!Enter(guard)) return;                                                                \
    const uint64_t stream = device::StreamOf(*seed);                                          \
    WriteRandom<type>(                                                                        \
        out, [=](int64_t i) { return device::UniformOf(device::kDigits<type>, stream, i); }); \
  }
    FOR_kFloat(UNIFORM_KERNEL)

        template <typename T>
        __device__ void DropOut(const View& x, void* out, int64_t seed, double p) {
  const uint64_t stream = device::StreamOf(seed);
  const device::Kept kept(p);
  const int64_t count = ElementsOf(x);
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    const Compute<T> element = Widened(static_cast<const T*>(x.data)[i]);
    static_cast<T*>(out)[i] = Stored<T>(kept.Of(element, stream, i));
  }
}
#define DROPOUT_KERNEL(dtype, type, ...)                                                     \
  KERNEL(Dropout_##dtype, (Guard guard, View x, void* out, const int64_t* seed, double p)) { \
    if (Enter(guard)) DropOut<type>(x, out, *seed, p);                                       \
  }
FOR_kFloat(DROPOUT_KERNEL)

}  // namespace cgraph::cuda

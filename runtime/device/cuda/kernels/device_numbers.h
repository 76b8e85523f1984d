// What device code computes with: elements as they are stored, and as they are computed with. The
// dtypes of kernels by the classes of runtime/device/cpu/kernels/elementwise/operations.def.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DEVICE_NUMBERS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DEVICE_NUMBERS_H_

#include <type_traits>

#include "runtime/device/cuda/kernels/device_code.h"
#include "runtime/device/cuda/kernels/dims.h"
#include "runtime/device/numbers/half.h"

namespace cgraph::cuda {

using device::BF16;
using device::Compute;
using device::F16;
using device::kIsFloat;
using device::kIsHalf;

// FOR_CLASS(DO, ...): DO(dtype, type, ...) for each dtype of a class; a bool is a u8.
#define FOR_kBool(DO, ...) DO(u8, uint8_t, __VA_ARGS__)
#define FOR_kFloat(DO, ...) \
  DO(f16, F16, __VA_ARGS__) \
  DO(bf16, BF16, __VA_ARGS__) \
  DO(f32, float, __VA_ARGS__) \
  DO(f64, double, __VA_ARGS__)
#define FOR_kNumber(DO, ...)     \
  DO(i8, int8_t, __VA_ARGS__)    \
  DO(u8, uint8_t, __VA_ARGS__)   \
  DO(i32, int32_t, __VA_ARGS__)  \
  DO(i64, int64_t, __VA_ARGS__)  \
  FOR_kFloat(DO, __VA_ARGS__)
#define FOR_kAny(DO, ...) FOR_kNumber(DO, __VA_ARGS__)

// The conversions are the processor's own, which give the bits that those of F16 and BF16 give; of
// a NaN, they may give another one.
template <typename T>
__device__ inline Compute<T> Widened(T x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, F16>) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
    return f;
  }
#endif
  return x;
}

// Rounds a result to the type that it is stored in.
template <typename T, typename Result>
__device__ inline T Stored(Result x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<Result, float> && kIsHalf<T>) {
    T half;
    if constexpr (std::is_same_v<T, F16>) {
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
    } else {
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
    }
    return half;
  }
#endif
  return static_cast<T>(x);
}

__device__ inline Dims DimsOf(const View& view) {
  Dims dims{view.rank, {}};
  CGRAPH_KEEP_LOOP for (int i = 0; i < view.rank; ++i) dims.of[i] = ExtentOf(view.dims[i]);
  return dims;
}
__device__ inline int64_t ElementsOf(const View& view) {
  int64_t elements = 1;
  CGRAPH_KEEP_LOOP for (int i = 0; i < view.rank; ++i) elements *= ExtentOf(view.dims[i]);
  return elements;
}

// The number of the thread in its grid, and how many there are.
__device__ inline int64_t GridThread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t GridThreads() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

// Quotient and remainder of numbers that are not negative. A division of 64 bits takes several
// times as long as one of 32.
struct Quotient {
  int64_t whole, rest;
};
__device__ inline Quotient Divided(int64_t x, int64_t by) {
  if (((x | by) >> 32) == 0) {
    const uint32_t whole = static_cast<uint32_t>(x) / static_cast<uint32_t>(by);
    return {whole, static_cast<uint32_t>(x) - whole * static_cast<uint32_t>(by)};
  }
  const int64_t whole = x / by;
  return {whole, x - whole * by};
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DEVICE_NUMBERS_H_

// Kernels of reductions: Sum_f32, ... Floats are summed in f64, f16 and bf16 compared as f32;
// integers wrap around.
#include <limits>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/reductions/reduce.h"

namespace cgraph::cuda {

// Integers accumulate in at least 32 bits.
template <typename T>
using Widest = std::conditional_t<sizeof(T) == 8, T,
                                  std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>;

template <typename T>
struct SumOf {
  using Out = T;
  using State = std::conditional_t<kIsFloat<T>, double, Widest<T>>;
  static __device__ State Start() { return 0; }
  static __device__ State Of(Compute<T> x, int64_t) { return static_cast<State>(x); }
  static __device__ State Joined(State a, State b) { return device::Add::Of(a, b); }
  static __device__ T End(State sum, int64_t) { return static_cast<T>(sum); }
};
template <typename T>
struct MeanOf : SumOf<T> {
  static __device__ T End(double sum, int64_t count) {
    return static_cast<T>(sum / static_cast<double>(count));
  }
};

template <typename T, typename Extremum, bool greatest>
struct ExtremeOf {
  using Out = T;
  using State = std::conditional_t<kIsFloat<T>, Compute<T>, Widest<T>>;
  static __device__ State Start() {
    using Limits = std::numeric_limits<std::conditional_t<kIsFloat<T>, State, T>>;
    if constexpr (kIsFloat<T>) return greatest ? -Limits::infinity() : Limits::infinity();
    else return greatest ? Limits::lowest() : Limits::max();
  }
  static __device__ State Of(Compute<T> x, int64_t) { return x; }
  static __device__ State Joined(State a, State b) { return Extremum::Of(a, b); }
  static __device__ T End(State most, int64_t) { return Stored<T>(most); }
};
template <typename T>
using MaxOf = ExtremeOf<T, device::Maximum, true>;
template <typename T>
using MinOf = ExtremeOf<T, device::Minimum, false>;

// The first maximum, or the first NaN; 0 where there are no elements.
template <typename T>
struct ArgmaxOf {
  using Out = int64_t;
  struct State {
    Compute<T> value;
    int64_t index;  // -1 of nothing
  };
  static __device__ State Start() { return {Compute<T>(0), -1}; }
  static __device__ State Of(Compute<T> x, int64_t i) { return {x, i}; }
  static __device__ State Joined(const State& a, const State& b) {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool equal = a_nan ? b_nan : a.value == b.value;
    if (equal) return a.index < b.index ? a : b;
    return a_nan || a.value > b.value ? a : b;
  }
  static __device__ int64_t End(const State& state, int64_t) {
    return state.index < 0 ? 0 : state.index;
  }
};

#define REDUCTION_KERNEL(dtype, type, name)                              \
  KERNEL(name##_##dtype, (Guard guard, const __grid_constant__ Reduction reduction)) {           \
    if (Enter(guard)) Reducer<type, name##Of<type>>::Run(reduction);     \
  }
FOR_kNumber(REDUCTION_KERNEL, Sum)
FOR_kFloat(REDUCTION_KERNEL, Mean)
FOR_kNumber(REDUCTION_KERNEL, Max)
FOR_kNumber(REDUCTION_KERNEL, Min)
FOR_kNumber(REDUCTION_KERNEL, Argmax)

}  // namespace cgraph::cuda

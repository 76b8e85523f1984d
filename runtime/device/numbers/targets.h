// One loop, compiled for several instruction sets, the widest of which is chosen when a kernel is
// made: the binary runs on any x86-64. A product and a sum are fused only where the code says so
// (the build forbids contraction), so that a loop gives the same bits on all of them.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_TARGETS_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_TARGETS_H_

namespace cgraph::device {

#define CGRAPH_INLINE [[gnu::always_inline]] inline

#define CGRAPH_AVX2 [[gnu::target("avx2,fma,f16c")]]
#define CGRAPH_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c")]]

// Before a loop of at most 32 passes, which is unrolled as a whole; before one that stays a loop.
#if defined(__CUDACC__)
#define CGRAPH_UNROLL _Pragma("unroll")
#define CGRAPH_KEEP_LOOP _Pragma("unroll 1")
#else
#define CGRAPH_UNROLL _Pragma("GCC unroll 32")
#define CGRAPH_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

// A loop over the lanes of a vector, which must not be unrolled before it is vectorised.
#define CGRAPH_FOR_LANES(j, lanes) _Pragma("GCC unroll 1") for (int j = 0; j < (lanes); ++j)

// Chooses among the versions of `Loop::Run`, a static function that must be [[gnu::always_inline]]
// together with everything that it calls.
template <typename Loop, typename = decltype(&Loop::Run)>
struct Versions;
template <typename Loop, typename Returned, typename... Args>
struct Versions<Loop, Returned (*)(Args...)> {
  static Returned Baseline(Args... args) { return Loop::Run(args...); }
#if defined(__x86_64__)
  CGRAPH_AVX2 static Returned Avx2(Args... args) { return Loop::Run(args...); }
  CGRAPH_AVX512 static Returned Avx512(Args... args) { return Loop::Run(args...); }
#endif
};

#if defined(__x86_64__)
inline bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}
inline bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

// For loops that move more than they compute.
template <typename Loop>
auto BestOf() -> decltype(&Loop::Run) {
#if defined(__x86_64__)
  if (HasAvx2()) return Versions<Loop>::Avx2;
#endif
  return Versions<Loop>::Baseline;
}

// For loops that compute enough per element to profit from 64-byte vectors.
template <typename Loop>
auto WidestOf() -> decltype(&Loop::Run) {
#if defined(__x86_64__)
  if (HasAvx512()) return Versions<Loop>::Avx512;
#endif
  return BestOf<Loop>();
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_TARGETS_H_

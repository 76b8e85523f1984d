// The language of device code, for the host's compiler: runtime/device/cuda/kernels/device_code.h
// includes this instead of CUDA's where CGRAPH_EMULATED_GRID names it.
//
// The threads of a block are fibers of one thread of the host (multiprocessor.h). A thread runs
// until it meets the others, at a barrier or in a shuffle, and in any order between two of these;
// so a barrier that is missing gives wrong results for some seed. Shared memory is one copy for
// each thread of the host: it runs one block at a time.
//
// KERNEL also enters the kernel in a table (kernel_table.h), under its name.
#ifndef CGRAPH_TESTS_EMULATION_GRID_HOST_GRID_H_
#define CGRAPH_TESTS_EMULATION_GRID_HOST_GRID_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/emulation/grid/atomics.h"
#include "tests/emulation/grid/intrinsics.h"
#include "tests/emulation/grid/kernel_table.h"
#include "tests/emulation/grid/meet.h"
#include "tests/emulation/grid/vectors.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __shared__ static thread_local

// Names may be made by other macros, so that there are two steps.
#define KERNEL(name, parameters) CGRAPH_EMULATED_KERNEL(name, parameters)
#define CGRAPH_EMULATED_KERNEL(name, parameters)                                            \
  static void name parameters;                                                              \
  static const ::cgraph::emulation::KernelEntry kernel_entry_of_##name(#name, &name);       \
  static void name parameters

inline constexpr int warpSize = 32;

inline void __syncthreads() { cgraph::emulation::SyncThreads(false); }
inline int __syncthreads_or(int predicate) {
  return cgraph::emulation::SyncThreads(predicate != 0).any ? 1 : 0;
}
inline int __syncthreads_and(int predicate) {
  return cgraph::emulation::SyncThreads(predicate != 0).all ? 1 : 0;
}
inline int __syncthreads_count(int predicate) {
  return static_cast<int>(cgraph::emulation::SyncThreads(predicate != 0).count);
}

inline void __syncwarp(unsigned mask = 0xffffffff) {
  cgraph::emulation::MeetWarp(cgraph::emulation::WarpCall::kSync, mask, 0);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  using namespace cgraph::emulation;
  return MeetWarp(WarpCall::kVote, mask, predicate != 0 ? 1 : 0).Ballot();
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

// Shuffles take what CUDA's do: numbers of four or eight bytes.
template <typename T>
  requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {
  using namespace cgraph::emulation;
  return Shuffle(mask, value, [&](int own) { return (own & -width) | (lane & (width - 1)); });
}
template <typename T>
  requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  using namespace cgraph::emulation;
  return Shuffle(mask, value, [&](int own) {
    const int from = own - static_cast<int>(delta);
    return from < (own & -width) ? own : from;
  });
}
template <typename T>
  requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  using namespace cgraph::emulation;
  return Shuffle(mask, value, [&](int own) {
    const int from = own + static_cast<int>(delta);
    return from > (own | (width - 1)) ? own : from;
  });
}
template <typename T>
  requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
  using namespace cgraph::emulation;
  return Shuffle(mask, value, [&](int own) {
    const int from = own ^ lanes;
    return from > (own | (width - 1)) ? own : from;
  });
}

#endif  // CGRAPH_TESTS_EMULATION_GRID_HOST_GRID_H_

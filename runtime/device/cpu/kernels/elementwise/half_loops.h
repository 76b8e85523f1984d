// Loops over f16 and bf16: conversions of rows, and operations in one pass.
//
// An operation widens a block of elements, one or two vectors of f32, computes with it and rounds
// it in registers. These loops exist only where the processor has the conversions; elsewhere the
// operands go through tiles of f32 (elementwise.cpp), which gives the same bits.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_HALF_LOOPS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_HALF_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/cpu/kernels/elementwise/half_vectors.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

template <typename Half>
struct WidenLoop {
  CGRAPH_INLINE static void Run(const void* half, void* f32, int64_t count) {
    const Half* from = static_cast<const Half*>(half);
    float* to = static_cast<float*>(f32);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
};

template <typename Half>
struct NarrowLoop {
  CGRAPH_INLINE static void Run(const void* f32, void* half, int64_t count) {
    const float* from = static_cast<const float*>(f32);
    Half* to = static_cast<Half*>(half);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = Half(from[i]);
  }
};

#if defined(__x86_64__)
// Converts between f16 and f32 by the processor's own instructions.
template <typename Halves>
struct WidenRow {
  CGRAPH_INLINE static void Run(const void* half, void* f32, int64_t count) {
    constexpr int kLanes = Halves::kLanes;
    const F16* from = static_cast<const F16*>(half);
    float* to = static_cast<float*>(f32);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      Halves::Widen(from + i, *reinterpret_cast<float(*)[1][kLanes]>(to + i));
    }
    WidenLoop<F16>::Run(from + i, to + i, count - i);
  }
};
template <typename Halves, typename Half>
struct NarrowRow {
  CGRAPH_INLINE static void Run(const void* f32, void* half, int64_t count) {
    constexpr int kBlock = std::is_same_v<Half, BF16> ? 2 * Halves::kLanes : Halves::kLanes;
    const float* from = static_cast<const float*>(f32);
    Half* to = static_cast<Half*>(half);
    int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) Halves::NarrowRow(from + i, to + i);
    NarrowLoop<Half>::Run(from + i, to + i, count - i);
  }
};

// `Block::Out` is the result of a block: f32, which is rounded to `Half`, or bytes. Operand o
// stands still where bit o of `standing` is set.
template <typename Halves, typename Half, typename Block, int standing>
class HalfLoop {
 public:
  CGRAPH_INLINE static void Run(const void* const* in, void* out, int64_t count) {
    const Half* from[kMostOperands];
    alignas(64) Vectors x[kMostOperands];
    for (int o = 0; o < Block::kOperands; ++o) {
      from[o] = static_cast<const Half*>(in[o]);
      if (Stands(o)) std::fill_n(&x[o][0][0], kBlock, static_cast<float>(*from[o]));
    }
    Stored* to = static_cast<Stored*>(out);
    int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) RunBlock(from, i, x, to + i);
    if (i == count) return;
    Half last[kMostOperands][kBlock] = {};
    Stored results[kBlock];
    for (int o = 0; o < Block::kOperands; ++o) {
      if (!Stands(o)) std::copy(from[o] + i, from[o] + count, last[o]);
      from[o] = last[o];
    }
    RunBlock(from, 0, x, results);
    std::copy(results, results + (count - i), to + i);
  }

 private:
  using Out = typename Block::Out;
  using Stored = std::conditional_t<std::is_same_v<Out, float>, Half, Out>;
  static constexpr int kLanes = Halves::kLanes;
  static constexpr int kVectors = std::is_same_v<Half, BF16> ? 2 : 1;
  static constexpr int kBlock = kVectors * kLanes;
  using Vectors = float[kVectors][kLanes];
  static constexpr bool Stands(int operand) { return (standing >> operand & 1) != 0; }

  CGRAPH_INLINE static void RunBlock(const Half* const* from, int64_t at,
                                     Vectors (&x)[kMostOperands], Stored* to) {
    alignas(64) Out y[kVectors][kLanes];
    for (int o = 0; o < Block::kOperands; ++o) {
      if (!Stands(o)) Halves::Widen(from[o] + at, x[o]);
    }
    RunVector<0>(x, y);
    if constexpr (kVectors == 2) RunVector<1>(x, y);
    if constexpr (std::is_same_v<Out, float>) {
      Halves::Narrow(y, to);
    } else {
      for (int j = 0; j < kBlock; ++j) to[j] = y[j % kVectors][j / kVectors];
    }
  }
  template <int v>
  CGRAPH_INLINE static void RunVector(const Vectors (&x)[kMostOperands],
                                      Out (&y)[kVectors][kLanes]) {
    if constexpr (requires { Block::OfNear(0.0f); }) {
      int far = 0;
      CGRAPH_FOR_LANES(j, kLanes) far |= Block::IsNear(x[0][v][j]) ? 0 : 1;
      if (far == 0) {
        CGRAPH_FOR_LANES(j, kLanes) y[v][j] = Block::OfNear(x[0][v][j]);
        return;
      }
    }
    CGRAPH_FOR_LANES(j, kLanes) {
      if constexpr (Block::kOperands == 1) y[v][j] = Block::Of(x[0][v][j]);
      else if constexpr (Block::kOperands == 2) y[v][j] = Block::Of(x[0][v][j], x[1][v][j]);
      else y[v][j] = Block::Of(x[0][v][j], x[1][v][j], x[2][v][j]);
    }
  }
};

// Blocks of an operation on one element, of one on two elements that gives f32 or bytes, and of one
// on three.
template <typename Operation>
struct UnaryBlock : Operation {
  using Out = float;
  static constexpr int kOperands = 1;
};
template <typename Operation, typename Result>
struct BinaryBlock {
  using Out = Result;
  static constexpr int kOperands = 2;
  CGRAPH_INLINE static Result Of(float a, float b) { return Operation::Of(a, b); }
};
template <typename Operation>
struct TernaryBlock {
  using Out = float;
  static constexpr int kOperands = 3;
  CGRAPH_INLINE static float Of(float a, float b, float c) { return Operation::Of(a, b, c); }
};

#endif

// Returns the loop for the widest vectors that have the conversions; null where the processor has
// none.
template <typename Half, typename Block, int standing = 0>
ElementLoop HalfLoopOf() {
#if defined(__x86_64__)
  using Loop512 = HalfLoop<Avx512Halves, Half, Block, standing>;
  using Loop2 = HalfLoop<Avx2Halves, Half, Block, standing>;
  if (HasAvx512()) return Versions<Loop512>::Avx512;
  if (HasAvx2()) return Versions<Loop2>::Avx2;
#endif
  return nullptr;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_HALF_LOOPS_H_

// Templates that make loops of an operation on elements (elementwise_ops.h).
//
// Loops of integers, and those that only move elements, are compiled up to AVX2; loops of floats,
// which fused chains run in the first-level cache, up to AVX-512.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_LOOP_TEMPLATES_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_LOOP_TEMPLATES_H_

#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/elementwise/half_loops.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

enum class Walking { kBoth, kOnlyA, kOnlyB };  // which of two operands moves along

template <typename Operation, typename In, typename Out, Walking walking>
struct BinaryLoop {
  CGRAPH_INLINE static void Run(const void* const* in, void* out, int64_t count) {
    const In* a = static_cast<const In*>(in[0]);
    const In* b = static_cast<const In*>(in[1]);
    Out* to = static_cast<Out*>(out);
    const In first_a = *a;
    const In first_b = *b;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      to[i] = Operation::Of(walking == Walking::kOnlyB ? first_a : a[i],
                            walking == Walking::kOnlyA ? first_b : b[i]);
    }
  }
};

template <typename Operation, typename T>
struct UnaryLoop {
  CGRAPH_INLINE static void Run(const void* const* in, void* out, int64_t count) {
    const T* x = static_cast<const T*>(in[0]);
    T* to = static_cast<T*>(out);
    if constexpr (requires { Operation::OfNear(*x); }) {
      constexpr int64_t kBlock = 256;
      for (int64_t i = 0; i < count; i += kBlock) {
        RunBlock(x + i, to + i, count - i < kBlock ? count - i : kBlock);
      }
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) to[i] = Operation::Of(x[i]);
    }
  }

 private:
  CGRAPH_INLINE static void RunBlock(const T* x, T* to, int64_t count) {
    int far = 0;
    for (int64_t i = 0; i < count; ++i) far |= Operation::IsNear(x[i]) ? 0 : 1;
    if (far != 0) {
      for (int64_t i = 0; i < count; ++i) to[i] = Operation::Of(x[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) to[i] = Operation::OfNear(x[i]);
    }
  }
};

template <typename Operation, typename T>
struct SelectLoop {
  CGRAPH_INLINE static void Run(const void* const* in, void* out, int64_t count) {
    const uint8_t* condition = static_cast<const uint8_t*>(in[0]);
    const T* a = static_cast<const T*>(in[1]);
    const T* b = static_cast<const T*>(in[2]);
    T* to = static_cast<T*>(out);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = Operation::Of(condition[i], a[i], b[i]);
  }
};

// The loop of three operands; the second and the third move along or stand still.
template <typename Operation, typename T, bool moving>
struct TernaryLoop {
  CGRAPH_INLINE static void Run(const void* const* in, void* out, int64_t count) {
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    const T* c = static_cast<const T*>(in[2]);
    T* to = static_cast<T*>(out);
    const T first_b = *b;
    const T first_c = *c;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      to[i] = Operation::Of(a[i], moving ? b[i] : first_b, moving ? c[i] : first_c);
    }
  }
};

#if defined(__x86_64__)
// Writes one cache line to memory past the caches.
CGRAPH_AVX2 static inline void StreamLine(const void* from, void* to) {
  const auto* vectors = static_cast<const __m256i*>(from);
  _mm256_stream_si256(static_cast<__m256i*>(to), _mm256_load_si256(vectors));
  _mm256_stream_si256(static_cast<__m256i*>(to) + 1, _mm256_load_si256(vectors + 1));
}

template <typename Operation, typename T, int operands>
struct PastCachesLoop {
  CGRAPH_INLINE static void Run(const void* const* in, void* out, int64_t count) {
    constexpr int kLanes = 32 / sizeof(T);
    const T* const a = static_cast<const T*>(in[0]);
    const T* const b = static_cast<const T*>(in[operands - 1]);
    T* to = static_cast<T*>(out);
    const auto of = [=](int64_t i) {
      if constexpr (operands == 1) return Operation::Of(a[i]);
      else return Operation::Of(a[i], b[i]);
    };
    int64_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
      alignas(64) T line[2][kLanes];
      CGRAPH_FOR_LANES(l, kLanes) line[0][l] = of(i + l);
      CGRAPH_FOR_LANES(l, kLanes) line[1][l] = of(i + kLanes + l);
      StreamLine(line, to + i);
    }
    for (; i < count; ++i) to[i] = of(i);
  }
};
#endif

// Returns null where a result does not gain from going past the caches.
template <typename Operation, typename T, int operands>
ElementLoop PastCachesOf() {
#if defined(__x86_64__)
  if constexpr (std::is_floating_point_v<T> && requires { Operation::kMoves; }) {
    if (HasAvx2()) return Versions<PastCachesLoop<Operation, T, operands>>::Avx2;
  }
#endif
  return nullptr;
}

// Tells whether an operation of these dtypes is instantiated for the C++ type.
template <DTypes dtypes, typename T>
inline constexpr bool kComputes = dtypes == DTypes::kFloat  ? std::is_floating_point_v<T>
                                  : dtypes == DTypes::kBool ? std::is_same_v<T, uint8_t>
                                                            : true;

template <typename T, typename Loop>
ElementLoop LoopOf() {
  if constexpr (std::is_floating_point_v<T>) return WidestOf<Loop>();
  else return BestOf<Loop>();
}

// Calls `use` with a value of F16 or BF16 where the dtype is one of them.
template <typename Use>
void WithHalf(DType dtype, Use&& use) {
  if (dtype == DType::f16) use(F16{});
  if (dtype == DType::bf16) use(BF16{});
}

template <typename Operation, DTypes dtypes, bool compares>
std::optional<ElementOp> BinaryOp(DType dtype) {
  if (!Contains(dtypes, dtype)) return std::nullopt;
  ElementOp op{.operands = 2, .gives_bool = compares};
  WithHalf(dtype, [&](auto half) {
    using Half = decltype(half);
    using Block = BinaryBlock<Operation, std::conditional_t<compares, uint8_t, float>>;
    op.all = HalfLoopOf<Half, Block>();
    op.only_a = HalfLoopOf<Half, Block, 2>();
    op.only_b = HalfLoopOf<Half, Block, 1>();
  });
  if (op.all != nullptr) return op;
  op.widens = IsHalf(dtype);
  WithComputeType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kComputes<dtypes, T>) {
      using Out = std::conditional_t<compares, uint8_t, T>;
      op.all = LoopOf<T, BinaryLoop<Operation, T, Out, Walking::kBoth>>();
      op.only_a = LoopOf<T, BinaryLoop<Operation, T, Out, Walking::kOnlyA>>();
      op.only_b = LoopOf<T, BinaryLoop<Operation, T, Out, Walking::kOnlyB>>();
      if constexpr (!compares) op.past_caches = PastCachesOf<Operation, T, 2>();
    }
  });
  return op;
}

template <typename Operation, DTypes dtypes>
std::optional<ElementOp> UnaryOp(DType dtype) {
  if (!Contains(dtypes, dtype)) return std::nullopt;
  ElementOp op{.operands = 1};
  WithHalf(dtype, [&](auto half) {
    op.all = HalfLoopOf<decltype(half), UnaryBlock<OnHalf<Operation>>>();
    if (op.all != nullptr) return;
    op.all = Versions<UnaryLoop<OnHalf<Operation>, float>>::Baseline;
    op.widens = true;
  });
  if (op.all != nullptr) return op;
  WithComputeType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kComputes<dtypes, T>) {
      op.all = LoopOf<T, UnaryLoop<Operation, T>>();
      op.past_caches = PastCachesOf<Operation, T, 1>();
    }
  });
  return op;
}

// Elements are moved as bits, whatever they stand for.
template <typename Operation, DTypes dtypes>
std::optional<ElementOp> SelectOp(DType dtype) {
  if (!Contains(dtypes, dtype)) return std::nullopt;
  ElementOp op{.operands = 3, .takes_bool = true};
  if (IsHalf(dtype)) {
    op.all = BestOf<SelectLoop<Operation, uint16_t>>();
    return op;
  }
  WithComputeType(dtype, [&](auto zero) {
    op.all = BestOf<SelectLoop<Operation, decltype(zero)>>();
  });
  return op;
}

template <typename Operation, DTypes dtypes>
std::optional<ElementOp> TernaryOp(DType dtype) {
  if (!Contains(dtypes, dtype)) return std::nullopt;
  ElementOp op{.operands = 3};
  WithHalf(dtype, [&](auto half) {
    using Half = decltype(half);
    op.all = HalfLoopOf<Half, TernaryBlock<Operation>>();
    op.only_a = HalfLoopOf<Half, TernaryBlock<Operation>, 6>();
  });
  if (op.all != nullptr) return op;
  op.widens = IsHalf(dtype);
  WithComputeType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kComputes<dtypes, T>) {
      op.all = LoopOf<T, TernaryLoop<Operation, T, true>>();
      op.only_a = LoopOf<T, TernaryLoop<Operation, T, false>>();
    }
  });
  return op;
}

// The parts of the table, each in the file of its loops: operations of several operands, ...
std::optional<ElementOp> FindOfSeveral(std::string_view name, DType dtype);
// ... those that give bools, and those of one operand.
std::optional<ElementOp> FindCompare(std::string_view name, DType dtype);
std::optional<ElementOp> FindUnary(std::string_view name, DType dtype);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_LOOP_TEMPLATES_H_

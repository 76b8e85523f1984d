#include "tests/emulation/nccl/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/device/cuda/libraries/nccl.h"

namespace cgraph::emulation {
namespace {

namespace nccl = cuda::nccl;

struct Bf16 {
  uint16_t bits;
  Bf16() = default;
  explicit Bf16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    if (value != value) {
      bits = static_cast<uint16_t>(wide >> 16 | 0x40);
    } else {
      bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
    }
  }
  operator float() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

// What a type is computed in; integers wrap, as unsigned numbers do.
template <typename T>
struct ComputedIn {
  using type = T;
};
template <>
struct ComputedIn<_Float16> {
  using type = float;
};
template <>
struct ComputedIn<Bf16> {
  using type = float;
};

template <typename C>
C Fold(int reduction, C a, C b) {
  if (reduction == nccl::kMin) return std::min(a, b);
  if (reduction == nccl::kMax) return std::max(a, b);
  if constexpr (std::is_integral_v<C>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<C>(reduction == nccl::kProd ? x * y : x + y);
  } else {
    return reduction == nccl::kProd ? a * b : a + b;
  }
}

template <typename T>
void Reduce(int reduction, std::span<const std::byte* const> from, size_t first, size_t count,
            size_t all, bool ring, std::byte* to) {
  using C = typename ComputedIn<T>::type;
  const size_t ranks = from.size();
  const bool average = reduction == nccl::kAvg;
  const auto value = [&](size_t rank, size_t i) {
    T element;
    std::memcpy(&element, from[rank] + i * sizeof(T), sizeof(T));
    const C wide = static_cast<C>(element);
    if (!ring || !average) return wide;
    return static_cast<C>(T(static_cast<C>(wide * (C(1) / static_cast<C>(ranks)))));
  };
  for (size_t i = first; i < first + count; ++i) {
    const size_t begin = ring ? (i * ranks / all + 1) % ranks : 0;
    C sum = value(begin, i);
    for (size_t r = 1; r < ranks; ++r) {
      sum = Fold<C>(reduction, sum, value((begin + r) % ranks, i));
      if (ring) sum = static_cast<C>(T(sum));
    }
    if (average && !ring) sum = static_cast<C>(sum / static_cast<C>(ranks));
    const T stored = static_cast<T>(sum);
    std::memcpy(to + (i - first) * sizeof(T), &stored, sizeof(T));
  }
}

}  // namespace

size_t NcclWidth(int type) {
  switch (type) {
    case nccl::kI8:
    case nccl::kU8: return 1;
    case nccl::kF16:
    case nccl::kBF16: return 2;
    case nccl::kI32:
    case nccl::kF32: return 4;
    case nccl::kI64:
    case nccl::kF64: return 8;
    default: return 0;
  }
}

void NcclReduce(int type, int reduction, std::span<const std::byte* const> from, size_t first,
                size_t count, size_t all, bool ring, std::byte* to) {
  switch (type) {
    case nccl::kI8: return Reduce<int8_t>(reduction, from, first, count, all, ring, to);
    case nccl::kU8: return Reduce<uint8_t>(reduction, from, first, count, all, ring, to);
    case nccl::kI32: return Reduce<int32_t>(reduction, from, first, count, all, ring, to);
    case nccl::kI64: return Reduce<int64_t>(reduction, from, first, count, all, ring, to);
    case nccl::kF16: return Reduce<_Float16>(reduction, from, first, count, all, ring, to);
    case nccl::kBF16: return Reduce<Bf16>(reduction, from, first, count, all, ring, to);
    case nccl::kF32: return Reduce<float>(reduction, from, first, count, all, ring, to);
    case nccl::kF64: return Reduce<double>(reduction, from, first, count, all, ring, to);
    default: return;
  }
}

}  // namespace cgraph::emulation

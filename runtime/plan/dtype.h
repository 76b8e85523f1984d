// The element types as the runtime needs them: how wide, what they are called, and the bytes that
// a tensor of them takes.
#ifndef CGRAPH_RUNTIME_PLAN_DTYPE_H_
#define CGRAPH_RUNTIME_PLAN_DTYPE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

inline constexpr int kDTypes = 9;

// 0 for a number that is no dtype, as an unchecked plan may hold.
constexpr int64_t DTypeBytes(DType dtype) {
  switch (dtype) {
    case DType::bool_: case DType::i8: case DType::u8: return 1;
    case DType::f16: case DType::bf16: return 2;
    case DType::i32: case DType::f32: return 4;
    case DType::i64: case DType::f64: return 8;
  }
  return 0;
}

constexpr std::string_view DTypeName(DType dtype) {
  constexpr std::string_view kNames[kDTypes] = {"bool", "i8",   "u8",  "i32", "i64",
                                                "f16",  "bf16", "f32", "f64"};
  const auto index = static_cast<size_t>(dtype);
  return index < kDTypes ? kNames[index] : "no dtype";
}

constexpr bool IsFloat(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

// The bytes of a tensor; nothing when a dimension is negative or they are more than `most`.
// Dimensions are multiplied even where one of them is 0, so that strides never overflow either.
constexpr std::optional<uint64_t> TensorBytes(DType dtype, std::span<const int64_t> dims,
                                              uint64_t most = INT64_MAX) {
  auto bytes = static_cast<uint64_t>(DTypeBytes(dtype));
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
    if (dim > 0 && __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
      return std::nullopt;
    }
    if (bytes > most) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_DTYPE_H_

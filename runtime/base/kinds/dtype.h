// The element types of tensors.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_DTYPE_H_
#define CGRAPH_RUNTIME_BASE_KINDS_DTYPE_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace cgraph {

enum class DType : uint8_t {
#define DTYPE(id, wire, name, bytes, class) id,
#include "runtime/base/kinds/dtypes.def"
};
enum class DTypeClass : uint8_t { kBoolean, kInteger, kFloating };

struct DTypeTraits {
  std::string_view name;
  int64_t bytes;
  DTypeClass of;
};

// By DType.
inline constexpr DTypeTraits kDTypeTraits[] = {
#define DTYPE(id, wire, name, bytes, class) {name, bytes, DTypeClass::class},
#include "runtime/base/kinds/dtypes.def"
};
inline constexpr size_t kDTypes = std::size(kDTypeTraits);

constexpr const DTypeTraits& TraitsOf(DType dtype) {
  return kDTypeTraits[static_cast<size_t>(dtype)];
}
constexpr std::string_view DTypeName(DType dtype) { return TraitsOf(dtype).name; }
constexpr int64_t DTypeBytes(DType dtype) { return TraitsOf(dtype).bytes; }
constexpr DTypeClass ClassOf(DType dtype) { return TraitsOf(dtype).of; }

// Nothing where `text` names no dtype.
constexpr std::optional<DType> ParseDType(std::string_view text) {
  for (size_t i = 0; i < kDTypes; ++i) {
    if (text == kDTypeTraits[i].name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_KINDS_DTYPE_H_

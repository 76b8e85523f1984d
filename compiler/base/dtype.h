// Element types of tensors.
#ifndef CGRAPH_COMPILER_BASE_DTYPE_H_
#define CGRAPH_COMPILER_BASE_DTYPE_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/StringRef.h"

namespace cgraph {

enum class DType : uint8_t {
#define DTYPE(id, name, bytes, class) id,
#include "compiler/base/dtypes.def"
};
enum class DTypeClass : uint8_t { kBoolean, kInteger, kFloating };

inline llvm::StringRef DTypeName(DType dtype) {
  static constexpr const char* kNames[] = {
#define DTYPE(id, name, bytes, class) name,
#include "compiler/base/dtypes.def"
  };
  return kNames[static_cast<int>(dtype)];
}

inline int64_t DTypeBytes(DType dtype) {
  static constexpr int64_t kBytes[] = {
#define DTYPE(id, name, bytes, class) bytes,
#include "compiler/base/dtypes.def"
  };
  return kBytes[static_cast<int>(dtype)];
}

inline DTypeClass ClassOf(DType dtype) {
  static constexpr DTypeClass kClasses[] = {
#define DTYPE(id, name, bytes, class) DTypeClass::class,
#include "compiler/base/dtypes.def"
  };
  return kClasses[static_cast<int>(dtype)];
}

inline std::optional<DType> ParseDType(llvm::StringRef text) {
#define DTYPE(id, name, bytes, class) \
  if (text == name) return DType::id;
#include "compiler/base/dtypes.def"
  return std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_DTYPE_H_

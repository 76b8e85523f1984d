// How a value travels from its home to a consumer.
#ifndef CGRAPH_COMPILER_BASE_TRANSPORT_H_
#define CGRAPH_COMPILER_BASE_TRANSPORT_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/StringRef.h"

namespace cgraph {

enum class Transport : uint8_t {
#define TRANSPORT(id, name) id,
#include "compiler/base/transports.def"
};

inline llvm::StringRef TransportName(Transport transport) {
  static constexpr const char* kNames[] = {
#define TRANSPORT(id, name) name,
#include "compiler/base/transports.def"
  };
  return kNames[static_cast<int>(transport)];
}

inline std::optional<Transport> ParseTransport(llvm::StringRef text) {
#define TRANSPORT(id, name) \
  if (text == name) return Transport::id;
#include "compiler/base/transports.def"
  return std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_TRANSPORT_H_

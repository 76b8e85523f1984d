// How a value travels from its home to a consumer.
#ifndef CGRAPH_COMPILER_BASE_TRANSPORT_H_
#define CGRAPH_COMPILER_BASE_TRANSPORT_H_

#include <cstdint>
#include <optional>

#include "compiler/base/source.h"
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

// How a value is asked to travel, and where the file says so.
struct Journey {
  Transport transport = Transport::kAuto;
  uint32_t capacity = 0;  // of shm: messages that may be under way; 0: the usual number
  Range range;            // of the `via`'s operand; invalid: nothing was asked

  Journey() = default;
  Journey(Transport transport) : transport(transport) {}  // NOLINT: a transport without options
  operator Transport() const { return transport; }    // NOLINT
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_TRANSPORT_H_

// How a value travels from its home to a consumer.
#ifndef CGRAPH_COMPILER_BASE_TRANSPORT_H_
#define CGRAPH_COMPILER_BASE_TRANSPORT_H_

#include <cstdint>
#include <optional>
#include <string>

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
struct TransportRequest {
  Transport transport = Transport::kAuto;
  uint32_t capacity = 0;  // of shm: messages that may be under way; 0: the usual number
  Range range = {};       // of the `via`'s operand; invalid: nothing was asked

  // Two are one that go the same way, wherever they were asked for.
  friend bool operator==(const TransportRequest& a, const TransportRequest& b) {
    return a.transport == b.transport && a.capacity == b.capacity;
  }
  friend bool operator<(const TransportRequest& a, const TransportRequest& b) {
    return a.transport != b.transport ? a.transport < b.transport : a.capacity < b.capacity;
  }
};

// "shm", "shm(capacity: 4)"
inline std::string JourneyText(const TransportRequest& request) {
  std::string text = TransportName(request.transport).str();
  if (request.capacity > 0) text += "(capacity: " + std::to_string(request.capacity) + ")";
  return text;
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_TRANSPORT_H_

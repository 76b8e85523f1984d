// Transports: how a value travels from its home to a consumer.
#ifndef CGRAPH_COMPILER_BASE_TRANSPORT_H_
#define CGRAPH_COMPILER_BASE_TRANSPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/kinds/logical_device.h"

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

// TransportRequest: how a value is asked to travel, and where the file asks for it.
struct TransportRequest {
  Transport transport = Transport::kAuto;
  uint32_t capacity = 0;  // of shm and mpi: messages that may be under way; 0: the usual number
  Range range = {};       // of the `via`'s operand; invalid: nothing was asked

  // Two requests are equal when they go the same way, wherever they were written.
  friend bool operator==(const TransportRequest& a, const TransportRequest& b) {
    return a.transport == b.transport && a.capacity == b.capacity;
  }
  friend bool operator<(const TransportRequest& a, const TransportRequest& b) {
    return a.transport != b.transport ? a.transport < b.transport : a.capacity < b.capacity;
  }
};

// "shm", "shm(capacity: 4)"
inline std::string TransportText(const TransportRequest& request) {
  std::string text = TransportName(request.transport).str();
  if (request.capacity > 0) text += "(capacity: " + std::to_string(request.capacity) + ")";
  return text;
}

// Which transport `auto` is between two different devices; a gpu has memory of its own.
inline Transport AutomaticTransport(const LogicalDevice& from, const LogicalDevice& to) {
  const bool from_gpu = from.kind == DeviceKind::kGpu, to_gpu = to.kind == DeviceKind::kGpu;
  if (from_gpu && to_gpu) return Transport::kNccl;
  if (from.node != to.node) return Transport::kMpi;
  return from_gpu || to_gpu ? Transport::kHost : Transport::kLocal;
}

// The words for why: said by the compiler where it chooses, and by drawings of what was chosen.
inline const char* WhyAutomatic(Transport transport) {
  switch (transport) {
    case Transport::kNccl: return "between two gpus";
    case Transport::kHost: return "between a gpu and host memory";
    case Transport::kMpi: return "between two machines";
    default: return "one address space: no copy";
  }
}

// Returns "copied to outputs y, z", of a value that is used elsewhere, too, so that each of them
// has memory of its own.
inline std::string CopiedText(const std::vector<std::string>& outputs) {
  constexpr size_t kMost = 3;
  if (outputs.size() > kMost) return "copied to " + std::to_string(outputs.size()) + " outputs";
  std::string names;
  for (const std::string& name : outputs) names += (names.empty() ? "" : ", ") + name;
  return (outputs.size() == 1 ? "copied to output " : "copied to outputs ") + names;
}

// Says why a value goes by `transport`, and that it is copied to these outputs where it arrives.
inline std::string WhyWithCopies(Transport transport, const std::string& why,
                                 const std::vector<std::string>& outputs) {
  if (outputs.empty()) return why;
  const bool is_automatic = transport == Transport::kLocal && why == WhyAutomatic(transport);
  return (is_automatic ? "one address space: " : why + "; ") + CopiedText(outputs);
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_TRANSPORT_H_

// Transports: how a value travels from its home to a consumer.
#ifndef CGRAPH_COMPILER_BASE_TRANSPORT_H_
#define CGRAPH_COMPILER_BASE_TRANSPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/kinds/logical_device.h"
#include "runtime/base/kinds/transport.h"

namespace cgraph {

inline llvm::StringRef TransportName(TransportKind transport) { return NameOf(transport); }

// Returns what may stand after `via`.
inline std::vector<std::string> TransportNames() {
  std::vector<std::string> names = {kAutoName};
  for (const TransportTraits& traits : kTransportTraits) names.push_back(traits.name);
  return names;
}

// "auto, local, shm, nccl, mpi and host"
inline std::string TransportList() {
  std::string text;
  const std::vector<std::string> names = TransportNames();
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

// TransportRequest: how a value is asked to travel, and where the file asks for it.
struct TransportRequest {
  TransportKind transport = TransportKind::kAuto;
  uint32_t capacity = 0;  // of what buffers: messages that may be under way; 0: the usual number
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
inline TransportKind AutomaticTransport(const LogicalDevice& from, const LogicalDevice& to) {
  const bool from_gpu = from.kind == DeviceKind::kGpu, to_gpu = to.kind == DeviceKind::kGpu;
  if (from_gpu && to_gpu) return TransportKind::kNccl;
  if (from.node != to.node) return TransportKind::kMpi;
  return from_gpu || to_gpu ? TransportKind::kHost : TransportKind::kLocal;
}

// The words for why: said by the compiler where it chooses, and by drawings of what was chosen.
inline const char* WhyAutomatic(TransportKind transport) {
  switch (transport) {
    case TransportKind::kNccl: return "between two gpus";
    case TransportKind::kHost: return "between a gpu and host memory";
    case TransportKind::kMpi: return "between two machines";
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
inline std::string WhyWithCopies(TransportKind transport, const std::string& why,
                                 const std::vector<std::string>& outputs) {
  if (outputs.empty()) return why;
  const bool is_automatic = transport == TransportKind::kLocal && why == WhyAutomatic(transport);
  return (is_automatic ? "one address space: " : why + "; ") + CopiedText(outputs);
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_TRANSPORT_H_

// Transports: the ways in which a value may travel between devices.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_TRANSPORT_H_
#define CGRAPH_RUNTIME_BASE_KINDS_TRANSPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cgraph {

// kAuto is in no plan: the compiler picks another one for each edge.
enum class TransportKind : int8_t {
  kAuto = -1,
#define TRANSPORT(id, name, delivery, factory) id,
#include "runtime/base/kinds/transports.def"
};

// Delivery: how a value comes to its reader. It is read where it lies; it is copied by copies of
// the plan; or it is sent as a message, into a buffer or by a rendezvous of both ends.
enum class Delivery : uint8_t { kInPlace, kCopied, kBuffered, kRendezvous };

struct TransportTraits {
  TransportKind kind;
  const char* name;
  Delivery delivery;
};

// In the order of TransportKind, without kAuto.
inline constexpr TransportTraits kTransportTraits[] = {
#define TRANSPORT(id, name, delivery, factory) {TransportKind::id, #name, Delivery::delivery},
#include "runtime/base/kinds/transports.def"
};

inline constexpr const char* kAutoName = "auto";

constexpr const char* NameOf(TransportKind kind) {
  return kind == TransportKind::kAuto ? kAutoName : kTransportTraits[static_cast<int>(kind)].name;
}

// Nothing of kAuto, which says none.
constexpr std::optional<Delivery> DeliveryOf(TransportKind kind) {
  if (kind == TransportKind::kAuto) return std::nullopt;
  return kTransportTraits[static_cast<int>(kind)].delivery;
}
constexpr bool SendsMessages(TransportKind kind) {
  const std::optional<Delivery> delivery = DeliveryOf(kind);
  return delivery == Delivery::kBuffered || delivery == Delivery::kRendezvous;
}

// Nothing where `text` names no transport.
constexpr std::optional<TransportKind> ParseTransport(std::string_view text) {
  if (text == kAutoName) return TransportKind::kAuto;
  for (const TransportTraits& traits : kTransportTraits) {
    if (text == traits.name) return traits.kind;
  }
  return std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_KINDS_TRANSPORT_H_

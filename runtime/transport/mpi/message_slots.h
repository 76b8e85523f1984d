// MessageSlots: room for a channel's messages at one of its ranks, and how a message lies in it: a
// header, the sizes of its values, as 8 bytes each, and behind those the values, each at a multiple
// of 16 bytes. A queue sends values whose extents a kernel has made up to their bound, and a thread
// sends what there is of them: so the receiver goes by the sizes that the message states.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_SLOTS_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_SLOTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/device/device.h"
#include "runtime/device/memory.h"
#include "runtime/transport/channel.h"

namespace cgraph::transport {

struct MessageHeader {
  uint64_t number = 0;
  uint64_t poison = 0;
  uint64_t values = 0;
  cluster::Answer answer;  // of another channel, which travels along
};

// Returns where the first of so many values lies in a message, and where the next one may.
constexpr uint64_t FirstValue(uint64_t values) {
  constexpr uint64_t kUnit = cluster::Wire::kMessageUnit;
  return (sizeof(MessageHeader) + 8 * values + kUnit - 1) / kUnit * kUnit;
}
constexpr uint64_t AfterValue(uint64_t at, uint64_t bytes) {
  return (at + bytes + 15) & ~uint64_t{15};
}

// The slots are used in turn: message n lies in slot n % count.
struct MessageSlots {
  device::Memory memory;
  uint64_t each = 0;
  uint32_t count = 0;
  uint32_t spans = 0;  // most values of a message

  std::byte* At(uint64_t n) const { return memory.data() + n % count * each; }

  MessageHeader Read(uint64_t n) const {
    MessageHeader header;
    std::memcpy(&header, At(n), sizeof(header));
    header.values = std::min<uint64_t>(header.values, spans);
    return header;
  }
  void Write(uint64_t n, const MessageHeader& header) const {
    std::memcpy(At(n), &header, sizeof(header));
  }
  uint64_t SizeOf(uint64_t n, uint64_t value) const {
    uint64_t bytes = 0;
    std::memcpy(&bytes, At(n) + sizeof(MessageHeader) + 8 * value, sizeof(bytes));
    return std::min(bytes, each);
  }
  void SetSize(uint64_t n, uint64_t value, uint64_t bytes) const {
    std::memcpy(At(n) + sizeof(MessageHeader) + 8 * value, &bytes, sizeof(bytes));
  }
};

// Makes slots in ordinary memory or, where a queue reaches for them, in that of `host`.
Result<MessageSlots> MakeSlots(const ChannelShape& shape, device::Device* host);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_SLOTS_H_

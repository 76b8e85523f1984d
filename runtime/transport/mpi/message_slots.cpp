#include "runtime/transport/mpi/message_slots.h"

#include <string>
#include <utility>

namespace cgraph::transport {

Result<MessageSlots> MakeSlots(const ChannelShape& shape, device::Device* host) {
  const char* const what = "a channel's messages";
  device::BumpLayout layout;
  layout.Add(FirstValue(shape.spans));
  layout.Add(shape.message_bytes);
  layout.Add(16ull * shape.spans);  // each value begins at a multiple of 16
  MessageSlots slots;
  slots.spans = shape.spans;
  slots.count = std::max(
      1u, shape.capacity == 0 ? shape.outstanding : std::min(shape.outstanding, shape.capacity));
  slots.each = cluster::MessageBytes(layout.size());
  if (layout.size() > UINT64_MAX / 2 / slots.count) {
    return Status(StatusCode::kInvalid, std::string("no memory for ") + what);
  }
  const uint64_t bytes = slots.each * slots.count;
  auto memory = host == nullptr ? device::Memory::Allocate(bytes, what)
                                : host->Allocate(bytes, device::MemoryKind::pinned, what);
  if (!memory.ok()) return memory.status();
  slots.memory = std::move(*memory);
  return slots;
}

}  // namespace cgraph::transport

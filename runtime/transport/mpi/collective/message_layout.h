// MessageLayout: how sections of a member's values lie in one message: a header, the size of each
// section, and then the sections. Both ends know from the shape which sections these are. The sizes
// in a message are of its round, and may be less than the shape's; what is poisoned has no bytes.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MESSAGE_LAYOUT_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MESSAGE_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/transport/collective.h"
#include "runtime/transport/mpi/collective/sections.h"

namespace cgraph::transport {

class MessageLayout {
 public:
  MessageLayout(const CollectiveShape& shape, std::vector<Section> sections);

  const std::vector<Section>& sections() const { return sections_; }
  // The most bytes of a message, of whose memory the sections need all, whatever a message says.
  uint64_t most_bytes() const { return most_bytes_; }

  // Writes a message into memory of most_bytes() and returns how long it is, in whole units.
  // `values`: by tensor.
  uint64_t Write(uint64_t round, bool poison, std::span<const BufferSpan> values,
                 std::byte* to) const;
  // Says where the sections of a message lie, and returns whether it is poisoned. So is a message
  // that is none of this round's, or shorter than its header.
  bool Read(uint64_t round, std::span<std::byte> message, std::span<BufferSpan> sections) const;

 private:
  struct Header {
    uint64_t round = 0;
    uint64_t poison = 0;
  };
  uint64_t SizesEnd() const { return sizeof(Header) + sections_.size() * sizeof(uint64_t); }

  uint32_t members_ = 1;
  std::vector<Section> sections_;
  std::vector<uint64_t> most_of_;  // by section: its bytes at most
  uint64_t most_bytes_ = 0;
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MESSAGE_LAYOUT_H_

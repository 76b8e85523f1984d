// RemoteMember: a member of another rank of a collective, as a rank hears it. Its messages come in
// a fixed order: in each round one with what this rank needs of its inputs and, where there are
// slices, one with the slices that it has reduced.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_REMOTE_MEMBER_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_REMOTE_MEMBER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/device/memory.h"
#include "runtime/transport/collective.h"
#include "runtime/transport/mpi/collective/message_layout.h"

namespace cgraph::transport {

class RemoteMember final : public cluster::Listener {
 public:
  // Takes a message of round n: of inputs, or of slices. The thread that polls calls it.
  using Take = std::function<void(RemoteMember& from, uint64_t n, bool slices,
                                  std::span<std::byte> message)>;

  // `own`: this rank. kInvalid when there is no memory for the messages.
  static Result<std::unique_ptr<RemoteMember>> Make(const CollectiveShape& shape,
                                                    std::span<const uint32_t> ranks,
                                                    uint32_t member, uint32_t own, Take take);

  uint32_t member() const { return member_; }
  const MessageLayout& inputs() const { return inputs_; }
  const MessageLayout& slices() const { return slices_; }
  bool has_slices() const { return !slices_.sections().empty(); }
  // Where the slices of a message lie, for its reader; by section.
  std::vector<BufferSpan>& slice_sections() { return slice_sections_; }
  // Returns which of the sections of its inputs has what a member of this rank needs of a tensor.
  size_t SectionOf(uint32_t tensor, uint32_t reader) const {
    return section_of_[tensor * members_ + reader];
  }
  void KeepIn(cluster::Messenger& messenger) { messenger.Keep(std::move(memory_)); }

 private:
  RemoteMember(const CollectiveShape& shape, std::span<const uint32_t> ranks, uint32_t member,
               uint32_t own, Take take);
  uint32_t per_round() const { return has_slices() ? 2 : 1; }
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override;
  bool OnMessage(uint32_t, std::span<const std::byte> message) override;

  const Take take_;
  const uint32_t members_, member_, rank_;
  const MessageLayout inputs_, slices_;
  std::vector<BufferSpan> slice_sections_;
  std::vector<size_t> section_of_;
  // For inputs of two rounds, since they may come while members here still read those of the round
  // before. The slices of one round are enough: the sender reduces the next ones of inputs that
  // members here send when they have left this round, and its slices are taken by then.
  device::Memory memory_;
  uint64_t begun_ = 0, arrived_ = 0;  // messages
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_REMOTE_MEMBER_H_

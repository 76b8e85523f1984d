// A collective whose members are at several ranks, some of which share no memory. Each member sends
// every other rank what the members there need of its input (sections.h), and each makes its own
// result of what came, reducing in the order of members, so results have the same bits everywhere.
// In a large all_reduce each member sends a second time: the slice that it has reduced, to the
// other ranks. A rank without a member has an object that does nothing.
//
// The thread that drives a member sends its messages and makes its result. The thread that polls
// takes the messages of members elsewhere, and copies the slices that they have reduced into the
// results here. What one of them shows another goes through MemberRounds.
#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "runtime/base/kinds/collective.h"
#include "runtime/transport/mpi/collective/local_member.h"
#include "runtime/transport/mpi/collective/member_results.h"
#include "runtime/transport/mpi/collective/member_rounds.h"
#include "runtime/transport/mpi/collective/remote_member.h"
#include "runtime/transport/mpi/mpi_transport.h"

namespace cgraph::transport {
namespace {

using cluster::Messenger;

class MessageCollective final : public Collective {
 public:
  MessageCollective(const CollectiveShape& shape, Messenger& messenger, uint32_t first_tag,
                    std::vector<uint32_t> ranks)
      : shape_(shape),
        traits_(TraitsOf(shape.kind)),
        messenger_(messenger),
        first_tag_(first_tag),
        ranks_(std::move(ranks)),
        rounds_(shape.members, shape.tensors.size()),
        event_counts_(shape.members),
        local_(shape.members),
        remote_(shape.members),
        results_(shape_, rounds_, remote_) {}
  ~MessageCollective() override {
    // Before Listen(), which waits for the messages that have begun to come: what is delivered
    // under the messenger's lock from then on sees it.
    closing_.store(true, std::memory_order_relaxed);
    for (uint32_t m = 0; m < shape_.members; ++m) {
      if (!Here(m)) messenger_.Listen(first_tag_ + m, nullptr);
      if (!messenger_.given_up()) continue;
      local_[m].KeepIn(messenger_);
      if (remote_[m] != nullptr) remote_[m]->KeepIn(messenger_);
    }
  }

  // Called once, before all else.
  Status MakeMembers() {
    for (uint32_t m = 0; m < shape_.members; ++m) {
      CGRAPH_RETURN_IF_ERROR(Here(m) ? local_[m].MakeMessages(shape_, ranks_, m)
                                     : MakeRemoteMember(m));
    }
    return Status::Ok();
  }

  void SetEventCount(uint32_t member, EventCount* event_count) override {
    if (Here(member)) event_counts_[member] = event_count;
  }

  void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
              std::span<const BufferSpan> outputs, bool poison) override {
    // A poisoned member sends, too: others wait for its message. It has no bytes then.
    for (OutgoingMessage& message : local_[member].inputs) {
      message.Send(messenger_, first_tag_ + member, n, poison, inputs);
    }
    MemberRound& round = rounds_.Of(member, n);
    round.poison = poison;
    std::copy(inputs.begin(), inputs.end(), round.inputs.begin());
    // The root of a broadcast may leave its own output where its input is; a span without memory
    // has no bytes.
    std::fill(round.outputs.begin(), round.outputs.end(), BufferSpan{nullptr, 0});
    std::copy(outputs.begin(), outputs.end(), round.outputs.begin());
    rounds_.SetArrived(member, n);
    NotifyOthers(event_counts_, member);
  }
  Presence PresenceOf(uint32_t member, uint64_t n) const override {
    if (rounds_.HasLeft(member, n)) return Presence::kLeft;
    return rounds_.Count(member) > n ? Presence::kPresent : Presence::kAway;
  }
  bool AllArrived(uint64_t n) const override {
    for (uint32_t m = 0; m < shape_.members; ++m) {
      if (!rounds_.Arrived(m, n)) return false;
    }
    return true;
  }

  bool Reduce(uint32_t member, uint64_t n) override {
    bool poison = rounds_.Of(member, n).poison;
    if (traits_.from == CollectiveTraits::kRoot) {
      poison |= rounds_.Of(shape_.root, n).poison;  // nothing of the others flows here
    } else {
      for (uint32_t other = 0; other < shape_.members; ++other)
        poison |= rounds_.Of(other, n).poison;
    }
    for (uint32_t t = 0; t < shape_.tensors.size() && !poison; ++t) {
      results_.Compute(member, n, t);
    }
    for (OutgoingMessage& message : local_[member].slices) {
      message.Send(messenger_, first_tag_ + member, n, poison, rounds_.Of(member, n).outputs);
    }
    Leave(member, n);
    return poison;
  }
  // Every member here has read what it reads of the others and written what it writes for them, the
  // others' slices are here, and what was sent has left, so that its memory can be used again.
  bool Left(uint64_t n) const override {
    for (uint32_t m = 0; m < shape_.members; ++m) {
      if (!rounds_.HasLeft(m, n) || !local_[m].AllLeft(n)) return false;
    }
    return true;
  }

 private:
  Status MakeRemoteMember(uint32_t member) {
    auto made = RemoteMember::Make(
        shape_, ranks_, member, messenger_.rank(),
        [this](RemoteMember& from, uint64_t n, bool slices, std::span<std::byte> message) {
          slices ? OnSlices(from, n, message) : OnInputs(from, n, message);
        });
    if (!made.ok()) return made.status();
    remote_[member] = std::move(*made);
    for (uint64_t n : {0, 1}) {
      rounds_.Of(member, n).sections.resize(remote_[member]->inputs().sections().size());
    }
    messenger_.Listen(first_tag_ + member, remote_[member].get());
    return Status::Ok();
  }

  void OnInputs(const RemoteMember& from, uint64_t n, std::span<std::byte> message) {
    MemberRound& round = rounds_.Of(from.member(), n);
    round.poison = from.inputs().Read(n, message, round.sections);
    rounds_.SetArrived(from.member(), n);
    if (from.has_slices()) {
      NotifyOthers(event_counts_, from.member());
    } else {
      Leave(from.member(), n);  // nothing more of it is to come
    }
  }
  // Such a message comes when all members here have arrived: the sender has reduced their inputs.
  // So the thread that polls may write into their results. Each slice has one writer, and results
  // are read only after Left().
  void OnSlices(RemoteMember& from, uint64_t n, std::span<std::byte> message) {
    std::vector<BufferSpan>& slices = from.slice_sections();
    // What comes while this is destroyed must not be written where the results once were.
    const bool unwanted =
        from.slices().Read(n, message, slices) || closing_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < slices.size() && !unwanted; ++i) {
      results_.TakeSlice(n, from.slices().sections()[i], slices[i]);
    }
    Leave(from.member(), n);
  }

  bool Here(uint32_t member) const { return ranks_[member] == messenger_.rank(); }

  void Leave(uint32_t member, uint64_t n) {
    rounds_.SetLeft(member, n);
    NotifyOthers(event_counts_, member);
  }

  const CollectiveShape shape_;
  const CollectiveTraits& traits_;
  Messenger& messenger_;
  const uint32_t first_tag_;
  const std::vector<uint32_t> ranks_;  // by member
  MemberRounds rounds_;
  std::vector<EventCount*> event_counts_;  // by member
  std::vector<LocalMember> local_;                     // by member
  std::vector<std::unique_ptr<RemoteMember>> remote_;  // by member; null: it is one of this rank
  MemberResults results_;
  std::atomic<bool> closing_{false};
};

}  // namespace

Result<std::unique_ptr<Collective>> MakeMessageCollective(const CollectiveShape& shape,
                                                          Messenger& messenger, uint32_t first_tag,
                                                          std::vector<uint32_t> ranks) {
  auto made = std::make_unique<MessageCollective>(shape, messenger, first_tag, std::move(ranks));
  CGRAPH_RETURN_IF_ERROR(made->MakeMembers());
  return std::unique_ptr<Collective>(std::move(made));
}

}  // namespace cgraph::transport

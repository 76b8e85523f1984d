#include "runtime/channel/messages/message_collective.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "runtime/channel/messages/outgoing_message.h"
#include "runtime/channel/messages/message_layout.h"
#include "runtime/channel/messages/sections.h"
#include "runtime/device/kernels/reductions/across.h"
#include "runtime/device/memory.h"
#include "runtime/kinds/collective.h"
#include "runtime/plan/kinds.h"

namespace cgraph::channel {
namespace {

using ranks::Messenger;

// A tile of a slice is computed once and copied to the members here while it is in the cache.
constexpr uint64_t kSliceTileBytes = 16 << 10;

// Round: what a member has shown in a round. A member has two of these, used in turn: it can be one
// round ahead of the slowest member, which may still be reading the round before, but not two.
struct Round {
  std::atomic<uint64_t> number{0};          // plus one
  bool poison = false;
  std::vector<BufferSpan> inputs, outputs;  // of a member of this rank
  std::vector<BufferSpan> sections;           // of a member of another rank
};

// MemberHere: a member of this rank.
struct MemberHere {
  device::EventCount* event_count = nullptr;
  std::vector<OutgoingMessage> inputs;  // sent on arrival
  std::vector<OutgoingMessage> slices;  // sent when it has reduced them; one, or none
};

class MessageCollective;

// RemoteMember: a member of another rank. Its messages come in a fixed order: in each round one
// with what this rank needs of its inputs and, where there are slices, one with the slices that it
// has reduced.
struct RemoteMember final : ranks::Listener {
  RemoteMember(MessageCollective& collective, uint32_t member, uint32_t rank, MessageLayout inputs,
               MessageLayout slices)
      : collective(collective),
        member(member),
        rank(rank),
        inputs(std::move(inputs)),
        slices(std::move(slices)),
        slice_sections(this->slices.sections().size()) {}

  uint32_t per_round() const { return slices.sections().empty() ? 1 : 2; }
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    const uint64_t each = inputs.most_bytes();
    std::span<std::byte> buffer(memory.data() + (begun / per_round() & 1) * each, each);
    if (begun % per_round() == 1) buffer = {memory.data() + 2 * each, slices.most_bytes()};
    if (from != rank || bytes > buffer.size()) return {};
    ++begun;
    return buffer;
  }
  bool OnMessage(uint32_t, std::span<const std::byte> message) override;

  MessageCollective& collective;
  const uint32_t member, rank;
  const MessageLayout inputs, slices;
  std::vector<BufferSpan> slice_sections;
  std::vector<size_t> section_of;  // by tensor and member here: the index of its section
  device::Memory memory;         // for inputs of two rounds, and the slices of one
  uint64_t begun = 0, arrived = 0;  // messages
};

class MessageCollective final : public Collective {
 public:
  MessageCollective(const CollectiveShape& shape, Messenger& messenger, uint32_t first_tag,
                    std::vector<uint32_t> ranks)
      : shape_(shape),
        traits_(TraitsOf(shape.kind)),
        messenger_(messenger),
        first_tag_(first_tag),
        ranks_(std::move(ranks)),
        rounds_(2 * size_t{shape.members}),
        left_(shape.members),
        members_(shape.members),
        remote_(shape.members),
        sources_(size_t{shape.members} * shape.members) {
    for (uint32_t t = 0; t < shape.tensors.size(); ++t) {
      divisions_.push_back(DivisionOf(shape, t));
      across_.push_back(shape.reduction
                            ? device::FindAcross(shape.tensors[t].dtype, *shape.reduction)
                            : nullptr);
    }
  }
  ~MessageCollective() override {
    closing_.store(true, std::memory_order_relaxed);
    for (uint32_t m = 0; m < shape_.members; ++m) {
      if (!Here(m)) messenger_.Listen(first_tag_ + m, nullptr);
      if (!messenger_.given_up()) continue;
      for (auto* messages : {&members_[m].inputs, &members_[m].slices}) {
        for (OutgoingMessage& message : *messages) message.KeepIn(messenger_);
      }
      if (remote_[m] != nullptr) messenger_.Keep(std::move(remote_[m]->memory));
    }
  }

  // Called once, before all else.
  Status MakeMembers() {
    for (uint32_t m = 0; m < shape_.members; ++m) {
      for (Round* round : {&RoundOf(m, 0), &RoundOf(m, 1)}) {
        round->inputs.resize(shape_.tensors.size());
        round->outputs.resize(shape_.tensors.size());
      }
      CGRAPH_RETURN_IF_ERROR(Here(m) ? MakeMember(m) : MakeRemoteMember(m));
    }
    return Status::Ok();
  }

  void SetEventCount(uint32_t member, device::EventCount* event_count) override {
    members_[member].event_count = event_count;
  }

  void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
              std::span<const BufferSpan> outputs, bool poison) override {
    for (OutgoingMessage& message : members_[member].inputs) {
      message.Send(messenger_, first_tag_ + member, n, poison, inputs);
    }
    Round& round = RoundOf(member, n);
    round.poison = poison;
    std::copy(inputs.begin(), inputs.end(), round.inputs.begin());
    // The root of a broadcast may leave its own output where its input is; a span without memory
    // has no bytes.
    std::fill(round.outputs.begin(), round.outputs.end(), BufferSpan{nullptr, 0});
    std::copy(outputs.begin(), outputs.end(), round.outputs.begin());
    round.number.store(n + 1, std::memory_order_release);
    NotifyOthers(member);
  }
  bool Present(uint32_t other, uint32_t member) const override {
    const auto rounds = [&](uint32_t of) {
      return std::max(RoundOf(of, 0).number.load(std::memory_order_relaxed),
                      RoundOf(of, 1).number.load(std::memory_order_relaxed));
    };
    return rounds(other) >= rounds(member);
  }
  bool AllArrived(uint64_t n) const override {
    for (uint32_t m = 0; m < shape_.members; ++m) {
      if (!Arrived(m, n)) return false;
    }
    return true;
  }

  bool Reduce(uint32_t member, uint64_t n) override {
    bool poison = RoundOf(member, n).poison;
    if (traits_.from == CollectiveTraits::kRoot) {
      poison |= RoundOf(shape_.root, n).poison;  // nothing of the others flows here
    } else {
      for (uint32_t other = 0; other < shape_.members; ++other) poison |= RoundOf(other, n).poison;
    }
    for (uint32_t t = 0; t < shape_.tensors.size() && !poison; ++t) Compute(member, n, t);
    for (OutgoingMessage& message : members_[member].slices) {
      message.Send(messenger_, first_tag_ + member, n, poison, RoundOf(member, n).outputs);
    }
    Leave(member, n);
    return poison;
  }
  // Every member here has read what it reads of the others and written what it writes for them, the
  // others' slices are here, and what was sent has left, so that its memory can be used again.
  bool Left(uint64_t n) const override {
    for (uint32_t m = 0; m < shape_.members; ++m) {
      if (left_[m].load(std::memory_order_acquire) <= n) return false;
      for (const auto* messages : {&members_[m].inputs, &members_[m].slices}) {
        for (const OutgoingMessage& message : *messages) {
          if (!message.Left(n)) return false;
        }
      }
    }
    return true;
  }

  // ---- messages of members at other ranks, by the thread that polls ----

  void OnInputs(const RemoteMember& from, uint64_t n, std::span<std::byte> message) {
    Round& round = RoundOf(from.member, n);
    round.poison = from.inputs.Read(n, message, round.sections);
    round.number.store(n + 1, std::memory_order_release);
    if (from.per_round() == 1) {
      Leave(from.member, n);  // nothing more of it is to come
    } else {
      NotifyOthers(from.member);
    }
  }
  // Such a message comes when all members here have arrived: the sender has reduced their inputs.
  void OnSlices(RemoteMember& from, uint64_t n, std::span<std::byte> message) {
    // What comes while this is destroyed must not be written where the results once were.
    const bool unwanted = from.slices.Read(n, message, from.slice_sections) ||
                          closing_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < from.slice_sections.size() && !unwanted; ++i) {
      TakeSlice(n, from.slices.sections()[i], from.slice_sections[i]);
    }
    Leave(from.member, n);
  }

 private:
  Status MakeMember(uint32_t member) {
    const std::set<uint32_t> all(ranks_.begin(), ranks_.end());
    std::vector<std::pair<std::vector<Section>, std::vector<uint32_t>>> to;
    std::vector<uint32_t> others;
    for (uint32_t rank : all) {
      if (rank == messenger_.rank()) continue;
      others.push_back(rank);
      std::vector<Section> sections = SectionsFor(shape_, ranks_, member, rank);
      auto same = std::find_if(to.begin(), to.end(),
                               [&](const auto& other) { return other.first == sections; });
      if (same == to.end()) same = to.insert(to.end(), {std::move(sections), {}});
      same->second.push_back(rank);
    }
    MemberHere& at = members_[member];
    for (auto& [sections, ranks] : to) {
      at.inputs.emplace_back(MessageLayout(shape_, std::move(sections)), std::move(ranks));
      CGRAPH_RETURN_IF_ERROR(at.inputs.back().Allocate());
    }
    std::vector<Section> slices = SlicesOf(shape_, member);
    if (slices.empty()) return Status::Ok();
    at.slices.emplace_back(MessageLayout(shape_, std::move(slices)), std::move(others));
    return at.slices.back().Allocate();
  }

  Status MakeRemoteMember(uint32_t member) {
    auto made = std::make_unique<RemoteMember>(
        *this, member, ranks_[member],
        MessageLayout(shape_, SectionsFor(shape_, ranks_, member, messenger_.rank())),
        MessageLayout(shape_, SlicesOf(shape_, member)));
    auto memory =
        device::Memory::Allocate(2 * made->inputs.most_bytes() + made->slices.most_bytes(),
                                 "a collective's messages");
    if (!memory.ok()) return memory.status();
    made->memory = std::move(*memory);
    const std::vector<Section>& sections = made->inputs.sections();
    made->section_of.assign(shape_.tensors.size() * shape_.members, 0);
    for (size_t i = 0; i < sections.size(); ++i) {
      const auto first = made->section_of.begin() + sections[i].tensor * shape_.members;
      if (sections[i].division == Division::kWhole) std::fill_n(first, shape_.members, i);
      else first[sections[i].member] = i;
    }
    for (uint64_t n : {0, 1}) RoundOf(member, n).sections.resize(sections.size());
    remote_[member] = std::move(made);
    messenger_.Listen(first_tag_ + member, remote_[member].get());
    return Status::Ok();
  }

  bool Here(uint32_t member) const { return ranks_[member] == messenger_.rank(); }
  bool Gives(uint32_t member) const { return traits_.gives(member, shape_.root); }
  bool Gets(uint32_t member) const { return traits_.gets(member, shape_.root); }
  const Round& RoundOf(uint32_t member, uint64_t n) const { return rounds_[2 * member + (n & 1)]; }
  Round& RoundOf(uint32_t member, uint64_t n) { return rounds_[2 * member + (n & 1)]; }
  bool Arrived(uint32_t member, uint64_t n) const {
    return RoundOf(member, n).number.load(std::memory_order_acquire) == n + 1;
  }

  // Nothing more of this member is to come in round n, nor does it look at others any more.
  void Leave(uint32_t member, uint64_t n) {
    left_[member].store(n + 1, std::memory_order_release);
    NotifyOthers(member);
  }
  void NotifyOthers(uint32_t member) {
    for (uint32_t other = 0; other < shape_.members; ++other) {
      device::EventCount* const event_count = members_[other].event_count;
      const bool again = other != 0 && event_count == members_[other - 1].event_count;
      if (other != member && Here(other) && !again) event_count->Notify();
    }
  }

  // Returns what `reader`, a member here, needs of a tensor of `member`. Sizes are equal at all
  // members unless a plan tells them different extents; then some have less than others look for.
  BufferSpan Source(uint32_t member, uint32_t reader, uint64_t n, uint32_t tensor) const {
    const Round& round = RoundOf(member, n);
    if (!Here(member)) {
      return round.sections[remote_[member]->section_of[tensor * shape_.members + reader]];
    }
    const BufferSpan& input = round.inputs[tensor];
    const ByteRange part = SectionRange(divisions_[tensor], shape_.members, reader, input.bytes);
    return {static_cast<std::byte*>(input.data) + part.begin, part.bytes};
  }

  // Makes what `member` makes of a tensor: its own result, or its slice of everybody's.
  void Compute(uint32_t member, uint64_t n, uint32_t tensor) {
    if (divisions_[tensor] == Division::kSlices) return ReduceSlice(member, n, tensor);
    const BufferSpan& output = RoundOf(member, n).outputs[tensor];
    if (!Gets(member) || output.data == nullptr) return;
    auto* const out = static_cast<std::byte*>(output.data);
    if (traits_.reduces) {
      const auto [from, bytes] = Sources(member, n, tensor, output.bytes);
      across_[tensor](from, shape_.members, bytes / Width(tensor), out);
      return;
    }
    const uint64_t part = traits_.joins() ? output.bytes / shape_.members : output.bytes;
    for (uint32_t of = 0; of < shape_.members; ++of) {
      if (!Gives(of)) continue;
      const BufferSpan source = Source(of, member, n, tensor);
      device::CopyBytes(out + (traits_.joins() ? of * part : 0), source.data,
                        std::min(part, source.bytes));
    }
  }

  // Returns what `member` reduces, of each member, and how many bytes of it there are everywhere.
  std::pair<const void**, uint64_t> Sources(uint32_t member, uint64_t n, uint32_t tensor,
                                            uint64_t most) {
    const void** const from = sources_.data() + size_t{member} * shape_.members;
    for (uint32_t of = 0; of < shape_.members; ++of) {
      const BufferSpan source = Source(of, member, n, tensor);
      from[of] = source.data;
      most = std::min(most, source.bytes);
    }
    return {from, most};
  }

  // Reduces a member's slice, into its own result and those of the others here.
  void ReduceSlice(uint32_t member, uint64_t n, uint32_t tensor) {
    const ByteRange slice = SliceHere(n, tensor, member);
    auto [from, bytes] = Sources(member, n, tensor, slice.bytes);
    for (uint64_t at = 0; at < bytes; at += kSliceTileBytes) {
      const uint64_t count = std::min(kSliceTileBytes, bytes - at);
      std::byte* const tile = Output(member, n, tensor) + slice.begin + at;
      across_[tensor](from, shape_.members, count / Width(tensor), tile);
      CopyToMembersHere(n, tensor, slice.begin + at, tile, count);
      for (uint32_t of = 0; of < shape_.members; ++of) {
        from[of] = static_cast<const std::byte*>(from[of]) + count;
      }
    }
  }
  void TakeSlice(uint64_t n, const Section& section, const BufferSpan& from) {
    const ByteRange slice = SliceHere(n, section.tensor, section.member);
    CopyToMembersHere(n, section.tensor, slice.begin, from.data, std::min(slice.bytes, from.bytes));
  }
  // Returns a member's slice of a result for which all members here have room; none before they
  // have arrived.
  ByteRange SliceHere(uint64_t n, uint32_t tensor, uint32_t member) const {
    uint64_t bytes = shape_.tensors[tensor].bytes;
    for (uint32_t m = 0; m < shape_.members; ++m) {
      if (!Here(m)) continue;
      const BufferSpan& output = RoundOf(m, n).outputs[tensor];
      bytes = Arrived(m, n) && output.data != nullptr ? std::min(bytes, output.bytes) : 0;
    }
    return SectionRange(Division::kSlices, shape_.members, member, bytes);
  }
  void CopyToMembersHere(uint64_t n, uint32_t tensor, uint64_t begin, const void* from,
                         uint64_t bytes) {
    for (uint32_t m = 0; m < shape_.members && bytes != 0; ++m) {
      if (Here(m)) device::CopyBytes(Output(m, n, tensor) + begin, from, bytes);
    }
  }
  std::byte* Output(uint32_t member, uint64_t n, uint32_t tensor) const {
    return static_cast<std::byte*>(RoundOf(member, n).outputs[tensor].data);
  }
  uint64_t Width(uint32_t tensor) const {
    return static_cast<uint64_t>(plan::DTypeBytes(shape_.tensors[tensor].dtype));
  }

  const CollectiveShape shape_;
  const CollectiveTraits& traits_;
  Messenger& messenger_;
  const uint32_t first_tag_;
  const std::vector<uint32_t> ranks_;      // by member
  std::vector<Division> divisions_;        // by tensor
  std::vector<device::Across> across_;     // by tensor, of kinds that reduce
  std::vector<Round> rounds_;              // by member, two each
  std::vector<std::atomic<uint64_t>> left_;  // by member: rounds
  std::vector<MemberHere> members_;
  std::vector<std::unique_ptr<RemoteMember>> remote_;  // by member; null: it is one of this rank
  std::vector<const void*> sources_;       // by member here, then by member
  std::atomic<bool> closing_{false};
};

bool RemoteMember::OnMessage(uint32_t, std::span<const std::byte> message) {
  const uint64_t n = arrived++;
  // It lies in this object's memory.
  const std::span<std::byte> bytes(const_cast<std::byte*>(message.data()), message.size());
  if (n % per_round() == 0) collective.OnInputs(*this, n / per_round(), bytes);
  else collective.OnSlices(*this, n / per_round(), bytes);
  return true;
}

// The collective of a rank that has no member.
class CollectiveElsewhere final : public Collective {
 public:
  void SetEventCount(uint32_t, device::EventCount*) override {}
  void Arrive(uint32_t, uint64_t, std::span<const BufferSpan>, std::span<const BufferSpan>,
              bool) override {}
  bool Present(uint32_t, uint32_t) const override { return true; }
  bool AllArrived(uint64_t) const override { return false; }
  bool Reduce(uint32_t, uint64_t) override { return true; }
  bool Left(uint64_t) const override { return false; }
};

}  // namespace

Result<std::unique_ptr<Collective>> MakeMessageCollective(const CollectiveShape& shape,
                                                          Messenger& messenger,
                                                          uint32_t first_tag,
                                                          std::vector<uint32_t> ranks) {
  if (std::find(ranks.begin(), ranks.end(), messenger.rank()) == ranks.end()) {
    return std::unique_ptr<Collective>(std::make_unique<CollectiveElsewhere>());
  }
  auto made = std::make_unique<MessageCollective>(shape, messenger, first_tag, std::move(ranks));
  CGRAPH_RETURN_IF_ERROR(made->MakeMembers());
  return std::unique_ptr<Collective>(std::move(made));
}

}  // namespace cgraph::channel

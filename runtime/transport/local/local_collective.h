// A collective among lanes that have one address space.
//
// A member that arrives shows where its values lie or, when they are small, puts a copy into its
// member slot. Its share: it computes its own part of the result and writes that part to every
// member, or it takes its result from the others, or, in a large broadcast, both. Every member
// reduces in rank order, so results have the same bits everywhere and every time.
//
// A member writes its own slot alone, and its number last: the release of the number shows the
// others what the slot says. A member writes into the results of others, too, and then the count of
// rounds that it has left: the release of that count shows them their results. Reports ask from any
// thread; for them the counts need no order.
#ifndef CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_COLLECTIVE_H_
#define CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_COLLECTIVE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/sync/event_count.h"
#include "runtime/device/cpu/kernels/reductions/across.h"
#include "runtime/device/shared_heap.h"
#include "runtime/plan/kinds.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

class LocalCollective final : public Collective {
 public:
  static Result<std::unique_ptr<LocalCollective>> Make(const CollectiveShape& shape,
                                                       device::SharedHeap& heap);

  void SetEventCount(uint32_t member, EventCount* event_count) override {
    event_counts_[member] = event_count;
  }
  void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
              std::span<const BufferSpan> outputs, bool poison) override;
  Presence PresenceOf(uint32_t member, uint64_t n) const override;
  bool AllArrived(uint64_t n) const override;
  bool Reduce(uint32_t member, uint64_t n) override;
  bool Left(uint64_t n) const override;

 private:
  // The values that a member shows in one round. A member has two of these slots, used in turn: it
  // can be one round ahead of the slowest member, which may still be reading the round before, but
  // not two.
  struct alignas(128) RoundSlot {
    std::atomic<uint64_t> number{0};  // of the round, plus one
    bool poison = false;
    alignas(16) std::byte near[48];   // what is small travels with the number, in its cache line
    std::byte* copies = nullptr;      // of the inputs, when they are small; then `near`, or further
    BufferSpan* spans = nullptr;          // inputs, then outputs
  };
  struct MemberSlot {
    RoundSlot slots[2];
    alignas(128) std::atomic<uint64_t> left{0};  // rounds
  };
  explicit LocalCollective(uint32_t members) : members_(members), event_counts_(members) {}

  bool Arrived(uint32_t member, uint64_t n) const {
    return SlotOf(member, n).number.load(std::memory_order_acquire) == n + 1;
  }
  const RoundSlot& SlotOf(uint32_t member, uint64_t n) const {
    return member_slots_[member].slots[n & 1];
  }
  RoundSlot& SlotOf(uint32_t member, uint64_t n) { return member_slots_[member].slots[n & 1]; }
  const std::byte* Input(uint32_t member, uint64_t n, uint32_t tensor) const;
  const BufferSpan& Output(uint32_t member, uint64_t n, uint32_t tensor) const;
  bool Gives(uint32_t member) const { return traits_->gives(member, root_); }
  bool Gets(uint32_t member) const { return traits_->gets(member, root_); }
  uint64_t PartBytes(uint32_t member, uint64_t n, uint32_t tensor) const;
  void ComputeTensor(uint32_t member, uint64_t n, uint32_t tensor);
  const void** Sources(uint32_t member, uint64_t n, uint32_t tensor, uint64_t offset);
  void BroadcastLarge(uint32_t member, uint64_t n, uint32_t tensor, uint64_t bytes);
  void ReduceForAll(uint32_t member, uint64_t n, uint32_t tensor, uint64_t bytes);

  const CollectiveTraits* traits_ = nullptr;
  uint32_t root_ = 0;
  uint32_t members_;
  // Inputs are copied on arrival, so no member waits for others to leave. A copy stays until the
  // member comes to the next round but one. By then all have read it, since a member comes to the
  // round between the two only when it is through with this one.
  bool eager_ = false;
  std::vector<CollectiveShape::Tensor> tensors_;
  std::vector<device::RankResult> results_;    // by tensor
  std::vector<uint64_t> copy_offsets_;   // by tensor
  std::span<MemberSlot> member_slots_;
  std::vector<EventCount*> event_counts_;  // by member
  // By member, then participant: members are driven by several threads, each of which has a row.
  std::vector<const void*> sources_;
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_COLLECTIVE_H_

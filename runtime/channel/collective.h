// Collective: one collective of a graph among the lanes of one process, in shared memory.
//
// Every participant has a member slot. In a round it *arrives* (shows where its values lie, or,
// when they are small, puts a copy into its slot), then, once all have arrived, does its *share*:
// it computes the part of the result that is its own and writes it to everybody, or takes its
// result from the others; and it is done when nobody needs its memory any more. So, as with NCCL,
// nobody is done before all are there, and an order that would hang on GPUs hangs here.
//
// Everyone reduces in rank order, so results are the same bits everywhere and every time. Nothing
// here blocks, allocates or locks: the lane's work queue asks again until it hears true.
#ifndef CGRAPH_RUNTIME_CHANNEL_COLLECTIVE_H_
#define CGRAPH_RUNTIME_CHANNEL_COLLECTIVE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/channel/channel.h"
#include "runtime/device/event_count.h"
#include "runtime/device/kernels/reductions/across.h"
#include "runtime/device/memory.h"
#include "runtime/plan/collective.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::channel {

// Whether this engine can make the collective; otherwise the reason.
Status CanMake(const plan::Graph& graph, uint32_t collective);

struct CollectiveShape {
  std::string_view kind, reduction;  // CanMake
  uint32_t root = 0;
  uint32_t members = 1;
  struct Tensor {
    plan::DType dtype;
    uint64_t bytes;  // of an input, at bound
  };
  std::vector<Tensor> tensors;
};

class Collective {
 public:
  static Result<std::unique_ptr<Collective>> Make(const CollectiveShape& shape);

  // At load: whom to wake when the others have moved.
  void SetEventCount(uint32_t member, device::EventCount* event_count) {
    member_slots_[member].event_count = event_count;
  }

  // In round n, once per member. A poisoned member's bytes are not worth reading.
  void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
              std::span<const BufferSpan> outputs, bool poison);
  bool Arrived(uint32_t member, uint64_t n) const {
    return SlotOf(member, n).number.load(std::memory_order_acquire) == n + 1;
  }
  // Whether `other` has come to every round that `member` has come to; for reports.
  bool Present(uint32_t other, uint32_t member) const;
  bool AllArrived(uint64_t n) const;
  // Once all have arrived: does what is this member's to do; returns the poison flag of what it
  // gets.
  bool Reduce(uint32_t member, uint64_t n);
  // After its share: whether all others are done with this member's memory.
  bool Left(uint64_t n) const;

 private:
  // What a member shows in every other round: it can be one round ahead of the slowest, who may
  // still be reading what it showed in the round before, and not two.
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
    device::EventCount* event_count = nullptr;
  };
  Collective() = default;

  const RoundSlot& SlotOf(uint32_t member, uint64_t n) const {
    return member_slots_[member].slots[n & 1];
  }
  RoundSlot& SlotOf(uint32_t member, uint64_t n) { return member_slots_[member].slots[n & 1]; }
  void NotifyOthers(uint32_t member);
  const std::byte* Input(uint32_t member, uint64_t n, uint32_t tensor) const;
  const BufferSpan& Output(uint32_t member, uint64_t n, uint32_t tensor) const;
  bool Gives(uint32_t member) const;
  bool Gets(uint32_t member) const;
  uint64_t PartBytes(uint32_t member, uint64_t n, uint32_t tensor) const;
  void ReduceTensor(uint32_t member, uint64_t n, uint32_t tensor);
  const void** Sources(uint32_t member, uint64_t n, uint32_t tensor, uint64_t offset);
  void ReduceForAll(uint32_t member, uint64_t n, uint32_t tensor, uint64_t bytes);

  const plan::CollectiveKind* kind_ = nullptr;
  uint32_t root_ = 0;
  uint32_t members_ = 1;
  bool eager_ = false;  // inputs are copied on arrival, so nobody waits for others to leave
  std::vector<CollectiveShape::Tensor> tensors_;
  std::vector<device::RankResult> results_;    // by tensor
  std::vector<uint64_t> copy_offsets_;   // by tensor
  std::unique_ptr<MemberSlot[]> member_slots_;
  std::vector<BufferSpan> spans_;
  std::vector<const void*> sources_;     // by member, then participant
  device::Memory storage_;
};

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_COLLECTIVE_H_

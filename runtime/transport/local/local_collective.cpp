#include "runtime/transport/local/local_collective.h"

#include <algorithm>

#include "runtime/device/memory.h"
#include "runtime/plan/kinds.h"

namespace cgraph::transport {
namespace {

using Traits = CollectiveTraits;

// Up to this size a further copy costs less than waiting until the other members have read.
constexpr uint64_t kEagerBytes = 4096;
// A tile of a result is computed once and copied to everybody while it is in the cache.
constexpr uint64_t kTileBytes = 16 << 10;
// Members write whole cache lines of a result.
constexpr uint64_t kLine = 64;

}  // namespace

Result<std::unique_ptr<LocalCollective>> LocalCollective::Make(const CollectiveShape& shape,
                                                               device::SharedHeap& heap) {
  std::unique_ptr<LocalCollective> made(new LocalCollective(shape.members));
  made->traits_ = &TraitsOf(shape.kind);
  made->root_ = shape.root;
  made->tensors_ = shape.tensors;
  uint64_t bytes = 0;
  for (const CollectiveShape::Tensor& tensor : shape.tensors) {
    made->results_.push_back(
        {shape.kind, shape.members, shape.root,
         static_cast<uint64_t>(plan::DTypeBytes(tensor.dtype)),
         shape.reduction ? device::FindAcross(tensor.dtype, *shape.reduction) : nullptr});
    made->copy_offsets_.push_back(bytes);
    // Cut at twice the limit: a sum that is too large stays so, however many tensors follow.
    bytes = (std::min(bytes + tensor.bytes, 2 * kEagerBytes) + 15) & ~uint64_t{15};
  }
  made->eager_ = bytes <= kEagerBytes;
  made->sources_.resize(static_cast<size_t>(shape.members) * shape.members);
  const char* const what = "a collective's messages";
  const size_t most = 2 * std::max<size_t>(1, shape.tensors.size());
  const bool far = made->eager_ && bytes > sizeof(RoundSlot::near);
  // Room for the copies of one round, which are no more than kEagerBytes.
  const uint64_t each = device::AlignUp(far ? bytes : 0, device::kLineAlign);
  const size_t rounds = 2 * size_t{shape.members};
  auto slots = heap.Make<MemberSlot>(shape.members, what);
  auto spans = heap.Make<BufferSpan>(rounds * most, what);
  auto storage = heap.Make<std::byte>(rounds * each, what);
  for (const Status& status : {slots.status(), spans.status(), storage.status()}) {
    CGRAPH_RETURN_IF_ERROR(status);
  }
  made->member_slots_ = *slots;
  for (size_t i = 0; i < rounds; ++i) {
    RoundSlot& slot = made->member_slots_[i / 2].slots[i % 2];
    slot.spans = spans->data() + i * most;
    slot.copies = far ? storage->data() + i * each : slot.near;
  }
  return made;
}

// ---- arriving and leaving -----------------------------------------------------------------------

void LocalCollective::Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
                             std::span<const BufferSpan> outputs, bool poison) {
  RoundSlot& slot = SlotOf(member, n);
  slot.poison = poison;
  std::copy(inputs.begin(), inputs.end(), slot.spans);
  // The root of a broadcast may leave its own output where its input is; a span without memory has
  // no bytes.
  BufferSpan* shown = slot.spans + tensors_.size();
  std::fill_n(shown, tensors_.size(), BufferSpan{nullptr, 0});
  std::copy(outputs.begin(), outputs.end(), shown);
  if (eager_ && !poison) {
    for (size_t t = 0; t < inputs.size(); ++t) {
      device::CopyBytes(slot.copies + copy_offsets_[t], inputs[t].data,
                        std::min(inputs[t].bytes, tensors_[t].bytes));
    }
  }
  slot.number.store(n + 1, std::memory_order_release);
  NotifyOthers(event_counts_, member);
}

bool LocalCollective::AllArrived(uint64_t n) const {
  for (uint32_t member = 0; member < members_; ++member) {
    if (!Arrived(member, n)) return false;
  }
  return true;
}

Presence LocalCollective::PresenceOf(uint32_t member, uint64_t n) const {
  if (member_slots_[member].left.load(std::memory_order_relaxed) > n) return Presence::kLeft;
  const uint64_t arrived = std::max(SlotOf(member, 0).number.load(std::memory_order_relaxed),
                                    SlotOf(member, 1).number.load(std::memory_order_relaxed));
  return arrived > n ? Presence::kPresent : Presence::kAway;
}

// Until all have left, others may read this member's inputs, and its result may lack the parts that
// others write.
bool LocalCollective::Left(uint64_t n) const {
  if (eager_) return true;
  for (uint32_t member = 0; member < members_; ++member) {
    if (member_slots_[member].left.load(std::memory_order_acquire) <= n) return false;
  }
  return true;
}

// ---- shares -------------------------------------------------------------------------------------

// All have arrived, so what their slots show may be read. `left` is stored when this member neither
// reads what others show nor writes into their results any more; a member that is poisoned leaves,
// too, since others wait for that.
bool LocalCollective::Reduce(uint32_t member, uint64_t n) {
  bool poison = SlotOf(member, n).poison;
  if (traits_->from == Traits::kRoot) {
    poison |= SlotOf(root_, n).poison;  // nothing of the others flows here
  } else {
    for (uint32_t other = 0; other < members_; ++other) poison |= SlotOf(other, n).poison;
  }
  for (uint32_t t = 0; t < tensors_.size() && !poison; ++t) ComputeTensor(member, n, t);
  if (!eager_) {
    member_slots_[member].left.store(n + 1, std::memory_order_release);
    NotifyOthers(event_counts_, member);
  }
  return poison;
}

const std::byte* LocalCollective::Input(uint32_t member, uint64_t n, uint32_t tensor) const {
  const RoundSlot& slot = SlotOf(member, n);
  if (eager_) return slot.copies + copy_offsets_[tensor];
  return static_cast<const std::byte*>(slot.spans[tensor].data);
}

const BufferSpan& LocalCollective::Output(uint32_t member, uint64_t n, uint32_t tensor) const {
  return SlotOf(member, n).spans[tensors_.size() + tensor];
}

// The bytes of one member's part of a tensor: the least that every member has room for. Members'
// sizes are equal unless a plan that is not proved tells them different extents. An eager copy has
// room for the bound, so there the size of the member's own result is enough, and other members'
// memory is not touched without need.
uint64_t LocalCollective::PartBytes(uint32_t member, uint64_t n, uint32_t tensor) const {
  const bool cut = traits_->divides();
  const bool joined = traits_->joins();
  uint64_t bytes = tensors_[tensor].bytes / (cut ? members_ : 1);
  if (eager_) return std::min(bytes, Output(member, n, tensor).bytes / (joined ? members_ : 1));
  for (uint32_t other = 0; other < members_; ++other) {
    const BufferSpan* spans = SlotOf(other, n).spans;
    if (Gives(other)) bytes = std::min(bytes, spans[tensor].bytes / (cut ? members_ : 1));
    const BufferSpan& output = spans[tensors_.size() + tensor];
    if (Gets(other) && output.data != nullptr) {
      bytes = std::min(bytes, output.bytes / (joined ? members_ : 1));
    }
  }
  return bytes;
}

// Each member makes its own result, but for three kinds with large inputs. Where a reduction is
// whole, each makes a part of it for all; a gather's members bring their inputs to the root; in a
// broadcast the root brings every member a part, and each fetches the rest.
void LocalCollective::ComputeTensor(uint32_t member, uint64_t n, uint32_t tensor) {
  const uint64_t bytes = PartBytes(member, n, tensor);
  const bool reduces = traits_->reduces && !traits_->divides();
  if (reduces && !eager_) return ReduceForAll(member, n, tensor, bytes);
  if (traits_->kind == CollectiveKind::kGather && !eager_) {
    // Every member brings its own to the root.
    std::byte* to = static_cast<std::byte*>(Output(root_, n, tensor).data);
    return device::CopyBytes(to + member * bytes, Input(member, n, tensor), bytes);
  }
  if (traits_->kind == CollectiveKind::kBroadcast && !eager_) {
    return BroadcastLarge(member, n, tensor, bytes);
  }
  void* out = Output(member, n, tensor).data;
  if (!Gets(member) || out == nullptr) return;
  device::ComputeRankResult(results_[tensor], member, Sources(member, n, tensor, 0), bytes, out);
}

// Every participant's input from byte `offset` on.
const void** LocalCollective::Sources(uint32_t member, uint64_t n, uint32_t tensor,
                                      uint64_t offset) {
  const void** from = sources_.data() + static_cast<size_t>(member) * members_;
  for (uint32_t of = 0; of < members_; ++of) {
    if (Gives(of)) from[of] = Input(of, n, tensor) + offset;
  }
  return from;
}

// The root brings everybody else the first part of its input, and they fetch the rest, so that all
// move about as much: what one core has just written reaches another one slowly.
void LocalCollective::BroadcastLarge(uint32_t member, uint64_t n, uint32_t tensor,
                                     uint64_t bytes) {
  const std::byte* from = Input(root_, n, tensor);
  const auto out = [&](uint32_t of) {
    return static_cast<std::byte*>(Output(of, n, tensor).data);
  };
  const uint64_t brought = bytes / members_ / kLine * kLine;
  if (member != root_) {
    if (out(member) == nullptr) return;
    return device::CopyBytes(out(member) + brought, from + brought, bytes - brought);
  }
  for (uint32_t to = 0; to < members_; ++to) {
    const bool takes = to != root_ && out(to) != nullptr && !SlotOf(to, n).poison;
    if (takes) device::CopyBytes(out(to), from, brought);
  }
  if (out(root_) != nullptr) device::CopyBytes(out(root_), from, bytes);
}

// For all_reduce and reduce of inputs that were not copied: every member computes some lines of the
// result for all that receive it. A tile is made in the member's own result, or in the root's where
// the member gets none. No other member writes these lines, so no tile needs memory of its own.
void LocalCollective::ReduceForAll(uint32_t member, uint64_t n, uint32_t tensor, uint64_t bytes) {
  const device::RankResult& share = results_[tensor];
  const uint64_t lines = (bytes + kLine - 1) / kLine;
  const uint64_t each = (lines + members_ - 1) / members_ * kLine;
  const uint64_t begin = std::min(bytes, member * each), end = std::min(bytes, begin + each);
  const uint32_t first = Gets(member) ? member : root_;  // in whose result the tile is made
  for (uint64_t at = begin; at < end; at += kTileBytes) {
    const uint64_t count = std::min(kTileBytes, end - at);
    std::byte* tile = static_cast<std::byte*>(Output(first, n, tensor).data) + at;
    share.across(Sources(member, n, tensor, at), members_, count / share.width, tile);
    for (uint32_t to = 0; to < members_; ++to) {
      if (to == first || !Gets(to)) continue;
      device::CopyBytes(static_cast<std::byte*>(Output(to, n, tensor).data) + at, tile, count);
    }
  }
}

}  // namespace cgraph::transport

// Collective: one collective of a graph among the lanes of a communicator; what moves the bytes is
// its carrier's (carrier.h).
//
// Every participant has a member slot. In a round it *arrives*, then, once all have arrived, does
// its *share*, and is done when nobody needs its memory any more. So, as with NCCL, nobody is done
// before all are there, and an order that would hang on GPUs hangs everywhere.
//
// Results are the same bits at all members and every time. Nothing blocks, allocates or locks: who
// drives a lane asks again until it hears true.
#ifndef CGRAPH_RUNTIME_CHANNEL_COLLECTIVE_H_
#define CGRAPH_RUNTIME_CHANNEL_COLLECTIVE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/channel/channel.h"
#include "runtime/device/sync/event_count.h"
#include "runtime/plan/plan.h"

namespace cgraph::channel {

struct CollectiveShape {
  std::string_view kind, reduction;  // that the carrier serves
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
  virtual ~Collective() = default;

  // At load: whom to wake when the others have moved.
  virtual void SetEventCount(uint32_t member, device::EventCount* event_count) = 0;

  // In round n, once per member. A poisoned member's bytes are not worth reading.
  virtual void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
                      std::span<const BufferSpan> outputs, bool poison) = 0;
  // Whether `other` has come to every round that `member` has come to; for reports.
  virtual bool Present(uint32_t other, uint32_t member) const = 0;
  virtual bool AllArrived(uint64_t n) const = 0;
  // Once all have arrived: does what is this member's to do; returns the poison flag of what it
  // gets.
  virtual bool Reduce(uint32_t member, uint64_t n) = 0;
  // After its share: whether all others are done with this member's memory.
  virtual bool Left(uint64_t n) const = 0;
};

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_COLLECTIVE_H_

// MemberRounds: what the members of a collective between ranks have shown in its rounds, and which
// have left them. A member is shown in two of them, used in turn: it can be one round ahead of the
// slowest member, which may still be reading the round before, but not two.
//
// A member of this rank is written by the thread that drives it, one of another rank by the thread
// that polls. The release of a number shows what the member shows in that round; the release of
// `left_` shows what it has written into the results of others.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MEMBER_ROUNDS_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MEMBER_ROUNDS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/transport/channel.h"

namespace cgraph::transport {

struct MemberRound {
  std::atomic<uint64_t> number{0};  // of the round, plus one
  bool poison = false;
  std::vector<BufferSpan> inputs, outputs;  // of a member of this rank, by tensor
  std::vector<BufferSpan> sections;         // of a member of another rank
};

class MemberRounds {
 public:
  MemberRounds(uint32_t members, size_t tensors) : rounds_(2 * size_t{members}), left_(members) {
    for (MemberRound& round : rounds_) {
      round.inputs.resize(tensors);
      round.outputs.resize(tensors);
    }
  }

  const MemberRound& Of(uint32_t member, uint64_t n) const { return rounds_[2 * member + (n & 1)]; }
  MemberRound& Of(uint32_t member, uint64_t n) { return rounds_[2 * member + (n & 1)]; }

  // Shows what Of(member, n) says.
  void SetArrived(uint32_t member, uint64_t n) {
    Of(member, n).number.store(n + 1, std::memory_order_release);
  }
  bool Arrived(uint32_t member, uint64_t n) const {
    return Of(member, n).number.load(std::memory_order_acquire) == n + 1;
  }
  // Returns how many rounds the member has arrived in, without a look at what it shows in them.
  uint64_t Count(uint32_t member) const {
    return std::max(Of(member, 0).number.load(std::memory_order_relaxed),
                    Of(member, 1).number.load(std::memory_order_relaxed));
  }

  // Nothing more of this member is to come in round n, nor does it look at others any more.
  void SetLeft(uint32_t member, uint64_t n) {
    left_[member].store(n + 1, std::memory_order_release);
  }
  bool HasLeft(uint32_t member, uint64_t n) const {
    return left_[member].load(std::memory_order_acquire) > n;
  }

 private:
  std::vector<MemberRound> rounds_;          // by member, two each
  std::vector<std::atomic<uint64_t>> left_;  // by member: rounds
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MEMBER_ROUNDS_H_

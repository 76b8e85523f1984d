// MemberResults: makes the results of a collective's members of this rank, of the inputs that all
// members have shown, in the order of members.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MEMBER_RESULTS_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MEMBER_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/kinds/collective.h"
#include "runtime/device/cpu/kernels/reductions/across.h"
#include "runtime/transport/collective.h"
#include "runtime/transport/mpi/collective/member_rounds.h"
#include "runtime/transport/mpi/collective/remote_member.h"
#include "runtime/transport/mpi/collective/sections.h"

namespace cgraph::transport {

class MemberResults {
 public:
  // `remote`: by member; null: it is one of this rank. All of them outlive this.
  MemberResults(const CollectiveShape& shape, const MemberRounds& rounds,
                std::span<const std::unique_ptr<RemoteMember>> remote);

  // Makes what `member` makes of a tensor in round n: its own result, or its slice of everybody's.
  // All have arrived, and none is poisoned.
  void Compute(uint32_t member, uint64_t n, uint32_t tensor);
  // Copies a slice that another rank has reduced to the members here.
  void TakeSlice(uint64_t n, const Section& section, const BufferSpan& from);

 private:
  bool Here(uint32_t member) const { return remote_[member] == nullptr; }
  BufferSpan Source(uint32_t member, uint32_t reader, uint64_t n, uint32_t tensor) const;
  std::pair<const void**, uint64_t> Sources(uint32_t member, uint64_t n, uint32_t tensor,
                                            uint64_t most);
  void ReduceSlice(uint32_t member, uint64_t n, uint32_t tensor);
  ByteRange SliceHere(uint64_t n, uint32_t tensor, uint32_t member) const;
  void CopyToMembersHere(uint64_t n, uint32_t tensor, uint64_t begin, const void* from,
                         uint64_t bytes);
  std::byte* Output(uint32_t member, uint64_t n, uint32_t tensor) const;
  uint64_t Width(uint32_t tensor) const;

  const CollectiveShape& shape_;
  const CollectiveTraits& traits_;
  const MemberRounds& rounds_;
  const std::span<const std::unique_ptr<RemoteMember>> remote_;
  std::vector<Division> divisions_;     // by tensor
  std::vector<device::Across> across_;  // by tensor, of kinds that reduce
  std::vector<const void*> sources_;    // by member here, then by member
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MEMBER_RESULTS_H_

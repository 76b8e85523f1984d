// What tests ask of the emulated NCCL besides NCCL's functions: its libnccl.so.2 also exports
// cgraph_emulated_nccl, which NVIDIA's does not.
#ifndef CGRAPH_TESTS_EMULATION_NCCL_CONTROL_H_
#define CGRAPH_TESTS_EMULATION_NCCL_CONTROL_H_

#include <cstdint>

namespace cgraph::emulation {

struct NcclControl {
  // Returns how many launches there were: what one rank issues in a group is one.
  uint64_t (*launches)();
  // Returns the communicators' ranks that nobody has destroyed or aborted.
  uint64_t (*live)();
  // Returns the ranks that were aborted.
  uint64_t (*aborted)();
  // The launch with this number, counted from the first one of the process, never begins, and its
  // rank reports an error; 0: none.
  void (*fail_at)(uint64_t launch);
};

}  // namespace cgraph::emulation

extern "C" const cgraph::emulation::NcclControl* cgraph_emulated_nccl();

#endif  // CGRAPH_TESTS_EMULATION_NCCL_CONTROL_H_

// Options: what the emulated NCCL is like, from the environment's CGRAPH_EMULATED_NCCL, for example
// "version=21800,order=ring,fail=3,memory=none,trace=/tmp/launches".
#ifndef CGRAPH_TESTS_EMULATION_NCCL_OPTIONS_H_
#define CGRAPH_TESTS_EMULATION_NCCL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace cgraph::emulation {

struct NcclOptions {
  int version = 22809;  // that ncclGetVersion says
  // Whether values are added as a ring of GPUs does it: from another rank on in each part of a
  // tensor, halves rounded at each rank, `avg` by dividing first. Else in the order of ranks, in
  // f32, as our own kernels do.
  bool ring = false;
  uint64_t abort = 0;  // milliseconds that ncclCommAbort takes before kernels end
  uint64_t fail = 0;    // the number of the launch that fails, from 1; 0: none
  std::string trace;    // a file to which each launch, and each registration, appends a line
  enum class Memory { kAll, kSome, kNone } memory = Memory::kAll;  // kSome: every other time
};

// A word that is not known, or a number that is none, ends the process with a sentence.
NcclOptions ParseNcclOptions(std::string_view text);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_NCCL_OPTIONS_H_

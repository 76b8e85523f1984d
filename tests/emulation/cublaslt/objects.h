// What cuBLASLt's handles stand for here. Objects are kept when they are destroyed, so that a dead
// one is known as such.
#ifndef CGRAPH_TESTS_EMULATION_CUBLASLT_OBJECTS_H_
#define CGRAPH_TESTS_EMULATION_CUBLASLT_OBJECTS_H_

#include <cstdint>
#include <mutex>

#include "runtime/device/cuda/libraries/cublaslt.h"

namespace cgraph::cuda {

struct LtHandleObject {
  bool lives = true;
  CUcontext context = nullptr;  // that was current when it was made
};
struct LtProductObject {
  bool lives = true;
  int compute = 0, scale = 0;
  int32_t transpose_a = 0, transpose_b = 0;
};
// A matrix by columns that lie `stride` elements apart.
struct LtLayoutObject {
  bool lives = true;
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t stride = 0;
  int32_t count = 1;
  int64_t batch_stride = 0;
};
struct LtPreferenceObject {
  bool lives = true;
  uint64_t most_workspace = 0;
  uint32_t reductions = ~uint32_t{0};
  uint32_t alignments[4] = {256, 256, 256, 256};  // of a, b, c, d
};

}  // namespace cgraph::cuda

namespace cgraph::emulation {

// Options: what the library is like, from the environment's CGRAPH_EMULATED_CUBLASLT, for example
// "seed=7,version=110400,report=1".
struct LtOptions {
  uint64_t seed = 1;         // which algorithms there are
  uint64_t version = 130000; // as cublasLtGetVersion counts
  bool refuses = false;      // cublasLtCreate fails, as where the driver is too old
  uint64_t fail = 0;         // the number of the product that fails, from 1; 0: none
  bool report = false;       // says at the end on stderr what was asked for
};
const LtOptions& TheLtOptions();

// Counts of what was asked for, for the report and for tests.
struct LtCounts {
  uint64_t handles = 0;   // that live
  uint64_t objects = 0;   // descriptions that live
  uint64_t products = 0;  // that were issued
  uint64_t chosen = 0;    // heuristics that found an algorithm
  uint64_t refused = 0;   // heuristics that found none
};

// Everything under the lock.
struct LtMachine {
  std::mutex mutex;
  LtCounts counts;
};
LtMachine& TheLtMachine();

}  // namespace cgraph::emulation

// Returns the counts; the real library has no such function.
extern "C" cgraph::emulation::LtCounts cgraph_emulated_cublaslt_counts();

#endif  // CGRAPH_TESTS_EMULATION_CUBLASLT_OBJECTS_H_

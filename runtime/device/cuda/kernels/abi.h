// What host and device code share: the sizes of blocks, and what kernels take, the layout of their
// arguments. There is no padding in it, so that a search for addresses in arguments finds nothing
// but addresses.
//
// Poison. A kernel that checks poison flags finds them in its device's memory or, where another
// device or the host sets a flag, in the frame's flags in host memory. A flag is set in both
// places. A kernel that fails sets its own flag and leaves a Failure in its queue's log.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ABI_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ABI_H_

#include <cstdint>

#include <type_traits>

#include "runtime/base/kinds/limits.h"

namespace cgraph::cuda {

inline constexpr int kThreads = 256;     // of a block, unless a kernel says otherwise
inline constexpr int kWarpThreads = 32;  // of a warp
inline constexpr int kPackBytes = 16;    // that a thread reads or writes at once, at the most

// Extent: a dimension of this execution. Where `where` is not null, the number lies there, in the
// device's memory, and `number` is its bound; else `number` is the extent.
struct Extent {
  int64_t number = 0;
  const int64_t* where = nullptr;
};

// View: a dense row-major tensor in the device's memory.
struct View {
  void* data = nullptr;
  int64_t rank = 0;
  Extent dims[kMaxRank];
};

// Failure: why a kernel failed. `code` and `numbers` are the kernel's own; its maker makes the
// message of them. `graph`, `step` and `frame` say which operation it was.
struct Failure {
  uint32_t graph = 0;
  uint32_t step = 0;
  uint32_t frame = 0;
  uint32_t code = 0;
  int64_t numbers[4] = {};
};

// FailureLog: the failures of one queue, in host memory. Kernels of a queue run one after another,
// and one thread of a kernel writes: entry `count` mod `room` first, then `count`.
// The code where an extent is beyond its bound: the first two numbers are Bound::dim and the
// extent.
inline constexpr uint32_t kBeyondBound = 0xffffffff;
struct FailureLog {
  uint64_t count = 0;
  uint64_t room = 1;
  Failure* entries = nullptr;
};

// Bound: what an extent that a kernel has made must keep to, before anything is read or written by
// it.
struct Bound {
  const int64_t* where = nullptr;
  int64_t most = 0;
  uint64_t dim = 0;  // among the operation's dynamic dimensions
};
inline constexpr uint32_t kMostBounds = 4;  // of one guard; an operation with more has more guards

// Guard: the poison flags of one operation in one frame, and where its failure goes.
inline constexpr uint32_t kElsewhere = 1u << 31;  // of a check: its flag is set by another device
struct Guard {
  const uint32_t* checks = nullptr;  // in the device's memory: numbers of flags
  uint8_t* flags = nullptr;          // of the frame, in this device's memory
  uint8_t* host_flags = nullptr;     // of the frame, in host memory
  FailureLog* log = nullptr;
  uint32_t count = 0;                // of checks
  uint32_t own = 0;                  // the number of the operation's own flag
  uint32_t looks = false;            // whether any of these flags may be set
  uint32_t graph = 0;
  uint32_t step = 0;
  uint32_t frame = 0;
  uint64_t bound_count = 0;
  Bound bounds[kMostBounds];
};

// Whether a struct of integers and addresses has no padding.
template <typename T>
inline constexpr bool kDense = std::has_unique_object_representations_v<T>;
static_assert(kDense<View> && kDense<Guard>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ABI_H_

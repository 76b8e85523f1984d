// Where a thread of a grid stands, and where it meets other threads of its block: barriers of the
// block, and calls that a warp makes together.
#ifndef CGRAPH_TESTS_EMULATION_GRID_MEET_H_
#define CGRAPH_TESTS_EMULATION_GRID_MEET_H_

#include <cstdint>
#include <cstring>

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// Those of the thread that runs.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;

namespace cgraph::emulation {

// Votes: what the threads of a block said at a barrier.
struct Votes {
  bool any = false;
  bool all = true;
  uint32_t count = 0;
};

// Waits for all threads of the block. A thread that has ended never comes: that is a misuse.
Votes SyncThreads(bool predicate);

// The calls that the threads of a warp make together; those that meet make the same.
enum class WarpCall : uint8_t { kSync, kVote, kShuffle };

// WarpValues: what each lane brought to a call.
struct WarpValues {
  uint64_t values[32] = {};
  uint32_t lanes = 0;  // who brought something

  uint32_t Ballot() const {
    uint32_t ballot = 0;
    for (int lane = 0; lane < 32; ++lane) {
      if ((lanes >> lane & 1) != 0 && values[lane] != 0) ballot |= 1u << lane;
    }
    return ballot;
  }
};

// Waits for the lanes of `mask`, except those that have ended. What is returned stays until the
// caller's next call with this mask.
const WarpValues& MeetWarp(WarpCall call, uint32_t mask, uint64_t value);
// Returns the lane of the thread that runs.
int Lane();
// Returns the block's dynamic shared memory, aligned to 16.
void* DynamicShared();

// Returns the value that the lane `source(own lane)` brought. Nobody may count on what a lane that
// takes no part would have brought, so it is garbage.
template <typename T, typename Source>
T Shuffle(uint32_t mask, T value, Source source) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const WarpValues& brought = MeetWarp(WarpCall::kShuffle, mask, bits);
  const int from = source(Lane());
  bits = (brought.lanes >> from & 1) != 0 ? brought.values[from] : 0xcdcdcdcdcdcdcdcd;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_GRID_MEET_H_

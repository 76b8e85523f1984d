// Memory that the emulated NCCL has allocated, and what ranks have registered of it. All functions
// are called under the world's lock.
#ifndef CGRAPH_TESTS_EMULATION_NCCL_MEMORY_H_
#define CGRAPH_TESTS_EMULATION_NCCL_MEMORY_H_

#include <cstddef>
#include <optional>
#include <string>

#include "tests/emulation/nccl/world.h"

namespace cgraph::emulation {

// Returns whether all of a piece lies in one allocation of NCCL's.
bool IsNcclMemory(const World& world, const std::byte* start, size_t bytes);
// Returns how many ranks have registered something of the allocation that begins here.
int RanksWith(const World& world, const std::byte* start);

// Registers memory with a rank; returns the handle. What is not NCCL's is taken, and used as if it
// were not registered.
void* RegisterMemory(const World& world, Rank& rank, const std::byte* start, size_t bytes);

// Begins a window of a rank, whose handle is written to `handle` when all ranks have begun theirs.
// Returns the misuse, if any.
std::string BeginWindow(const World& world, Rank& rank, const std::byte* start, size_t bytes,
                        bool symmetric, cuda::NcclWindow* handle);
// Writes the handles of windows that all ranks have begun.
void FinishWindows(Rank& rank);

// Ends what a handle stands for; false where there is no such, or it is of the other kind.
bool Deregister(Rank& rank, void* handle, bool window);

// What a rank's call does with registered memory.
struct CallMemory {
  bool registered = false;         // all that it reads and writes
  std::optional<size_t> from, to;  // offsets in symmetric windows, of a collective's
};
CallMemory MemoryOf(const NcclCall& call, const Rank& rank);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_NCCL_MEMORY_H_

// Runs grids: the blocks of a grid one after another, in an order that a seed decides.
#ifndef CGRAPH_TESTS_EMULATION_GRID_RUN_GRID_H_
#define CGRAPH_TESTS_EMULATION_GRID_RUN_GRID_H_

#include <cstddef>
#include <cstdint>

#include "tests/emulation/grid/kernel_table.h"
#include "tests/emulation/grid/meet.h"

namespace cgraph::emulation {

inline constexpr uint64_t kMostThreads = 1024;  // of a block

// Runs a grid to its end, in the calling thread; `parameters` as HostKernel::Invoke takes them. A
// block has 1 .. kMostThreads threads; a grid with an extent of 0 has no blocks.
//
// The seed decides in which order blocks, and threads between two barriers, run. Seed 0 is the
// order of their numbers.
void RunGrid(const HostKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes,
             void** parameters, uint64_t seed = 0);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_GRID_RUN_GRID_H_

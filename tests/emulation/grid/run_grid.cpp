#include "tests/emulation/grid/run_grid.h"

#include <fmt/format.h>

#include <numeric>

#include "tests/emulation/grid/multiprocessor.h"
#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

// Scrambles a number (the finaliser of SplitMix64).
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

// Blocks are visited by a step that has no divisor in common with their number.
void RunGrid(const HostKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes,
             void** parameters, uint64_t seed) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMostThreads) {
    FatalMisuse(fmt::format("kernel {} is launched with blocks of {} threads", kernel.name,
                            threads));
  }
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  uint64_t number = 0, step = 1;
  if (seed != 0 && blocks > 1) {
    number = Mix(seed) % blocks;
    step = Mix(seed + 1) % blocks;
    while (std::gcd(step, blocks) != 1) step = (step + 1) % blocks;
  }
  Multiprocessor& multiprocessor = Multiprocessor::Current();
  blockDim = block;
  gridDim = grid;
  for (uint64_t i = 0; i < blocks; ++i) {
    blockIdx = {static_cast<unsigned>(number % grid.x),
                static_cast<unsigned>(number / grid.x % grid.y),
                static_cast<unsigned>(number / grid.x / grid.y)};
    multiprocessor.RunBlock(kernel, parameters, shared_bytes,
                            seed == 0 ? 0 : Mix(seed + number) | 1);
    number = (number + step) % blocks;
  }
}

}  // namespace cgraph::emulation

// Permutation: the order in which an epoch of a shuffled training takes its rows. It is a function
// of three numbers, with the same result on every machine and in every version:
//
//   mix(z): z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9; z = (z ^ z >> 27) * 0x94d049bb133111eb;
//           z ^ z >> 31
//   state = mix(seed + (epoch + 1) * 0x9e3779b97f4a7c15)
//   order = 0, 1, ..., rows - 1
//   for i = rows - 1, rows - 2, ..., 1:
//     state += 0x9e3779b97f4a7c15; swap order[i] and order[(mix(state) * (i + 1)) >> 64]
//
// All sums and products are of 64 bits without sign but the last, which has 128. The numbers are
// those of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014), the swaps those of Fisher and Yates. How often a row comes at a place differs from that of
// another by less than rows / 2^64.
#ifndef CGRAPH_RUNTIME_BASE_PERMUTATION_H_
#define CGRAPH_RUNTIME_BASE_PERMUTATION_H_

#include <cstdint>
#include <vector>

namespace cgraph {

// `epoch` counts from 0.
std::vector<int64_t> Permutation(int64_t rows, uint64_t seed, uint64_t epoch);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_PERMUTATION_H_

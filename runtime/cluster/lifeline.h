// Lifeline: how a process that rank 0 has started learns what it is, and that rank 0 is gone.
#ifndef CGRAPH_RUNTIME_CLUSTER_LIFELINE_H_
#define CGRAPH_RUNTIME_CLUSTER_LIFELINE_H_

#include <cstdint>
#include <optional>

namespace cgraph::cluster {

inline constexpr char kRankOption[] = "--rank=";  // the only argument of such a process
// What such a process inherits.
inline constexpr int kRegionDescriptor = 3, kLifelineDescriptor = 4, kFirstFree = 5;

// Returns the rank that a command line names, if it is that of a rank that was started by another.
std::optional<uint32_t> RankOf(int argc, char** argv);

// Ends this process, without a word, when rank 0 is gone: it may be in a kernel, or stopped. Called
// once, before anything is made in the region.
void EndWithRankZero();

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_LIFELINE_H_

// The lifetimes of a graph's buffers in one simulated execution.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_LIFETIMES_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_LIFETIMES_H_

#include <cstdint>
#include <vector>

#include "compiler/inspect/simulate.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// Lifetime: from the start of a buffer's first access to the end of its last. State and constants
// live all the time, the caller's inputs from the beginning, its outputs to the end.
struct Lifetime {
  bool is_used = false;
  uint64_t from = 0, to = 0;
  uint32_t maker = plan::kNone;   // the instruction that writes it first
  std::vector<uint32_t> values;   // that lie in it
};
std::vector<Lifetime> FindLifetimes(const plan::Plan& plan, const plan::Graph& graph,
                                    const Simulation& simulation);

// Peak: the most bytes that the buffers of one arena hold at one moment, and the first such moment.
struct Peak {
  uint64_t bytes = 0;
  uint64_t time = 0;
};
Peak FindPeak(const plan::Graph& graph, const std::vector<Lifetime>& lifetimes,
              const std::vector<uint32_t>& buffers);

// ArenaUse: an arena's bytes at its peak, those of each kind counted once.
struct ArenaUse {
  uint64_t live = 0;   // in buffers that are there at the peak
  uint64_t other = 0;  // only in buffers that are there at other moments
  uint64_t state = 0;  // of state that the graph does not use
  uint64_t gaps = 0;   // in none of them
};
ArenaUse FindUse(const plan::Plan& plan, const plan::Graph& graph,
                 const std::vector<Lifetime>& lifetimes, uint32_t arena,
                 const std::vector<uint32_t>& buffers, const Peak& peak);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_LIFETIMES_H_

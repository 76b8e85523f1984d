// Packing: which bytes each of many buffers gets, when each is wanted for a time only. The field's
// name for it is dynamic storage allocation: rectangles of given width (lifetime) that may slide up
// and down, and none may meet another; the height that they reach together should be least.
//
// First fit through time gives a packing in n log n (first_fit.h). Where it is higher than it must
// be, a search over canonical packings (search.h) tries the most bytes alive at once, which no
// packing can go below, then heights between. Effort is counted, never timed: the same problem has
// the same packing on every machine.
//
// Offsets are sums of sizes, so sizes that are multiples of an alignment make aligned offsets.
#ifndef CGRAPH_COMPILER_SCHEDULE_PACKING_PACKING_H_
#define CGRAPH_COMPILER_SCHEDULE_PACKING_PACKING_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace cgraph::schedule {

// Alive from `begin` until before `end`; begin < end. Without bytes it is nowhere in the way.
struct Item {
  int64_t bytes;
  int64_t begin, end;
};

struct PackingProblem {
  std::vector<Item> items;
  // Whether two items must lie apart though the lifetime of `earlier` ends before that of `later`
  // begins. What it does not keep apart must be an order: a before b before c, and c before the
  // next a, makes a before c. Empty: lifetimes say everything.
  std::function<bool(uint32_t earlier, uint32_t later)> apart = {};
};

struct PackingOptions {
  int64_t capacity = 0;  // a height that will do; 0: the least
  int64_t effort = 0;    // for the search, in items looked at: some 10^9 a second
};

struct Packing {
  std::vector<int64_t> offsets;  // by item
  int64_t height = 0;            // the highest end of an item
  int64_t bound = 0;             // the most bytes alive at once: no packing is lower
};

Packing Pack(const PackingProblem& problem, const PackingOptions& options);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_PACKING_PACKING_H_

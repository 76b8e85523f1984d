// OffsetAssignment: which bytes each of many buffers gets, when each is wanted for a time only. The
// field's name for it is dynamic storage allocation: rectangles of given width (lifetime) that may
// slide up and down, and none may meet another; the height that they reach together should be
// least.
//
// First fit through time gives a offset assignment in n log n (first_fit.h), also of large and
// small items apart. Where it is higher than it must be, a search over canonical offset assignments
// (assignment_search.h) tries the most bytes alive at once, which no offset assignment can go
// below, then heights between. Effort is counted, never timed: the same problem has the same offset
// assignment on every machine.
//
// Offsets are sums of sizes, so sizes that are multiples of an alignment make aligned offsets.
#ifndef CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_ASSIGNMENT_H_
#define CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cgraph::schedule {

// Alive from `begin` until before `end`; begin < end. Without bytes it is nowhere in the way.
struct Item {
  int64_t bytes;
  int64_t begin, end;
};

// Whoever takes over bytes must know that those who had them are done with them. What is known is a
// number for each source, such as a lane: its latest moment that is over. An item that is over when
// another begins must all the same lie apart from it unless the other knows what it has `done`, and
// itself, when it comes again, what the other has. This must be an order: a before b before c, and
// c before the next a, makes a before c.
struct Handover {
  uint32_t sources = 0;  // 0: lifetimes say everything
  // By item and source.
  std::vector<int32_t> done;         // the moment to know of; kNothing: none
  std::vector<int32_t> known;        // when the item begins
  std::vector<int32_t> known_again;  // when it begins the next time, of this time's moments
  static constexpr int32_t kNothing = INT32_MIN, kAll = INT32_MAX;
};

struct OffsetProblem {
  std::vector<Item> items;
  Handover handover = {};

  bool by_lifetimes() const { return handover.sources == 0; }
  // Of two of which `earlier` is over when `later` begins.
  bool Apart(uint32_t earlier, uint32_t later) const {
    const size_t sources = handover.sources, a = earlier * sources, b = later * sources;
    for (size_t i = 0; i < sources; ++i) {
      if (handover.done[a + i] > handover.known[b + i]) return true;
      if (handover.done[b + i] > handover.known_again[a + i]) return true;
    }
    return false;
  }
};

struct OffsetOptions {
  int64_t capacity = 0;  // a height that will do; 0: the least
  int64_t effort = 0;    // for the search, in items looked at: some 10^9 a second
};

struct OffsetAssignment {
  std::vector<int64_t> offsets;  // by item
  int64_t height = 0;            // the highest end of an item
  int64_t bound = 0;             // the most bytes alive at once: no offset assignment is lower
};

OffsetAssignment Pack(const OffsetProblem& problem, const OffsetOptions& options);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_ASSIGNMENT_H_

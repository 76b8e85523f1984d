// OffsetAssignment: the bytes that each of many buffers gets, when each is wanted for a time only.
// The field's name is dynamic storage allocation: rectangles of given width (lifetime) may slide up
// and down but not overlap, and the height that they reach together should be least.
//
// First fit through time gives an offset assignment in n log n (FirstFit below), also with large
// and small items apart. Where it is higher than it must be, a search over canonical offset
// assignments (offset_search.h) tries the most bytes alive at once, which no offset assignment can
// go below, then heights between. Effort is counted, never timed: the same problem has the same
// offset assignment on every machine.
//
// Offsets are sums of sizes, so sizes that are multiples of an alignment make aligned offsets.
#ifndef CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_ASSIGNMENT_H_
#define CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cgraph::schedule {

// Item: alive from `begin` until before `end`; begin < end. An item without bytes is in nobody's
// way.
struct Item {
  int64_t bytes;
  int64_t begin, end;
};

// ItemClocks: what must be known before bytes are taken over. An item may take over bytes only when
// it knows that those that had them are done with them. Its knowledge is a number for each source,
// such as a lane: the source's latest moment that is over. An item that is over when another begins
// must lie apart from it all the same, unless the other knows what it has `done` and it, when it
// comes again, knows what the other has done. This must be an order: a before b before c, and c
// before the next a, makes a before c.
struct ItemClocks {
  uint32_t sources = 0;  // 0: lifetimes say everything
  // Moments, by item and source.
  std::vector<int32_t> done;         // the moment to know of; kNothing: none
  std::vector<int32_t> known;        // when the item begins
  std::vector<int32_t> known_again;  // when it begins the next time, of this time's moments
  static constexpr int32_t kNothing = INT32_MIN, kAll = INT32_MAX;
};

struct OffsetProblem {
  std::vector<Item> items;
  ItemClocks item_clocks = {};

  bool by_lifetimes() const { return item_clocks.sources == 0; }
  // Returns whether two items must lie apart although `earlier` is over when `later` begins.
  bool Apart(uint32_t earlier, uint32_t later) const {
    const size_t sources = item_clocks.sources, a = earlier * sources, b = later * sources;
    for (size_t i = 0; i < sources; ++i) {
      if (item_clocks.done[a + i] > item_clocks.known[b + i]) return true;
      if (item_clocks.done[b + i] > item_clocks.known_again[a + i]) return true;
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

// First fit: items in the order in which they begin, each at the lowest offset where its bytes are
// free for it; or the same backwards in time, from those that end last. n log n for any number of
// items: of the gaps below the top only so many are tried.
enum class Time : uint8_t { kForwards, kBackwards };

// Offsets by item.
std::vector<int64_t> FirstFit(const OffsetProblem& problem, Time time);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_ASSIGNMENT_H_

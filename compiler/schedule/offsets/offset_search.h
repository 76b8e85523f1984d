// OffsetSearch: a search for an offset assignment of at most a given height, after M. Moffitt,
// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS
// 2023.
//
// Every offset assignment can be let down until each item lies on the floor or on another one, and
// then be built from below: the next item is always the lowest one left, at the least offset that
// those already placed leave it. So the search branches over which item is next, and offsets only
// grow. A branch ends when a section's floor and the bytes still to come in it are higher than
// allowed, or when an item is left out that would fit below the next. When the remaining items fall
// apart in time, the parts are solved on their own. No order of the possible items is best for all
// problems, so several orders (heuristics) take turns with ever more effort. Beyond that paper: an
// item that was tried as the next, in vain, will lie on one that is still to come, which lifts the
// floors it stands on.
#ifndef CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_SEARCH_H_
#define CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_SEARCH_H_

#include <vector>

#include "compiler/schedule/offsets/conflicts.h"
#include "compiler/schedule/offsets/offset_assignment.h"

namespace cgraph::schedule {

class OffsetSearch {
 public:
  enum class Outcome : uint8_t {
    kFound,
    kImpossible,  // there is no such offset assignment
    kGaveUp,      // the effort is spent
  };

  // Every item has bytes.
  OffsetSearch(const OffsetProblem& problem, const Conflicts& conflicts);

  // Searches with at most about `effort`, and subtracts what it spent.
  Outcome Fit(int64_t height, int64_t& effort);
  // Returns the offsets by item, after kFound.
  const std::vector<int64_t>& offsets() const { return found_; }

 private:
  using Range = Conflicts::Range;
  struct Section {
    int64_t floor = 0;  // nothing still to come lies lower
    int64_t open = 0;   // bytes still to come
  };
  // Trail: the changes of one step of the search, to be undone.
  struct Trail {
    std::vector<std::pair<uint32_t, int64_t>> lowest, least, floors;
  };
  // Candidate: an item that may come next: not before the one placed last, by offset, then by rank
  // in the order.
  struct Candidate {
    int64_t offset = 0;
    uint32_t rank = 0;
  };

  bool Before(uint32_t a, uint32_t b) const;
  Outcome Solve(std::vector<uint32_t> items, Range sections, int64_t offset);
  Outcome SolveParts(const std::vector<uint32_t>& items, Range sections,
                     std::vector<uint32_t> cuts, int64_t offset);
  Outcome Branch(const std::vector<uint32_t>& items, Range sections, Candidate last);
  Outcome Place(const std::vector<uint32_t>& items, Range sections, Candidate candidate);
  Outcome Descend(const std::vector<uint32_t>& items, Range sections, Candidate candidate);
  std::vector<Candidate> Candidates(const std::vector<uint32_t>& items, Candidate last);
  void Put(uint32_t item, Range sections, Trail& trail);
  bool Bar(uint32_t item, Trail& trail);
  void RaiseFloor(uint32_t section, Trail& trail);
  void Undo(const Trail& trail);
  void TakeBack(uint32_t item, const Trail& trail);
  bool Hopeless(Range sections, int64_t offset) const;

  const OffsetProblem& problem_;
  const Conflicts& conflicts_;
  int64_t height_ = 0;
  int64_t left_ = 0;    // of this turn's effort
  size_t heuristic_ = 0;    // which order
  std::vector<int64_t> found_;
  std::vector<int64_t> lowest_;   // by item: the least offset that those placed leave it
  std::vector<int64_t> least_;    // by item: where it lies at least, since it did not come earlier
  std::vector<bool> placed_;
  std::vector<Section> sections_;
  std::vector<uint32_t> bridges_;  // by section: items left that bind it to the next
  std::vector<int64_t> crowd_;     // by item: `open` of its fullest section, when last sorted
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_OFFSETS_OFFSET_SEARCH_H_

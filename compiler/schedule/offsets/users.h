// Users: which items used which bytes, for first fit of items that hand over to each other.
//
// All users of a byte stand in one order, so an item that may follow the last of them, and be
// followed by the first, may use the byte too. Bytes are used from 0 upwards without a gap, so
// ranges of them tile what has been used. Neighbouring ranges are held in blocks. A block has what
// an item would have to know at least to follow any of its users, so a hopeless block is passed
// over in one step.
#ifndef CGRAPH_COMPILER_SCHEDULE_OFFSETS_USERS_H_
#define CGRAPH_COMPILER_SCHEDULE_OFFSETS_USERS_H_

#include <limits>
#include <vector>

#include "compiler/schedule/offsets/offset_assignment.h"

namespace cgraph::schedule {

class Users {
 public:
  static constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

  // `time`: the direction in which items are added; those whose bytes are free are over.
  Users(const OffsetProblem& problem, Time time) : problem_(problem), time_(time) {}

  // Returns the lowest offset from `begin` on, with room below `end`, where `item` may be; kNowhere
  // without one.
  int64_t Lowest(int64_t begin, int64_t end, uint32_t item) const;
  void Add(int64_t begin, int64_t end, uint32_t item);

 private:
  struct Range {
    int64_t begin, end;
    uint32_t first, last;  // items
  };
  struct Block {
    std::vector<Range> ranges;
    // By source, over the last users of all ranges: the least that one has done, the most that one
    // knows.
    std::vector<int32_t> done, known, known_again;
  };

  bool Apart(uint32_t a, uint32_t b) const {
    return problem_.items[a].begin < problem_.items[b].begin ? problem_.Apart(a, b)
                                                             : problem_.Apart(b, a);
  }
  bool AllApart(const Block& block, uint32_t item) const;
  size_t BlockAt(int64_t offset) const;
  void SplitAt(int64_t offset);
  void Summarise(Block& block) const;

  const OffsetProblem& problem_;
  const Time time_;
  std::vector<Block> blocks_;  // none empty, by offset
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_OFFSETS_USERS_H_

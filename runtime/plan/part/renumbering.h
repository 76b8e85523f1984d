// Renumbering: which entries of a table are kept, and their new numbers, which they get in the
// order in which they are first asked for.
#ifndef CGRAPH_RUNTIME_PLAN_PART_RENUMBERING_H_
#define CGRAPH_RUNTIME_PLAN_PART_RENUMBERING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

class Renumbering {
 public:
  explicit Renumbering(size_t entries) : new_of_(entries, kNone) {}

  // Returns the new number of an entry; kNone stays kNone.
  uint32_t Of(uint32_t entry) {
    if (entry == kNone) return kNone;
    if (new_of_[entry] == kNone) {
      new_of_[entry] = static_cast<uint32_t>(kept_.size());
      kept_.push_back(entry);
    }
    return new_of_[entry];
  }
  // Returns the entries that are kept, in the order of their new numbers.
  const std::vector<uint32_t>& kept() const { return kept_; }
  // Forgets all, in the time that the kept ones take.
  void Clear() {
    for (uint32_t entry : kept_) new_of_[entry] = kNone;
    kept_.clear();
  }

 private:
  std::vector<uint32_t> new_of_, kept_;
};

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_PART_RENUMBERING_H_

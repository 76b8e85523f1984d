// StateNames: finds the states of a plan by the names that files and programs give them,
// "net[0].w". States that are copies of one variable have a first one, and copies at places that
// the plan does not have are found, too: "net[3].w" of a run with more places.
#ifndef CGRAPH_RUNTIME_PLAN_STATE_NAMES_H_
#define CGRAPH_RUNTIME_PLAN_STATE_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Returns whether a place is one of those that State::copies names: "net[0, 1]" of "net[*, 1]".
bool IsAmong(std::string_view place, std::string_view copies);

class StateNames {
 public:
  struct Entry {
    uint32_t actor;
    const State* state;
    size_t first;  // the first copy's number; its own where it has no copies
  };

  explicit StateNames(const Plan& plan);

  // Of all actors in turn, without objects of native code.
  const std::vector<Entry>& states() const { return states_; }
  // Returns the number of the state of this name; where there is none, the first copy of the
  // variable that a state of this name would be.
  std::optional<size_t> Find(std::string_view name) const;
  // Returns whether the plan's places, with others along some index, would have this one.
  bool HasCopiesAt(std::string_view place) const;
  // Returns the numbers of all states that are the same variable as this one.
  std::vector<size_t> CopiesOf(size_t state) const;

 private:
  std::vector<Entry> states_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::pair<std::string, std::string>, size_t> variables_;  // by name and State::copies
};

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_STATE_NAMES_H_

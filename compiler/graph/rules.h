// Rules: a `schedule` block applied to one graph, with every expression evaluated.
//
// A rule names kinds of calls: the methods that the block speaks of. It prefers some to others
// among those that could start, or holds some back. Counts are of actions: the calls of a kind on a
// device that are one micro-batch's, as a stage of several layers has several. The first of them to
// start opens the action, the last closes it. They keep program order, and once it is open no limit
// holds them back. Counts are of one execution.
#ifndef CGRAPH_COMPILER_GRAPH_RULES_H_
#define CGRAPH_COMPILER_GRAPH_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "compiler/graph/ids.h"

namespace cgraph::graph {

inline constexpr uint32_t kNoKind = UINT32_MAX;
inline constexpr uint32_t kNoOrder = UINT32_MAX;
inline constexpr uint32_t kNoAction = UINT32_MAX;

// CallRule: what the rules say of one call.
struct CallRule {
  uint32_t kind = kNoKind;        // into Rules::kinds; kNoKind: nothing
  // Calls with one number are one action, of one device; of several kinds where those run as one.
  uint32_t action = kNoAction;
  std::vector<int64_t> microbatch;  // as `per:` or `mb` counts it; empty: neither is written
  std::vector<int64_t> ranking;   // `prefer K by (...)`: of those that are ready, the least first
  std::vector<int64_t> sequence;  // `order K by (...)`: on a device, the least first, strictly
  // The kinds under which limits with a condition count this call, because it meets the condition.
  std::vector<uint32_t> counted;
  // The call that runs right after this one, as one with it, because of `fuse A B` or because both
  // have the same place in an order: a later one of the graph's calls; invalid: none.
  CallId fused;
};

struct Kind {
  std::string name;
  uint32_t rank = 0;  // `prefer A > B`: the least first; kinds that no rule prefers have one rank
  uint32_t order = kNoOrder;  // into Rules::orders: the one that speaks of it
  bool partial = false;       // the calls of another kind that meet a limit's condition
};

// Limit: `limit A - B <= e` holds openers of A back while starting one would break the inequality,
// which counts A that are open or closed, and B that are closed; `limit A - B >= e` holds openers
// of B back, and counts A closed and B opened, until all A on the device are closed.
struct Limit {
  uint32_t minuend, subtrahend;  // kinds
  bool at_most;
  std::vector<std::optional<int64_t>> bounds;  // by device of the module; absent: not covered
  Range range;
};

struct Rules {
  std::string name;  // of the schedule: "one_f_one_b"
  Range range;       // the `using`
  std::vector<Kind> kinds;
  std::vector<CallRule> calls;  // by CallId
  std::vector<Range> orders;    // the `order` rules; calls of all kinds of one are in one sequence
  std::vector<Limit> limits;
  // By device of the module, the bytes that its memory can hold; nothing for no limit.
  std::vector<std::optional<int64_t>> memory;
  Range memory_range;  // the rule
  bool automatic = false;  // `using auto`: the scheduler looks for the rules itself
};

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_RULES_H_

// PeriodicGraph: moments that happen once per round, and the moments that each of them waits for.
//
// An edge (from, to, distance) says: `to` of round r is not before `from` of round r - distance.
// Nothing in a plan chooses, so a moment happens at the latest of the moments that it waits for,
// plus its own time, and playing a plan is one pass over its edges per round. The edges of distance
// 0 must have no cycle: a cycle is a plan that deadlocks.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_PERIODIC_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_PERIODIC_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace cgraph {

// Times are picoseconds; a plan may state any, so sums stop at the largest.
inline uint64_t AddTimes(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

class PeriodicGraph {
 public:
  uint32_t AddMoment() { return moments_++; }
  void AddEdge(uint32_t from, uint32_t to, uint64_t distance) {
    edges_.push_back({from, to, distance});
  }
  uint32_t size() const { return moments_; }

  // Returns the same moments with every edge reversed: what must still happen after each.
  PeriodicGraph Reversed() const;

  // Sorts the moments so that edges of distance 0 go forward. Returns those that cannot happen,
  // because they are on a cycle or wait for one; Play() needs that there are none.
  std::vector<uint32_t> Sort();

  // The moments that can happen in a round, each after those it waits for; set by Sort().
  const std::vector<uint32_t>& order() const { return order_; }

  // Calls see(round, times) after each round; times[m] is when moment m of that round is over.
  // weight(moment, round) is how long it takes.
  template <typename Weight, typename See>
  void Play(uint64_t rounds, Weight weight, See see) const;

  struct Edge {
    uint32_t from;
    uint32_t to;
    uint64_t distance;
  };
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  struct Before {
    uint32_t from;
    uint64_t distance;
  };
  uint64_t Depth(uint64_t rounds) const;

  uint32_t moments_ = 0;
  std::vector<Edge> edges_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> first_before_;  // before_[first_before_[m] ..] are the edges into m
  std::vector<Before> before_;
};

template <typename Weight, typename See>
void PeriodicGraph::Play(uint64_t rounds, Weight weight, See see) const {
  // Rows of times for as many rounds as the longest edge reaches back.
  const uint64_t depth = Depth(rounds);
  std::vector<std::vector<uint64_t>> rows(depth, std::vector<uint64_t>(moments_));
  for (uint64_t round = 0; round < rounds; ++round) {
    std::vector<uint64_t>& now = rows[round % depth];
    for (uint32_t moment : order_) {
      uint64_t ready = 0;
      for (uint32_t i = first_before_[moment]; i < first_before_[moment + 1]; ++i) {
        const Before& edge = before_[i];
        if (edge.distance <= round) {
          ready = std::max(ready, rows[(round - edge.distance) % depth][edge.from]);
        }
      }
      now[moment] = AddTimes(ready, weight(moment, round));
    }
    see(round, std::span<const uint64_t>(now));
  }
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_PERIODIC_H_

// Numbers that look like chance and are the same everywhere: SplitMix64 (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", 2014).
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_COUNTER_RANDOM_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_COUNTER_RANDOM_H_

#include <cstdint>

namespace cgraph::schedule {

class CounterRandom {
 public:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Returns one of 0 .. n - 1; n is small beside 2^64, so that none is noticeably more frequent.
  uint64_t Below(uint64_t n) { return Next() % n; }

 private:
  uint64_t state_ = 0;
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_COUNTER_RANDOM_H_

// Latencies in constant memory, however many executions there are.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_LATENCIES_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_LATENCIES_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace cgraph::command {

// A histogram with 128 buckets per power of two: quantiles are exact to 0.8 %.
class Latencies {
 public:
  void Add(uint64_t ns) {
    ++counts_[Bucket(ns)];
    ++count_;
    if (ns > max_) max_ = ns;
  }
  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }

  // Returns the least latency that this share of the executions does not exceed; 0 without
  // executions.
  uint64_t Quantile(double share) const {
    uint64_t wanted = static_cast<uint64_t>(share * static_cast<double>(count_));
    if (static_cast<double>(wanted) < share * static_cast<double>(count_)) ++wanted;
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= wanted && seen > 0) return std::min(Top(i), max_);
    }
    return 0;
  }

 private:
  static constexpr int kBits = 7;
  static constexpr uint64_t kPerPower = uint64_t{1} << kBits;

  // Below 2 * kPerPower the bucket is the number itself.
  static size_t Bucket(uint64_t ns) {
    const int shift = std::max(0, 63 - kBits - std::countl_zero(ns | 1));
    return static_cast<size_t>(shift) * kPerPower + (ns >> shift);
  }
  static uint64_t Top(size_t bucket) {
    if (bucket < 2 * kPerPower) return bucket;
    const uint64_t shift = bucket / kPerPower - 1;
    return ((bucket - shift * kPerPower + 1) << shift) - 1;
  }

  std::array<uint64_t, (64 - kBits + 1) * kPerPower> counts_ = {};
  uint64_t count_ = 0, max_ = 0;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_LATENCIES_H_

// Rules of single kernels that every device keeps.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RULES_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RULES_H_

#include <cstdint>

namespace cgraph::device {

// Returns whether `length` elements from `from` on lie in a dimension. A length that the program
// gave may be negative.
constexpr bool IsWithin(int64_t from, int64_t length, int64_t extent) {
  return from >= 0 && length >= 0 && from <= extent && length <= extent - from;
}

// How long the kernel `sleep` sleeps at most.
inline constexpr int64_t kLongestSleepMs = int64_t{1000} * 3600 * 24 * 365;

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RULES_H_

// How long the kernel `sleep` sleeps at most.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_SLEEP_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_SLEEP_H_

#include <cstdint>

namespace cgraph::device {

inline constexpr int64_t kLongestSleepMs = int64_t{1000} * 3600 * 24 * 365;

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_SLEEP_H_

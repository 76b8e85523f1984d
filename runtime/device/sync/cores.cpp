#include "runtime/device/sync/cores.h"

#include <sched.h>

#include <algorithm>

namespace cgraph::device {

uint32_t Cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace cgraph::device

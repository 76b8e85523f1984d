#include "runtime/base/sync/cores.h"

#include <algorithm>
#include <map>

namespace cgraph {

cpu_set_t AllowedCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) CPU_ZERO(&allowed);
  return allowed;
}

uint32_t Cores() {
  const cpu_set_t allowed = AllowedCores();
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&allowed)));
}

double ShareOfCores(const cpu_set_t& own, std::span<const cpu_set_t> of_all) {
  if (CPU_COUNT(&own) == 0) return 1;
  std::map<int64_t, int64_t> cores;  // by how many may use them, so that 3 of 1/3 are 1
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &own)) continue;
    ++cores[std::count_if(of_all.begin(), of_all.end(), [&](const cpu_set_t& allowed) {
      return CPU_ISSET(core, &allowed) != 0;
    })];
  }
  double share = 0;
  for (const auto& [users, count] : cores) {
    share += static_cast<double>(count) / static_cast<double>(users);
  }
  return share;
}

}  // namespace cgraph

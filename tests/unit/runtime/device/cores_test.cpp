// Cores that processes share.
#include "runtime/device/sync/cores.h"

#include <catch2/catch.hpp>

#include <vector>

namespace cgraph::testing {
namespace {

cpu_set_t CoresFrom(int first, int count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core = first; core < first + count; ++core) CPU_SET(core, &set);
  return set;
}

TEST_CASE("a core counts for each of the processes that may use it") {
  const cpu_set_t two = CoresFrom(0, 2);
  REQUIRE(device::ShareOfCores(two, std::vector(4, two)) == 0.5);
  REQUIRE(device::ShareOfCores(two, std::vector{two, CoresFrom(2, 2)}) == 2);
  const std::vector overlapping{two, CoresFrom(1, 3)};
  REQUIRE(device::ShareOfCores(overlapping[0], overlapping) == 1.5);
  REQUIRE(device::ShareOfCores(overlapping[1], overlapping) == 2.5);
  const std::vector six(3, CoresFrom(0, 6));
  REQUIRE(device::ShareOfCores(six[0], six) == 2);
  REQUIRE(device::ShareOfCores(CoresFrom(0, 0), overlapping) == 1);
}

}  // namespace
}  // namespace cgraph::testing

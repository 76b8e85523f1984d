// Cores that processes share.
#include "runtime/base/sync/cores.h"

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
  REQUIRE(ShareOfCores(two, std::vector(4, two)) == 0.5);
  REQUIRE(ShareOfCores(two, std::vector{two, CoresFrom(2, 2)}) == 2);
  const std::vector overlapping{two, CoresFrom(1, 3)};
  REQUIRE(ShareOfCores(overlapping[0], overlapping) == 1.5);
  REQUIRE(ShareOfCores(overlapping[1], overlapping) == 2.5);
  const std::vector six(3, CoresFrom(0, 6));
  REQUIRE(ShareOfCores(six[0], six) == 2);
  REQUIRE(ShareOfCores(CoresFrom(0, 0), overlapping) == 1);
}

}  // namespace
}  // namespace cgraph::testing

// Times of collectives on stated machines, worked out by hand. S is what a participant gives, n how
// many there are. Every NCCL time is the least over LL, LL128 and Simple; Simple wins where much is
// moved: base 8.4 us, a hop over NVLink 3.4 us, a hop between nodes 14 us.
#include <catch2/catch.hpp>

#include "compiler/cost/costs.h"
#include "compiler/cost/formulas.h"
#include "tests/unit/compiler/cost/machine_by_hand.h"

using namespace cgraph;
using namespace cgraph::cost;

// Three links of 150 GB/s leave each gpu: a ring carries 450. 2 * 3/4 * S / 450 GB/s = 349.525 us,
// and Simple's 8.4 + 6 * 3.4 us.
TEST_CASE("an all_reduce in one node uses all links between its members") {
  const uint64_t moving = MovePicoseconds(kBytes / 2 * 3, 450'000);
  CHECK(moving / 1000 == 349'525);
  CHECK(Cluster(1, 4).Time(Kind::kAllReduce, kBytes).ps == 28'800'000 + moving);
}

// One NIC of 25 GB/s leads out of each half: 2 * 7/8 * S / 25 GB/s = 7.340 ms, where S has to cross
// at the very least, 4.194 ms. 8.4 + 14 * 3.4 us.
TEST_CASE("an all_reduce of two halves is as slow as the NIC between them") {
  const uint64_t moving = MovePicoseconds(kBytes / 4 * 7, 25'000);
  CHECK(moving / 1000 == 7'340'032);
  const Movement one = Cluster(2, 4, 0, /*named=*/false).Time(Kind::kAllReduce, kBytes);
  CHECK(one.ps == 56'000'000 + moving);
  CHECK(one.resources == std::vector<uint32_t>{0, 1, 2, 3});
  CHECK(one.held_ps == moving);
}

// 2 * 4/5 * S / 25 GB/s = 6.711 ms: the fifth gpu gets everything through the NIC.
TEST_CASE("one gpu at another node makes all wait for its link") {
  const uint64_t moving = MovePicoseconds(kBytes / 5 * 8, 25'000);
  CHECK(moving / 1000 == 6'710'886);
  CHECK(Cluster(1, 4, 1, /*named=*/false).Time(Kind::kAllReduce, kBytes).ps ==
        8'400'000 + 8 * 3'400'000 + moving);
}

// The parts that each of the 4 gives to the 4 others cross: 16 parts of S/8 through one NIC, in 2 *
// S / 25 GB/s.
TEST_CASE("an all_to_all over two nodes moves each part through the NIC") {
  const Movement time = Cluster(2, 4, 0, /*named=*/false).Time(Kind::kAllToAll, kBytes);
  // The rate is in whole bytes: 7 parts at 25,000 / 16 a microsecond, 10,937.5.
  CHECK(time.held_ps == MovePicoseconds(kBytes / 8 * 7, 10'938));
  // The root gets 4 of 7 through the NIC; gathered, each gives S.
  CHECK(Cluster(2, 4, 0, false).Time(Kind::kGather, kBytes).held_ps ==
        MovePicoseconds(4 * kBytes, 25'000));
  CHECK(Cluster(2, 4, 0, false).Time(Kind::kScatter, kBytes, 5).held_ps ==
        MovePicoseconds(kBytes / 8 * 4, 25'000));
}

// Two groups of four joined by one link, of 25 GB/s or of 10 MB/s: 2 * 7/8 * S through it.
TEST_CASE("a thin link is what counts, however many others there are") {
  const auto moving = [](uint64_t bytes_per_us) {
    MachineByHand machine;
    for (uint32_t i = 0; i < 8; ++i) machine.Add(DeviceKind::kGpu, 0, i);
    machine.Link([&](uint32_t i, uint32_t j) -> std::optional<Link> {
      if (i / 4 == j / 4) return Link{kUs, 150'000, {}};
      if (i + j == 7 && (i == 3 || i == 4)) return Link{5 * kUs, bytes_per_us, {}};
      return std::nullopt;
    });
    return machine.Time(Kind::kAllReduce, kBytes).ps - 56 * kUs;
  };
  CHECK(moving(25'000) == MovePicoseconds(kBytes / 4 * 7, 25'000));
  CHECK(moving(10) == MovePicoseconds(kBytes / 4 * 7, 10));
}

// Four gpus, every link through one bus of 10 GB/s with links of as much. A ring has four hops of
// 1.5 * S each, 6 * S through the bus: 600 us for a megabyte, half of that where two transfers fit
// at once, a quarter with four. From there on each link is busy all the time, and a greater
// capacity gains nothing in a ring, but all twelve links together gain up to three times that.
TEST_CASE("a collective shares a bus with itself") {
  const auto time = [](uint32_t capacity) {
    MachineByHand machine;
    for (uint32_t i = 0; i < 4; ++i) machine.Add(DeviceKind::kGpu, 0, i);
    const uint32_t bus = machine.Resource(10'000, capacity);
    machine.Link([&](uint32_t, uint32_t) { return Link{7 * kUs, 10'000, {bus}}; });
    return machine.Time(Kind::kAllReduce, 1'000'000);
  };
  CHECK(time(1).held_ps == 600 * kUs);
  CHECK(time(1).ps == 628'800'000);
  CHECK(time(1).resources == std::vector<uint32_t>{0});
  CHECK(time(2).held_ps == 300 * kUs);
  CHECK(time(2).resources == std::vector<uint32_t>{0, 0});  // so two of them take turns: 600 us
  CHECK(time(12).held_ps == 50 * kUs);
  CHECK(time(20).held_ps == 50 * kUs);
  CHECK(time(20).resources.size() == 12);
}

// Four cpus with links of 100 GB/s and 1 us: a ring of three steps, 12 MB in all through each link,
// 120 us. The rate that is assumed of memory that cpus share, 6.6 GB/s, does not count.
TEST_CASE("between cpus collectives go by the links that are stated") {
  MachineByHand machine;
  for (uint32_t i = 0; i < 4; ++i) machine.Add(DeviceKind::kCpu, 0, i);
  machine.Link([](uint32_t, uint32_t) { return Link{kUs, 100'000, {}}; });
  CHECK(machine.Time(Kind::kAllGather, 4'000'000).ps == 123 * kUs);
  CHECK(machine.Time(Kind::kBroadcast, 4'000'000).ps == 44 * kUs);
  // Without links: 0.1 us a step, 12 MB at 6.6 GB/s.
  MachineByHand shared;
  for (uint32_t i = 0; i < 4; ++i) shared.Add(DeviceKind::kCpu, 0, i);
  CHECK(shared.Time(Kind::kAllGather, 4'000'000).ps ==
        300'000 + MovePicoseconds(12'000'000, 6'600));
}

// The hops of a ring through one memory bus share it: four of them 10 GB/s.
TEST_CASE("between cpus a ring shares their bus with itself") {
  MachineByHand machine;
  for (uint32_t i = 0; i < 4; ++i) machine.Add(DeviceKind::kCpu, 0, i);
  const uint32_t bus = machine.Resource(10'000);
  machine.Link([&](uint32_t, uint32_t) { return Link{kUs, 10'000, {bus}}; });
  CHECK(machine.Time(Kind::kAllGather, 1'000'000).ps ==
        3 * kUs + MovePicoseconds(3'000'000, 2'500));
}

// Times of calls: a profile's, the estimated ones, and what reading another cpu's memory adds.
#include <catch2/catch.hpp>

#include "compiler/cost/call_times.h"
#include "compiler/cost/costs.h"

using namespace cgraph;
using namespace cgraph::cost;

TEST_CASE("a call's first operation takes the time that a profile gives the call") {
  Profile profile;
  profile.call_ps = {{"A.f", 70}, {"a[1].f", 90}};
  const auto times = [&](const Profile* given, const std::optional<CallName>& call) {
    CallTimes of_call(given, call);
    const uint64_t first = of_call.Next(5);
    return std::pair(first, of_call.Next(6));
  };
  using Two = std::pair<uint64_t, uint64_t>;
  CHECK(times(&profile, CallName{"a[0]", "A", "f"}) == Two(70, 0));
  CHECK(times(&profile, CallName{"a[1]", "A", "f"}) == Two(90, 0));
  CHECK(times(&profile, CallName{"a[1]", "A", "g"}) == Two(5, 6));
  CHECK(times(&profile, std::nullopt) == Two(5, 6));
  CHECK(times(nullptr, CallName{"a[0]", "A", "f"}) == Two(5, 6));
  profile.default_ps = 8;
  CHECK(times(&profile, CallName{"a[0]", "A", "f"}) == Two(70, 0));
  CHECK(times(&profile, CallName{"a[1]", "A", "g"}) == Two(8, 8));
  CHECK(times(&profile, std::nullopt) == Two(8, 8));
}

// 4 MB over a link of 100 GB/s and 1 us: 41 us, for a message and for a call that reads them.
TEST_CASE("what lies in another cpu's memory comes by the link between the two") {
  Topology topology = AssumedTopology();
  Machine& machine = topology.machine.emplace();
  const auto cpu = [](uint32_t i) { return LogicalDevice{DeviceKind::kCpu, 0, i}; };
  const LogicalDevice gpu{DeviceKind::kGpu, 0, 0};
  for (uint32_t i = 0; i < 3; ++i) machine.AddDevice({.key = cpu(i), .rates = topology.cpu});
  machine.AddDevice({.key = gpu, .rates = topology.gpu});
  machine.AddLink(0, 1, {1'000'000, 100'000, {}});
  machine.AddLink(0, 3, {1'000'000, 100'000, {}});
  const Costs costs(topology);
  CHECK(costs.Message(cpu(0), cpu(1), TransportKind::kShm, 4'000'000).ps == 41'000'000);
  CHECK(costs.RemoteRead(cpu(1), cpu(0), 4'000'000) == 41'000'000);
  CHECK(costs.RemoteRead(cpu(0), cpu(0), 4'000'000) == 0);
  CHECK(costs.RemoteRead(cpu(2), cpu(0), 4'000'000) == 0);  // no link: one memory
  CHECK(costs.RemoteRead(cpu(0), LogicalDevice(), 4'000'000) == 0);  // the caller's
  CHECK(costs.RemoteRead(gpu, cpu(0), 4'000'000) == 0);  // copied before
  CHECK(Costs(AssumedTopology()).RemoteRead(cpu(1), cpu(0), 4'000'000) == 0);
}

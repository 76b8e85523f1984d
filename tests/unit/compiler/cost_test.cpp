// Costs against figures computed by hand from the published constants, ways between devices, and
// several transfers through one resource.
#include <catch2/catch.hpp>

#include "compiler/cost/costs.h"
#include "compiler/cost/formulas.h"
#include "compiler/cost/nccl.h"
#include "compiler/inspect/simulate/contention.h"
#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/tasks/tasks.h"

using namespace cgraph;
using namespace cgraph::cost;

namespace {

constexpr LogicalDevice kCaller{};
LogicalDevice Gpu(uint32_t i) { return {DeviceKind::kGpu, 0, i}; }
LogicalDevice Cpu(uint32_t i) { return {DeviceKind::kCpu, 0, i}; }
constexpr uint64_t kMicrosecond = 1'000'000;

// Two hosts with two gpus each; gpu 0 and 1 have a link, and all go through one root per host.
Topology TwoHosts() {
  Topology topology = AssumedTopology();
  Machine& machine = topology.machine.emplace();
  for (uint32_t i = 0; i < 4; ++i) machine.AddDevice({.key = Gpu(i), .rates = topology.gpu});
  for (uint32_t i = 0; i < 2; ++i) machine.AddDevice({.key = Cpu(i), .rates = topology.cpu});
  machine.resources = {{"root[0]", 12'000, 1}, {"root[1]", 12'000, 1}};
  const auto join = [&](LogicalDevice from, LogicalDevice to, Link link) {
    CHECK(machine.AddLink(*machine.Find(from), *machine.Find(to), std::move(link)));
  };
  for (uint32_t i = 0; i < 4; ++i) {
    join(Gpu(i), Cpu(i / 2), {2 * kMicrosecond, 16'000, {i / 2}});
    join(Cpu(i / 2), Gpu(i), {2 * kMicrosecond, 16'000, {i / 2}});
  }
  join(Cpu(0), Cpu(1), {kMicrosecond, 20'000, {}});
  join(Gpu(0), Gpu(1), {kMicrosecond, 40'000, {}});
  join(Gpu(1), Gpu(0), {kMicrosecond, 40'000, {}});
  return topology;
}

}  // namespace

// The latencies for n GPUs on NVLink, in nanoseconds: the constants' sums, for each protocol; the
// least is LL here.
TEST_CASE("the latency of NCCL's collectives is base plus hops") {
  using Kind = CollectiveKind;
  const auto latency = [](Kind kind, uint64_t n, bool nvlink) {
    return NcclPicoseconds({n, nvlink, 1'000'000, Generation::kHopper}, kind, 0).total() / 1000;
  };
  CHECK(latency(Kind::kAllReduce, 2, true) == 7'800);
  CHECK(latency(Kind::kAllReduce, 4, true) == 10'200);
  CHECK(latency(Kind::kAllReduce, 8, true) == 15'000);
  CHECK(latency(Kind::kReduceScatter, 2, true) == 7'200);
  CHECK(latency(Kind::kAllGather, 4, true) == 8'400);
  CHECK(latency(Kind::kReduceScatter, 8, true) == 10'800);
  CHECK(latency(Kind::kBroadcast, 8, true) == 7'200);
  CHECK(latency(Kind::kReduce, 2, true) == 7'200);
  CHECK(latency(Kind::kAllReduce, 8, false) == 20'600);
  CHECK(latency(Kind::kAllGather, 8, false) == 13'600);
  CHECK(latency(Kind::kBroadcast, 8, false) == 7'600);
}

TEST_CASE("large collectives take what crosses the narrowest link") {
  using Kind = CollectiveKind;
  constexpr uint64_t kBytes = 1 << 30, kBus = 100'000;  // 100 GB/s
  const auto moving = [&](Kind kind, uint64_t n, uint64_t bytes) {
    const NcclTime time = NcclPicoseconds({n, true, kBus, Generation::kHopper}, kind, bytes);
    CHECK(std::string(time.protocol) == "Simple");
    return time.moving_ps;
  };
  const uint64_t once = MovePicoseconds(kBytes, kBus);
  for (uint64_t n : {2, 4, 8}) {
    const uint64_t around = MovePicoseconds(kBytes / n * 2 * (n - 1), kBus);
    CHECK(moving(Kind::kAllReduce, n, kBytes) == around);
    CHECK(moving(Kind::kReduceScatter, n, kBytes) == MovePicoseconds(kBytes / n * (n - 1), kBus));
    CHECK(moving(Kind::kAllGather, n, kBytes / n) == MovePicoseconds(kBytes / n * (n - 1), kBus));
    CHECK(moving(Kind::kBroadcast, n, kBytes) == once);
    CHECK(moving(Kind::kReduce, n, kBytes) == once);
  }
}

TEST_CASE("LL carries at most what its generation allows, and half the bus") {
  const auto time = [](uint64_t bus, Generation generation) {
    return NcclPicoseconds({2, true, bus, generation}, CollectiveKind::kBroadcast, 8);
  };
  CHECK(std::string(time(1'000'000, Generation::kVolta).protocol) == "LL");
  CHECK(time(1'000'000, Generation::kVolta).moving_ps == MovePicoseconds(8, 39'000));
  CHECK(time(1'000'000, Generation::kHopper).moving_ps == MovePicoseconds(8, 141'000));
  CHECK(time(20'000, Generation::kVolta).moving_ps == MovePicoseconds(8, 10'000));
}

TEST_CASE("bytes go by the link, else through hosts, one leg after the other") {
  const Topology topology = TwoHosts();
  Costs costs(topology);
  constexpr uint64_t kBytes = 12'000'000;
  const Movement direct = costs.Message(Gpu(0), Gpu(1), TransportKind::kNccl, kBytes);
  CHECK(direct.ps == kMicrosecond + 300 * kMicrosecond);
  CHECK(direct.resources.empty());
  // Through one root twice, which lets 12 GB/s of the links' 16 through.
  const Movement same_host = costs.Message(Gpu(2), Gpu(3), TransportKind::kNccl, kBytes);
  CHECK(same_host.ps == 2 * (2 + 1000) * kMicrosecond);
  CHECK(same_host.resources == std::vector<uint32_t>{1});
  CHECK(same_host.held_ps == same_host.ps - 2 * kMicrosecond);
  const Movement across = costs.Message(Gpu(0), Gpu(2), TransportKind::kNccl, kBytes);
  CHECK(across.ps == (2 + 1000 + 1 + 600 + 2 + 1000) * kMicrosecond);
  CHECK(across.resources == std::vector<uint32_t>{0, 1});
  // No link leads from host to host, which then share their memory.
  CHECK(costs.Message(Gpu(2), Gpu(0), TransportKind::kNccl, kBytes).ps ==
        2 * (2 + 1000) * kMicrosecond);
  CHECK(costs.Copy(Gpu(0), kCaller, Gpu(0), kBytes).ps == (2 + 1000) * kMicrosecond);
  CHECK(costs.Copy(Gpu(0), Gpu(0), kCaller, kBytes).resources == std::vector<uint32_t>{0});
}

TEST_CASE("what a machine lacks is said") {
  const Topology topology = TwoHosts();
  Costs costs(topology);
  CHECK(costs.Reaches(Gpu(0), Gpu(3)));
  CHECK(!costs.Reaches(Gpu(0), Gpu(4)));
  CHECK(topology.machine->Has(kCaller));
  CHECK(!topology.machine->Has(Cpu(2)));
  Topology alone = AssumedTopology();
  alone.machine.emplace().AddDevice({.key = Gpu(0), .rates = alone.gpu});
  alone.machine->AddDevice({.key = Gpu(1), .rates = alone.gpu});
  Costs none(alone);
  CHECK(!none.Reaches(Gpu(0), Gpu(1)));
  CHECK(!none.Reaches(kCaller, Gpu(0)));
  CHECK(!alone.machine->AddDevice({.key = Gpu(1), .rates = alone.gpu}));
}

TEST_CASE("a ring carries what the member with the fewest links has") {
  Topology topology = AssumedTopology();
  Machine& machine = topology.machine.emplace();
  for (uint32_t i = 0; i < 3; ++i) machine.AddDevice({.key = Gpu(i), .rates = topology.gpu});
  for (uint32_t i = 0; i < 3; ++i) {
    for (uint32_t j = 0; j < 3; ++j) {
      if (i != j) machine.AddLink(i, j, {0, i + j == 1 ? 40'000u : 20'000u, {}});
    }
  }
  Costs costs(topology);
  const auto time = [&](std::vector<LogicalDevice> members) {
    return costs.Collective(CollectiveKind::kBroadcast, members, TransportKind::kNccl, 1 << 30).ps;
  };
  const uint64_t latency = NcclPicoseconds({2, true, 40'000, Generation::kHopper},
                                           CollectiveKind::kBroadcast, 1 << 30).latency_ps;
  CHECK(time({Gpu(0), Gpu(1)}) == latency + MovePicoseconds(1 << 30, 40'000));
  CHECK(time({Gpu(0), Gpu(2)}) == latency + MovePicoseconds(1 << 30, 20'000));
  CHECK(time({Gpu(0), Gpu(1), Gpu(2)}) == latency + MovePicoseconds(1 << 30, 40'000));
}

namespace {

// Two transfers of 10 that hold the one resource for 8, on lanes of their own.
schedule::Tasks TwoThroughOne(uint32_t tokens) {
  schedule::Tasks tasks;
  tasks.lanes = 2;
  tasks.durations = {10, 10};
  tasks.queue = {0, 1};
  tasks.queues = {{{0}, {}}, {{1}, {}}};
  for (int i = 0; i < 2; ++i) {
    tasks.predecessors.Add({});
    tasks.successors.Add({});
    tasks.takes.Add({});
    tasks.touches.Add({});
    const uint32_t resource = 0;
    tasks.holds.Add({&resource, 1});
    tasks.held.push_back(8);
  }
  tasks.tokens = {tokens};
  return tasks;
}

}  // namespace

TEST_CASE("a list schedule starts what finds its way free; latency holds nobody up") {
  const schedule::Policy policy{.ranks = {1, 0}, .limits = {{}, {}}};
  const schedule::Timetable one = schedule::ListSchedule(TwoThroughOne(1), policy);
  CHECK(one.starts == std::vector<uint64_t>{0, 8});
  CHECK(one.makespan == 18);
  CHECK(one.order == std::vector<uint32_t>{0, 1});
  CHECK(schedule::ListSchedule(TwoThroughOne(2), policy).makespan == 10);
}

TEST_CASE("the simulation lets through what came first") {
  // Moments 0 and 1 are lanes that begin at 0 and 3, 2 and 3 what they send through one resource.
  PeriodicGraph graph;
  for (int i = 0; i < 4; ++i) graph.AddMoment();
  graph.AddEdge(0, 2, 0);
  graph.AddEdge(1, 3, 0);
  graph.AddEdge(2, 0, 1);
  graph.AddEdge(3, 1, 1);
  REQUIRE(graph.Sort().empty());
  const std::function<uint64_t(uint32_t, uint64_t)> weight = [](uint32_t moment, uint64_t) {
    const uint64_t weights[] = {0, 3, 10, 10};
    return weights[moment];
  };
  const auto ends = [&](uint32_t tokens, uint64_t rounds) {
    const Contention contention{{{2, {{0}, 8}}, {3, {{0}, 8}}}, {tokens}};
    std::vector<uint64_t> seen;
    PlayContended(graph, contention, rounds, weight,
                  [&](uint64_t round, std::span<const uint64_t> times) {
                    CHECK(round == seen.size() / 2);
                    seen.insert(seen.end(), {times[2], times[3]});
                  });
    return seen;
  };
  CHECK(ends(2, 1) == std::vector<uint64_t>{10, 13});
  CHECK(ends(1, 1) == std::vector<uint64_t>{10, 18});
  // The first waits for 16, when the second, which came before it, has left.
  CHECK(ends(1, 2) == std::vector<uint64_t>{10, 18, 26, 34});
}

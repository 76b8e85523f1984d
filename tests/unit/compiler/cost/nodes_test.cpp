// Times of collectives over several nodes, worked out by hand, in nanoseconds. S is what a
// participant gives, n how many there are on N nodes. NCCL's time is the least over rings and trees
// and over LL, LL128 and Simple; where much is moved Simple wins.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "compiler/cost/costs.h"
#include "compiler/cost/formulas.h"
#include "tests/unit/compiler/cost/machine_by_hand.h"

using namespace cgraph;
using namespace cgraph::cost;

namespace {

// Rounded to whole nanoseconds, since rates are kept in whole bytes per microsecond.
uint64_t Nanoseconds(const MachineByHand& machine, Kind kind, uint64_t bytes) {
  return (machine.Time(kind, bytes).ps + 500) / 1000;
}

LogicalDevice On(DeviceKind kind, uint32_t node, uint32_t index) { return {kind, node, index}; }

std::vector<LogicalDevice> Devices(DeviceKind kind, uint32_t nodes, uint32_t each) {
  std::vector<LogicalDevice> devices;
  for (uint32_t node = 0; node < nodes; ++node) {
    for (uint32_t i = 0; i < each; ++i) devices.push_back(On(kind, node, i));
  }
  return devices;
}

// The topology that is assumed where none is stated.
uint64_t AssumedNanoseconds(Kind kind, const std::vector<LogicalDevice>& devices, uint64_t bytes) {
  const Movement movement =
      Costs(AssumedTopology()).Collective(kind, devices, TransportKind::kShm, bytes);
  return (movement.ps + 500) / 1000;
}

// Eight gpus of each node with NVLinks of 370.8 GB/s into switches, and a NIC of 48 GB/s each.
MachineByHand DgxCluster(uint32_t nodes) {
  MachineByHand machine;
  for (uint32_t gpu = 0; gpu < 8 * nodes; ++gpu) {
    machine.Add(DeviceKind::kGpu, gpu / 8, gpu % 8);
    for (uint64_t rate : {370'800, 370'800, 48'000, 48'000}) machine.Resource(rate);
  }
  machine.Link([](uint32_t i, uint32_t j) -> Link {
    if (i / 8 == j / 8) return {1'900'000, 370'800, {4 * i, 4 * j + 1}};
    return {2'700'000, 48'000, {4 * i + 2, 4 * j + 3}};
  });
  return machine;
}

}  // namespace

// One node of 4: three links of 150 GB/s leave each gpu, 450 GB/s. Simple: 8.4 us and 3.4 us a hop.
TEST_CASE("the nine collectives in one node of four") {
  const MachineByHand machine = Cluster(1, 4);
  CHECK(Nanoseconds(machine, Kind::kAllReduce, kBytes) == 378'325);  // 6 hops, 3/2 S
  CHECK(Nanoseconds(machine, Kind::kReduceScatter, kBytes) == 193'363);  // 3 hops, 3/4 S
  CHECK(Nanoseconds(machine, Kind::kAllGather, kBytes) == 717'651);  // 3 hops, 3 S
  CHECK(Nanoseconds(machine, Kind::kReduce, kBytes) == 244'817);  // 1 hop, S
  CHECK(Nanoseconds(machine, Kind::kBroadcast, kBytes) == 244'817);
  CHECK(Nanoseconds(machine, Kind::kAllToAll, kBytes) == 193'363);  // a part of S/4 by each link
  CHECK(Nanoseconds(machine, Kind::kGather, kBytes) == 717'651);  // S by each link of the root
  CHECK(Nanoseconds(machine, Kind::kScatter, kBytes) == 193'363);
  CHECK(Nanoseconds(machine, Kind::kBarrier, 0) == 10'200);  // LL: 6.6 + 6 * 0.6 us
}

// Two nodes of 4, whose NICs let 25 GB/s out and in; S takes 4194.304 us there. A hop inside takes
// 3.4 us by Simple, one from node to node 14 us.
TEST_CASE("the nine collectives over two nodes of four") {
  const MachineByHand machine = Cluster(2, 4);
  // A tree moves S out of each node: at 92 % of 25 GB/s, 4559.026 us, and 8.4 + 6 * 4 + 2 * 14 us.
  // (A ring would move 7/4 S, 7340.032 us.)
  CHECK(Nanoseconds(machine, Kind::kAllReduce, kBytes) == 4'619'426);
  // Rings: 7/8 S, and 7 S. 8.4 + 6 * 3.4 + 14 us.
  CHECK(Nanoseconds(machine, Kind::kReduceScatter, kBytes) == 3'712'816);
  CHECK(Nanoseconds(machine, Kind::kAllGather, kBytes) == 29'402'928);
  // Chains: S, 8.4 + 14 us.
  CHECK(Nanoseconds(machine, Kind::kReduce, kBytes) == 4'216'704);
  CHECK(Nanoseconds(machine, Kind::kBroadcast, kBytes) == 4'216'704);
  // 16 parts of S/8 leave each node, at 10.938 GB/s for 7 of them; 4 parts go to the root.
  CHECK(Nanoseconds(machine, Kind::kAllToAll, kBytes) == 42'800 + 8'388'225);
  CHECK(Nanoseconds(machine, Kind::kGather, kBytes) == 42'800 + 16'777'216);
  CHECK(Nanoseconds(machine, Kind::kScatter, kBytes) == 42'800 + 2'097'152);
  // LL's tree: 6.8 + 6 * 0.6 + 2 * 5 us.
  CHECK(Nanoseconds(machine, Kind::kBarrier, 0) == 20'400);
  CHECK(machine.Time(Kind::kAllReduce, kBytes).resources == std::vector<uint32_t>{0, 1, 2, 3});
}

TEST_CASE("the nine collectives over eight nodes of eight") {
  const MachineByHand machine = Cluster(8, 8);
  // A ring: 63/32 S at 25 GB/s, 8257.536 us; 8.4 + 112 * 3.4 + 14 * 14 us, times 1.4. A tree moves
  // 2 S at 23 GB/s, 9118.052 us.
  CHECK(Nanoseconds(machine, Kind::kAllReduce, kBytes) == 819'280 + 8'257'536);
  // 63/64 S and 63 S; 8.4 + 56 * 3.4 + 7 * 14 us.
  CHECK(Nanoseconds(machine, Kind::kReduceScatter, kBytes) == 296'800 + 4'128'768);
  CHECK(Nanoseconds(machine, Kind::kAllGather, kBytes) == 296'800 + 264'241'152);
  CHECK(Nanoseconds(machine, Kind::kReduce, kBytes) == 22'400 + 4'194'304);
  CHECK(Nanoseconds(machine, Kind::kBroadcast, kBytes) == 22'400 + 4'194'304);
  // 8 * 56 parts of S/64 leave each node, at 3.516 GB/s for 63 of them; 56 parts go to the root.
  CHECK(Nanoseconds(machine, Kind::kAllToAll, kBytes) == 296'800 + 29'356'997);
  CHECK(Nanoseconds(machine, Kind::kGather, kBytes) == 296'800 + 234'881'024);
  CHECK(Nanoseconds(machine, Kind::kScatter, kBytes) == 296'800 + 3'670'016);
  // LL's tree: 6.8 + 14 * 0.6 + 6 * 5 us; its ring would take 6.6 + 112 * 1 + 14 * 5 us.
  CHECK(Nanoseconds(machine, Kind::kBarrier, 0) == 45'200);
  CHECK(Nanoseconds(machine, Kind::kAllReduce, 0) == 45'200);
}

// nccl-tests counts 2(n-1)/n S / time. NVIDIA says in github.com/NVIDIA/nccl-tests/issues/290 that
// two nodes of eight H100, by rings, should show 46 to 48 GB/s for each of the eight NICs of 400
// Gb/s: 368 to 384.
TEST_CASE("rings over DGX-H100 reach what NVIDIA expects of nccl-tests") {
  constexpr uint64_t kLarge = uint64_t{8} << 30;
  const auto bus = [&](uint32_t nodes) {  // GB/s
    const double n = 8.0 * nodes;
    const uint64_t ps = DgxCluster(nodes).Time(Kind::kAllReduce, kLarge).ps;
    return 2 * (n - 1) / n * static_cast<double>(kLarge) / static_cast<double>(ps) * 1000;
  };
  CHECK(bus(2) > 368);
  CHECK(bus(2) < 384);
  CHECK(bus(8) > 368);
  CHECK(bus(8) < 384);
}

// 4 + 4 gpus that one link joins, or hosts alone, or nothing: 25 GB/s in all cases, of which the
// last is what is assumed of a network.
TEST_CASE("whatever joins two nodes bounds their all_reduce") {
  enum class Way { kLink, kHosts, kNone };
  const auto time = [](Way way) {
    MachineByHand machine;
    const uint32_t cpus = way == Way::kHosts ? 2 : 0;
    for (uint32_t i = 0; i < 8; ++i) machine.Add(DeviceKind::kGpu, i / 4, i % 4);
    for (uint32_t i = 0; i < cpus; ++i) machine.AddHost(i);
    machine.Link([&](uint32_t i, uint32_t j) -> std::optional<Link> {
      if (i >= 8 && j >= 8) return Link{5 * kUs, 25'000, {}};
      if (i >= 8 || j >= 8) {
        const uint32_t gpu = std::min(i, j), cpu = std::max(i, j) - 8;
        return gpu / 4 == cpu ? std::optional(Link{kUs, 50'000, {}}) : std::nullopt;
      }
      if (i / 4 == j / 4) return Link{kUs, 150'000, {}};
      if (way == Way::kLink && i + j == 7 && (i == 3 || i == 4)) return Link{5 * kUs, 25'000, {}};
      return std::nullopt;
    });
    return Nanoseconds(machine, Kind::kAllReduce, kBytes);
  };
  CHECK(time(Way::kLink) == 4'619'426);
  CHECK(time(Way::kHosts) == 4'619'426);
  // The ring: 7/4 S at 25 GB/s; 8.4 + 12 * 3.4 + 2 * 14 us, times 1.4.
  CHECK(time(Way::kNone) >= 4'194'304);
}

// Without a topology: 25 GB/s and 5 us between nodes, 370 GB/s and NCCL's hops within one.
TEST_CASE("without a topology a network is assumed between nodes") {
  const auto gpus = Devices(DeviceKind::kGpu, 2, 4);
  CHECK(AssumedNanoseconds(Kind::kAllReduce, gpus, kBytes) == 4'619'426);
  CHECK(AssumedNanoseconds(Kind::kBroadcast, gpus, kBytes) == 4'216'704);
  CHECK(AssumedNanoseconds(Kind::kAllToAll, gpus, kBytes) == 42'800 + 8'388'991);  // 10.937 GB/s
  CHECK(AssumedNanoseconds(Kind::kGather, gpus, kBytes) == 42'800 + 16'777'216);
  // One cpu on each of two nodes: S each way, as two steps of 5 us.
  const auto pair = Devices(DeviceKind::kCpu, 2, 1);
  CHECK(AssumedNanoseconds(Kind::kAllReduce, pair, kBytes) == 10'000 + 4'194'304);
  CHECK(AssumedNanoseconds(Kind::kAllGather, pair, kBytes) == 5'000 + 4'194'304);
  // Two on each: 6.6 GB/s within one; of the six steps two lead from node to node.
  const auto four = Devices(DeviceKind::kCpu, 2, 2);
  CHECK(AssumedNanoseconds(Kind::kAllReduce, four, 6'600'000) == 4 * 100 + 10'000 + 1'500'000);
}

// Cpus of two nodes, the first of each with a link of 10 GB/s to the other's: a value of the second
// goes by it, too, and none takes the two nodes for one memory.
TEST_CASE("cpus of different nodes share no memory") {
  MachineByHand machine;
  for (uint32_t i = 0; i < 4; ++i) machine.Add(DeviceKind::kCpu, i / 2, i % 2);
  machine.Link([](uint32_t i, uint32_t j) -> std::optional<Link> {
    if (i + j == 2 && i != j) return Link{5 * kUs, 10'000, {}};
    return std::nullopt;
  });
  const auto cpu = [](uint32_t node, uint32_t i) { return On(DeviceKind::kCpu, node, i); };
  CHECK(machine.Message(cpu(0, 0), cpu(1, 0), 1'000'000) == 105 * kUs);
  CHECK(machine.Message(cpu(0, 1), cpu(1, 1), 1'000'000) == 105 * kUs);
  CHECK(machine.Message(LogicalDevice(), cpu(1, 1), 1'000'000) == 105 * kUs);
  // Within a node what is assumed of memory: a ring of 6.6 GB/s; 4 hops of 0.1 us and two of 5 us.
  CHECK(Nanoseconds(machine, Kind::kAllReduce, 6'600'000) == 400 + 10'000 + 1'500'000);
}

namespace {

// What has to leave, and to enter, a node with `here` of n members, of which one may be the root,
// in parts of which n are what one member gives: however the members go about it.
std::pair<uint64_t, uint64_t> PartsAcross(Kind kind, uint64_t here, uint64_t n, bool has_root) {
  const uint64_t others = n - here;
  switch (kind) {
    case Kind::kAllReduce: return {n, n};
    case Kind::kReduceScatter: return {others, here};
    case Kind::kAllGather: return {here * n, others * n};
    case Kind::kReduce: return {has_root ? 0 : n, has_root ? n : 0};
    case Kind::kBroadcast: return {has_root ? n : 0, has_root ? 0 : n};
    case Kind::kAllToAll: return {here * others, others * here};
    case Kind::kGather: return {has_root ? 0 : here * n, has_root ? others * n : 0};
    case Kind::kScatter: return {has_root ? others : 0, has_root ? 0 : here};
    default: return {0, 0};
  }
}

}  // namespace

// Machines at random: up to four nodes of up to four gpus or cpus, whose NICs have rates of their
// own in each direction; links lead from each member to each of another node (way 0), from one
// alone (1), or from host to host (2).
TEST_CASE("no collective takes less than what has to leave and enter each node") {
  std::mt19937 random(1);
  const auto below = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  size_t checked = 0;
  for (int round = 0; round < 300; ++round) {
    MachineByHand machine;
    const uint32_t nodes = 2 + below(3), way = below(3);
    const DeviceKind kind = way < 2 && below(2) == 0 ? DeviceKind::kCpu : DeviceKind::kGpu;
    std::vector<uint64_t> out, in, each;
    std::vector<uint32_t> node_of;
    for (uint32_t node = 0; node < nodes; ++node) {
      each.push_back(1 + below(4));
      for (uint32_t i = 0; i < each.back(); ++i) {
        machine.Add(kind, node, i);
        node_of.push_back(node);
      }
      for (auto* rates : {&out, &in}) {
        machine.Resource(rates->emplace_back(1'000 * (1 + below(50))));
      }
    }
    const auto members = static_cast<uint32_t>(node_of.size());
    for (uint32_t node = 0; node < nodes && way == 2; ++node) machine.AddHost(node);
    machine.Link([&](uint32_t i, uint32_t j) -> std::optional<Link> {
      const auto node = [&](uint32_t at) { return at < members ? node_of[at] : at - members; };
      const bool hosts = i >= members && j >= members, mixed = (i < members) != (j < members);
      if (node(i) == node(j)) return Link{kUs, 40'000 + 40'000 * below(4), {}};
      const auto is_first = [&](uint32_t at) { return at == 0 || node_of[at - 1] != node_of[at]; };
      if (mixed || hosts != (way == 2) || (way == 1 && !(is_first(i) && is_first(j)))) return {};
      return Link{5 * kUs, 1'000 * (1 + below(50)), {2 * node(i), 2 * node(j) + 1}};
    });
    for (Kind what : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather, Kind::kReduce,
                      Kind::kBroadcast, Kind::kAllToAll, Kind::kGather, Kind::kScatter}) {
      uint64_t least = 0;
      for (uint32_t node = 0; node < nodes; ++node) {
        const auto [leaves, enters] = PartsAcross(what, each[node], members, node == 0);
        least = std::max({least, MovePicoseconds(Part(kBytes, leaves, members), out[node]),
                          MovePicoseconds(Part(kBytes, enters, members), in[node])});
      }
      INFO("round " << round << ", collective " << static_cast<int>(what) << ", way " << way
                    << ", device " << static_cast<int>(kind) << ", " << members << " members");
      // Exchanges have a rate in whole bytes per microsecond.
      CHECK(machine.Time(what, kBytes).ps >= least - least / 1000);
      ++checked;
    }
  }
  CHECK(checked == 2400);
}

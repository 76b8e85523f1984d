#include "tests/simulation/machine_module.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <fmt/format.h>

#include "runtime/plan/load.h"
#include "tests/support/run.h"

namespace cgraph::simulation {
namespace {

using Kind = MachineCall::Kind;

constexpr const char* kActor = R"(import std.tensor
import std.debug

actor Stage(rank: int) {
  state total: i64[1] = zeros()
  method step(v: i64[n <= 8], x: i64[1], fail: i64) -> i64[n <= 8] {
    check(fail != rank, "no")
    total += x
    return 3 * v + total
  }
  method look(v: i64[n <= 8]) -> i64[n <= 8] { return v + total }
  method wide(v: i64[n <= 8]) -> i64[8] { return reshape(sum(v), [1]) + zeros() }
}
)";

}  // namespace

MachineModule RandomMachineModule(uint64_t seed, uint32_t nodes) {
  std::mt19937_64 random(seed);
  MachineModule module;
  module.nodes = nodes;
  const uint64_t devices = std::max(2u, nodes) + random() % 3;
  for (uint64_t d = 0; d < devices; ++d) {
    module.devices.push_back(random() % 4 == 0 ? "cpu" : "gpu");
  }
  const uint64_t graphs = 1 + random() % 2;
  for (uint64_t g = 0; g < graphs; ++g) {
    MachineGraph& graph = module.graphs.emplace_back();
    graph.inflight = 1 + random() % 4;
    const uint64_t calls = 1 + random() % 5;
    for (uint64_t i = 0; i < calls; ++i) {
      // Nobody waits for anything before a barrier at the begin.
      const uint64_t kind = i == 0 && random() % 3 == 0 ? 8 : random() % 8;
      MachineCall& call = graph.calls.emplace_back();
      call.device = static_cast<uint32_t>(random() % devices);
      call.kind = kind < 5    ? Kind::kStep
                  : kind < 7  ? Kind::kLook
                  : kind == 7 ? Kind::kReduce
                              : Kind::kBarrier;
      call.deep = random() % 2 == 0;
      call.members.resize(devices);
      std::iota(call.members.begin(), call.members.end(), 0);
      std::shuffle(call.members.begin(), call.members.end(), random);
    }
  }
  return module;
}

std::string Places(const std::vector<uint32_t>& devices) {
  return fmt::format("s{}", fmt::join(devices, ", s"));
}

// A collective makes all lengths those of its members.
std::string TextOf(const MachineModule& module) {
  std::string text = kActor;
  for (size_t d = 0; d < module.devices.size(); ++d) {
    text += fmt::format("place s{0} = Stage({0}) on node[{1}].{2}[{0}]\n", d, d % module.nodes,
                        module.devices[d]);
  }
  text += "transport deep = mpi(capacity: 3)\n";
  for (size_t g = 0; g < module.graphs.size(); ++g) {
    const MachineGraph& graph = module.graphs[g];
    bool wide = false;
    std::string body = "  let v0 = v\n";
    for (size_t i = 0; i < graph.calls.size(); ++i) {
      const MachineCall& call = graph.calls[i];
      const uint32_t device = call.device;
      const bool deep = i != 0 && call.deep &&
                        graph.calls[i - 1].device % module.nodes != device % module.nodes;
      const char* const via = deep ? " via deep" : "";
      switch (call.kind) {
        case Kind::kStep:
          body += fmt::format("  let v{} = s{}.step(v{}{}, x, fail)\n", i + 1, device, i, via);
          break;
        case Kind::kLook:
          body += fmt::format("  let v{} = s{}.look(v{}{})\n", i + 1, device, i, via);
          break;
        case Kind::kReduce: {
          const auto member = std::find(call.members.begin(), call.members.end(), device);
          body += fmt::format(
              "  let r{0} = all_reduce([p.wide(v{1}) for p in [{2}]], sum)\n"
              "  let v{0} = s{3}.look(r{0}[{4}])\n",
              i + 1, i, Places(call.members), device, member - call.members.begin());
          wide = true;
          break;
        }
        case Kind::kBarrier:
          body += fmt::format("  barrier([{}])\n  let v{} = v{}\n", Places(call.members), i + 1, i);
          break;
      }
    }
    text += fmt::format(
        "graph g{}(v: i64[n <= 8], x: i64[1], fail: i64) -> i64[{}] inflight {} "
        "{{\n{}  return v{}\n}}\n",
        g, wide ? "8" : "n", graph.inflight, body, graph.calls.size());
  }
  return text;
}

// The file's name has one length, so that a plan has, too: its messages do.
std::vector<uint8_t> PlanOf(const MachineModule& module) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("simulated_{:08}.cgraph", getpid());
  std::ofstream(path) << TextOf(module);
  std::vector<uint8_t> bytes = plan::ToBytes(*testing::CompileFile(path.string()));
  std::filesystem::remove(path);
  return bytes;
}

std::optional<std::vector<int64_t>> MachineOracle::Execute(uint32_t graph, std::vector<int64_t> v,
                                                           int64_t x, int64_t fail) {
  for (const MachineCall& call : module_.graphs[graph].calls) {
    int64_t& total = totals_[call.device];
    switch (call.kind) {
      case Kind::kStep:
        if (fail == call.device) return std::nullopt;
        total += x;
        for (int64_t& element : v) element = 3 * element + total;
        break;
      case Kind::kReduce: {
        const int64_t of_one = std::accumulate(v.begin(), v.end(), int64_t{0});
        const int64_t sum = of_one * static_cast<int64_t>(totals_.size());
        v.assign(kMostLength, sum + total);
        break;
      }
      case Kind::kLook:
        for (int64_t& element : v) element += total;
        break;
      case Kind::kBarrier: break;
    }
  }
  return v;
}

}  // namespace cgraph::simulation

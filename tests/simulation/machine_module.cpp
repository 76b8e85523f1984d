#include "tests/simulation/machine_module.h"

#include <unistd.h>

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

MachineModule RandomMachineModule(uint64_t seed) {
  std::mt19937_64 random(seed);
  MachineModule module;
  module.nodes = 2 + random() % 2;
  module.devices = module.nodes + random() % 3;
  const uint64_t graphs = 1 + random() % 2;
  for (uint64_t g = 0; g < graphs; ++g) {
    MachineGraph& graph = module.graphs.emplace_back();
    graph.inflight = 1 + random() % 4;
    const uint64_t calls = 1 + random() % 5;
    for (uint64_t i = 0; i < calls; ++i) {
      const uint64_t kind = random() % 8;
      graph.calls.push_back({static_cast<uint32_t>(random() % module.devices),
                             kind < 5   ? Kind::kStep
                             : kind < 7 ? Kind::kLook
                                        : Kind::kReduce,
                             random() % 2 == 0});
    }
  }
  return module;
}

// A collective makes all lengths those of its members.
std::string TextOf(const MachineModule& module) {
  std::string text = kActor;
  text += fmt::format("place s[i in 0..{}] = Stage(i) on node[i % {}].gpu[i]\n", module.devices,
                      module.nodes);
  text += "transport deep = mpi(capacity: 3)\n";
  for (size_t g = 0; g < module.graphs.size(); ++g) {
    const MachineGraph& graph = module.graphs[g];
    bool wide = false;
    std::string body = "  let v0 = v\n";
    for (size_t i = 0; i < graph.calls.size(); ++i) {
      const uint32_t device = graph.calls[i].device;
      const bool deep = i != 0 && graph.calls[i].deep &&
                        graph.calls[i - 1].device % module.nodes != device % module.nodes;
      const char* const via = deep ? " via deep" : "";
      switch (graph.calls[i].kind) {
        case Kind::kStep:
          body += fmt::format("  let v{} = s[{}].step(v{}{}, x, fail)\n", i + 1, device, i, via);
          break;
        case Kind::kLook:
          body += fmt::format("  let v{} = s[{}].look(v{}{})\n", i + 1, device, i, via);
          break;
        case Kind::kReduce:
          body += fmt::format(
              "  let r{0} = all_reduce([p.wide(v{1}) for p in s], sum)\n"
              "  let v{0} = s[{2}].look(r{0}[{2}])\n",
              i + 1, i, device);
          wide = true;
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
        const int64_t sum = std::accumulate(v.begin(), v.end(), int64_t{0}) * module_.devices;
        v.assign(kMostLength, sum + total);
        break;
      }
      case Kind::kLook:
        for (int64_t& element : v) element += total;
        break;
    }
  }
  return v;
}

}  // namespace cgraph::simulation

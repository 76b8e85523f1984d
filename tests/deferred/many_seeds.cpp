// Plans under many seeds of the deferred device, each compared with the CPU to the last bit.
//
//   many_seeds --seeds 1000 [--first 1] PLAN WEIGHTS_DIR [PLAN WEIGHTS_DIR ...]
//
// Engines are loaded once for each way in which devices may be deferred (OptionsOf), beside one on
// the CPU; from seed to seed the machine is only told to go on in another order. Under each seed
// every graph of the plan is executed twice, all of them in random order, and fetched late. Plans
// that move hundreds of megabytes (measurements of links) are left out, by name.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/load.h"
#include "tests/deferred/trial.h"
#include "tests/support/deferred/deferred.h"

namespace cgraph::testing {
namespace {

constexpr uint64_t kWays = 6;   // of OptionsOf(): by the seed
constexpr uint32_t kTimes = 2;  // that each graph is executed under a seed
constexpr uint64_t kMostBytes = 64 << 20;  // of a plan's memory

struct Pair {
  std::unique_ptr<Engine> deferred, cpu;
};

std::unique_ptr<Engine> Load(const plan::Plan& plan, const std::string& weights,
                             uint32_t workers) {
  EngineOptions options;
  options.workers = workers;
  options.weights = weights;
  options.timeout = std::chrono::seconds(20);
  auto engine = Engine::Load(std::make_unique<plan::Plan>(plan), options);
  if (!engine.ok()) throw std::runtime_error(engine.status().message());
  return std::move(*engine);
}

std::vector<Execution> Start(Engine& engine, const std::vector<uint32_t>& graphs, uint64_t seed) {
  std::vector<Execution> executions;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const plan::Graph& graph = *engine.plan().graphs[graphs[i]];
    std::vector<std::unique_ptr<Filled>> filled;
    std::vector<Input> inputs;
    for (const auto& port : graph.inputs) {
      filled.push_back(std::make_unique<Filled>(graph, *port,
                                                static_cast<int64_t>((seed + i) % 5)));
      inputs.push_back(filled.back()->input);
    }
    auto execution = engine.Execute(graphs[i], inputs);
    if (!execution.ok()) throw std::runtime_error(execution.status().message());
    executions.push_back(std::move(*execution));
  }
  return executions;
}

// What differs, or nothing.
std::string Difference(const Result<Outputs>& seen, const Result<Outputs>& expected) {
  if (!seen.ok() || !expected.ok()) {
    if (seen.ok() == expected.ok() && seen.status().message() == expected.status().message()) {
      return "";
    }
    return "seen: " + (seen.ok() ? std::string("a result") : seen.status().message()) +
           "; on the CPU: " +
           (expected.ok() ? std::string("a result") : expected.status().message());
  }
  for (size_t o = 0; o < seen->size(); ++o) {
    const device::Tensor &a = (*seen)[o], &b = (*expected)[o];
    const bool same = a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims) &&
                      std::memcmp(a.data, b.data, a.bytes()) == 0;
    if (!same) return "output `" + seen->name(o) + "` is not what the CPU gives";
  }
  return "";
}

std::string TrySeed(Pair& engines, uint64_t seed, uint64_t& executions) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> graphs;
  for (uint32_t g = 0; g < engines.cpu->plan().graphs.size(); ++g) {
    // Rounds are one run after the other, which conformance_deferred_test tries.
    const plan::Plan& plan = engines.cpu->plan();
    if (plan.graphs[g]->repeat != nullptr || plan::IsBefore(plan, g)) continue;
    graphs.insert(graphs.end(), kTimes, g);
  }
  std::shuffle(graphs.begin(), graphs.end(), random);
  ReseedLast(seed);
  std::vector<Execution> seen = Start(*engines.deferred, graphs, seed);
  std::vector<Execution> expected = Start(*engines.cpu, graphs, seed);
  std::string wrong;
  for (size_t i = 0; i < graphs.size() && wrong.empty(); ++i) {
    wrong = Difference(seen[i].Get(), expected[i].Get());
    if (!wrong.empty()) wrong = engines.cpu->plan().graphs[graphs[i]]->name + ": " + wrong;
  }
  executions += graphs.size();
  return wrong;
}

uint64_t BytesOf(const plan::Plan& plan) {
  uint64_t bytes = 0;
  for (const auto& graph : plan.graphs) {
    for (const plan::Arena& arena : graph->arenas) {
      bytes += arena.bytes() * std::max<uint64_t>(1, arena.copies());
    }
  }
  return bytes;
}

// Executions, none where the plan is left out; what is wrong is printed.
uint64_t Try(const std::string& path, const std::string& weights, uint64_t first, uint64_t seeds) {
  auto plan = plan::ReadFile(path);
  if (!plan.ok()) throw std::runtime_error(plan.status().message());
  if (BytesOf(**plan) > kMostBytes) {
    std::printf("left out, it needs %llu MiB: %s\n",
                static_cast<unsigned long long>(BytesOf(**plan) >> 20), path.c_str());
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  uint64_t executions = 0;
  for (uint64_t way = 0; way < kWays; ++way) {
    Pair engines;
    const uint32_t workers = 1 + way % 2;
    DeferNoEngines();
    engines.cpu = Load(**plan, weights, workers);
    DeferAllEngines(first + way);
    engines.deferred = Load(**plan, weights, workers);
    for (uint64_t seed = first + way; seed < first + seeds; seed += kWays) {
      const std::string wrong = TrySeed(engines, seed, executions);
      if (wrong.empty()) continue;
      std::printf("%s, first seed %llu, seed %llu: %s\n", path.c_str(),
                  static_cast<unsigned long long>(first), static_cast<unsigned long long>(seed),
                  wrong.c_str());
      std::exit(1);
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%llu executions in %.1f s: %s\n", static_cast<unsigned long long>(executions),
              took.count(), path.c_str());
  std::fflush(stdout);
  return executions;
}

}  // namespace
}  // namespace cgraph::testing

int main(int argc, char** argv) {
  uint64_t first = 1, seeds = 1, executions = 0, plans = 0;
  try {
    for (int i = 1; i + 1 < argc; i += 2) {
      if (std::strcmp(argv[i], "--seeds") == 0) {
        seeds = std::strtoull(argv[i + 1], nullptr, 10);
      } else if (std::strcmp(argv[i], "--first") == 0) {
        first = std::strtoull(argv[i + 1], nullptr, 10);
      } else {
        const uint64_t done = cgraph::testing::Try(argv[i], argv[i + 1], first, seeds);
        executions += done;
        plans += done != 0;
      }
    }
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("%llu plans under %llu seeds each: %llu executions, all as on the CPU\n",
              static_cast<unsigned long long>(plans), static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(executions));
  return plans == 0;
}

// The engine, driven by a scheduler that a seed decides: see docs/architecture.md.
//
//   engine_simulation_test --seeds N [--first S]   seeds S to S + N - 1, of each kind of trial
//   engine_simulation_test --seed S [--turns T]    one seed, and the last T turns of its schedule
//   engine_simulation_test --every S [--stride K]  seed S, each other rank killed at every K-th point
//   engine_simulation_test --faults                what is wrong on purpose is found
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "tests/simulation/trial.h"

namespace cgraph::simulation {
namespace {

struct Counts {
  uint64_t trials = 0, deaths = 0, points = 0, compared = 0, digest = 0;
  double seconds = 0;  // by the trials' clocks
};

void Count(const TrialResult& result, Counts& counts) {
  ++counts.trials;
  for (uint64_t points : result.points) counts.points += points;
  counts.compared += result.compared;
  counts.digest = counts.digest * 31 + result.digest;
  counts.seconds += result.ns * 1e-9;
}

// Three kinds of trials, by the seed. Returns what is wrong.
std::string TrySeed(TrialOptions options, Counts& counts) {
  TrialResult result;
  if (options.seed % 3 == 0) {
    result = TryWorkers(options);
    Count(result, counts);
    return result.wrong;
  }
  result = TryMachines(options);
  Count(result, counts);
  if (!result.wrong.empty() || options.seed % 3 == 1) return result.wrong;
  // Once more, the same until a rank dies.
  std::mt19937_64 random(options.seed);
  Death death;
  death.rank = static_cast<uint32_t>(1 + random() % (result.points.size() - 1));
  death.point = random() % result.points[death.rank];
  options.death = death;
  result = TryMachines(options);
  Count(result, counts);
  ++counts.deaths;
  if (result.wrong.empty()) return "";
  return fmt::format("rank {} is killed at its point {}: {}", death.rank, death.point,
                     result.wrong);
}

// What a process does once only, it does here: the trials of a seed are the same ever after.
void WarmUp() {
  Counts counts;
  for (uint64_t seed = 0; seed < 3; ++seed) static_cast<void>(TrySeed({.seed = seed}, counts));
}

int TrySeeds(uint64_t first, uint64_t count, size_t turns) {
  Counts counts;
  WarmUp();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string wrong = TrySeed({.seed = seed, .turns = turns}, counts);
    if (wrong.empty()) continue;
    fmt::print("seed {}: {}\nagain: engine_simulation_test --seed {}\n", seed, wrong, seed);
    return 1;
  }
  fmt::print("{} seeds: {} trials of {:.3f} s, {} deaths, {} results as the oracle says, {} points, "
             "digest {:016x}\n",
             count, counts.trials, counts.seconds, counts.deaths, counts.compared, counts.points,
             counts.digest);
  return counts.compared == 0;
}

uint64_t NumberAfter(int argc, char** argv, const char* option, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], option) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

bool Has(int argc, char** argv, const char* option) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], option) == 0) return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  const auto number = [&](const char* option, uint64_t otherwise) {
    return NumberAfter(argc, argv, option, otherwise);
  };
  const size_t turns = number("--turns", 60);
  if (Has(argc, argv, "--seed")) return TrySeeds(number("--seed", 1), 1, turns);
  return TrySeeds(number("--first", 1), number("--seeds", 300), turns);
}

}  // namespace
}  // namespace cgraph::simulation

int main(int argc, char** argv) { return cgraph::simulation::Main(argc, argv); }

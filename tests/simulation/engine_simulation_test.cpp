// The engine, driven by a scheduler that a seed decides: see tests/README.md.
//
//   engine_simulation_test --seeds N [--first S]   seeds S to S + N - 1, of each kind of trial
//   engine_simulation_test --seeds N --of M        N of the first M, which CGRAPH_SEED chooses
//   engine_simulation_test --seed S [--turns T]    one seed, and the last T turns of its schedule
//   engine_simulation_test --every S [--stride K]  seed S, a rank killed at every K-th point of it
//   engine_simulation_test --faults [--seeds N]    what is wrong on purpose is found
//   engine_simulation_test --seed S --fault K      the K-th of that, with one seed
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include <fmt/format.h>

#include "tests/simulation/faults.h"
#include "tests/simulation/trial.h"

namespace cgraph::simulation {
namespace {

constexpr unsigned kSeconds = 60;  // that a seed takes at most, mostly a hundredth of one

// After so many seeds the process has the modules of all seeds, and its heap grows no more, but for
// what the allocator keeps here and there. (AddressSanitizer looks for each byte, in other builds.)
constexpr uint64_t kSettled = 250;
constexpr uint64_t kMostGrown = 512 << 10;

uint64_t HeapBytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

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

// What is tried, for whoever wants to know why the process ends.
uint64_t tried_seed = 0;

// Says with which seed the process crashes or goes on for ever, and its schedule.
void OnSignal(int signal) {
  std::string text = fmt::format("seed {}: {}\n", tried_seed, strsignal(signal));
  if (const Scheduler* const scheduler = Scheduler::Current()) text += scheduler->Describe(60);
  text += fmt::format("again: engine_simulation_test --seed {}\n", tried_seed);
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  std::signal(signal, SIG_DFL);
  raise(signal);
}

std::string TryDeath(TrialOptions options, const Death& death, Counts& counts) {
  options.death = death;
  const TrialResult result = TryMachines(options);
  Count(result, counts);
  ++counts.deaths;
  if (result.wrong.empty()) return "";
  return fmt::format("rank {} is killed at its point {}: {}", death.rank, death.point,
                     result.wrong);
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
  const uint64_t points = result.points[death.rank], loaded = result.loaded[death.rank];
  // Mostly while it executes.
  switch (random() % 6) {
    case 0: death.point = random() % points; break;
    case 1: death.point = points - 1 - random() % std::min<uint64_t>(points - loaded, 300); break;
    default: death.point = loaded + random() % (points - loaded); break;
  }
  return TryDeath(options, death, counts);
}

// What a process does once only, it does here: the trials of a seed are the same ever after.
void WarmUp() {
  Counts counts;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const std::string wrong = TrySeed({.seed = seed}, counts);
    if (wrong.empty()) continue;
    fmt::print("seed {}: {}\nagain: engine_simulation_test --seed {}\n", seed, wrong, seed);
    std::exit(1);
  }
}

int TrySeeds(uint64_t first, uint64_t count, TrialOptions options) {
  Counts counts;
  WarmUp();
  uint64_t settled = 0;
  for (const int signal : {SIGABRT, SIGSEGV, SIGALRM}) std::signal(signal, OnSignal);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    options.seed = tried_seed = seed;
    alarm(kSeconds);
    if (seed - first == kSettled) settled = HeapBytes();
    const std::string wrong = TrySeed(options, counts);
    if (wrong.empty()) continue;
    fmt::print("seed {}: {}\nagain: engine_simulation_test --seed {}\n", seed, wrong, seed);
    return 1;
  }
  fmt::print(
      "{} seeds from {} on: {} trials of {:.3f} s, {} deaths, {} results as the oracle says, "
      "{} points, digest {:016x}\n",
      count, first, counts.trials, counts.seconds, counts.deaths, counts.compared, counts.points,
      counts.digest);
  if (count > 2 * kSettled && HeapBytes() > settled + kMostGrown) {
    fmt::print("memory is left: {} bytes\n", HeapBytes() - settled);
    return 1;
  }
  return counts.compared == 0;
}

// Kills each rank but the first at every `stride`-th of its points, all in one schedule.
int KillEverywhere(TrialOptions options, uint64_t stride) {
  Counts counts;
  WarmUp();
  const TrialResult whole = TryMachines(options);
  if (!whole.wrong.empty()) {
    fmt::print("seed {}: {}\n", options.seed, whole.wrong);
    return 1;
  }
  for (uint32_t rank = 1; rank < whole.points.size(); ++rank) {
    for (uint64_t point = 0; point < whole.points[rank]; point += stride) {
      alarm(kSeconds);
      const std::string wrong = TryDeath(options, {rank, point}, counts);
      if (wrong.empty()) continue;
      fmt::print("seed {}: {}\n", options.seed, wrong);
      return 1;
    }
  }
  fmt::print("seed {}: {} deaths, at every {}-th point\n", options.seed, counts.deaths, stride);
  return counts.deaths == 0;
}

uint64_t NumberAfter(int argc, char** argv, const char* option, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], option) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

// Returns the first of `seeds` seeds: of the first `of` of all, those that CGRAPH_SEED chooses.
uint64_t ChosenFirst(uint64_t seeds, uint64_t of) {
  const char* const chosen = std::getenv("CGRAPH_SEED");
  if (chosen == nullptr || seeds == 0 || of < seeds) return 1;
  return 1 + std::strtoull(chosen, nullptr, 10) % (of / seeds) * seeds;
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
  const TrialOptions options{.fault = FaultNumber(number("--fault", 0)),
                             .turns = number("--turns", 60)};
  if (Has(argc, argv, "--faults")) {
    WarmUp();
    const bool all =
        FindFaults(number("--first", 1), number("--seeds", 300), [](const TrialOptions& options) {
          Counts counts;
          return TrySeed(options, counts);
        });
    return all ? 0 : 1;
  }
  if (Has(argc, argv, "--every")) {
    TrialOptions one = options;
    one.seed = number("--every", 1);
    return KillEverywhere(one, number("--stride", 1));
  }
  if (Has(argc, argv, "--seed")) return TrySeeds(number("--seed", 1), 1, options);
  const uint64_t seeds = number("--seeds", 300);
  return TrySeeds(number("--first", ChosenFirst(seeds, number("--of", seeds))), seeds, options);
}

}  // namespace
}  // namespace cgraph::simulation

int main(int argc, char** argv) { return cgraph::simulation::Main(argc, argv); }

// Latency, throughput, allocations and cold start of the runtime.
//
// The machines that this runs on are noisy: the same two cores pass a cache line in 50 or in 500 ns
// from one moment to the next. So every round runs every case once, a raw hand-over between two
// threads among them; cases are compared by the ratio within a round, and its median over the
// rounds. Absolute figures are for people.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <thread>

#include "runtime/engine/engine.h"
#include "tests/support/run.h"

// Every allocation of the process goes through malloc, ours by operator new; both are counted.
static std::atomic<uint64_t> news{0};
void* operator new(size_t size) {
  news.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  news.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cgraph {
namespace {

using Clock = std::chrono::steady_clock;

double Nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(q * values.size()))];
}

// Passes a cache line to and fro between two threads: the limit of the machine between two cores
// right now.
double RawRoundTrip(int count) {
  struct alignas(128) Line { std::atomic<int> value{0}; };
  static Line there, back;
  there.value = back.value = 0;
  std::thread peer([count] {
    for (int i = 1; i <= count; ++i) {
      while (there.value.load(std::memory_order_acquire) != i) __builtin_ia32_pause();
      back.value.store(i, std::memory_order_release);
    }
  });
  while (back.value.load() == 0 && there.value.load() == 0) there.value.store(1);
  while (back.value.load(std::memory_order_acquire) != 1) __builtin_ia32_pause();
  const auto start = Clock::now();
  for (int i = 2; i <= count; ++i) {
    there.value.store(i, std::memory_order_release);
    while (back.value.load(std::memory_order_acquire) != i) __builtin_ia32_pause();
  }
  const double each = Nanoseconds(Clock::now() - start) / (count - 1);
  peer.join();
  return each;
}

std::string build = CGRAPH_SOURCE_DIR "/build/release";  // where cgrun is

// `processes`: the workers are processes instead of threads.
std::unique_ptr<Engine> MakeEngine(uint32_t workers, bool processes = false) {
  EngineOptions options;
  (processes ? options.processes : options.workers) = workers;
  options.rank_program = build + "/cgrun";
  auto engine = Engine::Load(
      testing::CompileFile(CGRAPH_SOURCE_DIR "/bench/latency.cgraph"), options);
  if (!engine.ok()) {
    fmt::print(stderr, "{}\n", engine.status().message());
    std::exit(1);
  }
  return std::move(*engine);
}

uint32_t GraphIndex(const Engine& engine, const std::string& name) {
  const auto& graphs = engine.plan().graphs;
  for (uint32_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->name == name) return i;
  }
  std::abort();
}

// One case: executions of a graph, one at a time or several in flight.
struct Case {
  std::string name;
  std::string graph;
  uint32_t workers;
  bool lent = false;
  std::vector<double> medians, p99s, ratios;  // per round
};

class Feeder {
 public:
  Feeder(Engine& engine, const std::string& graph, bool lent = false)
      : engine_(engine), graph_(GraphIndex(engine, graph)), data_(1 << 20) {
    const plan::Graph& shape = *engine.plan().graphs[graph_];
    if (shape.inputs.empty()) return;
    const plan::Value& value = shape.values[shape.inputs[0]->value];
    for (int i = 0; i < value.rank(); ++i) {
      dims_.push_back(shape.dims[value.first_dim() + i].extent());
    }
    inputs_.push_back({shape.inputs[0]->name, data_.data(), value.dtype(), dims_, lent});
  }
  Execution Start() { return std::move(*engine_.Execute(graph_, inputs_)); }
  void RunOne() {
    if (!Start().Get().ok()) std::abort();
  }
  // `count` executions with `depth` in flight; returns nanoseconds per execution.
  double RunInFlight(int count, int depth) {
    std::vector<Execution> ring;
    ring.reserve(depth);
    const auto start = Clock::now();
    for (int i = 0; i < depth; ++i) ring.push_back(Start());
    for (int i = 0; i < count; ++i) {
      if (!ring[i % depth].Get().ok()) std::abort();
      if (i + depth < count) ring[i % depth] = Start();
    }
    return Nanoseconds(Clock::now() - start) / count;
  }

 private:
  Engine& engine_;
  uint32_t graph_;
  std::vector<uint8_t> data_;
  std::vector<int64_t> dims_;
  std::vector<Input> inputs_;
};

void MeasureLatency(int rounds) {
  std::vector<Case> cases = {
      {"nothing", "nothing", 1},
      {"round trip, 1 byte", "round_trip", 1},
      {"round trip, 1 byte", "round_trip", 2},
      {"scatter-gather, n = 4", "scatter_gather_4", 1},
      {"scatter-gather, n = 4", "scatter_gather_4", 2},
      {"chain over 4 actors", "chain_4", 1},
      {"chain over 4 actors", "chain_4", 2},
      {"chain over 8 actors", "chain_8", 1},
      {"chain over 8 actors", "chain_8", 2},
      {"8 calls on one actor", "one_actor_8", 1},
      {"8 calls on one actor", "one_actor_8", 2},
      {"1 MiB in, 1 byte out", "megabyte", 1},
      {"1 MiB in, 1 byte out", "megabyte", 2},
      {"1 MiB lent, 1 byte out", "megabyte", 1, true},
      {"1 MiB lent, 1 byte out", "megabyte", 2, true},
  };
  std::map<uint32_t, std::unique_ptr<Engine>> engines;
  for (uint32_t workers : {1, 2}) engines[workers] = MakeEngine(workers);
  std::vector<double> raw;
  for (int round = 0; round < rounds; ++round) {
    raw.push_back(RawRoundTrip(2000));
    for (Case& c : cases) {
      Feeder feeder(*engines[c.workers], c.graph, c.lent);
      const int count = c.graph == "megabyte" ? 50 : 1000;
      for (int i = 0; i < count / 10; ++i) feeder.RunOne();
      std::vector<double> each(count);
      for (double& ns : each) {
        const auto start = Clock::now();
        feeder.RunOne();
        ns = Nanoseconds(Clock::now() - start);
      }
      c.medians.push_back(Quantile(each, 0.5));
      c.p99s.push_back(Quantile(each, 0.99));
      c.ratios.push_back(c.medians.back() / raw.back());
    }
  }
  fmt::print(
      "Latency, one execution in flight; {} rounds; raw hand-over between two cores and back: "
      "median {:.0f} ns\n\n",
      rounds, Quantile(raw, 0.5));
  fmt::print("| case | workers | median ns | p99 ns | × raw |\n|---|---|---|---|---|\n");
  for (const Case& c : cases) {
    fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.2f} |\n", c.name, c.workers,
               Quantile(c.medians, 0.5), Quantile(c.p99s, 0.5), Quantile(c.ratios, 0.5));
  }
}

// What hops from core to core allow: `nothing` on one worker, and half a raw round trip for each.
// Short rounds, so that some fall between what else the machine does; of each the fastest tenth.
void MeasureHops(int rounds) {
  struct HopCase {
    std::string name, graph;
    uint32_t workers;
    int hops;
    bool lent = false, processes = false;
    std::vector<double> ns, ratios;  // per round
  };
  std::vector<HopCase> cases = {{"nothing", "nothing", 1, 0},
                                {"chain over 8 actors", "chain_8", 1, 0},
                                {"round trip, 1 byte", "round_trip", 2, 2},
                                {"1 MiB lent, 1 byte out", "megabyte", 2, 2, true},
                                {"chain over 8 actors", "chain_8", 2, 8},
                                {"round trip, 1 byte", "round_trip", 2, 2, false, true},
                                {"chain over 8 actors", "chain_8", 2, 8, false, true}};
  std::map<uint32_t, std::unique_ptr<Engine>> engines;
  for (uint32_t workers : {1, 2}) engines[workers] = MakeEngine(workers);
  const std::unique_ptr<Engine> processes = MakeEngine(2, /*processes=*/true);
  std::vector<double> raw, hop, hop_of_processes, between;
  for (int round = 0; round < rounds; ++round) {
    raw.push_back(std::min({RawRoundTrip(200), RawRoundTrip(200), RawRoundTrip(200)}));
    for (HopCase& c : cases) {
      Feeder feeder(c.processes ? *processes : *engines[c.workers], c.graph, c.lent);
      std::vector<double> each(200);
      for (double& ns : each) {
        const auto start = Clock::now();
        feeder.RunOne();
        ns = Nanoseconds(Clock::now() - start);
      }
      c.ns.push_back(Quantile(each, 0.1));
      c.ratios.push_back(c.ns.back() / (cases[0].ns.back() + c.hops * raw.back() / 2));
    }
    hop.push_back((cases[4].ns.back() - cases[1].ns.back()) / cases[4].hops);
    hop_of_processes.push_back((cases[6].ns.back() - cases[1].ns.back()) / cases[6].hops);
    between.push_back(cases[6].ns.back() / cases[4].ns.back());
  }
  fmt::print("\nHops, {} short rounds, the fastest tenth of each; raw round trip: {:.0f} ns, "
             "median {:.0f} ns\n\n"
             "| case | workers | hops | fastest ns | median ns | × limit, quarter | median |\n"
             "|---|---|---|---|---|---|---|\n",
             rounds, Quantile(raw, 0), Quantile(raw, 0.5));
  for (const HopCase& c : cases) {
    if (c.hops == 0) continue;
    fmt::print("| {} | {} {} | {} | {:.0f} | {:.0f} | {:.2f} | {:.2f} |\n", c.name, c.workers,
               c.processes ? "processes" : "threads", c.hops, Quantile(c.ns, 0),
               Quantile(c.ns, 0.5), Quantile(c.ratios, 0.25), Quantile(c.ratios, 0.5));
  }
  for (const auto& [who, each] : {std::pair("threads", hop), std::pair("processes",
                                                                       hop_of_processes)}) {
    fmt::print("\nA hop of the chain between {}: fastest {:.0f} ns, quarter {:.0f} ns, median "
               "{:.0f} ns\n",
               who, Quantile(each, 0), Quantile(each, 0.25), Quantile(each, 0.5));
  }
  fmt::print("\nThe chain between processes, × between threads in the same round: median {:.2f}\n",
             Quantile(between, 0.5));
}

void MeasureThroughput(int rounds) {
  fmt::print("\nChain over 4 actors, executions per second\n\n"
             "| workers | in flight | executions/s | × of 1 in flight |\n|---|---|---|---|\n");
  for (uint32_t workers : {1, 2}) {
    std::unique_ptr<Engine> engine = MakeEngine(workers);
    Feeder feeder(*engine, "chain_4");
    std::map<int, std::vector<double>> each, ratio;
    for (int round = 0; round < rounds; ++round) {
      for (int depth : {1, 4, 16}) {
        each[depth].push_back(feeder.RunInFlight(5000, depth));
        ratio[depth].push_back(each[1].back() / each[depth].back());
      }
    }
    for (int depth : {1, 4, 16}) {
      fmt::print("| {} | {} | {:.0f} | {:.2f} |\n", workers, depth,
                 1e9 / Quantile(each[depth], 0.5), Quantile(ratio[depth], 0.5));
    }
  }
}

// Counts allocations of the whole process in the steady state: must be 0.
bool MeasureAllocations() {
  fmt::print("\nAllocations in 10,000 executions of the steady state (whole process)\n\n"
             "| graph | workers | operator new | the engine's own counter |\n|---|---|---|---|\n");
  bool none = true;
  for (uint32_t workers : {1, 2}) {
    std::unique_ptr<Engine> engine = MakeEngine(workers);
    for (const char* graph : {"round_trip", "scatter_gather_4", "chain_8", "one_actor_8"}) {
      Feeder feeder(*engine, graph);
      for (int i = 0; i < 1000; ++i) feeder.RunOne();
      const uint64_t ours = engine->GetStats().allocations;
      const uint64_t before = news;
      for (int i = 0; i < 10'000; ++i) feeder.RunOne();
      const uint64_t made = news - before;
      const uint64_t counted = engine->GetStats().allocations - ours;
      fmt::print("| {} | {} | {} | {} |\n", graph, workers, made, counted);
      none = none && made == 0 && counted == 0;
    }
  }
  return none;
}

// Measures from spawning cgrun on the compiled digits plan to its end, one batch of 64 images.
void MeasureColdStart(const std::string& build, int rounds) {
  const std::string plan = build + "/bench_digits.cgplan",
                    digits = CGRAPH_SOURCE_DIR "/examples/digits";
  const std::string compile =
      fmt::format("{}/cgc compile -q {}/digits.cgraph -o {}", build, digits, plan);
  const std::string head = fmt::format(
      "/usr/bin/python3 -c \"import numpy as n; n.save('{0}/bench_x.npy', "
      "n.load('{1}/images.npy')[:64])\"",
      build, digits);
  if (std::system(compile.c_str()) != 0 || std::system(head.c_str()) != 0) {
    fmt::print(stderr, "cannot prepare the cold start\n");
    std::exit(1);
  }
  const std::string run = build + "/cgrun", input = "x=" + build + "/bench_x.npy";
  const char* arguments[] = {run.c_str(), plan.c_str(), "-q", "--weights", digits.c_str(),
                             "--input", input.c_str(), nullptr};
  const char* nothing[] = {"/bin/true", nullptr};
  auto spawn = [](const char* const* line) {
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    const auto start = Clock::now();
    pid_t pid;
    int status = 1;
    if (posix_spawn(&pid, line[0], &quiet, nullptr, const_cast<char* const*>(line), environ) == 0) {
      waitpid(pid, &status, 0);
    }
    posix_spawn_file_actions_destroy(&quiet);
    if (status != 0) {
      fmt::print(stderr, "{} failed\n", line[0]);
      std::exit(1);
    }
    return Nanoseconds(Clock::now() - start) / 1e6;
  };
  std::vector<double> ours, empty;
  for (int round = 0; round < rounds; ++round) {
    empty.push_back(spawn(nothing));
    ours.push_back(spawn(arguments));
  }
  fmt::print(
      "\nCold start: `cgrun digits.cgplan` with 64 images, from spawn to exit: median {:.1f} ms, "
      "p90 {:.1f} ms (/bin/true: {:.1f} ms)\n",
      Quantile(ours, 0.5), Quantile(ours, 0.9), Quantile(empty, 0.5));
}

}  // namespace
}  // namespace cgraph

// latency_bench [ROUNDS] [BUILD_DIR]
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
  if (argc > 2) cgraph::build = argv[2];
  cgraph::MeasureLatency(rounds);
  cgraph::MeasureHops(20 * rounds);
  cgraph::MeasureThroughput(rounds);
  const bool none = cgraph::MeasureAllocations();
  cgraph::MeasureColdStart(cgraph::build, rounds);
  if (!none) fmt::print("\nTHE STEADY STATE ALLOCATES\n");
  return none ? 0 : 1;
}

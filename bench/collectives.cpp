// Collectives on CPU workers against MPI on the same machine.
//
// Both sides do the same work on the same cores: each participant has a tensor, and all of them
// reduce, gather, exchange, broadcast or pass a barrier, again and again. cgraph runs one graph
// with many collectives in a row, each on the result of the one before, so that collectives are
// timed and not submissions; the time of a plan with half as many is subtracted, and with it
// everything that is no collective. MPI runs in a program of its own, under mpirun, and times loops
// of the same calls. Both take turns, several times, and the reported number is the median of the
// ratios of neighbours.
//
// Usage: collectives_bench [--processes CGRUN | --ranks CGRUN] CGC MPI_PROGRAM
//                          [ROUNDS [PARTICIPANTS...]]
// With --processes the participants of cgraph are processes, too, instead of threads. With --ranks
// they are ranks of mpirun, each on a node of its own; then medians of loops are compared, which is
// what cgrun tells, instead of the least.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"

namespace cgraph {
namespace {

using Clock = std::chrono::steady_clock;

std::string cgrun;  // of which participants are processes; empty: they are threads
bool by_mpirun = false;  // they are ranks of mpirun

struct Kind {
  const char* name;
  const char* call;  // of a list `xs`, giving a list of the same types
  std::string Statement() const {
    return call ? fmt::format("xs = {}", call) : fmt::format("{}(a)", name);
  }
};
// Each step's results are the next one's inputs.
constexpr Kind kKinds[] = {
    {"all_reduce", "all_reduce(xs, max)"},
    {"all_to_all", "all_to_all(xs)"},
    {"broadcast", "broadcast(xs[0], to: a)"},
    {"reduce_scatter + all_gather", "all_gather(reduce_scatter(xs, max))"},
    {"reduce + broadcast", "broadcast(reduce(xs, max), to: a)"},
    {"gather + scatter", "scatter(gather(xs), to: a)"},
    {"barrier", nullptr},  // it has no values
};

const std::vector<int64_t> kSizes = {8,         64,      512,      4 << 10, 32 << 10,
                                     256 << 10, 2 << 20, 16 << 20, 64 << 20};
// By ranks of mpirun, each of which is started for each figure.
const std::vector<int64_t> kSizesOfRanks = {8, 64, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int64_t Repeats(int64_t bytes) {
  return std::clamp<int64_t>((16 << 20) / bytes, 4, 256);
}

// Runs whose least time counts: a disturbance only makes a run longer.
int Loops(int64_t bytes) { return bytes <= 256 << 10 ? 200 : 12; }

// A graph of `count` collectives in a row over `members` participants, of `bytes` each.
std::string Text(const Kind& kind, int members, int64_t bytes, int64_t count) {
  return fmt::format(
      "import std.tensor\n"
      "actor A() {{\n"
      "  state w: f32[{0}] = ones()\n"
      "  method first() -> f32[{0}] {{ return w }}\n"
      "  method last(x: f32[{0}]) {{ w = x }}\n"
      "}}\n"
      "place a[i in 0..{1}] = A() on {4}\n"
      "graph g() {{\n"
      "  var xs = [p.first() for p in a]\n"
      "  for i in 0..{2} {{ {3} }}\n"
      "  for (p, x) in zip(a, xs) {{ p.last(x) }}\n"
      "}}\n",
      bytes / 4, members, count, kind.Statement(), by_mpirun ? "node[i].cpu[0]" : "cpu[i]");
}

struct Programs {
  std::string cgc, mpi;
};

// Returns the path of the compiled plan.
std::string Compile(const Programs& programs, const std::string& text) {
  const std::string source = fmt::format("/tmp/collectives_bench_{}.cgraph", getpid());
  const std::string plan = source + ".cgplan";
  std::ofstream(source) << text;
  const std::string command =
      fmt::format("{} compile -q --no-rewrite {} -o {}", programs.cgc, source, plan);
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " fails");
  std::remove(source.c_str());
  return plan;
}

std::unique_ptr<Engine> Load(const Programs& programs, const std::string& text) {
  const std::string plan = Compile(programs, text);
  EngineOptions options;  // as many workers as cores
  if (!cgrun.empty()) {
    options.processes = kProcessPerDevice;
    options.rank_program = cgrun;
  }
  auto loaded = Engine::LoadFile(plan, options);
  std::remove(plan.c_str());
  if (!loaded.ok()) throw std::runtime_error(loaded.status().message());
  return std::move(*loaded);
}

double Run(Engine& engine) {
  const auto start = Clock::now();
  Result<Execution> execution = engine.Execute(0u, {});
  if (!execution.ok() || !execution->Get().ok()) throw std::runtime_error("an execution failed");
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Runs a command under mpirun and returns the number that it prints behind `label`.
double RunRanks(int members, const std::string& arguments, const std::string& label) {
  const std::string command = fmt::format(
      "mpirun --allow-run-as-root --oversubscribe -n {} {} 2>&1", members, arguments);
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("mpirun cannot be started");
  char line[512];
  std::string all;
  while (fgets(line, sizeof line, pipe)) all += line;
  const size_t at = all.find(label);
  if (pclose(pipe) != 0 || at == std::string::npos) throw std::runtime_error(command + ": " + all);
  return std::strtod(all.c_str() + at + label.size(), nullptr);
}

// Returns the median of the microseconds of a plan's executions, by ranks of mpirun.
double RunPlan(const Programs& programs, const std::string& text, int members, int loops) {
  const std::string plan = Compile(programs, text);
  const double nanoseconds = RunRanks(
      members, fmt::format("{} {} -n {} --warmup {} --json", cgrun, plan, loops, loops / 4),
      "\"p50\":");
  std::remove(plan.c_str());
  return nanoseconds / 1000;
}

// Returns the microseconds of one collective: the difference of two plans, each the least of some
// runs or, by ranks of mpirun, their median.
double Ours(const Programs& programs, const Kind& kind, int members, int64_t bytes) {
  const int64_t count = Repeats(bytes);
  if (by_mpirun) {
    const auto run = [&](int64_t collectives) {
      return RunPlan(programs, Text(kind, members, bytes, collectives), members, Loops(bytes));
    };
    return (run(count) - run(count / 2)) / static_cast<double>(count - count / 2);
  }
  auto whole = Load(programs, Text(kind, members, bytes, count));
  auto half = Load(programs, Text(kind, members, bytes, count / 2));
  double least_whole = 1e30, least_half = 1e30;
  for (int i = 0; i < Loops(bytes); ++i) {
    least_whole = std::min(least_whole, Run(*whole));
    least_half = std::min(least_half, Run(*half));
  }
  return (least_whole - least_half) / static_cast<double>(count - count / 2);
}

// Returns the number that the MPI program prints: microseconds of one collective, measured in the
// same way.
double Theirs(const std::string& program, const Kind& kind, int members, int64_t bytes) {
  return RunRanks(members,
                  fmt::format("{} '{}' {} {} {}", program, kind.name, bytes, Repeats(bytes),
                              Loops(bytes)),
                  by_mpirun ? "median " : "microseconds ");
}

std::string Size(int64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{} MiB", bytes >> 20);
  return bytes >= 1 << 10 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} B", bytes);
}

void Table(const Programs& programs, int members, int rounds) {
  fmt::print("{} participants\n\n", members);
  fmt::print("| collective | bytes of each | cgraph us | Open MPI us | times faster |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (const Kind& kind : kKinds) {
    for (int64_t bytes : by_mpirun ? kSizesOfRanks : kSizes) {
      if (bytes / 4 % members != 0 || (!kind.call && bytes != 64)) continue;
      std::vector<double> ours, theirs, ratios;
      for (int round = 0; round < rounds; ++round) {
        ours.push_back(Ours(programs, kind, members, bytes));
        theirs.push_back(Theirs(programs.mpi, kind, members, bytes));
        ratios.push_back(theirs.back() / ours.back());  // below 0: this turn measured nothing
      }
      fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", kind.name,
                 kind.call ? Size(bytes) : "-", Median(ours), Median(theirs), Median(ratios));
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace cgraph

int main(int argc, char** argv) {
  const std::string flag = argc > 2 ? argv[1] : "";
  if (flag == "--processes" || flag == "--ranks") {
    cgraph::cgrun = argv[2];
    cgraph::by_mpirun = flag == "--ranks";
    argv += 2, argc -= 2;
  }
  if (argc < 3) {
    fmt::print(stderr,
               "usage: collectives_bench [--processes CGRUN | --ranks CGRUN] CGC MPI_PROGRAM "
               "[ROUNDS [PARTICIPANTS...]]\n");
    return 2;
  }
  const cgraph::Programs programs{argv[1], argv[2]};
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  try {
    for (int i = 4; i < argc; ++i) cgraph::Table(programs, std::atoi(argv[i]), rounds);
    if (argc <= 4) cgraph::Table(programs, 2, rounds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

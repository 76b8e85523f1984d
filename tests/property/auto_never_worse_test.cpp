// `using auto` is never worse than program order, than HEFT, or than a schedule of the library.
//
// Random graphs of calls on two to four devices, with one to five methods, messages that take time
// or none; and pipelines of random times and shapes under every schedule of the library, with
// whatever lanes the compiler chooses. Each is compiled from its text, proved and simulated. HEFT
// (Topcuoglu, Hariri and Wu, 2002) is written down here again, for messages that take no time.
//
// Half of the graphs again with two to four executions in flight, by when 64 of them have ended.
//
//   auto_never_worse_test [--count N] [--seed S] [--effort E]      N graphs and N / 4 pipelines
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/schedule_harness/pipeline.h"
#include "bench/schedule_harness/temporary_file.h"
#include "bench/schedule_harness/topology.h"
#include "compiler/driver/compile.h"
#include "compiler/inspect/simulate.h"

namespace cgraph {
namespace {

constexpr uint64_t kMicrosecond = 1'000'000;
constexpr uint32_t kExecutions = 64;

class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  uint32_t Between(uint32_t least, uint32_t most) { return least + Below(most - least + 1); }

 private:
  std::mt19937_64 random_;
};

struct Task {
  uint32_t device = 0, method = 0;
  uint64_t time = 0;
  std::vector<uint32_t> needs;
};

std::vector<Task> RandomGraph(Random& random) {
  const uint32_t devices = random.Between(2, 4), methods = random.Between(1, 5);
  const uint32_t window = random.Between(4, 12);
  std::vector<Task> tasks(random.Between(8, 50));
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks[i];
    task = {random.Below(devices), random.Below(methods), random.Between(1, 20) * kMicrosecond, {}};
    for (uint32_t n = random.Below(4); n > 0 && i > 0; --n) {
      task.needs.push_back(i - 1 - random.Below(std::min(i, window)));
    }
    std::sort(task.needs.begin(), task.needs.end());
    task.needs.erase(std::unique(task.needs.begin(), task.needs.end()), task.needs.end());
  }
  return tasks;
}

std::string ProgramOf(const std::vector<Task>& tasks) {
  std::string text = "import std.tensor\nactor T {\n  state w: f32[4] = ones()\n";
  for (int i = 0; i < 5; ++i) {
    text += fmt::format(
        "  method f{}(xs: [f32[4]; k]) -> f32[4] {{\n    var s = w * 2.0\n"
        "    for x in xs {{ s += x }}\n"
        "    return s\n  }}\n", i);
  }
  text += "  method put(x: f32[4]) { w = x }\n}\n";
  std::vector<bool> read(tasks.size(), false);
  std::string calls;
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::string operands;
    for (uint32_t need : tasks[i].needs) {
      operands += fmt::format("{}v{}", operands.empty() ? "" : ", ", need);
      read[need] = true;
    }
    text += fmt::format("place t{} = T() on gpu[{}]\n", i, tasks[i].device);
    calls += fmt::format("  let v{0} = t{0}.f{1}([{2}])\n", i, tasks[i].method, operands);
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!read[i]) calls += fmt::format("  t{0}.put(v{0})\n", i);
  }
  return text + "graph q() {\n" + calls + "}\n";
}

// Computes HEFT's makespan: the longest remaining path first, each in the first gap of its device.
uint64_t Heft(const std::vector<Task>& tasks) {
  std::vector<uint64_t> paths(tasks.size(), 0), ends(tasks.size(), 0);
  for (size_t i = tasks.size(); i-- > 0;) {
    paths[i] += tasks[i].time;
    for (uint32_t need : tasks[i].needs) paths[need] = std::max(paths[need], paths[i]);
  }
  std::vector<uint32_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return paths[a] > paths[b]; });
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> busy(4);
  uint64_t makespan = 0;
  for (uint32_t task : order) {
    uint64_t start = 0;
    for (uint32_t need : tasks[task].needs) start = std::max(start, ends[need]);
    auto& here = busy[tasks[task].device];
    for (const auto& [begin, end] : here) {
      if (start + tasks[task].time <= begin) break;
      start = std::max(start, end);
    }
    ends[task] = start + tasks[task].time;
    here.emplace_back(start, ends[task]);
    std::sort(here.begin(), here.end());
    makespan = std::max(makespan, ends[task]);
  }
  return makespan;
}

// Returns the makespan of a simulation of the program; 0: it was refused.
uint64_t Makespan(const std::string& text, CompileOptions options, uint32_t executions = 1) {
  const bench::TemporaryFile file(text, ".cgraph");
  options.path = file.path();
  Sources sources;
  Diagnostics diagnostics(sources);
  const Compilation compiled = Compile(options, sources, diagnostics);
  if (compiled.plan) return Simulate(*compiled.plan, 0, {.executions = executions}).makespan;
  fmt::print("{}\n", diagnostics.Text(/*max_errors=*/5));
  return 0;
}

class Trial {
 public:
  Trial(uint64_t seed, uint32_t effort) : seed_(seed), effort_(effort) {}

  void TryGraph(uint64_t number) {
    Random random(seed_ * 1'000'003 + number);
    const std::vector<Task> tasks = RandomGraph(random);
    const bool free = random.Below(2) == 0;  // messages
    CompileOptions options;
    options.effort = effort_;
    options.profile.emplace();
    if (free) options.profile->default_ps = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      options.profile->call_ps[fmt::format("t{}.f{}", i, tasks[i].method)] = tasks[i].time;
    }
    const std::string text = ProgramOf(tasks);
    options.schedule = "auto";
    const uint64_t found = Makespan(text, options);
    options.schedule = "program";
    Compare(fmt::format("graph {}", number), "program order", found, Makespan(text, options));
    if (free) Compare(fmt::format("graph {}", number), "HEFT", found, Heft(tasks));
  }

  // With executions in flight, by when many of them have ended.
  void TryInflight(uint64_t number) {
    Random random(seed_ * 3'000'017 + number);
    const std::vector<Task> tasks = RandomGraph(random);
    CompileOptions options;
    options.effort = effort_;
    options.profile.emplace();
    if (random.Below(2) == 0) options.profile->default_ps = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      options.profile->call_ps[fmt::format("t{}.f{}", i, tasks[i].method)] = tasks[i].time;
    }
    options.inflight = random.Between(2, 4);
    const std::string text = ProgramOf(tasks);
    options.schedule = "auto";
    const uint64_t found = Makespan(text, options, kExecutions);
    options.schedule = "program";
    Compare(fmt::format("graph {}, {} in flight", number, options.inflight), "program order",
            found, Makespan(text, options, kExecutions));
  }

  void TryPipeline(uint64_t number) {
    Random random(seed_ * 2'000'003 + number);
    bench::PipelineSetup pipeline;
    pipeline.stages = random.Between(2, 5);
    pipeline.microbatches = random.Between(1, 12);
    pipeline.split = random.Below(3) != 0;
    pipeline.chunks = random.Between(1, 3);
    pipeline.v_shaped = pipeline.chunks == 2 && random.Below(2) == 0;
    const auto chunks = static_cast<uint64_t>(pipeline.chunks);
    for (uint64_t* time : {&pipeline.forward, &pipeline.backward, &pipeline.weight}) {
      *time = random.Between(1, 20) * kMicrosecond * chunks;
    }
    const cost::Topology topology =
        bench::TopologyWithDelay("of the pipeline", random.Below(8) * kMicrosecond);
    CompileOptions options;
    options.effort = effort_;
    options.topology = &topology;
    options.profile = bench::ProfileOf(pipeline);
    const uint64_t found = Makespan(bench::ProgramOf(pipeline), options);
    for (const char* name : NamesOf(pipeline)) {
      pipeline.schedule = name;
      Compare(fmt::format("pipeline {} (p = {}, m = {}, {} chunks)", number, pipeline.stages,
                          pipeline.microbatches, pipeline.chunks),
              name, found, Makespan(bench::ProgramOf(pipeline), options));
    }
  }

  int Report() const {
    fmt::print("auto: {} comparisons, better in {}; {} wrong\n", compared_, better_, wrong_);
    return wrong_ == 0 && better_ > 0 ? 0 : 1;
  }

 private:
  static std::vector<const char*> NamesOf(const bench::PipelineSetup& pipeline) {
    std::vector<const char*> names;
    const bool one = pipeline.chunks == 1;
    if (!pipeline.split) {
      names = {"gpipe", one ? "one_f_one_b" : "interleaved"};
      if (pipeline.v_shaped) names.pop_back();
      return names;
    }
    if (one) names = {"zb_h1", "zb_h2", "one_f_one_b_fused"};
    if (pipeline.v_shaped) names = {"zb_v"};
    if (pipeline.v_shaped && pipeline.microbatches >= 2 * pipeline.stages) {
      names.push_back("dualpipe_v");
    }
    return names;
  }

  void Compare(const std::string& what, const char* other, uint64_t found, uint64_t least) {
    ++compared_;
    better_ += found < least;
    if (found > 0 && least > 0 && found <= least) return;
    ++wrong_;
    fmt::print("WRONG: {}: auto takes {} ps, {} {} ps (seed {})\n", what, found, other, least,
               seed_);
  }

  const uint64_t seed_;
  const uint32_t effort_;
  uint64_t compared_ = 0, better_ = 0, wrong_ = 0;
};

}  // namespace
}  // namespace cgraph

int main(int argc, char** argv) {
  uint64_t count = 100, seed = 1, effort = 20;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    uint64_t& value = flag == "--count" ? count : flag == "--seed" ? seed : effort;
    value = std::strtoull(argv[i + 1], nullptr, 10);
  }
  cgraph::Trial trial(seed, static_cast<uint32_t>(effort));
  for (uint64_t i = 0; i < count; ++i) {
    trial.TryGraph(i);
    if (i % 4 == 0) trial.TryPipeline(i / 4);
    if (i % 2 == 0) trial.TryInflight(i / 2);
  }
  return trial.Report();
}

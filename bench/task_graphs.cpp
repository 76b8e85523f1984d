// The same chain and scatter-gather by cgraph, oneTBB's flow graph and Taskflow: from the caller's
// number to the caller's result, one at a time. Each task adds a constant, so the times are those
// that the runtimes take between tasks.
//
// All are given the same number of threads, the caller among them where it takes part. oneTBB and
// Taskflow choose at run time which thread runs what; cgraph's two workers have the calls of a
// chain alternately, as the program places them, so every hop crosses. As in latency.cpp, each
// round runs every case once, and ratios are within a round. A time is that of the fastest tenth: a
// thread that yields the processor while it waits, on a machine where others want it, gets it back
// milliseconds later.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "tests/support/run.h"

#ifdef CGRAPH_WITH_TBB
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>
#endif
#ifdef CGRAPH_WITH_TASKFLOW
#include <taskflow/taskflow.hpp>
#endif

namespace cgraph {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChain = 8, kScatter = 4;

// Runs once and returns the sum, which the caller checks.
using Run = std::function<int64_t(int64_t)>;

struct Case {
  std::string runtime, graph;
  uint32_t threads;
  int64_t added;  // to the input, by all that is summed
  Run run;
  std::vector<double> each_ns;
};

int64_t Sum(const Result<Outputs>& outputs) {
  if (!outputs.ok()) std::abort();
  int64_t sum = 0;
  for (size_t i = 0; i < outputs->size(); ++i) sum += *(*outputs)[i].as<int64_t>();
  return sum;
}

Run Cgraph(std::shared_ptr<Engine> engine, const std::string& name) {
  const auto& graphs = engine->plan().graphs;
  const auto at = std::find_if(graphs.begin(), graphs.end(),
                               [&](const auto& graph) { return graph->name == name; });
  return [engine, graph = static_cast<uint32_t>(at - graphs.begin())](int64_t x) {
    const Input input = {"x", &x, plan::DType::i64, {}};
    return Sum(engine->Execute(graph, {&input, 1})->Get());
  };
}

void AddCgraph(uint32_t threads, std::vector<Case>& cases) {
  EngineOptions options;
  options.workers = threads;
  auto engine = Engine::Load(
      testing::CompileFile(CGRAPH_SOURCE_DIR "/bench/latency.cgraph"), options);
  if (!engine.ok()) std::abort();
  std::shared_ptr<Engine> shared(std::move(*engine));
  // The programs add 0, 1, 2, 3 on `near` and on `far`: see latency.cgraph.
  cases.push_back({"cgraph", "chain", threads, 12, Cgraph(shared, "chain_8"), {}});
  cases.push_back({"cgraph", "scatter-gather", threads, 2, Cgraph(shared, "scatter_gather_4"), {}});
}

#ifdef CGRAPH_WITH_TBB
struct TbbChain {
  explicit TbbChain(int threads) : arena(threads) {
    arena.execute([&] {
      for (int i = 0; i < kChain; ++i) {
        nodes.push_back(std::make_unique<Node>(graph, 1, [i](int64_t x) { return x + i / 2; }));
        if (i > 0) tbb::flow::make_edge(*nodes[i - 1], *nodes[i]);
      }
      last = std::make_unique<Node>(graph, 1, [this](int64_t x) { return result = x; });
      tbb::flow::make_edge(*nodes.back(), *last);
    });
  }
  int64_t Execute(int64_t x) {
    arena.execute([&] {
      nodes[0]->try_put(x);
      graph.wait_for_all();
    });
    return result;
  }
  using Node = tbb::flow::function_node<int64_t, int64_t>;
  tbb::task_arena arena;
  tbb::flow::graph graph;
  std::vector<std::unique_ptr<Node>> nodes;
  std::unique_ptr<Node> last;
  int64_t result = 0;
};

struct TbbScatter {
  explicit TbbScatter(int threads) : arena(threads) {
    arena.execute([&] {
      source = std::make_unique<Source>(graph);
      for (int i = 0; i < kScatter; ++i) {
        nodes.push_back(std::make_unique<Node>(graph, 1, [this, i](int64_t x) {
          results[i] = x + i / 2;
          return tbb::flow::continue_msg();
        }));
        tbb::flow::make_edge(*source, *nodes[i]);
      }
      gather = std::make_unique<Gather>(graph, [this](const tbb::flow::continue_msg&) {
        result = results[0] + results[1] + results[2] + results[3];
      });
      for (auto& node : nodes) tbb::flow::make_edge(*node, *gather);
    });
  }
  int64_t Execute(int64_t x) {
    arena.execute([&] {
      source->try_put(x);
      graph.wait_for_all();
    });
    return result;
  }
  using Source = tbb::flow::broadcast_node<int64_t>;
  using Node = tbb::flow::function_node<int64_t, tbb::flow::continue_msg>;
  using Gather = tbb::flow::continue_node<tbb::flow::continue_msg>;
  tbb::task_arena arena;
  tbb::flow::graph graph;
  std::unique_ptr<Source> source;
  std::vector<std::unique_ptr<Node>> nodes;
  std::unique_ptr<Gather> gather;
  int64_t results[kScatter] = {}, result = 0;
};

void AddTbb(int threads, std::vector<Case>& cases) {
  auto chain = std::make_shared<TbbChain>(threads);
  auto scatter = std::make_shared<TbbScatter>(threads);
  const auto count = static_cast<uint32_t>(threads);
  cases.push_back({"oneTBB flow graph", "chain", count, 12,
                   [chain](int64_t x) { return chain->Execute(x); }, {}});
  cases.push_back({"oneTBB flow graph", "scatter-gather", count, 2,
                   [scatter](int64_t x) { return scatter->Execute(x); }, {}});
}
#endif

#ifdef CGRAPH_WITH_TASKFLOW
// Taskflow's threads run tasks, and the caller waits.
struct TaskflowGraphs {
  explicit TaskflowGraphs(size_t threads) : executor(threads) {
    tf::Task before;
    for (int i = 0; i < kChain; ++i) {
      tf::Task task = chain.emplace([this, i] { value = (i == 0 ? input : value) + i / 2; });
      if (i > 0) before.precede(task);
      before = task;
    }
    tf::Task source = scatter.emplace([] {});
    tf::Task gather = scatter.emplace(
        [this] { value = results[0] + results[1] + results[2] + results[3]; });
    for (int i = 0; i < kScatter; ++i) {
      tf::Task task = scatter.emplace([this, i] { results[i] = input + i / 2; });
      source.precede(task);
      task.precede(gather);
    }
  }
  int64_t Execute(tf::Taskflow& graph, int64_t x) {
    input = x;
    executor.run(graph).wait();
    return value;
  }
  tf::Executor executor;
  tf::Taskflow chain, scatter;
  int64_t input = 0, value = 0, results[kScatter] = {};
};

void AddTaskflow(size_t threads, std::vector<Case>& cases) {
  auto graphs = std::make_shared<TaskflowGraphs>(threads);
  const auto count = static_cast<uint32_t>(threads);
  cases.push_back({"Taskflow", "chain", count, 12,
                   [graphs](int64_t x) { return graphs->Execute(graphs->chain, x); }, {}});
  cases.push_back({"Taskflow", "scatter-gather", count, 2,
                   [graphs](int64_t x) { return graphs->Execute(graphs->scatter, x); }, {}});
}
#endif

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double FastTenth(Case& c, int count) {
  std::vector<double> each;
  for (int64_t x = 0; x < count; ++x) {
    const int64_t expected = c.added + x * (c.graph == "chain" ? 1 : kScatter);
    const auto start = Clock::now();
    const int64_t sum = c.run(x);
    each.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    if (sum != expected) {
      fmt::print(stderr, "{}, {}: {} instead of {}\n", c.runtime, c.graph, sum, expected);
      std::exit(1);
    }
  }
  std::sort(each.begin(), each.end());
  return each[each.size() / 10];
}

void Measure(int rounds) {
  std::vector<Case> cases;
  for (uint32_t threads : {1, 2}) {
    AddCgraph(threads, cases);
#ifdef CGRAPH_WITH_TBB
    AddTbb(static_cast<int>(threads), cases);
#endif
#ifdef CGRAPH_WITH_TASKFLOW
    AddTaskflow(threads, cases);
#endif
  }
  for (int round = 0; round < rounds; ++round) {
    for (Case& c : cases) {
      FastTenth(c, 200);
      c.each_ns.push_back(FastTenth(c, 1000));
    }
  }
  fmt::print("| graph | threads | runtime | fastest tenth, ns | × cgraph |\n"
             "|---|---|---|---|---|\n");
  for (const char* graph : {"chain", "scatter-gather"}) {
    for (uint32_t threads : {1, 2}) {
      const Case* ours = nullptr;
      for (const Case& c : cases) {
        if (c.graph != graph || c.threads != threads) continue;
        if (ours == nullptr) ours = &c;
        std::vector<double> ratios;
        for (int r = 0; r < rounds; ++r) ratios.push_back(c.each_ns[r] / ours->each_ns[r]);
        fmt::print("| {} | {} | {} | {:.0f} | {:.1f} |\n", graph, threads, c.runtime,
                   Median(c.each_ns), Median(ratios));
      }
    }
  }
}

}  // namespace
}  // namespace cgraph

// task_graphs_bench [ROUNDS]
int main(int argc, char** argv) {
  cgraph::Measure(argc > 1 ? std::max(1, std::atoi(argv[1])) : 15);
}

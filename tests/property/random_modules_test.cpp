// Every plan that the compiler makes of a random graph proves, with nothing buffered, and means
// what the graph means: over devices of one node or two, actors, state, all transports and
// collectives, bounded extents, machines that share links, overlap on and off, one to four
// executions in flight, one lane for what a device exchanges, one per peer or one per edge, and
// rules of every kind. Rules that cannot be kept are refused, and nothing else is. Made for a few
// workers they prove, too, and by the simulation no execution, and no few of them, end later than
// with devices in equal shares.
//
//   random_modules_test [--count N] [--seed S]      N random modules of one to three graphs each
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "compiler/emit/emit.h"
#include "compiler/graph/rewrite.h"
#include "compiler/inspect/simulate.h"
#include "compiler/schedule/options.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/workers/partition.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/prove.h"
#include "tests/support/modules/random_machine.h"
#include "tests/support/modules/random_modules.h"
#include "tests/support/modules/random_rules.h"
#include "tests/support/modules/same_meaning.h"

namespace cgraph {
namespace {

// Seen: counts of what was tried, so that the test cannot pass on nothing.
struct Seen {
  uint64_t modules = 0, refused = 0, graphs = 0, with_rules = 0, searched = 0, instructions = 0,
           transfers = 0, collectives = 0, copies = 0, waits = 0, in_flight = 0, lagging = 0,
           reusing = 0, on_machines = 0, rewritten = 0, sooner = 0, with_partitions = 0,
           of_nodes = 0, by_nccl = 0;

  void Add(const plan::Graph& graph) {
    ++graphs;
    instructions += graph.instructions.size();
    for (const plan::CommPart& part : graph.parts) {
      transfers += part.part() == plan::Part::send;
      by_nccl += (part.flags() & plan::kIsMessage) != 0 && part.inputs() > 0;
    }
    collectives += graph.collectives.size();
    waits += graph.waits.size();
    in_flight += graph.inflight > 1;
    for (const plan::Instruction& instruction : graph.instructions) {
      copies += instruction.kind() == plan::Kind::copy;
    }
    lagging += std::any_of(graph.instructions.begin(), graph.instructions.end(),
                           [](const plan::Instruction& one) { return one.lag() > 0; });
    reusing += ReusesMemory(graph);
  }
  static bool ReusesMemory(const plan::Graph& graph) {
    uint64_t needed = 0, planned = 0;
    for (const plan::Buffer& buffer : graph.buffers) {
      const bool slot = graph.arenas[buffer.arena()].space() == plan::Space::slot;
      needed += slot ? buffer.bytes() : 0;
    }
    for (const plan::Arena& arena : graph.arenas) {
      planned += arena.space() == plan::Space::slot ? arena.bytes() : 0;
    }
    return planned < needed;
  }
  // Returns whether a thousand modules had some of everything.
  bool Enough() const {
    const uint64_t least = modules / 20;
    return modules > 0 && refused < modules / 2 && with_rules > least && searched > least / 4 &&
           transfers > least && collectives > least && copies > least && waits > least &&
           in_flight > least && lagging > least / 4 && reusing > least / 4 && on_machines > least &&
           rewritten > least / 4 && sooner > least && with_partitions > least &&
           of_nodes > least && by_nccl > least / 4;
  }
  std::string Text() const {
    return fmt::format(
        "{} random modules: {} with rules that cannot be kept, and of the others {} graphs ({} "
        "with rules, {} by search, {} with executions in flight, {} of them with lags), {} "
        "instructions, {} transfers, "
        "{} collectives, {} copies, {} waits, {} graphs that reuse memory; {} modules on machines "
        "with links of their own, with {} rewrites; {} modules sooner on other workers than in "
        "equal shares, {} that carry partitions; {} modules of two nodes, with {} messages by nccl "
        "between these",
        modules, refused, graphs, with_rules, searched, in_flight, lagging, instructions, transfers,
        collectives, copies, waits, reusing, on_machines, rewritten, sooner, with_partitions,
        of_nodes, by_nccl);
  }
};

// Says what is wrong with the plan; empty: nothing.
std::string Judge(const graph::Module& module, const plan::Plan& plan) {
  const plan::Verdict verdict = plan::Prove(plan);
  if (!verdict.proved()) {
    return fmt::format("{}: {}", plan::RefusalName(verdict.refusal), verdict.message);
  }
  const plan::Verdict unbuffered = plan::Prove(plan, {.capacity = 0});
  if (!unbuffered.proved()) return "with nothing buffered: " + unbuffered.message;
  if (plan::SmallestCapacity(plan) != 0u) return "the smallest capacity is not 0";
  const auto differs = [&](const graph::Graph& graph, const plan::Graph& planned) {
    const std::string what = graph::testing::DifferentMeaning(module, graph, plan, planned);
    return what.empty() ? what : fmt::format("graph `{}`: {}", graph.name, what);
  };
  std::string what = differs(module.start, *plan.start);
  for (size_t i = 0; what.empty() && i < plan.graphs.size(); ++i) {
    what = differs(module.graphs[i], *plan.graphs[i]);
  }
  return what;
}

// Returns when that many executions of each graph end on these workers, together; 0: some never do.
uint64_t TimeOnWorkers(const plan::Plan& plan, uint32_t workers, bool several) {
  uint64_t sum = 0;
  for (uint32_t graph = 0; graph < plan.graphs.size(); ++graph) {
    const uint32_t executions = several ? 2 * plan.graphs[graph]->inflight : 1;
    const Simulation simulation =
        Simulate(plan, graph, {.executions = executions, .workers = workers});
    if (simulation.deadlocks()) return 0;
    sum += simulation.makespan;
  }
  return sum;
}

// Says what is wrong with the plan once it carries partitions, and is dealt to a few workers as an
// engine deals it.
std::string JudgePartitions(const plan::Plan& made, uint32_t workers, Seen& seen) {
  plan::Plan plan(made);
  schedule::AddPartitions(plan);
  const plan::Verdict verdict = plan::Prove(plan);
  if (!verdict.proved()) return fmt::format("with partitions: {}", verdict.message);
  if (plan.partitions.empty()) return "";
  ++seen.with_partitions;
  const uint64_t shares = TimeOnWorkers(made, workers, false);
  const bool has_own = std::any_of(plan.partitions.begin(), plan.partitions.end(),
                                   [&](const auto& own) { return own->workers == workers; });
  plan::Deal(plan, workers);
  const plan::Verdict dealt = plan::Prove(plan);
  if (!dealt.proved()) return fmt::format("dealt to {} workers: {}", workers, dealt.message);
  const uint64_t now = TimeOnWorkers(plan, workers, false);
  if (now != 0 && (now <= shares || !has_own)) return "";
  return fmt::format("dealt to {} workers {} ps, in equal shares {}", workers, now, shares);
}

// Says what is wrong with the plan once it is made for a few workers.
std::string JudgeWorkers(plan::Plan& plan, uint32_t workers, Seen& seen) {
  const uint64_t one = TimeOnWorkers(plan, workers, false);
  const uint64_t several = TimeOnWorkers(plan, workers, true);
  const std::string carried = JudgePartitions(plan, workers, seen);
  if (!carried.empty()) return carried;
  schedule::Partition(plan, {.workers = workers});
  const plan::Verdict verdict = plan::Prove(plan);
  if (!verdict.proved()) return fmt::format("for {} workers: {}", workers, verdict.message);
  const uint64_t now = TimeOnWorkers(plan, plan.workers, false);
  const uint64_t now_several = TimeOnWorkers(plan, plan.workers, true);
  seen.sooner += now < one || now_several < several;
  if (now <= one && now_several <= several) return "";
  return fmt::format("on {} workers {} and {} ps, in equal shares {} and {}", workers, now,
                     now_several, one, several);
}

// Tries one random module, scheduled in one random way.
std::string Try(uint32_t seed, Seen& seen) {
  std::mt19937 random(seed ^ 0x5eed);
  graph::Module module = graph::testing::RandomModule(seed, random() % 3 == 0 ? 2 : 1);
  bool rules = false;
  for (graph::Graph& graph : module.graphs) {
    if (random() % 2 == 0) continue;
    graph.rules = graph::testing::RandomRules(module, graph, random());
    rules = true;
  }
  ScheduleOptions options;
  if (const uint32_t overlap = random() % 3; overlap > 0) options.overlap = overlap == 1;
  options.lanes = static_cast<CommLanes>(random() % 3);
  options.search.goal = static_cast<schedule::Goal>(random() % 2);
  options.search.effort = random() % 3;
  cost::Topology machine;
  if (random() % 3 == 0) {
    machine = graph::testing::RandomMachine(module, random());
    options.topology = &machine;
    const bool one_lane = options.lanes == CommLanes::kOne;
    seen.rewritten += Rewrite(module, {.topology = &machine, .one_lane = one_lane}).size();
    ++seen.on_machines;
  }
  const Sources sources;
  Diagnostics diagnostics(sources);
  const auto schedules = ScheduleModule(module, options, diagnostics);
  ++seen.modules;
  if (diagnostics.has_errors()) {
    ++seen.refused;
    return rules ? "" : "refused without rules: " + diagnostics.all()[0].message;
  }
  const std::unique_ptr<plan::Plan> plan = Emit(module, schedules, {});
  std::string what = Judge(module, *plan);
  if (what.empty()) what = JudgeWorkers(*plan, 1 + random() % 4, seen);
  if (!what.empty()) {
    return fmt::format("overlap {}, lanes {}, rules {}: {}",
                       !options.overlap ? "as stated" : *options.overlap ? "on" : "off",
                       static_cast<int>(*options.lanes), rules, what);
  }
  seen.of_nodes += std::any_of(module.devices.begin(), module.devices.end(),
                               [](const LogicalDevice& device) { return device.node != 0; });
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    seen.Add(*plan->graphs[i]);
    seen.with_rules += module.graphs[i].rules.has_value();
    seen.searched += module.graphs[i].rules && module.graphs[i].rules->automatic;
  }
  return "";
}

int Main(int argc, char** argv) {
  uint64_t count = 2000, seed = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    (std::string(argv[i]) == "--seed" ? seed : count) = std::strtoull(argv[i + 1], nullptr, 10);
  }
  Seen seen;
  uint64_t wrong = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < count && wrong < 10; ++i) {
    const auto number = static_cast<uint32_t>(seed + i);
    const std::string what = Try(number, seen);
    if (what.empty()) continue;
    ++wrong;
    fmt::print("seed {}: {}\n", number, what);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{}\n{} wrong, {:.1f} s\n", seen.Text(), wrong, took.count());
  if (wrong == 0 && !seen.Enough()) fmt::print("too little of something was seen\n");
  return wrong == 0 && seen.Enough() ? 0 : 1;
}

}  // namespace
}  // namespace cgraph

int main(int argc, char** argv) { return cgraph::Main(argc, argv); }

#include "tests/simulation/trial.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/sync/spin.h"
#include "runtime/cluster/launcher.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/ranks/serve.h"
#include "runtime/plan/load.h"
#include "tests/engine_oracle/random_module.h"
#include "tests/simulation/machine_module.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/session.h"
#include "tests/support/deferred/deferred.h"

namespace cgraph::simulation {
namespace {

using plan::DType;

constexpr int64_t kMs = 1'000'000;
// By its clock a trial takes some milliseconds, or seconds where all threads poll and turns are
// long.
constexpr int64_t kLimitNs = 30'000 * kMs;
constexpr int64_t kLostWithinNs = 100 * kMs;  // of being told: all waits end
constexpr int64_t kEndWithinNs = 300 * kMs;   // ... and the engine with its threads
// Different ones of several machines, and of one: compiling takes longer than a trial.
constexpr uint64_t kModules = 64, kModulesOfOne = 16;

// Makes what a process measures the same at the begin of each trial.
void ForgetMeasured() {
  SpinBudget::Observe(std::chrono::seconds(1));
  for (int i = 0; i < 100; ++i) SpinBudget::Observe(std::chrono::seconds(0));
}

void BreakScheduler(const TrialOptions& options, Scheduler& scheduler, std::mt19937_64& random) {
  omitted = options.fault.omitted;
  if (options.fault.loses_wake) scheduler.LoseWake(random() % 30);
}

// In half of the trials devices have queues, which run late: in a thread of their own, or when they
// are polled.
void ChooseDevices(std::mt19937_64& random, void (*defer)(uint64_t)) {
  const uint64_t seed = random();
  if (seed % 2 == 0) {
    testing::DeferNoEngines();
  } else {
    defer(seed >> 1);
  }
}

// Adds the schedule to what is wrong.
void Explain(const TrialOptions& options, const Scheduler& scheduler, TrialResult& result) {
  result.digest = scheduler.digest();
  result.ns = scheduler.now_ns();
  if (result.wrong.empty()) return;
  if (result.wrong.back() != '\n') result.wrong += '\n';
  result.wrong += scheduler.Describe(options.turns);
}

std::string EndText(Scheduler::End end) {
  return end == Scheduler::End::kDeadlock ? "a deadlock: nobody can ever go on"
                                          : fmt::format("not over after {} s", kLimitNs / 1e9);
}

// ---- workers ------------------------------------------------------------------------------------

// Submits an execution of a module (tests/engine_oracle/random_module.h).
class WorkersSubmit {
 public:
  explicit WorkersSubmit(const oracle::Module& module)
      : module_(module), oracle_(std::make_shared<oracle::Oracle>(module)) {}

  Result<Asked> operator()(Engine& engine, std::mt19937_64& random) {
    const auto graph = static_cast<uint32_t>(random() % module_.graphs.size());
    const auto x = static_cast<float>(random() % 3);
    const int64_t fail = random() % 5 == 0 ? static_cast<int64_t>(random() % 5) : -1;
    const int64_t ms = random() % 8 == 0 ? 1 : 0;
    const int64_t dims[] = {1};
    const Input inputs[] = {
        {"x", &x, DType::f32, dims}, {"fail", &fail, DType::i64, {}}, {"ms", &ms, DType::i64, {}}};
    auto execution =
        engine.Execute(graph, inputs, random() % 4 == 0 ? WhenFull::kError : WhenFull::kWait);
    if (!execution.ok()) return execution.status();
    const std::optional<float> expected = oracle_->Execute(graph, x, fail);
    const std::string failure = expected ? "" : oracle_->FailureOf(graph, fail);
    return Asked{std::move(*execution), [=](const Result<Outputs>& outputs) -> std::string {
                   if (!outputs.ok()) {
                     return outputs.status().message() == failure
                                ? ""
                                : fmt::format("graph {}: `{}` instead of `{}`", graph,
                                              outputs.status().message(), failure);
                   }
                   const float y = *(*outputs)[0].as<float>();
                   if (expected && y == *expected) return "";
                   return fmt::format("graph {} gives {} instead of {}", graph, y,
                                      expected ? fmt::format("{}", *expected) : failure);
                 }};
  }

 private:
  const oracle::Module& module_;
  std::shared_ptr<oracle::Oracle> oracle_;
};

struct Compiled {
  MachineModule module;
  std::vector<uint8_t> plan;
};

const Compiled& ModuleOf(uint64_t seed, uint32_t nodes) {
  static std::map<std::pair<uint64_t, uint32_t>, Compiled> all;
  const auto [at, is_new] = all.try_emplace({seed, nodes});
  if (is_new) {
    at->second.module = RandomMachineModule(seed, nodes);
    at->second.plan = PlanOf(at->second.module);
  }
  return at->second;
}

// The same of a module that was compiled (machine_module.h).
class MachinesSubmit {
 public:
  explicit MachinesSubmit(const MachineModule& module)
      : module_(module), oracle_(std::make_shared<MachineOracle>(module)) {}

  Result<Asked> operator()(Engine& engine, std::mt19937_64& random) {
    if (random() % 6 == 0) CGRAPH_RETURN_IF_ERROR(LookAtStates(engine, random));
    const auto graph = static_cast<uint32_t>(random() % module_.graphs.size());
    std::vector<int64_t> v(random() % (kMostLength + 1));
    for (int64_t& element : v) element = static_cast<int64_t>(random() % 100);
    const int64_t x = static_cast<int64_t>(random() % 3);
    const auto devices = static_cast<int64_t>(module_.devices.size());
    const int64_t fail = random() % 5 == 0 ? static_cast<int64_t>(random() % 64) % devices : -1;
    const int64_t length[] = {static_cast<int64_t>(v.size())}, one[] = {1};
    const Input inputs[] = {{"v", v.data(), DType::i64, length},
                            {"x", &x, DType::i64, one},
                            {"fail", &fail, DType::i64, {}}};
    auto execution =
        engine.Execute(graph, inputs, random() % 4 == 0 ? WhenFull::kError : WhenFull::kWait);
    if (!execution.ok()) return execution.status();
    const auto expected = oracle_->Execute(graph, v, x, fail);
    const std::string failed = fmt::format("s{}.step", fail);
    return Asked{std::move(*execution), [=](const Result<Outputs>& outputs) -> std::string {
                   if (!outputs.ok()) {
                     const std::string& text = outputs.status().message();
                     if (!expected && text.find(failed) == 0 &&
                         text.find("failed: no") != std::string::npos) {
                       return "";
                     }
                     return fmt::format("graph {} fails: {}", graph, text);
                   }
                   if (!expected) return fmt::format("graph {} does not fail", graph);
                   const device::Tensor& y = (*outputs)[0];
                   const std::span<const int64_t> seen(y.as<int64_t>(), y.elements());
                   if (std::equal(seen.begin(), seen.end(), expected->begin(), expected->end())) {
                     return "";
                   }
                   return fmt::format("graph {} gives [{}] instead of [{}]", graph,
                                      fmt::join(seen, ", "), fmt::join(*expected, ", "));
                 }};
  }

 private:
  // Compares all states with the oracle's, while executions are in flight, and sets one.
  Status LookAtStates(Engine& engine, std::mt19937_64& random) {
    std::vector<int64_t>& totals = oracle_->totals();
    for (size_t d = 0; d < totals.size(); ++d) {
      int64_t seen = 0;
      CGRAPH_RETURN_IF_ERROR(engine.ReadState(fmt::format("s{}.total", d),
                                              {reinterpret_cast<uint8_t*>(&seen), sizeof seen}));
      if (seen == totals[d]) continue;
      return Status(StatusCode::kInternal,
                    fmt::format("s{}.total is {} instead of {}", d, seen, totals[d]));
    }
    const size_t changed = random() % totals.size();
    totals[changed] += 5;
    return engine.WriteState(
        fmt::format("s{}.total", changed),
        {reinterpret_cast<const uint8_t*>(&totals[changed]), sizeof totals[changed]});
  }

  const MachineModule& module_;
  std::shared_ptr<MachineOracle> oracle_;
};

}  // namespace

TrialResult TryWorkers(const TrialOptions& options) {
  ForgetMeasured();
  Scheduler scheduler(options.seed);
  std::mt19937_64 random(options.seed);
  std::mt19937 module_random(static_cast<uint32_t>(random()));
  // Half of the seeds have a module with collectives.
  const oracle::Module chains = oracle::RandomModule(module_random);
  std::unique_ptr<plan::Plan> plan;
  Session::Submit submit;
  if (options.seed / 3 % 2 == 0) {
    plan = oracle::MakePlan(chains);
    submit = WorkersSubmit(chains);
  } else {
    const Compiled& compiled = ModuleOf(options.seed / 6 % kModulesOfOne, /*nodes=*/1);
    plan = std::move(*plan::FromBytes(compiled.plan));
    submit = MachinesSubmit(compiled.module);
  }
  BreakScheduler(options, scheduler, random);
  ChooseDevices(random, testing::DeferAllEngines);
  TrialResult result;
  scheduler.Spawn(0, "caller", [&] {
    EngineOptions engine_options;
    engine_options.workers = 1 + random() % 3;
    engine_options.timeout = std::chrono::seconds(0);
    engine_options.trace = random() % 8 == 0;
    auto engine = Engine::Load(std::move(plan), engine_options);
    if (!engine.ok()) {
      result.wrong = engine.status().message();
      return;
    }
    Session session(**engine, std::move(submit), "");
    session.Run(1 + random() % 3, 8, random);
    engine->reset();
    session.JudgeHeld();
    result.wrong = session.wrong();
    result.compared = session.judged();
  });
  const Scheduler::End end = scheduler.Run(kLimitNs);
  if (end != Scheduler::End::kOver) result.wrong = EndText(end);
  result.points = {scheduler.points(0)};
  Explain(options, scheduler, result);
  return result;
}

// ---- machines -----------------------------------------------------------------------------------

namespace {

// The virtual machines of a trial.
class Machines {
 public:
  Machines(const TrialOptions& options, const Compiled& compiled)
      : options_(options),
        compiled_(compiled),
        scheduler_(options.seed),
        random_(options.seed),
        network_(scheduler_, compiled.module.nodes, options.fault.wire) {
    BreakScheduler(options, scheduler_, random_);
    ChooseDevices(random_, testing::DeferAllRanks);
    network_.FailAt(random_() % 20);
    if (!options_.death) return;
    const uint32_t rank = options_.death->rank;
    scheduler_.StopAt(rank, options_.death->point, [this, rank] {
      network_.Cut(rank);
      dead_ = true;
    });
    lost_ = fmt::format("rank {} ", rank);
  }

  TrialResult Run() {
    scheduler_.Spawn(0, "rank 0 caller", [this] { RunFirst(); });
    for (uint32_t rank = 1; rank < compiled_.module.nodes; ++rank) {
      scheduler_.Spawn(rank, fmt::format("rank {}", rank), [this, rank] {
        cluster::Peers peers(network_.wire(rank));
        engine::ServeMachine(peers);
      });
    }
    const Scheduler::End end = scheduler_.Run(kLimitNs);
    if (end != Scheduler::End::kOver) Wrong(EndText(end));
    if (!scheduler_.OverAll(0)) Wrong("rank 0 is not over");
    for (uint32_t rank = 0; rank < compiled_.module.nodes; ++rank) {
      result_.points.push_back(scheduler_.points(rank));
    }
    if (result_.wrong.empty()) Clear();
    if (!network_.fault().empty()) Wrong(network_.fault());
    Explain(options_, scheduler_, result_);
    return std::move(result_);
  }

 private:
  void RunFirst() {
    cluster::Peers peers(network_.wire(0));
    peers.supervision = network_.Supervise();
    UseEngine(peers);
    if (dead_ && network_.told_ns()) Within("the end of the engine", kEndWithinNs);
    if (engine::EndMachines(peers, /*exit_code=*/0) && !network_.aborted()) return;
    if (!dead_) Wrong("the other ranks have not ended");
    // The program ends all ranks then.
    for (uint32_t rank = 1; rank < compiled_.module.nodes; ++rank) scheduler_.Stop(rank);
  }

  void UseEngine(cluster::Peers& peers) {
    EngineOptions options;
    options.peers = &peers;
    options.timeout = std::chrono::seconds(0);
    auto plan = plan::FromBytes(compiled_.plan);
    auto engine = Engine::Load(std::move(*plan), options);
    if (!engine.ok()) {
      const Status& status = engine.status();
      const bool lost = dead_ && status.code() == StatusCode::kLost &&
                        status.message().find(lost_) != std::string::npos;
      if (!lost) Wrong("the engine does not load: " + status.message());
      return;
    }
    for (uint32_t rank = 0; rank < compiled_.module.nodes; ++rank) {
      result_.loaded.push_back(scheduler_.points(rank));
    }
    Session session(**engine, MachinesSubmit(compiled_.module), lost_);
    session.Run(1 + random_() % 2, 6, random_);
    if (network_.told_ns()) Within("the last wait", kLostWithinNs);
    engine->reset();
    session.JudgeHeld();
    result_.compared = session.judged();
    if (!session.wrong().empty()) Wrong(session.wrong());
  }

  void Within(const char* what, int64_t most_ns) {
    const int64_t late = scheduler_.now_ns() - *network_.told_ns();
    if (late <= most_ns) return;
    Wrong(fmt::format("{} comes {:.3f} ms after a rank was lost", what, late * 1e-6));
  }

  // Has the ranks that were stopped end by themselves, so that what they have made is given back.
  void Clear() {
    for (uint32_t rank = 1; rank < compiled_.module.nodes; ++rank) {
      if (scheduler_.OverAll(rank)) continue;
      network_.Isolate(rank);
      scheduler_.Continue(rank);
    }
    const Scheduler::End end = scheduler_.Run(scheduler_.now_ns() + kLimitNs);
    if (end != Scheduler::End::kOver) Wrong("of ranks that were stopped: " + EndText(end));
  }

  void Wrong(const std::string& what) {
    if (result_.wrong.empty()) result_.wrong = what;
  }

  const TrialOptions& options_;
  const Compiled& compiled_;
  Scheduler scheduler_;
  std::mt19937_64 random_;
  Network network_;
  TrialResult result_;
  bool dead_ = false;
  std::string lost_;
};

}  // namespace

TrialResult TryMachines(const TrialOptions& options) {
  ForgetMeasured();
  const uint64_t module = options.seed % kModules;
  Machines machines(options, ModuleOf(module, 2 + module % 2));
  return machines.Run();
}

}  // namespace cgraph::simulation

// Every wait is needed: the test leaves out each wait of small plans in turn, and each of the
// engine's own (runtime/base/wait_point.h), and checks that a run on deferred devices notices.
//
// Two kinds of waits change nothing when they are left out: those without which the prover still
// accepts the plan, since others *imply* them; and those for what the *submission* has said already
// (SaidBySubmission). Every other one must be noticed under some seed: another result, a failure,
// or a run that hangs or crashes.
//
// Each trial runs in a process of its own.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "runtime/base/wait_point.h"
#include "runtime/load/sync/sync.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"
#include "tests/deferred/trial.h"
#include "tests/support/deferred/deferred.h"

namespace cgraph::testing {
namespace {


constexpr uint64_t kSeeds = 40;  // tried for each wait, until one notices
constexpr uint64_t kWhole = 12;  // under which each whole plan runs
constexpr uint64_t kAgain = 6;   // and each from which something harmless is left out

std::string Run(const plan::Plan& plan, bool proved, uint32_t workers = 0) {
  EngineOptions options;
  options.workers = workers;
  options.proved = proved;
  return Outcome(plan, options);
}

bool Noticed(const std::function<bool()>& same, uint64_t seeds = kSeeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!Same(seed, same)) return true;
  }
  return false;
}

// Waits so far back that they never wait.
std::unique_ptr<plan::Plan> Without(const plan::Plan& plan, uint32_t graph,
                                    const std::vector<uint32_t>& waits) {
  auto mutant = std::make_unique<plan::Plan>(plan);
  for (uint32_t wait : waits) {
    plan::Wait& at = mutant->graphs[graph]->waits[wait];
    at = plan::Wait(at.event(), UINT16_MAX);
  }
  return mutant;
}

// Returns the instructions with work, as the engine has them of a plan that it does not trust: no
// plan here has inputs whose extents submission makes.
std::vector<bool> WithWork(const plan::Plan& plan, const plan::Graph& graph) {
  return engine::FindInstructionsWithWork(plan::GraphIndex(plan, graph), engine::kNoDepth);
}

// Returns the lane that signals an event.
const plan::Range& LaneOf(const plan::Graph& g, uint32_t event) {
  for (const plan::Range& lane : g.programs) {
    for (uint32_t i = lane.first(); i < lane.first() + lane.count(); ++i) {
      const plan::Instruction& at = g.instructions[i];
      if (at.kind() == plan::Kind::signal && at.subject() == event) return lane;
    }
  }
  throw std::runtime_error("an event without a signal");
}

bool LaneHasWork(const plan::Plan& plan, const plan::Graph& g, const plan::Range& lane) {
  const std::vector<bool> has_work = WithWork(plan, g);
  const auto first = has_work.begin() + lane.first();
  return std::find(first, first + lane.count(), true) != first + lane.count();
}

// Whether a lane waits for anything that the submission has not said.
bool LaneWaits(const plan::Graph& g, const plan::Range& lane) {
  const auto first = g.instructions.begin() + lane.first();
  return std::any_of(first, first + lane.count(), [&](const plan::Instruction& at) {
    if (at.kind() != plan::Kind::wait) return false;
    const auto waits = g.waits.begin() + at.first();
    return std::any_of(waits, waits + at.inputs(), [&](const plan::Wait& wait) {
      return wait.lag() < std::max(1u, g.inflight);
    });
  });
}

// Whether the wait is for what was so when the round was submitted. Either it looks back as far as
// executions may be in flight: a round is submitted when that one is over. Or its event is of a
// lane that only takes inputs of fixed shape, and passes nothing on that it has waited for.
bool SaidBySubmission(const plan::Plan& plan, uint32_t graph, uint32_t wait) {
  const plan::Graph& g = *plan.graphs[graph];
  const bool lags = std::any_of(g.instructions.begin(), g.instructions.end(),
                                [](const plan::Instruction& at) { return at.lag() != 0; });
  if (!lags && g.waits[wait].lag() >= std::max(1u, g.inflight)) return true;
  const plan::Range& lane = LaneOf(g, g.waits[wait].event());
  const auto first = g.instructions.begin() + lane.first();
  const bool gives = std::any_of(first, first + lane.count(), [](const auto& at) {
    return at.kind() == plan::Kind::output;
  });
  return !gives && !LaneHasWork(plan, g, lane) && !LaneWaits(g, lane);
}

// Returns whether the wait is of a lane that only gives results which lie where they belong: they
// are read when the execution is over, whatever that lane has done. Other lanes may wait for this
// lane only for what the submission says.
bool SaidByCompletion(const plan::Plan& plan, uint32_t graph, uint32_t wait) {
  const plan::Graph& g = *plan.graphs[graph];
  for (const plan::Range& lane : g.programs) {
    bool waits = false, asked = false;
    for (uint32_t i = lane.first(); i < lane.first() + lane.count(); ++i) {
      const plan::Instruction& at = g.instructions[i];
      waits |= at.kind() == plan::Kind::wait && at.first() <= wait &&
               wait < at.first() + at.inputs();
      for (uint32_t w = 0; at.kind() == plan::Kind::signal && w < g.waits.size(); ++w) {
        asked |= g.waits[w].event() == at.subject() && !SaidBySubmission(plan, graph, w);
      }
    }
    if (waits) return !asked && !LaneHasWork(plan, g, lane);
  }
  return false;
}

bool OnlySends(const plan::Graph& g, const plan::Instruction& at) {
  return at.kind() == plan::Kind::comm &&
         std::all_of(g.parts.begin() + at.first(), g.parts.begin() + at.first() + at.inputs(),
                     [](const plan::CommPart& part) { return part.part() == plan::Part::send; });
}

// Returns whether another lane is through with a round only when this one is: the last work of this
// lane is waited for in the same round. A message has left when it was received.
bool OverWithOthers(const plan::Plan& plan, uint32_t lane) {
  for (uint32_t number = 0; number < plan.graphs.size(); ++number) {
    const plan::Graph& g = *plan.graphs[number];
    const plan::Range& range = g.programs[lane];
    const std::vector<bool> has_work = WithWork(plan, g);
    bool open = false;  // something was done that nobody has waited for
    for (uint32_t i = range.first(); i < range.first() + range.count(); ++i) {
      const plan::Instruction& at = g.instructions[i];
      open |= has_work[i] && !OnlySends(g, at);
      for (uint32_t w = 0; at.kind() == plan::Kind::signal && w < g.waits.size(); ++w) {
        const bool asks = g.waits[w].event() == at.subject() && kept_waits[number][w];
        open &= !asks || g.waits[w].lag() != 0;
      }
    }
    if (open) return false;
  }
  return true;
}

// `waits`: one, and those that would not be there but for it.
bool Harmless(const plan::Plan& plan, uint32_t graph, const std::vector<uint32_t>& waits) {
  return plan::Prove(*Without(plan, graph, waits)).proved() ||
         SaidBySubmission(plan, graph, waits[0]) || SaidByCompletion(plan, graph, waits[0]);
}

// A wait that the engine keeps and those behind it in the same lane that it leaves out since this
// one has waited for as much.
std::vector<uint32_t> WithRepeats(const plan::Graph& g, uint32_t wait) {
  std::vector<uint32_t> all = {wait};
  for (const plan::Range& lane : g.programs) {
    bool behind = false;
    for (uint32_t i = lane.first(); i < lane.first() + lane.count(); ++i) {
      const plan::Instruction& at = g.instructions[i];
      for (uint32_t w = at.first(); at.kind() == plan::Kind::wait && w < at.first() + at.inputs();
           ++w) {
        const bool repeats = g.waits[w].event() == g.waits[wait].event() &&
                             g.waits[w].lag() >= g.waits[wait].lag();
        if (behind && repeats) all.push_back(w);
        behind |= w == wait;
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("what is whole gives the same under every seed") {
  for (const Scenario& scenario : Scenarios()) {
    INFO(scenario.name);
    REQUIRE(plan::Prove(*scenario.plan).proved());
    const std::string expected = Run(*scenario.plan, true);
    for (bool proved : {true, false}) {
      CAPTURE(proved);
      REQUIRE(!Noticed([&] { return Run(*scenario.plan, proved) == expected; }, kWhole));
    }
  }
}

TEST_CASE("a wait that a plan lacks is noticed") {
  uint32_t harmless = 0, noticed = 0;
  for (const Scenario& scenario : Scenarios()) {
    const std::string expected = Run(*scenario.plan, true);
    for (uint32_t g = 0; g < scenario.plan->graphs.size(); ++g) {
      for (uint32_t w = 0; w < scenario.plan->graphs[g]->waits.size(); ++w) {
        const auto mutant = Without(*scenario.plan, g, {w});
        INFO(scenario.name << ": wait " << w << " of graph " << g << ", "
                           << scenario.plan->graphs[g]->waits[w].lag() << " rounds back");
        INFO(plan::Prove(*mutant).message);
        if (Harmless(*scenario.plan, g, {w})) {
          CHECK(!Noticed([&] { return Run(*mutant, false) == expected; }, kAgain));
          ++harmless;
          continue;
        }
        CHECK(Noticed([&] { return Run(*mutant, false) == expected; }));
        ++noticed;
      }
    }
  }
  WARN(noticed << " waits are noticed; " << harmless << " are implied");
  CHECK(noticed > 20);
}

TEST_CASE("a wait that the engine lacks is noticed") {
  uint32_t harmless = 0, noticed = 0;
  for (const Scenario& scenario : Scenarios()) {
    const std::string expected = Run(*scenario.plan, true);
    // All lanes are on queues: the plan's waits that the engine keeps are the same under every even
    // seed.
    const auto notices = [&](Omitted what, uint64_t seeds = kSeeds) {
      for (uint64_t seed = 2; seed <= 2 * seeds; seed += 2) {
        const bool same = Same(seed, [&] {
          omitted = what;
          return Run(*scenario.plan, true) == expected;
        });
        if (!same) return true;
      }
      return false;
    };
    INFO(scenario.name);
    CHECK(notices({WaitPoint::kCompletion}));
    for (uint32_t g = 0; g < scenario.plan->graphs.size(); ++g) {
      for (uint32_t kept = 0;; ++kept) {
        omitted = {WaitPoint::kKeptWait, kept, g};
        DeferAllEngines(2);
        Run(*scenario.plan, true);  // says which wait it is
        const uint32_t wait = std::exchange(omitted, {}).wait;
        if (wait == ~0u) break;
        INFO("kept wait " << kept << ", wait " << wait << " of graph " << g);
        const plan::Graph& graph = *scenario.plan->graphs[g];
        if (Harmless(*scenario.plan, g, WithRepeats(graph, wait))) {
          CHECK(!notices({WaitPoint::kKeptWait, kept, g}, kAgain));
          ++harmless;
          continue;
        }
        CHECK(notices({WaitPoint::kKeptWait, kept, g}));
        ++noticed;
      }
    }
  }
  WARN(noticed << " of the waits that the reduction keeps are noticed; " << harmless
               << " are implied");
  CHECK(noticed > 10);
}

TEST_CASE("a completion that the engine does not look at is noticed") {
  uint32_t implied = 0, noticed = 0;
  for (const Scenario& scenario : Scenarios()) {
    INFO(scenario.name);
    const std::string expected = Run(*scenario.plan, true);
    // With all lanes on queues, the engine's queues are the lanes.
    DeferAllEngines(2);
    Run(*scenario.plan, true, 1);  // says which waits are kept
    for (uint32_t lane = 0; lane < scenario.plan->lanes.size(); ++lane) {
      const auto notices = [&](uint64_t seeds) {
        for (uint64_t seed = 2; seed <= 2 * seeds; seed += 2) {
          const bool same = Same(seed, [&] {
            omitted = {WaitPoint::kOneQueue, lane};
            return Run(*scenario.plan, true, 1) == expected;
          });
          if (!same) return true;
        }
        return false;
      };
      INFO("lane " << lane);
      const bool with_others = OverWithOthers(*scenario.plan, lane);
      if (with_others) {
        CHECK(!notices(kAgain));
      } else {
        CHECK(notices(5 * kSeeds));
      }
      ++(with_others ? implied : noticed);
    }
  }
  WARN(noticed << " completions of queues are noticed; " << implied << " are implied");
  CHECK(noticed > 5);
}

TEST_CASE("an error that is not heard is noticed") {
  const Scenario scenario = Failing();
  const std::string expected = Run(*scenario.plan, true);
  REQUIRE(expected.find("eleven is not allowed") != std::string::npos);
  CHECK(Noticed([&] {
    omitted = {WaitPoint::kReports};
    return Run(*scenario.plan, true) == expected;
  }));
}

}  // namespace cgraph::testing
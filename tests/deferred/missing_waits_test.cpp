// Every wait is needed: leaves out each wait of small plans in turn, and each of the engine's own
// (runtime/engine/omission.h), and sees that a run on deferred devices notices.
//
// Leaving a wait out changes nothing where the prover does without it, since others *imply* it; and
// where it is for what the *submission* has said already (SaidBySubmission). Every other one must
// be noticed under some seed: another result, a failure, or a run that hangs or crashes.
//
// Each trial runs in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "runtime/engine/engine.h"
#include "runtime/engine/omission.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/prove.h"
#include "tests/support/deferred/deferred.h"
#include "tests/support/plans/flow_plan.h"
#ifdef CGRAPH_WITH_COMPILER
#include "tests/support/run.h"
#endif

namespace cgraph::testing {
namespace {

using engine::Omission;
using plan::DType;
using plan::testing::FlowPlan;

constexpr uint64_t kSeeds = 40;     // tried for each wait, until one notices
constexpr uint64_t kWhole = 12;     // under which each whole plan runs
constexpr int64_t kExecutions = 8;  // of each graph

struct Scenario {
  std::string name;
  std::unique_ptr<plan::Plan> plan;
};

uint32_t Add(FlowPlan& flow, uint32_t device, uint32_t a, uint32_t b) {
  const uint32_t sum = flow.Scalar("sum", device);
  flow.Call(device, flow.Kernel("add"), {a, b}, {sum});
  return sum;
}

// x goes over the devices and comes back; every second call is a chain of its own.
Scenario Chain(uint32_t devices, uint32_t inflight, uint32_t capacity) {
  FlowPlan flow(devices);
  flow.Begin("chain", inflight);
  uint32_t at = flow.Input("x"), aside = plan::kNone;
  for (uint32_t i = 0; i < 5; ++i) {
    const uint32_t device = i % devices;
    if (i != 0 && devices != 1) {
      at = flow.Transfer(at, (i - 1) % devices, device, capacity);
    }
    at = Add(flow, device, at, flow.Constant(device, i + 1));
    if (i == 1) aside = Add(flow, device, at, at);
  }
  flow.Give("y", at);
  flow.Give("z", aside);
  return {"a chain over " + std::to_string(devices) + ", inflight " + std::to_string(inflight) +
              ", capacity " + std::to_string(capacity),
          flow.Build()};
}

// Two graphs over one state: one adds to it and sends what it was, the other reads it.
Scenario States() {
  FlowPlan flow(2);
  flow.Begin("add", 2);
  const uint32_t f = flow.Input("f", DType::f32, {1});
  const uint32_t sum = flow.Tensor("sum", 0, DType::f32, {1});
  const uint32_t was = flow.Tensor("was", 0, DType::f32, {1});
  const uint32_t twice = flow.Tensor("twice", 1, DType::f32, {1});
  flow.Call(0, flow.Kernel("copy"), {flow.State(0)}, {was});
  flow.Call(0, flow.Kernel("add"), {f, flow.State(0)}, {sum});
  flow.Call(0, flow.Kernel("copy"), {sum}, {flow.State(0)}, plan::kCommitsState);
  const uint32_t moved = flow.Transfer(was, 0, 1);
  flow.Call(1, flow.Kernel("add"), {moved, moved}, {twice});
  flow.Give("twice", twice);
  flow.Begin("read", 2);
  const uint32_t seen = flow.Tensor("seen", 0, DType::f32, {1});
  flow.Call(0, flow.Kernel("copy"), {flow.State(0)}, {seen});
  flow.Give("seen", seen);
  return {"two graphs over one state", flow.Build()};
}

// A check fails in some executions; what others make of it is poisoned.
Scenario Failing() {
  FlowPlan flow(2);
  flow.Begin("check", 3);
  const uint32_t x = flow.Input("x");
  const uint32_t well = flow.Scalar("well", 0, DType::bool_);
  const uint32_t made = flow.Scalar("made", 0);
  flow.Method(0, "check", 1);
  flow.Call(0, flow.Kernel("not_equal"), {x, flow.Constant(0, 11)}, {well});
  flow.Call(0, flow.Check("eleven is not allowed"), {well}, {});
  flow.Call(0, flow.Kernel("copy"), {x}, {made});
  const uint32_t moved = flow.Transfer(made, 0, 1);
  flow.Give("y", Add(flow, 1, moved, flow.Constant(1, 2)));
  return {"a check that fails", flow.Build()};
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all;
  all.push_back(Chain(1, 2, 0));
  all.push_back(Chain(2, 1, 0));
  all.push_back(Chain(2, 2, 0));
  all.push_back(Chain(3, 2, 1));
  all.push_back(States());
  all.push_back(Failing());
#ifdef CGRAPH_WITH_COMPILER
  for (const char* name : {"chain", "counter", "two_way", "ping_pong_devices"}) {
    all.push_back({name, CompileFile(std::string(CGRAPH_SOURCE_DIR "/examples/") + name +
                                     ".cgraph")});
  }
#endif
  return all;
}

// An input of execution x: small numbers, others in every execution; dimensions at their bounds.
struct Filled {
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
  Input input;

  Filled(const plan::Graph& graph, const plan::Port& port, int64_t x) {
    const plan::Value& value = graph.values[port.value];
    int64_t elements = 1;
    for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
      dims.push_back(graph.dims[d].extent());
      elements *= dims.back();
    }
    const auto width = static_cast<size_t>(plan::DTypeBytes(value.dtype()));
    bytes.resize(static_cast<size_t>(elements) * width);
    for (int64_t i = 0; i < elements; ++i) {
      const int64_t whole = x * 5 + i % 7 + 1;
      const float real = static_cast<float>(whole);
      const void* from = value.dtype() == DType::f32 ? static_cast<const void*>(&real) : &whole;
      std::memcpy(bytes.data() + static_cast<size_t>(i) * width, from, width);
    }
    input = {port.name, bytes.data(), value.dtype(), dims};
  }
};

std::string Text(const device::Tensor& tensor) {
  std::string text;
  for (uint64_t i = 0; i < tensor.bytes(); ++i) {
    text += "0123456789abcdef"[tensor.as<uint8_t>()[i] >> 4];
    text += "0123456789abcdef"[tensor.as<uint8_t>()[i] & 15];
  }
  return text + " ";
}

// What a program over the plan sees: executions of all its graphs in turn, fetched late.
std::string Outcome(const plan::Plan& plan, bool proved, uint32_t workers = 0) {
  EngineOptions options;
  options.workers = workers;
  options.proved = proved;
  options.stall_timeout = std::chrono::seconds(2);
  auto engine = Engine::Load(std::make_unique<plan::Plan>(plan), options);
  if (!engine.ok()) return engine.status().message();
  std::vector<Execution> executions;
  for (int64_t x = 0; x < kExecutions; ++x) {
    for (uint32_t g = 0; g < plan.graphs.size(); ++g) {
      std::vector<std::unique_ptr<Filled>> filled;
      std::vector<Input> inputs;
      for (const auto& port : plan.graphs[g]->inputs) {
        filled.push_back(std::make_unique<Filled>(*plan.graphs[g], *port, x));
        inputs.push_back(filled.back()->input);
      }
      auto execution = (*engine)->Execute(g, inputs);
      if (!execution.ok()) return execution.status().message();
      executions.push_back(std::move(*execution));
    }
  }
  std::string seen;
  for (Execution& execution : executions) {
    auto outputs = execution.Get();
    if (!outputs.ok()) seen += outputs.status().message();
    for (size_t o = 0; outputs.ok() && o < outputs->size(); ++o) seen += Text((*outputs)[o]);
  }
  return seen;
}

// Whether a process that runs `same` under this seed says that nothing is different.
bool Same(uint64_t seed, const std::function<bool()>& same) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    DeferAllEngines(seed);
    _exit(same() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool Noticed(const std::function<bool()>& same, uint64_t seeds = kSeeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!Same(seed, same)) return true;
  }
  return false;
}

// A wait so far back that it never waits.
std::unique_ptr<plan::Plan> Without(const plan::Plan& plan, uint32_t graph, uint32_t wait) {
  auto mutant = std::make_unique<plan::Plan>(plan);
  plan::Wait& at = mutant->graphs[graph]->waits[wait];
  at = plan::Wait(at.event(), UINT16_MAX);
  return mutant;
}

// Whether an instruction does anything besides signalling and waiting. Inputs of fixed shape lie in
// their frame before a round is submitted; results may lie where they belong.
bool Works(const plan::Graph& g, const plan::Instruction& at) {
  if (at.kind() == plan::Kind::signal || at.kind() == plan::Kind::wait) return false;
  if (at.kind() == plan::Kind::input) return at.outputs() != 1;
  if (at.kind() != plan::Kind::output) return true;
  const plan::Value& value = g.values[g.operands[at.first()]];
  const auto dims = std::span(g.dims).subspan(value.first_dim(), value.rank());
  const bool fixed = std::all_of(dims.begin(), dims.end(), [](const plan::Dim& dim) {
    return dim.symbol() == plan::kNone;
  });
  return !fixed || g.arenas[g.buffers[value.buffer()].arena()].space() != plan::Space::output;
}

// The lane that signals an event.
const plan::Range& LaneOf(const plan::Graph& g, uint32_t event) {
  for (const plan::Range& lane : g.programs) {
    for (uint32_t i = lane.first(); i < lane.first() + lane.count(); ++i) {
      const plan::Instruction& at = g.instructions[i];
      if (at.kind() == plan::Kind::signal && at.subject() == event) return lane;
    }
  }
  throw std::runtime_error("an event without a signal");
}

bool LaneWorks(const plan::Graph& g, const plan::Range& lane) {
  return std::any_of(g.instructions.begin() + lane.first(),
                     g.instructions.begin() + lane.first() + lane.count(),
                     [&](const plan::Instruction& at) { return Works(g, at); });
}

// Whether the wait is for what was so when the round was submitted. Either it looks back as far as
// executions may be in flight: a round is submitted when that one is over. Or its event is of a
// lane that only takes inputs of fixed shape.
bool SaidBySubmission(const plan::Plan& plan, uint32_t graph, uint32_t wait) {
  const plan::Graph& g = *plan.graphs[graph];
  const bool lags = std::any_of(g.instructions.begin(), g.instructions.end(),
                                [](const plan::Instruction& at) { return at.lag() != 0; });
  if (!lags && g.waits[wait].lag() >= std::max(1u, g.inflight)) return true;
  const plan::Range& lane = LaneOf(g, g.waits[wait].event());
  const auto first = g.instructions.begin() + lane.first();
  return !LaneWorks(g, lane) && std::none_of(first, first + lane.count(), [](const auto& at) {
    return at.kind() == plan::Kind::output;
  });
}

// Whether the wait is of a lane that only gives results which lie where they belong: they are read
// when the execution is over, whatever that lane has done. Who waits for this lane may do so for
// what the submission says, and for nothing else.
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
    if (waits) return !asked && !LaneWorks(g, lane);
  }
  return false;
}

bool OnlySends(const plan::Graph& g, const plan::Instruction& at) {
  return at.kind() == plan::Kind::comm &&
         std::all_of(g.parts.begin() + at.first(), g.parts.begin() + at.first() + at.inputs(),
                     [](const plan::CommPart& part) { return part.part() == plan::Part::send; });
}

// Whether another lane is through with a round only when this one is: what this one does last is
// waited for in the same round. What was sent has left when it was received.
bool OverWithOthers(const plan::Plan& plan, uint32_t lane) {
  for (const auto& g : plan.graphs) {
    const plan::Range& range = g->programs[lane];
    bool open = false;  // something was done that nobody has waited for
    for (uint32_t i = range.first(); i < range.first() + range.count(); ++i) {
      const plan::Instruction& at = g->instructions[i];
      open |= Works(*g, at) && !OnlySends(*g, at);
      for (const plan::Wait& wait : g->waits) {
        const bool asks = at.kind() == plan::Kind::signal && wait.event() == at.subject();
        open &= !asks || wait.lag() != 0;
      }
    }
    if (open) return false;
  }
  return true;
}

bool Harmless(const plan::Plan& plan, uint32_t graph, uint32_t wait) {
  return plan::Prove(*Without(plan, graph, wait)).proved() ||
         SaidBySubmission(plan, graph, wait) || SaidByCompletion(plan, graph, wait);
}

}  // namespace

TEST_CASE("what is whole gives the same under every seed") {
  for (const Scenario& scenario : Scenarios()) {
    INFO(scenario.name);
    REQUIRE(plan::Prove(*scenario.plan).proved());
    const std::string expected = Outcome(*scenario.plan, true);
    for (bool proved : {true, false}) {
      CAPTURE(proved);
      REQUIRE(!Noticed([&] { return Outcome(*scenario.plan, proved) == expected; }, kWhole));
    }
  }
}

TEST_CASE("a wait that a plan lacks is noticed") {
  uint32_t harmless = 0, noticed = 0;
  for (const Scenario& scenario : Scenarios()) {
    const std::string expected = Outcome(*scenario.plan, true);
    for (uint32_t g = 0; g < scenario.plan->graphs.size(); ++g) {
      for (uint32_t w = 0; w < scenario.plan->graphs[g]->waits.size(); ++w) {
        if (Harmless(*scenario.plan, g, w)) {
          ++harmless;
          continue;
        }
        const auto mutant = Without(*scenario.plan, g, w);
        INFO(scenario.name << ": wait " << w << " of graph " << g << ", "
                           << scenario.plan->graphs[g]->waits[w].lag() << " rounds back");
        INFO(plan::Prove(*mutant).message);
        CHECK(Noticed([&] { return Outcome(*mutant, false) == expected; }));
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
    const std::string expected = Outcome(*scenario.plan, true);
    // All lanes on queues: what the reduction keeps is the same under every even seed.
    const auto notices = [&](engine::Omitted what) {
      for (uint64_t seed = 2; seed <= 2 * kSeeds; seed += 2) {
        const bool same = Same(seed, [&] {
          engine::omitted = what;
          return Outcome(*scenario.plan, true) == expected;
        });
        if (!same) return true;
      }
      return false;
    };
    INFO(scenario.name);
    CHECK(notices({Omission::kCompletion}));
    for (uint32_t g = 0; g < scenario.plan->graphs.size(); ++g) {
      for (uint32_t kept = 0;; ++kept) {
        engine::omitted = {Omission::kKeptWait, kept, g};
        DeferAllEngines(2);
        Outcome(*scenario.plan, true);  // says which wait it is
        const uint32_t wait = std::exchange(engine::omitted, {}).wait;
        if (wait == ~0u) break;
        if (Harmless(*scenario.plan, g, wait)) {
          ++harmless;
          continue;
        }
        INFO("kept wait " << kept << ", wait " << wait << " of graph " << g);
        CHECK(notices({Omission::kKeptWait, kept, g}));
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
    const std::string expected = Outcome(*scenario.plan, true);
    // One worker and all lanes on queues: the queues of its work queue are the lanes.
    for (uint32_t lane = 0; lane < scenario.plan->lanes.size(); ++lane) {
      if (OverWithOthers(*scenario.plan, lane)) {
        ++implied;
        continue;
      }
      bool found = false;
      for (uint64_t seed = 2; seed <= 10 * kSeeds && !found; seed += 2) {
        found = !Same(seed, [&] {
          engine::omitted = {Omission::kOneQueue, lane};
          return Outcome(*scenario.plan, true, 1) == expected;
        });
      }
      INFO("lane " << lane);
      CHECK(found);
      ++noticed;
    }
  }
  WARN(noticed << " completions of queues are noticed; " << implied << " are implied");
  CHECK(noticed > 5);
}

TEST_CASE("an error that is not heard is noticed") {
  const Scenario scenario = Failing();
  const std::string expected = Outcome(*scenario.plan, true);
  REQUIRE(expected.find("eleven is not allowed") != std::string::npos);
  CHECK(Noticed([&] {
    engine::omitted = {Omission::kReports};
    return Outcome(*scenario.plan, true) == expected;
  }));
}

}  // namespace cgraph::testing

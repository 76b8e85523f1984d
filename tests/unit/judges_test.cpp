// The prover and the interpreter on the same small plans: both must say what docs/plan.md says.
// Each kind stands for a plan about which one of them was once wrong, found among random mutants.
#include <catch2/catch.hpp>

#include "runtime/plan/prove.h"
#include "tests/interpreter/interpreter.h"
#include "tests/support/plans/plan_builder.h"

namespace cgraph::plan::testing {
namespace {

using interpreter::Outcome;

Refusal Proved(const Plan& plan) {
  const Verdict verdict = Prove(plan);
  UNSCOPED_INFO(RefusalName(verdict.refusal) << " " << verdict.message);
  return verdict.refusal;
}

Outcome Seen(const Plan& plan, uint32_t graph = 0) {
  const interpreter::Finding finding =
      interpreter::Interpreter(plan, graph, 9, 1).Search(4, nullptr);
  UNSCOPED_INFO(interpreter::OutcomeName(finding.outcome) << " " << finding.text);
  return finding.outcome;
}

// One lane of a device, and values in the same bytes of it.
struct OneLane {
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::cpu, 0);
  const uint32_t lane = plan.Lane(device, LaneKind::compute);
  const uint32_t make = plan.Kernel("iota"), use = plan.Kernel("sum");
  GraphBuilder& g = plan.Graph("main");

  uint32_t Result() { return g.Value("r", device, DType::f32, {}); }
};

TEST_CASE("an empty tensor touches nothing, also inside another one") {
  OneLane of;
  GraphBuilder& g = of.g;
  const uint32_t whole = g.ValueAt("whole", of.device, 0, DType::f32, {32});
  const uint32_t empty = g.ValueAt("empty", of.device, 64, DType::f32, {0, 4});
  const uint32_t other = of.plan.Lane(of.device, LaneKind::copy);
  g.Call(of.lane, of.make, {}, {whole});
  g.Call(of.lane, of.make, {}, {empty});
  g.Call(of.lane, of.use, {empty}, {whole});  // no operand of its own in another's bytes
  SECTION("in one lane") {}
  SECTION("at any time") {
    g.Call(other, of.make, {}, {g.ValueAt("late", of.device, 32, DType::f32, {4, 0})});
  }
  const auto plan = of.plan.Build();
  CHECK(Proved(*plan) == Refusal::kNone);
  CHECK(Seen(*plan) == Outcome::kOk);
}

TEST_CASE("rule 11: a write of some extents begins a lifetime if reads end at the same extents") {
  // A buffer has one value, then one of n rows; in between somebody else has the bytes.
  enum class Then { kNobodyReads, kSameExtents, kOtherExtents, kOldReadAfter };
  const auto build = [](Then then) {
    OneLane of;
    GraphBuilder& g = of.g;
    const uint32_t n = g.Symbol("n", 8), m = g.Symbol("m", 8);
    const uint32_t extents[] = {g.Extent(n, of.device), g.Extent(m, of.device)};
    const uint32_t old = g.ValueAt("old", of.device, 256, DType::f32, {8});
    const uint32_t other = g.ValueAt("other", of.device, 256, DType::f32, {4});
    const uint32_t rows = g.View(old, 0, DType::f32, {DimSpec(8, n)});
    const uint32_t others = g.View(old, 0, DType::f32, {DimSpec(8, m)});
    g.Call(of.lane, of.make, {}, {extents[0], extents[1]});
    g.Call(of.lane, of.make, {}, {old});
    g.Call(of.lane, of.use, {old}, {of.Result()});
    g.Call(of.lane, of.make, {}, {other});
    g.Call(of.lane, of.use, {other}, {of.Result()});
    g.Call(of.lane, of.make, {}, {rows});
    if (then == Then::kSameExtents) g.Call(of.lane, of.use, {rows}, {of.Result()});
    if (then == Then::kOtherExtents) g.Call(of.lane, of.use, {others}, {of.Result()});
    if (then == Then::kOldReadAfter) g.Call(of.lane, of.use, {old}, {of.Result()});
    return of.plan.Build();
  };
  for (Then then : {Then::kNobodyReads, Then::kSameExtents}) {
    const auto plan = build(then);
    CHECK(Proved(*plan) == Refusal::kNone);
    CHECK(Seen(*plan) == Outcome::kOk);
  }
  CHECK(Proved(*build(Then::kOtherExtents)) == Refusal::kRace);
  CHECK(Proved(*build(Then::kOldReadAfter)) == Refusal::kRace);
}

TEST_CASE("rule 10: two writes at one place in program order are told before what else is wrong") {
  OneLane of;
  GraphBuilder& g = of.plan.Start();
  const uint32_t v = g.Value("v", of.device, DType::f32, {4});
  const uint32_t r = g.Value("r", of.device, DType::f32, {});
  // In the lane the first of the two comes before what program order puts first.
  const auto early = g.Call(of.lane, of.make, {}, {v});
  g.Call(of.lane, of.make, {}, {v});
  g.Call(of.lane, of.use, {v}, {r});
  const auto late = g.Call(of.lane, of.make, {}, {v});
  g.At(early).mutate_written(g.At(late).written());
  const auto plan = of.plan.Build();
  CHECK(Proved(*plan) == Refusal::kShape);
  CHECK(Seen(*plan, kNone) == Outcome::kOk);
  // Nobody reads the late one: at a place of its own it may be anywhere.
  plan->start->instructions[g.Index(early)].mutate_written(g.At(late).written() + 1);
  CHECK(Proved(*plan) == Refusal::kNone);
  CHECK(Seen(*plan, kNone) == Outcome::kOk);
}

// Without inputs: one lane makes a value, another in the round after what is given of it, two
// rounds after something was given; the first lane stays at most two rounds ahead. `captured`: the
// second lane's work and some more of the first lane's are a segment, so that the first lane waits
// for what was given too: one round later than it would otherwise.
std::unique_ptr<Plan> LaterHalf(uint32_t inflight, bool captured) {
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::gpu, 0);
  const uint32_t first = plan.Lane(device, LaneKind::compute);
  const uint32_t second = plan.Lane(device, LaneKind::compute);
  const uint32_t gives = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
  GraphBuilder& g = plan.Graph("main", inflight).Copies(3);
  const uint32_t v = g.Value("v", device, DType::f32, {4});
  const uint32_t y = g.Output("y", DType::f32, {4});
  const uint32_t made = g.Event(), used = g.Event(), given = g.Event(), done = g.Event();
  const uint32_t segment = captured ? 1 : 0;
  g.Wait(first, used, 2);
  g.Call(first, plan.Kernel("iota"), {}, {v});
  g.Signal(first, made);
  g.Wait(second, given, 2);
  g.Wait(second, made, 1);
  g.Segment(segment);
  g.Call(second, plan.Kernel("relu"), {v}, {y});
  g.Lag(1).Segment(segment);
  g.Call(first, plan.Kernel("iota"), {}, {g.Value("w", device, DType::f32, {4})});
  g.Segment(segment);
  g.Signal(second, done);
  g.Signal(second, used);
  g.Wait(gives, done);
  g.Give(gives, y);
  g.Lag(1);
  g.Signal(gives, given);
  return plan.Build();
}

TEST_CASE("rule 12: where an execution begins is work that none of its own comes before") {
  // What lags does not begin it, though it may be the first of its round: so more are in flight
  // than the second half waits for.
  for (bool captured : {false, true}) {
    uint32_t most = 0;
    for (uint32_t inflight = 2; inflight <= 7; ++inflight) {
      const auto plan = LaterHalf(inflight, captured);
      INFO("inflight " << inflight << (captured ? ", captured" : ""));
      const Refusal refusal = Proved(*plan);
      CHECK((refusal == Refusal::kNone || refusal == Refusal::kInflight));
      CHECK((refusal == Refusal::kNone) == (Seen(*plan) == Outcome::kOk));
      if (refusal == Refusal::kNone) most = inflight;
    }
    CHECK(most == (captured ? 4 : 5));
  }
}

}  // namespace
}  // namespace cgraph::plan::testing

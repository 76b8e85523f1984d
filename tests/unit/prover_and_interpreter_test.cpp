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
  // The first of the two in the lane comes before the one that program order puts first.
  const auto early = g.Call(of.lane, of.make, {}, {v});
  g.Call(of.lane, of.make, {}, {v});
  g.Call(of.lane, of.use, {v}, {r});
  const auto late = g.Call(of.lane, of.make, {}, {v});
  g.At(early).mutate_program_order(g.At(late).program_order());
  const auto plan = of.plan.Build();
  CHECK(Proved(*plan) == Refusal::kShape);
  CHECK(Seen(*plan, kNone) == Outcome::kOk);
  // Nobody reads the late one: at a place of its own it may be anywhere.
  plan->start->instructions[g.Index(early)].mutate_program_order(g.At(late).program_order() + 1);
  CHECK(Proved(*plan) == Refusal::kNone);
  CHECK(Seen(*plan, kNone) == Outcome::kOk);
}

// A plan without inputs. One lane makes a value. In the round after, another makes the result of
// it, once the result of two rounds before was given out; the first lane stays at most two rounds
// ahead. `captured`: the second lane's work and some more of the first lane's are a capture, so
// that the first lane waits for that result too: one round later than it would otherwise.
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
  const uint32_t capture = captured ? 1 : 0;
  g.Wait(first, used, 2);
  g.Call(first, plan.Kernel("iota"), {}, {v});
  g.Signal(first, made);
  g.Wait(second, given, 2);
  g.Wait(second, made, 1);
  g.Capture(capture);
  g.Call(second, plan.Kernel("relu"), {v}, {y});
  g.Lag(1).Capture(capture);
  g.Call(first, plan.Kernel("iota"), {}, {g.Value("w", device, DType::f32, {4})});
  g.Capture(capture);
  g.Signal(second, done);
  g.Signal(second, used);
  g.Wait(gives, done);
  g.Give(gives, y);
  g.Lag(1);
  g.Signal(gives, given);
  return plan.Build();
}

TEST_CASE("rule 12: where an execution begins is work that none of its own comes before") {
  // Work with a lag does not begin an execution, though it may be the first of its round: so more
  // are in flight than the second half waits for.
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

// gpu[0] makes a number and rows of it, gpu[1] gets both.
enum class Number {
  kSent,          // the number goes ahead of the rows
  kSentTwice,     // once more, before the rows come
  kBack,          // to gpu[1] and back, before the rows are made
  kMadeTwice,     // gpu[1] makes its own
  kSpoilt,        // a kernel overwrites it before the rows are sent
  kSpoiltThere,   // on gpu[1], before they come
  kReusedAfter,   // a kernel overwrites it when the rows are gone
  kBroadcast,     // all have it from one collective
  kRootLeaves,    // the root of that has it where it made it
  kReduced,       // all have a sum of theirs
  kScattered,     // each has another part of theirs
  kConstant,      // both have the same constant
  kTwoConstants,  // or not
  kHalfSpoilt,    // half of its bytes are overwritten before the rows are sent
};
std::unique_ptr<Plan> NumberPlan(Number number) {
  PlanBuilder plan;
  uint32_t device[2], lane[2];
  for (uint32_t i = 0; i < 2; ++i) {
    device[i] = plan.Device(DeviceKind::gpu, i);
    lane[i] = plan.Lane(device[i], LaneKind::compute);
  }
  const uint32_t world = plan.Communicator({lane[0], lane[1]});
  const uint32_t count = plan.Kernel("count"), make = plan.Kernel("iota"), use = plan.Kernel("sum");
  GraphBuilder& g = plan.Graph("main");
  const uint32_t n = g.Symbol("n", 8);
  const uint32_t forth = g.Channel(lane[0], lane[1]), back = g.Channel(lane[1], lane[0]);
  const uint32_t own = g.Value("own", device[0], DType::i64, {2});
  const uint32_t first = g.View(own, 0, DType::i64, {});
  const uint32_t got[2] = {g.Value("got0", device[0], DType::i64, {}),
                           g.Value("got1", device[1], DType::i64, {})};
  const uint32_t rows[2] = {g.Value("rows0", device[0], DType::f32, {{8, n}}),
                            g.Value("rows1", device[1], DType::f32, {{8, n}})};
  const bool elsewhere = number == Number::kBack || number == Number::kBroadcast ||
                         number == Number::kReduced || number == Number::kScattered;
  const auto constant = [&](uint32_t i, uint8_t number) {
    return g.Constant("three", device[i], DType::i64, {}, {number, 0, 0, 0, 0, 0, 0, 0});
  };
  const bool constants = number == Number::kConstant || number == Number::kTwoConstants;
  g.Extent(n, device[0], constants ? constant(0, 3) : elsewhere ? got[0] : first);
  g.Extent(n, device[1], constants ? constant(1, number == Number::kConstant ? 3 : 4) : got[1]);

  g.Call(lane[0], count, {}, {own});
  if (number == Number::kBroadcast || number == Number::kRootLeaves) {
    const uint32_t broadcast = g.Collective("broadcast", world);
    const bool leaves = number == Number::kRootLeaves;
    g.Part(lane[0], broadcast, {first}, leaves ? std::vector<uint32_t>() : std::vector{got[0]});
    g.Part(lane[1], broadcast, {}, {got[1]});
  } else if (number == Number::kReduced || number == Number::kScattered) {
    const bool scatters = number == Number::kScattered;
    const uint32_t made = scatters ? g.Collective("all_to_all", world)
                                   : g.Collective("all_reduce", world, "sum");
    const uint32_t other = g.Value("other", device[1], DType::i64, {2});
    const uint32_t result[2] = {g.Value("result0", device[0], DType::i64, {2}),
                                g.Value("result1", device[1], DType::i64, {2})};
    g.Call(lane[1], count, {}, {other});
    g.Part(lane[0], made, {own}, {result[0]});
    g.Part(lane[1], made, {other}, {result[1]});
    for (uint32_t i = 0; i < 2; ++i) {
      g.Copy(lane[i], g.View(result[i], 8, DType::i64, {}), got[i]);
    }
  } else if (number == Number::kMadeTwice) {
    g.Call(lane[1], count, {}, {got[1]});
  } else {
    g.Transfer(forth, first, got[1]);
  }
  if (number == Number::kBack) g.Transfer(back, got[1], got[0]);
  g.Call(lane[0], make, {}, {rows[0]});
  if (number == Number::kSentTwice) g.Transfer(forth, first, got[1]);
  if (number == Number::kSpoilt) g.Call(lane[0], make, {}, {first});
  if (number == Number::kSpoiltThere) g.Call(lane[1], make, {}, {got[1]});
  if (number == Number::kHalfSpoilt) {
    g.Call(lane[0], make, {}, {g.View(own, 4, DType::f32, {2})});
  }
  g.Transfer(forth, rows[0], rows[1]);
  g.Call(lane[1], use, {rows[1]}, {g.Value("r", device[1], DType::f32, {})});
  if (number == Number::kReusedAfter) {
    g.Call(lane[0], make, {}, {first});
    g.Call(lane[1], make, {}, {got[1]});
  }
  return plan.Build();
}

TEST_CASE("rule 15: all who read a symbol's extent find the number that one instruction made") {
  for (Number number :
       {Number::kSent, Number::kSentTwice, Number::kBack, Number::kReusedAfter, Number::kBroadcast,
        Number::kRootLeaves, Number::kReduced, Number::kConstant}) {
    INFO("case " << static_cast<int>(number));
    const auto plan = NumberPlan(number);
    CHECK(Proved(*plan) == Refusal::kNone);
    CHECK(Seen(*plan) == Outcome::kOk);
  }
  for (Number number : {Number::kMadeTwice, Number::kSpoilt, Number::kSpoiltThere,
                        Number::kScattered, Number::kTwoConstants, Number::kHalfSpoilt}) {
    INFO("case " << static_cast<int>(number));
    const auto plan = NumberPlan(number);
    CHECK(Proved(*plan) == Refusal::kExtent);
    CHECK(Seen(*plan) == Outcome::kWrong);
  }
  CHECK(Prove(*NumberPlan(Number::kSpoilt)).message ==
        "graph `main`, rule 15: the extent `n` is two numbers in one execution\n"
        "  gpu[0] compute: call iota, which finds in `%view#1` what gpu[0] compute: call count has "
        "made\n"
        "  gpu[0] compute: send `rows0` to gpu[1], which finds in `%view#1` what gpu[0] compute: "
        "call iota has made");
}

}  // namespace
}  // namespace cgraph::plan::testing

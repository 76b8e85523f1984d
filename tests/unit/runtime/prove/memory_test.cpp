// Rules 10 and 11: the order of accesses to memory. Plans that are accepted, and the smallest
// changes that must be refused.
#include "tests/support/plans/proved.h"

namespace cgraph::plan::testing {
namespace {

TEST_CASE("rule 10: a slot is written before it is read, and read before it is written again") {
  REQUIRE_PROVED(*SlotReuse({}).plan.Build());
  REQUIRE_REFUSED(*SlotReuse({.wait_back = false}).plan.Build(), kRace);

  SlotReuse bad({.wait_forward = false});
  const auto plan = bad.plan.Build();
  const Verdict verdict = Prove(*plan);
  INFO(Explain(verdict));
  REQUIRE(verdict.refusal == Refusal::kRace);
  REQUIRE(verdict.steps.size() == 2);
  CHECK(verdict.message ==
        "graph `main`, rule 10: nothing orders two accesses of one slot buffer on cpu[0]\n"
        "  cpu[0] compute: call iota, which writes `%v#0`\n"
        "  cpu[0] copy: call sum, which reads `%v#0`");
}

TEST_CASE("rule 10 with lags 0 to 2 and copies 1 to 3") {
  int proved = 0, refused = 0;
  for (uint16_t copies = 1; copies <= 3; ++copies) {
    for (uint16_t lag = 0; lag <= 2; ++lag) {
      for (int back = 0; back <= 4; ++back) {
        if (lag == 0 && back == 0) continue;  // a wait in a circle
        const auto plan = SlotReuse({.copies = copies, .lag = lag, .back = back}).plan.Build();
        const Verdict verdict = Prove(*plan);
        INFO("copies " << copies << " lag " << lag << " back " << back << "\n" << verdict.message);
        // Used `lag` rounds after it was made, and made again `copies` rounds after.
        const bool safe = back + lag <= copies;
        CHECK(verdict.refusal == (safe ? Refusal::kNone : Refusal::kRace));
        ++(safe ? proved : refused);
      }
    }
  }
  CHECK(proved >= 10);
  CHECK(refused >= 10);
}

// Two values in the same bytes, one after the other: by default in one lane.
struct Reuse {
  PlanBuilder plan;
  explicit Reuse(bool other_lane, bool there, int back, uint16_t copies = 1, uint16_t lag = 0) {
    const uint32_t device = plan.Device(DeviceKind::cpu, 0);
    const uint32_t first = plan.Lane(device, LaneKind::compute);
    const uint32_t second = other_lane ? plan.Lane(device, LaneKind::copy) : first;
    GraphBuilder& g = plan.Graph("main", 4).Copies(copies);
    const uint32_t a = g.ValueAt("a", device, 0, DType::f32, {8});
    const uint32_t b = g.ValueAt("b", device, 16, DType::f32, {8});
    const uint32_t make = plan.Kernel("iota"), use = plan.Kernel("sum");
    const uint32_t over = g.Event();
    if (back >= 0) g.Wait(first, over, static_cast<uint16_t>(back));
    g.Call(first, make, {}, {a});
    g.Call(first, use, {a}, {g.Value("ra", device, DType::f32, {})});
    if (there) g.Sync(first, second);
    g.Call(second, make, {}, {b});
    g.Lag(lag);
    g.Call(second, use, {b}, {g.Value("rb", device, DType::f32, {})});
    g.Lag(lag);
    g.Signal(second, over);
  }
};

// A plan that makes and uses a value in each round. Another value in the same buffer, which program
// order puts first, is made in the round after, when nobody needs the bytes any more. `used`: or
// somebody does.
std::unique_ptr<Plan> LatePlan(bool used, bool in_time) {
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::cpu, 0);
  const uint32_t lane = plan.Lane(device, LaneKind::compute);
  GraphBuilder& g = plan.Graph("main", 2).Copies(2);
  const uint32_t v = g.Value("v", device, DType::f32, {4});
  const uint32_t r = g.Value("r", device, DType::f32, {});
  const uint32_t make = plan.Kernel("iota"), use = plan.Kernel("sum");
  g.Call(lane, make, {}, {v});
  g.Lag(in_time ? 0 : 1);
  if (used) {
    g.Call(lane, use, {v}, {r});
  }
  g.Call(lane, make, {}, {v});
  g.Call(lane, use, {v}, {r});
  return plan.Build();
}

TEST_CASE("rule 10: what nobody reads may be written late, but not between a write and its reads") {
  REQUIRE_PROVED(*LatePlan(false, true));
  REQUIRE_PROVED(*LatePlan(false, false));
  REQUIRE_PROVED(*LatePlan(true, true));
  REQUIRE_REFUSED(*LatePlan(true, false), kRace);
}

TEST_CASE("rule 11: memory is reused when its first user is through") {
  REQUIRE_PROVED(*Reuse(false, false, 1).plan.Build());
  REQUIRE_PROVED(*Reuse(true, true, 1).plan.Build());
  REQUIRE_PROVED(*Reuse(true, true, 2, 2).plan.Build());
  REQUIRE_PROVED(*Reuse(true, true, 1, 2).plan.Build());
  REQUIRE_REFUSED(*Reuse(true, true, -1).plan.Build(), kRace);
  REQUIRE_REFUSED(*Reuse(true, true, 2).plan.Build(), kRace);
  REQUIRE_REFUSED(*Reuse(true, true, 3, 2).plan.Build(), kRace);
  const auto plan = Reuse(true, false, 1).plan.Build();
  const Verdict verdict = Prove(*plan);
  INFO(Explain(verdict));
  REQUIRE(verdict.refusal == Refusal::kRace);
  CHECK(verdict.message ==
        "graph `main`, rule 11: two buffers share memory on cpu[0], and nothing keeps them apart\n"
        "  cpu[0] compute: call sum, which reads `%a#0` at 0+0\n"
        "  cpu[0] copy: call iota, which writes `%b#1` at 16+0");
}

TEST_CASE("rule 11: told is the pair that nothing orders in time, not one that a lane orders") {
  // b after a is kept; that a comes two rounds after b, and not in the next one, is not.
  const auto plan = Reuse(true, true, 2).plan.Build();
  CHECK(Prove(*plan).message ==
        "graph `main`, rule 11: two buffers share memory on cpu[0], and nothing keeps them apart\n"
        "  cpu[0] copy: call sum, which reads `%b#1` at 16+0\n"
        "  cpu[0] compute: call iota, which writes `%a#0` at 0+0 for the next execution");
}

TEST_CASE("rule 11 with a k other than 0: the second user lags") {
  // Round r: a of execution r, then b of execution r - lag, in the same copy or another.
  for (uint16_t lag = 0; lag <= 3; ++lag) {
    REQUIRE_PROVED(*Reuse(true, true, 1, 1, lag).plan.Build());
    REQUIRE_PROVED(*Reuse(false, false, 1, 2, lag).plan.Build());
  }
}

TEST_CASE("rule 11: between a write's reads and the next write others may have the bytes") {
  // Two buffers of 8 numbers in the same bytes, on one lane; `early`: the second is made before the
  // first one's value is used.
  const auto in_turn = [](bool early, bool half) {
    PlanBuilder plan;
    const uint32_t device = plan.Device(DeviceKind::cpu, 0);
    const uint32_t lane = plan.Lane(device, LaneKind::compute);
    GraphBuilder& g = plan.Graph("main");
    const uint32_t a = g.ValueAt("a", device, 0, DType::f32, {8});
    const uint32_t b = g.ValueAt("b", device, 0, DType::f32, {8});
    const uint32_t low = half ? g.View(a, 0, DType::f32, {4}) : a;
    const uint32_t high = half ? g.View(b, 16, DType::f32, {4}) : b;
    const uint32_t r = g.Value("r", device, DType::f32, {});
    const uint32_t make = plan.Kernel("iota"), use = plan.Kernel("sum");
    for (int turn = 0; turn < 2; ++turn) {
      g.Call(lane, make, {}, {low});
      if (!early) g.Call(lane, use, {low}, {r});
      g.Call(lane, make, {}, {high});
      if (early) g.Call(lane, use, {low}, {r});
      g.Call(lane, use, {high}, {r});
    }
    return plan.Build();
  };
  REQUIRE_PROVED(*in_turn(false, false));
  REQUIRE_REFUSED(*in_turn(true, false), kRace);
  REQUIRE_PROVED(*in_turn(true, true));  // bytes that nobody shares
}

TEST_CASE("rule 11 finds a k that the order of a round does not suggest") {
  // The second lane's own first access stands early in the certificate, its last late: what a
  // sweep by position takes for a neighbour is none.
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::cpu, 0);
  const uint32_t lane = plan.Lane(device, LaneKind::compute);
  GraphBuilder& g = plan.Graph("main", 3).Copies(1);
  const uint32_t a = g.ValueAt("a", device, 0, DType::f32, {8});
  const uint32_t b = g.ValueAt("b", device, 0, DType::f32, {8});
  const uint32_t make = plan.Kernel("iota"), use = plan.Kernel("sum");
  // Each round uses a of the execution before, makes and uses b, makes a.
  g.Call(lane, make, {}, {b});
  g.Call(lane, use, {b}, {g.Value("rb", device, DType::f32, {})});
  g.Call(lane, make, {}, {a});
  const auto use_a = g.Call(lane, use, {a}, {g.Value("ra", device, DType::f32, {})});
  g.Lag(1);
  auto built = plan.Build();
  Graph& graph = *built->graphs[0];
  auto at = [&](uint32_t i) -> Instruction& { return graph.instructions[i]; };
  // Rotate: the lane starts with the use that lags.
  const Instruction last = at(g.Index(use_a));
  for (uint32_t i = 3; i > 0; --i) at(i) = at(i - 1);
  at(0) = last;
  for (uint32_t i = 0; i < 4; ++i) at(i).mutate_certificate_position(i);
  REQUIRE_PROVED(*built);
  // The bytes of a are overwritten when b comes between the making and the use of a.
  std::swap(at(1), at(3));
  std::swap(at(2), at(3));
  for (uint32_t i = 0; i < 4; ++i) at(i).mutate_certificate_position(i);
  REQUIRE_REFUSED(*built, kRace);
}

TEST_CASE("many buffers in the same bytes, in turn") {
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::cpu, 0);
  const uint32_t lanes[2] = {plan.Lane(device, LaneKind::compute),
                             plan.Lane(device, LaneKind::copy)};
  GraphBuilder& g = plan.Graph("main", 2).Copies(1);
  const uint32_t make = plan.Kernel("iota");
  const uint32_t over = g.Event();
  g.Wait(lanes[0], over, 1);
  constexpr uint32_t kCount = 40;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t lane = lanes[i % 2];
    g.Call(lane, make, {}, {g.ValueAt("v", device, (i % 5) * 16, DType::f32, {32})});
    if (i + 1 < kCount) g.Sync(lane, lanes[(i + 1) % 2]);
  }
  g.Signal(lanes[1], over);
  auto built = plan.Build();
  REQUIRE_PROVED(*built);
  for (Instruction& i : built->graphs[0]->instructions) {
    if (i.kind() == Kind::wait && i.first() == kCount / 2)
      built->graphs[0]->waits[i.first()].mutate_lag(1);
  }
  REQUIRE_REFUSED(*built, kRace);
}

// State that two calls of an execution touch: in one lane, or in two with or without waits.
struct StateUse {
  PlanBuilder plan;
  StateUse(bool other_lane, bool there, bool back) {
    const uint32_t device = plan.Device(DeviceKind::cpu, 0);
    const uint32_t first = plan.Lane(device, LaneKind::compute);
    const uint32_t second = other_lane ? plan.Lane(device, LaneKind::copy) : first;
    const uint32_t actor = plan.Actor("counter", device, {{"i", 1}});
    GraphBuilder& g = plan.Graph("main", 2);
    const uint32_t i = g.State(actor, 0);
    const uint32_t over = g.Event();
    if (back) g.Wait(first, over, 1);
    g.Call(first, plan.Kernel("read"), {i}, {g.Value("r", device, DType::f32, {})});
    if (there) g.Sync(first, second);
    g.Call(second, plan.Kernel("inc", {.inplace = {Inplace(0, 0)}}), {i}, {i});
    g.Signal(second, over);
  }
};

TEST_CASE("rule 10 for state: in order within an execution and from one to the next") {
  REQUIRE_PROVED(*StateUse(false, false, false).plan.Build());
  REQUIRE_PROVED(*StateUse(true, true, true).plan.Build());
  REQUIRE_REFUSED(*StateUse(true, true, false).plan.Build(), kRace);
  REQUIRE_REFUSED(*StateUse(true, false, true).plan.Build(), kRace);
}

}  // namespace
}  // namespace cgraph::plan::testing

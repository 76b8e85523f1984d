// Rules 12 to 14 and the start graph: rules about whole graphs, and about several.
#include "tests/support/plans/proved.h"

namespace cgraph::plan::testing {
namespace {

TEST_CASE("rule 13 with captures: what waits for a part waits for the whole") {
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::gpu, 0);
  const uint32_t lane = plan.Lane(device, LaneKind::compute);
  const uint32_t other = plan.Lane(device, LaneKind::copy);
  GraphBuilder& g = plan.Graph("main");
  const uint32_t event = g.Event(), over = g.Event();
  const uint32_t a = g.Value("a", device, DType::f32, {4});
  const uint32_t b = g.Value("b", device, DType::f32, {4});
  g.Wait(lane, over, 1);
  g.Call(lane, plan.Kernel("iota"), {}, {a});
  g.Capture(1);
  g.Signal(lane, event);
  g.Capture(1);
  const auto last = g.Call(lane, plan.Kernel("iota"), {}, {b});
  g.Capture(1);
  const auto wait = g.Wait(other, event);
  g.Call(other, plan.Kernel("sum"), {a}, {g.Value("r", device, DType::f32, {})});
  g.Signal(other, over);
  const auto built = plan.Build();
  REQUIRE_PROVED(*built);
  auto& instructions = built->graphs[0]->instructions;
  const uint32_t order = instructions[g.Index(last)].certificate_position();
  instructions[g.Index(last)].mutate_certificate_position(
      instructions[g.Index(wait)].certificate_position());
  instructions[g.Index(wait)].mutate_certificate_position(order);
  REQUIRE_REFUSED(*built, kCertificate);
}

// Ends: inputs and outputs, on one lane or on two, of a call on a compute lane.
struct Ends {
  PlanBuilder plan;
  GraphBuilder::Handle give;
  Ends(uint32_t inflight, bool own_lane, bool with_input = true) {
    const uint32_t takes = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    const uint32_t gives = own_lane ? plan.Lane(PlanBuilder::kCaller, LaneKind::host) : takes;
    const uint32_t compute = plan.Lane(plan.Device(DeviceKind::cpu, 0), LaneKind::compute);
    GraphBuilder& g = plan.Graph("main", inflight);
    const uint32_t y = g.Output("y", DType::f32, {4});
    if (with_input) {
      const uint32_t x = g.Input("x", DType::f32, {4});
      g.Take(takes, x);
      g.Sync(takes, compute);
      g.Call(compute, plan.Kernel("relu"), {x}, {y});
    } else {
      g.Call(compute, plan.Kernel("iota"), {}, {y});
    }
    g.Sync(compute, gives);
    give = g.Give(gives, y);
  }
};

TEST_CASE("rule 12: inflight is kept") {
  REQUIRE_PROVED(*Ends(1, false).plan.Build());
  REQUIRE_PROVED(*Ends(7, true).plan.Build());
  REQUIRE_PROVED(*Ends(7, true, false).plan.Build());
  REQUIRE_PROVED(*Ends(7, false, false).plan.Build());
  REQUIRE_REFUSED(*Ends(2, false).plan.Build(), kInflight);
  REQUIRE_REFUSED(*SlotReuse({.copies = 3, .lag = 1, .inflight = 1}).plan.Build(), kInflight);
  REQUIRE_PROVED(*SlotReuse({.copies = 3, .lag = 1, .inflight = 2}).plan.Build());

  // An input that waits for the output of d rounds before allows d in flight.
  for (uint16_t rounds = 1; rounds <= 4; ++rounds) {
    PlanBuilder plan;
    const uint32_t takes = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    const uint32_t gives = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    const uint32_t compute = plan.Lane(plan.Device(DeviceKind::cpu, 0), LaneKind::compute);
    GraphBuilder& g = plan.Graph("main", 2);
    const uint32_t x = g.Input("x", DType::f32, {4}), y = g.Output("y", DType::f32, {4});
    const uint32_t given = g.Event();
    g.Wait(takes, given, rounds);
    g.Take(takes, x);
    g.Sync(takes, compute);
    g.Call(compute, plan.Kernel("relu"), {x}, {y});
    g.Sync(compute, gives);
    g.Give(gives, y);
    g.Signal(gives, given);
    CHECK(Prove(*plan.Build()).refusal == (rounds >= 2 ? Refusal::kNone : Refusal::kInflight));
  }
}

TEST_CASE("rule 12 counts what a channel without room makes wait") {
  // The input of a round waits for the sender's round before, that for its receiver, and that for
  // the output of two rounds before.
  const auto chain = [](uint32_t inflight, uint32_t capacity) {
    PlanBuilder plan;
    const uint32_t take = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    const uint32_t give = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    const uint32_t devices[2] = {plan.Device(DeviceKind::gpu, 0), plan.Device(DeviceKind::gpu, 1)};
    const uint32_t from = plan.Lane(devices[0], LaneKind::compute);
    const uint32_t to = plan.Lane(devices[1], LaneKind::compute);
    GraphBuilder& g = plan.Graph("main", inflight).Copies(1);
    const uint32_t x = g.Input("x", DType::f32, {4});
    const uint32_t y = g.Output("y", DType::f32, {4});
    const uint32_t v = g.Value("v", devices[0], DType::f32, {4});
    const uint32_t w = g.Value("w", devices[1], DType::f32, {4});
    const uint32_t channel = g.Channel(from, to, capacity);
    const uint32_t sent = g.Event(), given = g.Event(), taken = g.Event(), made = g.Event();
    const uint32_t kernel = plan.Kernel("scale");
    g.Wait(take, sent, 1);
    g.Take(take, x);
    g.Signal(take, taken);
    g.Wait(from, taken);
    g.Call(from, kernel, {x}, {y});
    g.Signal(from, made);
    g.Call(from, kernel, {x}, {v});
    g.Wait(to, given, 1);
    g.Transfer(channel, v, w);
    g.Signal(from, sent);
    g.Wait(give, made);
    g.Give(give, y);
    g.Signal(give, given);
    return plan.Build();
  };
  for (uint32_t capacity : {0, 1, 2}) {
    REQUIRE_PROVED(*chain(2 + capacity, capacity));
    REQUIRE_REFUSED(*chain(3 + capacity, capacity), kInflight);
  }
}

TEST_CASE("rule 12 without inputs: the work that comes first counts") {
  PlanBuilder plan;
  const uint32_t gives = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
  const uint32_t compute = plan.Lane(plan.Device(DeviceKind::cpu, 0), LaneKind::compute);
  GraphBuilder& g = plan.Graph("main", 2);
  const uint32_t y = g.Output("y", DType::f32, {4});
  const uint32_t given = g.Event();
  g.Wait(compute, given, 1);
  g.Call(compute, plan.Kernel("iota"), {}, {y});
  g.Sync(compute, gives);
  g.Give(gives, y);
  g.Signal(gives, given);
  REQUIRE_REFUSED(*plan.Build(), kInflight);
}

TEST_CASE("rule 13: the certificate increases along waits and is equal where ends are joined") {
  TwoWay two(false);
  const auto plan = two.plan.Build();
  auto& instructions = plan->graphs[0]->instructions;
  const uint32_t half = plan->graphs[0]->programs[two.lane[0]].count();
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const uint32_t order = instructions[i].certificate_position();
    const bool first = i == 0 || i == half;
    const bool last = i + 1 == instructions.size() || i + 1 == half;
    INFO("instruction " << i << " at position " << order);
    if (!last) {
      instructions[i].mutate_certificate_position(order + 100);
      REQUIRE_REFUSED(*plan, kCertificate);
    }
    if (!first) {
      instructions[i].mutate_certificate_position(instructions[i - 1].certificate_position());
      REQUIRE_REFUSED(*plan, kCertificate);
    }
    instructions[i].mutate_certificate_position(order);
  }
  REQUIRE_PROVED(*plan);
}

// Two graphs over one actor: they touch its state on one lane, or on two.
struct TwoGraphs {
  PlanBuilder plan;
  TwoGraphs(bool same_lane, bool second_writes, bool same_state) {
    const uint32_t device = plan.Device(DeviceKind::cpu, 0);
    const uint32_t lanes[2] = {plan.Lane(device, LaneKind::compute),
                               plan.Lane(device, LaneKind::copy)};
    const uint32_t actor = plan.Actor("counter", device, {{"i", 4}, {"j", 4}});
    const uint32_t inc = plan.Kernel("inc", {.inplace = {Inplace(0, 0)}});
    const uint32_t read = plan.Kernel("read");
    GraphBuilder& start = plan.Start();
    start.Load(lanes[1], plan.Weight("w.safetensors", "i"), start.State(actor, 0));
    GraphBuilder& first = plan.Graph("first");
    GraphBuilder& second = plan.Graph("second");
    const uint32_t i = second.State(actor, same_state ? 0 : 1);
    const uint32_t mine = first.State(actor, 0);
    if (second_writes) {
      first.Call(lanes[0], read, {mine}, {first.Value("r", device, DType::f32, {})});
      second.Call(lanes[same_lane ? 0 : 1], inc, {i}, {i});
    } else {
      first.Call(lanes[0], read, {mine}, {first.Value("r", device, DType::f32, {})});
      second.Call(lanes[same_lane ? 0 : 1], read, {i}, {second.Value("r", device, DType::f32, {})});
    }
  }
};

TEST_CASE("rule 14: graphs compose over state that is touched on one lane") {
  REQUIRE_PROVED(*TwoGraphs(true, true, true).plan.Build());
  REQUIRE_PROVED(*TwoGraphs(false, true, false).plan.Build());
  REQUIRE_PROVED(*TwoGraphs(false, false, true).plan.Build());
  const auto plan = TwoGraphs(false, true, true).plan.Build();
  const Verdict verdict = Prove(*plan);
  INFO(Explain(verdict));
  REQUIRE(verdict.refusal == Refusal::kGraphs);
  REQUIRE(verdict.steps.size() == 2);
  CHECK(verdict.steps[1].graph == "second");
}

// OneRound: values made on one lane, used on the other, then other values in the same bytes.
// Nothing waits for the next round: in the start graph there is none.
struct OneRound {
  PlanBuilder plan;
  explicit OneRound(bool start, bool waits = true, uint16_t lag = 0, bool again = true) {
    const uint32_t device = plan.Device(DeviceKind::cpu, 0);
    const uint32_t lanes[2] = {plan.Lane(device, LaneKind::compute),
                               plan.Lane(device, LaneKind::copy)};
    GraphBuilder& g = start ? plan.Start() : plan.Graph("main");
    const uint32_t v = g.Value("v", device, DType::f32, {4});
    const uint32_t make = plan.Kernel("iota"), use = plan.Kernel("sum");
    g.Call(lanes[0], make, {}, {v});
    if (waits) g.Sync(lanes[0], lanes[1], lag);
    g.Call(lanes[1], use, {v}, {g.Value("r", device, DType::f32, {})});
    if (!again) return;
    const uint32_t w = g.ValueAt("w", device, 0, DType::f32, {4});
    g.Call(lanes[1], make, {}, {w});
    g.Call(lanes[1], use, {w}, {g.Value("s", device, DType::f32, {})});
  }
};

TEST_CASE("the start graph is proved for the one round that it runs") {
  REQUIRE_PROVED(*OneRound(true).plan.Build());
  REQUIRE_REFUSED(*OneRound(false).plan.Build(), kRace);
  REQUIRE_PROVED(*OneRound(true, true, 0, false).plan.Build());
  REQUIRE_REFUSED(*OneRound(false, true, 0, false).plan.Build(), kRace);
  REQUIRE_REFUSED(*OneRound(true, true, 1).plan.Build(), kRace);  // for a round that never was
  REQUIRE_REFUSED(*OneRound(true, false).plan.Build(), kRace);
  const auto built = OneRound(true, false, 0, false).plan.Build();
  const Verdict verdict = Prove(*built);
  REQUIRE(verdict.refusal == Refusal::kRace);
  CHECK(verdict.steps[0].graph == "start");
}

}  // namespace
}  // namespace cgraph::plan::testing

// Rule 8: plans that wait in a circle are refused with the steps of the circle, and no others.
#include "tests/support/plans/proved.h"

namespace cgraph::plan::testing {
namespace {

TEST_CASE("two_way in both orders") {
  TwoWay good(false);
  const auto plan = good.plan.Build();
  REQUIRE_PROVED(*plan);
  REQUIRE(CertificateText(*plan).find("send `from_a` of a.make to gpu[1] (test.cgraph:12:1)") !=
          std::string::npos);

  const auto bad = TwoWay(true).plan.Build();
  const Verdict verdict = Prove(*bad);
  INFO(Explain(verdict));
  REQUIRE(verdict.refusal == Refusal::kDeadlock);
  REQUIRE(verdict.steps.size() == 4);
  CHECK(verdict.message ==
        "graph `main`, rule 8: it would deadlock, 4 instructions wait for one another\n"
        "  gpu[0] compute: send `from_a` of a.make to gpu[1] (test.cgraph:12:1)\n"
        "  waits for gpu[1] compute: receive `from_a` of b.make from gpu[0] (test.cgraph:13:1), "
        "which must receive at the same time\n"
        "  waits for gpu[1] compute: send `from_b` of b.make to gpu[0] (test.cgraph:13:1), which "
        "stands before it in gpu[1] compute\n"
        "  waits for gpu[0] compute: receive `from_b` of b.make from gpu[1] (test.cgraph:13:1), "
        "which must receive at the same time\n"
        "  waits for the first, which stands before it in gpu[0] compute");
}

TEST_CASE("a buffered channel is safe at its capacity and not at 0") {
  const auto plan = TwoWay(true, 1).plan.Build();
  REQUIRE_PROVED(*plan);
  CHECK(Prove(*plan, {.capacity = 1}).proved());
  CHECK(Prove(*plan, {.capacity = 7}).proved());
  CHECK(Prove(*plan, {.capacity = 0}).refusal == Refusal::kDeadlock);
  CHECK(Prove(*TwoWay(true).plan.Build(), {.capacity = 1}).proved());
}

TEST_CASE("the smallest capacity that is safe") {
  CHECK(SmallestCapacity(*TwoWay(false).plan.Build()) == 0u);
  CHECK(SmallestCapacity(*TwoWay(true).plan.Build()) == 1u);
  // One lane sends `ahead` messages and then what the other receives before any of them.
  for (uint32_t ahead : {1u, 3u, 6u}) {
    PlanBuilder plan;
    GraphBuilder& g = plan.Graph("main");
    uint32_t device[2], lane[2];
    for (uint32_t i = 0; i < 2; ++i) {
      device[i] = plan.Device(DeviceKind::cpu, i);
      lane[i] = plan.Lane(device[i], LaneKind::compute);
    }
    const uint32_t value = g.Value("v", device[0], DType::f32, {4});
    g.Call(lane[0], plan.Kernel("iota"), {}, {value});
    const uint32_t many = g.Channel(lane[0], lane[1], ahead), one = g.Channel(lane[0], lane[1]);
    const auto got = [&] { return g.Value("got", device[1], DType::f32, {4}); };
    for (uint32_t i = 0; i < ahead; ++i) g.Send(many, {value}, i);
    g.Transfer(one, value, got());
    for (uint32_t i = 0; i < ahead; ++i) g.Receive(many, {got()}, i);
    const auto built = plan.Build();
    REQUIRE(SmallestCapacity(*built).value_or(99) == ahead);
    CHECK(Prove(*built, {.capacity = ahead - 1}).refusal == Refusal::kDeadlock);
    CHECK(Prove(*built, {.capacity = ahead}).proved());
  }
  // Events have no capacity: none helps.
  PlanBuilder circle;
  const uint32_t device = circle.Device(DeviceKind::cpu, 0);
  const uint32_t left = circle.Lane(device, LaneKind::compute);
  const uint32_t right = circle.Lane(device, LaneKind::copy);
  GraphBuilder& g = circle.Graph("main");
  const uint32_t go = g.Event(), back = g.Event();
  g.Wait(left, back);
  g.Signal(left, go);
  g.Wait(right, go);
  g.Signal(right, back);
  CHECK(SmallestCapacity(*circle.Build()) == std::nullopt);
}

TEST_CASE("an order that shows that nothing hangs") {
  const auto plan = TwoWay(true, 1).plan.Build();
  const std::vector<LinearExtension> extensions = LinearExtensions(*plan, {.capacity = 1});
  REQUIRE(extensions.size() == 1);
  const LinearExtension& order = extensions[0];
  CHECK(order.graph == 0);
  for (const Range& program : plan->graphs[0]->programs) {
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const bool comm = plan->graphs[0]->instructions[i].kind() == Kind::comm;
      CHECK((comm ? order.start[i] < order.done[i] : order.start[i] == order.done[i]));
      if (i > program.first()) CHECK(order.done[i - 1] < order.start[i]);
    }
  }
}

TEST_CASE("a wait in a circle of lanes is refused with its steps") {
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::cpu, 0);
  const uint32_t left = plan.Lane(device, LaneKind::compute);
  const uint32_t right = plan.Lane(device, LaneKind::copy);
  GraphBuilder& g = plan.Graph("main");
  const uint32_t go = g.Event(), back = g.Event();
  SECTION("in one round") {
    g.Wait(left, back);
    g.Signal(left, go);
    g.Wait(right, go);
    g.Signal(right, back);
    const auto built = plan.Build();
    const Verdict verdict = Prove(*built);
    REQUIRE(verdict.refusal == Refusal::kDeadlock);
    REQUIRE(verdict.steps.size() == 4);
    CHECK(verdict.steps[0].text == "cpu[0] compute: wait for event 1");
    CHECK(verdict.steps[0].waits_for == "which signals event 1");
  }
  SECTION("over two rounds") {
    g.Wait(left, back, 1);
    g.Signal(left, go);
    g.Wait(right, go);
    g.Signal(right, back);
    REQUIRE_PROVED(*plan.Build());
  }
}

TEST_CASE("rule 8 with lags: a wait of the same round in both directions") {
  REQUIRE_REFUSED(*SlotReuse({.back = 0}).plan.Build(), kDeadlock);
  REQUIRE_PROVED(*SlotReuse({.lag = 1, .back = 0}).plan.Build());
}

}  // namespace
}  // namespace cgraph::plan::testing

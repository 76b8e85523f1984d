// The prover, rule by rule: a plan that it accepts, and the smallest changes that it must refuse.
#include <catch2/catch.hpp>

#include "runtime/plan/check.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"
#include "tests/support/plan_builder.h"

namespace cgraph::plan::testing {
namespace {

std::string Explain(const Verdict& verdict) {
  return std::string(RefusalName(verdict.refusal)) + "\n" + verdict.message;
}

#define REQUIRE_PROVED(plan)              \
  do {                                    \
    const Verdict verdict_ = Prove(plan); \
    INFO(Explain(verdict_));              \
    REQUIRE(verdict_.proved());           \
  } while (false)
#define REQUIRE_REFUSED(plan, expected)             \
  do {                                              \
    const Verdict verdict_ = Prove(plan);           \
    INFO(Explain(verdict_));                        \
    REQUIRE(verdict_.refusal == Refusal::expected); \
    REQUIRE(!verdict_.message.empty());             \
  } while (false)

// Two actors that send to each other, each on a comm lane: gpu[0] sends first. gpu[1] receives
// first, or (`swapped`) sends first too.
struct TwoWay {
  PlanBuilder plan;
  uint32_t lane[2], channel[2];
  GraphBuilder::Handle send[2], receive[2];

  explicit TwoWay(bool swapped, uint32_t capacity = 0) {
    GraphBuilder& g = plan.Graph("main");
    uint32_t actor[2];
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t device = plan.Device(DeviceKind::gpu, i);
      lane[i] = plan.Lane(device, LaneKind::compute);
      actor[i] = plan.Actor(i == 0 ? "a" : "b", device);
    }
    channel[0] = g.Channel(lane[0], lane[1], capacity);
    channel[1] = g.Channel(lane[1], lane[0], capacity);
    const uint32_t make = plan.Kernel("iota"), use = plan.Kernel("sum");
    uint32_t made[2], got[2];
    for (uint32_t i = 0; i < 2; ++i) {
      const std::string name = i == 0 ? "from_a" : "from_b";
      made[i] = g.Value(name, i + 1, DType::f32, {4});
      got[1 - i] = g.Value(name, 2 - i, DType::f32, {4});
      g.Method(actor[i], "make", 12 + i).Call(lane[i], make, {}, {made[i]});
    }
    g.Method(actor[0], "make", 12);
    send[0] = g.Send(channel[0], {made[0]}, 0);
    if (!swapped) receive[1] = g.Receive(channel[0], {got[1]}, 0);
    g.Method(actor[1], "make", 13);
    send[1] = g.Send(channel[1], {made[1]}, 1);
    if (swapped) receive[1] = g.Receive(channel[0], {got[1]}, 0);
    receive[0] = g.Receive(channel[1], {got[0]}, 1);
    for (uint32_t i = 0; i < 2; ++i) {
      g.Method(actor[i], "use", 14 + i);
      g.Call(lane[i], use, {got[i]}, {g.Value("sum", i + 1, DType::f32, {})});
    }
  }
};

TEST_CASE("two_way in both orders") {
  TwoWay good(false);
  const auto plan = good.plan.Build();
  REQUIRE_PROVED(*plan);
  REQUIRE(CertificateText(*plan).find("send `from_a` of a.make to gpu[1] (test.cgraph:12:1)") !=
          std::string::npos);

  const auto bad = TwoWay(true).plan.Build();
  const Verdict verdict = Prove(*bad);
  INFO(Explain(verdict));
  REQUIRE(verdict.refusal == Refusal::kHang);
  REQUIRE(verdict.steps.size() == 4);
  CHECK(verdict.message ==
        "graph `main`, rule 8: it would hang, 4 instructions wait for one another\n"
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
  CHECK(Prove(*plan, {.capacity = 0}).refusal == Refusal::kHang);
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
    CHECK(Prove(*built, {.capacity = ahead - 1}).refusal == Refusal::kHang);
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
    REQUIRE(verdict.refusal == Refusal::kHang);
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

// A lane makes a value in a slot, another uses it: `forward` after it was made, and the slot is
// made again only `back` rounds after its use. The user may lag behind.
struct Handover {
  PlanBuilder plan;
  uint32_t make_lane, use_lane, value;
  GraphBuilder::Handle make, use;

  struct Options {
    uint16_t copies = 1, lag = 0;
    bool wait_forward = true, wait_back = true;
    int back = 1;
    uint32_t inflight = 4;
  };
  explicit Handover(const Options& options) {
    const uint32_t device = plan.Device(DeviceKind::cpu, 0);
    make_lane = plan.Lane(device, LaneKind::compute);
    use_lane = plan.Lane(device, LaneKind::copy);
    GraphBuilder& g = plan.Graph("main", options.inflight).Copies(options.copies);
    value = g.Value("v", device, DType::f32, {8});
    const uint32_t result = g.Value("r", PlanBuilder::kCaller, DType::f32, {});
    const uint32_t made = g.Event(), used = g.Event();
    if (options.wait_back) g.Wait(make_lane, used, static_cast<uint16_t>(options.back));
    make = g.Call(make_lane, plan.Kernel("iota"), {}, {value});
    g.Signal(make_lane, made);
    if (options.wait_forward) g.Wait(use_lane, made, options.lag);
    use = g.Call(use_lane, plan.Kernel("sum"), {value}, {result});
    g.Lag(options.lag);
    g.Signal(use_lane, used);
  }
};

TEST_CASE("rule 10: a slot is written before it is read, and read before it is written again") {
  REQUIRE_PROVED(*Handover({}).plan.Build());
  REQUIRE_REFUSED(*Handover({.wait_back = false}).plan.Build(), kRace);

  Handover bad({.wait_forward = false});
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
        const auto plan = Handover({.copies = copies, .lag = lag, .back = back}).plan.Build();
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

TEST_CASE("rule 8 with lags: a wait of the same round in both directions") {
  REQUIRE_REFUSED(*Handover({.back = 0}).plan.Build(), kHang);
  REQUIRE_PROVED(*Handover({.lag = 1, .back = 0}).plan.Build());
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

// In each round a value is made and used; another one in the same buffer, which program order puts
// first, is made in the round after, when nobody needs the bytes any more. `used`: or somebody
// does.
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
  // In each round: use a of the execution before, make and use b, make a.
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
  for (uint32_t i = 0; i < 4; ++i) at(i).mutate_order(i);
  REQUIRE_PROVED(*built);
  // With b between the making and the use of a, the bytes are overwritten.
  std::swap(at(1), at(3));
  std::swap(at(2), at(3));
  for (uint32_t i = 0; i < 4; ++i) at(i).mutate_order(i);
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

TEST_CASE("groups of several parts: an exchange in one group does not hang") {
  for (const bool grouped : {true, false}) {
    PlanBuilder plan;
    uint32_t lane[2], value[2], got[2], channel[2];
    GraphBuilder& g = plan.Graph("main");
    for (uint32_t i = 0; i < 2; ++i)
      lane[i] = plan.Lane(plan.Device(DeviceKind::gpu, i), LaneKind::comm);
    for (uint32_t i = 0; i < 2; ++i) {
      value[i] = g.Value("v", i + 1, DType::f32, {4});
      got[i] = g.Value("g", i + 1, DType::f32, {4});
      channel[i] = g.Channel(lane[i], lane[1 - i]);
      g.Call(lane[i], plan.Kernel("iota"), {}, {value[i]});
    }
    for (uint32_t i = 0; i < 2; ++i) {
      const auto send = g.Send(channel[i], {value[i]}, i);
      if (grouped)
        g.Group(send, Part::recv, channel[1 - i], {}, {got[i]}, 1 - i);
      else
        g.Receive(channel[1 - i], {got[i]}, 1 - i);
      if (grouped && i == 1) g.At(send).mutate_written(g.At(send - 1).written());
      // Without groups, program order must still put each send before its receive.
      if (!grouped && i == 1) g.At(send).mutate_written(g.At(send - 2).written());
    }
    const auto built = plan.Build();
    if (grouped)
      REQUIRE_PROVED(*built);
    else
      REQUIRE_REFUSED(*built, kHang);
  }
}

TEST_CASE("a buffered channel makes room in order, and its messages are not relied on for memory") {
  // Three messages a round in a channel of capacity k; the receiver takes them after an event that
  // the sender signals after its n-th send.
  for (uint32_t capacity = 0; capacity <= 3; ++capacity) {
    for (uint32_t before = 0; before <= 3; ++before) {
      PlanBuilder plan;
      GraphBuilder& g = plan.Graph("main");
      const uint32_t from = plan.Lane(plan.Device(DeviceKind::cpu, 0), LaneKind::comm);
      const uint32_t to = plan.Lane(plan.Device(DeviceKind::cpu, 1), LaneKind::comm);
      const uint32_t channel = g.Channel(from, to, capacity, Carrier::shm);
      const uint32_t sent = g.Value("s", 1, DType::f32, {4});
      g.Call(from, plan.Kernel("iota"), {}, {sent});
      for (uint32_t j = 0; j < 3; ++j) {
        if (j == before) g.Sync(from, to);
        g.Send(channel, {sent}, j);
      }
      if (before == 3) g.Sync(from, to);
      for (uint32_t j = 0; j < 3; ++j) {
        g.Receive(channel, {g.Value("r", 2, DType::f32, {4})}, j);
      }
      const auto built = plan.Build();
      const Verdict verdict = Prove(*built);
      INFO("capacity " << capacity << ", event after " << before << "\n" << verdict.message);
      CHECK((verdict.refusal == Refusal::kHang) == (before > capacity));
      CHECK((Prove(*built, {.capacity = 3}).refusal == Refusal::kHang) == false);
    }
  }
}

TEST_CASE("credit does not order memory") {
  // The sender overwrites what it sent: done(send) is enough. The receiver's value may be written
  // as soon as its receive starts: an event must say that its reader is through.
  PlanBuilder plan;
  GraphBuilder& g = plan.Graph("main");
  const uint32_t from = plan.Lane(plan.Device(DeviceKind::gpu, 0), LaneKind::comm);
  const uint32_t to = plan.Lane(plan.Device(DeviceKind::gpu, 1), LaneKind::comm);
  const uint32_t shared = g.Value("s", PlanBuilder::kCaller, DType::f32, {4});
  const uint32_t made = g.Value("m", 1, DType::f32, {4});
  const uint32_t got = g.Value("g", 2, DType::f32, {4});
  g.Call(from, plan.Kernel("iota"), {}, {made});
  g.Call(to, plan.Kernel("iota"), {}, {shared});
  g.Transfer(g.Channel(from, to), made, got);
  // The receiver's lane wrote `shared` before it received: done(send) says so only by credit.
  g.Call(from, plan.Kernel("sum"), {shared}, {g.Value("r", 1, DType::f32, {})});
  REQUIRE_REFUSED(*plan.Build(), kRace);
}

// An all_reduce (or another kind) over three devices, each with a value of its own.
struct Ring {
  PlanBuilder plan;
  uint32_t lane[3], in[3], out[3];
  explicit Ring(const std::string& kind, int32_t root = 0, bool reversed = false) {
    GraphBuilder& g = plan.Graph("main");
    std::vector<uint32_t> lanes;
    for (uint32_t i = 0; i < 3; ++i) {
      lanes.push_back(lane[i] = plan.Lane(plan.Device(DeviceKind::gpu, i), LaneKind::comm));
    }
    const uint32_t communicator = plan.Communicator(lanes);
    const bool reduces = kind == "all_reduce" || kind == "reduce";
    const uint32_t collective = g.Collective(kind, communicator, reduces ? "sum" : "", root);
    for (uint32_t i = 0; i < 3; ++i) {
      in[i] = g.Value("in", i + 1, DType::f32, {4});
      out[i] = g.Value("out", i + 1, DType::f32, {4});
      g.Call(lane[i], plan.Kernel("iota"), {}, {in[i]});
    }
    const uint32_t channel = g.Channel(lane[0], lane[1]);
    if (reversed) g.Send(channel, {in[0]}, 0);
    for (uint32_t i = 0; i < 3; ++i) {
      const bool sends = kind != "broadcast" || static_cast<int32_t>(i) == root;
      const bool gets = kind != "reduce" || static_cast<int32_t>(i) == root;
      g.Part(lane[i], collective, sends ? std::vector{in[i]} : std::vector<uint32_t>{},
             gets ? std::vector{out[i]} : std::vector<uint32_t>{});
    }
    if (reversed) g.Receive(channel, {g.Value("x", 2, DType::f32, {4})}, 0);
  }
};

TEST_CASE("collectives join their members") {
  for (const char* kind : {"all_reduce", "all_to_all"}) REQUIRE_PROVED(*Ring(kind).plan.Build());
  for (int32_t root = 0; root < 3; ++root) {
    REQUIRE_PROVED(*Ring("broadcast", root).plan.Build());
    REQUIRE_PROVED(*Ring("reduce", root).plan.Build());
  }
  const auto plan = Ring("all_reduce", 0, true).plan.Build();
  const Verdict verdict = Prove(*plan);
  INFO(Explain(verdict));
  REQUIRE(verdict.refusal == Refusal::kHang);
  CHECK(verdict.message.find("another member's part of the same collective") != std::string::npos);
}

TEST_CASE("only data orders memory over a collective") {
  // Everyone reads at its end what device 0 wrote in the caller's memory before: data flows from
  // all to all in an all_reduce, from the root only in a broadcast.
  for (const auto& [kind, root, ordered] :
       std::vector<std::tuple<std::string, int32_t, bool>>{{"all_reduce", 0, true},
                                                           {"broadcast", 0, true},
                                                           {"broadcast", 1, false},
                                                           {"reduce", 0, false},
                                                           {"reduce", 2, true}}) {
    Ring ring(kind, root);
    GraphBuilder& g = ring.plan.Graph("second");
    const uint32_t collective = g.Collective(kind, 0, kind == "broadcast" ? "" : "sum", root);
    const uint32_t shared = g.Value("s", PlanBuilder::kCaller, DType::f32, {4});
    const uint32_t make = ring.plan.Kernel("iota");
    std::vector<uint32_t> in, out;
    const uint32_t over = g.Event();
    g.Wait(ring.lane[0], over, 1);
    g.Call(ring.lane[0], make, {}, {shared});
    for (uint32_t i = 0; i < 3; ++i) {
      in.push_back(g.Value("in", i + 1, DType::f32, {4}));
      out.push_back(g.Value("out", i + 1, DType::f32, {4}));
      g.Call(ring.lane[i], make, {}, {in[i]});
    }
    for (uint32_t i = 0; i < 3; ++i) {
      const bool sends = kind != "broadcast" || static_cast<int32_t>(i) == root;
      const bool gets = kind != "reduce" || static_cast<int32_t>(i) == root;
      g.Part(ring.lane[i], collective, sends ? std::vector{in[i]} : std::vector<uint32_t>{},
             gets ? std::vector{out[i]} : std::vector<uint32_t>{});
    }
    g.Call(ring.lane[2], ring.plan.Kernel("sum"), {shared}, {g.Value("r", 3, DType::f32, {})});
    g.Signal(ring.lane[2], over);
    const auto plan = ring.plan.Build();
    const Verdict verdict = Prove(*plan);
    INFO(kind << " root " << root << "\n" << verdict.message);
    CHECK(verdict.refusal == (ordered ? Refusal::kNone : Refusal::kRace));
  }
}

TEST_CASE("a segment starts when all that it waits for is there") {
  for (const bool captured : {false, true}) {
    PlanBuilder plan;
    const uint32_t device = plan.Device(DeviceKind::gpu, 0);
    const uint32_t lane = plan.Lane(device, LaneKind::compute);
    const uint32_t other = plan.Lane(device, LaneKind::copy);
    GraphBuilder& g = plan.Graph("main");
    const uint32_t a = g.Value("a", device, DType::f32, {4});
    const uint32_t b = g.Value("b", device, DType::f32, {4});
    const uint32_t c = g.Value("c", device, DType::f32, {4});
    const uint32_t made = g.Event(), worked = g.Event(), over = g.Event();
    const uint32_t segment = captured ? 5 : 0;
    const uint32_t kernel = plan.Kernel("work");
    // The lane makes a; the other turns it into b; the lane goes on with b.
    g.Wait(lane, over, 1);
    g.Call(lane, plan.Kernel("iota"), {}, {a});
    g.Segment(segment);
    g.Signal(lane, made);
    g.Segment(segment);
    g.Wait(other, made);
    g.Call(other, kernel, {a}, {b});
    g.Signal(other, worked);
    g.Wait(lane, worked);
    g.Segment(segment);
    g.Call(lane, kernel, {b}, {c});
    g.Signal(lane, over);
    const auto built = plan.Build();
    if (captured)
      REQUIRE_REFUSED(*built, kHang);
    else
      REQUIRE_PROVED(*built);
  }
}

TEST_CASE("rule 13 with segments: what waits for a part waits for the whole") {
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
  g.Segment(1);
  g.Signal(lane, event);
  g.Segment(1);
  const auto last = g.Call(lane, plan.Kernel("iota"), {}, {b});
  g.Segment(1);
  const auto wait = g.Wait(other, event);
  g.Call(other, plan.Kernel("sum"), {a}, {g.Value("r", device, DType::f32, {})});
  g.Signal(other, over);
  const auto built = plan.Build();
  REQUIRE_PROVED(*built);
  auto& instructions = built->graphs[0]->instructions;
  const uint32_t order = instructions[g.Index(last)].order();
  instructions[g.Index(last)].mutate_order(instructions[g.Index(wait)].order());
  instructions[g.Index(wait)].mutate_order(order);
  REQUIRE_REFUSED(*built, kCertificate);
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

// Takes and gives, on one lane or on two, of a call on a compute lane.
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
  REQUIRE_REFUSED(*Handover({.copies = 3, .lag = 1, .inflight = 1}).plan.Build(), kInflight);
  REQUIRE_PROVED(*Handover({.copies = 3, .lag = 1, .inflight = 2}).plan.Build());

  // A take that waits for the give of d rounds before allows d in flight.
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
  // The take of a round waits for the sender's round before, that for its receiver, and that for
  // the give of two rounds before.
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
    const uint32_t order = instructions[i].order();
    const bool first = i == 0 || i == half;
    const bool last = i + 1 == instructions.size() || i + 1 == half;
    INFO("instruction " << i << " at position " << order);
    if (!last) {
      instructions[i].mutate_order(order + 100);
      REQUIRE_REFUSED(*plan, kCertificate);
    }
    if (!first) {
      instructions[i].mutate_order(instructions[i - 1].order());
      REQUIRE_REFUSED(*plan, kCertificate);
    }
    instructions[i].mutate_order(order);
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

// Made on one lane, used on the other, then other values in the same bytes. Nothing waits for the
// next round: in the start graph there is none.
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

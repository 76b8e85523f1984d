// Instructions of several lanes that happen together, and the order that this gives: groups of
// several parts, channels, collectives, captures.
#include "tests/support/plans/proved.h"

namespace cgraph::plan::testing {
namespace {

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
      if (grouped && i == 1) g.At(send).mutate_program_order(g.At(send - 1).program_order());
      // Without groups, program order must still put each send before its receive.
      if (!grouped && i == 1) g.At(send).mutate_program_order(g.At(send - 2).program_order());
    }
    const auto built = plan.Build();
    if (grouped)
      REQUIRE_PROVED(*built);
    else
      REQUIRE_REFUSED(*built, kDeadlock);
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
      const uint32_t channel = g.Channel(from, to, capacity, TransportKind::shm);
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
      CHECK((verdict.refusal == Refusal::kDeadlock) == (before > capacity));
      CHECK((Prove(*built, {.capacity = 3}).refusal == Refusal::kDeadlock) == false);
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
  REQUIRE(verdict.refusal == Refusal::kDeadlock);
  CHECK(verdict.message.find("another member's part of the same collective") != std::string::npos);
}

TEST_CASE("only data orders memory over a collective") {
  // Every member reads at its end what device 0 wrote in the caller's memory before: data flows
  // from all to all in an all_reduce, from the root only in a broadcast.
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

TEST_CASE("a capture starts when all that it waits for is there") {
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
    const uint32_t capture = captured ? 5 : 0;
    const uint32_t kernel = plan.Kernel("work");
    // The lane makes a; the other turns it into b; the lane goes on with b.
    g.Wait(lane, over, 1);
    g.Call(lane, plan.Kernel("iota"), {}, {a});
    g.Capture(capture);
    g.Signal(lane, made);
    g.Capture(capture);
    g.Wait(other, made);
    g.Call(other, kernel, {a}, {b});
    g.Signal(other, worked);
    g.Wait(lane, worked);
    g.Capture(capture);
    g.Call(lane, kernel, {b}, {c});
    g.Signal(lane, over);
    const auto built = plan.Build();
    if (captured)
      REQUIRE_REFUSED(*built, kDeadlock);
    else
      REQUIRE_PROVED(*built);
  }
}

}  // namespace
}  // namespace cgraph::plan::testing

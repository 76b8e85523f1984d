// Plans and questions for the tests of the prover: plans that several tests change, and what they
// ask of a verdict.
#ifndef CGRAPH_TESTS_SUPPORT_PLANS_PROVED_H_
#define CGRAPH_TESTS_SUPPORT_PLANS_PROVED_H_

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "runtime/plan/check.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"
#include "tests/support/plans/plan_builder.h"

namespace cgraph::plan::testing {

inline std::string Explain(const Verdict& verdict) {
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


// TwoWay: two actors that send to each other, each on a comm lane: gpu[0] sends first. gpu[1]
// receives first, or (`swapped`) sends first too.
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

// SlotReuse: a lane makes a value in a slot, another uses it: `forward` after it was made, and the
// slot is made again only `back` rounds after its use. The user may lag behind.
struct SlotReuse {
  PlanBuilder plan;
  uint32_t make_lane, use_lane, value;
  GraphBuilder::Handle make, use;

  struct Options {
    uint16_t copies = 1, lag = 0;
    bool wait_forward = true, wait_back = true;
    int back = 1;
    uint32_t inflight = 4;
  };
  explicit SlotReuse(const Options& options) {
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

}  // namespace cgraph::plan::testing

#endif  // CGRAPH_TESTS_SUPPORT_PLANS_PROVED_H_

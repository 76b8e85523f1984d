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

#define REQUIRE_PROVED(plan)               \
  do {                                     \
    const Verdict verdict_ = Prove(plan);  \
    INFO(Explain(verdict_));               \
    REQUIRE(verdict_.proved());            \
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

}  // namespace
}  // namespace cgraph::plan::testing

// The interpreter finds what is wrong with plans that are known to be wrong, and nothing in others.
#include <catch2/catch.hpp>

#include "tests/interpreter/interpreter.h"
#include "tests/support/plans/plan_builder.h"
#include "tests/support/plans/sample_plans.h"

using namespace cgraph;
using namespace cgraph::plan::testing;
using interpreter::Interpreter;
using interpreter::Outcome;

namespace {

Outcome Judge(const plan::Plan& plan) {
  return Interpreter(plan, 0, 6, 1).Search(4, nullptr).outcome;
}

uint32_t FirstOf(const plan::Graph& graph, plan::Kind kind) {
  uint32_t i = 0;
  while (graph.instructions[i].kind() != kind) ++i;
  return i;
}

}  // namespace

TEST_CASE("symbolic memory keeps whose byte is whose") {
  using namespace interpreter;
  Block block(10);
  CHECK(HasUnwritten(block.Read(0, 10)));
  block.Write(0, Whole(5, 10));
  block.Write(4, Whole(6, 2));
  CHECK(block.Read(0, 10) == Content{{4, 5, 0}, {2, 6, 0}, {4, 5, 6}});
  block.Write(4, {{2, 5, 4}});  // the bytes that were there
  CHECK(block.Read(0, 10) == Whole(5, 10));
  CHECK(block.Read(2, 7) == Content{{5, 5, 2}});
  block.Write(0, {{3, kUnwritten, 0}});
  CHECK(HasUnwritten(block.Read(0, 10)));
  CHECK_FALSE(HasUnwritten(block.Read(3, 10)));
}

TEST_CASE("the same value from another writer has the same hash of its value only") {
  using namespace interpreter;
  const Content first = WrittenBy(1, Whole(5, 10)), second = WrittenBy(2, Whole(5, 10));
  CHECK(first != second);
  CHECK(Hash(first) != Hash(second));
  CHECK(ValueHash(first) == ValueHash(second));
  Block block(10);
  block.Write(0, first);
  block.Write(4, {{2, 5, 4, 2}});
  CHECK(block.Read(0, 10).size() == 3);
  CHECK(ValueHash(block.Read(0, 10)) == ValueHash(first));
}

TEST_CASE("who reads the right bytes by luck is wrong") {
  PlanBuilder builder;
  const uint32_t device = builder.Device(plan::DeviceKind::cpu, 0);
  const uint32_t lane = builder.Lane(device, plan::LaneKind::compute);
  GraphBuilder& g = builder.Graph("main");
  const uint32_t v = g.Value("v", device, plan::DType::f32, {4});
  const uint32_t a = g.ValueAt("a", device, 16, plan::DType::f32, {4});
  const uint32_t b = g.ValueAt("b", device, 16, plan::DType::f32, {4});
  g.Call(lane, builder.Kernel("iota"), {}, {v});
  g.Copy(lane, v, a);
  g.Copy(lane, v, b);
  g.Call(lane, builder.Kernel("sum"), {a}, {g.Value("r", device, plan::DType::f32, {})});
  CHECK(Judge(*builder.Build()) == Outcome::kWrong);
}

TEST_CASE("nothing is wrong with the samples") {
  for (const SamplePlan& sample : SamplePlans()) {
    INFO(sample.name);
    CHECK(Judge(*sample.plan) == Outcome::kOk);
  }
}

TEST_CASE("crossed sends hang") {
  CHECK(Judge(*TwoWayPlan(/*swapped=*/true)) == Outcome::kDeadlock);
}

TEST_CASE("a wait for data that is missing is seen") {
  const auto plan = TwoWayPlan();
  plan::Graph& graph = *plan->graphs[0];
  int tried = 0;
  for (plan::Instruction& wait : graph.instructions) {
    if (wait.kind() != plan::Kind::wait || graph.waits[wait.first()].lag() > 0) continue;
    wait.mutate_inputs(0);
    CHECK(Judge(*plan) != Outcome::kOk);
    wait.mutate_inputs(1);
    ++tried;
  }
  CHECK(tried == 4);
}

TEST_CASE("one copy too few is seen") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 2, .inflight = 2});
  for (plan::Arena& arena : plan->graphs[0]->arenas) {
    if (arena.space() == plan::Space::slot) arena.mutate_copies(1);
  }
  const Outcome outcome = Judge(*plan);
  CHECK((outcome == Outcome::kOverlap || outcome == Outcome::kWrong));
}

TEST_CASE("ends that disagree are seen") {
  const auto plan = TwoWayPlan();
  plan::Graph& graph = *plan->graphs[0];
  for (const plan::CommPart& part : graph.parts) {
    if (part.part() == plan::Part::recv) {
      graph.values[graph.operands[part.first()]].mutate_dtype(plan::DType::i32);
    }
  }
  CHECK(Judge(*plan) == Outcome::kMismatch);
}

TEST_CASE("an event that nobody signals hangs") {
  const auto plan = TwoWayPlan();
  plan::Graph& graph = *plan->graphs[0];
  graph.events += 1;
  graph.waits.back().mutate_event(graph.events - 1);
  CHECK(Judge(*plan) == Outcome::kDeadlock);
}

TEST_CASE("an index outside its table is malformed") {
  const auto plan = TwoWayPlan();
  plan::Graph& graph = *plan->graphs[0];
  graph.instructions[FirstOf(graph, plan::Kind::input)].mutate_subject(99);
  CHECK(Judge(*plan) == Outcome::kMalformed);
}

TEST_CASE("a slow caller shows an inflight that is not kept") {
  const auto plan = TwoWayPlan();
  plan->graphs[0]->inflight = 4;  // there are two copies
  CHECK(Judge(*plan) == Outcome::kDeadlock);
}

TEST_CASE("a certificate that no worker can follow is seen") {
  const auto plan = TwoWayPlan();
  for (plan::Instruction& instruction : plan->graphs[0]->instructions) {
    if (instruction.kind() == plan::Kind::input) instruction.mutate_certificate_position(1000);
  }
  CHECK(Judge(*plan) == Outcome::kDeadlock);
}

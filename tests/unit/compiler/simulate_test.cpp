// Simulation against times worked out by hand, and against its own lower bounds.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>

#include "compiler/inspect/simulate.h"
#include "llvm/Support/JSON.h"
#include "runtime/base/text.h"
#include "runtime/plan/prove.h"
#include "tests/support/plans/plan_builder.h"
#include "tests/support/plans/sample_plans.h"

using namespace cgraph;
using namespace cgraph::plan::testing;
using plan::DeviceKind;
using plan::DType;
using plan::LaneKind;
using plan::Plan;

namespace {

// Forward 1, backward 2, everything else 0: how papers count.
Profile PaperTimes() {
  Profile profile;
  profile.call_ps = {{"Stage.forward", 1}, {"Stage.backward", 2}};
  profile.default_ps = 0;
  return profile;
}

Simulation SimulatePipeline(const PipelineOptions& options, uint32_t executions = 1) {
  const auto plan = PipelinePlan(options);
  const Profile profile = PaperTimes();
  return Simulate(*plan, 0, {.profile = &profile, .executions = executions});
}

// Calls of 5 and 7 on two devices.
std::unique_ptr<Plan> Independent() {
  PlanBuilder plan;
  const uint32_t kernel = plan.Kernel("work");
  std::vector<uint32_t> devices, lanes;
  for (uint32_t i = 0; i < 2; ++i) {
    devices.push_back(plan.Device(DeviceKind::gpu, i));
    lanes.push_back(plan.Lane(devices[i], LaneKind::compute));
  }
  GraphBuilder& g = plan.Graph("main");
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t made = g.Value("made", devices[i], DType::f32, {4});
    g.At(g.Call(lanes[i], kernel, {}, {made})).mutate_expected(i == 0 ? 5 : 7);
  }
  return plan.Build();
}

}  // namespace

TEST_CASE("D9 1F1B takes what the papers say, and that is the best possible") {
  // (m + p - 1) (f + b), and a bubble of (p - 1) / (m + p - 1).
  const Simulation simulation = SimulatePipeline({.stages = 4, .micro_batches = 8});
  REQUIRE_FALSE(simulation.deadlocks());
  CHECK(simulation.makespan == 33);
  CHECK(simulation.bubble() == Approx(3.0 / 11));
  CHECK(simulation.through_lane == 33);  // the last stage: 3 to fill, 24 of work, 6 to drain
  CHECK(simulation.gap() == 0);
  CHECK(simulation.devices[2].busy == 24);
  CHECK(simulation.devices[2].busy + simulation.devices[2].transfer +
            simulation.devices[2].waiting == 33);
  CHECK(SimulatePipeline({.stages = 4, .micro_batches = 32}).makespan == 105);
}

TEST_CASE("executions follow each other on every lane") {
  // The first stage is the last to end one execution and the first to begin the next.
  const PipelineOptions options = {.stages = 4, .micro_batches = 8, .inflight = 2};
  CHECK(SimulatePipeline(options, 1).makespan == 33);
  CHECK(SimulatePipeline(options, 2).makespan == 66);
  // Producing overlaps with consuming: 1, then 10 * (2 + 10).
  CHECK(Simulate(*ProducerConsumerPlan(0, 1, 1, 2, 10), 0, {.executions = 10}).makespan == 121);
}

TEST_CASE("a rendezvous holds the sender, a buffer does not") {
  // Each message: 1 to produce, 2 to move, 10 to consume.
  CHECK(Simulate(*ProducerConsumerPlan(0, 1, 1, 2, 10), 0).makespan == 13);
  // The second moves when the first is consumed, at 13, and is consumed at 25.
  const Simulation rendezvous = Simulate(*ProducerConsumerPlan(0, 2, 1, 2, 10), 0);
  CHECK(rendezvous.makespan == 25);
  CHECK(rendezvous.longest_path == 13);
  // The consumer: 1 before anything can come, then 2 * (2 + 10).
  CHECK(rendezvous.through_lane == 25);
  // A message takes 2 in all, half of it into the slot and half out: 1 + 1 + 1 + 10, then 1 + 10.
  const Simulation buffered = Simulate(*ProducerConsumerPlan(1, 2, 1, 2, 10), 0);
  CHECK(buffered.makespan == 24);
  // The sender is through when the slot is full again: the first message leaves it at 3, so the
  // second is in at 4.
  uint64_t last_send = 0;
  for (const plan::TraceEvent& event : buffered.events) {
    if (event.lane == 0) last_send = std::max(last_send, event.end);
  }
  CHECK(last_send == 4);
  CHECK(Simulate(*ProducerConsumerPlan(3, 9, 1, 2, 10), 0, {.executions = 3}).makespan ==
        1 + 1 + 27 * 11);
}

TEST_CASE("a worker runs the lanes that it has one at a time") {
  // Two calls that have nothing to do with each other, on two devices.
  const auto plan = Independent();
  CHECK(Simulate(*plan, 0).makespan == 7);
  CHECK(Simulate(*plan, 0).workers.empty());
  const Simulation one = Simulate(*plan, 0, {.workers = 1});
  CHECK(one.makespan == 12);
  CHECK(one.workers == std::vector<uint64_t>{12});
  CHECK(one.lower_bound() == 12);  // no other order helps one worker
  const Simulation two = Simulate(*plan, 0, {.workers = 2});
  CHECK(two.makespan == 7);
  CHECK(two.workers == std::vector<uint64_t>{5, 7});
  // A third is the caller's, and more do not come.
  CHECK(Simulate(*plan, 0, {.workers = 9}).workers == std::vector<uint64_t>{0, 5, 7});
  CHECK(SimulationTable(*plan, 0, two).find("worker  busy  waiting\n0       5 ps     2 ps\n") !=
        std::string::npos);
  CHECK(SimulationTable(*plan, 0, Simulate(*plan, 0)).find("worker") == std::string::npos);
  const llvm::json::Value json = SimulationJson(*plan, 0, two);
  CHECK(llvm::formatv("{0}", *json.getAsObject()->get("workers")).str() ==
        R"([{"busy_ps":5,"waiting_ps":2},{"busy_ps":7,"waiting_ps":0}])");
}

TEST_CASE("a worker follows the certificate, and what it waits for holds up all its lanes") {
  // The third device works 10 and sends to the first, which works 1; the second works 5, and in
  // the certificate that comes last.
  PlanBuilder plan;
  const uint32_t kernel = plan.Kernel("work");
  std::vector<uint32_t> devices, lanes;
  for (uint32_t i = 0; i < 3; ++i) {
    devices.push_back(plan.Device(DeviceKind::gpu, i));
    lanes.push_back(plan.Lane(devices[i], LaneKind::compute));
  }
  GraphBuilder& g = plan.Graph("main");
  const auto work = [&](uint32_t on, uint64_t time) {
    const uint32_t made = g.Value("made", devices[on], DType::f32, {4});
    g.At(g.Call(lanes[on], kernel, {}, {made})).mutate_expected(time);
    return made;
  };
  const uint32_t sent = work(2, 10);
  const uint32_t received = g.Value("received", devices[0], DType::f32, {4});
  g.Transfer(g.Channel(lanes[2], lanes[0]), sent, received);
  work(0, 1);
  work(1, 5);
  const auto made = plan.Build();
  for (const plan::Instruction& last : made->graphs[0]->instructions) {
    if (last.expected() != 5) continue;
    for (const plan::Instruction& other : made->graphs[0]->instructions) {
      REQUIRE(other.certificate_position() <= last.certificate_position());
    }
  }
  CHECK(Simulate(*made, 0).makespan == 11);
  CHECK(Simulate(*made, 0, {.workers = 3}).makespan == 11);
  CHECK(Simulate(*made, 0, {.workers = 2}).makespan == 16);  // the first two devices share one
  CHECK(Simulate(*made, 0, {.workers = 1}).makespan == 16);
}

TEST_CASE("workers take turns on fewer cores") {
  const auto plan = Independent();
  const auto on = [&](uint32_t workers, uint32_t cores) {
    return Simulate(*plan, 0, {.workers = workers, .cores = cores});
  };
  CHECK(on(2, 2).makespan == 7);
  CHECK(on(2, 2).resource.empty());  // each has its own
  CHECK(on(2, 1).makespan == 12);
  CHECK(on(2, 1).workers == std::vector<uint64_t>{5, 7});
  CHECK(on(2, 1).lower_bound() == 12);
  CHECK(on(2, 1).resource == "cores");
  CHECK(on(1, 1).makespan == 12);
  // Four workers on two cores have between one and two cores' worth of a pipeline's work to do.
  const auto pipeline = PipelinePlan({.stages = 4, .micro_batches = 8});
  const Profile profile = PaperTimes();
  const auto makespan = [&](uint32_t workers, uint32_t cores) {
    return Simulate(*pipeline, 0, {.profile = &profile, .workers = workers, .cores = cores})
        .makespan;
  };
  CHECK(makespan(4, 1) == 4 * 8 * 3);
  CHECK(makespan(4, 2) >= 4 * 8 * 3 / 2);
  CHECK(makespan(4, 2) < makespan(4, 1));
  CHECK(makespan(4, 4) == makespan(4, 0));
}

TEST_CASE("one in flight on workers is one after the other, two overlap") {
  for (uint32_t inflight : {1u, 2u}) {
    // 1 to produce on one worker, 12 to move and consume on the other.
    auto plan = ProducerConsumerPlan(0, 1, 1, 2, 10);
    plan->graphs[0]->inflight = inflight;
    CHECK(Simulate(*plan, 0, {.executions = 3, .workers = 2}).makespan ==
          (inflight == 1 ? 39u : 37u));
    CHECK(Simulate(*plan, 0, {.executions = 3, .workers = 1}).makespan == 39);
  }
}

TEST_CASE("one worker takes what all its work takes, and more workers less") {
  PipelineOptions options = {.stages = 4, .micro_batches = 8};
  const auto plan = PipelinePlan(options);
  const Profile profile = PaperTimes();
  const auto makespan = [&](uint32_t workers) {
    return Simulate(*plan, 0, {.profile = &profile, .workers = workers}).makespan;
  };
  CHECK(makespan(1) == 4 * 8 * 3);
  CHECK(makespan(2) < makespan(1));
  CHECK(makespan(2) >= 4 * 8 * 3 / 2);
  CHECK(makespan(4) < makespan(2));
  // Stages on workers of their own, and still not as fast as lanes by themselves: a send waits for
  // its receive, and what it holds up is the whole stage.
  CHECK(makespan(4) >= 33);
  CHECK(makespan(5) == makespan(4));
}

TEST_CASE("no sample beats its lower bound") {
  for (const SamplePlan& sample : SamplePlans()) {
    const uint32_t most = plan::Prove(*sample.plan).proved() ? 6 : 0;
    for (uint32_t run = 0; run < 3 * (most + 1); ++run) {
      const uint32_t executions = std::array{1u, 2u, 5u}[run % 3];
      const uint32_t workers = run / 3 % 4, cores = run / 12;  // cores: of their own, or one
      INFO(sample.name << ", " << executions << ", " << workers << " workers, " << cores);
      const Simulation simulation = Simulate(
          *sample.plan, 0, {.executions = executions, .workers = workers, .cores = cores});
      REQUIRE_FALSE(simulation.deadlocks());
      for (uint64_t busy : simulation.workers) CHECK(busy <= simulation.makespan);
      CHECK(simulation.makespan >= simulation.lower_bound());
      for (const plan::TraceEvent& event : simulation.events) {
        CHECK(event.start <= event.active);
        CHECK(event.active <= event.end);
      }
    }
  }
}

TEST_CASE("a capture starts when all that it needs is there") {
  for (const SamplePlan& sample : SamplePlans()) {
    if (sample.name != "capture") continue;
    // a takes 3; then, on two lanes, 5 beside 4, then 6.
    CHECK(Simulate(*sample.plan, 0).makespan == 14);
  }
}

TEST_CASE("a plan that deadlocks is told, lane by lane") {
  const auto plan = TwoWayPlan(/*swapped=*/true);
  const Simulation simulation = Simulate(*plan, 0);
  REQUIRE(simulation.deadlocks());
  CHECK(simulation.stuck.size() >= 2);
  CHECK(SimulationTable(*plan, 0, simulation).find("waits for ever") != std::string::npos);
  CHECK((*SimulationJson(*plan, 0, simulation).getAsObject())["deadlocks"] == true);
}

TEST_CASE("times are printed in the unit that fits") {
  CHECK(TimeText(0) == "0 ps");
  CHECK(TimeText(999) == "999 ps");
  CHECK(TimeText(1000) == "1 ns");
  CHECK(TimeText(1'204'000) == "1.204 us");
  CHECK(TimeText(1'500'000'000'000'000) == "1500 s");
}

TEST_CASE("the table names devices and the gap") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 2});
  const Simulation simulation = Simulate(*plan, 0);
  const std::string table = SimulationTable(*plan, 0, simulation);
  INFO(table);
  CHECK(table.find("gpu[1]") != std::string::npos);
  CHECK(table.find("lower bound") != std::string::npos);
  const llvm::json::Value json = SimulationJson(*plan, 0, simulation);
  CHECK(json.getAsObject()->get("makespan_ps")->getAsUINT64() == simulation.makespan);
}

TEST_CASE("a hundred thousand instructions take well under a second") {
  const auto plan = ProducerConsumerPlan(2, 25'000, 1, 2, 10);
  const auto start = std::chrono::steady_clock::now();
  const Simulation simulation = Simulate(*plan, 0);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  CHECK(simulation.events.size() == 100'000);
  CHECK(elapsed < std::chrono::seconds(5));  // unoptimised and with sanitizers too
  WARN("100,000 instructions simulated in "
       << std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count() << " ms");
}

TEST_CASE("copies and transfers alone have no bubble, and that is said") {
  const auto moves = ProducerConsumerPlan(0, 1, 0, 5, 0);
  const Simulation moved = Simulate(*moves, 0);
  CHECK_FALSE(moved.computes());
  CHECK(BubbleText(moved) == "no bubble: no device computes");
  const std::string table = SimulationTable(*moves, 0, moved);
  INFO(table);
  CHECK(table.find("makespan     5 ps (no bubble: no device computes)") != std::string::npos);
  CHECK(table.find("through one lane 5 ps") != std::string::npos);
  const llvm::json::Value json = SimulationJson(*moves, 0, moved);
  CHECK(json.getAsObject()->get("bubble")->kind() == llvm::json::Value::Null);
  const auto& devices = *json.getAsObject()->getArray("devices");
  for (const llvm::json::Value& device : devices) {
    CHECK(device.getAsObject()->get("bubble")->kind() == llvm::json::Value::Null);
  }
  CHECK(BubbleText(Simulate(*ProducerConsumerPlan(0, 1, 0, 0, 0), 0)) == "nothing takes time");
  CHECK(BubbleText(Simulate(*Independent(), 0)) == "bubble 14.3 %");
}

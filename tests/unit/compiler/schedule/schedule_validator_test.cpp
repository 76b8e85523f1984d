// The validator of schedules, on schedules that no pass makes: each promise that it checks is
// broken once.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "compiler/schedule/validate.h"
#include "tests/support/modules/module_builder.h"

namespace cgraph {
namespace {

using namespace graph::testing;
using graph::ValueId;
using schedule::Schedule;
using schedule::Space;
using schedule::Step;
using schedule::StepId;
using schedule::UnitId;

// A call on each of two devices, and what travels between them.
graph::Module TwoDevices() {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kGpu, 0));
  const auto b = module.Actor("b", module.Device(DeviceKind::kGpu, 1));
  GraphMaker& g = module.Graph("main", 2);
  const ValueId x = g.Input("x", Floats({D(4)}));
  g.Call(a, "make");
  const ValueId y = g.Op("relu", {x}, Floats({D(4)}));
  g.Call(b, "use");
  g.Output("z", g.Op("relu", {y}, Floats({D(4)})));
  return module.Build();
}

std::string Fault(const graph::Module& module, const Schedule& schedule) {
  const graph::Graph& graph = module.graphs[0];
  std::string fault = schedule::FaultInOrder(module, graph, schedule);
  if (fault.empty()) fault = schedule::FaultInWaits(schedule);
  return fault.empty() ? schedule::FaultInMemory(graph, schedule) : fault;
}

StepId TransferOf(const Schedule& schedule) {
  for (StepId id : schedule.steps.Ids()) {
    if (schedule.steps[id].kind == Step::kTransfer) return id;
  }
  return StepId();
}
UnitId Waiting(const Schedule& schedule) {
  for (UnitId id : schedule.units.Ids()) {
    if (!schedule.units[id].waits.empty()) return id;
  }
  return UnitId();
}

TEST_CASE("the validator of schedules finds what is broken, and nothing in what passes make") {
  const graph::Module module = TwoDevices();
  const Schedule made = SchedulesOf(module)[1];
  REQUIRE(Fault(module, made).empty());
  const StepId transfer = TransferOf(made);
  const UnitId waiting = Waiting(made);
  REQUIRE(transfer.valid());
  REQUIRE(waiting.valid());
  struct Break {
    const char* fault;
    std::function<void(Schedule&)> change;
  };
  const Break breaks[] = {
      {"on no lane", [&](Schedule& s) { s.steps[transfer].lane = schedule::LaneId(); }},
      {"on no channel", [&](Schedule& s) { s.steps[transfer].channel = schedule::ChannelId(); }},
      {"on other lanes than its channel",
       [&](Schedule& s) { std::swap(s.steps[transfer].lane, s.steps[transfer].to_lane); }},
      {"a location that is not there",
       [&](Schedule& s) { s.steps[transfer].inputs[0] = schedule::ValueLocationId(1000); }},
      {"lags by as many rounds as executions are in flight",
       [&](Schedule& s) { s.steps[transfer].lag = 2; }},
      {"not at its index of its lane", [&](Schedule& s) { ++s.units[waiting].index; }},
      {"a unit that is not there",
       [&](Schedule& s) { s.lanes[s.units[waiting].lane].units.emplace_back(1000); }},
      {"of no op",
       [&](Schedule& s) {
         for (Step& step : s.steps) {
           if (step.kind == Step::kCall) step.op = graph::OpId();
         }
       }},
      {"reads what nothing has written",
       [&](Schedule& s) { s.steps[transfer].inputs = s.steps[transfer].outputs; }},
      {"on no device",
       [&](Schedule& s) { s.buffers[schedule::BufferId(0)].device = graph::DeviceId(); }},
      {"waits for a unit that is not there",
       [&](Schedule& s) { s.units[waiting].waits[0].unit = UnitId(1000); }},
      {"is waited for and does not signal",
       [&](Schedule& s) { s.units[s.units[waiting].waits[0].unit].signals = false; }},
      {"waits for its own lane",
       [&](Schedule& s) {
         s.units[waiting].signals = true;
         s.units[waiting].waits[0] = {waiting, 1};
       }},
      {"stands on no boundary",
       [&](Schedule& s) {
         for (schedule::Buffer& buffer : s.buffers) {
           if (buffer.space == Space::kSlot) buffer.offset = 8;
         }
       }},
      {"begins before its arena",
       [&](Schedule& s) { s.buffers[schedule::BufferId(0)].offset = -64; }},
      {"reaches out of its buffer",
       [&](Schedule& s) { s.locations[schedule::ValueLocationId(0)].offset = 64; }},
  };
  for (const Break& one : breaks) {
    Schedule broken = made;
    one.change(broken);
    INFO(one.fault);
    CHECK(Fault(module, broken).find(one.fault) != std::string::npos);
  }
}

}  // namespace
}  // namespace cgraph

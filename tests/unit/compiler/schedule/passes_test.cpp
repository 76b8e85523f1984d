// The scheduler on graphs by hand: the steps, lanes, waits and bytes that come out.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/cost/profile.h"
#include "compiler/schedule/ir.h"
#include "compiler/schedule/options.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/modules/module_builder.h"

namespace cgraph {
namespace {

using namespace graph::testing;
using graph::ValueId;
using schedule::Schedule;
using schedule::Space;
using schedule::Step;

// Returns the printed schedules of the module's graphs, without the start graph's.
std::string Text(const graph::Module& module, const ScheduleOptions& options = {}) {
  std::vector<Schedule> schedules = SchedulesOf(module, options);
  std::string text;
  llvm::raw_string_ostream out(text);
  PrintSchedule(module, schedules, nullptr, out);
  return text.substr(text.find("schedule main"));
}

Schedule Main(const graph::Module& module) { return SchedulesOf(module)[1]; }

int Count(const Schedule& schedule, Step::Kind kind) {
  int count = 0;
  for (const Step& step : schedule.steps) count += step.kind == kind;
  return count;
}

TEST_CASE("a cpu actor reads the caller's memory and writes the output's") {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kCpu, 0));
  GraphMaker& g = module.Graph("main");
  const ValueId x = g.Input("x", Floats({D(4)}));
  g.Call(a, "twice");
  g.Output("y", g.Op("add", {x, x}, Floats({D(4)})));
  CHECK(Text(module.Build()) ==
        "schedule main\n"
        "  caller input\n"
        "    0: input x\n"
        "  cpu[0] compute\n"
        "    0: a.twice  after caller input.0\n"
        "  caller output\n"
        "    0: output y  after cpu[0] compute.0\n");
  CHECK(Count(Main(module.Build()), Step::kCopy) == 0);
}

TEST_CASE("between gpus a value is sent once per destination, and a slot waits for its readers") {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kGpu, 0));
  const auto b = module.Actor("b", module.Device(DeviceKind::kGpu, 1));
  GraphMaker& g = module.Graph("main", 2);
  g.Call(a, "make");
  const ValueId x = g.Op("zeros", std::vector<ValueId>{}, Floats({D(4)}));
  g.Call(b, "use");
  g.Op("relu", {x}, Floats({D(4)}));
  g.Call(b, "again");
  g.Op("relu", {x}, Floats({D(4)}));
  CHECK(Text(module.Build()) ==
        "schedule main, lanes one\n"
        "  gpu[0] compute\n"
        "    0: a.make  after gpu[0] comm.0 of 2 rounds before\n"
        "  gpu[0] comm\n"
        "    0: send zeros to gpu[1] comm by nccl  after gpu[0] compute.0\n"
        "  gpu[1] comm\n"
        "    0: receive zeros from gpu[0] comm by nccl  after gpu[1] compute.1 of 2 rounds before\n"
        "  gpu[1] compute\n"
        "    0: b.use  after gpu[1] comm.0\n"
        "    1: b.again\n");
  CHECK(Text(module.Build(), {.overlap = false}) ==
        "schedule main overlap off\n"
        "  gpu[0] compute\n"
        "    0: a.make\n"
        "    1: send zeros to gpu[1] compute by nccl\n"
        "  gpu[1] compute\n"
        "    0: receive zeros from gpu[0] compute by nccl\n"
        "    1: b.use\n"
        "    2: b.again\n");
}

TEST_CASE("extents travel before the tensors that need them") {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kGpu, 0));
  GraphMaker& g = module.Graph("main");
  const ValueId x = g.Input("x", Floats({g.TakenSymbol("n", 8)}));
  g.Call(a, "relu");
  g.Output("y", g.Op("relu", {x}, g.graph().values[x].type));
  CHECK(Text(module.Build()) ==
        "schedule main\n"
        "  caller input\n"
        "    0: input x  after caller output.0 of the round before\n"
        "  gpu[0] copy in\n"
        "    0: copy n to gpu[0]  after caller input.0\n"
        "    1: copy x to gpu[0]\n"
        "  gpu[0] compute\n"
        "    0: a.relu  after gpu[0] copy in.1\n"
        "  gpu[0] copy out\n"
        "    0: copy relu to caller  after gpu[0] compute.0\n"
        "  caller output\n"
        "    0: output y  after gpu[0] copy out.0\n");
}

TEST_CASE("state leaves its actor as a copy made in the actor's compute lane") {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kGpu, 0), {"w"});
  GraphMaker& g = module.Graph("main");
  g.Output("before", g.Read(module.StateOf(a, 0)));
  g.Call(a, "set");
  g.Write(module.StateOf(a, 0), g.Op("zeros", std::vector<ValueId>{}, Floats({D(4)})));
  const graph::Module built = module.Build();
  const Schedule schedule = Main(built);
  for (const schedule::ScheduleUnit& unit : schedule.units) {
    const Step& step = schedule.steps[unit.first];
    for (const auto& operands : {step.inputs, step.outputs}) {
      for (schedule::ValueLocationId id : operands) {
        if (schedule.buffers[schedule.locations[id].buffer].space != Space::kState) continue;
        CHECK(schedule.lanes[unit.lane].kind == schedule::LaneKind::kCompute);
      }
    }
  }
  CHECK(Count(schedule, Step::kCopy) == 2);
}

TEST_CASE("a value given twice, an input and a constant are copied into the output") {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kCpu, 0));
  GraphMaker& g = module.Graph("main");
  const ValueId x = g.Input("x", Floats({D(4)}));
  g.Call(a, "relu");
  const ValueId y = g.Op("relu", {x}, Floats({D(4)}));
  for (ValueId value : {y, y, x, g.Constant(Floats({D(4)}))}) g.Output("y", value);
  const Schedule schedule = Main(module.Build());
  CHECK(Count(schedule, Step::kCopy) == 3);
  std::vector<int64_t> offsets;
  for (schedule::ValueLocationId id : schedule.outputs) {
    const schedule::Buffer& buffer = schedule.buffers[schedule.locations[id].buffer];
    CHECK(buffer.space == Space::kOutput);
    offsets.push_back(buffer.offset);
  }
  std::sort(offsets.begin(), offsets.end());
  CHECK(std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end());
}

TEST_CASE("temporaries of a lane use the same bytes again") {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kCpu, 0));
  GraphMaker& g = module.Graph("main");
  ValueId x = g.Input("x", Floats({D(4)}));
  g.Call(a, "chain");
  for (int i = 0; i < 10; ++i) x = g.Op("relu", {x}, Floats({D(4)}));
  g.Output("y", x);
  const Schedule schedule = Main(module.Build());
  int64_t end = 0;
  for (const schedule::Buffer& buffer : schedule.buffers) {
    if (buffer.space == Space::kSlot) end = std::max(end, buffer.offset + 64);
  }
  CHECK(end == 2 * 64);
}

TEST_CASE("what is read in another lane is not written over before it is read") {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kCpu, 0));
  const auto b = module.Actor("b", module.Device(DeviceKind::kCpu, 1));
  GraphMaker& g = module.Graph("main");
  g.Call(a, "first");
  const ValueId x = g.Op("zeros", std::vector<ValueId>{}, Floats({D(4)}));
  g.Call(b, "use");
  g.Op("relu", {x}, Floats({D(4)}));
  g.Call(a, "second");
  g.Op("zeros", std::vector<ValueId>{}, Floats({D(4)}));
  const Schedule schedule = Main(module.Build());
  std::vector<int64_t> offsets;
  for (const schedule::Buffer& buffer : schedule.buffers) {
    if (buffer.device == module.module().instances[a].device) offsets.push_back(buffer.offset);
  }
  REQUIRE(offsets.size() == 2);
  CHECK(offsets[0] != offsets[1]);
}

// A module in which the first of three gpus makes something for each other one and, with `back`,
// gets something from the second.
graph::Module Exchange(bool both, bool back) {
  ModuleBuilder module;
  std::vector<graph::InstanceId> actors;
  for (uint32_t i = 0; i < 3; ++i) {
    actors.push_back(module.Actor("a" + std::to_string(i), module.Device(DeviceKind::kGpu, i)));
  }
  GraphMaker& g = module.Graph("main");
  const auto make = [&](size_t on) {
    g.Call(actors[on], "make");
    return g.Op("zeros", std::vector<ValueId>{}, Floats({D(4)}));
  };
  const auto use = [&](size_t on, ValueId value) {
    g.Call(actors[on], "use");
    g.Op("relu", {value}, Floats({D(4)}));
    g.last_op().effect = true;
  };
  const ValueId value = make(0);
  const ValueId other = back ? make(1) : ValueId();
  use(1, value);
  if (both) use(2, value);
  if (back) use(0, other);
  return module.Build();
}

TEST_CASE("there are as few lanes for what travels as make nothing later") {
  const auto lanes = [](const graph::Module& module, const ScheduleOptions& options = {}) {
    const std::string text = Text(module, options);
    return text.substr(0, text.find('\n'));
  };
  CHECK(lanes(Exchange(false, false)) == "schedule main, lanes one");
  CHECK(lanes(Exchange(true, false)) == "schedule main, lanes peer");
  CHECK(lanes(Exchange(false, true)) == "schedule main, lanes edge");
  CHECK(lanes(Exchange(true, true)) == "schedule main, lanes edge");
  CHECK(lanes(Exchange(true, true), {.lanes = CommLanes::kOne}) == "schedule main, lanes one");
  CHECK(lanes(Exchange(true, true), {.overlap = false}) == "schedule main overlap off");

  // In a chain over three gpus nothing waits in one execution; with several in flight the middle
  // one can receive what belongs to the next before it has sent what belongs to this one.
  ModuleBuilder chain;
  GraphMaker& g = chain.Graph("main");
  ValueId value;
  for (uint32_t i = 0; i < 3; ++i) {
    g.Call(chain.Actor("a" + std::to_string(i), chain.Device(DeviceKind::kGpu, i)), "make");
    value = i == 0 ? g.Op("zeros", std::vector<ValueId>{}, Floats({D(4)}))
                   : g.Op("relu", {value}, Floats({D(4)}));
  }
  g.last_op().effect = true;
  graph::Module module = chain.Build();
  CHECK(lanes(module) == "schedule main, lanes one");
  module.graphs[0].inflight = 3;
  CHECK(lanes(module) == "schedule main, lanes peer");
}

TEST_CASE("profiles") {
  const auto profile = [](const char* text) { return llvm::cantFail(ParseProfile(text)); };
  const Profile p = profile(
      R"({"unit": "us", "default": 0, "calls": {"Stage.forward": 1, "Stage.backward": 2.5}})");
  CHECK(p.Find("Stage.forward") == 1'000'000u);
  CHECK(p.Find("Stage.backward") == 2'500'000u);
  CHECK(p.Find("Stage.update") == 0u);
  CHECK(profile(R"({"unit": "ns", "calls": {"a": 3}})").Find("a") == 3'000u);
  CHECK(!profile(R"({"calls": {}})").Find("a"));
  // The most special name counts.
  const Profile special = profile(R"({"unit": "ns", "calls": {"a[1].f": 1, "A.f": 2, "f": 3}})");
  CHECK(special.FindCall("a[1]", "A", "f") == 1'000u);
  CHECK(special.FindCall("a[0]", "A", "f") == 2'000u);
  CHECK(special.FindCall("b", "B", "f") == 3'000u);
  CHECK(special.FindCall("", "", "f") == 3'000u);
  CHECK(!special.FindCall("a[1]", "A", "g"));

  const auto refusal = [](const char* text) {
    auto profile = ParseProfile(text);
    return profile ? std::string() : llvm::toString(profile.takeError());
  };
  const std::string kUnits =
      "a profile says the `unit` of its times: one of \"ps\" \"ns\" \"us\" \"ms\" \"s\"";
  CHECK(refusal(R"({"calls": {"a": 3}})") == kUnits);
  CHECK(refusal(R"({"default": 3})") == kUnits);
  CHECK(refusal("[1]") == "a profile is a JSON object with `unit`, `default` and `calls`");
  CHECK(refusal(R"({"unit": "h"})") == kUnits);
  CHECK(refusal("{}").find("it gives no time") == 0);
  CHECK(refusal(R"({"unit": "s"})").find("it gives no time") == 0);
  CHECK(refusal(R"({"unit": "s", "calls": {"a": -1}})") == "`a` is not a number >= 0");
  CHECK(refusal(R"({"unit": "s", "calls": {"a": 1e300}})") == "`a` is more than 104 days");
  CHECK(refusal(R"({"call": {}})").find("`call` is not a key of a profile") == 0);
  CHECK(refusal(std::string(100'000, '[').c_str()) == "more nesting than a profile has");
  CHECK(refusal((R"({"a\"[": 1, "calls": )" + std::string(100'000, '[')).c_str()) ==
        "more nesting than a profile has");
  CHECK(refusal(R"({"[[[[": 1})").find("`[[[[` is not a key") == 0);
  CHECK(refusal("{").find("not JSON: ") == 0);
  CHECK(refusal("import std.tensor\n").find("no JSON object, which a profile is") == 0);
}

}  // namespace
}  // namespace cgraph

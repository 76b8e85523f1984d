// Memory limits: no plan holds more on a device than it may, whatever the graph; and a refusal says
// by how much.
#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

#include "compiler/emit/emit.h"
#include "compiler/schedule/fit/least_memory.h"
#include "compiler/schedule/memory/layout.h"
#include "runtime/plan/prove.h"
#include "tests/support/modules/module_builder.h"
#include "tests/support/modules/random_modules.h"
#include "tests/support/modules/same_meaning.h"

namespace cgraph {
namespace {

using namespace graph::testing;
using graph::ValueId;

// Returns the bytes of slots, constants and outputs of a graph on a device.
int64_t BytesOn(const plan::Graph& graph, graph::DeviceId device) {
  int64_t bytes = 0;
  for (const plan::Arena& arena : graph.arenas) {
    const bool counts = arena.space() != plan::Space::state && arena.space() != plan::Space::input;
    if (arena.device() != device.index || !counts) continue;
    bytes += static_cast<int64_t>(arena.bytes()) * std::max<int64_t>(arena.copies(), 1);
  }
  return bytes;
}

// Returns what an engine allocates on the device that needs most: all graphs at once, and the
// states.
int64_t MostOn(const graph::Module& module, const plan::Plan& plan) {
  int64_t most = 0;
  for (graph::DeviceId device : module.devices.Ids()) {
    if (module.devices[device].kind == DeviceKind::kCaller) continue;
    int64_t bytes = plan.start ? BytesOn(*plan.start, device) : 0;
    for (const auto& graph : plan.graphs) bytes += BytesOn(*graph, device);
    for (graph::InstanceId instance : module.instances.Ids()) {
      if (module.instances[instance].device != device) continue;
      bytes += schedule::LayOutState(module, instance).bytes;
    }
    most = std::max(most, bytes);
  }
  return most;
}

// Returns the bytes that the device which needs most needs in every order: of all graphs at once.
int64_t LeastOn(const graph::Module& module, const plan::Plan& plan, CommLanes lanes) {
  std::vector<int64_t> bytes(module.devices.size(), 0);
  for (graph::DeviceId device : module.devices.Ids()) {
    if (plan.start) bytes[device.index] += BytesOn(*plan.start, device);
  }
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    schedule::Schedule prepared;
    schedule::Lower(module, module.graphs[i], lanes, prepared);
    schedule::Order(prepared);
    const schedule::LeastMemory least =
        schedule::FindLeastMemory(module, module.graphs[i], prepared);
    for (graph::DeviceId device : module.devices.Ids()) {
      const schedule::MemoryUse& use = least.uses[device.index];
      // Of outputs an arena says what one execution has.
      const int64_t own = use.slots + use.constants + use.outputs / module.graphs[i].inflight;
      REQUIRE(own <= BytesOn(*plan.graphs[i], device));
      bytes[device.index] += own + (i == 0 ? use.state : 0);
    }
  }
  int64_t most = 0;
  for (graph::DeviceId device : module.devices.Ids()) {
    if (module.devices[device].kind == DeviceKind::kCaller) continue;
    most = std::max(most, bytes[device.index]);
  }
  return most;
}

// Returns null when the module is refused.
std::unique_ptr<plan::Plan> PlanWithin(const graph::Module& module, const ScheduleOptions& options,
                                       std::string* error = nullptr) {
  const Sources sources;
  Diagnostics diagnostics(sources);
  const std::vector<schedule::Schedule> schedules = ScheduleModule(module, options, diagnostics);
  if (!diagnostics.has_errors()) return Emit(module, schedules, {});
  for (const Diagnostic& diagnostic : diagnostics.all()) REQUIRE(diagnostic.code == Code::kE0802);
  if (error != nullptr) *error = diagnostics.all()[0].message;
  return nullptr;
}

TEST_CASE("no plan of a random module holds more on a device than it may") {
  int kept = 0, tightened = 0, refused = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const graph::Module module = RandomModule(seed);
    ScheduleOptions options;
    options.overlap = seed % 4 != 0;
    options.lanes = static_cast<CommLanes>(seed % 3);
    const int64_t free = MostOn(module, *PlanWithin(module, options));
    for (const int64_t percent : {100, 80, 60}) {
      options.memory = free * percent / 100;
      const std::unique_ptr<plan::Plan> plan = PlanWithin(module, options);
      INFO("seed " << seed << ", " << *options.memory << " of " << free << " bytes");
      refused += plan == nullptr;
      REQUIRE((plan != nullptr || percent < 100));  // the free order is always one
      if (plan == nullptr) continue;
      ++kept;
      tightened += percent < 100 && free > 0;
      REQUIRE(MostOn(module, *plan) <= *options.memory);
      const plan::Verdict verdict = plan::Prove(*plan);
      INFO(verdict.message);
      REQUIRE(verdict.proved());
      REQUIRE(plan::SmallestCapacity(*plan) == 0u);
      for (size_t i = 0; i < plan->graphs.size(); ++i) {
        REQUIRE(DifferentMeaning(module, module.graphs[i], *plan, *plan->graphs[i]) == "");
      }
    }
  }
  CHECK(kept > 400);
  CHECK(tightened > 40);
  CHECK(refused > 100);
}

// Results of one gpu that another reads, each of `floats` f32.
graph::Module Stream(int count, int64_t floats, int64_t inflight = 1) {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kGpu, 0));
  const auto b = module.Actor("b", module.Device(DeviceKind::kGpu, 1));
  GraphMaker& g = module.Graph("main", inflight);
  ValueId sum = g.Input("x", Floats({D(4)}));
  for (int i = 0; i < count; ++i) {
    g.Call(a, "make");
    const ValueId made = g.Op("zeros", std::vector<ValueId>{}, Floats({D(floats)}));
    g.Call(b, "use");
    sum = g.Op("sum", {made, sum}, Floats({D(4)}));
  }
  g.Output("sum", sum);
  return module.Build();
}

TEST_CASE("lanes that drift apart are tied together where memory is short") {
  const graph::Module module = Stream(10, 256);
  const int64_t free = MostOn(module, *PlanWithin(module, {}));
  CHECK(free > 6 * 1024);
  ScheduleOptions options;
  options.memory = 2 * 1024 + 512;
  const std::unique_ptr<plan::Plan> plan = PlanWithin(module, options);
  REQUIRE(plan != nullptr);
  CHECK(MostOn(module, *plan) <= *options.memory);
  CHECK(plan::Prove(*plan).proved());
}

TEST_CASE("every copy for executions in flight counts") {
  const graph::Module module = Stream(10, 256, 3);
  ScheduleOptions options;
  options.memory = 3 * 2 * 1024 + 1024;
  const std::unique_ptr<plan::Plan> plan = PlanWithin(module, options);
  REQUIRE(plan != nullptr);
  CHECK(MostOn(module, *plan) <= *options.memory);
  CHECK(plan::Prove(*plan).proved());
  std::string error;
  options.memory = 3 * 1024 - 64;
  CHECK(PlanWithin(module, options, &error) == nullptr);
  CHECK(error.find(" too many") != std::string::npos);
}

TEST_CASE("no plan needs less than what every order is said to need") {
  int graphs = 0, tight = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const graph::Module module = RandomModule(seed);
    ScheduleOptions options;
    options.overlap = seed % 4 != 0;
    options.lanes = static_cast<CommLanes>(seed % 3);
    const int64_t free = MostOn(module, *PlanWithin(module, options));
    for (const int64_t percent : {100, 70, 50}) {
      options.memory = free * percent / 100;
      const std::unique_ptr<plan::Plan> plan = PlanWithin(module, options);
      if (plan == nullptr) continue;
      INFO("seed " << seed << ", " << *options.memory << " of " << free << " bytes");
      const int64_t least = LeastOn(module, *plan, *options.lanes);
      REQUIRE(least <= MostOn(module, *plan));
      graphs += static_cast<int>(module.graphs.size());
      tight += least > 0 && least == MostOn(module, *plan);
    }
  }
  CHECK(graphs > 1000);
  CHECK(tight > 100);  // the bound says something
}

TEST_CASE("a limit below what every order needs is refused as such, and one at it is tried") {
  const graph::Module module = Stream(10, 256);
  std::string error;
  ScheduleOptions options;
  const int64_t least = LeastOn(module, *PlanWithin(module, {}), CommLanes::kOne);
  CHECK(least == 1024 + 64 + 64);  // on gpu[1]: what was made, and two sums
  options.memory = least - 1;
  CHECK(PlanWithin(module, options, &error) == nullptr);
  CHECK(error.find("needs at least 1.1 KiB on gpu[1] in every order") != std::string::npos);
  options.memory = least;
  error.clear();
  CHECK((PlanWithin(module, options, &error) != nullptr ||
         error.find("in every order") == std::string::npos));
}

TEST_CASE("graphs that share a device get at least what each needs in every order") {
  graph::Module module;
  module.graphs.resize(2);
  const auto uses = [](int64_t start, int64_t first, int64_t second) {
    return schedule::UsesOfGraphs{{{.state = start}}, {{.state = start, .slots = first}},
                                  {{.state = start, .slots = second}}};
  };
  const schedule::DeviceLimits limits = {110};
  const auto shares = [&](const schedule::UsesOfGraphs& least, const schedule::UsesOfGraphs& free) {
    const std::vector<schedule::DeviceLimits> all =
        schedule::ShareLimits(module, limits, least, free);
    return std::pair(*all[0][0], *all[1][0]);
  };
  // 10 bytes of state leave 100, of which 70 are needed; the other 30 are shared as 180 to 10.
  CHECK(shares(uses(10, 20, 50), uses(10, 200, 60)) == std::pair<int64_t, int64_t>(58, 61));
  // Not even the least fits, or nothing uses more: in proportion.
  CHECK(shares(uses(10, 150, 50), uses(10, 150, 50)) == std::pair<int64_t, int64_t>(85, 35));
  CHECK(shares(uses(10, 20, 30), uses(10, 20, 30)) == std::pair<int64_t, int64_t>(50, 70));
}

}  // namespace
}  // namespace cgraph

// Emit: every plan that is made must be accepted by the check and by the prover.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "compiler/emit/emit.h"
#include "runtime/plan/load.h"
#include "runtime/plan/prove.h"
#include "tests/support/modules/module_builder.h"
#include "tests/support/modules/random_modules.h"
#include "tests/support/modules/same_meaning.h"

namespace cgraph {
namespace {

using namespace graph::testing;
using graph::ValueId;

std::unique_ptr<plan::Plan> MakePlan(const graph::Module& module,
                                     const ScheduleOptions& options = {}) {
  return Emit(module, SchedulesOf(module, options), {});
}

TEST_CASE("every wait is needed") {
  uint32_t waits = 0, unneeded = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const std::unique_ptr<plan::Plan> plan = MakePlan(RandomModule(seed));
    for (const auto& graph : plan->graphs) {
      // A barrier is an order that no memory shows.
      const bool barrier =
          std::any_of(graph->collectives.begin(), graph->collectives.end(),
                      [](const auto& c) { return c->kind == wire::CollectiveKind::barrier; });
      if (barrier) continue;
      for (size_t i = 0; i < graph->waits.size(); ++i) {
        // A lag that no execution reaches waits for nothing.
        const plan::Wait wait = graph->waits[i];
        graph->waits[i] = plan::Wait(wait.event(), 1000);
        ++waits;
        unneeded += plan::Prove(*plan).proved();
        graph->waits[i] = wait;
      }
    }
  }
  CHECK(waits > 1'000);
  CHECK(unneeded == 0);
}

graph::Module TwoGpus(std::optional<bool> second_overlap = std::nullopt) {
  ModuleBuilder module;
  const auto a = module.Actor("a", module.Device(DeviceKind::kGpu, 0), {"v", "w"});
  const auto b = module.Actor("b", module.Device(DeviceKind::kGpu, 1));
  for (const char* name : {"first", "second"}) {
    GraphMaker& g = module.Graph(name, 2);
    if (g.graph().name == "second") g.graph().overlap = second_overlap;
    const ValueId x = g.Input("x", Floats({D(4)}));
    g.Call(a, "make");
    const ValueId y = g.Op("scale", {x, g.Read(module.StateOf(a, 1))}, Floats({D(4)}));
    g.last_op().attributes = {{"by", 0.5}};
    g.last_op().fails = true;
    g.Write(module.StateOf(a, 1), y);
    g.Call(b, "use");
    g.Output("z", g.Op("scale", {y, y}, Floats({D(4)})));
    g.last_op().attributes = {{"by", 0.5}};
    g.last_op().fails = true;
  }
  return module.Build();
}

TEST_CASE("a plan that computes something else is told from its graph") {
  const graph::Module module = TwoGpus();
  const std::unique_ptr<plan::Plan> plan = MakePlan(module);
  plan::Graph& graph = *plan->graphs[0];
  CHECK(DifferentMeaning(module, module.graphs[0], *plan, graph) == "");
  for (plan::Instruction& instruction : graph.instructions) {
    if (instruction.kind() != plan::Kind::call || instruction.inputs() != 2) continue;
    std::swap(graph.operands[instruction.first()], graph.operands[instruction.first() + 1]);
  }
  CHECK(DifferentMeaning(module, module.graphs[0], *plan, graph) == "output 0 differs");
}

TEST_CASE("the same module gives the same plan, byte for byte, and it survives a file") {
  const std::vector<uint8_t> bytes = plan::ToBytes(*MakePlan(RandomModule(7)));
  CHECK(bytes == plan::ToBytes(*MakePlan(RandomModule(7))));
  auto read = plan::FromBytes(bytes);
  REQUIRE(read.ok());
  CHECK(bytes == plan::ToBytes(**read));
}

TEST_CASE("graphs share lanes, kernels, names and weight files") {
  const std::unique_ptr<plan::Plan> plan = MakePlan(TwoGpus());
  std::vector<std::string> kernels;
  for (const auto& kernel : plan->kernels) kernels.push_back(kernel->name);
  CHECK(kernels == std::vector<std::string>{"zeros", "copy", "scale"});
  CHECK(plan->kernels[2]->fails);
  CHECK(plan->kernels[2]->body[0]->operands == std::vector<int32_t>{0, 1, 2});
  REQUIRE(plan->weights.size() == 1);
  CHECK(plan->weights[0]->name == "f.safetensors");
  CHECK(plan->weights[0]->tensor == "w");
  CHECK(std::set<std::string>(plan->names.begin(), plan->names.end()).size() ==
        plan->names.size());

  CHECK(plan->lanes.size() == 8);  // take, give; compute, comm, copy of either gpu
  for (const auto& graph : plan->graphs) CHECK(graph->programs.size() == plan->lanes.size());
  CHECK(plan->communicators.size() == 1);
  CHECK(plan->members.size() == 2);
  CHECK(plan->workers == 3);
}

TEST_CASE("without overlap nccl is used by other lanes, hence by another communicator") {
  const std::unique_ptr<plan::Plan> plan = MakePlan(TwoGpus(false));
  CHECK(plan->communicators.size() == 2);
  CHECK(plan->graphs[0]->channels[0].communicator() == 0);
  CHECK(plan->graphs[1]->channels[0].communicator() == 1);
  CHECK(plan::Prove(*plan).proved());
}

TEST_CASE("state has its actor's layout in every graph") {
  const std::unique_ptr<plan::Plan> plan = MakePlan(TwoGpus());
  const plan::Actor& actor = *plan->actors[0];
  REQUIRE(actor.states.size() == 2);
  CHECK(actor.states[1]->offset == 64);
  CHECK(actor.state_bytes == 128);
  for (const plan::Graph* graph : {plan->start.get(), plan->graphs[0].get()}) {
    for (const plan::Buffer& buffer : graph->buffers) {
      const plan::Arena& arena = graph->arenas[buffer.arena()];
      if (arena.space() != plan::Space::state) continue;
      CHECK(arena.owner() == 0);
      CHECK(arena.bytes() == actor.state_bytes);
      CHECK((buffer.offset() == 0 || buffer.offset() == 64));
    }
  }
  uint32_t commits = 0;
  for (const plan::Instruction& instruction : plan->graphs[0]->instructions) {
    commits += (instruction.flags() & plan::kCommitsState) != 0;
  }
  CHECK(commits == 1);
}

TEST_CASE("sites and the digest come from the sources") {
  Sources sources;
  const SourceId source = sources.Add("f.cgraph", "graph main() {\n  a.run()\n}\n");
  ModuleBuilder builder;
  GraphMaker& g = builder.Graph("main");
  g.Call(builder.Actor("a", builder.Device(DeviceKind::kCpu, 0)), "run");
  g.Op("zeros", std::vector<ValueId>{}, Floats({D(4)}));
  graph::Module module = builder.Build();
  module.graphs[0].calls[graph::CallId(0)].site = {source, 17, 24};
  module.parameters = {{"B", "64"}};
  const EmitOptions options{.sources = &sources, .compiler = "cgc 1"};
  const std::unique_ptr<plan::Plan> plan = Emit(module, SchedulesOf(module), options);
  REQUIRE(plan->sites.size() == 1);
  CHECK(plan->sites[0].line() == 2);
  CHECK(plan->sites[0].column() == 3);
  CHECK(plan->files == std::vector<std::string>{"f.cgraph"});
  CHECK(plan->source_digest.size() == 20);
  CHECK(plan->parameters[0]->value == "64");
  CHECK(plan->compiler == "cgc 1");
}

}  // namespace
}  // namespace cgraph

// Parts of plans for the ranks of nodes: each has the node's own lanes as the plan has them, of
// other lanes what communicates with these, and little more than its share of the plan.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/load.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/print.h"
#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

using plan::GraphIndex;
using plan::Plan;

std::unique_ptr<Plan> Compile(const std::string& file,
                              std::map<std::string, std::string> defines = {}) {
  CompileOptions options;
  options.defines = std::move(defines);
  options.no_rewrite = {"all"};
  return CompileFile(CGRAPH_SOURCE_DIR + ("/" + file), std::move(options));
}

uint32_t NodeOf(const Plan& plan, uint32_t lane) {
  return plan.devices[plan.lanes[lane].device()]->node;
}

uint32_t NodesOf(const Plan& plan) {
  uint32_t nodes = 1;
  for (const auto& device : plan.devices) nodes = std::max(nodes, device->node + 1);
  return nodes;
}

// Events: numbers of events in the order in which they are met.
using Events = std::map<uint32_t, size_t>;

std::string EventsText(const plan::Graph& graph, const plan::Instruction& at, Events& events) {
  const auto number = [&](uint32_t event) {
    return std::to_string(events.emplace(event, events.size()).first->second);
  };
  if (at.kind() == plan::Kind::signal) return "signal " + number(at.subject());
  std::string text = "wait";
  for (uint32_t w = at.first(); w < at.first() + at.inputs(); ++w) {
    text += " " + number(graph.waits[w].event()) + "-" + std::to_string(graph.waits[w].lag());
  }
  return text;
}

// Returns what is said of an instruction and its operands, whatever their numbers are.
std::string Told(const Plan& plan, const plan::Graph& graph, const GraphIndex& index, uint32_t i,
                 Events& events) {
  const plan::Instruction& at = graph.instructions[i];
  const bool of_events = at.kind() == plan::Kind::signal || at.kind() == plan::Kind::wait;
  std::string text =
      (of_events ? EventsText(graph, at, events) : plan::InstructionText(plan, graph, i)) + " " +
      std::to_string(at.certificate_position()) + " " + std::to_string(at.program_order()) + " " +
      std::to_string(at.lag());
  if (at.kind() == plan::Kind::call) text += " " + plan.kernels[at.subject()]->name;
  index.ForEachOperand(i, [&](uint32_t id, bool write, uint32_t) {
    const plan::Value& value = graph.values[id];
    const plan::Buffer& buffer = graph.buffers[value.buffer()];
    text += (write ? " > " : " < ") + plan::TypeText(plan, graph, id) + " " +
            std::to_string(buffer.arena()) + "+" + std::to_string(buffer.offset()) + "+" +
            std::to_string(value.offset());
  });
  return text;
}

// Compares a lane of the node, instruction by instruction.
void CheckOwnLane(const Plan& whole, const Plan& part, uint32_t g, uint32_t lane,
                  const GraphIndex& index, const GraphIndex& part_index, Events events[2]) {
  const plan::Graph& graph = plan::GraphAt(whole, g);
  const plan::Graph& kept = plan::GraphAt(part, g);
  REQUIRE(kept.programs[lane].count() == graph.programs[lane].count());
  for (uint32_t i = 0; i < graph.programs[lane].count(); ++i) {
    REQUIRE(Told(part, kept, part_index, kept.programs[lane].first() + i, events[0]) ==
            Told(whole, graph, index, graph.programs[lane].first() + i, events[1]));
  }
}

// Checks that what the node's lanes communicate with is all there, and nothing else of other nodes.
void CheckOthers(const Plan& whole, uint32_t g, uint32_t node, const GraphIndex& index,
                 const GraphIndex& part_index) {
  const plan::Graph& graph = plan::GraphAt(whole, g);
  for (uint32_t c = 0; c < graph.channels.size(); ++c) {
    const bool touched = NodeOf(whole, graph.channels[c].from_lane()) == node ||
                         NodeOf(whole, graph.channels[c].to_lane()) == node;
    CHECK(part_index.sends(c).size() == (touched ? index.sends(c).size() : 0));
    CHECK(part_index.receives(c).size() == (touched ? index.receives(c).size() : 0));
  }
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> expected, found;
  for (const auto& at : index.collective_parts()) {
    const plan::Communicator& communicator = whole.communicators[at.communicator];
    const auto first = whole.members.begin() + communicator.first_member();
    if (std::any_of(first, first + communicator.members(),
                    [&](uint32_t lane) { return NodeOf(whole, lane) == node; })) {
      expected.emplace_back(at.communicator, at.turn, at.member);
    }
  }
  for (const auto& at : part_index.collective_parts()) {
    found.emplace_back(at.communicator, at.turn, at.member);
  }
  CHECK(found == expected);
}

void CheckPart(const Plan& whole, const Plan& part, uint32_t node) {
  std::vector<uint32_t> graphs;
  for (uint32_t g = 0; g < whole.graphs.size(); ++g) graphs.push_back(g);
  if (whole.start) graphs.push_back(plan::kNone);
  for (uint32_t g : graphs) {
    GraphIndex index(whole, plan::GraphAt(whole, g)), part_index(part, plan::GraphAt(part, g));
    index.IndexMessages();
    part_index.IndexMessages();
    Events events[2];
    for (uint32_t lane = 0; lane < whole.lanes.size(); ++lane) {
      if (NodeOf(whole, lane) != node) continue;
      CheckOwnLane(whole, part, g, lane, index, part_index, events);
    }
    CHECK(plan::GraphAt(part, g).events == events[0].size());
    CheckOthers(whole, g, node, index, part_index);
  }
}

// Returns how many entries the tables of a plan have, from which a rank makes its own.
uint64_t Entries(const Plan& plan) {
  uint64_t entries = plan.names.size() + plan.kernels.size();
  const auto add = [&](const plan::Graph& graph) {
    entries += graph.instructions.size() + graph.operands.size() + graph.parts.size() +
               graph.waits.size() + graph.events + graph.calls.size() + graph.values.size() +
               graph.dims.size() + graph.buffers.size() + graph.collectives.size();
  };
  if (plan.start) add(*plan.start);
  for (const auto& graph : plan.graphs) add(*graph);
  return entries;
}

TEST_CASE("a part of a plan has a node's lanes, and what these communicate with") {
  const auto whole =
      Compile("bench/many_machines/step.cgraph", {{"D", "2"}, {"P", "3"}, {"T", "2"}, {"M", "2"}});
  plan::NodeParts parts(*whole);
  REQUIRE(NodesOf(*whole) == 6);
  for (uint32_t node = 0; node < 6; ++node) {
    CAPTURE(node);
    auto part = plan::FromBytes(plan::ToBytes(*parts.Of(node).plan));
    REQUIRE(part.ok());
    CheckPart(*whole, **part, node);
  }
}

TEST_CASE("a part of a plan of symbols, lags, constants and collectives has what it needs") {
  for (const char* nodes : {"2", "4"}) {
    const auto whole = Compile("tests/ranks/machines.cgraph", {{"NODES", nodes}});
    plan::NodeParts parts(*whole);
    for (uint32_t node = 0; node < NodesOf(*whole); ++node) {
      CAPTURE(nodes, node);
      CheckPart(*whole, *parts.Of(node).plan, node);
    }
  }
}

TEST_CASE("a part of a plan of 32 nodes is little more than a 32nd of it") {
  const auto whole =
      Compile("bench/many_machines/step.cgraph", {{"D", "4"}, {"P", "8"}, {"M", "8"}});
  const uint32_t nodes = NodesOf(*whole);
  REQUIRE(nodes == 32);
  plan::NodeParts parts(*whole);
  const uint64_t all = Entries(*whole);
  const size_t bytes = plan::ToBytes(*whole).size();
  // Rank 0's lanes of the caller give the inputs to all others, which takes messages.
  for (uint32_t node = 1; node < nodes; ++node) {
    const auto part = parts.Of(node).plan;
    CAPTURE(node, Entries(*part), all, plan::ToBytes(*part).size(), bytes);
    CHECK(Entries(*part) * nodes < all * 2);
    CHECK(plan::ToBytes(*part).size() * nodes < bytes * 3);
  }
}

}  // namespace
}  // namespace cgraph::testing

// Rewrites: which programs are rewritten, which are not, and that either form gives the same bits.
#include <catch2/catch.hpp>

#include <map>

#include "runtime/plan/kinds.h"
#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

const std::string kFile = CGRAPH_SOURCE_DIR "/tests/conformance/rewrites.cgraph";
const std::string kRelay = CGRAPH_SOURCE_DIR "/tests/conformance/rewrites_relay.cgraph";
const std::string kMessages = CGRAPH_SOURCE_DIR "/tests/conformance/rewrites_messages.cgraph";

std::vector<std::string> Collectives(const plan::Graph& graph) {
  std::vector<std::string> kinds;
  for (const auto& collective : graph.collectives) {
    kinds.push_back(plan::CollectiveName(*collective));
  }
  return kinds;
}

// Returns all bytes of all outputs, in order. Every input is the same.
std::string Run(std::unique_ptr<plan::Plan> plan) {
  std::vector<std::string> names;
  for (const auto& port : plan->graphs[0]->inputs) names.push_back(port->name);
  Result<std::unique_ptr<Engine>> engine = Engine::Load(std::move(plan), {});
  REQUIRE(engine.ok());
  const float x[] = {0.1f, 2, 3.3f, -4, 5e-8f, 6, 7.7f, 8e8f};
  const int64_t dims[] = {8};
  std::vector<Input> inputs;
  for (const std::string& name : names) inputs.push_back({name, x, plan::DType::f32, dims});
  Result<Execution> execution = (*engine)->Execute(0u, inputs);
  REQUIRE(execution.ok());
  const Result<Outputs> outputs = execution->Get();
  REQUIRE(outputs.ok());
  std::string bytes;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const device::Tensor& output = (*outputs)[i];
    bytes.append(static_cast<const char*>(output.data),
                 output.elements() * plan::DTypeBytes(output.dtype));
  }
  return bytes;
}

TEST_CASE("pairs of collectives that are one become one, and give the same bits") {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"by_root", {"all_reduce"}},
      {"other_order", {"all_reduce"}},
      {"root_reads", {"all_reduce"}},
      {"several", {"all_reduce"}},
      {"by_parts", {"all_reduce"}},
      {"fewer_places", {"reduce", "broadcast"}},
      {"changed_between", {"reduce", "broadcast"}},
      {"part_is_read", {"reduce_scatter", "all_gather"}},
      {"other_ranks", {"reduce_scatter", "all_gather"}},
      {"other_way", {"reduce", "broadcast"}},
  };
  for (const auto& [graph, kinds] : expected) {
    INFO(graph);
    CompileOptions options;
    options.graphs = {graph};
    std::unique_ptr<plan::Plan> rewritten = CompileFile(kFile, options);
    CHECK(Collectives(*rewritten->graphs[0]) == kinds);
    options.no_rewrite = {"all"};
    std::unique_ptr<plan::Plan> plain = CompileFile(kFile, options);
    CHECK(Collectives(*plain->graphs[0]).size() == 2);
    CHECK(Run(std::move(rewritten)) == Run(std::move(plain)));
  }
}

TEST_CASE("one rewrite is turned off by its name") {
  CompileOptions options;
  options.graphs = {"by_root"};
  options.no_rewrite = {"scatter_gather"};
  CHECK(Collectives(*CompileFile(kFile, options)->graphs[0]).size() == 1);
  options.no_rewrite = {"reduce_broadcast"};
  CHECK(Collectives(*CompileFile(kFile, options)->graphs[0]).size() == 2);
}

// Returns how many values each message carries, one after another, and then how many broadcasts
// there are.
struct Travel {
  std::vector<int> messages;
  int broadcasts = 0;
  bool operator==(const Travel&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Travel& travel) {
  for (int values : travel.messages) out << values << " ";
  return out << "and " << travel.broadcasts << " broadcasts";
}

Travel TravelOf(const plan::Graph& graph) {
  Travel travel;
  for (const plan::CommPart& part : graph.parts) {
    if (part.part() == plan::Part::send) travel.messages.push_back(part.inputs());
  }
  travel.broadcasts = static_cast<int>(graph.collectives.size());
  return travel;
}

struct Expected {
  Travel rewritten, plain;
};
const std::map<std::string, Expected> kTravels = {
    {"to_all", {{{}, 1}, {{1, 1, 1, 1}}}},
    {"pairs_to_all", {{{}, 1}, {{1, 1, 1, 1, 1, 1, 1, 1}}}},
    {"read_twice", {{{}, 1}, {{1, 1, 1}}}},
    {"to_two", {{{1, 1}}, {{1, 1}}}},
    {"one_after_another", {{{1, 1, 1, 1, 1, 1, 1}}, {{1, 1, 1, 1, 1, 1, 1}}}},
    {"two_ways", {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}}},
    {"inputs_to_all", {{{}}, {{}}}},
    {"of_one_call", {{{2}}, {{1, 1}}}},
    {"of_state", {{{2}}, {{1, 1}}}},
    {"for_one_call", {{{2}}, {{1, 1}}}},
    {"for_several", {{{1, 1}}, {{1, 1}}}},
    {"through_each_other", {{{1, 1, 1}}, {{1, 1, 1}}}},
    {"made_slowly", {{{1, 1}}, {{1, 1}}}},
    {"one_is_large", {{{1, 1}}, {{1, 1}}}},
    {"unknown_extents", {{{1, 1}}, {{1, 1}}}},
};

TEST_CASE("what travels together is sent together, and gives the same bits") {
  for (const auto& [graph, expected] : kTravels) {
    INFO(graph);
    CompileOptions options;
    options.graphs = {graph};
    options.inflight = 2;
    std::unique_ptr<plan::Plan> rewritten = CompileFile(kMessages, options);
    CHECK(TravelOf(*rewritten->graphs[0]) == expected.rewritten);
    options.no_rewrite = {"broadcast", "bucket"};
    std::unique_ptr<plan::Plan> plain = CompileFile(kMessages, options);
    CHECK(TravelOf(*plain->graphs[0]) == expected.plain);
    CHECK(Run(std::move(rewritten)) == Run(std::move(plain)));
  }
}

TEST_CASE("messages stay apart where one after another costs nothing, or memory is short") {
  const auto travel = [](const char* graph, CompileOptions options) {
    options.graphs = {graph};
    return TravelOf(*CompileFile(kMessages, options)->graphs[0]);
  };
  CHECK(travel("to_all", {.lanes = CommLanes::kPeer}) == kTravels.at("to_all").plain);
  CHECK(travel("of_one_call", {.lanes = CommLanes::kEdge}) ==
        kTravels.at("of_one_call").rewritten);
  for (const char* graph : {"to_all", "of_one_call", "for_one_call"}) {
    INFO(graph);
    CHECK(travel(graph, {.memory = 1 << 20}) == kTravels.at(graph).plain);
    cost::Topology free = cost::AssumedTopology();
    free.nccl = {0, 0, cost::kEndless};
    CHECK(travel(graph, {.topology = &free}) == kTravels.at(graph).plain);
  }
}

TEST_CASE("what is small is so by the machine's links") {
  cost::Topology narrow = cost::AssumedTopology();
  narrow.nccl.bytes_per_us = 5;  // 33 bytes in a latency: 32 and no more
  const Travel apart = kTravels.at("of_one_call").plain;
  CompileOptions options;
  options.topology = &narrow;
  options.graphs = {"of_one_call"};
  CHECK(TravelOf(*CompileFile(kMessages, options)->graphs[0]) == apart);
  narrow.nccl.bytes_per_us = 10;  // 66: both
  CHECK(TravelOf(*CompileFile(kMessages, options)->graphs[0]).messages == std::vector<int>{2});
}

TEST_CASE("what goes through a third gpu goes there once, and gives the same bits") {
  const std::map<std::string, Expected> travels = {
      {"across", {{{1, 1}}, {{1}}}},
      {"read_between", {{{1, 1}}, {{1, 1}}}},
      {"together_between", {{{1, 2, 1}}, {{1, 2}}}},
      {"with_little_memory", {{{1}}, {{1}}}},
  };
  for (const auto& [graph, expected] : travels) {
    INFO(graph);
    CompileOptions options;
    options.graphs = {graph};
    options.machine = "chain";
    std::unique_ptr<plan::Plan> rewritten = CompileFile(kRelay, options);
    CHECK(TravelOf(*rewritten->graphs[0]) == expected.rewritten);
    options.no_rewrite = {"relay"};
    std::unique_ptr<plan::Plan> plain = CompileFile(kRelay, options);
    CHECK(TravelOf(*plain->graphs[0]) == expected.plain);
    CHECK(Run(std::move(rewritten)) == Run(std::move(plain)));
  }
}

TEST_CASE("a profile says what is made slowly") {
  CompileOptions options;
  options.graphs = {"for_one_call"};
  options.profile.emplace();
  options.profile->call_ps["Source.make"] = 10'000'000;  // longer than a message's latency
  CHECK(TravelOf(*CompileFile(kMessages, options)->graphs[0]).messages == std::vector<int>{1, 1});
  options.profile->call_ps["Source.make"] = 1'000'000;
  CHECK(TravelOf(*CompileFile(kMessages, options)->graphs[0]).messages == std::vector<int>{2});
}

}  // namespace
}  // namespace cgraph::testing

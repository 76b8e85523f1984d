// Renumber: everything that refers to a row of a graph follows it. Renumbered by a permutation and
// back, a graph is the one that it was; and when rows are removed, the others still refer to the
// same rows.
#include "compiler/graph/renumber.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "compiler/graph/graph.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/support/elaborated.h"

using namespace cgraph;
using namespace cgraph::graph;

namespace {

// A program with views, symbols, `after`, rules and fused calls, and a bucket.
constexpr char kProgram[] = R"(
import std.tensor
actor A() {
  state w: f32[4] = zeros()
  method f(x: f32[n, 4]) -> f32[n, 4] { return x + w }
  method b(x: f32[n, 4]) -> f32[n, 4] { return x * w }
}
place a[i in 0..2] = A() on gpu[i]
schedule s() { prefer b > f  fuse f b }
graph g(x: f32[n <= 8, 4], y: [f32[3, 4]; 2]) -> (f32[n, 4], f32[4], f32[4]) using s {
  var z = x
  for m in 0..2 { z = a[0].b(a[0].f(z)) }
  let t = a[1].b(a[1].f(z)) after z
  let u = y[0][1] + y[1][2]
  return (t, u, u + y[0][0] after t)
})";

std::string Text(const Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Print(module, out);
  return out.str();
}

template <typename IdType>
std::vector<IdType> Shuffled(size_t count, std::mt19937& random) {
  std::vector<IdType> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(IdType(i));
  std::shuffle(ids.begin(), ids.end(), random);
  return ids;
}

}  // namespace

TEST_CASE("a permutation of every table, and back") {
  auto program = cgraph::testing::Good(kProgram);
  Graph& graph = program->module.graphs.at(0);
  REQUIRE(graph.rules);
  REQUIRE(graph.values.size() > 4);
  graph.buckets.push_back({DeviceId(1), {}, {ValueId(1), ValueId(2), ValueId(4)}});
  const std::string before = Text(program->module);
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    Renumbering to{Shuffled<SymbolId>(graph.symbols.size(), random),
                   Shuffled<ValueId>(graph.values.size(), random),
                   Shuffled<OpId>(graph.ops.size(), random),
                   Shuffled<CallId>(graph.calls.size(), random)};
    const Graph old = graph;
    Renumber(graph, to);
    CHECK(Text(program->module) != before);
    for (OpId id : old.ops.Ids()) {
      const Op &op = old.ops[id], &now = graph.ops[to.ops[id.index]];
      CHECK(now.name == op.name);
      CHECK(now.call == to.calls[op.call.index]);
      for (ValueId result : now.results) {
        CHECK(graph.values[result].producer == to.ops[id.index]);
      }
    }
    for (ValueId id : old.values.Ids()) {
      const Value &value = old.values[id], &now = graph.values[to.values[id.index]];
      CHECK(now.type.dims.size() == value.type.dims.size());
      if (value.base.valid()) CHECK(now.base == to.values[value.base.index]);
    }
    for (size_t call = 0; call < old.calls.size(); ++call) {
      const CallRule &rule = old.rules->calls[call],
                     &now = graph.rules->calls[to.calls[call].index];
      CHECK(now.kind == rule.kind);
      CHECK(now.fused == (rule.fused.valid() ? to.calls[rule.fused.index] : CallId()));
    }
    // IdsByOrder of a permutation is its inverse.
    Renumber(graph, {IdsByOrder(to.symbols), IdsByOrder(to.values), IdsByOrder(to.ops),
                     IdsByOrder(to.calls)});
    REQUIRE(Text(program->module) == before);
  }
}

TEST_CASE("rows that go") {
  auto program = cgraph::testing::Good(kProgram);
  Graph& graph = program->module.graphs.at(0);
  const ValueId output = graph.outputs[0].use.value;
  const OpId maker = graph.values[output].producer;
  // The last op and what it makes, which only outputs read.
  const OpId last(graph.ops.size() - 1);
  std::erase_if(graph.outputs, [&](const Port& port) {
    return graph.values[port.use.value].producer == last;
  });
  std::vector<bool> ops(graph.ops.size(), true), values(graph.values.size(), true);
  ops[last.index] = false;
  for (ValueId result : graph.ops[last].results) values[result.index] = false;
  const ValueId gone = graph.ops[last].results[0];
  graph.buckets.push_back({DeviceId(1), {}, {output, gone}});
  graph.buckets.push_back({DeviceId(1), {}, {ValueId(0), output, gone}});
  const size_t before = graph.values.size();
  Renumber(graph, {.values = IdsOfKept<ValueId>(values), .ops = IdsOfKept<OpId>(ops)});
  CHECK(graph.values.size() == before - 1);
  CHECK(graph.values[graph.outputs[0].use.value].producer == maker);
  REQUIRE(graph.buckets.size() == 1);
  CHECK(graph.buckets[0].values == std::vector<ValueId>{ValueId(0), graph.outputs[0].use.value});
}

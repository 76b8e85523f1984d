// Programs as text in, ops and calls out: the examples, and a graph as it prints.
#include <string>

#include "compiler/graph/transports.h"
#include "tests/support/checked.h"
#include "tests/support/elaborated.h"

using namespace cgraph;
using namespace cgraph::testing;

TEST_CASE("two_way: four calls, state committed by a copy") {
  auto result = Good(Example("two_way.cgraph"));
  const graph::Graph& graph = result->Only();
  CHECK(graph.calls.size() == 4);
  CHECK(Ops(graph) == "multiply multiply add copy add copy");
  CHECK(Ops(result->module.start) == "zeros copy zeros copy");
  CHECK(graph.outputs[1].name == "result[1]");
  CHECK(graph.ops[graph::OpId(2)].operands[1].via.transport == TransportKind::kNccl);
}

TEST_CASE("round_trip: a method that returns its argument copies it home") {
  auto result = Good(Example("round_trip.cgraph"));
  const graph::Graph& graph = result->Only();
  CHECK(Ops(graph) == "copy");
  CHECK(graph.calls[graph::CallId(0)].method == "echo");
}

TEST_CASE("chain: -D changes how many") {
  auto result = Good(Example("chain.cgraph"));
  CHECK(result->Only().calls.size() == 4);
  CHECK(result->Only().inflight == 4);
  ElaborateOptions options;
  options.defines["N"] = "8";
  options.inflight = 3;
  auto longer = Good(Example("chain.cgraph"), options);
  CHECK(longer->Only().calls.size() == 8);
  CHECK(longer->Only().inflight == 3);
  CHECK(longer->module.parameters == decltype(longer->module.parameters){{"N", "8"}});
}

TEST_CASE("-D chooses a module, and what a module declares") {
  TempFolder folder;
  folder.Write("floats.cgraph", "import std.tensor\nconst K = 2\ntype W = f32\n"
               "fn f(x: W[n]) -> W[n] { return x * K }\n");
  folder.Write("lib/halves.cgraph", "import std.tensor\ntype W = f16\n"
               "fn f(x: f16[n]) -> f16[n] { return x + x }\n");
  const std::string text =
      "import floats as m\nimport floats as again\nimport lib.halves as O\nconst N = 4\n"
      "const O = 1\n"
      "graph g(x: m.W[N]) -> m.W[N] { return m.f(x) }\n"
      "graph h(x: again.W[O]) -> again.W[O] { return again.f(x) }\n";
  using Defines = std::map<std::string, std::string>;
  const auto run = [&](const Defines& defines) {
    ElaborateOptions options;
    options.defines = defines;
    auto result = Run(text, options, (folder.path() / "main.cgraph").string());
    std::string said = result->Codes();
    if (!said.empty()) return said;
    for (const graph::Graph& graph : result->module.graphs) {
      said += OutputType(graph) + " " + Ops(graph) + "; ";
    }
    for (const auto& [name, value] : result->module.parameters) said += name + "=" + value + " ";
    return said;
  };
  const std::string usual = "N=4 O=1 ";
  CHECK(run({}) == "f32[4] multiply; f32[1] multiply; " + usual);
  CHECK(run({{"m", "lib.halves"}}) == "f16[4] add; f32[1] multiply; " + usual + "m=lib.halves ");
  // Both aliases are of one file, unless -D chooses another one for one of them.
  CHECK(run({{"m.W", "bf16"}}) == "bf16[4] multiply; bf16[1] multiply; " + usual + "m.W=bf16 ");
  CHECK(run({{"again.W", "i64"}}) == "i64[4] multiply; i64[1] multiply; " + usual +
                                         "again.W=i64 ");
  CHECK(run({{"again", "lib.halves"}, {"m.W", "bf16"}}) ==
        "bf16[4] multiply; f16[1] add; " + usual + "m.W=bf16 again=lib.halves ");
  CHECK(run({{"m.K", "7"}, {"again", "floats"}}) ==
        "f32[4] multiply; f32[1] multiply; " + usual + "m.K=7 again=floats ");
  // A const is meant before an alias of its name.
  CHECK(run({{"O", "3"}}) == "f32[4] multiply; f32[3] multiply; N=4 O=3 ");
  CHECK(run({{"m.K", "7"}, {"again.K", "8"}}) == "E0501");
  CHECK(run({{"m", "lib.halves"}, {"m.K", "7"}}) == "E0501");
}

TEST_CASE("scatter_gather: a list is one port per element") {
  auto result = Good(Example("scatter_gather.cgraph"));
  const graph::Graph& graph = result->Only();
  CHECK(graph.calls.size() == 4);
  CHECK(graph.outputs.size() == 4);
  CHECK(graph.outputs[3].name == "result[3]");
}

TEST_CASE("pipeline_1f1b: every tick of the schedule") {
  auto result = Good(Example("pipeline_1f1b.cgraph"));
  const graph::Graph& graph = result->module.graphs[0];
  size_t forward = 0, backward = 0, update = 0;
  for (const graph::Call& call : graph.calls) {
    forward += call.method == "forward";
    backward += call.method == "backward";
    update += call.method == "update";
  }
  CHECK(forward == 32);
  CHECK(backward == 32);
  CHECK(update == 4);
  CHECK(result->module.instances.size() >= 4);
}

TEST_CASE("digits: a bounded batch, weights loaded in the start graph") {
  auto result = Good(R"(
import std.tensor
import std.nn
const B = 64
actor Layer(name: str, inputs: int, outputs: int) {
  state w: f32[inputs, outputs] = load("digits.safetensors", "{name}.weight")
  state b: f32[outputs]         = load("digits.safetensors", "{name}.bias")
  method hidden(x: f32[n, inputs]) -> f32[n, outputs] { return relu(x @ w + b) }
  method logits(x: f32[n, inputs]) -> f32[n, outputs] { return x @ w + b }
}
actor Judge() { method best(s: f32[n, c]) -> i64[n] { return argmax(s, dim: 1) } }
place first  = Layer("fc1", 64, 32) on gpu[0]
place second = Layer("fc2", 32, 10) on gpu[1]
place judge  = Judge() on gpu[2]
graph classify(x: f32[n <= B, 64]) -> (scores: f32[n, 10], label: i64[n]) inflight 2 {
  let h = first.hidden(x) via auto
  let s = second.logits(h)
  return (scores: s, label: judge.best(s))
})");
  const graph::Graph& graph = result->Only();
  CHECK(Ops(graph) == "matmul add relu matmul add argmax");
  CHECK(graph.symbols.size() == 1);
  CHECK(OutputType(graph, 0) == "f32[n <= 64, 10]");
  CHECK(OutputType(graph, 1) == "i64[n <= 64]");
  CHECK(graph.outputs[1].name == "label");
  CHECK(Ops(result->module.start) == "load copy load copy load copy load copy");
  const graph::Op& load = *result->module.start.ops.begin();
  CHECK(std::get<std::string>(load.attributes[1].value) == "fc1.weight");
  CHECK(result->module.start.calls[graph::CallId(0)].method == "state w");
  CHECK(graph.ops[graph::OpId(0)].flops == 2 * 64 * 64 * 32);
}

TEST_CASE("the printed graph, line by line") {
  auto result =
      WithCounter("graph g(x: i64) -> i64 { for m in 2..3 { a.inc(x) } return a.inc(x) }");
  std::string text = Printed(result->module);
  CHECK(text.substr(text.find("graph g\n")) ==
        "graph g\n"
        "  input  x: %0 i64\n"
        "  %1 i64 = state a.i\n"
        "  %2 i64 = add(%1, %0)  @a.inc m=2\n"
        "  %3 i64 = copy(%2) -> a.i  @a.inc m=2\n"
        "  %4 i64 = add(%3, %0)  @a.inc\n"
        "  %5 i64 = copy(%4) -> a.i  @a.inc\n"
        "  output result: %4 i64\n");
}

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
    if (result->diagnostics->has_errors()) return result->Text();
    std::string said;
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
  const auto said = [&](const Defines& defines, const std::string& words) {
    INFO(run(defines));
    return run(defines).find("error: " + words + " [E0501]") != std::string::npos;
  };
  CHECK(said({{"m.K", "7"}, {"again.K", "8"}},
             "-D m.K=7 and -D again.K=8 give one const, `K` of floats; leave one out"));
  CHECK(said({{"m.W", "f16"}, {"again.W", "f16"}},
             "-D m.W=f16 and -D again.W=f16 give one dtype, `W` of floats; leave one out"));
  CHECK(said({{"again.Foo", "1"}},
             "-D again.Foo=1: `floats` has no const or dtype `Foo`; it has K, W"));
  CHECK(said({{"m", "lib.halves"}, {"m.K", "7"}},
             "-D m.K=7: `lib.halves` has no const or dtype `K`; it has W"));
}

TEST_CASE("-D chooses a module of the library") {
  TempFolder folder;
  folder.Write("mine.cgraph", "import std.tensor\nfn relu(x: f32[n]) -> f32[n] { return x + x }\n");
  ElaborateOptions options;
  const auto ops = [&] {
    return Ops(Run("import mine as m\ngraph g(x: f32[4]) -> f32[4] { return m.relu(x) }\n", options,
                   (folder.path() / "main.cgraph").string())
                   ->Only());
  };
  CHECK(ops() == "add");
  options.defines = {{"m", "std.nn"}};
  CHECK(ops() == "relu");
}

TEST_CASE("-D where two imports have one alias") {
  TempFolder folder;
  folder.Write("floats.cgraph", "const K = 2\nconst L = 3\ntype W = f32\ntype V = f32\n");
  folder.Write("other.cgraph", "const K = 4\nconst V = 5\nconst M = 6\ntype W = f16\n");
  const std::string text =
      "import floats as m\nimport other as m\nimport other as m\nimport other as o\n"
      "graph g(x: f32[m.L, m.M]) -> f32[m.L, m.M] { return x }\n";
  const auto run = [&](const std::map<std::string, std::string>& defines) {
    ElaborateOptions options;
    options.defines = defines;
    auto result = Run(text, options, (folder.path() / "main.cgraph").string());
    if (result->diagnostics->has_errors()) return result->Text();
    std::string said = OutputType(result->Only());
    for (const auto& [name, value] : result->module.parameters) said += " " + name + "=" + value;
    return said;
  };
  const auto said = [&](const std::map<std::string, std::string>& defines,
                        const std::string& words) {
    INFO(run(defines));
    return run(defines).find("error: " + words + " [E0501]") != std::string::npos;
  };
  CHECK(run({}) == "f32[3, 6]");
  CHECK(run({{"m.L", "7"}, {"m.M", "8"}}) == "f32[7, 8] m.L=7 m.M=8");
  CHECK(run({{"o.M", "8"}, {"o.K", "9"}}) == "f32[3, 8] o.K=9 o.M=8");
  CHECK(run({{"o", "other"}, {"o.M", "8"}}) == "f32[3, 8] o.M=8 o=other");
  CHECK(said({{"m.K", "9"}},
             "-D m.K=9: `m.K` is a const of floats and of other; give them two aliases"));
  CHECK(said({{"m.W", "i8"}},
             "-D m.W=i8: `m.W` is a dtype of floats and of other; give them two aliases"));
  CHECK(said({{"m.V", "i8"}},
             "-D m.V=i8: `m.V` is a dtype of floats and a const of other; give them two aliases"));
  CHECK(said({{"m", "floats"}},
             "-D m=floats: `m` is an alias of floats and of other; give them two aliases"));
  CHECK(said({{"m.M", "1"}, {"o.M", "2"}},
             "-D m.M=1 and -D o.M=2 give one const, `M` of other; leave one out"));
  CHECK(said({{"m.N", "1"}},
             "-D m.N=1: `m` has no const or dtype `N`; it has K, L, V, M, W"));
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

// Elaboration: programs as text in, ops and calls out; every diagnostic; the limits.
#include "compiler/elaborate/elaborate.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "compiler/check/check.h"
#include "compiler/graph/print.h"
#include "compiler/graph/transports.h"
#include "compiler/program/print.h"
#include "compiler/syntax/parse.h"

using namespace cgraph;

namespace {

struct Elaborated {
  Sources sources;
  std::unique_ptr<Diagnostics> diagnostics;
  graph::Module module;

  // Without warnings of Check: a parameter that is not read.
  std::string Codes() const {
    std::string codes;
    for (const Diagnostic& diagnostic : diagnostics->all()) {
      if (CodeName(diagnostic.code).startswith("W03")) continue;
      codes += (codes.empty() ? "" : " ") + CodeName(diagnostic.code).str();
    }
    return codes;
  }
  std::string Text() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    diagnostics->Print(out, false, 0);
    return text;
  }
  const graph::Graph& Only() const {
    REQUIRE(module.graphs.size() == 1);
    return module.graphs[0];
  }
};

std::unique_ptr<Elaborated> Run(const std::string& text, const ElaborateOptions& options = {}) {
  auto result = std::make_unique<Elaborated>();
  SourceId main = result->sources.Add("test.cgraph", text);
  result->diagnostics = std::make_unique<Diagnostics>(result->sources);
  CheckOptions check;
  check.library_dir = CGRAPH_SOURCE_DIR "/stdlib";
  program::Program program =
      Check(Parse(main, *result->diagnostics), result->sources, check, *result->diagnostics);
  INFO(result->Text());
  REQUIRE_FALSE(result->diagnostics->has_errors());
  result->module = Elaborate(program, options, *result->diagnostics);
  if (!result->diagnostics->has_errors()) Validate(result->module);
  return result;
}

std::unique_ptr<Elaborated> Good(const std::string& text, const ElaborateOptions& options = {}) {
  auto result = Run(text, options);
  INFO(result->Text());
  REQUIRE_FALSE(result->diagnostics->has_errors());
  return result;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Example(const std::string& name) {
  return ReadFile(CGRAPH_SOURCE_DIR "/examples/" + name);
}

// "add copy", the ops in program order.
std::string Ops(const graph::Graph& graph) {
  std::string names;
  for (const graph::Op& op : graph.ops) names += (names.empty() ? "" : " ") + op.name;
  return names;
}

std::string Printed(const graph::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Print(module, out);
  return out.str();
}

std::string OutputType(const graph::Graph& graph, size_t port = 0) {
  return TypeText(graph, graph.values[graph.outputs.at(port).use.value].type);
}

const char* const kCounter = R"(
import std.tensor
import std.debug
actor Counter(start: int) {
  state i: i64 = start
  state log: i64[64] = zeros()
  state len: i64 = 0
  method inc(x: i64) -> i64 { i += x  return i }
  method echo(x: i64) -> i64 { return x }
  method append(x: i64) -> i64[k <= 64] {
    log = update_row(log, x, at: len)
    len += 1
    return slice(log, dim: 0, from: 0, length: len)
  }
  method old(x: i64) -> i64 { let before = i  i = x  return before }
  method peek() -> i64 { return i }
  method two(x: i64) -> (i64, i64) { return (x, x + 1) }
  method fail_if(x: i64, y: i64) -> i64 { i = y  check(x != y, "x equals y")  return x }
  method noop(x: i64) { }
  method five() -> i64 { return 5 }
}
place a = Counter(0) on cpu[0]
place b = Counter(100) on cpu[1]
place p = Counter(0) on gpu[0]
place q = Counter(0) on gpu[1]
)";

std::unique_ptr<Elaborated> WithCounter(const std::string& graph) { return Good(kCounter + graph); }

// The codes that a graph's body over x: f32[4], y: f32[3] reports.
std::string BodyCodes(const std::string& body, const std::string& before = "") {
  return Run("import std.tensor\n" + before + "\ngraph g(x: f32[4], y: f32[3]) -> f32[4] {" + body +
             "}")
      ->Codes();
}

}  // namespace

// ---- the examples -------------------------------------------------------------------------------

TEST_CASE("two_way: four calls, state committed by a copy") {
  auto result = Good(Example("two_way.cgraph"));
  const graph::Graph& graph = result->Only();
  CHECK(graph.calls.size() == 4);
  CHECK(Ops(graph) == "multiply multiply add copy add copy");
  CHECK(Ops(result->module.start) == "zeros copy zeros copy");
  CHECK(graph.outputs[1].name == "result[1]");
  CHECK(graph.ops[graph::OpId(2)].operands[1].via.transport == Transport::kNccl);
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

// ---- state --------------------------------------------------------------------------------------

TEST_CASE("S10: a chain of calls reads what the call before has written") {
  auto result = WithCounter("graph g(x: i64) -> i64 { return a.inc(a.inc(a.inc(x))) }");
  CHECK(Ops(result->Only()) == "add copy add copy add copy");
}

TEST_CASE("a returned state is a snapshot, taken before it is overwritten") {
  auto result = WithCounter("graph g(x: i64) -> i64 { return a.old(x) }");
  const graph::Graph& graph = result->Only();
  CHECK(Ops(graph) == "copy copy");
  CHECK(graph.values[graph.ops[graph::OpId(0)].results[0]].storage == graph::Value::kTemporary);
  CHECK(graph.values[graph.ops[graph::OpId(1)].results[0]].storage == graph::Value::kState);
  CHECK(Ops(WithCounter("graph g() -> i64 { return a.peek() }")->Only()) == "copy");
}

TEST_CASE("R1: state is written after the last op that may fail") {
  auto result = WithCounter("graph g(x: i64, y: i64) -> i64 { return a.fail_if(x, y) }");
  const graph::Graph& graph = result->Only();
  CHECK(Ops(graph) == "not_equal check copy copy");
  CHECK(graph.ops[graph::OpId(1)].fails);
  CHECK(graph.values[graph.ops[graph::OpId(3)].results[0]].storage == graph::Value::kState);
}

TEST_CASE("states that change places are read before either is overwritten") {
  auto result = Good(R"(
import std.tensor
actor A() {
  state u: f32[2] = zeros()
  state v: f32[2] = ones()
  method swap() { let t = u  u = v  v = t }
  method keep() { u = u }
}
place a = A() on cpu[0]
graph g() { a.swap() })");
  CHECK(Ops(result->Only()) == "copy copy copy copy");
}

TEST_CASE("one element of a state list is one state") {
  auto result = Good(R"(
import std.tensor
const M = 3
actor A() {
  state xs: [f32[2]; M] = [zeros() for m in 0..M]
  method put(mb: int, x: f32[2]) { xs[mb] = x }
  method get(mb: int) -> f32[2] { return xs[mb] * 2.0 }
}
place a = A() on cpu[0]
graph g(x: f32[2]) -> f32[2] { a.put(1, x)  return a.get(mb: 1) })");
  CHECK(result->module.states.size() == 3);
  CHECK(result->module.states[graph::StateId(2)].name == "xs[2]");
  CHECK(Ops(result->Only()) == "copy multiply");
  CHECK(Ops(result->module.start) == "zeros zeros zeros copy copy copy");
}

TEST_CASE("S15: each graph sees the state as it is when it starts") {
  auto result = WithCounter(
      "graph w(x: i64) -> i64 { return a.inc(x) } graph r() -> i64 { return a.inc(0) }");
  REQUIRE(result->module.graphs.size() == 2);
  CHECK(Ops(result->module.graphs[1]) == "add copy");
  ElaborateOptions only;
  only.graphs = {"r"};
  auto selected = Good(std::string(kCounter) +
                           "graph w(x: i64) -> i64 { return a.inc(x) } "
                           "graph r() -> i64 { return a.inc(0) }",
                       only);
  CHECK(selected->Only().name == "r");
}

TEST_CASE("S8: a length that is a state makes a symbol") {
  auto result = WithCounter("graph g(x: i64, y: i64) -> i64[k <= 64] { a.append(x) "
                            "return a.append(y) }");
  const graph::Graph& graph = result->Only();
  CHECK(OutputType(graph) == "i64[length <= 64]");
  CHECK(graph.values[graph.symbols[graph::SymbolId(1)].extent].type.dtype == DType::kI64);
}

// ---- what is kept, and in which order -----------------------------------------------------------

TEST_CASE("arguments are evaluated from left to right, inner calls first") {
  auto result = WithCounter(
      "graph g(x: i64) -> (i64, i64) { return (b.echo(a.inc(x)), a.echo(b.inc(x))) }");
  std::string calls;
  for (const graph::Call& call : result->Only().calls) {
    calls += result->module.instances[call.instance].name + "." + call.method + " ";
  }
  CHECK(calls == "a.inc b.echo b.inc a.echo ");
}

TEST_CASE("S17: what nobody reads is removed with a warning, unless it does something") {
  auto result = WithCounter("graph g(x: i64) -> i64 { a.echo(x) a.inc(x) a.fail_if(x, x) "
                            "a.noop(x) return x }");
  CHECK(result->Codes() == "W0501 W0501");
  CHECK(result->Only().calls.size() == 2);
  // Of a call that stays, ops that nobody reads go in silence.
  auto part = WithCounter("graph g(x: i64) -> i64 { let (u, v) = a.two(x) return u }");
  CHECK(part->Codes() == "");
  CHECK(Ops(part->Only()) == "copy");
}

TEST_CASE("S13: constants, labels, tuples and lists as arguments") {
  auto result = WithCounter(R"(
graph g(pair: (x: i64, more: [i64; 2])) -> i64 {
  let fixed = a.fail_if(1, y: 2)
  return b.fail_if(y: pair.x, x: pair.more[1] + fixed)
})");
  const graph::Graph& graph = result->Only();
  CHECK(graph.inputs[0].name == "pair.x");
  CHECK(graph.inputs[2].name == "pair.more[1]");
}

TEST_CASE("a constant that leaves a method becomes a value of its actor") {
  auto result = WithCounter("graph g() -> i64 { return a.five() }");
  CHECK(Ops(result->Only()) == "copy");
}

// ---- placement and transports -------------------------------------------------------------------

TEST_CASE("S14: an op outside methods runs where its first placed argument is") {
  auto result = WithCounter(R"(
graph g(x: i64) -> (i64, i64, i64) {
  let u = a.inc(x)
  let v = b.inc(x)
  return (x + 1, x + v + u, (v + u) on a)
})");
  const graph::Graph& graph = result->Only();
  std::string devices;
  for (const graph::Op& op : graph.ops) {
    if (!graph.calls[op.call].instance.valid()) {
      devices += DeviceName(result->module.devices[op.device]) + " ";
    }
  }
  CHECK(devices == "caller cpu[1] cpu[1] cpu[0] ");
}

TEST_CASE("the transport nearest to the use wins") {
  auto result = WithCounter(R"(
graph g(x: i64) -> i64 {
  let u via shm = p.inc(x) via nccl
  return q.inc(u) + q.inc(u via nccl)
})");
  std::string via;
  for (const graph::Op& op : result->Only().ops) {
    for (const graph::Use& use : op.operands) via += TransportName(use.via.transport).str() + " ";
  }
  CHECK(via == "auto auto auto auto shm auto auto nccl auto auto auto ");
}

TEST_CASE("which transport serves which edge") {
  graph::Module module;
  auto caller = module.devices.Add({graph::DeviceKind::kCaller});
  auto cpu = module.devices.Add({graph::DeviceKind::kCpu});
  auto gpu = module.devices.Add({graph::DeviceKind::kGpu});
  auto other = module.devices.Add({graph::DeviceKind::kGpu, 0, 1});
  auto far = module.devices.Add({graph::DeviceKind::kGpu, 1, 0});
  auto chosen = [&](graph::DeviceId from, graph::DeviceId to, Transport asked) {
    TransportChoice choice = ChooseTransport(module, from, to, asked);
    return choice.possible ? TransportName(choice.transport).str() : "no: " + choice.could_serve;
  };
  CHECK(chosen(caller, cpu, Transport::kAuto) == "local");
  CHECK(chosen(cpu, gpu, Transport::kAuto) == "host");
  CHECK(chosen(gpu, other, Transport::kAuto) == "nccl");
  CHECK(chosen(gpu, gpu, Transport::kMpi) == "local");
  CHECK(chosen(gpu, other, Transport::kShm) == "shm");
  CHECK(chosen(gpu, other, Transport::kHost) == "host");
  CHECK(chosen(gpu, other, Transport::kLocal) == "no: nccl, shm or host");
  CHECK(chosen(caller, gpu, Transport::kNccl) == "no: shm or host");
  CHECK(chosen(caller, cpu, Transport::kNccl) == "no: local, shm or host");
  CHECK(chosen(gpu, other, Transport::kMpi) == "no: nccl, shm or host");
  CHECK(chosen(gpu, far, Transport::kAuto) == "no: ");
}

TEST_CASE("C3: a transport that cannot serve an edge") {
  auto result = Run(std::string(kCounter) +
                    "graph g(x: i64) -> i64 { return a.inc(p.inc(x) via nccl) }");
  CHECK(result->Codes() == "E0601");
  CHECK(result->Text().find("nccl cannot carry this from gpu[0] to cpu[0]: nccl connects gpus, and "
                            "cpu[0] is not one; possible here: auto, shm or host") !=
        std::string::npos);
}

TEST_CASE("C5: two actors on one device are legal, other machines are not") {
  CHECK(Good("actor A() { method f(x: u8[1]) -> u8[1] { return x } }\n"
             "place a = A() on gpu[7]\nplace b = A() on gpu[7]\n"
             "graph g(x: u8[1]) -> u8[1] { return a.f(b.f(x) via nccl) }")
            ->module.devices.size() == 2);
  CHECK(Run("actor A() { }\nplace a = A() on node[1].gpu[0]\ngraph g() { }")->Codes() == "E0602");
  CHECK(Run("actor A() { }\nplace a = A() on gpu[-1]\ngraph g() { }")->Codes() == "E0605");
}

// ---- types --------------------------------------------------------------------------------------

TEST_CASE("numbers take the dtype of the tensor beside them") {
  auto result = Good(R"(
import std.tensor
graph g(x: f16[4], i: i32) -> (f16[4], i32, f32) { return (x * 2 + 0.5, 3 - i, sqrt(2.0) * 2) })");
  std::string constants;
  for (const graph::Value& value : result->Only().values) {
    if (value.storage != graph::Value::kConstant) continue;
    constants += value.name + ":" + DTypeName(value.type.dtype).str() + " ";
  }
  CHECK(constants == "2:f16 0.5:f16 3:i32 2.8284271247461903:f32 ");
}

TEST_CASE("creation takes the type that is expected, through arithmetic and lists") {
  auto result = Good(R"(
import std.tensor
const D = 4
actor A() {
  state w: f32[D, D] = normal(seed: 1) * 0.125
  state l: [f64[2]; 2] = [iota() + 1 for i in 0..2]
  method m(x: f32[n, D]) -> f32[n, D] { w = -w + ones()  return x @ w }
}
place a = A() on cpu[0]
graph g(x: f32[2, D]) -> f32[2, D] { return a.m(x + zeros<f32[D]>()) })");
  CHECK(Ops(result->module.start) == "normal multiply copy iota add iota add copy copy");
  CHECK(Ops(result->Only()) == "zeros add negate ones add matmul copy");
}

TEST_CASE("fns are inlined, with generics, runs and lists") {
  auto result = Good(R"(
import std.tensor
import std.nn
fn swish<T: float>(x: T[*s]) -> T[*s] { return x * sigmoid(x) }
fn both<T: float>(xs: [T[*s]; n]) -> [T[*s]; n] { return [swish(x) for x in xs] }
fn power(x: i64, k: int) -> i64 { return if k == 0 { 1 } else { x * power(x, k - 1) } }
graph g(x: f32[2, 3], i: i64) -> ([f32[2, 3]; 2], i64) { return (both([x, x]), power(i, 3)) })");
  CHECK(Ops(result->Only()) == "sigmoid multiply sigmoid multiply multiply multiply multiply");
}

TEST_CASE("an operand may be overwritten when it is a value of this graph and read once") {
  auto result = Good(R"(
import std.tensor
graph g(x: f32[4, 4], y: f32[4]) -> f32[4, 4] {
  let a = x + 1.0           // x is the caller's
  let b = a + y             // may be
  let c = b + b             // reads it twice
  let d = c + c[0]          // reads a part besides
  let e = d[0] + d          // a part, and not of the result's type
  return e - 1.0 })");
  std::string may;
  for (const graph::Op& op : result->Only().ops) may += op.inplace.empty() ? "-" : "+";
  CHECK(may == "-+---+");
}

TEST_CASE("only a dimension's own division must be exact") {
  Good("import std.tensor\nconst K = 7 / 2\nfn half(n: int) -> int { return n / 2 }\n"
       "graph g(x: f32[K, half(7)]) -> f32[3, 3] { return x + 1.0 }");
}

TEST_CASE("lists and loops at compile time") {
  auto result = Good(R"(
import std.tensor
const N = 4
actor A(i: int) { method f(x: f32[2]) -> f32[2] { return x * (i + 1) } }
place a[i in 0..2, j in 1..3] = A(10 * i + j) on cpu[i]
graph g(x: f32[N, 2]) -> [f32[2]; N] {
  var h = [none for i in 0..N]
  for i in 0..N { h[i] = x[i] }
  var more = []
  for (p, v) in zip([a[0, 1], a[0, 2], a[1, 1], a[1, 2]], h[0..4]) { more = more + [p.f(v)] }
  var total = 0
  for i in 0..len(more) { if i % 2 == 0 { total += i } else { total -= 1 } }
  more[total] += 1.0
  return more
})");
  const graph::Graph& graph = result->Only();
  CHECK(Ops(graph) == "multiply multiply multiply multiply add");
  CHECK(result->module.instances[graph::InstanceId(1)].name == "a[0, 2]");
  CHECK(graph.outputs[0].use.value == graph.ops[graph::OpId(4)].results[0]);
}

TEST_CASE("x[i] and x[a..b] are views") {
  auto result = Good(R"(
import std.tensor
graph g(x: f32[4, 3, 2]) -> (f32[3, 2], f32[2, 3, 2], f32[1, 2], f32[3, 2], f32[1, 3, 2]) {
  return (x[1], x[2..4], x[3][1..2], x[0..2][1], x[1..2])
})");
  const graph::Graph& graph = result->Only();
  CHECK(graph.ops.size() == 0);
  auto offset = [&](size_t port) { return graph.values[graph.outputs[port].use.value].offset; };
  CHECK(offset(0) == 24);
  CHECK(offset(1) == 48);
  CHECK(offset(2) == 80);
  CHECK(graph.values[graph.outputs[2].use.value].base == graph.inputs[0].use.value);
  // The same part is the same value, which travels once; of another shape it is another.
  CHECK(graph.outputs[3].use.value == graph.outputs[0].use.value);
  CHECK(offset(4) == 24);
  CHECK(graph.outputs[4].use.value != graph.outputs[0].use.value);
}

TEST_CASE("matmul reads transposed operands, also along a bounded dimension") {
  auto result = Good(R"(
import std.tensor
graph g(x: f32[n <= 8, 3], y: f32[n, 5], z: f32[5, 3]) -> (f32[3, 5], f32[n, 5]) {
  return (matmul(x, y, transpose_a: true), matmul(x, z, transpose_b: true))
})");
  CHECK(OutputType(result->Only(), 1) == "f32[n <= 8, 5]");
}

TEST_CASE("a compile-time length is a static dimension") {
  auto result = Good(R"(
import std.tensor
graph g(x: f32[4, 6], at: i64) -> f32[4, 2] { return slice(x, dim: 1, from: at, length: 2) })");
  CHECK(OutputType(result->Only()) == "f32[4, 2]");
}

TEST_CASE("a hint's dimension means something new in each iteration") {
  Good(R"(
import std.tensor
graph g(x: f32[8], u: i64, v: i64) -> f32 {
  var total = zeros<f32>()
  for n in [u, v] {
    let part: f32[t <= 8] = slice(x, dim: 0, from: 0, length: n)
    let twice: f32[t] = part + part
    total += sum(twice)
  }
  return total
})");
}

// ---- diagnostics --------------------------------------------------------------------------------

TEST_CASE("C1: dimensions that do not unify name the method, the parameter and the binding") {
  auto result = Run(R"(
import std.tensor
actor A() { method f(x: f32[n, 3], y: f32[n]) -> f32[n] { return y } }
place a = A() on cpu[0]
graph g(x: f32[4, 3], y: f32[5]) -> f32[4] {
  for mb in 3..5 { a.f(x, y) }
  return a.f(x, y: y)
})");
  CHECK(result->Codes() == "E0507 E0507");
  std::string text = result->Text();
  CHECK(
      text.find("parameter `y` of `a.f` is f32[n]; this is f32[5]: dimension 0 is 5 and should be "
                "4") != std::string::npos);
  CHECK(text.find("`n` was bound here to 4, by `x`") != std::string::npos);
  CHECK(text.find("in iteration mb = 3") != std::string::npos);
  CHECK(text.find("in iteration mb = 4") == std::string::npos);
}

TEST_CASE("consts and -D") {
  ElaborateOptions options;
  options.defines = {{"M", "3"}, {"N", "x"}};
  auto result = Run("const N = 4\nconst R = 1.5\ngraph g(x: f32[N]) -> f32[N] { return x }",
                    options);
  CHECK(result->Codes() == "E0502 E0501");
  options.defines = {{"N", "5"}, {"R", "2"}};
  CHECK(Good("const N = 4\nconst R = 1.5\ngraph g(x: f32[N]) -> f32[N] { return x }", options)
            ->module.parameters ==
        std::vector<std::pair<std::string, std::string>>{{"N", "5"}, {"R", "2.0"}});
}

TEST_CASE("faults of values at compile time") {
  CHECK(BodyCodes("return x * (1 / 0)") == "E0503");
  CHECK(BodyCodes("return x * (9223372036854775807 + 1)") == "E0503");
  CHECK(BodyCodes("return x[7..8]") == "E0511");
  CHECK(BodyCodes("let l = [x, x]  return l[2]") == "E0511");
  CHECK(BodyCodes("var l = [none for i in 0..2]  l[0] = x  return l[1]") == "E0512");
  CHECK(BodyCodes("for (a, b) in zip([x], [x, x]) { }  return x") == "E0513");
  CHECK(BodyCodes("var t = []  t = [(x, x, x)]  for (a, b) in t { }  return x") == "E0513");
  CHECK(BodyCodes("return x + y") == "E0507");
  CHECK(BodyCodes("return y") == "E0507");
  CHECK(BodyCodes("let h: f32[4] = x + zeros<f32[5]>()  return x") == "E0507");
  CHECK(BodyCodes("return cast<f32>(cast<u8>(x) + 300)") == "E0515");
  CHECK(BodyCodes("return cast<f32>(cast<f16>(x) + 2049)") == "E0515");
  CHECK(BodyCodes("return x + sum(zeros())") == "E0510");
  CHECK(BodyCodes("let z = zeros()  return x") == "E0510");
  CHECK(BodyCodes("return x + load(\"f\", \"t\")") == "E0518");
  CHECK(BodyCodes("let h: f32[1, 1, 1, 1, 1, 1, 1, 1, 1] = zeros()  return x") == "E0523");
  CHECK(BodyCodes("let h: f32[1000000, 1000000, 1000000] = zeros()  return x") == "E0524");
}

TEST_CASE("faults of dimensions") {
  CHECK(Run("graph g(x: f32[n]) -> f32[n] { return x }")->Codes() == "E0509");
  CHECK(Run("actor A() { state k: int = 3 }\nplace a = A() on cpu[0]\ngraph g() { }")->Codes() ==
        "E0528");
  CHECK(Run("graph g(x: f32[n <= 4], y: f32[n <= 5]) { }")->Codes() == "E0508");
  CHECK(Run("graph g(x: f32[7 / 2]) -> f32[3] { return x }")->Codes() == "E0504");
  CHECK(Run("graph g(x: f32[2 - 3]) { }")->Codes() == "E0504");
  CHECK(Run("import std.tensor\ngraph g(x: f32[n <= 4], y: f32[m <= 4]) -> f32[n] "
            "{ return x + y }")
            ->Codes() == "E0508");
  CHECK(Run("import std.tensor\ngraph g(x: f32[n <= 4]) -> f32[n] { return x + ones<f32[4]>() }")
            ->Codes() == "E0508");
  CHECK(Run("import std.tensor\ngraph g(x: f32[n <= 4, 2]) -> f32[2] { return x[0] }")->Codes() ==
        "E0519");
  CHECK(Run("import std.tensor\ngraph g(x: f32[4], n: i64) -> f32[k <= 2] "
            "{ return slice(x, dim: 0, from: 0, length: n) }")
            ->Codes() == "E0508");
  CHECK(Run("import std.tensor\ngraph g(x: f32[4]) -> f32[9] "
            "{ return slice(x, dim: 0, from: 0, length: 9) }")
            ->Codes() == "E0511");
  CHECK(Run("import std.tensor\ngraph g(x: f32[4, 2], y: f32[4, 2]) -> f32[4, 2] { return x @ y }")
            ->Codes() == "E0517");
  CHECK(Run("import std.tensor\nactor A(n: int) { state w: f32[n / 2] = zeros() }\n"
            "place a = A(3) on cpu[0]\ngraph g() { }")
            ->Codes() == "E0504");
}

TEST_CASE("faults of bodies and calls") {
  CHECK(Run("import std.tensor\nactor A() { method f(x: f32[2]) -> f32[2] { return x } }\n"
            "place a = A() on cpu[0]\nplace b[i in 0..2] = A() on cpu[i]\n"
            "graph g(x: f32[2]) -> f32[2] { return b[2].f(x) }")
            ->Codes() == "E0511");
  ElaborateOptions options;
  options.graphs = {"h"};
  CHECK(Run("graph g() { }", options)->Codes() == "E0526");
  CHECK(Run("graph g(k: int) -> i64 { return k }", [&] {
          ElaborateOptions asked;
          asked.graphs = {"g"};
          return asked;
        }())->Codes() == "E0526");
}

// What Check cannot tell, since a `var` may hold anything.
TEST_CASE("faults of kinds") {
  auto of_var = [](const std::string& value, const std::string& body) {
    return BodyCodes("var v = [none]  v[0] = " + value + "  " + body + "  return x", R"(
actor A() { method f(x: f32[4]) { } method k(n: int) { } method t(t: (f32[4], f32[4])) { } }
actor B() { }
place a = A() on cpu[0]
place b = B() on cpu[1]
fn same<T: float>(x: T[n], y: T[n]) -> T[n] { return x })");
  };
  CHECK(of_var("x", "a.f(v[0])") == "W0501");
  CHECK(of_var("cast<f16>(x)", "a.f(v[0])") == "E0407");
  CHECK(of_var("cast<f16>(x)", "let s = same(x, v[0])") == "E0407");
  CHECK(of_var("cast<i32>(x)", "let s = same(v[0], y)") == "E0529");
  CHECK(of_var("y", "a.f(v[0])") == "E0507");
  CHECK(of_var("2", "a.f(v[0])") == "E0507");
  CHECK(of_var("x", "a.k(v[0])") == "E0406");
  CHECK(of_var("(x, x, x)", "a.t(v[0])") == "E0513");
  CHECK(of_var("x", "a.t(v[0])") == "E0513");
  CHECK(of_var("x", "for i in v[0] { }") == "E0406");
  CHECK(of_var("x", "if v[0] { }") == "E0415");
  CHECK(of_var("x", "let s = [1, 2][v[0]]") == "E0406");
  CHECK(of_var("x", "let s = x on v[0]") == "E0603");
  CHECK(of_var("x", "let s = v[0].field") == "E0313");
  CHECK(of_var("b", "v[0].f(x)") == "E0312");
  CHECK(of_var("x", "v[0].f(x)") == "E0406");
  CHECK(of_var("a", "v[0].f(x, x)") == "E0402");
  CHECK(of_var("a", "v[0].f(z: x)") == "E0403");
  CHECK(of_var("a", "v[0].f()") == "E0401");
  CHECK(of_var("a", "let s = x + v[0]") == "E0406");
  CHECK(of_var("x", "let s = \"{v[0]}\"") == "E0406");
}

TEST_CASE("what belongs to graphs is not reached through a fn either") {
  const std::string program = R"(
import std.tensor
fn away(x: f32[2]) -> f32[2] { return (x + x) on cpu[1] }
fn other(x: f32[2]) -> f32[2] { return b.f(x) }
actor A() {
  method f(x: f32[2]) -> f32[2] { return x }
  method g(x: f32[2]) -> f32[2] { return away(x) }
  method h(x: f32[2]) -> f32[2] { return other(x) }
}
place a = A() on cpu[0]
place b = A() on cpu[1]
)";
  CHECK(Run(program + "graph t(x: f32[2]) -> f32[2] { return a.g(x) }")->Codes() == "E0603");
  CHECK(Run(program + "graph t(x: f32[2]) -> f32[2] { return a.h(x) }")->Codes() == "E0604");
  CHECK(Ops(Good(program + "graph t(x: f32[2]) -> f32[2] { return other(away(x)) }")->Only()) ==
        "add copy");
}

// ---- limits -------------------------------------------------------------------------------------

TEST_CASE("limits end what would take too long") {
  auto start = std::chrono::steady_clock::now();
  CHECK(BodyCodes("for i in 0..1000000000000 { }  return x") == "E0520");
  CHECK(BodyCodes("var l = [0]  l = l + (0..100000000)  return x") == "E0521");
  CHECK(BodyCodes("return x * f(0)", "fn f(k: int) -> int { return f(k + 1) }") == "E0522");
  auto seconds = std::chrono::steady_clock::now() - start;
  CHECK(seconds < std::chrono::seconds(120));
  CHECK(Run("graph g() inflight 2000 { }")->Codes() == "E0525");
  CHECK(Run("graph g() inflight 0 { }")->Codes() == "E0525");
  CHECK(Run("actor A() { }\nplace a[i in 0..100000000000] = A() on cpu[0]\ngraph g() { }")
            ->Codes() == "E0521");
}

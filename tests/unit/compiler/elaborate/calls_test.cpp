// Calls of methods: state, the calls that are kept and their order, where they run and how values
// get there.
#include <cstring>
#include <string>

#include "compiler/graph/transports.h"
#include "tests/support/elaborated.h"

using namespace cgraph;
using namespace cgraph::testing;

// ---- state -------------------------------------------------------------------------------------

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

// ---- what is kept, and in which order ----------------------------------------------------------

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
  // In a call that stays, ops that nobody reads are dropped in silence.
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

// ---- placement and transports ------------------------------------------------------------------

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
  auto caller = module.devices.Add({DeviceKind::kCaller});
  auto cpu = module.devices.Add({DeviceKind::kCpu});
  auto gpu = module.devices.Add({DeviceKind::kGpu});
  auto other = module.devices.Add({DeviceKind::kGpu, 0, 1});
  auto far = module.devices.Add({DeviceKind::kGpu, 1, 0});
  auto beside_far = module.devices.Add({DeviceKind::kGpu, 1, 1});
  auto chosen = [&](graph::DeviceId from, graph::DeviceId to, TransportKind asked) {
    TransportChoice choice = ChooseTransport(module, from, to, asked);
    return choice.possible ? TransportName(choice.transport).str() : "no: " + choice.could_serve;
  };
  CHECK(chosen(caller, cpu, TransportKind::kAuto) == "local");
  CHECK(chosen(cpu, gpu, TransportKind::kAuto) == "host");
  CHECK(chosen(gpu, other, TransportKind::kAuto) == "nccl");
  CHECK(chosen(gpu, gpu, TransportKind::kMpi) == "local");
  CHECK(chosen(gpu, other, TransportKind::kShm) == "shm");
  CHECK(chosen(gpu, other, TransportKind::kHost) == "host");
  CHECK(chosen(gpu, other, TransportKind::kLocal) == "no: auto, shm, nccl, mpi or host");
  CHECK(chosen(caller, gpu, TransportKind::kNccl) == "no: auto, shm, mpi or host");
  CHECK(chosen(caller, cpu, TransportKind::kNccl) == "no: auto, local, shm, mpi or host");
  CHECK(chosen(gpu, other, TransportKind::kMpi) == "mpi");
  CHECK(chosen(gpu, far, TransportKind::kAuto) == "nccl");
  CHECK(chosen(gpu, far, TransportKind::kNccl) == "nccl");
  CHECK(chosen(gpu, far, TransportKind::kMpi) == "mpi");
  CHECK(chosen(gpu, far, TransportKind::kHost) == "no: auto, nccl or mpi");
  CHECK(chosen(far, beside_far, TransportKind::kHost) == "no: auto, shm, nccl or mpi");
  CHECK(chosen(far, caller, TransportKind::kShm) == "no: auto or mpi");
}

TEST_CASE("C3: a transport that cannot serve an edge") {
  auto result = Run(std::string(kCounter) +
                    "graph g(x: i64) -> i64 { return a.inc(p.inc(x) via nccl) }");
  CHECK(result->Codes() == "E0601");
  CHECK(result->Text().find("nccl cannot carry this from gpu[0] to cpu[0]: nccl connects gpus, and "
                            "cpu[0] is not one; possible here: auto, shm, mpi or host") !=
        std::string::npos);
}

TEST_CASE("C5: two actors on one device are legal, and so are other machines") {
  CHECK(Good("actor A() { method f(x: u8[1]) -> u8[1] { return x } }\n"
             "place a = A() on gpu[7]\nplace b = A() on gpu[7]\n"
             "graph g(x: u8[1]) -> u8[1] { return a.f(b.f(x) via nccl) }")
            ->module.devices.size() == 2);
  CHECK(Good("actor A() { }\nplace a = A() on node[1].gpu[0]\nplace b = A() on gpu[0]\n"
             "graph g() { }")
            ->module.devices.size() == 3);
  CHECK(Run("actor A() { }\nplace a = A() on node[-1].gpu[0]\ngraph g() { }")->Codes() == "E0605");
  CHECK(Run("actor A() { }\nplace a = A() on gpu[-1]\ngraph g() { }")->Codes() == "E0605");
}

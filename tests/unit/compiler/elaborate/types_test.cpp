// Types, dimensions, lists, loops and numbers while compiling.
#include <cmath>
#include <random>
#include <string>

#include "compiler/elaborate/values/arithmetic.h"
#include "tests/support/elaborated.h"

using namespace cgraph;
using namespace cgraph::testing;

TEST_CASE("numbers take the dtype of the tensor beside them") {
  auto result = Good(R"(
import std.tensor
graph g(x: f16[4], i: i32) -> (f16[4], i32, f32) { return (x * 2 + 0.5, 3 - i, sqrt(2.0) * 2) })");
  std::string constants;
  for (const graph::Value& value : result->Only().values) {
    if (value.storage != graph::Value::kConstant) continue;
    constants += value.name + ":" + std::string(DTypeName(value.type.dtype)) + " ";
  }
  CHECK(constants == "2:f16 0.5:f16 3:i32 2.8284271247461903:f32 ");
}

namespace {

// Returns how far a function of numbers is from what the machine's library makes in 64 bits, in
// units of the result's last bit.
double ErrorOf(program::NumberFunction function, double x, double y, long double wanted) {
  const elaborate::Folded folded =
      elaborate::FoldFunction(function, elaborate::Value(x), elaborate::Value(y));
  INFO(x << " " << y << " " << folded.problem);
  REQUIRE(folded.value);
  const double made = *folded.value->As<double>();
  const double unit = std::nextafter(std::abs(made), HUGE_VAL) - std::abs(made);
  return static_cast<double>(std::abs(made - wanted) / unit);
}

}  // namespace

TEST_CASE("exp, log and pow of numbers are rounded to the nearest float") {
  using program::NumberFunction;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> small(-2.0, 2.0), large(-700.0, 700.0), exponent(-30, 30);
  double worst = 0;
  for (int i = 0; i < 4'000; ++i) {
    for (double x : {small(random), large(random), std::ldexp(small(random), i % 2000 - 1000)}) {
      if (x < 709 && x > -708) {
        worst = std::max(worst, ErrorOf(NumberFunction::kExp, x, x, std::exp(1.0L * x)));
      }
      const double positive = std::abs(x);
      worst =
          std::max(worst, ErrorOf(NumberFunction::kLog, positive, 0, std::log(1.0L * positive)));
    }
    const double base = std::abs(small(random)), power = exponent(random);
    worst = std::max(
        worst, ErrorOf(NumberFunction::kPow, base, power, std::pow(1.0L * base, 1.0L * power)));
  }
  std::printf("exp, log and pow: %.4f units in the last place at most\n", worst);
  CHECK(worst > 0.4);  // it has looked
  CHECK(worst < 0.51);
}

TEST_CASE("functions of numbers are numbers, in consts, dimensions and bodies") {
  auto result = Good(R"(
import std.tensor
const E = 64
const SCALE = 1.0 / sqrt(E)
const A = exp(1.0)
const B = log(10)
const C = pow(2, 10)
const D = pow(2.0, -2)
const F = minimum(3, 4.5)
const G = maximum(E, 100)
const H = pow(-2.0, 3) + exp(-1000.0)
const I: float = pow(2, 3)
const J = pow(10.0, -310.0)
const K = [exp(x) for x in [0.0, 1]][1]
const L = pow(exponent: 2, x: 3)
graph g(x: f32[pow(2, 2), maximum(1, 2)]) -> f32[4, 2] {
  var y = x
  for i in 0..minimum(2, 3) { y = y * exp(1.0) }
  return y
})");
  std::string consts;
  for (const auto& [name, value] : result->module.parameters) consts += name + "=" + value + " ";
  CHECK(consts ==
        "E=64 SCALE=0.125 A=2.718281828459045 B=2.302585092994046 C=1024 D=0.25 F=3.0 G=100 "
        "H=-8.0 I=8.0 J=1e-310 K=2.718281828459045 L=9 ");
  CHECK(Ops(result->Only()) == "multiply multiply");
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

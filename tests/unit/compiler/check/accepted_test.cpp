// Programs that check accepts, and how it prints them.
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "tests/support/checked.h"
#include "tests/support/parsed.h"

namespace cgraph {
namespace {

using testing::Checked;
using testing::TempFolder;

TEST_CASE("the library and the examples check cleanly and validate") {
  size_t programs = 0;
  for (const auto& path : testing::Programs({"stdlib", "examples", "tests/conformance"})) {
    INFO(path);
    const Checked checked(testing::ReadText(path), path.string());
    CHECK(checked.Surprises() == "");
    ++programs;
  }
  std::printf("%zu programs checked\n", programs);
  CHECK(programs >= 9);
}

void Accept(const std::string& text) {
  INFO(text);
  const Checked checked(text);
  CHECK(checked.Surprises() == "");
}

TEST_CASE("types may differ from one turn of a loop to the next") {
  Accept(R"(import std.tensor
graph g(x: f32[4, 4]) -> f32 {
  var h = x
  for i in 0..2 { h = h[0] }
  var list = []
  for i in 0..2 { list = list + [h * (i + 1)] }
  return sum(stack(list))
})");
}

TEST_CASE("tuples are gone over, and their elements assigned") {
  Accept(R"(import std.tensor
actor A() {
  state w: (up: f32[2, 4], bias: f32[4]) = (ones() for i in 0..2)
  state pair: (f32[2, 4], i64) = (ones(), 0)
  method step(g: (f32[2, 4], f32[4])) -> (up: f32, bias: f32) {
    w.up -= g[0]
    for i in 0..2 { pair[i] = pair[i] + 1 }
    w = (p - 0.5 * d for (p, d) in zip(w, g))
    var norms = (up: 0.0, bias: 0.0)
    for (name, x) in items(w) { if name == "up" { norms.up = sum(x) } else { norms.bias = sum(x) } }
    let lists = [sum(x) for x in w]
    let kept = (sum(x) for (name, x) in items(w) if name != "bias")
    return (sum(square(x)) for x in (a.w for a in ((w: w.up), (w: w.bias))))
  }
})");
}

TEST_CASE("named types stand wherever a type stands") {
  Accept(R"(import std.tensor
type Real = f32
type Vec(n: int) = Real[n]
type Sizes = [int; 2]
type Pair = (int, float)
type Flag = bool
const S: Sizes = [2, 3]
const P: Pair = (1, 2)
op twice(x: Vec(n)) -> Vec(n) cost(flops: n, bytes: 8 * n) kernel "relu"
fn generic<T: float>(x: T[*s], y: Real[*s]) -> Real[*s] { return cast<Real>(x) + y }
fn flagged(x: Vec(4), f: Flag) -> Vec(4) { return if f { x } else { -x } }
optimizer mine(mu: float = 0.9) {
  state m: Real[*s] = zeros()
  method update(w: Real[*s], g: Real[*s], rate: Real) -> Real[*s] {
    m = mu * m + g
    return w - rate * m
  }
}
actor A(sizes: Sizes, d: int) {
  param w: Vec(d) = ones()
  state log: [Vec(d); sizes[0]] = [zeros() for i in 0..sizes[0]]
  method f(x: Vec(d), f: Flag) -> (y: Vec(d), n: [Real; 2]) {
    log[0] = x
    return (y: twice(x) * w, n: [sum(x), 1.0])
  }
  method nat(x: Vec(d)) -> Vec(d) = extern "libx.so:f"
}
place a = A(S, 4) on cpu[0] trained by mine()
graph g(x: f16[4], f: Flag) -> (y: Vec(4), n: [Real; 2]) {
  let h: Vec(4) = generic(x, flagged(full(2.0), true))
  let r = a.f(h, f)
  a.update(grad(sum(r.y), of: a), rate: 0.1)
  return r
}
schedule sch(n: int, s: Sizes = [1, 2]) { limit forward - backward <= n + s[0] }
topology top(s: Sizes = [1, 2]) { device gpu[i] [i in 0..s[0]] { memory: 1GB } })");
}

TEST_CASE("a word is a name wherever it begins no type") {
  Accept(R"(import std.tensor
type Type(type: int) = f32[type]
fn type(type: Type(4)) -> Type(4) {
  var state = type
  state = type
  return type * 2.0 + state
}
graph g(type_: Type(n <= 8), type: Type(4)) -> (type: Type(4), more: Type(n)) {
  return (type: type, more: type_)
})");
}

TEST_CASE("chains of named types have a limit, and long ones end") {
  std::string chain = "type T0 = f32[4]\n";
  for (int i = 1; i < 64; ++i) chain += fmt::format("type T{} = T{}\n", i, i - 1);
  Accept(chain + "graph g(x: T63) -> T63 { return x }");
  for (int i = 64; i < 2'000; ++i) chain += fmt::format("type T{} = T{}\n", i, i - 1);
  CHECK(Checked(chain).Surprises().find("E0327") != std::string::npos);
  std::string doubled = "type T0(n: int) = f32[n]\n";
  for (int i = 1; i < 60; ++i) {
    doubled += fmt::format("type T{}(n: int) = T{}(n + n)\n", i, i - 1);
  }
  CHECK(Checked(doubled).Surprises().find("E0327") != std::string::npos);
}

TEST_CASE("constants, lists, tuples, conditions and strings at compile time") {
  Accept(R"(import std.tensor
const N: int = 4
const NAMES = ["a", "b"]
const TABLE = [[i * j for j in 0..N if j != i] for i in 0..N]
const LR = if N > 2 and not (N == 3) { 0.5 } else { 0.25 }
fn pick(xs: [int; n], i: int) -> int { return if i < len(xs) { xs[i] } else { pick(xs, i % n) } }
fn odd(i: int) -> bool { return i % 2 == 1 }
actor A(names: [str; 2], i: int, verbose: bool = false) {
  state w: f32[pick([1, 2], 1), N] = load("{names[i]}{{}}.safetensors", "w{i + 1}")
  state flag: bool = true
  state list: [f32[N]; N] = [zeros() for m in 0..N]
  method put(mb: int, x: f32[N]) { list[mb] = x }
  method both(p: (a: f32[N], b: (i64, i64))) -> (f32[N], i64) {
    let (u, _) = p.b
    if odd(i) { return (p.a, u) } else { return (p.a * 2, p.b[1]) }
  }
  method truth() -> bool { return not flag }
}
place a[i in 0..2, j in 0..2] = A(NAMES, i) on node[0].gpu[2 * i + j]
graph g(x: f32[N], t: (i64, i64)) -> (y: f32[N], k: i64) overlap off timeout 5ms {
  for (i, y) in zip([0, 1], [x, x * 2.0]) { a[i, 0].put(i, y) }
  let (y, k) = a[1, 1].both((a: x, b: t))
  return (y: y via host, k: (k + 1) on gpu[0])
})");
}

TEST_CASE("dimension variables: bound by parameters, lists, hints, and an op's extent") {
  Accept(R"(import std.tensor
op tail<T>(x: T[n, *r], items: [T[*r]; m], length: i64) -> T[length <= n + m, *r] where rank(r) > 0
  cost(flops: 0, bytes: size(r) * (n + m) * width(T)) kernel "tail" fails
op grow<T: number>(x: T[n]) -> T[2 * n]
actor A(d: int) {
  state log: f32[d, 4] = zeros()
  state len: i64 = 0
  method last(x: f32[n <= 16, d]) -> f32[k <= 16, 4] {
    let rows: f32[r <= 16, 4] = slice(log, dim: 0, from: 0, length: len)
    let more = zeros<f32[d, 2]>()
    return rows
  }
})");
}

TEST_CASE("names of files: imported, qualified, under another name, hidden by own ones") {
  TempFolder folder;
  folder.Write("lib/layers.cgraph", "import std.tensor\nconst D = 4\n"
               "fn twice(x: f32[D]) -> f32[D] { return add(x, x) }\n"
               "actor Echo() { method echo(x: f32[D]) -> f32[D] { return twice(x) } }\n");
  folder.Write("other/more.cgraph", "fn thrice(x: f32) -> f32 { return x * 3.0 }\n");
  const std::string text = R"(
import lib.layers as l
import std.tensor
import more
const D = 8
fn relu(x: f32[l.D]) -> f32[l.D] { return tensor.maximum(x, 0.0) }
place e = l.Echo() on cpu[0]
graph g(x: f32[4], y: f32[D]) -> (f32[4], f32) { return (e.echo(l.twice(relu(x))), more.thrice(sum(y))) }
)";
  const Checked checked(text, (folder.path() / "main.cgraph").string(),
                        {(folder.path() / "other").string()});
  CHECK(checked.Surprises() == "");
  CHECK(checked.dump().find("place e = Echo() on cpu[0]") != std::string::npos);
}

TEST_CASE("print shows the program with its names resolved") {
  const Checked checked(R"(import std.tensor
actor A(k: int) {
  state seen: f32[4] = zeros()
  method take(x: f32[n <= 4], mb: int = 2) -> f32[n <= 4] via shm { seen += 1.0 return x * (k + mb) }
}
place a[i in 0..2] = A(i) on gpu[i]
graph g(x: f32[4]) -> f32[4] inflight 2 { return a[0].take(x via host, mb: 1) })");
  CHECK(checked.Surprises() == "");
  CHECK(checked.dump() == R"(actor A(k: int)
  state seen: f32[4] = zeros()
  method take(x: f32[n <= 4], mb: int = 2) -> f32[n <= 4] via shm
    seen += 1.0
    return x * (k + mb)
place a[i in 0..2] = A(i) on gpu[i]
graph g(x: f32[4]) -> f32[4] inflight 2
  return a[0].take(x via host, mb: 1)
op zeros<T>() -> T[*s]
  flops 0
  bytes size(s) * width(T)
  kernel "zeros"
)");
}

}  // namespace
}  // namespace cgraph

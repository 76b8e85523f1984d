// Programs that check refuses: each diagnostic of check stands, in a comment, under the line that
// draws it (checked.h says how).
#ifndef CGRAPH_TESTS_SUPPORT_REFUSED_PROGRAMS_H_
#define CGRAPH_TESTS_SUPPORT_REFUSED_PROGRAMS_H_

#include <string>
#include <vector>

namespace cgraph::testing {

inline const std::vector<std::string> kRefused = {
    // names
    R"(import std.tensor
const N = 4
graph g(x: f32[M]) -> f32[4] { return relu(y) }
//^ E0301 `M` is not declared
//^ E0301 `relu` is not declared
//^ E0301 `y` is not declared
graph h(value: f32[4]) -> f32[4] { return tensor.squre(valeu) }
//^ E0301 `tensor` declares no `squre` (did you mean `square`?)
//^ E0301 `valeu` is not declared (did you mean `value`?)
place p = Missing() on cpu[0]
//^ E0301 a place is made of an actor, and `Missing` is not declared)",
    "graph g(x: f32[4]) -> f32[4] { return sqrt(x) }\n"
    "//^ E0301 `import std.tensor` declares it",
    R"(import std.nn
graph g(q: f32[2, 3, 4]) -> f32[2, 3, 4] { return scaled_dot_product_attention(q, q, q) }
//^ E0301 (here it is attention(q, k, v) of std.nn, with causal: true for is_causal)
graph h(q: f32[2, 3, 4]) -> f32[2, 3, 4] { return apply_rotary_pos_emb(q) }
//^ E0301 (here it is rope(x, from: pos) of std.nn, of q and of k))",
    R"(const A = 1
const A = 2
//^ E0302 `A` is declared twice
actor B(s: int) {
  state s: f32 = 0.0
//^ E0302 `s` is a parameter and a state
  state t: f32 = 0.0
  state t: f32 = 0.0
//^ E0302 `t` is declared twice
  method m() { }
  method m() { }
//^ E0302 `m` is declared twice
}
fn f<T, T>(x: (a: f32, a: f32)) -> (b: f32, c: f32) { return (b: x.a, b: x.a) }
//^ E0302 `T` is declared twice
//^ E0302 field `a` is declared twice
//^ E0302 field `b` is given twice
//^ E0406 field 1 is declared as `c` and given as `b`)",
    R"(actor A(k: int) {
  state s: f32 = 0.0
  method m(x: f32[n], s: f32) { let k = x  for i in 0..2 { let n = i } }
//^ E0303 `s` is a state of this actor and would be hidden
//^ E0303 `k` is a name of this body already
//^ E0303 `n` is a name of this body already
}
fn f(x: f32) -> f32 { let h = x  for i in 0..2 { let h = h }  return h }
//^ E0303 `h` is a name of this body already
fn g(x: f32, x: f32) { for i in 0..2 { let y = i }  for i in 0..2 { let y = [i for j in 0..2] } }
//^ E0303 `x` is a name of this body already)",
    R"(actor A() { }
const N = 4
fn f(x: flt[4], y: A, z: int[4], w: N) { }
//^ E0304 `flt` is not a type
//^ E0304 `A` is not a type
//^ E0304 `int` is known at compile time
//^ E0304 `N` is not a type)",
    R"(import std.tensor
import std.nn as nn
actor A() { method m() -> f32 { return 1.0 } }
place a = A() on cpu[0]
fn f<T>(x: T) -> f32 { return T }
//^ E0305 `T` is a dtype variable
graph g() -> f32 { return (f, A, g, sum, nn, a.m, 1.0)[6] }
//^ E0305 `f` is a fn
//^ E0305 `A` is an actor
//^ E0305 `g` is a graph
//^ E0305 `sum` is an op
//^ E0305 `nn` is an imported file
//^ E0305 `m` is a method)",
    R"(const N = 4
actor A() { method m() { } }
place a[i in 0..2] = A() on cpu[i]
graph g(x: f32) { x(1)  N()  A()  a()  a.m()  x.m()  let y = 1(2)  a[0].m() }
//^ E0306 `x` is an f32 and cannot be called
//^ E0306 `N` is a const
//^ E0306 `A` is an actor
//^ E0306 `a` is an array of places
//^ E0306 this is an array of places of actor `A`
//^ E0306 only places have methods, and this is an f32
//^ E0306 this is a compile-time int)",
    R"(fn f(x: f32) -> int { return size(x) }
//^ E0309 `size` is a function of dimensions)",
    R"(import std.tensor
fn f(x: f32[2 * n]) -> f32 { return sum(x) }
//^ E0310 the dimension `n`
fn g(x: f32[*broadcast(s, t)], y: f32[*s], z: f32[*t]) -> f32 { return sum(x) }
//^ E0310 a call cannot solve for a function of runs
graph h(x: f32[4]) -> f32[k] { return x }
//^ E0310 write its bound: k <= 64
op o(x: f32[n]) -> f32[k <= n]
//^ E0310 an op's result takes an extent
fn z(x: f32[n]) -> f32[n] { let y = zeros<f32[m]>()  let v: f32[2 * q] = x  return x }
//^ E0310 the dimension `m`
//^ E0310 the dimension `q`)",
    R"(import std.tensor
actor A(n: int) { state w: f32[n, d] = zeros()  state v: f32[*s] = zeros() }
//^ E0311 `d` is neither a const nor a parameter
//^ E0311 `s` is neither)",
    R"(actor A() { method forward(x: f32) -> f32 { return x } }
place a = A() on cpu[0]
graph g(x: f32) -> f32 { return a.forwrad(x) }
//^ E0312 actor `A` has no method `forwrad` (did you mean `forward`?))",
    R"(fn f(t: (scores: f32, label: i64), x: f32) -> f32 { let u = t.score  let v = x.shape  return x }
//^ E0313 no field `score` (did you mean `scores`?)
//^ E0313 only tuples have fields)",
    R"(graph g(x: f32) -> f32 { let y via ncc = x  return y via 3 }
//^ E0314 (did you mean `nccl`?)
//^ E0314 `via` takes a transport)",
    R"(graph g() inflght 4 { }
//^ E0315 inflight, overlap, timeout, using (did you mean `inflight`?)
op o(x: f32[n]) cost(flop: n)
//^ E0315 a cost has the parts)",
    R"(actor A() { state s: f32 = 1.0  method m(x: f32) -> f32 { b.m(x)  g(x)  return x } }
//^ E0316 `b` is a place
//^ E0316 `g` is a graph
place b = A() on cpu[0]
graph g(x: f32) { b.m(x) }
fn f(n: int, m: int = n) -> int { return m }
//^ E0316 `n` is a parameter)",
    R"(const none = 1
//^ E0318
fn f(none: f32) { let none = 1 }
//^ E0318
//^ E0318)",
    R"(const k = 4
fn f(x: f32[k], y: f32[n], z: f32[*n], d: f32, w: f32[*d]) { }
//^ E0319 `k` is declared in the file
//^ E0319 `n` is one dimension in one place
//^ E0319 `d` is declared already)",
    R"(const A = B + 1
//^ E0320 the value of `A` needs itself
const B = C
const C = 2 * A
const D = D
//^ E0320 the value of `D` needs itself)",

    // weights of another dtype
    R"(import std.tensor
fn weighs<T: float, W: T>(x: T[n, k], w: W[k, m]) -> T[n, m] { return x @ w }
graph g(x: f32[2, 2], h: f16[2, 2], d: f64[2, 2], i: i64[2, 2]) -> f32[2, 2] {
  let a = weighs(h, x)
  //^ E0407 `T` is f16 by another argument; cast<f16>(...) converts, or cast<f32>(...) the other
  let b = weighs(d, h)
  //^ E0407 `T` is f64 by another argument; cast<f64>(...) converts
  let c = weighs(x, i)
  //^ E0529 `W` stands for the dtypes of class float
  let e = weighs(w: d, x: x)
  //^ E0407 `T` is f32 by another argument; cast<f32>(...) converts
  return weighs(x, h)
}
fn own<W: W>(w: W[n]) -> W[n] { return w }
//^ E0423 `W` is no class of dtypes; there are any, number, float and int)",
    // arguments
    R"(import std.tensor
fn f(x: f32, y: f32 = 1.0) -> f32 { return x + y }
graph g(x: f32) -> f32 { f()  f(x, x, x)  f(x, z: x)  f(x, x: x)  matmul(x)  return f(y: x, x: x) }
//^ E0401 fn `f` takes `x`
//^ E0402 fn `f` takes 2 arguments, and 3 are given
//^ E0403 fn `f` has no parameter `z`
//^ E0404 `x` is given twice
//^ E0401 op `matmul` takes `b`
//^ E0408 rank 0 where at least 2 is declared
fn h(xs: [int; 2]) { len()  len(xs, xs)  len(x: xs)  let y = (cast<f32>(), cast<f32>(1, 2)) }
//^ E0401 `len` takes 1 argument
//^ E0402 `len` takes 1 argument
//^ E0403 `len` has no labels
//^ E0401 `cast` takes one tensor
//^ E0402 `cast` takes one tensor
op o(x: f32[n]) cost(flops: n, flops: n)
//^ E0404 `flops` is given twice
graph i() inflight 2 inflight 3 { }
//^ E0404 `inflight` is given twice)",
    R"(import std.tensor
actor A(k: int) { method m(x: f32[n], mb: int) { } }
place a = A("one") on cpu[0]
//^ E0406 actor `A` takes `k` as int, and this is a compile-time str
fn l(xs: [f32[4]; n], t: (f32, i64)) -> int { return n }
graph g(x: f32[4], k: i64) -> f32[4] {
  a.m(x, k)
//^ E0406 this is an i64: a tensor is not known at compile time
  a.m([x], 1)
//^ E0406 method `m` takes `x` as f32[n], and this is a list
  l(x, (1.0, 2))
//^ E0406 takes `xs` as [f32[4]; n]
  l([x], (1.0, 2, 3))
//^ E0406 3 fields where the type has 2
  l([x], (1.0, 2.5))
//^ E0407 field 1 is a compile-time float
  let c = cast<f32>("x")
//^ E0406 `cast` converts tensors and numbers
  return (a, x)
//^ E0406 the result is declared as f32[4], and this is a tuple
})",
    R"(import std.tensor
import std.nn
actor A() { state s: i64 = 0.5  method m(x: f32[n]) { s = x[0] } }
//^ E0407 state `s` is declared as i64, and this is a compile-time float
//^ E0407 state `s` is declared as i64, and this is an f32
place a = A() on cpu[0]
graph g(x: f32[4], y: i64[4], b: bool[4]) -> f32[4] {
  a.m(y)
//^ E0407 method `m` takes `x` as f32[n], and this is an i64[4]: cast<f32>(...) converts
  let z = x + y
//^ E0407 `+` does not take an f32[4] and an i64[4]: `T` is f32 by another argument
  let w = y * 0.5
//^ E0407 `*` does not take an i64[4] and a compile-time float
  let v = softmax(y)
//^ E0529 `T` stands for the dtypes of class float
  let u = -b
//^ E0529 `-` does not take a bool[4]
  let t: f32[4] = y
//^ E0407 this value is declared as f32[4], and this is an i64[4]
  return x
})",
    R"(import std.tensor
import std.grad
actor A() { method m(x: f32[n, 4]) -> f32[n] { return x } }
//^ E0408 rank 2 where 1 is declared
place a = A() on cpu[0]
graph g(x: f32[4], y: f32[4, 4]) -> f32[4] {
  a.m(x)
//^ E0408 method `m` takes `x` as f32[n, 4], and this is an f32[4]: rank 1 where 2 is declared
  let z = relu_grad(x, y)
//^ E0408 `*s` is 1 dimension by another argument, and 2 here
  return x[0] + y[0]
})",
    R"(import std.tensor
fn f(x: f32, s: str, xs: [f32; 2]) {
  let a = s + s
//^ E0409 strings are put together by interpolation
  let b = xs * 2
//^ E0409 `*` does not take a list and a compile-time int
  let c = xs + x
//^ E0409 `+` does not take a list and an f32
  let d = 1 and 2
//^ E0409 its operands are bools
  let e = not 1
//^ E0409 `not` does not take a compile-time int
  let g = 0..x
//^ E0409 the ends of a range
  let h = -s
//^ E0409 `-` does not take a compile-time str
  let i = 2 @ 3
//^ E0409 it multiplies matrices
  let ok = (s == "x") == (1.5 < 2)
})",
    R"(import std.tensor
fn f(x: f32[4]) -> f32[4] { return add<f32[4]>(x, f<f32>(cast<f32[4]>(x))) }
//^ E0410 op `add` takes no type
//^ E0410 fn `f` takes no type
//^ E0410 `cast` takes a dtype without dimensions)",

    // statements
    R"(const N = 1
fn f(x: f32[n]) -> f32[n] { let y = x  x = y  y = x  N = 2  n = 3  for i in 0..2 { i = 1 }  return y }
//^ E0411 `x` is a parameter
//^ E0411 `y` is not a `var`
//^ E0411 `N` cannot be assigned to
//^ E0411 `n` cannot be assigned to
//^ E0411 `i` is not a `var`)",
    R"(actor A() {
  state w: f32[4] = 0.0
  state l: [f32; 2] = [0.0, 0.0]
  method m() { w[0] = 1.0  l[0] = 1.0  l[0][1] = 2.0 }
//^ E0412 only elements of a list
//^ E0412 only elements of a list
}
fn f() { var v = [(a: 1)]  v[0].a = 2  v[0, 1] = 2  v[0] = (a: 3) }
//^ E0412 one subscript at a time)",
    R"(fn f(n: int) -> int { }
//^ E0413 `f` declares a result
fn g(n: int) -> int { if n > 1 { return 1 } }
//^ E0413 `g` declares a result
fn h(n: int) -> int { if n > 1 { return 1 } else if n > 0 { return 2 } else { return 3 } })",
    R"(fn f(n: int) { return n }
//^ E0414 where no result is declared
fn g(n: int) -> int { if n > 1 { return 1 }  return 2 }
//^ E0414 a `return` is the last statement
fn h(n: int) -> int { for i in 0..n { return i }  return 2 }
//^ E0414 a `return` is the last statement)",
    R"(fn f(x: f32[4], b: bool[]) { let y = if b { x } else { x }  if 1 { }  for i in 0..2 { if x { } } }
//^ E0415 whose value is known only while running
//^ E0415 this is a compile-time int
//^ E0415 this is an f32[4])",
    R"(actor A() { }
place a[i in 0..2, j in 0..2] = A() on cpu[i]
place b[i in 2] = A() on cpu[i]
//^ E0416 the index of an array of places goes over a range
graph g(x: f32[4]) { for i in 4 { }  for r in x { }  for p in a { }  let l = [1 for q in zip(x)] }
//^ E0416 a range is written 0..n
//^ E0416 x[i] take its rows
//^ E0416 an array of places with 2 indices
//^ E0416 this is an f32[4])",
    R"(fn f(t: (f32, f32), x: f32) { let (a, b, c) = t  let (d, e) = x  for (i, j) in 0..2 { } }
//^ E0417 the pattern has 3 names and the tuple 2
//^ E0417 a pattern of several names
//^ E0417 a pattern of several names)",
    R"(actor A() { }
place a[i in 0..2, j in 0..2] = A() on cpu[i]
graph g(x: f32, y: f32[4], t: (f32, f32), k: i64, l: [f32; 2]) -> f32 {
  let b = (x[0], y["a"], t[2], l[k], y[0, 0], 3[0])
//^ E0418 only lists, tuples
//^ E0418 this is a compile-time str
//^ E0418 there is no 2
//^ E0418 this is an i64
//^ E0418 one subscript at a time
//^ E0418 this is a compile-time int
  let c = (a[0], a[0, 0], y[0..2], l[0..1])
//^ E0418 has 2 indices, and 1 is given
  return x
})",
    R"(graph g() overlap maybe { }
//^ E0419 `overlap` is `on` or `off`
graph h() timeout 5 { }
//^ E0419 a timeout is a time
graph i() timeout 5GiB { }
//^ E0419 a timeout is a time
graph j() timeout 0s { }
//^ E0419 a timeout is a time
graph k() timeout 5s overlap on { })",
    R"(import std.tensor
const C = zeros<f32[4]>()
//^ E0420 a const must be known at compile time
actor A(s: str) { state w: f32[s, 1.5] = zeros()  method m(x: i64, y: f32[x]) { let z = load("{x}", "w") } }
//^ E0420 `s` is a compile-time str
//^ E0420 a dimension is a compile-time int; this is a compile-time float
//^ E0420 `x` is an i64
//^ E0420 what a string takes in must be known at compile time
graph g(x: f32) inflight 1.5 { let y = x on gpu[x] }
//^ E0420 `inflight` is a compile-time int
//^ E0420 the number of a device must be known)",
    R"(actor A() { }
place a = A on cpu[0]
//^ E0421 a place is an actor with its arguments
place b = A() on 3
//^ E0421 a place stands on a device
place c[i in 0..2] = A() on cpu
//^ E0421 a device is written with its number
graph g(x: f32) -> f32 { return (((x on x) on c) on gpu(0)) on node[0] on gpu[0, 1] }
//^ E0421 `on` takes a place or a device such as gpu[0]; this is an f32
//^ E0421 this is an array of places
//^ E0421 a device is written with brackets: gpu[0]
//^ E0421 node[j] is a machine
//^ E0421 a device is cpu[i])",
    R"(op o(x: f32) -> f32 via shm
//^ E0422 a `via` stands at a use
actor A() { method m(x: f32) -> f32 { let y via shm = x  return (x via shm) on gpu[0] } }
//^ E0422 a `via` inside an actor means nothing
//^ E0422 a `via` inside an actor or a const
//^ E0422 `on` places ops of a graph)",
    R"(fn f<T: floating>(x: T) { }
//^ E0423 `floating` is no class)",
    R"(actor A(x: f32, k: i64) { }
//^ E0424 the parameters of an actor
//^ E0424 the parameters of an actor
op o(x: f32, k: int) inplace k
//^ E0424 `inplace` names the tensor parameter)",
    R"(const T = 5s
//^ E0425)",
    R"(fn f(x: f32[4 <= 8], k: i64, y: f32[k <= 8], z: f32[*3]) { }
//^ E0426 a bounded dimension is a name
//^ E0426 `k` is declared already
//^ E0426 after `*` stands a run)",
    R"(import std.debug
fn f(x: f32[*s]) { let y = sleep(5)  let z = s }
//^ E0427 this call has no result
//^ E0427 a run of dimensions is no value)",
    R"(import std.tensor
op o<T>(x: T[*s], k: int) -> T[*drop(k, s)] cost(flops: size(k), bytes: width(s))
//^ E0406 `drop` takes a run of dimensions
//^ E0406 `drop` takes the number of the dimension
//^ E0406 `size` takes a run of dimensions
//^ E0406 width(T) is the bytes)",
    R"(fn f(x: f32[n, 4]) -> f32[n, 4] { return x[-1] }
//^ E0511 indices do not count from the end: write [n - 1]
fn g(x: f32[3, 4]) -> f32[4] { return x[-2] }
//^ E0511 write [1])",

    // not in the language yet
    R"(import std.tensor
actor A() { method m() -> f32 { return 1.0 } }
place a[i in 0..2] = A() on cpu[i]
graph g(x: f32) -> f32 {
  return x via nccl(lanes: "edge")
//^ E0430 options of a transport
}
topology t() { device gpu[0] { memory: 3 } link gpu[0] -> gpu[1] { } }
//^ E0432 `memory`
//^ E0431 `bandwidth`
fn f(x: bytes[<= 4], y: opaque) { }
//^ E0715)",
    R"(transport fast = nccl(lanes: "edge")
//^ E0315 `nccl` has no option
actor A() {
  state s: bytes[<= 4] = 0
//^ E0324 `bytes`
})",
    R"(graph g(x: f32, _y: f32) { }
//^ W0301 nothing reads `x`)",
    R"(graph g(x: f32, k: int) -> f32 { return x * k }
//^ W0303 no graph calls `g`)",
    R"(fn old(x: f32[n]) -> f32[n] deprecated x * 2.0 { return x * 2.0 }
graph g(x: f32[4]) -> f32[4] { return old(x) }
//^ W0304 `x * 2.0` is written instead)",
    R"(op widest(x: [f32[each n]; k]) -> f32[total(n)] kernel "concat" (x, y)
//^ E0424 `y` is none
fn widest(y: [f32[4]; k]) -> f32[4] { return y[0] }
//^ E0302 some calls could mean either
graph g(x: [f32[each n]; 2]) -> f32[4] { return x[0] }
//^ E0426 `each n`)",
    R"(graph g(x: f32[4]) -> f32[4] using nothing(2) { return x }
//^ E0321 `nothing`)",
    R"(schedule eager() { prefer backwards > forward }
actor S() { method forward(x: f32[4]) -> f32[4] { return x } }
place a = S() on gpu[0]
graph step(x: f32[4]) -> f32[4] using eager { return a.forward(x) }
//^ E0322 `backwards`)",
    R"(schedule eager() { prefer backward > forward }
actor S() {
  method forward(x: f32[4]) -> f32[4] { return x }
  method backward(x: f32[4]) -> f32[4] { return x }
}
place a = S() on gpu[0]
graph step(x: f32[4]) -> f32[4] using eager with (back = backward) {
//^ E0323 `back`
  return a.backward(a.forward(x))
})",
    R"(schedule one() { limit forward <= 4 }
//^ E0428 two methods)",
    R"(schedule round() {
  prefer forward > backward
  prefer backward > forward
//^ E0429 `forward`
})",
    // named types, and tuples
    R"(const D = 4
type Layer(d: int) = (up: f32[d, D], bias: f32[d])
type Loop = (Loop, f32)
//^ E0326 `Loop` stands for itself
type Open = f32[rows, D]
//^ E0310 `rows` is neither a const nor a parameter of the type
type Idle(d: int) = f32[D]
//^ E0424 no dimension and no length of `Idle`
type Layer = f32
//^ E0302 `Layer` is declared twice)",
    R"(type A = (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
type B = (A, A, A, A, A, A, A, A, A, A)
type C = (B, B, B, B, B, B, B, B, B, B)
type D = (C, C, C, C, C, C, C, C, C, C)
type E = (D, D, D, D, D, D, D, D, D, D)
//^ E0327 more than 100000 types)",
    R"(type Layer(d: int) = (up: f32[d, 4], bias: f32[d])
fn f(x: Layer, y: Layer(4, 5), z: int(4), u: Missing(4), v: Layer(d: 2.0)) -> Layer(3) {
//^ E0401 takes `d`, which is not given; write Layer(d)
//^ E0402 takes 1 argument, and here are 2; write Layer(d)
//^ E0304 `int` takes no arguments
//^ E0304 `Missing` is not a type
//^ E0420 a compile-time float
  let w = Layer
//^ E0305 `Layer` is a type
  return Layer(3)
//^ E0306 `Layer` is a type
})",
    R"(import std.tensor
actor A() {
  state w: (up: f32[4], bias: f32[2], xs: [f32; 2]) = (ones(), ones(), [1.0, 2.0])
  method m(x: f32[4]) {
    w.down = x
//^ E0313 no field `down`
    w[3] = x
//^ E0418 there is no 3
    w.up.x = x
//^ E0412 a tensor has no fields
    w.xs.x = x
//^ E0412 have numbers
    w.up[0] = x
//^ E0412 `w.up = update_row(w.up, row, at: i)`
    let t = (up: x, bias: x)
    for (name, v) in t { }
//^ E0417 items(t)
    let y = (v for v in t).down
//^ E0313 no field `down`
    let z = items(t, 1)
//^ E0402 `items` takes 1 argument
  }
})",
    R"(fn f(n: int) -> int { repeat until n > 3 limit 3 { yield n } }
//^ E0433 the last statement of a graph
actor A() {
  state n: f32 = 0.0
  method m() { repeat until n > 3.0 limit 3 { n += 1.0 } }
//^ E0433 the last statement of a graph
}
graph twice(x: f32) -> f32 {
  repeat until x > 3.0 limit 3 { yield x }
//^ E0433 what stands before it is done once
  repeat until x > 3.0 limit 3 { yield x }
}
graph nested(x: f32) {
  repeat until x > 3.0 limit 3 {
    for i in 0..2 { repeat until x > 3.0 limit 3 { let y = x } }
//^ E0433 what stands before it is done once
    if true { yield x }
//^ E0414 a `yield` where no result is declared
  }
}
graph rows(x: f32) -> f32 {
  yield x
//^ E0414 a `yield` is the last statement of a round
  let y = x
  repeat until x > 3.0 limit 3 {
    for i in 0..2 { yield x }
//^ E0414 a `yield` is the last statement of a round
    return x
//^ E0433 `yield` instead of `return`
  }
}
graph in_branches(x: f32) -> f32 {
  repeat until x > 3.0 limit 3 { if true { yield x } else { yield x } }
}
graph in_one(x: f32) -> f32 {
  repeat until x > 3.0 limit 3 { if true { yield x } }
//^ E0413 yields in both branches
}
graph outside(x: f32) -> f32 { yield x }
//^ E0433 directly before `repeat`
graph calls(x: f32) -> f32 { return in_branches(x) }
//^ E0433 `in_branches` repeats)",
    R"(graph number(x: f32) { repeat until x limit 3 { let y = x } }
//^ E0434 `until` asks a bool
graph late(x: f32, n: i64) { repeat until x > 1.0 limit n { let y = x } }
//^ E0434 a limit is a number of rounds
graph other(x: f32, n: i32) { repeat until x > 1.0 limit n <= 9 { let y = x } }
//^ E0434 an input of the graph
graph reversed(x: f32, n: i64) { repeat until x > 1.0 limit 9 >= n { let y = x } }
//^ E0434 a limit is a number of rounds
graph inner(x: f32) { repeat until c limit 3 { if true { let c = x > 1.0 } } }
//^ E0301 it ended with the loop or branch
graph none_such(x: f32) { repeat until c limit 3 { let d = x > 1.0 } }
//^ E0301 `c` is not declared)",
};

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_REFUSED_PROGRAMS_H_

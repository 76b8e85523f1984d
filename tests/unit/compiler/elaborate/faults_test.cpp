// Every diagnostic of elaboration, and its limits.
#include <chrono>
#include <string>

#include "compiler/base/check.h"
#include "tests/support/elaborated.h"

using namespace cgraph;
using namespace cgraph::testing;

// ---- diagnostics -------------------------------------------------------------------------------

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

// Faults that Check cannot tell, since a `var` may hold anything.
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

// ---- limits ------------------------------------------------------------------------------------

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

TEST_CASE("a failed check is an exception, also from the thread that elaborates") {
  CHECK_THROWS_AS(CheckFailed("test", "what must hold", __FILE__, __LINE__), InternalError);
  // Check has refused a body without a return, after which nobody elaborates it.
  Sources sources;
  Diagnostics diagnostics(sources);
  const SourceId main = sources.Add("test.cgraph", "graph g(x: f32[4]) -> f32[4] { }\n");
  CheckOptions options;
  options.library_dir = CGRAPH_SOURCE_DIR "/stdlib";
  const program::Program program = Check(Parse(main, diagnostics), sources, options, diagnostics);
  REQUIRE(diagnostics.has_errors());
  std::string what;
  try {
    Diagnostics others(sources);
    (void)Elaborate(program, {}, others);
  } catch (const InternalError& error) {
    what = error.what();
  }
  CHECK(what.find("internal error in phase 'elaborate': g ends without return") == 0);
  CHECK(what.find("this is a bug of cgraph") != std::string::npos);
  // The next one is none the worse.
  CHECK(BodyCodes("return x").empty());
}

TEST_CASE("whatever is made while compiling is charged") {
  ElaborateOptions options;
  options.limits.steps = 100'000;
  const auto codes = [&](const std::string& statements) {
    return Run("import std.tensor\nimport std.debug\ngraph g(x: f32[4]) -> f32[4] { " + statements +
                   " return x }",
               options)
        ->Codes();
  };
  CHECK(codes("for i in 0..1000 { probe(\"a\", x) }").empty());
  CHECK(codes("for i in 0..1000 { probe(\"" + std::string(10'000, 'a') + "\", x) }") == "E0520");
  CHECK(codes("for " + std::string(10'000, 'i') + " in 0..1000 { probe(\"a\", x) }") == "E0520");
  const std::string twice = "var t = (x, x) for i in 0..40 { t = (t, t) } ";
  CHECK(codes(twice).empty());  // shared, and never walked
  CHECK(codes(twice + "let q = t via shm") == "E0520");
  CHECK(codes(twice + "let q = x + x after t") == "E0520");
  CHECK(codes("var t = [1] for i in 0..40 { t = [t, t] } let q = sum(t)") == "E0520");
  CHECK(codes("let l = zip(0..20000)") == "E0520");
}

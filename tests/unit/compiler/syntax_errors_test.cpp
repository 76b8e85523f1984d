// Messages of the parser about texts that are no programs: one error per mistake, at its line.
#include <catch2/catch.hpp>

#include "tests/support/parsed.h"

namespace cgraph {
namespace {

using testing::Parsed;

std::string Where(const std::string& text) { return Parsed(text).where(); }

// Returns the diagnostics of one statement in an otherwise right graph, whose other statements
// survive.
std::string InGraph(const std::string& statement) {
  const Parsed parsed("graph g(x: f32) -> f32 {\n" + statement + "\nlet rest = x\nreturn x\n}\n");
  INFO(statement << "\n" << parsed.errors());
  CHECK(parsed.file.items.size() == 1);
  CHECK(parsed.dump().find("let rest") != std::string::npos);
  return parsed.where();
}

TEST_CASE("five mistakes are five errors, each at its own line") {
  const Parsed parsed(R"(import std.tensor
const B = 64
actor Layer(inputs: int) {
  state w: f32[inputs, 4] = zeros()
  method hidden(x: f32[n, inputs]) -> f32[n, 4] {
    let y = relu(x @ w
    return y
  }
  method logits(x: f32[n, inputs]) -> f32[n, 4] {
    lett z = x @ w
    return z

  method more(x: f32[n, inputs]) -> f32[n, 4] {
    let z = x @ w + * 2
    let u = z
    return u
  }
}
plcae first = Layer(64) on gpu[0]
graph classify(x: f32[B, 64]) -> f32[B, 4] {
  return first.hidden(x)
}
)");
  INFO(parsed.errors());
  CHECK(parsed.where() == "6:E0202 10:E0212 11:E0202 14:E0201 19:E0212");
  // All the parts that were not wrong are there.
  for (const char* part : {"method hidden", "let y", "method logits", "let z", "method more",
                           "let u", "place first", "graph classify"}) {
    INFO(part);
    CHECK(parsed.dump().find(part) != std::string::npos);
  }
}

TEST_CASE("a missing brace is found where the layout breaks") {
  CHECK(Where("actor A() {\n  method m() {\n    f()\n}\ngraph g() { f() }\n") == "3:E0202");
  CHECK(Where("actor A() {\n  method m() {\n    f()\n  }\ngraph g() { f() }\n") == "4:E0202");
  CHECK(Where("graph g() {\n  if a {\n    f()\n  f()\n}\ngraph h() { f() }\n") == "4:E0202");
  CHECK(Where("graph g() {\n  f()\n") == "2:E0202");
  CHECK(Where("graph g() {\n  for x in y\n    f()\n  }\n  if a\n    f()\n  }\n}\n"
              "graph h() { f() }\n") == "2:E0202 5:E0202");
  CHECK(Where("graph g() -> f32\n  let a = 1\n  return a\n}\ngraph h() { f() }\n") == "1:E0202");
  CHECK(Where("actor A()\n  state w: f32 = 1\n  method m() -> f32\n    return w\n  }\n}\n") ==
        "1:E0202 3:E0202");
}

TEST_CASE("missing and superfluous brackets") {
  CHECK(InGraph("f(a, b") == "2:E0202");
  CHECK(InGraph("let y = [f(a, (b + 1]") == "2:E0202");
  CHECK(InGraph("let y = f(a, b\na.g(y)") == "2:E0202");
  CHECK(InGraph("let y = f(a]") == "2:E0203");
  CHECK(InGraph("let y = a)") == "2:E0203");
  CHECK(Where("graph g(x: f32 -> f32 {\n  return x\n}\ngraph h() { f() }") == "1:E0202");
  CHECK(Where("graph g() { f() }\n}\n)\ngraph h() { f() }") == "2:E0203 3:E0203");
}

TEST_CASE("statements") {
  CHECK(InGraph("y") == "2:E0204");
  CHECK(InGraph("y[1].z") == "2:E0204");
  CHECK(InGraph("y + 1") == "2:E0204");
  CHECK(InGraph("y == 1") == "2:E0204");
  CHECK(InGraph("y z") == "2:E0204");
  CHECK(InGraph("return") == "2:E0214");
  CHECK(InGraph("f(x) = 3") == "2:E0216");
  CHECK(InGraph("let graph = 3") == "2:E0215");
  CHECK(InGraph("let y = f(a, in: b)") == "2:E0215");
  CHECK(InGraph("let y = f(a,\nlet: b)") == "3:E0215");
  CHECK(InGraph("in = 3") == "2:E0215");
  CHECK(InGraph("let = 3") == "2:E0201");
  CHECK(InGraph("let y 3") == "2:E0201");
  CHECK(InGraph("let y =") == "2:E0201");
  CHECK(InGraph("let y = a b") == "2:E0204");
  CHECK(InGraph("let y = in") == "2:E0201");
  CHECK(InGraph("* 3") == "2:E0201");
  CHECK(InGraph("else { f() }") == "2:E0201");
  CHECK(InGraph("{ f() }") == "2:E0201");
  CHECK(InGraph("if a = b { f() }") == "2:E0201");
  CHECK(InGraph("for y on ys { f() }") == "2:E0201");
  CHECK(InGraph("let y = if a { 1 }") == "2:E0201");
  CHECK(InGraph("  const X = 3") == "2:E0201");
}

TEST_CASE("nothing joins the line before it silently") {
  CHECK(InGraph("let y = a\n(b)") == "3:E0205");
  CHECK(InGraph("let y = a\n[b]") == "3:E0205");
  CHECK(InGraph("let y = a\n-b") == "3:E0205");
  CHECK(InGraph("let y = f(a,\n  -b)") == "");
  CHECK(InGraph("let y = a +\n  -b") == "");
  CHECK(InGraph("let y = if a {\n  -b\n} else {\n  (b)\n}") == "");
}

TEST_CASE("expressions") {
  CHECK(InGraph("let y = a < b < c") == "2:E0206");
  CHECK(InGraph("let y = 0..1..2") == "2:E0206");
  CHECK(InGraph("let y = f(a: 1, 2)") == "2:E0213");
  CHECK(InGraph("let y = 9223372036854775808") == "2:E0207");
  CHECK(InGraph("let y = 0x1_0000_0000_0000_0000") == "2:E0207");
  CHECK(InGraph("let y = 1e999") == "2:E0207");
  CHECK(InGraph("let y = .5") == "2:E0207");
  CHECK(InGraph("let y = 1.") == "2:E0207");
  CHECK(InGraph("let y = 5sec") == "2:E0207");
  CHECK(InGraph("let y = !a") == "2:E0211");
  CHECK(InGraph("let y = a && b") == "2:E0211");
  CHECK(InGraph("let y = \xc3\xa9 + 1") == "2:E0211");
}

TEST_CASE("strings and comments") {
  CHECK(InGraph("let y = \"abc") == "2:E0208");
  CHECK(InGraph("let y = \"abc\\") == "2:E0208");
  CHECK(InGraph("let y = f(\"abc)") == "2:E0202");
  CHECK(InGraph("let y = \"a\\qb\"") == "2:E0209");
  CHECK(InGraph("let y = \"a{b\"") == "2:E0209");
  CHECK(InGraph("let y = \"a}b\"") == "2:E0209");
  CHECK(InGraph("let y = \"{}\"") == "2:E0201");
  CHECK(InGraph("let y = \"{a +}\"") == "2:E0201");
  CHECK(InGraph("let y = \"{a b}\"") == "2:E0201");
  CHECK(InGraph("let y = \"{(a}\"") == "2:E0202");
  CHECK(InGraph("let y = \"{f(\\\"x\\\")}\"") == "2:E0209");
  CHECK(Where("const A = 1 /* open") == "1:E0210");
  CHECK(Where("const A = 1 /*/") == "1:E0210");
}

TEST_CASE("declarations and members") {
  CHECK(Where("foo\nconst A = 1") == "1:E0201");
  CHECK(Where("const A 1\nconst B = = 2\nconst C = 3") == "1:E0201 2:E0201");
  CHECK(Where("graph g(x f32) { f() }\ngraph h() { f() }") == "1:E0201");
  CHECK(Where("transport fast\nplace p = A(1)\nconst A = 1") == "1:E0201 2:E0201");
  CHECK(Where("import\nconst A = 1") == "1:E0201");
  CHECK(Where("actor A() {\n  let y = 3\n  state w: f32 = 0\n  method m(x f32) { f() }\n"
              "  method n() -> { f() }\n  method o() { f() }\n}") == "2:E0212 4:E0201 5:E0201");
  CHECK(Where("op f() kernel \"a\" kernel \"b\"") == "1:E0217");
  CHECK(Where("op f() kernel \"{a}\"") == "1:E0209");
}

TEST_CASE("misspelt keywords") {
  CHECK(Where("grpah g() { f() }") == "1:E0212");
  CHECK(Where("improt std.tensor") == "1:E0212");
  CHECK(Where("actor A() {\n  sttae w: f32 = 0\n  metod m() { f() }\n}") == "2:E0212 3:E0212");
  CHECK(InGraph("lett y = 1") == "2:E0212");
  CHECK(InGraph("forr y in 0..4 { f(y) }") == "2:E0212");
  CHECK(InGraph("retrun 3") == "2:E0212");
  CHECK(InGraph("letter = 3") == "");
}

TEST_CASE("after a rule that cannot be read the next ones are") {
  const Parsed schedule(
      "schedule s(n: int) {\n  prefer a >\n  limit a - b <= 1\n  memry <= 1GiB\n  a\n"
      "  order a by (mb)\n}\nconst A = 1");
  CHECK(schedule.where() == "3:E0201 4:E0212 5:E0201");
  REQUIRE(schedule.file.items.size() == 2);
  const auto& decl = std::get<syntax::ScheduleDecl>(schedule.file.items[0].node);
  CHECK(decl.rules.size() == 3);
  CHECK(Where("graph g() using s(1) with (mb = m) inflight 2 {\n  f()\n}") == "");
  CHECK(InGraph("let limit = order - by") == "");
}

TEST_CASE("native code has a library's file name and a function, and each clause once") {
  const auto method = [](const std::string& clauses) {
    return Where("actor A() {\n  method m() = extern " + clauses + "\n}");
  };
  CHECK(method("\"lib.so:f\" reads w cost(flops: 1) writes v") == "");
  CHECK(method("\"lib.so\"") == "2:E0218");
  CHECK(method("\"../lib.so:f\"") == "2:E0218");
  CHECK(method("\"lib.so:f\" reads w reads v") == "2:E0217");
}

TEST_CASE("a note points at the bracket, a fix mends the text") {
  const Parsed parsed("const A = (1 + 2");
  REQUIRE(parsed.diagnostics.all().size() == 1);
  const Diagnostic& diagnostic = parsed.diagnostics.all()[0];
  REQUIRE(diagnostic.notes.size() == 1);
  CHECK(parsed.sources.Text(diagnostic.notes[0].range) == "(");
  REQUIRE(diagnostic.fixes.size() == 1);
  CHECK(diagnostic.fixes[0].text == ")");
  CHECK(diagnostic.fixes[0].range.begin == 16);
}

}  // namespace
}  // namespace cgraph

// The trees that legal programs parse to: every construct, by its dump.
#include <catch2/catch.hpp>

#include "tests/support/parsed.h"

namespace cgraph {
namespace {

using testing::Parsed;

// The dump of one expression, without the lines that lead to it.
std::string Expression(const std::string& text) {
  const Parsed parsed("const X = " + text);
  INFO(text << "\n" << parsed.errors());
  CHECK(parsed.diagnostics.errors() == 0);
  const std::string dump = parsed.dump();
  std::string lines;
  size_t at = dump.find("const X\n") + 8;
  while (at < dump.size()) {
    const size_t end = dump.find('\n', at);
    lines += dump.substr(at + 4, end - at - 4) + "\n";
    at = end + 1;
  }
  return lines;
}

std::string Dump(const std::string& text) {
  const Parsed parsed(text);
  INFO(text << "\n" << parsed.errors());
  CHECK(parsed.diagnostics.errors() == 0);
  return parsed.dump();
}

TEST_CASE("operators bind by strength and chain flat") {
  CHECK(Expression("1 + 2 * 3 - x") ==
        "chain\n"
        "  int 1\n"
        "  + chain\n"
        "    int 2\n"
        "    * int 3\n"
        "  - name x\n");
  CHECK(Expression("a or b and c == 0 .. n + 1") ==
        "chain\n"
        "  name a\n"
        "  or chain\n"
        "    name b\n"
        "    and chain\n"
        "      name c\n"
        "      == chain\n"
        "        int 0\n"
        "        .. chain\n"
        "          name n\n"
        "          + int 1\n");
  CHECK(Expression("-a @ not b") ==
        "chain\n"
        "  negate\n"
        "    name a\n"
        "  @ not\n"
        "    name b\n");
  CHECK(Expression("(1 + 2) * 3") ==
        "chain\n"
        "  chain\n"
        "    int 1\n"
        "    + int 2\n"
        "  * int 3\n");
}

TEST_CASE("literals") {
  CHECK(Expression("32_000") == "int 32000\n");
  CHECK(Expression("0xff_FF") == "int 65535\n");
  CHECK(Expression("9223372036854775807") == "int 9223372036854775807\n");
  CHECK(Expression("-9223372036854775808") == "int -9223372036854775808\n");
  CHECK(Expression("1.5e-3") == "float 0.0015\n");
}

TEST_CASE("quantities, booleans and strings") {
  CHECK(Expression("5s") == "quantity 5 s\n");
  CHECK(Expression("1.5GB/s") == "quantity 1.5 GB/s\n");
  CHECK(Expression("true") == "bool true\n");
  CHECK(Expression(R"("a\n\"{{b}}")") == "string \"a\\n\\\"{b}\"\n");
  CHECK(Expression(R"("fc{i + 1}.{name}")") ==
        "string \"fc\" {} \".\" {} \"\"\n"
        "  chain\n"
        "    name i\n"
        "    + int 1\n"
        "  name name\n");
}

TEST_CASE("the expressions inside a string have their own ranges") {
  const Parsed parsed("const X = \"ab{cd}e\"");
  for (const syntax::Expr& expr : parsed.file.exprs) {
    if (const auto* name = std::get_if<syntax::NameExpr>(&expr.node)) {
      CHECK(parsed.sources.Text(expr.range) == name->name);
    }
  }
  CHECK(parsed.file.exprs.size() == 2);
}

TEST_CASE("postfixes, calls and type arguments") {
  CHECK(Expression("s[d, :].f(1, k: 2)") ==
        "call\n"
        "  field f\n"
        "    index\n"
        "      name s\n"
        "      at name d\n"
        "      all\n"
        "  int 1\n"
        "  k: int 2\n");
  CHECK(Expression("zeros<f32[4]>()") ==
        "call\n"
        "  name zeros\n"
        "  type tensor f32\n"
        "    dim int 4\n");
  CHECK(Expression("a < cast<f16>(b)") ==
        "chain\n"
        "  name a\n"
        "  < cast\n"
        "    tensor f16\n"
        "    name b\n");
  CHECK(Expression("xs[1..3]") ==
        "index\n"
        "  name xs\n"
        "  at chain\n"
        "    int 1\n"
        "    .. int 3\n");
}

TEST_CASE("tuples, lists, comprehensions, if") {
  CHECK(Expression("(a)") == "name a\n");
  CHECK(Expression("()") == "tuple\n");
  CHECK(Expression("(a, b,)") == "tuple\n  name a\n  name b\n");
  CHECK(Expression("(only: a)") == "tuple\n  only: name a\n");
  CHECK(Expression("[]") == "list\n");
  CHECK(Expression("[1, [2]]") == "list\n  int 1\n  list\n    int 2\n");
  CHECK(Expression("[m for (m, h) in zip(a, b) if m for i in h]") ==
        "comprehension\n"
        "  name m\n"
        "  for (m, h)\n"
        "    in call\n"
        "      name zip\n"
        "      name a\n"
        "      name b\n"
        "    if name m\n"
        "  for i\n"
        "    in name h\n");
  CHECK(Expression("if a { 1 } else { -b }") ==
        "if\n"
        "  name a\n"
        "  then int 1\n"
        "  else negate\n"
        "    name b\n");
}

TEST_CASE("via, on and after are the loosest") {
  CHECK(Expression("a + b on m via nccl after [x, y]") ==
        "modified\n"
        "  modified\n"
        "    modified\n"
        "      chain\n"
        "        name a\n"
        "        + name b\n"
        "      on name m\n"
        "    via name nccl\n"
        "  after list\n"
        "    name x\n"
        "    name y\n");
}

TEST_CASE("types") {
  CHECK(Dump("const X: (a: f32[], b: [T[*s]; 4], bytes[<= 8]) = none") ==
        "file\n"
        "  const X\n"
        "    type tuple type\n"
        "      a: tensor f32[]\n"
        "      b: list type\n"
        "        type T\n"
        "          run name s\n"
        "        length int 4\n"
        "      bytes\n"
        "        <= int 8\n"
        "    name none\n");
}

TEST_CASE("a scalar tensor and a compile-time bool are told apart") {
  const Parsed parsed("op f(a: bool, b: bool[])");
  std::vector<bool> brackets;
  for (const syntax::Type& type : parsed.file.types) {
    brackets.push_back(std::get<syntax::TensorType>(type.node).has_dims);
  }
  CHECK(brackets == std::vector<bool>{false, true});
}

TEST_CASE("imports, transports, places") {
  CHECK(Dump("import std.tensor as t import as.op\n"
             "transport fast = nccl(lanes: \"edge\")\n"
             "place s[d in 0..2, t in 0..T] = Shard(t) on node[1].gpu[d]") ==
        "file\n"
        "  import std.tensor as t\n"
        "  import as.op\n"
        "  transport fast = nccl\n"
        "    lanes: string \"edge\"\n"
        "  place s\n"
        "    index d\n"
        "      chain\n"
        "        int 0\n"
        "        .. int 2\n"
        "    index t\n"
        "      chain\n"
        "        int 0\n"
        "        .. name T\n"
        "    actor call\n"
        "      name Shard\n"
        "      name t\n"
        "    on index\n"
        "      field gpu\n"
        "        index\n"
        "          name node\n"
        "          at int 1\n"
        "      at name d\n");
}

TEST_CASE("an op with all its clauses") {
  CHECK(Dump("op f<T: float, U>(x: T[*s], dim: int = -1) -> T[k <= n] where rank(s) == dim\n"
             "  cost(flops: 1, bytes: 2) kernel \"f\" effect io inplace x fails") ==
        "file\n"
        "  op f\n"
        "    generic T: float\n"
        "    generic U\n"
        "    parameter x\n"
        "      type T\n"
        "        run name s\n"
        "    parameter dim\n"
        "      type int\n"
        "      default negate\n"
        "        int 1\n"
        "    result\n"
        "      type T\n"
        "        dim chain\n"
        "          name k\n"
        "          <= name n\n"
        "    where chain\n"
        "      call\n"
        "        name rank\n"
        "        name s\n"
        "      == name dim\n"
        "    cost\n"
        "      flops: int 1\n"
        "      bytes: int 2\n"
        "    kernel \"f\"\n"
        "    effect io\n"
        "    inplace x\n"
        "    fails\n");
}

TEST_CASE("actors, states, methods and statements") {
  CHECK(Dump("actor A(i: int) {\n"
             "  state w: f32 = zeros()\n"
             "  method m(x: f32) -> f32 via fast {\n"
             "    let (a, b): (f32, f32) via nccl = x; var c = 1  w -= a * b\n"
             "    for (p, q) in zip(a, b) { p.f(q) after c }\n"
             "    if a { v[0].x = 1 } else if b { } else { return b }\n"
             "  }\n"
             "}") ==
        "file\n"
        "  actor A\n"
        "    parameter i\n"
        "      type int\n"
        "    state w\n"
        "      type tensor f32\n"
        "      call\n"
        "        name zeros\n"
        "    method m\n"
        "      parameter x\n"
        "        tensor f32\n"
        "      result\n"
        "        tensor f32\n"
        "        via name fast\n"
        "      body\n"
        "        let (a, b)\n"
        "          type tuple type\n"
        "            tensor f32\n"
        "            tensor f32\n"
        "          via name nccl\n"
        "          name x\n"
        "        var c\n"
        "          int 1\n"
        "        assign -=\n"
        "          name w\n"
        "          chain\n"
        "            name a\n"
        "            * name b\n"
        "        for (p, q)\n"
        "          in call\n"
        "            name zip\n"
        "            name a\n"
        "            name b\n"
        "          body\n"
        "            evaluate\n"
        "              modified\n"
        "                call\n"
        "                  field f\n"
        "                    name p\n"
        "                  name q\n"
        "                after name c\n"
        "        if\n"
        "          name a\n"
        "          then\n"
        "            assign\n"
        "              field x\n"
        "                index\n"
        "                  name v\n"
        "                  at int 0\n"
        "              int 1\n"
        "          else\n"
        "            if\n"
        "              name b\n"
        "              then\n"
        "              else\n"
        "                return\n"
        "                  name b\n");
}

TEST_CASE("graphs and their attributes") {
  CHECK(Dump("graph g(x: i64) -> (y: i64) inflight 4 overlap on timeout 5s { return (y: x) }") ==
        "file\n"
        "  graph g\n"
        "    parameter x\n"
        "      tensor i64\n"
        "    result\n"
        "      tuple type\n"
        "        y: tensor i64\n"
        "    attribute inflight int 4\n"
        "    attribute overlap name on\n"
        "    attribute timeout quantity 5 s\n"
        "    body\n"
        "      return\n"
        "        tuple\n"
        "          y: name x\n");
}

TEST_CASE("a topology parses as it is written") {
  const Parsed parsed(testing::ReadText(std::string(CGRAPH_SOURCE_DIR) +
                                     "/tests/syntax/topology_dgx1v.cgraph"));
  CHECK(parsed.diagnostics.errors() == 0);
  CHECK(parsed.dump().find("topology dgx1v") != std::string::npos);
  CHECK(parsed.dump().find("    resource root\n"
                           "      index i\n"
                           "        chain\n") != std::string::npos);
  CHECK(parsed.dump().find("bandwidth: quantity 12 GB/s") != std::string::npos);
}

TEST_CASE("traps.cgraph parses as its comments say") {
  const Parsed parsed(
      testing::ReadText(std::string(CGRAPH_SOURCE_DIR) + "/tests/syntax/traps.cgraph"));
  INFO(parsed.errors());
  REQUIRE(parsed.diagnostics.errors() == 0);
  const std::string dump = parsed.dump();
  const auto has = [&](const std::string& lines) {
    INFO(lines);
    CHECK(dump.find(lines) != std::string::npos);
  };
  has("let y\n          cast\n            tensor f16\n            name cost\n");
  has("let less\n          chain\n            name cost\n            < cast\n");
  has("let z\n          chain\n            negate\n              name cost\n            @ name "
      "memory\n"
      "            * float 2\n");
  has("let a\n        name x\n      evaluate\n        call\n");
  has("let t\n        tuple\n          name a\n          name a\n");
  has("let u\n        tuple\n          only: name a\n");
  has("let v\n        name a\n");
  has("let n\n        tuple\n      let first_two\n");
  has("repeat\n        until chain\n          name repeat\n          > name until\n"
      "        limit chain\n          name limit\n          <= int 4\n");
  has("let w\n        modified\n          modified\n            modified\n              chain\n");
}

TEST_CASE("every program of the repository parses") {
  size_t programs = 0;
  for (const auto& path : testing::Programs({"tests/syntax", "examples", "stdlib"})) {
    const Parsed parsed(testing::ReadText(path));
    INFO(path << "\n" << parsed.errors());
    CHECK(parsed.diagnostics.all().empty());
    CHECK(!parsed.file.items.empty());
    ++programs;
  }
  std::printf("%zu programs parsed\n", programs);
  CHECK(programs >= 15);
}

}  // namespace
}  // namespace cgraph

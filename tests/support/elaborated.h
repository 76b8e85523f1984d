// Elaborated: a program elaborated for a test: its text, and what is asked of the graphs.
#ifndef CGRAPH_TESTS_SUPPORT_ELABORATED_H_
#define CGRAPH_TESTS_SUPPORT_ELABORATED_H_

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "compiler/check/check.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/names.h"
#include "compiler/program/program.h"
#include "compiler/syntax/parse.h"
#include "tests/support/parsed.h"

namespace cgraph::testing {

struct Elaborated {
  Sources sources;
  std::unique_ptr<Diagnostics> diagnostics;
  graph::Module module;

  // Returns the codes without warnings of Check: a parameter that is not read.
  std::string Codes() const {
    std::string codes;
    for (const Diagnostic& diagnostic : diagnostics->all()) {
      if (CodeName(diagnostic.code).startswith("W03")) continue;
      codes += (codes.empty() ? "" : " ") + CodeName(diagnostic.code).str();
    }
    return codes;
  }
  std::string Text() const { return diagnostics->Text(); }
  const graph::Graph& Only() const {
    REQUIRE(module.graphs.size() == 1);
    return module.graphs[0];
  }
};

// `path`: beside it are the files that the text imports. Check may refuse the program for its
// `defines` alone.
inline std::unique_ptr<Elaborated> Run(const std::string& text,
                                       const ElaborateOptions& options = {},
                                       const std::string& path = "test.cgraph") {
  auto result = std::make_unique<Elaborated>();
  SourceId main = result->sources.Add(path, text);
  result->diagnostics = std::make_unique<Diagnostics>(result->sources);
  CheckOptions check;
  check.library_dir = CGRAPH_SOURCE_DIR "/stdlib";
  check.defines = options.defines;
  program::Program program =
      Check(Parse(main, *result->diagnostics), result->sources, check, *result->diagnostics);
  INFO(result->Text());
  if (result->diagnostics->has_errors() && !options.defines.empty()) return result;
  REQUIRE_FALSE(result->diagnostics->has_errors());
  result->module = Elaborate(program, options, *result->diagnostics);
  if (!result->diagnostics->has_errors()) Validate(result->module, "elaborate");
  return result;
}

inline std::unique_ptr<Elaborated> Good(const std::string& text,
                                        const ElaborateOptions& options = {}) {
  auto result = Run(text, options);
  INFO(result->Text());
  REQUIRE_FALSE(result->diagnostics->has_errors());
  return result;
}

inline std::string Example(const std::string& name) {
  return ReadText(CGRAPH_SOURCE_DIR "/examples/" + name);
}

// Returns the ops in program order: "add copy".
inline std::string Ops(const graph::Graph& graph) {
  std::string names;
  for (const graph::Op& op : graph.ops) names += (names.empty() ? "" : " ") + op.name;
  return names;
}

inline std::string Printed(const graph::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Print(module, out);
  return out.str();
}

inline std::string OutputType(const graph::Graph& graph, size_t port = 0) {
  return TypeText(graph, graph.values[graph.outputs.at(port).use.value].type);
}

inline const char* const kCounter = R"(
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

inline std::unique_ptr<Elaborated> WithCounter(const std::string& graph) {
  return Good(kCounter + graph);
}

// Returns the codes that a graph's body over x: f32[4], y: f32[3] reports.
inline std::string BodyCodes(const std::string& body, const std::string& before = "") {
  return Run("import std.tensor\n" + before + "\ngraph g(x: f32[4], y: f32[3]) -> f32[4] {" + body +
             "}")
      ->Codes();
}

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_ELABORATED_H_

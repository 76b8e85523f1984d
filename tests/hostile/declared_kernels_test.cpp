// Every kernel's name under declarations that its author never thought of. An op declaration is
// taken at its word, so each must end in a diagnostic, in a plan that the runtime refuses, or in
// one that runs: never in a crash.
#include <catch2/catch.hpp>

#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/base/kernels.h"
#include "compiler/driver/compile.h"
#include "runtime/plan/load.h"
#include "tests/support/checked.h"
#include "tests/support/plans/plan_trial.h"

namespace cgraph::plan::testing {
namespace {

using cgraph::testing::TempFolder;

std::vector<std::string> RuntimeKernels() {
  return {
#define BINARY(name, operation, dtypes) name,
#define COMPARE(name, operation, dtypes) name,
#define UNARY(name, operation, dtypes) name,
#define SELECT(name, operation, dtypes) name,
#define TERNARY(name, operation, dtypes) name,
#define ELEMENTWISE(name, maker) name,
#define KERNEL(name, maker) name,
#include "runtime/device/cpu/kernels/kernels.def"
  };
}

std::set<std::string> KnownKernels() {
  std::set<std::string> names;
  for (const KnownKernel& kernel : kKnownKernels) names.insert(kernel.name);
  return names;
}

// Declaration: an op's declaration without its kernel, and how a graph uses the op.
struct Declaration {
  const char* head;
  const char* tail;
  const char* use;  // makes an f32[4] of x: f32[4] and m: f32[2, 2]
};
constexpr Declaration kDeclarations[] = {
    {"op f(x: f32[4]) -> f32[4]", "", "return f(x)"},
    {"op f(x: f32[n]) -> f32[n]", "fails", "return f(x)"},
    {"op f<T>(x: T[*s]) -> T[*s]", "elementwise", "return f(f(x) + x)"},
    {"op f(x: f32[4], y: f32[4]) -> f32[4] inplace x", "", "return f(x + x, x)"},
    {"op f<T>(x: T[*s], y: T[*t]) -> T[*broadcast(s, t)] inplace y", "elementwise",
     "return f(x, f(x, x))"},
    {"op f(x: f32[4], y: f32[4], dim: int) -> f32[4]", "fails", "return f(x, x, 7)"},
    {"op f(x: f32[4], y: f32[4], dim: int) -> f32[4]", "", "return f(x, x, 0)"},
    {"op f(x: f32[4], y: f32[2, 2], dim: int) -> f32[4]", "fails", "return f(x, m, 1)"},
    {"op f(x: f32[4], y: f32[4], dim: int) -> f32[4]", "fails", "return f(x, x, -9)"},
    {"op f(x: f32[4], dim: int) -> f32[]", "", "return x + f(x, 3)"},
    {"op f(x: [f32[4]; 2], y: f32[2, 2], dim: int) -> f32[4]", "fails", "return f([x, x], m, 0)"},
    {"op f(dim: int, x: f32[4], y: f32[4]) -> f32[4]", "fails", "return f(0, x, x)"},
    {"op f() -> f32[4]", "", "return x + f()"},
    {"op f(k: int) -> f32[4]", "", "return x + f(4)"},
    {"op f(k: int) -> f32[4]", "", "return x + f(-4)"},
    {"op f(file: str, tensor: str) -> f32[4]", "elementwise", "return x + f(\"f\", \"t\")"},
    {"op f<T>(file: str, tensor: str) -> T[*s]", "elementwise", "return x"},
    {"op f(file: int, tensor: bool) -> f32[4]", "", "return x"},
    {"op f(names: [str; 2], x: f32[4]) -> f32[4]", "", "return f([\"a\", \"b\"], x)"},
    {"op f(x: f32[4]) -> (f32[4], f32[4])", "", "return f(x)[1]"},
    {"op f(x: f32[4]) -> [f32[2]; 3]", "", "return x + f(x)[2][0]"},
    {"op f(x: f32[2, 2]) -> f32[4] inplace x", "", "return f(m)"},
    {"op f(x: f32[4], ms: i64) -> i64[0]", "fails", "let _ = f(x, 1)  return x"},
    {"op f(x: f32[4]) effect io", "fails", "f(x)  return x"},
    {"op f(ok: bool[], message: str) -> bool[]", "", "let _ = f(true, \"m\")  return x"},
};

std::string Program(const Declaration& declaration, const std::string& kernel) {
  std::string text = "import std.tensor\n" + std::string(declaration.head) + " kernel \"" + kernel +
                     "\" " + declaration.tail + "\n";
  if (std::string(declaration.head).find("file:") != std::string::npos) {
    text += "actor A() { state w: f32[4] = " +
            std::string(std::string(declaration.head).find("int") == std::string::npos
                            ? "f(\"f\", \"t\")"
                            : "f(1, true)") +
            "  method get() -> f32[4] { return w } }\nplace a = A() on cpu[0]\n";
  }
  return text + "graph g(x: f32[4], m: f32[2, 2]) -> f32[4] { " + declaration.use + " }\n";
}

// Returns nothing where the program is refused.
std::optional<TrialEnd> Try(const TempFolder& folder, const std::string& program) {
  folder.Write("f.cgraph", program);
  CompileOptions options;
  options.path = (folder.path() / "f.cgraph").string();
  Sources sources;
  Diagnostics diagnostics(sources);
  const Compilation done = Compile(options, sources, diagnostics);
  CHECK((done.plan != nullptr) == !diagnostics.has_errors());
  if (!done.plan) return std::nullopt;
  return TryPlan(ToBytes(*done.plan));
}

TEST_CASE("every kernel's name, declared in ways that no kernel is") {
  const TempFolder folder;
  std::set<std::string> names = KnownKernels();
  for (const std::string& name : RuntimeKernels()) names.insert(name);
  std::map<std::string, size_t> ends;
  size_t trials = 0, turn = 0;
  for (const std::string& name : names) {
    const bool known = KnownKernels().count(name) > 0;
    for (const Declaration& declaration : kDeclarations) {
      // Kernels that only the runtime knows get some of the declarations, in turn.
      if (!known && ++turn % 3 != 0) continue;
      const std::string program = Program(declaration, name);
      INFO(program);
      const std::optional<TrialEnd> end = Try(folder, program);
      CHECK((!end || *end == TrialEnd::kRan || *end == TrialEnd::kNotLoaded ||
             *end == TrialEnd::kTooLarge));  // of sleep
      ++trials;
      const std::string how = !end                       ? "refused"
                              : *end == TrialEnd::kRan   ? "ran"
                                                         : "refused by the runtime";
      ++ends[(known ? "known " : "other ") + how];
    }
  }
  std::printf("%zu declarations of %zu kernels:", trials, names.size());
  for (const auto& [how, count] : ends) std::printf(" %zu %s", count, how.c_str());
  std::printf("\n");
  CHECK(ends["known refused"] > 50);
  CHECK(ends["known ran"] > 0);  // copy and sqrt as they are meant
  CHECK(ends["other ran"] > 40);
  CHECK(ends["other refused by the runtime"] > 200);
}

}  // namespace
}  // namespace cgraph::plan::testing

// Products whose operands are poisoned: the library computes them all the same, what they give is
// never kept, and their poison is passed on.
#include <catch2/catch.hpp>

#include <dlfcn.h>

#include "runtime/plan/plan.h"
#include "tests/emulation/cublaslt/objects.h"
#include "tests/support/run.h"

namespace cgraph::emulation {
namespace {

uint64_t Products() {
  void* library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  const auto counts = reinterpret_cast<LtCounts (*)()>(
      dlsym(library, "cgraph_emulated_cublaslt_counts"));
  REQUIRE(counts != nullptr);
  return counts().products;
}

}  // namespace

TEST_CASE("a poisoned product is computed, and nothing of it is kept") {
  const std::string path = CGRAPH_SOURCE_DIR "/tests/emulation/cublaslt/poisoned.cgraph";
  bool in_state = false;  // whether a product writes its state where it lies
  const auto plan = testing::CompileFile(path);
  for (const auto& graph : plan->graphs) {
    for (const plan::Instruction& instruction : graph->instructions) {
      in_state |= instruction.kind() == plan::Kind::call &&
                  plan->kernels[instruction.subject()]->body[0]->op == "matmul" &&
                  (instruction.flags() & plan::kCommitsState) != 0;
    }
  }
  CHECK(in_state);
  for (const bool capture : {true, false}) {
    testing::Runner runner(path, {}, {.require_gpus = true, .capture = capture});
    constexpr int64_t kWhole = 64 * 8 / 2;  // 64 sums of 8 times 2 * 0.25
    CHECK(runner.Run("look", {}) == std::vector<int64_t>{64});
    CHECK(runner.Fail("keep", {5}).find("slice") != std::string::npos);
    CHECK(runner.Run("look", {}) == std::vector<int64_t>{64});
    CHECK(runner.Run("keep", {4}) == std::vector<int64_t>{kWhole});
    CHECK(runner.Run("look", {}) == std::vector<int64_t>{kWhole});
    CHECK(runner.Run("read", {0}) == std::vector<int64_t>{kWhole});
    const uint64_t before = Products();
    CHECK(runner.Fail("read", {6}).find("slice") != std::string::npos);
    if (!capture) CHECK(Products() > before);  // a captured one is issued at load
    CHECK(runner.Run("read", {1}) == std::vector<int64_t>{kWhole});
  }
  CHECK(Products() > 0);
}

}  // namespace cgraph::emulation

// Functions for tests that go the whole way: source text -> plan -> engine -> results, in one
// process.
#ifndef CGRAPH_TESTS_SUPPORT_RUN_H_
#define CGRAPH_TESTS_SUPPORT_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "runtime/engine/engine.h"

namespace cgraph::testing {

// Compiles a file with all its graphs; a failure throws a std::runtime_error with the diagnostics.
// Where the environment has CGRAPH_TEST_NODES, the file's devices are on so many nodes.
std::unique_ptr<plan::Plan> CompileFile(const std::string& path, CompileOptions options = {});

// Returns the options of an engine whose workers are processes of the program CGRAPH_TEST_CGRUN,
// where the environment has that: as many as the options ask for, else as CGRAPH_TEST_PROCESSES
// says (as cgrun --processes does).
EngineOptions OnProcesses(EngineOptions options);

// Has OnProcesses() give proved plans to the processes of a launcher (cluster/launcher.h), where
// these serve no other engine.
void UsePeers(cluster::Peers* peers);

// Runner: an engine over a compiled file, and i64 scalars in and out, which is all that most rows
// need.
class Runner {
 public:
  explicit Runner(const std::string& path, CompileOptions compile = {}, EngineOptions engine = {});

  // Executes and gets. Inputs by position, as the graph declares them.
  std::vector<int64_t> Run(const std::string& graph, std::vector<int64_t> inputs);
  // Returns the message of the failure; empty when the execution succeeds.
  std::string Fail(const std::string& graph, std::vector<int64_t> inputs);

  Result<Execution> Start(const std::string& graph, std::vector<int64_t> inputs,
                          WhenFull when_full = WhenFull::kWait);
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
};

// Returns all elements of all outputs, in order.
std::vector<int64_t> Numbers(const Outputs& outputs);

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_RUN_H_

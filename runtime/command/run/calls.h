// Calls: graphs of one plan that are executed one after the other, over the same state, and hand
// their outputs on: prefill, then decode twenty times.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_CALLS_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_CALLS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/command/inputs/inputs.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/outcome/outcome.h"
#include "runtime/command/run/until.h"
#include "runtime/engine/engine.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// The clock by which executions are measured.
using Clock = std::chrono::steady_clock;

inline uint64_t NsSince(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// Returns the name that an --input has in a graph, `by` for `step.by` of the graph `step`; empty:
// the graph has no such input.
std::string NameIn(const plan::Graph& graph, const std::string& name);
// Returns the options as one graph of several sees them, of --call, or the trained one and that of
// --eval: the names of --input and --batch that it has, by their names there. An input that names
// the graph wins over one that does not.
Options OptionsOf(const plan::Graph& graph, const Options& options);

class Calls {
 public:
  // Finds the graphs of --call and reads their inputs. An input may be left out where an earlier
  // call has an output of its name; `step.by` is the input `by` of the graph `step` alone.
  static Problem Prepare(const plan::Plan& plan, const Options& options, Calls& calls);

  // Executes one after the other. An input that an output of the same name has been computed for
  // gets the last such output, whatever --input says. Ends at the first execution that fails.
  void Run(Engine& engine, const Options& options, Outcome& outcome);

 private:
  struct Call {
    std::string graph;
    uint32_t index = 0;  // of the graph, in the plan
    uint64_t times = 1;
    Inputs inputs;
    std::vector<std::string> ports;
  };
  // The last output of a name.
  struct Given {
    Outputs outputs;
    size_t position;
  };

  Status RunCall(Engine& engine, const Options& options, Call& call, Outcome& outcome);
  Result<Outputs> Execute(Engine& engine, Call& call);

  std::vector<Call> calls_;
  std::map<std::string, Given> given_;
  Until until_;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_CALLS_H_

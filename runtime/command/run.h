// Executes a graph as often as asked, keeps `inflight` executions going, and measures.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_H_

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "runtime/command/inputs.h"
#include "runtime/command/latencies.h"
#include "runtime/command/results.h"
#include "runtime/engine/engine.h"

namespace cgraph::command {

// Of the executions after the warm-up.
struct Measurements {
  uint64_t executions = 0, errors = 0;
  Latencies latencies;                      // of those without an error, from submission to result
  uint64_t wall_ns = 0;
  std::map<std::string, uint64_t> failures;  // message -> how often

  double per_second() const { return wall_ns == 0 ? 0 : 1e9 * executions / wall_ns; }
};

struct Outcome {
  Status status;  // why the run ended early; a failed execution of several is only counted
  Measurements measurements;
};

// `graph` is an index into the plan's; `results` gets the outputs of the last pass.
Outcome Run(Engine& engine, uint32_t graph, Inputs& inputs, const Options& options,
            Results& results);

// "29 executions, 0 errors, ...".
std::string SummaryText(const Measurements& measurements);
nlohmann::ordered_json SummaryJson(const Measurements& measurements);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_H_

// A random module of several graphs over shared state: a plan that runs, and an oracle that says
// what it means.
//
// Each graph is a chain of method calls on actors of several devices. Some calls add the
// execution's input to their actor's state. Every call adds the state to the value that goes along
// the chain. A call may fail, and then it and all after it leave state alone. Graphs have different
// numbers of executions in flight, and calls of some work rounds later than the first (lags).
#ifndef CGRAPH_TESTS_ENGINE_ORACLE_RANDOM_MODULE_H_
#define CGRAPH_TESTS_ENGINE_ORACLE_RANDOM_MODULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::oracle {

struct ModelCall {
  uint32_t device = 0;
  uint16_t lag = 0;
  bool touches = true;   // the device's state
  bool writes = false;   // then it adds the input to it
  bool fails = false;    // when the input `fail` is its number
};

struct ModelGraph {
  uint32_t inflight = 1;
  uint16_t most_lag = 0;
  bool sleeps = false;   // the first call, for as many milliseconds as the input `ms` says
  std::vector<ModelCall> calls;
};

struct Module {
  uint32_t devices = 1;
  std::vector<ModelGraph> graphs;
};

Module RandomModule(std::mt19937& random);
std::unique_ptr<plan::Plan> MakePlan(const Module& module);

// Oracle: computes the results and the state of executions one after the other.
class Oracle {
 public:
  explicit Oracle(const Module& module) : module_(module), states_(module.devices, 0) {}

  // Returns the result; none when call number `fail` is one that fails.
  std::optional<float> Execute(uint32_t graph, float x, int64_t fail);
  std::string FailureOf(uint32_t graph, int64_t fail) const;

 private:
  const Module& module_;
  std::vector<float> states_;
};

}  // namespace cgraph::oracle

#endif  // CGRAPH_TESTS_ENGINE_ORACLE_RANDOM_MODULE_H_

// Measurements: how much was executed, how long calls took, which lane did what when.
#ifndef CGRAPH_RUNTIME_ENGINE_MEASUREMENTS_H_
#define CGRAPH_RUNTIME_ENGINE_MEASUREMENTS_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/engine/execution_pool.h"
#include "runtime/engine/ranks/ranks.h"
#include "runtime/engine/submitter.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/trace.h"

namespace cgraph::engine {

class Measurements {
 public:
  Measurements(const LoadedPlan& loaded, const Workers& workers, Ranks& ranks,
               const ExecutionPool& pool, Submitter& submitter)
      : loaded_(loaded), workers_(workers), ranks_(ranks), pool_(pool), submitter_(submitter) {}

  // As the functions of Engine.
  Engine::Stats GetStats();
  std::vector<std::pair<std::string, double>> Profile() const;
  plan::GraphTrace Trace(uint32_t graph) const;
  plan::TraceProcesses Processes() const;
  void Forget();

 private:
  bool CountsAsOnGpus(const plan::GraphIndex& index,
                      std::span<const plan::CollectivePart> members) const;
  std::vector<Engine::Stats::Communicator> CommunicatorsOnGpus() const;

  const LoadedPlan& loaded_;
  const Workers& workers_;
  Ranks& ranks_;
  const ExecutionPool& pool_;
  Submitter& submitter_;
  std::atomic<uint64_t> measured_from_{0};  // steady clock: what began before is forgotten
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MEASUREMENTS_H_

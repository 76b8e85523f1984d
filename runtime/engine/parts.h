// Parts: what an engine is made of, each with its own lock where it has one, in the order in which
// they need each other; and how the engine begins and ends.
//
// It ends in three steps. Ending::End() makes every later call fail, and wakes the threads that
// wait. Teardown() waits until nothing runs any more, here and at other ranks. Release() gives up
// what no result needs. The parts outlive their Engine for as long as results are held.
#ifndef CGRAPH_RUNTIME_ENGINE_PARTS_H_
#define CGRAPH_RUNTIME_ENGINE_PARTS_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/base/status.h"
#include "runtime/engine/callers_gpus.h"
#include "runtime/engine/device_failures.h"
#include "runtime/engine/driver.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/execution_pool.h"
#include "runtime/engine/measurements.h"
#include "runtime/engine/options.h"
#include "runtime/engine/ranks/ranks.h"
#include "runtime/engine/report/reporter.h"
#include "runtime/engine/round_receiver.h"
#include "runtime/engine/states/state_access.h"
#include "runtime/engine/states/state_store.h"
#include "runtime/engine/submitter.h"
#include "runtime/engine/watchdog.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct Parts {
  // At rank 0, or where there are no others: loads the plan and starts what runs it. As
  // Engine::Load().
  static Result<Parts*> Load(std::unique_ptr<plan::Plan> plan, const EngineOptions& options);
  // `make_ranks`: makes the Ranks of this kind of engine, at this rank.
  using MakeRanks =
      std::function<std::unique_ptr<Ranks>(const EngineOptions& options, const EngineView& engine)>;
  Parts(std::unique_ptr<plan::Plan> plan, const EngineOptions& options,
        const MakeRanks& make_ranks);
  // At a rank other than the first: loads the engine's plan, or its part of it. The options have
  // the GPUs.
  Status LoadRank();

  // Returns what it costs to have more workers than cores; "" where there are not more.
  std::string NoteOfWorkers() const;
  void Teardown();
  void Release();  // after Teardown: the parts go with the last result that a caller holds

  const EngineOptions options;
  const EngineView view;  // of those that follow
  Ending ending;
  const std::unique_ptr<Ranks> ranks;  // outlives devices, which ask it about other ranks
  LoadedPlan loaded;
  Workers workers;
  DeviceFailures device_failures;
  RoundReceiver rounds;
  ExecutionPool executions;
  Driver driver;
  CallersGpus callers_gpus;
  Submitter submitter;
  Reporter reporter;
  StateAccess state_access;
  StateStore states;
  Measurements measurements;
  Watchdog watchdog;

 private:
  ~Parts() = default;

  Status TryLoadPlan();
  Status LoadPlan();
  Status LoadShared();
  Status StartThreads();
  Status RunStartGraph();
  void PlaceLanes();
  Status ProvePlan();
  void CloseQueues();
  void TellAbandoned(std::string kernels) const;
  void FreeGraphs();

  std::mutex teardown_;
  bool torn_down_ = false;
  // Made with the parts, since there may be no memory left when they are torn down.
  Status closed_{StatusCode::kClosed, "the engine was torn down"};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_PARTS_H_

// EngineView: what the messages of ranks that share no memory need of the engine at this rank.
#ifndef CGRAPH_RUNTIME_ENGINE_MACHINES_ENGINE_VIEW_H_
#define CGRAPH_RUNTIME_ENGINE_MACHINES_ENGINE_VIEW_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "runtime/base/status.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/rounds.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

struct EngineView {
  LoadedPlan& loaded;
  Workers& workers;
  Ending& ending;
  RoundReceiver& rounds;  // at ranks other than the first
  std::mutex& queues;     // held while they are closed, or looked at
  // How long others are waited for while the plan is loaded; 0: for ever.
  std::chrono::nanoseconds load_patience;
  // Ends the engine because a rank is gone: which, its process, and how it ended.
  std::function<void(uint32_t rank, const std::string& process, const std::string& how)> lost;
  // Ends the engine with the error of a device.
  std::function<void(Status)> device_failed;
  // Discards what was measured.
  std::function<void()> forget;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MACHINES_ENGINE_VIEW_H_

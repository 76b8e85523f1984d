// Watchdog: a thread that looks from time to time whether anything moves, whether some thread
// drives worker 0 and submits the rounds that executions end with, and whether a graph's own
// deadline has passed.
#ifndef CGRAPH_RUNTIME_ENGINE_WATCHDOG_H_
#define CGRAPH_RUNTIME_ENGINE_WATCHDOG_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/engine/driver.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/options.h"
#include "runtime/engine/report/reporter.h"
#include "runtime/engine/submitter.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

class Watchdog {
 public:
  Watchdog(const EngineOptions& options, const LoadedPlan& loaded, const Workers& workers,
           Submitter& submitter, Driver& driver, Reporter& reporter, Ending& ending)
      : options_(options),
        loaded_(loaded),
        workers_(workers),
        submitter_(submitter),
        driver_(driver),
        reporter_(reporter),
        ending_(ending) {}

  void Start();  // throws std::system_error
  void Join();
  // Returns whether this thread is the watchdog's: EngineOptions::timed_out is called by it.
  bool IsThisThread() const { return std::this_thread::get_id() == id_.load(); }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct SeenGraph {
    Submitter::Seen seen;
    Time since;  // the oldest execution has been at work
  };

  void Run();
  void TimeOut(const std::string& why);
  std::chrono::nanoseconds LookInterval() const;
  Time Tick();
  bool Stalled();
  void NotePosition(uint32_t work_queue, const Position& position, bool moved);
  std::optional<std::string> LookAtGraphs();
  bool Overdue(const LoadedGraph& graph, const Submitter::Seen& now, SeenGraph& before) const;

  const EngineOptions& options_;
  const LoadedPlan& loaded_;
  const Workers& workers_;
  Submitter& submitter_;
  Driver& driver_;
  Reporter& reporter_;
  Ending& ending_;

  // What the thread remembers from one look to the next.
  Time now_, last_look_;  // now_: as it has seen time pass
  Time moved_;
  std::vector<uint64_t> positions_;  // per work queue: finished entries, and position
  std::vector<SeenGraph> graphs_;

  EventCount wakeup_;
  std::thread thread_;
  std::atomic<std::thread::id> id_{};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_WATCHDOG_H_

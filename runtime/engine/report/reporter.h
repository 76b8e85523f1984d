// Reporter: reports who waits for whom, from what lanes do (collect.h) and the ranks that they are
// on. An execution outlives its engine, and a Get() with a time-out may be inside when the engine
// goes: then nothing is left to report about.
#ifndef CGRAPH_RUNTIME_ENGINE_REPORT_REPORTER_H_
#define CGRAPH_RUNTIME_ENGINE_REPORT_REPORTER_H_

#include <string>
#include <vector>

#include "runtime/engine/ranks/ranks.h"
#include "runtime/engine/report/collect.h"
#include "runtime/engine/report/position_log.h"
#include "runtime/engine/report/report.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

class Reporter {
 public:
  Reporter(const LoadedPlan& loaded, const Workers& workers, const Ranks& ranks)
      : loaded_(loaded), workers_(workers), ranks_(ranks) {}

  // The log of positions, which the watchdog keeps.
  PositionLog& positions() { return positions_; }

  std::string Text() const;
  std::string Dot() const;
  // Makes the report of a time-out that ends the engine; Dot() is that of this moment from now on.
  std::string TextOfEnd();
  // Returns what a rank was doing, a line for each of its lanes.
  std::string Doing(uint32_t rank) const;
  // Describes where queues of a work queue stand. Under Workers::closing.
  std::string Describe(const std::vector<Position>& positions, uint32_t work_queue) const;

  // Under Workers::closing: there is nothing left to report about.
  void Release() { released_ = true; }

 private:
  ReportSource Source() const;
  std::vector<WaitingLane> Lanes() const;
  void SetRank(uint32_t work_queue, WaitingLane& lane) const;
  std::string TextOf(const std::vector<WaitingLane>& lanes) const;

  const LoadedPlan& loaded_;
  const Workers& workers_;
  const Ranks& ranks_;
  PositionLog positions_;
  std::string end_drawing_;  // this and the next are under Workers::closing
  bool released_ = false;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_REPORT_REPORTER_H_

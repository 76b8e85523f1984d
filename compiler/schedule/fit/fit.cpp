// Fit: an order whose memory fits.
//
// The list scheduler counts bytes that are alive by its timetable. What a device really needs is
// known only once lanes are synchronised and buffers packed: more, where lanes drift apart or gaps
// are left between buffers; less, where results take over their operands' bytes. So the real arenas
// are looked at. The order that nobody holds back comes first: mostly it fits. While an arena is
// too large, the lanes of its device are tied together; then fewer bytes may be alive; and when the
// list scheduler finds nothing with so few, as many as some order is known to need.
#include <algorithm>
#include <numeric>

#include "compiler/base/check.h"
#include "compiler/schedule/fit/memory_limits.h"
#include "compiler/schedule/fit/memory_report.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/validate.h"

namespace cgraph::schedule {
namespace {

constexpr int kMostTries = 12;

class Fitter {
 public:
  Fitter(const graph::Module& module, const graph::Graph& graph, const ScheduleOptions& options,
         const DeviceLimits& limits, Schedule& schedule, Diagnostics& diagnostics)
      : module_(module),
        graph_(graph),
        options_(options),
        schedule_(schedule),
        diagnostics_(diagnostics),
        limits_(MemoryLimits(module, graph, limits, schedule)),
        slots_(SlotLimitsOf(limits_, MemoryUses(module, graph, schedule), graph)) {}

  void Run() {
    const bool limited = std::any_of(limits_.begin(), limits_.end(),
                                     [](const auto& limit) { return limit.has_value(); });
    if (!limited) {
      OrderingResult arranged = OrderTasks(module_, graph_, options_, {}, schedule_, &diagnostics_);
      if (arranged.steady) schedule_ = std::move(*arranged.steady);
      Plan(/*tight=*/{}, /*slots=*/{}, schedule_);
      return;
    }
    const SlotLimits none(limits_.size());
    const bool searches = graph_.rules && graph_.rules->automatic;
    if (!searches) {  // what nothing holds back may fit already; and rules may block by themselves
      const OrderingResult arranged = Try(none);
      if (!arranged.done) {
        (void)OrderTasks(module_, graph_, options_, none, schedule_, &diagnostics_);
        return;
      }
      if (excess_ == 0) return;
      if (arranged.fixed) return Give();
    }
    TryLimited();
    if (excess_ == INT64_MAX) (void)Try(none);  // for the report
    if (excess_ > 0) Give();
  }

 private:
  void TryLimited() {
    SlotLimits alive = slots_;
    bool relaxed = false;
    for (int i = 0; i < kMostTries && !alive.empty(); ++i) {
      const OrderingResult arranged = Try(alive);
      if (!arranged.done) {
        // Not even as many bytes as some order needs will do.
        if (relaxed || arranged.needs.empty()) return;
        relaxed = true;
        alive = AtLeast(alive, arranged.needs);
      } else if (excess_ == 0) {
        return;
      } else {
        alive = relaxed ? SlotLimits() : Fewer(alive, arranged.needs);
      }
    }
  }

  // Arranges with so many bytes alive, and keeps what comes out if it is the best so far.
  OrderingResult Try(const SlotLimits& alive) {
    Schedule arranged = schedule_;
    OrderingResult result =
        OrderTasks(module_, graph_, options_, alive, arranged, /*diagnostics=*/nullptr);
    if (!result.done) return result;
    if (result.steady && FitsSteadily(*result.steady)) return result;
    const std::vector<int64_t> excess = TryOrder(arranged);
    for (Schedule& other : result.others) {
      if (excess_ > 0) (void)TryOrder(other);
    }
    last_ = excess;
    if (excess_ == 0) schedule_ = std::move(best_);
    return result;
  }

  // Whether the order that lags keeps within the limits: then it is taken. Of more memory that it
  // may need nothing is tried to be spared.
  bool FitsSteadily(Schedule& steady) {
    Plan(/*tight=*/{}, slots_, steady);
    const std::vector<int64_t> excess = ExcessOf(steady);
    if (std::any_of(excess.begin(), excess.end(), [](int64_t bytes) { return bytes > 0; })) {
      return false;
    }
    excess_ = 0;
    schedule_ = std::move(steady);
    return true;
  }

  // The passes after OrderTasks.
  void Plan(const std::vector<bool>& tight, const SlotLimits& slots, Schedule& schedule) const {
    Validate(FaultInOrder(module_, graph_, schedule), graph_, "arrange");
    Synchronise(graph_, tight, schedule);
    Validate(FaultInWaits(schedule), graph_, "synchronise");
    PlanMemory(module_, graph_, slots, schedule);
    Validate(FaultInMemory(graph_, schedule), graph_, "plan memory");
  }

  // By how much each device exceeds what it may.
  std::vector<int64_t> TryOrder(const Schedule& arranged) {
    std::vector<bool> tight(limits_.size(), false);
    std::vector<int64_t> excess;
    for (int round = 0; round < 2; ++round) {
      Schedule planned = arranged;
      Plan(tight, slots_, planned);
      excess = ExcessOf(planned);
      const int64_t sum = std::accumulate(excess.begin(), excess.end(), int64_t{0});
      if (sum < excess_) {
        excess_ = sum;
        best_ = std::move(planned);
      }
      if (sum == 0) break;
      for (size_t i = 0; i < excess.size(); ++i) tight[i] = excess[i] > 0;
    }
    return excess;
  }

  // By device: how far what its slots need exceeds what they may.
  std::vector<int64_t> ExcessOf(const Schedule& schedule) const {
    const std::vector<MemoryUse> uses = MemoryUses(module_, graph_, schedule);
    std::vector<int64_t> excess(limits_.size(), 0);
    for (size_t i = 0; i < limits_.size(); ++i) {
      if (limits_[i]) excess[i] = std::max<int64_t>(0, uses[i].total() - *limits_[i]);
    }
    return excess;
  }

  static SlotLimits AtLeast(const SlotLimits& alive, const std::vector<int64_t>& needs) {
    SlotLimits more = alive;
    for (size_t i = 0; i < more.size(); ++i) {
      if (more[i]) more[i] = std::max(*more[i], needs[i]);
    }
    return more;
  }

  // Where it was too much, as much less; but not less than some order needs. Empty: no less.
  SlotLimits Fewer(const SlotLimits& alive, const std::vector<int64_t>& needs) const {
    SlotLimits fewer = alive;
    for (size_t i = 0; i < fewer.size(); ++i) {
      if (last_[i] == 0) continue;
      const int64_t least = needs.empty() ? 0 : std::min(needs[i], *alive[i]);
      fewer[i] = std::max(least, *alive[i] - last_[i] / graph_.inflight);
    }
    return fewer == alive ? SlotLimits() : fewer;
  }

  void Give() {
    CGRAPH_CHECK(excess_ > 0 && excess_ < INT64_MAX, "schedule", "nothing to report");
    schedule_ = std::move(best_);
    ReportMemory(module_, graph_, limits_, LimitsOfDevices(module_, options_), schedule_,
                 diagnostics_);
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const ScheduleOptions& options_;
  Schedule& schedule_;  // in program order, until one fits
  Diagnostics& diagnostics_;
  const DeviceLimits limits_;
  const SlotLimits slots_;
  Schedule best_;
  int64_t excess_ = INT64_MAX;  // of `best_`, all devices together
  std::vector<int64_t> last_;   // by device, of the best order of the last try
};

}  // namespace

void FitMemory(const graph::Module& module, const graph::Graph& graph,
               const ScheduleOptions& options, const DeviceLimits& limits, Schedule& schedule,
               Diagnostics& diagnostics) {
  Fitter(module, graph, options, limits, schedule, diagnostics).Run();
}

}  // namespace cgraph::schedule

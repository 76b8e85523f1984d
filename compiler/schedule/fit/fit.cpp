// Fit: finds an order whose memory fits.
//
// The list scheduler counts bytes that are alive by its timetable. The bytes that a device really
// needs are known only once lanes are synchronised and buffers packed: more, where lanes drift
// apart or gaps are left between buffers; less, where results take over their operands' bytes. So
// the real arenas are looked at. The order without limits comes first: mostly it fits. While an
// arena is too large, the lanes of its device are tied together; then fewer bytes may be alive; and
// when the list scheduler finds nothing with so few, as many as some order is known to need. Before
// any of this, a limit that one unit alone exceeds is refused (least_memory.h).
#include <algorithm>
#include <numeric>

#include "compiler/base/check.h"
#include "compiler/schedule/fit/least_memory.h"
#include "compiler/schedule/fit/memory_limits.h"
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
        // Not even the bytes that some order needs are enough.
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

  // Orders tasks with at most `alive` bytes alive, and keeps the result if it is the best so far.
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

  // Returns whether the order with lags keeps within the limits: then it is taken. If it needs
  // more, no attempt is made to save memory.
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

  // Runs the passes after OrderTasks.
  void Plan(const std::vector<bool>& tight, const SlotLimits& slots, Schedule& schedule) const {
    Validate(FaultInOrder(module_, graph_, schedule), graph_, "order tasks");
    Synchronise(graph_, tight, schedule);
    Validate(FaultInWaits(schedule), graph_, "synchronise");
    PlanMemory(module_, graph_, slots, schedule);
    Validate(FaultInMemory(graph_, schedule), graph_, "plan memory");
  }

  // Returns by how much each device exceeds its limit.
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

  // Returns by device how far the bytes that its slots need exceed the limit.
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

  // Returns lower limits where a device exceeded its own, by as much, but not lower than some order
  // needs. Empty: they cannot be lower.
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
                 /*least=*/nullptr, diagnostics_);
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

bool RefuseHopeless(const graph::Module& module, const graph::Graph& graph,
                    const ScheduleOptions& options, const DeviceLimits& of_devices,
                    Schedule& schedule, Diagnostics& diagnostics) {
  const DeviceLimits limits = MemoryLimits(module, graph, of_devices, schedule);
  if (limits == DeviceLimits(limits.size())) return false;
  const LeastMemory least = FindLeastMemory(module, graph, schedule);
  if (!Exceeds(least.uses, limits)) return false;
  ReportMemory(module, graph, limits, LimitsOfDevices(module, options), schedule, &least,
               diagnostics);
  Synchronise(graph, /*tight=*/{}, schedule);
  Validate(FaultInWaits(schedule), graph, "synchronise");
  PlanMemory(module, graph, /*limits=*/{}, schedule);
  Validate(FaultInMemory(graph, schedule), graph, "plan memory");
  return true;
}

void FitMemory(const graph::Module& module, const graph::Graph& graph,
               const ScheduleOptions& options, const DeviceLimits& limits, Schedule& schedule,
               Diagnostics& diagnostics) {
  Fitter(module, graph, options, limits, schedule, diagnostics).Run();
}

}  // namespace cgraph::schedule

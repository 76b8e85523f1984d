// PlaceSerially: tasks one after the other, each at the first moment that is free on all its lanes,
// also before what was placed earlier. The field calls it a serial schedule generation scheme with
// insertion; with the tasks by their longest remaining paths it is HEFT (Topcuoglu, Hariri and Wu,
// 2002) on devices that are given, and within a period that repeats it is modulo scheduling.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_SERIAL_PLACE_SERIALLY_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_SERIAL_PLACE_SERIALLY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

// In rounds that repeat, a task that takes no time stands at a moment of its own all the same, so
// that the starts of tasks tell which one needs which.
inline uint64_t LengthOf(const Tasks& tasks, uint32_t task, uint64_t least = 1) {
  return tasks.durations[task] > 0 ? tasks.durations[task] : least;
}

// Each lane repeats what it does after `period`; an execution takes at most so many of them.
struct Rounds {
  uint64_t period;
  size_t most;
  uint64_t least_length = 1;  // of a task that takes no time; 0: `order` says which is first
};

// `order`: all tasks, those before a task before it. Nothing where a task finds no moment. Else the
// starts within a round, the order by them (of what starts at one moment, as in `order`), and the
// lags. The policy's sequences are kept; its limits are not, nor memories.
std::optional<Timetable> PlaceSerially(const Tasks& tasks, const Policy& policy,
                                       const std::vector<LoopCarriedDependency>& carried,
                                       const Rounds& rounds, const std::vector<uint32_t>& order);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_SERIAL_PLACE_SERIALLY_H_

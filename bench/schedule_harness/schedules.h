// The schedules by the names that the benchmarks use.
#ifndef CGRAPH_BENCH_SCHEDULE_HARNESS_SCHEDULES_H_
#define CGRAPH_BENCH_SCHEDULE_HARNESS_SCHEDULES_H_

#include <string>

#include "bench/schedule_harness/pipeline.h"
#include "runtime/base/status.h"

namespace cgraph::bench {

// Returns "gpipe, 1f1b, ...".
std::string ScheduleNames();

// Sets the library's schedule of that name, and what belongs to it: its chunks where the pipeline
// states none, their places, and the memory that zb_1p and zb_2p search within.
Status SetSchedule(const std::string& name, PipelineSetup& pipeline);

}  // namespace cgraph::bench

#endif  // CGRAPH_BENCH_SCHEDULE_HARNESS_SCHEDULES_H_

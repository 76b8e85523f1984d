// The report of a memory that is too small: by how much, where the most is needed and for what.
#ifndef CGRAPH_COMPILER_SCHEDULE_FIT_MEMORY_REPORT_H_
#define CGRAPH_COMPILER_SCHEDULE_FIT_MEMORY_REPORT_H_

#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

// `schedule` exceeds some of the limits (by device).
void ReportMemory(const graph::Module& module, const graph::Graph& graph,
                  const DeviceLimits& limits, const DeviceLimits& of_devices,
                  const Schedule& schedule, Diagnostics& diagnostics);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_FIT_MEMORY_REPORT_H_

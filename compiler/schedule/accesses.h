// Accesses: who touches which bytes of a buffer, in the order of an execution.
//
// Synchronise orders those that conflict; PlanMemory keeps the bytes of buffers apart that are in
// use at the same time.
#ifndef CGRAPH_COMPILER_SCHEDULE_ACCESSES_H_
#define CGRAPH_COMPILER_SCHEDULE_ACCESSES_H_

#include <cstdint>
#include <vector>

#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

struct Access {
  UnitId unit;
  StepId step;      // in a call a step of several
  uint32_t moment;  // the step's place in the order of an execution
  bool write;
  int64_t begin, end;  // bytes of the buffer
};

// By buffer.
std::vector<std::vector<Access>> FindAccesses(const graph::Graph& graph, const Schedule& schedule);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ACCESSES_H_

// UnpackedSize: how much memory unpacking a plan's bytes would take, found out before anything is
// unpacked.
//
// FlatBuffers' verifier bounds every offset. It does not see vectors of 8-byte things that are not
// aligned to 8, nor sharing: a small file may point a million times at one table, and unpacking
// would copy it a million times. Our own writer shares nothing, so an honest plan's bytes hold all
// that is counted here. Text must be UTF-8, since it is printed and becomes JSON.
#ifndef CGRAPH_RUNTIME_PLAN_LOAD_UNPACKED_SIZE_H_
#define CGRAPH_RUNTIME_PLAN_LOAD_UNPACKED_SIZE_H_

#include <cstdint>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

struct UnpackedSize {
  uint64_t bytes = 0;  // of all vectors and texts
  bool misaligned = false;
  bool bad_text = false;
};

// Counts a verified plan with a start graph, no further than a little above `limit`.
UnpackedSize MeasureUnpacked(const wire::Plan& plan, uint64_t limit);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_LOAD_UNPACKED_SIZE_H_

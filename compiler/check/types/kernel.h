// Whether an op is declared as its kernel needs it.
#ifndef CGRAPH_COMPILER_CHECK_TYPES_KERNEL_H_
#define CGRAPH_COMPILER_CHECK_TYPES_KERNEL_H_

#include "compiler/check/checker.h"

namespace cgraph::check {

// A kernel that the compiler knows is declared as compiler/base/kernels.def says. Of any other it
// knows nothing, and the runtime judges it.
void CheckKernel(Checker& checker, program::OpId id);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_TYPES_KERNEL_H_

// Warnings: what libraries of CUDA's that are there fail to do, and plans run without. A library
// that is not installed is none: `cgrun --devices` says so.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_WARNINGS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_WARNINGS_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace cgraph::cuda {

// Remembers the first warning about each library: `what` it does, or does not, and the first line
// of `why`, if there is one. Any thread may call.
void Warn(const char* library, const std::string& what, const Status& why = Status::Ok());
// As above, that it is not used; nothing for kNotFound.
void WarnUnused(const char* library, const Status& why);

// Returns those that have not been taken yet.
std::vector<std::string> TakeWarnings();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_WARNINGS_H_

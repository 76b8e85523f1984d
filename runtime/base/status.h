// Status and Result (cgraph/status.h), and how a function of ours hands one on.
#ifndef CGRAPH_RUNTIME_BASE_STATUS_H_
#define CGRAPH_RUNTIME_BASE_STATUS_H_

#include <cgraph/status.h>

namespace cgraph {

// Returns the status of a failed allocation; its message is short enough to need no memory of its
// own.
inline Status OutOfMemory() { return Status(StatusCode::kNotFound, "no memory left"); }

}  // namespace cgraph

// Returns the status of `expr` from the enclosing function when it is an error.
#define CGRAPH_RETURN_IF_ERROR(expr)                           \
  do {                                                         \
    if (::cgraph::Status status_ = (expr); !status_.ok()) {    \
      return status_;                                          \
    }                                                          \
  } while (false)

#endif  // CGRAPH_RUNTIME_BASE_STATUS_H_

// A rank other than the first: the process that serves some of a plan's workers for an engine in
// another process. cgrun is such a process where its only argument is `--rank=K`.
#ifndef CGRAPH_RUNTIME_ENGINE_RANK_H_
#define CGRAPH_RUNTIME_ENGINE_RANK_H_

#include <cstdint>

namespace cgraph::engine {

// Serves rank `rank` until the engine has ended. Returns the exit code of the process. What went
// wrong is told to rank 0, which says it.
int ServeRank(uint32_t rank);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANK_H_

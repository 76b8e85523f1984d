// A rank other than the first: the process that serves some of a plan's workers for an engine in
// another process. cgrun is such a process where its only argument is `--rank=K`.
#ifndef CGRAPH_RUNTIME_ENGINE_RANK_H_
#define CGRAPH_RUNTIME_ENGINE_RANK_H_

#include <cstdint>

namespace cgraph::engine {

// Serves rank `rank` until the engine has ended, then ends the process at once: nothing of it has
// to be given back. What goes wrong is told to rank 0, which says it.
[[noreturn]] void ServeRank(uint32_t rank);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANK_H_

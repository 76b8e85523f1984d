// Refusals: the errors with which ranks refuse to load a plan, as one error. Ranks that say the
// same are one line.
#ifndef CGRAPH_RUNTIME_CLUSTER_REFUSALS_H_
#define CGRAPH_RUNTIME_CLUSTER_REFUSALS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace cgraph::cluster {

struct Refusal {
  uint32_t rank = 0;
  std::string process;  // "process 123 on node7"; empty: not known
  Status status;
};

// `before` and `after`: what a rank's number stands between: "node[" and "]", or "rank " and "".
// The code is that of the first rank; Ok where nobody refuses.
Status JoinRefusals(std::span<const Refusal> refusals, std::string_view before,
                    std::string_view after);

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_REFUSALS_H_

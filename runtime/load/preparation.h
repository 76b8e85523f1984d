// Preparation: what the graphs of a plan are prepared from, once memory is laid out.
#ifndef CGRAPH_RUNTIME_LOAD_PREPARATION_H_
#define CGRAPH_RUNTIME_LOAD_PREPARATION_H_

#include "runtime/cluster/links.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

struct Preparation {
  const LoadedPlan& loaded;
  cluster::Links* links = nullptr;  // to ranks that share no memory; null: none
  bool proved = true;
  bool profile = false;
  bool capture = true;
  bool results_on_gpus = false;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_PREPARATION_H_

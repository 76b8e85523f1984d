#include "compiler/schedule/memory/state_layout.h"

#include <algorithm>

#include "compiler/schedule/memory/alignment.h"

namespace cgraph::schedule {

int64_t StateLayout::Offset(graph::StateId state) const {
  const auto found = std::find(states.begin(), states.end(), state);
  return offsets[found - states.begin()];
}

StateLayout LayOutState(const graph::Module& module, graph::InstanceId instance) {
  StateLayout layout;
  for (graph::StateId state : module.instances[instance].states) {
    layout.states.push_back(state);
    layout.offsets.push_back(layout.bytes);
    layout.bytes += Aligned(module.states[state].type.bytes());
  }
  return layout;
}

}  // namespace cgraph::schedule

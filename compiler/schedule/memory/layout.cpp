#include "compiler/schedule/memory/layout.h"

namespace cgraph::schedule {

StateLayout LayOutState(const graph::Module& module, graph::InstanceId instance) {
  StateLayout layout;
  for (graph::StateId state : module.instances[instance].states) {
    layout.states.push_back(state);
    layout.offsets.push_back(layout.bytes);
    layout.bytes += Aligned(module.states[state].type.bytes());
  }
  return layout;
}

std::vector<int64_t> StateOffsets(const graph::Module& module) {
  std::vector<int64_t> offsets(module.states.size(), 0);
  for (graph::InstanceId instance : module.instances.Ids()) {
    const StateLayout layout = LayOutState(module, instance);
    for (size_t i = 0; i < layout.states.size(); ++i) {
      offsets[layout.states[i].index] = layout.offsets[i];
    }
  }
  return offsets;
}

}  // namespace cgraph::schedule

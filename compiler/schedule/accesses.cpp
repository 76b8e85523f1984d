#include "compiler/schedule/accesses.h"

namespace cgraph::schedule {

std::vector<std::vector<Access>> FindAccesses(const graph::Graph& graph, const Schedule& schedule) {
  std::vector<std::vector<Access>> accesses(schedule.buffers.size());
  const std::vector<uint32_t> moments = schedule.Moments();
  const auto add = [&](UnitId unit, StepId step, const std::vector<ValueLocationId>& locations,
                       bool write) {
    for (ValueLocationId id : locations) {
      const ValueLocation& location = schedule.locations[id];
      const int64_t bytes = graph.values[location.value].type.bytes();
      accesses[location.buffer.index].push_back(
          {unit, step, moments[step.index], write, location.offset, location.offset + bytes});
    }
  };
  for (UnitId id : schedule.ExecutionOrder()) {
    const ScheduleUnit& unit = schedule.units[id];
    for (uint32_t i = 0; i < unit.count; ++i) {
      const StepId step_id(unit.first.index + i);
      const Step& step = schedule.steps[step_id];
      if (step.kind == Step::kCollective) {
        const CollectivePart& part = step.parts[id.index - unit.first_part.index];
        add(id, step_id, part.extents, false);
        add(id, step_id, part.inputs, false);
        add(id, step_id, part.outputs, true);
        continue;
      }
      const bool transfer = step.kind == Step::kTransfer, receives = unit.sender.valid();
      add(id, step_id, receives ? step.to_extents : step.extents, false);
      if (!receives) add(id, step_id, step.inputs, false);
      if (receives || !transfer) add(id, step_id, step.outputs, true);
    }
  }
  return accesses;
}

}  // namespace cgraph::schedule

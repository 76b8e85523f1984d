#include "runtime/load/reach.h"

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {

Status CheckReach(const LoadedPlan& loaded, const plan::GraphIndex& index,
                  uint32_t instruction) {
  const plan::Graph& graph = index.graph();
  const plan::Instruction& at = graph.instructions[instruction];
  for (uint32_t o = at.first(); o < at.first() + at.inputs() + at.outputs(); ++o) {
    const uint32_t value = graph.operands[o];
    const uint32_t arena = graph.buffers[graph.values[value].buffer()].arena();
    const uint32_t device = graph.arenas[arena].device();
    if (loaded.devices[device]->traits().host_reaches_memory) continue;
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} is on {} and touches memory of {}, a GPU that no thread of the "
                              "host reaches; copy on a lane of the GPU",
                              plan::InstructionText(*loaded.plan, graph, instruction),
                              plan::LaneName(*loaded.plan, index.lane(instruction)),
                              plan::DeviceName(*loaded.plan, device)));
  }
  return Status::Ok();
}

Status CheckRanks(const LoadedPlan& loaded, const plan::GraphIndex& index, uint32_t number,
                  uint32_t instruction) {
  const plan::Graph& graph = index.graph();
  const plan::Instruction& at = graph.instructions[instruction];
  for (uint32_t o = at.first(); o < at.first() + at.inputs() + at.outputs(); ++o) {
    const uint32_t value = graph.operands[o];
    const uint32_t device =
        graph.arenas[graph.buffers[graph.values[value].buffer()].arena()].device();
    const uint32_t own = index.device(instruction);
    const bool same =
        loaded.view.rank_of_device[device] == loaded.view.rank_of_device[own];
    if (same || loaded.arenas->HasOneAddress(number, value)) continue;
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} is on {} and touches memory of {}, which another process serves; "
                              "run in one process, without --processes",
                              plan::InstructionText(*loaded.plan, graph, instruction),
                              plan::LaneName(*loaded.plan, index.lane(instruction)),
                              plan::DeviceName(*loaded.plan, device)));
  }
  return Status::Ok();
}

}  // namespace cgraph::engine

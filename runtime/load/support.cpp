#include "runtime/load/support.h"

#include <fmt/format.h>

#include "runtime/device/memory.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"
#include "runtime/transport/transport.h"

namespace cgraph::engine {
namespace {

Status Unsupported(const plan::Graph& graph, const std::string& what) {
  return Status(StatusCode::kUnsupported, fmt::format("`{}` {}", graph.name, what));
}

Status CheckGraph(const plan::Plan& plan, const plan::Graph& graph) {
  transport::Edge edge;
  edge.plan = &plan;
  edge.graph = &graph;
  edge.kind = transport::Edge::Kind::kCollective;
  for (edge.number = 0; edge.number < graph.collectives.size(); ++edge.number) {
    CGRAPH_RETURN_IF_ERROR(transport::CheckAsked(edge));
  }
  edge.kind = transport::Edge::Kind::kChannel;
  for (edge.number = 0; edge.number < graph.channels.size(); ++edge.number) {
    CGRAPH_RETURN_IF_ERROR(transport::CheckAsked(edge));
  }
  for (const auto& input : graph.inputs) {
    const plan::Buffer& buffer = graph.buffers[graph.values[input->value].buffer()];
    if (graph.arenas[buffer.arena()].space() != plan::Space::input) {
      return Unsupported(graph, fmt::format("has the input `{}` outside of input memory, where "
                                            "this engine puts what it is given", input->name));
    }
  }
  for (const plan::Buffer& buffer : graph.buffers) {
    if (buffer.align() > device::kLineAlign) {
      return Unsupported(graph, fmt::format("has a buffer aligned to {}, this engine aligns to {}",
                                            buffer.align(), device::kLineAlign));
    }
  }
  return Status::Ok();
}

}  // namespace

Status CheckSupported(const plan::Plan& plan) {
  if (plan.start) CGRAPH_RETURN_IF_ERROR(CheckGraph(plan, *plan.start));
  for (const auto& graph : plan.graphs) CGRAPH_RETURN_IF_ERROR(CheckGraph(plan, *graph));
  return Status::Ok();
}

Status CheckReach(const LoadedPlan& loaded, const plan::GraphIndex& index, uint32_t instruction) {
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

#include "runtime/load/support.h"

#include <fmt/format.h>

#include "runtime/device/memory.h"
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

}  // namespace cgraph::engine

#include "runtime/load/communication/collectives.h"

#include "runtime/plan/kinds.h"

namespace cgraph::engine {

Status ForEachCollective(const plan::Plan& plan, const plan::GraphIndex& index,
                         const CollectiveVisitor& visit) {
  const std::span<const plan::CollectivePart> all = index.collective_parts();
  for (size_t first = 0; first < all.size();) {
    const uint32_t members = plan.communicators[all[first].communicator].members();
    CGRAPH_RETURN_IF_ERROR(visit(first, all.subspan(first, members)));
    first += members;
  }
  return Status::Ok();
}

transport::CollectiveShape ShapeOf(const plan::Graph& graph,
                                 std::span<const plan::CollectivePart> parts) {
  const plan::Collective& collective = *graph.collectives[graph.parts[parts[0].part].subject()];
  transport::CollectiveShape shape;
  const CollectiveTraits& traits = *plan::FindTraits(collective);
  shape.kind = traits.kind;
  shape.reduction = plan::ReductionOf(collective);
  shape.root = traits.rooted() ? collective.root : 0;
  shape.members = static_cast<uint32_t>(parts.size());
  // All members that give values give the same, and the root is among them.
  const plan::CommPart& part = graph.parts[parts[shape.root].part];
  for (uint32_t o = part.first(); o < part.first() + part.inputs(); ++o) {
    const plan::Value& value = graph.values[graph.operands[o]];
    shape.tensors.push_back({value.dtype(), value.bytes()});
  }
  return shape;
}

}  // namespace cgraph::engine

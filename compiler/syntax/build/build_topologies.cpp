// Topologies: devices, resources and links, each with its indices and properties.
#include "compiler/syntax/build/builder.h"

namespace cgraph::syntax {

TopologyDecl Builder::BuildTopology(Grammar::TopologyDeclContext* context) {
  TopologyDecl node;
  node.name = BuildName(context->name());
  node.parameters = BuildParameters(context->parameters());
  for (Grammar::TopologyItemContext* part : context->topologyBody()->topologyItem()) {
    if (part->exception == nullptr) node.parts.push_back(BuildTopologyPart(part));
  }
  return node;
}

TopologyPart Builder::BuildTopologyPart(Grammar::TopologyItemContext* context) {
  TopologyPart part;
  part.range = RangeOf(context);
  const std::vector<Grammar::OperandContext*> operands = context->operand();
  switch (context->start->getType()) {
    case Lexer::DEVICE:
      part.node = DevicePart{BuildOperand(operands[0])};
      break;
    case Lexer::RESOURCE:
      part.node = ResourcePart{BuildName(context->name())};
      break;
    default: {
      LinkPart link{BuildOperand(operands[0]), BuildOperand(operands[1]), {}};
      if (context->expr() != nullptr) link.condition = BuildExpr(context->expr());
      part.node = link;
    }
  }
  part.indices = BuildIndices(context->indices());
  if (context->indices() != nullptr) part.indices_range = RangeOf(context->indices());
  part.properties_range = RangeOf(context->properties());
  for (Grammar::PropertyContext* property : context->properties()->property()) {
    part.properties.push_back({BuildName(property->name()), BuildExpr(property->expr())});
  }
  return part;
}

}  // namespace cgraph::syntax

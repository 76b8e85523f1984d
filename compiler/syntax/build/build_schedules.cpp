// Schedules, and the clauses that use them.
#include "compiler/syntax/build/builder.h"

namespace cgraph::syntax {

ScheduleDecl Builder::BuildSchedule(Grammar::ScheduleDeclContext* context) {
  ScheduleDecl node;
  node.name = BuildName(context->name());
  node.parameters = BuildParameters(context->parameters());
  for (Grammar::ScheduleRuleContext* rule : context->scheduleBody()->scheduleRule()) {
    if (rule->exception == nullptr) node.rules.push_back(BuildRule(rule));
  }
  return node;
}

Rule Builder::BuildRule(Grammar::ScheduleRuleContext* context) {
  std::vector<Name> names;
  for (Grammar::NameContext* name : context->name()) names.push_back(BuildName(name));
  const Range range = RangeOf(context);
  switch (context->start->getType()) {
    case Lexer::LIMIT:
      return {Limit{BuildExpr(context->expr(0)),
                    context->expr().size() > 1 ? BuildExpr(context->expr(1)) : ExprId()},
              range};
    case Lexer::MEMORY:
      return {MemoryRule{BuildExpr(context->expr(0))}, range};
    case Lexer::FUSE:
      return {FuseRule{std::move(names[0]), std::move(names[1])}, range};
    default:
      break;
  }
  if (context->sorting().empty()) return {Prefer{std::move(names)}, range};
  SortBy node{context->start->getType() == Lexer::ORDER, {}};
  for (Grammar::SortingContext* sorting : context->sorting()) {
    node.sortings.push_back({BuildName(sorting->name()), BuildOperand(sorting->operand())});
  }
  return {std::move(node), range};
}

Using Builder::BuildUsing(Grammar::ScheduleContext* context) {
  Using node;
  for (Grammar::NameContext* name : context->name()) node.path.push_back(BuildName(name));
  if (context->arguments() != nullptr) {
    node.arguments = BuildArguments(context->arguments()->argument());
  }
  for (Grammar::RenamingContext* renaming : context->renaming()) {
    node.renamings.push_back({BuildName(renaming->name()), BuildExpr(renaming->expr())});
  }
  node.range = RangeOf(context);
  return node;
}

}  // namespace cgraph::syntax

#include "compiler/syntax/build/builder.h"
#include "compiler/syntax/errors/mistakes.h"

namespace cgraph::syntax {
namespace {

std::optional<BinaryOperator> CompoundOf(Grammar::AssignOpContext* context) {
  switch (context->start->getType()) {
    case Lexer::ADD_ASSIGN:
      return BinaryOperator::kAdd;
    case Lexer::SUB_ASSIGN:
      return BinaryOperator::kSubtract;
    case Lexer::MUL_ASSIGN:
      return BinaryOperator::kMultiply;
    case Lexer::DIV_ASSIGN:
      return BinaryOperator::kDivide;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<StatementId> Builder::BuildBlock(Grammar::BlockContext* context) {
  std::vector<StatementId> body;
  for (Grammar::StatementContext* statement : context->statement()) {
    if (statement->exception != nullptr) continue;
    const StatementId id = BuildStatement(statement);
    if (id.valid()) body.push_back(id);
  }
  return body;
}

// Returns an invalid id for `;` and for a statement that was refused.
StatementId Builder::BuildStatement(Grammar::StatementContext* context) {
  const Range range = RangeOf(context);
  if (auto* let = context->letStatement()) {
    Let node{BuildPattern(let->pattern()), {}, {}, {}};
    if (let->type() != nullptr) node.type = BuildType(let->type());
    if (let->operand() != nullptr) node.via = BuildOperand(let->operand());
    node.value = BuildExpr(let->expr());
    return Add(Statement{std::move(node), range});
  }
  if (auto* var = context->varStatement()) {
    Var node{BuildPattern(var->pattern()), {}, {}};
    if (var->type() != nullptr) node.type = BuildType(var->type());
    node.value = BuildExpr(var->expr());
    return Add(Statement{std::move(node), range});
  }
  if (auto* loop = context->forStatement()) {
    For node{BuildPattern(loop->pattern()), BuildExpr(loop->expr()), {}};
    node.body = BuildBlock(loop->block());
    return Add(Statement{std::move(node), range});
  }
  if (context->ifStatement() != nullptr) return BuildIf(context->ifStatement());
  if (auto* result = context->returnStatement()) {
    return Add(Statement{Return{BuildExpr(result->expr())}, range});
  }
  if (auto* row = context->yieldStatement()) {
    return Add(Statement{Return{BuildExpr(row->expr()), /*yields=*/true}, range});
  }
  if (auto* loop = context->repeatStatement()) {
    Repeat node{BuildExpr(loop->expr(0)), BuildExpr(loop->expr(1)), {}};
    node.body = BuildBlock(loop->block());
    return Add(Statement{std::move(node), range});
  }
  if (context->targetStatement() != nullptr) return BuildTarget(context->targetStatement());
  return {};
}

// `if a {} else if b {} else {}`: an If whose else body is an If, made from the last one back.
StatementId Builder::BuildIf(Grammar::IfStatementContext* context) {
  const std::vector<Grammar::ExprContext*> conditions = context->expr();
  const std::vector<Grammar::BlockContext*> blocks = context->block();
  const std::vector<antlr4::tree::TerminalNode*> ifs = context->IF();
  const Range whole = RangeOf(context);
  std::vector<StatementId> rest;
  if (blocks.size() > conditions.size()) rest = BuildBlock(blocks.back());
  for (size_t i = conditions.size(); i-- > 0;) {
    If node{BuildExpr(conditions[i]), BuildBlock(blocks[i]), std::move(rest)};
    const Range range = Span(RangeOf(ifs[i]->getSymbol()), whole);
    rest = {Add(Statement{std::move(node), range})};
  }
  return rest[0];
}

StatementId Builder::BuildTarget(Grammar::TargetStatementContext* context) {
  const Range range = RangeOf(context);
  Grammar::TargetContext* target = context->target();
  const std::vector<Grammar::PostfixContext*> postfixes = target->postfix();
  const bool call = !postfixes.empty() && postfixes.back()->arguments() != nullptr;
  const Range target_range = RangeOf(target);
  const Name name = BuildName(target->name());
  ExprId base = Add(Expr{NameExpr{name.text}, name.range});
  base = BuildPostfixes(base, name.range, postfixes);
  if (context->assignOp() != nullptr) {
    const ExprId value = BuildExpr(context->expr());
    if (call) {
      errors_.ReportStructure(Code::kE0216, target_range.begin, target_range.end,
                              "the result of a call cannot be assigned to");
      return {};
    }
    return Add(Statement{Assign{base, CompoundOf(context->assignOp()), value}, range});
  }
  if (!call) {
    const bool only_name = postfixes.empty();
    const char* declaration = DeclarationInBody(target->start->getType());
    if (only_name && declaration != nullptr) {
      errors_.ReportStructure(Code::kE0201, range.begin, range.end, declaration);
      return {};
    }
    const bool leaves = only_name && (name.text == "break" || name.text == "continue");
    if (leaves || (only_name && name.text == "pass")) {
      errors_.ReportStructure(
          Code::kE0204, range.begin, range.end,
          "there is no `" + name.text + "`; " +
              (leaves ? "a loop runs over its whole list, which an `if` inside can leave out, or "
                        "[x for x in xs if c]"
                      : "a body may be empty: {}"));
      return {};
    }
    errors_.ReportStructure(
        Code::kE0204, range.begin, range.end,
        std::string("a statement that is only a ") + (only_name ? "name" : "value") +
            "; a statement is a call, an assignment or begins with a keyword" +
            (only_name ? "; did you mean `let`?" : ""));
    return {};
  }
  const ExprId value = BuildModifiers(base, target_range, context->modifier());
  return Add(Statement{Evaluate{value}, range});
}

Pattern Builder::BuildPattern(Grammar::PatternContext* context) {
  Pattern pattern;
  for (Grammar::NameContext* name : context->name()) pattern.names.push_back(BuildName(name));
  pattern.tuple = context->LPAREN() != nullptr;
  pattern.range = RangeOf(context);
  return pattern;
}

}  // namespace cgraph::syntax

#include "compiler/check/statements/statements.h"

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"

namespace cgraph::check {

using namespace program;

namespace {

std::vector<StatementId> ResolveBlock(Scope& scope, const std::vector<syntax::StatementId>& ids);

Bind ResolveBinding(Scope& scope, const syntax::Pattern& pattern, syntax::TypeId type,
                    syntax::ExprId written, bool is_var) {
  Bind bind;
  bind.is_var = is_var;
  bind.tuple_pattern = pattern.tuple;
  Value value = ResolveValue(scope, written);
  bind.value = value.id;
  StaticType known = std::move(value.type);
  if (type.valid()) {
    bind.type = ResolveType(scope, type, TypeRole::kHint);
    ReportUnboundUses(scope, "write it alone as a dimension first");
    ExpectType(scope, bind.type, known, scope.Written(written).range, "this value", Range());
    StaticType hint = scope.Declared(bind.type);
    // A constant under a tensor's hint may be read as a number or as a tensor.
    bool constant =
        hint.kind == StaticType::kTensor && known.kind != StaticType::kTensor && known.known();
    known = constant ? StaticType() : hint;
  }
  bind.pattern = DeclarePattern(scope, pattern.names, pattern.tuple, pattern.range, known, is_var);
  return bind;
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Let& node, Range range) {
  Bind bind = ResolveBinding(scope, node.pattern, node.type, node.value, false);
  if (node.via.valid()) {
    bind.via = ResolveRoute(scope, node.via);
    if (!scope.MayUsePlaces()) {
      scope.Report(
          Code::kE0422, scope.Written(node.via).range,
          "values travel between places, in graphs; a `via` inside an actor means nothing");
    }
  }
  return Statement{std::move(bind), range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Var& node, Range range) {
  return Statement{ResolveBinding(scope, node.pattern, node.type, node.value, true), range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::For& node, Range range) {
  For loop;
  Value list = ResolveValue(scope, node.list);
  loop.list = list.id;
  loop.tuple_pattern = node.pattern.tuple;
  scope.names.OpenBlock();
  loop.pattern = DeclarePattern(scope, node.pattern.names, node.pattern.tuple, node.pattern.range,
                                ElementOf(scope, list), false, MendOfPattern(list.type));
  loop.body = ResolveBlock(scope, node.body);
  scope.names.CloseBlock();
  return Statement{std::move(loop), range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::If& node, Range range) {
  IfStatement branch;
  branch.condition = ResolveCondition(scope, node.condition).id;
  branch.then_body = ResolveBlock(scope, node.then_body);
  branch.else_body = ResolveBlock(scope, node.else_body);
  return Statement{std::move(branch), range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Return& node, Range range) {
  Value value = ResolveValue(scope, node.value);
  if (scope.signature->result.valid() && !scope.in_gradient) {
    ExpectType(scope, scope.signature->result, value.type, scope.Written(node.value).range,
               "the result", scope.program.types[scope.signature->result].range);
  }
  return Statement{Return{value.id}, range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Evaluate& node, Range range) {
  return Statement{Evaluate{Resolve(scope, node.call).id}, range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Assign& node, Range range) {
  return ResolveAssign(scope, node, range);
}

std::vector<StatementId> ResolveBlock(Scope& scope, const std::vector<syntax::StatementId>& ids) {
  std::vector<StatementId> resolved;
  scope.names.OpenBlock();
  for (syntax::StatementId id : ids) {
    const syntax::Statement& written = scope.module.file.statements[id];
    auto statement = std::visit(
        [&](const auto& node) { return VisitStatement(scope, node, written.range); }, written.node);
    if (statement) resolved.push_back(scope.program.statements.Add(std::move(*statement)));
  }
  scope.names.CloseBlock();
  return resolved;
}

}  // namespace

std::vector<StatementId> ResolveBody(Scope& scope,
                                     const std::vector<syntax::StatementId>& statements,
                                     const syntax::Name& name) {
  scope.body = &statements;
  std::vector<StatementId> resolved = ResolveBlock(scope, statements);
  CheckReturns(scope, statements, true);
  if (scope.signature->result.valid() && !EndsWithReturn(scope, statements) &&
      !scope.checker.names_missing) {
    scope
        .Report(
            Code::kE0413, name.range,
            fmt::format("`{}` declares a result, so its last statement is a `return`; an `if` at "
                        "the end returns in both branches",
                        name.text))
        .AddNote(scope.program.types[scope.signature->result].range, "the result is declared here");
  }
  return resolved;
}

}  // namespace cgraph::check

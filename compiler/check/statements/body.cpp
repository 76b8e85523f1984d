#include "compiler/check/statements/statements.h"

#include <set>

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

std::vector<StatementId> ResolveBlock(Scope& scope, const std::vector<syntax::StatementId>& ids);
std::vector<StatementId> ResolveStatements(Scope& scope,
                                           const std::vector<syntax::StatementId>& ids);

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
  bind.pattern = DeclarePattern(scope, pattern.names, pattern.tuple, pattern.range, known,
                                is_var ? LocalKind::kVar : LocalKind::kLet);
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
    } else if (bind.via) {
      WarnOfOverriddenVia(scope, bind.value, *bind.via);
      const bool of_collective =
          std::holds_alternative<CallCollective>(scope.program.exprs[bind.value].node);
      const bool one = !bind.tuple_pattern && bind.pattern.size() == 1;
      if (one && !of_collective) scope.routed_lets[bind.pattern[0]] = {*bind.via, 0, Range()};
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
                                ElementOf(scope, list), LocalKind::kFixed,
                                MendOfPattern(list.type));
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
  return Statement{Return{value.id, node.yields}, range};
}

// Resolves `20`, or `most <= 256`, where `most` is an input.
void ResolveLimit(Scope& scope, syntax::ExprId id, Repeat& loop) {
  constexpr const char* kForms =
      "a limit is a number of rounds that is known while compiling, `limit 20`, or an input with "
      "such a bound, `limit most <= 256`";
  const syntax::Expr& written = scope.Written(id);
  const auto* chain = std::get_if<syntax::Chain>(&written.node);
  const bool bounded = chain != nullptr && chain->operators.size() == 1 &&
                       chain->operators[0] == BinaryOperator::kLessEqual;
  syntax::ExprId bound = id;
  if (bounded) {
    const Value input = ResolveValue(scope, chain->operands[0]);
    const auto* local = std::get_if<LocalRef>(&scope.program.exprs[input.id].node);
    const bool is_input = local != nullptr && scope.signature != nullptr &&
                          llvm::any_of(scope.signature->parameters, [&](const Parameter& each) {
                            return each.local == local->local;
                          });
    const bool is_count = input.type.kind == StaticType::kTensor && input.type.rank == 0 &&
                          input.type.dtype == DType::kI64;
    if (is_input && is_count) loop.most = local->local;
    if (input.type.known() && !loop.most.valid()) {
      scope.Report(Code::kE0434, scope.Written(chain->operands[0]).range,
                   fmt::format("a limit that is known only while running is an input of the graph, "
                               "`most: i64`; this is {}{}",
                               scope.Describe(input.type), is_input ? "" : ", and no input"));
    }
    bound = chain->operands[1];
  }
  const Value value = ResolveValue(scope, bound);
  loop.limit = value.id;
  if (!value.type.known() || value.type.kind == StaticType::kInt) return;
  scope.Report(Code::kE0434, scope.Written(bound).range,
               fmt::format("{}; this is {}", kForms, scope.Describe(value.type)));
}

// Lists the `var`s declared before a loop that its body assigns to.
void ListAssigned(const Program& program, const std::vector<StatementId>& ids, size_t before,
                  std::set<LocalId>& assigned) {
  for (StatementId id : ids) {
    const auto& node = program.statements[id].node;
    if (const auto* assign = std::get_if<Assign>(&node)) {
      if (assign->local.valid() && assign->local.index < before) assigned.insert(assign->local);
    } else if (const auto* loop = std::get_if<For>(&node)) {
      ListAssigned(program, loop->body, before, assigned);
    } else if (const auto* branch = std::get_if<IfStatement>(&node)) {
      ListAssigned(program, branch->then_body, before, assigned);
      ListAssigned(program, branch->else_body, before, assigned);
    }
  }
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Repeat& node, Range range) {
  Repeat loop;
  ResolveLimit(scope, node.limit, loop);
  const size_t before = scope.names.rows()->size();
  std::set<LocalId> used, asked, assigned;
  scope.names.Watch(&used);
  scope.names.OpenBlock();
  loop.body = ResolveStatements(scope, node.body);
  const size_t behind = scope.names.rows()->size();
  scope.names.Watch(&asked);
  scope.as_if_behind = range.end - 1;
  const Value condition = ResolveValue(scope, node.condition);
  scope.as_if_behind.reset();
  scope.names.Watch(nullptr);
  scope.names.CloseBlock();
  loop.condition = condition.id;
  const StaticType& type = condition.type;
  const bool is_bool = type.kind == StaticType::kBool ||
                       (type.kind == StaticType::kTensor &&
                        (!type.dtype || *type.dtype == DType::kBool));
  if (type.known() && !is_bool) {
    scope.Report(Code::kE0434, scope.Written(node.condition).range,
                 fmt::format("`until` asks a bool, which ends the rounds once all its elements are "
                             "true; this is {}",
                             scope.Describe(type)));
  }
  const auto in_body = [&](LocalId id) { return id.index >= before && id.index < behind; };
  loop.asks_first = llvm::none_of(asked, in_body);
  used.insert(asked.begin(), asked.end());
  for (LocalId id : used) {
    if (id.index < before) loop.reads.push_back(id);
  }
  ListAssigned(scope.program, loop.body, before, assigned);
  loop.writes.assign(assigned.begin(), assigned.end());
  return Statement{std::move(loop), range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Evaluate& node, Range range) {
  return Statement{Evaluate{Resolve(scope, node.call).id}, range};
}

std::optional<Statement> VisitStatement(Scope& scope, const syntax::Assign& node, Range range) {
  return ResolveAssign(scope, node, range);
}

std::vector<StatementId> ResolveBlock(Scope& scope, const std::vector<syntax::StatementId>& ids) {
  scope.names.OpenBlock();
  std::vector<StatementId> resolved = ResolveStatements(scope, ids);
  scope.names.CloseBlock();
  return resolved;
}

std::vector<StatementId> ResolveStatements(Scope& scope,
                                           const std::vector<syntax::StatementId>& ids) {
  std::vector<StatementId> resolved;
  for (syntax::StatementId id : ids) {
    const syntax::Statement& written = scope.module.file.statements[id];
    auto statement = std::visit(
        [&](const auto& node) { return VisitStatement(scope, node, written.range); }, written.node);
    if (statement) resolved.push_back(scope.program.statements.Add(std::move(*statement)));
  }
  return resolved;
}

}  // namespace

std::vector<StatementId> ResolveBody(Scope& scope,
                                     const std::vector<syntax::StatementId>& statements,
                                     const syntax::Name& name) {
  scope.body = &statements;
  std::vector<StatementId> resolved = ResolveBlock(scope, statements);
  WarnOfOverriddenLets(scope);
  const syntax::Repeat* loop = RepeatOf(scope.module, statements);
  if (loop != nullptr && scope.site == Site::kGraph) {
    CheckYields(scope, statements, *loop);
    return resolved;
  }
  CheckReturns(scope, statements);
  if (loop == nullptr && scope.signature->result.valid() && !EndsWithReturn(scope, statements) &&
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

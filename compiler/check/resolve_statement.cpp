// Statements, and the local names that they make.
#include <fmt/format.h>

#include "compiler/check/names.h"
#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

// ---- local names --------------------------------------------------------------------------------

LocalId Resolver::DeclareLocal(const syntax::Name& name, Static type, bool is_var) {
  LocalId id = locals_->Add({name.text, is_var, name.range});
  local_types_.resize(locals_->size());
  local_types_[id.index] = std::move(type);
  if (name.text == "_") return id;  // takes a value that nobody wants
  if (name.text == "none") {
    Report(Code::kE0318, name.range,
           "`none` fills a list element that is not yet assigned and cannot be declared; choose "
           "another name");
    return id;
  }
  auto known = names_.find(name.text);
  Range first;
  if (known != names_.end()) {
    first = (*locals_)[known->second].range;
  } else if (auto dim = dim_names_.find(name.text); dim != dim_names_.end()) {
    first = signature_->dim_variables[dim->second].range;
  } else if (actor_.valid()) {
    auto state = checker_.state_names.find({actor_, name.text});
    if (state != checker_.state_names.end()) first = program_.states[state->second].range;
  }
  if (first.valid()) {
    Report(Code::kE0303, name.range,
           fmt::format("`{}` is a name of this body already and would be hidden; choose another "
                       "name, or assign to a `var`",
                       name.text))
        .AddNote(first, "it is declared here");
  }
  undo_.emplace_back(name.text, known == names_.end() ? std::nullopt
                                                      : std::optional<LocalId>(known->second));
  names_[name.text] = id;
  return id;
}

void Resolver::PopScope() {
  while (undo_.size() > scopes_.back()) {
    auto& [name, before] = undo_.back();
    if (before) {
      names_[name] = *before;
    } else {
      names_.erase(name);
    }
    undo_.pop_back();
  }
  scopes_.pop_back();
}

// ---- blocks -------------------------------------------------------------------------------------

std::vector<StatementId> Resolver::ResolveBody(const std::vector<syntax::StatementId>& statements,
                                               const syntax::Name& name) {
  body_ = &statements;
  std::vector<StatementId> resolved = ResolveBlock(statements);
  CheckReturns(statements, true);
  if (signature_->result.valid() && !EndsWithReturn(statements) && !checker_.syntax_errors) {
    Report(Code::kE0413, name.range,
           fmt::format("`{}` declares a result, so its last statement is a `return`; an `if` at "
                       "the end returns in both branches",
                       name.text))
        .AddNote(program_.types[signature_->result].range, "the result is declared here");
  }
  return resolved;
}

std::vector<StatementId> Resolver::ResolveBlock(const std::vector<syntax::StatementId>& ids) {
  std::vector<StatementId> resolved;
  PushScope();
  for (syntax::StatementId id : ids) {
    const syntax::Statement& written = module_.file.statements[id];
    auto statement = std::visit(
        [&](const auto& node) { return VisitStatement(node, written.range); }, written.node);
    if (statement) resolved.push_back(program_.statements.Add(std::move(*statement)));
  }
  PopScope();
  return resolved;
}

bool Resolver::EndsWithReturn(const std::vector<syntax::StatementId>& ids) const {
  if (ids.empty()) return false;
  const auto& last = module_.file.statements[ids.back()].node;
  if (const auto* branch = std::get_if<syntax::If>(&last)) {
    return EndsWithReturn(branch->then_body) && EndsWithReturn(branch->else_body);
  }
  return std::holds_alternative<syntax::Return>(last);
}

// A `return` is the last thing that a body does, on every path that has one.
void Resolver::CheckReturns(const std::vector<syntax::StatementId>& ids, bool last) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const syntax::Statement& statement = module_.file.statements[ids[i]];
    bool here = last && i + 1 == ids.size();
    if (const auto* branch = std::get_if<syntax::If>(&statement.node)) {
      CheckReturns(branch->then_body, here);
      CheckReturns(branch->else_body, here);
    } else if (const auto* loop = std::get_if<syntax::For>(&statement.node)) {
      CheckReturns(loop->body, false);
    } else if (std::holds_alternative<syntax::Return>(statement.node)) {
      if (!signature_->result.valid()) {
        Report(Code::kE0414, statement.range,
               "a `return` where no result is declared; declare one with `-> TYPE`");
      } else if (!here) {
        Report(Code::kE0414, statement.range,
               "a `return` is the last statement of a body, or of both branches of an `if` there");
      }
    }
  }
}

// ---- statements ---------------------------------------------------------------------------------

Bind Resolver::ResolveBinding(const syntax::Pattern& pattern, syntax::TypeId type,
                              syntax::ExprId written, bool is_var) {
  Bind bind;
  bind.is_var = is_var;
  bind.tuple_pattern = pattern.tuple;
  Value value = ResolveValue(written);
  bind.value = value.id;
  Static known = std::move(value.type);
  if (type.valid()) {
    bind.type = ResolveType(type, TypeRole::kHint);
    ReportUnboundUses("write it alone as a dimension first");
    ExpectType(bind.type, known, Written(written).range, "this value", Range());
    Static hint = Declared(bind.type);
    // A constant under a tensor's hint: it may be taken as either.
    bool constant = hint.kind == Static::kTensor && known.kind != Static::kTensor && known.known();
    known = constant ? Static() : hint;
  }
  bind.pattern = DeclarePattern(pattern.names, pattern.tuple, pattern.range, known, is_var);
  return bind;
}

std::optional<Statement> Resolver::VisitStatement(const syntax::Let& node, Range range) {
  Bind bind = ResolveBinding(node.pattern, node.type, node.value, false);
  if (node.via.valid()) {
    bind.via = ResolveRoute(node.via);
    if (!OpensScope()) {
      Report(Code::kE0422, Written(node.via).range,
             "values travel between places, in graphs; a `via` inside an actor means nothing");
    }
  }
  return Statement{std::move(bind), range};
}

std::optional<Statement> Resolver::VisitStatement(const syntax::Var& node, Range range) {
  return Statement{ResolveBinding(node.pattern, node.type, node.value, true), range};
}

std::optional<Statement> Resolver::VisitStatement(const syntax::For& node, Range range) {
  For loop;
  Value list = ResolveValue(node.list);
  loop.list = list.id;
  loop.tuple_pattern = node.pattern.tuple;
  PushScope();
  loop.pattern = DeclarePattern(node.pattern.names, node.pattern.tuple, node.pattern.range,
                                ElementOf(list), false);
  loop.body = ResolveBlock(node.body);
  PopScope();
  return Statement{std::move(loop), range};
}

std::optional<Statement> Resolver::VisitStatement(const syntax::If& node, Range range) {
  IfStatement branch;
  branch.condition = ResolveCondition(node.condition).id;
  branch.then_body = ResolveBlock(node.then_body);
  branch.else_body = ResolveBlock(node.else_body);
  return Statement{std::move(branch), range};
}

std::optional<Statement> Resolver::VisitStatement(const syntax::Return& node, Range range) {
  Value value = ResolveValue(node.value);
  if (signature_->result.valid()) {
    ExpectType(signature_->result, value.type, Written(node.value).range, "the result",
               program_.types[signature_->result].range);
  }
  return Statement{Return{value.id}, range};
}

std::optional<Statement> Resolver::VisitStatement(const syntax::Evaluate& node, Range range) {
  return Statement{Evaluate{Resolve(node.call).id}, range};
}

// ---- assignments --------------------------------------------------------------------------------

std::optional<Statement> Resolver::VisitStatement(const syntax::Assign& node, Range range) {
  Assign assign;
  bool known = ResolveTarget(node.target, assign);
  Value value = ResolveValue(node.value);
  if (!known) return std::nullopt;
  assign.value = value.id;
  CheckElementTarget(assign, Written(node.target).range);
  Static given = value.type;
  if (node.compound) {
    assign.compound = *node.compound;
    Static before = assign.state.valid() && assign.subscripts.empty()
                        ? StaticOf(program_, program_.states[assign.state].type)
                        : Static();
    given = BinaryType(*assign.compound, before, given, range);
  }
  if (assign.state.valid() && assign.subscripts.empty()) {
    const State& state = program_.states[assign.state];
    ExpectType(state.type, given, Written(node.value).range,
               fmt::format("state `{}`", state.name), state.range);
  }
  return Statement{std::move(assign), range};
}

// `v`, `v[i]`, `v[i][j]`: a name and one subscript per index.
bool Resolver::ResolveTarget(syntax::ExprId id, Assign& assign) {
  const syntax::Expr* expr = &Written(id);
  std::vector<const syntax::IndexExpr*> indices;
  while (const auto* index = std::get_if<syntax::IndexExpr>(&expr->node)) {
    indices.push_back(index);
    expr = &Written(index->base);
  }
  bool known = ResolveTargetName(*expr, assign);
  for (auto index = indices.rbegin(); index != indices.rend(); ++index) {
    bool one = (*index)->subscripts.size() == 1 && (*index)->subscripts[0].valid();
    if (!one) {
      Report(Code::kE0412, expr->range, "an assignment takes one subscript at a time: v[i][j] = e");
      return false;
    }
    Value subscript = ResolveInt((*index)->subscripts[0], "the subscript of an assignment");
    assign.subscripts.push_back(subscript.id);
  }
  return known;
}

bool Resolver::ResolveTargetName(const syntax::Expr& expr, Assign& assign) {
  const auto* name = std::get_if<syntax::NameExpr>(&expr.node);
  if (!name) {
    Report(Code::kE0412, expr.range,
           "only a `var`, a state, or an element of one can be assigned to");
    return false;
  }
  if (name->name != "none" && !IsOwnName(name->name) && !HasName(module_, name->name)) {
    ReportUnknownName(name->name, expr.range,
                      "; `let` declares a name, `var` one that is assigned again");
    // What follows uses the name as if it were declared: the fault is this one.
    DeclareLocal({name->name, expr.range}, Static(), /*is_var=*/true);
    return false;
  }
  Value target = ResolveName(name->name, expr.range);
  const auto& node = program_.exprs[target.id].node;
  if (const auto* state = std::get_if<StateRef>(&node)) {
    assign.state = state->state;
    return true;
  }
  if (const auto* local = std::get_if<LocalRef>(&node)) {
    const Local& row = (*locals_)[local->local];
    assign.local = local->local;
    if (row.is_var) return true;
    Report(Code::kE0411, expr.range,
           fmt::format("`{}` is not a `var`, so its value stays; declare it with `var` to assign "
                       "to it",
                       name->name))
        .AddNote(row.range, "declared here");
    return false;
  }
  if (!std::holds_alternative<NoneLiteral>(node) || name->name == "none") {
    Report(Code::kE0411, expr.range,
           fmt::format("`{}` cannot be assigned to; only a `var` or a state can", name->name));
  }
  return false;
}

// An element of a list can be assigned; a row of a tensor cannot.
void Resolver::CheckElementTarget(const Assign& assign, Range range) {
  if (!assign.state.valid()) return;
  TypeId type = program_.states[assign.state].type;
  for (size_t i = 0; i < assign.subscripts.size(); ++i) {
    const auto* list = std::get_if<ListType>(&program_.types[type].node);
    if (!list) {
      if (IsPoison(program_.types[type])) return;
      Report(Code::kE0412, range,
             fmt::format("only elements of a list can be assigned; for a row of a tensor write "
                         "`{0} = update_row({0}, row, at: i)`",
                         program_.states[assign.state].name))
          .AddNote(program_.states[assign.state].range, "the state is declared here");
      return;
    }
    type = list->element;
  }
}

}  // namespace cgraph::check

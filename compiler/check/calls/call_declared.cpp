#include "compiler/check/calls/calls.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/calls/deprecated.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/statements/statements.h"
#include "compiler/check/types/types.h"

namespace cgraph::check {

using namespace program;

namespace {

void CollectVariables(const Program& program, TypeId id, std::set<DimVariableId>& variables) {
  const Type& type = program.types[id];
  if (const auto* list = std::get_if<ListType>(&type.node)) {
    const auto* length = list->length.valid()
                             ? std::get_if<DimRef>(&program.exprs[list->length].node)
                             : nullptr;
    if (length != nullptr) variables.insert(length->variable);
    return CollectVariables(program, list->element, variables);
  }
  const auto* tensor = std::get_if<TensorType>(&type.node);
  for (const Dim& dim : tensor ? tensor->dims : std::vector<Dim>()) {
    if (dim.variable.valid()) variables.insert(dim.variable);
  }
}

// Returns whether the result has dimensions that no argument gives: `sum_to<T: number>(x: T[*s]) ->
// T[*t]`.
bool LeavesDims(const Program& program, const Signature& signature, const TensorType& result) {
  std::set<DimVariableId> given;
  for (const Parameter& parameter : signature.parameters) {
    CollectVariables(program, parameter.type, given);
  }
  return std::any_of(result.dims.begin(), result.dims.end(), [&](const Dim& dim) {
    return dim.variable.valid() && !given.count(dim.variable);
  });
}

// Only an op whose result depends on the expected type can be given a type argument.
TypeId ResolveTypeArgument(Scope& scope, const syntax::CallExpr& node, const Op& op) {
  TypeId type = ResolveType(scope, node.type_argument, TypeRole::kArgument);
  const auto* result = op.signature.result.valid()
                           ? std::get_if<TensorType>(&scope.program.types[op.signature.result].node)
                           : nullptr;
  bool open = false;
  if (result && !result->dtype) {
    open = std::none_of(op.signature.parameters.begin(), op.signature.parameters.end(),
                        [&](const Parameter& parameter) {
                          const auto* tensor =
                              std::get_if<TensorType>(&scope.program.types[parameter.type].node);
                          return tensor && !tensor->dtype && tensor->generic == result->generic;
                        });
  }
  if (open || (result && LeavesDims(scope.program, op.signature, *result))) {
    const Type& given = scope.program.types[type];
    if (std::holds_alternative<TensorType>(given.node)) return type;
    scope
        .Report(Code::kE0410, given.range,
                fmt::format("op `{0}` makes one tensor, and `{1}` is of several: with a hint, let "
                            "x: {1} = ({0}(), ...), each has a call of its own",
                            op.name, scope.checker.sources.Text(given.range)))
        .AddNote(op.range, "declared here");
    return TypeId();
  }
  scope
      .Report(Code::kE0410, scope.program.types[type].range,
              fmt::format("op `{}` takes no type: its result follows from its arguments", op.name))
      .AddNote(op.range, "declared here");
  return TypeId();
}

// Returns the mend for arguments that the op does not take.
std::string MendOf(const Scope& scope, const Op& op, const Arguments& given) {
  const auto* result = op.signature.result.valid()
                           ? std::get_if<TensorType>(&scope.program.types[op.signature.result].node)
                           : nullptr;
  if (result && !result->dtype && LeavesDims(scope.program, op.signature, *result)) {
    return fmt::format("; its dtype and dimensions are what is expected where it stands, or "
                       "{}<f32[2, 3]>(...)",
                       op.name);
  }
  const bool over_dims =
      (op.name == "sum" || op.name == "mean" || op.name == "max" || op.name == "min") &&
      given.types.size() >= 2 && given.types[1].is_list_of_ints();
  if (over_dims) {
    return fmt::format("; {}(x, dims: [0, 1]) is over several dimensions", op.name);
  }
  const bool of_two = (op.name == "max" || op.name == "min") && given.arguments.size() == 2 &&
                      given.arguments[1].label.empty();
  return of_two ? fmt::format("; `{}imum(a, b)` is of two", op.name) : "";
}

// Returns the type of a function of numbers whose arguments may all be compile-time numbers;
// nothing of other ops, and where an argument is none.
std::optional<StaticType> NumberType(const Op& op, const Arguments& given) {
  if (!op.on_numbers || given.types.empty()) return std::nullopt;
  bool all_ints = true, all_known = true;
  for (const StaticType& type : given.types) {
    if (type.known() && !type.is_number()) return std::nullopt;
    all_known &= type.known();
    all_ints &= type.kind == StaticType::kInt;
  }
  if (!all_known) return StaticType();
  const bool keeps_ints = given.types.size() == 2;  // pow, minimum and maximum
  return StaticType::Of(all_ints && keeps_ints ? StaticType::kInt : StaticType::kFloat);
}

}  // namespace

Value ResolveOpCall(Scope& scope, const syntax::CallExpr& node, OpId id, Range range) {
  const Op& op = scope.program.ops[id];
  program::CallOp call;
  call.op = id;
  if (node.type_argument.valid()) call.type_argument = ResolveTypeArgument(scope, node, op);
  Arguments given = ResolveArguments(scope, node.arguments);
  const bool reduces = op.name == "max" || op.name == "min";
  if (reduces && given.types.size() == 2 && given.arguments[1].label.empty() &&
      given.types[0].is_number() && given.types[1].is_number()) {
    scope.Report(Code::kE0406, range,
                 fmt::format("`{0}` is the {0}imum of a tensor, and these are two numbers; "
                             "`{0}imum(a, b)` is of two",
                             op.name));
    return scope.Poison(range);
  }
  Callee callee{"op `" + op.name + "`", &op.signature.parameters, &op.signature, &op.locals,
                op.range, MendOf(scope, op, given)};
  StaticType type = CheckArguments(scope, given, callee, range);
  const auto& [module, decl] = scope.checker.ops[id];
  WarnOfDeprecated(scope, node, {op.name, *module, decl->deprecated, decl->parameters}, given,
                   range);
  if (call.type_argument.valid()) type = scope.Declared(call.type_argument);
  else if (node.type_argument.valid()) type = StaticType();  // it was reported
  if (const auto number = NumberType(op, given)) type = *number;
  call.arguments = std::move(given.arguments);
  return scope.Make(std::move(call), range, std::move(type));
}

Value ResolveFnCall(Scope& scope, const syntax::CallExpr& node, FnId id, Range range) {
  const Fn& fn = scope.program.fns[id];
  Callee callee{"fn `" + fn.name + "`", &fn.signature.parameters, &fn.signature, &fn.body.locals,
                fn.range};
  RefuseTypeArgument(scope, node, callee.what);
  Arguments given = ResolveArguments(scope, node.arguments);
  StaticType type = CheckArguments(scope, given, callee, range);
  const auto& [module, decl] = scope.checker.fns[id];
  WarnOfDeprecated(scope, node, {fn.name, *module, decl->deprecated, decl->parameters}, given,
                   range);
  // A fn is inlined, so a bool that it declares may well be known at compile time.
  if (type.kind == StaticType::kTensor && type.dtype == DType::kBool && type.rank == 0)
    type = StaticType();
  return scope.Make(program::CallFn{id, std::move(given.arguments)}, range, std::move(type));
}

Value ResolveGraphCall(Scope& scope, const syntax::CallExpr& node, GraphId id, Range name_range,
                       Range range) {
  const Graph& graph = scope.program.graphs[id];
  Callee callee{"graph `" + graph.name + "`", &graph.signature.parameters, &graph.signature,
                &graph.body.locals, graph.range};
  RefuseTypeArgument(scope, node, callee.what);
  Arguments given = ResolveArguments(scope, node.arguments);
  StaticType type = CheckArguments(scope, given, callee, range);
  const auto& [module, decl] = scope.checker.graphs[id];
  if (RepeatOf(*module, decl->body) != nullptr) {
    scope
        .Report(Code::kE0433, name_range,
                fmt::format("`{}` repeats, so only a run can execute it; what its rounds share "
                            "with other graphs can be a fn that both call",
                            graph.name))
        .AddNote(graph.range, "declared here");
  }
  if (!scope.MayUsePlaces()) {
    scope
        .Report(Code::kE0316, name_range,
                fmt::format("`{}` is a graph; only graphs, and fns that graphs call, can call it",
                            graph.name))
        .AddNote(graph.range, "declared here");
  }
  return scope.Make(program::CallGraph{id, std::move(given.arguments)}, range, std::move(type));
}

void RefuseTypeArgument(Scope& scope, const syntax::CallExpr& node, const std::string& what) {
  if (!node.type_argument.valid()) return;
  scope.Report(Code::kE0410, scope.module.file.types[node.type_argument].range,
               fmt::format("{} takes no type; only ops such as zeros do", what));
}

}  // namespace cgraph::check

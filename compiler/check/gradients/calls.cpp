#include <fmt/format.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/calls/calls.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/gradients/gradients.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::check {

using namespace program;

namespace {

// Shape of a call: how many arguments come without labels, and which labels there may be; none
// listed: any, which go on to `update`.
struct CallShape {
  size_t positional;
  std::vector<std::string> required, optional;
  const char* usage;
};
CallShape ShapeOf(Builtin builtin) {
  switch (builtin) {
    case Builtin::kGrad:
      return {1, {}, {"of", "from"}, "grad(loss, of: net)"};
    case Builtin::kUpdateAll:
      return {2, {}, {}, "update_all(stage, grad(loss, of: stage), rate: r)"};
    default:
      return {1, {}, {}, "global_norm(grad(loss, of: net))"};
  }
}

// Returns whether the arguments are as many as the call takes, with its labels.
bool CheckShape(Scope& scope, const syntax::CallExpr& node, Builtin builtin, Range range) {
  const CallShape shape = ShapeOf(builtin);
  size_t positional = 0;
  std::vector<std::string> labels;
  for (const syntax::Argument& argument : node.arguments) {
    positional += !argument.label;
    if (!argument.label) continue;
    const std::string& label = argument.label->text;
    const bool known = builtin == Builtin::kUpdateAll ||
                       llvm::is_contained(shape.required, label) ||
                       llvm::is_contained(shape.optional, label);
    if (!known || llvm::is_contained(labels, label)) {
      scope.Report(known ? Code::kE0404 : Code::kE0403, argument.label->range,
                   known ? fmt::format("`{}` is given twice", label)
                         : fmt::format("`{}` has no parameter `{}`; write {}", Spelling(builtin),
                                       label, shape.usage));
      return false;
    }
    labels.push_back(label);
  }
  const bool complete = llvm::all_of(
      shape.required, [&](const std::string& label) { return llvm::is_contained(labels, label); });
  if (positional == shape.positional && complete) return true;
  scope.Report(positional > shape.positional ? Code::kE0402 : Code::kE0401, range,
               fmt::format("`{}` is called as {}", Spelling(builtin), shape.usage));
  return false;
}

}  // namespace

Value ResolveGradientCall(Scope& scope, const syntax::CallExpr& node, Builtin builtin,
                          Range range) {
  RefuseTypeArgument(scope, node, fmt::format("`{}`", Spelling(builtin)));
  const bool of_tensors =
      scope.MayUsePlaces() || (scope.site == Site::kMethod && builtin == Builtin::kGrad);
  if (!of_tensors) {
    scope.Report(Code::kE0316, range,
                 builtin == Builtin::kGrad
                     ? "`grad` differentiates what a graph, a fn or a method computes"
                     : fmt::format("`{}` is for graphs, and fns that graphs call: it calls methods "
                                   "of places",
                                   Spelling(builtin)));
  }
  if (!CheckShape(scope, node, builtin, range)) {
    ResolveArguments(scope, node.arguments);
    return scope.Poison(range);
  }
  std::vector<Argument> arguments;
  for (const syntax::Argument& argument : node.arguments) {
    const std::string label = argument.label ? argument.label->text : "";
    llvm::SaveAndRestore<bool> naming(scope.names_params,
                                      builtin == Builtin::kGrad && label == "of");
    const Range at = argument.label ? argument.label->range : scope.Written(argument.value).range;
    arguments.push_back({label, ResolveValue(scope, argument.value).id, at});
  }
  // What comes of it has the structure of `of:`, which is known when the graph is elaborated.
  const bool gives_nothing =
      builtin == Builtin::kUpdateAll ||
      (builtin == Builtin::kGrad &&
       llvm::none_of(arguments, [](const Argument& argument) { return argument.label == "of"; }));
  const StaticType type = gives_nothing                     ? StaticType::Of(StaticType::kNothing)
                          : builtin == Builtin::kGlobalNorm ? StaticType::Tensor(DType::kF32, 0)
                                                            : StaticType();
  return scope.Make(program::CallBuiltin{builtin, std::move(arguments)}, range, type);
}

}  // namespace cgraph::check

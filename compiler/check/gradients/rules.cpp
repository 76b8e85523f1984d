#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/check/calls/calls.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/gradients/gradients.h"
#include "compiler/check/statements/statements.h"
#include "compiler/check/types/types.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/kinds/native.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns which parameter a gradient is of, by its label; -1 and a report where it is of none.
int ParameterOf(Scope& scope, const std::optional<syntax::Name>& label, Range range) {
  const std::vector<Parameter>& parameters = scope.signature->parameters;
  const auto found = llvm::find_if(parameters, [&](const Parameter& parameter) {
    return label && parameter.name == label->text;
  });
  if (found != parameters.end() && HoldsTensor(scope.program, found->type)) {
    return static_cast<int>(found - parameters.begin());
  }
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) {
    if (HoldsTensor(scope.program, parameter.type)) names.push_back(parameter.name);
  }
  Diagnostic& diagnostic = scope.Report(
      Code::kE0424, label ? label->range : range,
      label ? fmt::format("a rule gives the gradients of tensor parameters by their names, and "
                          "`{}` is none",
                          label->text)
            : "a rule gives gradients by the names of the parameters that they are of: "
              "grad gy (x: gy)");
  if (label) scope.checker.Suggest(diagnostic, label->range, label->text, names);
  return -1;
}

void AddGradient(Scope& scope, const syntax::Argument& written, bool resolve, Gradient& gradient) {
  const Range range = scope.Written(written.value).range;
  const int parameter = ParameterOf(scope, written.label, range);
  if (parameter < 0) return;
  const auto given = llvm::find_if(
      gradient.of, [&](const Argument& other) { return other.parameter == parameter; });
  if (given != gradient.of.end()) {
    scope
        .Report(Code::kE0404, written.label->range,
                fmt::format("`{}` is given twice", written.label->text))
        .AddNote(given->range, "the first time here");
    return;
  }
  const ExprId value = resolve ? ResolveValue(scope, written.value).id : ExprId();
  gradient.of.push_back({written.label->text, value, written.label->range, parameter});
}

// Finds the tuple that a rule's body returns: its names say which gradients there are. False: there
// is none, which is reported.
bool NameReturned(Scope& scope, const syntax::Gradient& written, Gradient& gradient) {
  const auto* last =
      written.body.empty()
          ? nullptr
          : std::get_if<syntax::Return>(&scope.module.file.statements[written.body.back()].node);
  const auto* tuple =
      last ? std::get_if<syntax::TupleExpr>(&scope.Written(last->value).node) : nullptr;
  if (tuple == nullptr) {
    scope.Report(Code::kE0424, written.range,
                 "the body of a rule ends with the gradients by the names of their parameters: "
                 "return (x: gx, gain: ggain)");
    return false;
  }
  for (const syntax::Argument& field : tuple->fields) AddGradient(scope, field, false, gradient);
  return true;
}

// PyTorch differentiates a method in Python, with regard to its arguments and to what its module
// keeps; a state that it read would have no gradient.
void ResolveGradientByAuto(Checker& checker, const syntax::MethodDecl& decl, Method& method) {
  const Range range = decl.gradient_by->range;
  if (!method.native || method.native->library != kPythonLibrary) {
    checker.diagnostics.Report(
        Code::kE0424, range,
        "PyTorch differentiates methods in Python by `grad by auto`; " +
            (method.native ? "name the method that computes the gradients: grad by back"
                           : fmt::format("`{}` is differentiated by the rules of what it calls, "
                                         "without a clause",
                                         method.name)));
    return;
  }
  const auto names_any = [&](const std::optional<std::vector<syntax::Name>>& states) {
    return states && llvm::any_of(*states, [&](const syntax::Name& name) {
             return checker.state_names.count({method.actor, name.text}) != 0;
           });
  };
  if (names_any(decl.native->reads) || names_any(decl.native->writes)) {
    checker.diagnostics.Report(
        Code::kE0424, range,
        fmt::format("`grad by auto` gives gradients of arguments and of what a module keeps "
                    "itself, and none of states, which `{}` reads or writes; it may take them as "
                    "arguments",
                    method.name));
  }
  method.native->writes.clear();  // without a clause it would take all states
  Effect& effect = method.native->effect;
  if (effect == Effect::kReads || effect == Effect::kAdds) {
    checker.diagnostics.Report(
        Code::kE0424, range,
        fmt::format("`grad by auto` keeps in the object what the gradients of a call need: `{}` is "
                    "`keyed`, by itself by its calls, or `writes object`",
                    method.name));
  }
  if (effect == Effect::kUnstated) effect = Effect::kKeyed;
}

// Makes the parts of the tuple at the end of a rule's body the values of the gradients: each is
// evaluated by itself, where it is needed.
void TakeReturned(Program& program, Gradient& gradient) {
  const auto* last = gradient.body.empty()
                         ? nullptr
                         : std::get_if<Return>(&program.statements[gradient.body.back()].node);
  const auto* tuple =
      last && last->value.valid() ? std::get_if<Tuple>(&program.exprs[last->value].node) : nullptr;
  if (tuple == nullptr) return;  // reported
  for (Argument& of : gradient.of) {
    const auto field = llvm::find_if(
        tuple->fields, [&](const Argument& given) { return given.label == of.label; });
    if (field != tuple->fields.end()) of.value = field->value;
  }
  gradient.body.pop_back();
}

}  // namespace

bool AsksForGradients(const syntax::File& file) {
  const bool declares = llvm::any_of(file.items, [](const syntax::Item& item) {
    if (std::holds_alternative<syntax::OptimizerDecl>(item.node)) return true;
    if (const auto* op = std::get_if<syntax::OpDecl>(&item.node)) return op->gradient.has_value();
    if (const auto* fn = std::get_if<syntax::FnDecl>(&item.node)) return fn->gradient.has_value();
    const auto* place = std::get_if<syntax::PlaceDecl>(&item.node);
    return place != nullptr && place->trained_by.valid();
  });
  return declares || llvm::any_of(file.exprs, [&](const syntax::Expr& expr) {
           const auto* call = std::get_if<syntax::CallExpr>(&expr.node);
           const auto* name =
               call ? std::get_if<syntax::NameExpr>(&file.exprs[call->callee].node) : nullptr;
           const auto builtin = name ? FindBuiltin(name->name) : std::nullopt;
           return builtin && IsOfGradients(*builtin);
         });
}

Gradient ResolveGradient(Scope& scope, const syntax::Gradient& written) {
  Gradient gradient;
  gradient.range = written.range;
  scope.names.OpenBlock();
  for (const syntax::Name& name : written.names) {
    const LocalId local = DeclareLocal(scope, name, StaticType(), LocalKind::kFixed);
    const bool is_last = &name == &written.names.back();
    (is_last ? gradient.gy : gradient.y) = local;
  }
  for (const syntax::Argument& argument : written.arguments) {
    AddGradient(scope, argument, true, gradient);
  }
  if (written.has_body && NameReturned(scope, written, gradient)) {
    const auto* body = scope.body;
    scope.in_gradient = true;
    gradient.body = ResolveBody(scope, written.body, {"grad", written.range});
    TakeReturned(scope.program, gradient);
    scope.in_gradient = false;
    scope.body = body;
    scope.declared_in_body.reset();
  }
  scope.names.CloseBlock();
  return gradient;
}

void ResolveGradientBy(Checker& checker, MethodId id) {
  const std::optional<syntax::Name>& written = checker.methods[id].decl->gradient_by;
  if (!written) return;
  Method& method = checker.program.methods[id];
  method.gradient_by = written->text;
  if (written->text == kGradientAuto) {
    return ResolveGradientByAuto(checker, *checker.methods[id].decl, method);
  }
  const Actor& actor = checker.program.actors[method.actor];
  const MethodId by = FindMethod(checker.program, method.actor, written->text);
  if (by.valid() && by != id) return;
  std::vector<std::string> names;
  for (MethodId other : actor.methods) {
    if (other != id) names.push_back(checker.program.methods[other].name);
  }
  Diagnostic& diagnostic = checker.diagnostics.Report(
      Code::kE0312, written->range,
      by == id ? fmt::format("`{}` cannot differentiate itself; another method of `{}` does",
                             method.name, actor.name)
               : fmt::format("actor `{}` has no method `{}`, which is to differentiate `{}`",
                             actor.name, written->text, method.name));
  if (by != id) checker.Suggest(diagnostic, written->range, written->text, names);
}

}  // namespace cgraph::check

// Signatures: generics, parameters and results, before any body is looked at.
#include <fmt/format.h>

#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

namespace {

bool HoldsTensor(const Program& program, TypeId id) {
  const auto& node = program.types[id].node;
  if (const auto* list = std::get_if<ListType>(&node)) return HoldsTensor(program, list->element);
  if (const auto* tuple = std::get_if<TupleType>(&node)) {
    for (const TupleType::Field& field : tuple->fields) {
      if (HoldsTensor(program, field.type)) return true;
    }
  }
  return std::holds_alternative<TensorType>(node) && !IsPoison(program.types[id]);
}

// `int`, `float`, `str`: its value may be a dimension of another parameter.
bool IsCompileTimeName(const syntax::Type& type) {
  const auto* named = std::get_if<syntax::NamedType>(&type.node);
  return named && !named->has_dims &&
         (named->name.text == "int" || named->name.text == "float" || named->name.text == "str");
}

}  // namespace

void Resolver::InheritActor(ActorId actor) {
  for (const Parameter& parameter : program_.actors[actor].parameters) {
    DeclareLocal({parameter.name, parameter.range}, Declared(parameter.type), false);
  }
  actor_ = actor;  // last: a state with the name of a parameter was reported at the actor
}

void Resolver::ResolveGenerics(const std::vector<syntax::Generic>& generics) {
  static const std::map<std::string, DTypeBound> kBounds = {{"any", DTypeBound::kAny},
                                                            {"number", DTypeBound::kNumber},
                                                            {"float", DTypeBound::kFloat},
                                                            {"int", DTypeBound::kInt}};
  std::map<std::string, Range> names;
  for (const syntax::Generic& generic : generics) {
    Generic resolved{generic.name.text, DTypeBound::kAny};
    if (generic.bound) {
      auto bound = kBounds.find(generic.bound->text);
      if (bound != kBounds.end()) {
        resolved.bound = bound->second;
      } else {
        Report(Code::kE0423, generic.bound->range,
               fmt::format("`{}` is no class of dtypes; there are any, number, float and int",
                           generic.bound->text));
      }
    }
    auto [first, added] = names.emplace(generic.name.text, generic.name.range);
    if (!added) {
      Report(Code::kE0302, generic.name.range,
             fmt::format("`{}` is declared twice", generic.name.text))
          .AddNote(first->second, "the first declaration is here");
    }
    signature_->generics.Add(std::move(resolved));
  }
}

std::vector<Parameter> Resolver::ResolveParameters(
    const std::vector<syntax::Parameter>& parameters) {
  std::vector<Parameter> resolved;
  for (const syntax::Parameter& parameter : parameters) {
    Parameter row;
    row.name = parameter.name.text;
    row.range = parameter.name.range;
    row.local = DeclareLocal(parameter.name, Static(), false);
    resolved.push_back(std::move(row));
  }
  // Integers first: they may be dimensions of any other parameter, also of an earlier one.
  for (bool compile_time : {true, false}) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const syntax::TypeId written = parameters[i].type;
      if (IsCompileTimeName(module_.file.types[written]) != compile_time) continue;
      resolved[i].type = ResolveType(written, TypeRole::kParameter);
      local_types_[resolved[i].local.index] = Declared(resolved[i].type);
      if (site_ == Site::kActor && HoldsTensor(program_, resolved[i].type)) {
        Report(Code::kE0424, program_.types[resolved[i].type].range,
               "the parameters of an actor are known at compile time: int, float, bool, str, and "
               "lists or tuples of them; a tensor is a state");
      }
    }
  }
  ReportUnboundUses("give it a parameter, or write it as an integer");
  return resolved;
}

void Resolver::ResolveResult(const syntax::Result& result) {
  if (result.type.valid()) {
    signature_->result = ResolveType(result.type, TypeRole::kResult);
    ReportUnboundUses(site_ == Site::kOp ? "an op's result takes an extent from an i64 parameter"
                                         : "write its bound: k <= 64");
  }
  if (!result.via.valid()) return;
  if (site_ == Site::kMethod && result.type.valid()) {
    signature_->via = ResolveRoute(result.via);
    return;
  }
  Report(Code::kE0422, Written(result.via).range,
         "a `via` stands at a use, at a `let`, or at the result of a method");
}

void Resolver::ResolveDefaults(const std::vector<syntax::Parameter>& written,
                               std::vector<Parameter>& parameters) {
  HideLocals(true);
  for (size_t i = 0; i < written.size(); ++i) {
    if (!written[i].default_value.valid()) continue;
    Range range = Written(written[i].default_value).range;
    Value value = ResolveCompileTime(written[i].default_value, "a default value");
    parameters[i].default_value = value.id;
    ExpectType(parameters[i].type, value.type, range,
               fmt::format("the default of `{}`", parameters[i].name), parameters[i].range);
  }
  HideLocals(false);
}

}  // namespace cgraph::check

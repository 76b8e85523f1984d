#include "compiler/check/types/types.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/scope.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

namespace {

TypeId AddType(Scope& scope, decltype(Type::node) node, Range range) {
  scope.checker.named_type_parts += scope.type_arguments != nullptr;
  return scope.program.types.Add({std::move(node), range});
}

// Resolves `bytes[<= N]`: a u8 tensor with one dimension of its own, which no other type mentions.
TensorType ResolveBytes(Scope& scope, const syntax::BytesType& type, Range range, TypeRole role) {
  auto outer = std::exchange(scope.in_type, role);
  const ExprId limit = ResolveInt(scope, type.bound, "a bound").id;
  scope.in_type = outer;
  const bool opens =
      scope.signature && scope.site != Site::kOp &&
      (role == TypeRole::kParameter || role == TypeRole::kResult || role == TypeRole::kHint);
  if (!opens) {
    const char* mend = role == TypeRole::kNamed
                           ? "it has no other name; write bytes[<= N] where it stands"
                           : "it can be a parameter, a result or a hint in a graph, method or fn; "
                             "elsewhere write u8[N]";
    scope.Report(Code::kE0324, range,
                 fmt::format("`bytes` is of a length that is known only while running: {}", mend));
    return PoisonType();
  }
  const DimVariableId length = scope.signature->dim_variables.Add({"length", false, range});
  scope.dims.Bind(length);
  Dim dim{.kind = Dim::kBounded, .variable = length, .expr = limit, .range = range};
  return {.dtype = DType::kU8, .dims = {dim}};
}

TypeId ResolveTensor(Scope& scope, const syntax::TensorType& tensor, Range range, TypeRole role) {
  const bool by_compiler =
      role == TypeRole::kConst ||
      (role == TypeRole::kParameter &&
       (scope.site == Site::kOp || scope.site == Site::kFn || scope.site == Site::kActor ||
        scope.site == Site::kOptimizer || scope.site == Site::kSchedule ||
        scope.site == Site::kTopology));
  if (by_compiler && tensor.dtype == DType::kBool && !tensor.has_dims) {
    return AddType(scope, CompileTimeType{CompileTimeKind::kBool}, range);
  }
  TensorType resolved;
  resolved.dtype = tensor.dtype;
  resolved.dims = ResolveDims(scope, tensor.dims, role);
  return AddType(scope, std::move(resolved), range);
}

// ---- named types ----

TypeId Poison(Scope& scope, Range range) { return AddType(scope, PoisonType(), range); }

// Reports what is written in parentheses behind a name that takes nothing.
void RefuseArguments(Scope& scope, const syntax::NamedType& type, Range range) {
  if (!type.has_arguments) return;
  scope.Report(
      Code::kE0304, range,
      fmt::format("`{}` takes no arguments; dimensions stand in brackets", type.name.text));
}

// Returns what the parameters of a named type are at this use; nothing where the arguments do not
// fit, which is reported.
std::optional<std::map<std::string, TypeArgument>> ArgumentsOf(Scope& scope,
                                                               const syntax::NamedType& type,
                                                               const NamedType& named,
                                                               Range range) {
  std::map<std::string, TypeArgument> arguments;
  const auto is_parameter = [&](const std::string& name) {
    return llvm::any_of(named.parameters, [&](const auto& each) { return each.name == name; });
  };
  std::vector<std::string> names;
  for (const Parameter& parameter : named.parameters) names.push_back(parameter.name);
  const auto refuse = [&](Code code, const std::string& seen) {
    scope
        .Report(code, range,
                fmt::format("{}; write {}", seen,
                            names.empty() ? fmt::format("`{}`", named.name)
                                          : fmt::format("{}({})", named.name,
                                                        llvm::join(names, ", "))))
        .AddNote(named.range, "declared here");
    return std::nullopt;
  };
  for (size_t i = 0; i < type.arguments.size(); ++i) {
    const syntax::Argument& argument = type.arguments[i];
    if (!argument.label && i >= names.size()) {
      return refuse(Code::kE0402, fmt::format("type `{}` takes {}, and here are {}", named.name,
                                              Counted(names.size(), "argument"),
                                              type.arguments.size()));
    }
    const std::string& name = argument.label ? argument.label->text : names[i];
    if (!is_parameter(name)) {
      return refuse(Code::kE0403,
                    fmt::format("type `{}` has no parameter `{}`", named.name, name));
    }
    if (!arguments.emplace(name, TypeArgument{&scope, argument.value}).second) {
      return refuse(Code::kE0404,
                    fmt::format("`{}` of type `{}` is given twice", name, named.name));
    }
  }
  for (const std::string& name : names) {
    if (arguments.count(name) > 0) continue;
    return refuse(Code::kE0401,
                  fmt::format("type `{}` takes `{}`, which is not given", named.name, name));
  }
  return arguments;
}

// Gives a named type that is a dtype the dimensions behind its name: Real[4], of `type Real = f32`.
bool AddDims(Scope& scope, const syntax::NamedType& type, TypeId id, Range range, TypeRole role) {
  Type& resolved = scope.program.types[id];
  auto* tensor = std::get_if<TensorType>(&resolved.node);
  if (tensor && tensor->dims.empty()) {
    std::vector<Dim> dims = ResolveDims(scope, type.dims, role);
    std::get<TensorType>(scope.program.types[id].node).dims = std::move(dims);
    return true;
  }
  const std::string mend =
      tensor ? "dimensions of its own"
             : fmt::format("no dimensions; a list of it is written [{}; 4]", type.name.text);
  scope.Report(Code::kE0304, range, fmt::format("`{}` has {}", type.name.text, mend));
  return false;
}

// Resolves what a named type is declared as, or the dtype that -D chose for its name.
TypeId ResolveDefinition(Scope& scope, NamedTypeId id, TypeRole role) {
  const syntax::TypeId written = scope.checker.named_types[id].decl->type;
  const std::optional<DType> chosen = scope.program.named_types[id].chosen;
  if (!chosen) return ResolveType(scope, written, role);
  syntax::TensorType type;
  type.dtype = *chosen;
  return ResolveTensor(scope, type, scope.module.file.types[written].range, role);
}

// Resolves the definition of a named type where its name stands, in a scope of the file that
// declares it: a type of its own for each use. Arguments are resolved where the definition has the
// parameter, in the scope of the use, so that `n` of Rows(n) is bound like any dimension.
TypeId ResolveUse(Scope& scope, const syntax::NamedType& type, NamedTypeId id, Range range,
                  TypeRole role) {
  Checker& checker = scope.checker;
  const std::string& name = scope.program.named_types[id].name;
  if (checker.named_type_progress[id] == Checker::Progress::kOpen) {
    scope.Report(Code::kE0326, range, fmt::format("type `{}` stands for itself", name))
        .AddNote(scope.program.named_types[id].range, "declared here");
    return Poison(scope, range);
  }
  if (checker.named_type_depth == 0) checker.named_type_use = range;
  if (checker.named_type_depth >= kMaxNamedTypeDepth) {
    scope
        .Report(Code::kE0327, checker.named_type_use,
                fmt::format("named types are nested more than {} deep", kMaxNamedTypeDepth))
        .AddNote(range, "the first one that is deeper");
    return Poison(scope, range);
  }
  if (!MayExpandNames(checker)) return Poison(scope, range);
  ++checker.named_type_depth;
  ResolveNamedType(checker, id);
  const NamedType& named = scope.program.named_types[id];
  const auto arguments = ArgumentsOf(scope, type, named, range);
  TypeId resolved;
  if (arguments) {
    const Module& module = *checker.named_types[id].module;
    Scope inner(checker, module, scope.site, scope.signature, scope.names.mutable_rows());
    inner.type_arguments = &*arguments;
    resolved = ResolveDefinition(inner, id, role);
  }
  --checker.named_type_depth;
  const bool fits = resolved.valid() && !IsPoison(scope.program.types[resolved]) &&
                    (!type.has_dims || AddDims(scope, type, resolved, range, role));
  if (!fits) return Poison(scope, range);
  scope.program.types[resolved].range = range;
  if (!type.has_dims) scope.program.types[resolved].name = checker.sources.Text(range);
  return resolved;
}

// Reports a file's name before a type that no file declares: `torch.float32`, `model.Missing`.
TypeId RefuseQualified(Scope& scope, const syntax::NamedType& type, Range range) {
  const std::string& qualifier = type.qualifier->text;
  if (scope.checker.names_missing) return Poison(scope, range);
  if (IsQualifier(scope.module, qualifier)) {
    Diagnostic& diagnostic =
        scope.Report(Code::kE0304, type.name.range,
                     fmt::format("{} declares no type `{}`",
                                 ShownModule(scope.module, qualifier), type.name.text));
    scope.checker.Suggest(diagnostic, type.name.range, type.name.text,
                          QualifiedNames(scope.module, qualifier));
    return Poison(scope, range);
  }
  llvm::StringRef bits = type.name.text;
  for (const auto& [theirs, ours] : {std::pair("bfloat", "bf"), std::pair("float", "f"),
                                     std::pair("uint", "u"), std::pair("int", "i")}) {
    if (!bits.consume_front(theirs)) continue;
    const std::string dtype = ours + bits.str();
    scope
        .Report(Code::kE0304, range,
                fmt::format("types stand alone, without a file's name: {}", dtype))
        .AddFix({range.source, type.qualifier->range.begin, type.name.range.end}, dtype);
    return Poison(scope, range);
  }
  scope.Report(Code::kE0304, range,
               fmt::format("types stand alone, without a file's name: f32, or f32[2, n]; `{}` is "
                           "no imported file",
                           qualifier));
  return Poison(scope, range);
}

std::vector<std::string> TypeNames(const Scope& scope) {
  std::vector<std::string> names = {"int", "float", "str"};
#define DTYPE(id, wire, name, bytes, class) names.push_back(name);
#include "runtime/base/kinds/dtypes.def"
  if (scope.signature) {
    for (const Generic& generic : scope.signature->generics) names.push_back(generic.name);
  }
  for (const NamedType& named : scope.program.named_types) {
    if (HasName(scope.module, named.name)) names.push_back(named.name);
  }
  return names;
}

// Resolves the name of a dtype variable or of a compile-time kind; nothing for other names.
std::optional<TypeId> ResolveKnownName(Scope& scope, const syntax::NamedType& type, Range range,
                                       TypeRole role) {
  const std::string& name = type.name.text;
  if (auto generic = scope.FindGeneric(name)) {
    RefuseArguments(scope, type, range);
    TensorType resolved;
    resolved.generic = *generic;
    resolved.dims = ResolveDims(scope, type.dims, role);
    return AddType(scope, std::move(resolved), range);
  }
  static const std::map<std::string, CompileTimeKind> kKinds = {{"int", CompileTimeKind::kInt},
                                                                {"float", CompileTimeKind::kFloat},
                                                                {"str", CompileTimeKind::kStr}};
  auto kind = kKinds.find(name);
  if (kind != kKinds.end()) {
    RefuseArguments(scope, type, range);
    if (type.has_dims) {
      scope.Report(
          Code::kE0304, range,
          fmt::format("`{}` is known at compile time and has no dimensions; a list of them is "
                      "written [{}; 4], a tensor has a dtype such as i64 or f32",
                      name, name));
    }
    return AddType(scope, CompileTimeType{kind->second}, range);
  }
  if (name != "opaque") return std::nullopt;
  scope.Report(Code::kE0715, range, "`opaque` is not in the language yet; values are tensors");
  return Poison(scope, range);
}

TypeId ResolveName(Scope& scope, const syntax::NamedType& type, Range range, TypeRole role) {
  const std::string& name = type.name.text;
  if (!type.qualifier) {
    if (const auto known = ResolveKnownName(scope, type, range, role)) return *known;
  }
  const Found found = type.qualifier ? FindQualified(scope.checker, scope.module,
                                                     type.qualifier->text, name, type.name.range)
                                     : FindName(scope.checker, scope.module, name, type.name.range);
  if (found.reported || (!found.symbol && scope.checker.names_missing)) return Poison(scope, range);
  if (found.symbol) {
    if (const auto* id = std::get_if<NamedTypeId>(&found.symbol->node)) {
      return ResolveUse(scope, type, *id, range, role);
    }
    scope
        .Report(
            Code::kE0304, type.name.range,
            fmt::format("`{}` is not a type; values are tensors such as f32[4], lists, tuples, and "
                        "int, float, bool, str",
                        name))
        .AddNote(found.symbol->range, "declared here");
    return Poison(scope, range);
  }
  if (type.qualifier) return RefuseQualified(scope, type, range);
  Diagnostic& diagnostic =
      scope.Report(Code::kE0304, type.name.range, fmt::format("`{}` is not a type", name));
  if (!scope.checker.Translate(diagnostic, type.name.range, name)) {
    scope.checker.Suggest(diagnostic, type.name.range, name, TypeNames(scope));
  }
  return Poison(scope, range);
}

}  // namespace

TypeId ResolveType(Scope& scope, syntax::TypeId id, TypeRole role) {
  const syntax::Type& type = scope.module.file.types[id];
  if (const auto* tensor = std::get_if<syntax::TensorType>(&type.node)) {
    return ResolveTensor(scope, *tensor, type.range, role);
  }
  if (const auto* named = std::get_if<syntax::NamedType>(&type.node)) {
    return ResolveName(scope, *named, type.range, role);
  }
  if (const auto* list = std::get_if<syntax::ListType>(&type.node)) {
    TypeId element = ResolveType(scope, list->element, role);
    return AddType(scope, ListType{element, ResolveListLength(scope, list->length, role)},
                   type.range);
  }
  if (const auto* bytes = std::get_if<syntax::BytesType>(&type.node)) {
    return AddType(scope, ResolveBytes(scope, *bytes, type.range, role), type.range);
  }
  TupleType resolved;
  if (const auto* tuple = std::get_if<syntax::TupleType>(&type.node)) {
    std::map<std::string, Range> names;
    for (const syntax::TupleType::Field& field : tuple->fields) {
      TypeId field_type = ResolveType(scope, field.type, role);
      resolved.fields.push_back({field.name ? field.name->text : "", field_type});
      if (!field.name) continue;
      auto [first, added] = names.emplace(field.name->text, field.name->range);
      if (added) continue;
      scope
          .Report(Code::kE0302, field.name->range,
                  fmt::format("field `{}` is declared twice", field.name->text))
          .AddNote(first->second, "the first one is here");
    }
  }
  return AddType(scope, std::move(resolved), type.range);
}

bool MayExpandNames(Checker& checker) {
  if (checker.named_type_parts < kMaxNamedTypeParts) return true;
  if (std::exchange(checker.named_type_limit_met, true)) return false;
  checker.diagnostics.Report(
      Code::kE0327, checker.named_type_use,
      fmt::format("named types stand for more than {} types and arguments", kMaxNamedTypeParts));
  return false;
}

void ResolveNamedType(Checker& checker, NamedTypeId id) {
  if (checker.named_type_progress[id] != Checker::Progress::kNew) return;
  checker.named_type_progress[id] = Checker::Progress::kOpen;
  const auto& [module, decl] = checker.named_types[id];
  NamedType& named = checker.program.named_types[id];
  Scope scope(checker, *module, Site::kType, nullptr, &named.locals);
  named.parameters = ResolveParameters(scope, decl->parameters);
  for (size_t i = 0; i < named.parameters.size(); ++i) {
    const Parameter& parameter = named.parameters[i];
    const auto* kind = std::get_if<CompileTimeType>(&checker.program.types[parameter.type].node);
    const bool is_int = kind && kind->kind == CompileTimeKind::kInt;
    if (is_int && !decl->parameters[i].default_value.valid()) continue;
    if (IsPoison(checker.program.types[parameter.type])) continue;
    scope.Report(Code::kE0424, parameter.range,
                 is_int ? "a parameter of a type has no default: each use says what it is"
                        : "the parameters of a type are ints: its dimensions, and the lengths of "
                          "its lists");
  }
  named.type = ResolveDefinition(scope, id, TypeRole::kNamed);
  for (const Parameter& parameter : named.parameters) {
    if (scope.names.IsUsed(parameter.local) || checker.names_missing ||
        checker.named_type_limit_met) {
      continue;
    }
    scope.Report(Code::kE0424, parameter.range,
                 fmt::format("no dimension and no length of `{}` is made of `{}`", named.name,
                             parameter.name));
  }
  checker.named_type_progress[id] = Checker::Progress::kDone;
}

}  // namespace cgraph::check

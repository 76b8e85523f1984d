// Calls: what stands before the parentheses decides what is called.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/check/names.h"
#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

namespace {

// Of the language, not of the library; those after kLen are functions of dimensions.
std::optional<Builtin> FindBuiltin(const std::string& name) {
  static const std::map<std::string, Builtin> kBuiltins = {
      {"zip", Builtin::kZip},   {"len", Builtin::kLen},   {"broadcast", Builtin::kBroadcast},
      {"drop", Builtin::kDrop}, {"permuted", Builtin::kPermuted},
      {"size", Builtin::kSize}, {"rank", Builtin::kRank},
      {"width", Builtin::kWidth}};
  auto found = kBuiltins.find(name);
  return found == kBuiltins.end() ? std::nullopt : std::optional<Builtin>(found->second);
}

bool IsOfDimensions(Builtin builtin) { return builtin > Builtin::kLen; }

}  // namespace

Value Resolver::Visit(const syntax::CallExpr& node, Range range) {
  const syntax::Expr& callee = Written(node.callee);
  if (const auto* name = std::get_if<syntax::NameExpr>(&callee.node)) {
    return CallName(node, name->name, callee.range, range);
  }
  if (const auto* field = std::get_if<syntax::FieldExpr>(&callee.node)) {
    const std::string* qualifier = QualifierOf(field->base);
    if (!qualifier) return CallMethod(node, *field, range);
    const std::string& name = field->name.text;
    Found found = FindQualified(checker_, module_, *qualifier, name, field->name.range);
    if (found.symbol) return CallSymbol(node, *found.symbol, name, field->name.range, range);
    if (!found.reported && !checker_.syntax_errors) {
      Diagnostic& diagnostic = Report(Code::kE0301, field->name.range,
                                      fmt::format("`{}` declares no `{}`", *qualifier, name));
      checker_.Suggest(diagnostic, field->name.range, name, QualifiedNames(module_, *qualifier));
    }
    ResolveArguments(node.arguments);
    return Poison(range);
  }
  Value value = ResolveValue(node.callee);
  if (std::holds_alternative<NoneLiteral>(program_.exprs[value.id].node)) {  // reported already
    ResolveArguments(node.arguments);
    return value;
  }
  return RefuseCall(node, Code::kE0306, callee.range,
                    fmt::format("only ops, fns, graphs and methods can be called; this is {}",
                                Describe(value.type)),
                    range);
}

Value Resolver::RefuseCall(const syntax::CallExpr& node, Code code, Range at, std::string message,
                           Range range) {
  Report(code, at, std::move(message));
  ResolveArguments(node.arguments);
  return Poison(range);
}

Value Resolver::CallName(const syntax::CallExpr& node, const std::string& name, Range name_range,
                         Range range) {
  std::optional<Builtin> builtin = FindBuiltin(name);
  bool of_dimensions = in_type_ || site_ == Site::kOp;
  if (builtin && IsOfDimensions(*builtin) && of_dimensions) {
    return CallBuiltin(node, *builtin, range);
  }
  if (IsOwnName(name)) {
    Value value = ResolveName(name, name_range);
    if (!value.type.known()) {
      return RefuseCall(node, Code::kE0306, name_range,
                        fmt::format("`{}` is a value of this body and cannot be called", name),
                        range);
    }
    return RefuseCall(node, Code::kE0306, name_range,
                      fmt::format("`{}` is {} and cannot be called", name, Describe(value.type)),
                      range);
  }
  Found found = FindName(checker_, module_, name, name_range);
  if (found.symbol) return CallSymbol(node, *found.symbol, name, name_range, range);
  if (found.reported) {
    ResolveArguments(node.arguments);
    return Poison(range);
  }
  if (builtin && !IsOfDimensions(*builtin)) return CallBuiltin(node, *builtin, range);
  return CallUnknown(node, name, name_range, range);
}

Value Resolver::CallUnknown(const syntax::CallExpr& node, const std::string& name,
                            Range name_range, Range range) {
  if (auto collective = ParseCollective(name)) {
    return ResolveCollective(node, *collective, name_range, range);
  }
  if (FindBuiltin(name)) {
    return RefuseCall(node, Code::kE0309, name_range,
                      fmt::format("`{}` is a function of dimensions; it can stand in types, and "
                                  "in the clauses of an op",
                                  name),
                      range);
  }
  if (IsDeviceWord(name)) {
    return RefuseCall(node, Code::kE0421, name_range,
                      fmt::format("a device is written with brackets: {}[0]", name), range);
  }
  if (checker_.syntax_errors) {
    ResolveArguments(node.arguments);
    return Poison(range);
  }
  Diagnostic& diagnostic =
      Report(Code::kE0301, name_range, fmt::format("`{}` is not declared", name));
  if (std::string file = LibraryFileOf(checker_, name); !file.empty()) {
    diagnostic.message += fmt::format("; `import std.{}` declares it", file);
  } else if (!checker_.Translate(diagnostic, name_range, name)) {
    checker_.Suggest(diagnostic, name_range, name, VisibleNames(module_));
  }
  ResolveArguments(node.arguments);
  return Poison(range);
}

Value Resolver::CallSymbol(const syntax::CallExpr& node, const Symbol& symbol,
                           const std::string& name, Range name_range, Range range) {
  if (const auto* op = std::get_if<OpId>(&symbol.node)) return CallOp(node, *op, range);
  if (const auto* fn = std::get_if<FnId>(&symbol.node)) return CallFn(node, *fn, range);
  if (const auto* graph = std::get_if<GraphId>(&symbol.node)) {
    return CallGraph(node, *graph, name_range, range);
  }
  if (std::holds_alternative<Refused>(symbol.node)) {
    ResolveArguments(node.arguments);
    return Poison(range);
  }
  const char* what = "a const";
  const char* mend = "";
  if (std::holds_alternative<ActorId>(symbol.node)) {
    what = "an actor";
    mend = "; `place x = Actor(...) on gpu[0]` makes one of it";
  } else if (std::holds_alternative<PlaceId>(symbol.node)) {
    what = "a place";
    mend = "; call one of its methods: x.method(...)";
  } else if (std::holds_alternative<TransportId>(symbol.node)) {
    what = "a transport";
    mend = "; it stands after `via`";
  }
  Report(Code::kE0306, name_range,
         fmt::format("`{}` is {} and cannot be called{}", name, what, mend))
      .AddNote(symbol.range, "declared here");
  ResolveArguments(node.arguments);
  return Poison(range);
}

// ---- ops, fns, graphs ---------------------------------------------------------------------------

Value Resolver::CallOp(const syntax::CallExpr& node, OpId id, Range range) {
  const Op& op = program_.ops[id];
  program::CallOp call;
  call.op = id;
  if (node.type_argument.valid()) call.type_argument = ResolveTypeArgument(node, op);
  Arguments given = ResolveArguments(node.arguments);
  Callee callee{"op `" + op.name + "`", &op.signature.parameters, &op.signature, &op.locals,
                op.range};
  Static type = CheckArguments(given, callee, range);
  if (call.type_argument.valid()) type = Declared(call.type_argument);
  call.arguments = std::move(given.arguments);
  return Make(std::move(call), range, std::move(type));
}

namespace {

void CollectVariables(const Program& program, TypeId id, std::set<DimVariableId>& variables) {
  const Type& type = program.types[id];
  if (const auto* list = std::get_if<ListType>(&type.node)) {
    return CollectVariables(program, list->element, variables);
  }
  const auto* tensor = std::get_if<TensorType>(&type.node);
  for (const Dim& dim : tensor ? tensor->dims : std::vector<Dim>()) {
    if (dim.variable.valid()) variables.insert(dim.variable);
  }
}

// Whether the result has dimensions that no argument gives: `sum_to<T: number>(x: T[*s]) -> T[*t]`.
bool LeavesDims(const Program& program, const Signature& signature, const TensorType& result) {
  std::set<DimVariableId> given;
  for (const Parameter& parameter : signature.parameters) {
    CollectVariables(program, parameter.type, given);
  }
  return std::any_of(result.dims.begin(), result.dims.end(), [&](const Dim& dim) {
    return dim.variable.valid() && !given.count(dim.variable);
  });
}

}  // namespace

// Only an op whose result depends on what is expected can be told its type.
TypeId Resolver::ResolveTypeArgument(const syntax::CallExpr& node, const Op& op) {
  TypeId type = ResolveType(node.type_argument, TypeRole::kArgument);
  const auto* result = op.signature.result.valid()
                           ? std::get_if<TensorType>(&program_.types[op.signature.result].node)
                           : nullptr;
  bool open = false;
  if (result && !result->dtype) {
    open = std::none_of(op.signature.parameters.begin(), op.signature.parameters.end(),
                        [&](const Parameter& parameter) {
                          const auto* tensor =
                              std::get_if<TensorType>(&program_.types[parameter.type].node);
                          return tensor && !tensor->dtype && tensor->generic == result->generic;
                        });
  }
  if (open || (result && LeavesDims(program_, op.signature, *result))) return type;
  Report(Code::kE0410, program_.types[type].range,
         fmt::format("op `{}` takes no type: its result follows from its arguments", op.name))
      .AddNote(op.range, "declared here");
  return TypeId();
}

void Resolver::RefuseTypeArgument(const syntax::CallExpr& node, const std::string& what) {
  if (!node.type_argument.valid()) return;
  Report(Code::kE0410, module_.file.types[node.type_argument].range,
         fmt::format("{} takes no type; only ops such as zeros do", what));
}

Value Resolver::CallFn(const syntax::CallExpr& node, FnId id, Range range) {
  const Fn& fn = program_.fns[id];
  Callee callee{"fn `" + fn.name + "`", &fn.signature.parameters, &fn.signature, &fn.body.locals,
                fn.range};
  RefuseTypeArgument(node, callee.what);
  Arguments given = ResolveArguments(node.arguments);
  Static type = CheckArguments(given, callee, range);
  // A fn is inlined: what it declares as a bool may well be known at compile time.
  if (type.kind == Static::kTensor && type.dtype == DType::kBool && type.rank == 0) type = Static();
  return Make(program::CallFn{id, std::move(given.arguments)}, range, std::move(type));
}

Value Resolver::CallGraph(const syntax::CallExpr& node, GraphId id, Range name_range, Range range) {
  const Graph& graph = program_.graphs[id];
  Callee callee{"graph `" + graph.name + "`", &graph.signature.parameters, &graph.signature,
                &graph.body.locals, graph.range};
  RefuseTypeArgument(node, callee.what);
  Arguments given = ResolveArguments(node.arguments);
  Static type = CheckArguments(given, callee, range);
  if (!OpensScope()) {
    Report(Code::kE0316, name_range,
           fmt::format("`{}` is a graph; only graphs, and fns that graphs call, can call it",
                       graph.name))
        .AddNote(graph.range, "declared here");
  }
  return Make(program::CallGraph{id, std::move(given.arguments)}, range, std::move(type));
}

// ---- methods ------------------------------------------------------------------------------------

Value Resolver::CallMethod(const syntax::CallExpr& node, const syntax::FieldExpr& callee,
                           Range range) {
  Value receiver = ResolveValue(callee.base);
  std::optional<MethodId> id = FindMethodOf(receiver, callee.name);
  RefuseTypeArgument(node, "a method");
  Arguments given = ResolveArguments(node.arguments);
  Static type;
  if (id) {
    const Method& method = program_.methods[*id];
    type = CheckArguments(given,
                          {"method `" + method.name + "`", &method.signature.parameters,
                           &method.signature, &method.body.locals, method.range},
                          range);
  }
  program::CallMethod call;
  call.receiver = receiver.id;
  call.name = callee.name.text;
  call.name_range = callee.name.range;
  call.arguments = std::move(given.arguments);
  return Make(std::move(call), range, std::move(type));
}

std::optional<MethodId> Resolver::FindMethodOf(const Value& receiver, const syntax::Name& name) {
  const Static& type = receiver.type;
  if (!type.known()) return std::nullopt;
  if (type.kind == Static::kPlaces) {
    Report(Code::kE0306, program_.exprs[receiver.id].range,
           fmt::format("this is {}; a method is called on one of them: x[0].{}(...), or in a loop",
                       Describe(type), name.text));
    return std::nullopt;
  }
  if (type.kind != Static::kPlace) {
    const bool is_function = HasName(module_, name.text);
    Report(Code::kE0306, name.range,
           fmt::format("only places have methods, and this is {}{}", Describe(type),
                       is_function ? fmt::format("; write {}(x)", name.text) : ""));
    return std::nullopt;
  }
  if (!type.actor.valid()) return std::nullopt;
  MethodId id = FindMethod(program_, type.actor, name.text);
  if (id.valid()) return id;
  if (checker_.syntax_errors) return std::nullopt;
  const Actor& actor = program_.actors[type.actor];
  std::vector<std::string> candidates;
  for (MethodId method : actor.methods) candidates.push_back(program_.methods[method].name);
  Diagnostic& diagnostic =
      Report(Code::kE0312, name.range,
             fmt::format("actor `{}` has no method `{}`", actor.name, name.text));
  checker_.Suggest(diagnostic, name.range, name.text, candidates)
      .AddNote(actor.range, "the actor is declared here");
  return std::nullopt;
}

// ---- functions of the language ------------------------------------------------------------------

Value Resolver::CallBuiltin(const syntax::CallExpr& node, Builtin builtin, Range range) {
  RefuseTypeArgument(node, fmt::format("`{}`", Spelling(builtin)));
  Arguments given;
  for (const syntax::Argument& argument : node.arguments) {
    if (argument.label) {
      Report(Code::kE0403, argument.label->range,
             fmt::format("`{}` has no labels", Spelling(builtin)));
    }
    const auto* name = std::get_if<syntax::NameExpr>(&Written(argument.value).node);
    auto generic = name && builtin == Builtin::kWidth ? FindGeneric(name->name) : std::nullopt;
    Range at = Written(argument.value).range;
    Value value = generic ? Make(GenericRef{*generic}, at, Static()) : Resolve(argument.value);
    if (builtin == Builtin::kWidth && !generic) {
      Report(Code::kE0406, at, "width(T) is the bytes of an element of a dtype variable T");
    }
    given.arguments.push_back({"", value.id, at});
    given.types.push_back(std::move(value.type));
  }
  Static type = BuiltinType(builtin, given, range);
  return Make(program::CallBuiltin{builtin, std::move(given.arguments)}, range, std::move(type));
}

Static Resolver::BuiltinType(Builtin builtin, const Arguments& given, Range range) {
  bool of_two = builtin == Builtin::kDrop || builtin == Builtin::kPermuted ||
                builtin == Builtin::kBroadcast;
  size_t least = of_two ? 2 : 1;
  size_t most = builtin == Builtin::kZip || builtin == Builtin::kBroadcast ? SIZE_MAX : least;
  if (given.types.size() < least || given.types.size() > most) {
    Report(given.types.size() < least ? Code::kE0401 : Code::kE0402, range,
           fmt::format("`{}` takes {}{} {}, and {} given", Spelling(builtin),
                       most == least ? "" : "at least ", least,
                       least == 1 ? "argument" : "arguments", given.types.size()));
    return Static();
  }
  auto expect = [&](size_t i, Static::Kind kind, const char* what) {
    if (!given.types[i].known() || given.types[i].kind == kind) return;
    Report(Code::kE0406, given.arguments[i].range,
           fmt::format("`{}` takes {}; this is {}", Spelling(builtin), what,
                       Describe(given.types[i])));
  };
  switch (builtin) {
    case Builtin::kZip: {
      std::vector<Static> elements;
      for (size_t i = 0; i < given.types.size(); ++i) {
        elements.push_back(ElementOf({given.arguments[i].value, given.types[i]}));
      }
      std::vector<std::string> names(elements.size());
      return Static::List(Static::Tuple(std::move(elements), std::move(names)));
    }
    case Builtin::kLen:
      if (given.types[0].kind != Static::kPlaces && given.types[0].kind != Static::kTuple) {
        expect(0, Static::kList, "a list, a tuple or an array of places");
      }
      return Static::Of(Static::kInt);
    case Builtin::kWidth:
      return Static::Of(Static::kInt);
    case Builtin::kSize:
    case Builtin::kRank:
      if (!given.types[0].is_list_of_ints()) expect(0, Static::kDims, "a run of dimensions");
      return Static::Of(Static::kInt);
    case Builtin::kDrop:
      expect(0, Static::kDims, "a run of dimensions");
      expect(1, Static::kInt, "the number of the dimension to drop");
      return Static::Of(Static::kDims);
    case Builtin::kPermuted:
      expect(0, Static::kDims, "a run of dimensions");
      expect(1, Static::kList, "the list of the dimensions' numbers");
      return Static::Of(Static::kDims);
    case Builtin::kBroadcast:
      for (size_t i = 0; i < given.types.size(); ++i) {
        expect(i, Static::kDims, "runs of dimensions");
      }
      return Static::Of(Static::kDims);
  }
  return Static();
}

}  // namespace cgraph::check

#include "compiler/check/calls/calls.h"

#include <map>

#include <fmt/format.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns how many arguments it takes, at least and at most.
std::pair<size_t, size_t> CountsOf(Builtin builtin) {
  switch (builtin) {
    case Builtin::kZip: return {1, SIZE_MAX};
    case Builtin::kBroadcast: return {2, SIZE_MAX};
    case Builtin::kDrop: return {2, 3};
    case Builtin::kSize: return {1, 2};
    case Builtin::kInsert: return {3, 3};
    case Builtin::kAssert:
    case Builtin::kPermuted:
    case Builtin::kInferred: return {2, 2};
    default: return {1, 1};
  }
}

bool HasNames(const StaticType& tuple) {
  return llvm::any_of(tuple.names, [](const std::string& name) { return !name.empty(); });
}

StaticType TupleOf(std::vector<StaticType> parts) {
  std::vector<std::string> names(parts.size());
  return StaticType::Tuple(std::move(parts), std::move(names));
}

// Returns what zip(xs, ys) is: where one of them is a tuple, a tuple of pairs with its names.
StaticType ZipType(Scope& scope, const Arguments& given) {
  std::vector<StaticType> elements;
  const StaticType* tuple = nullptr;  // the first with names, else the first
  bool all_known = true;
  for (size_t i = 0; i < given.types.size(); ++i) {
    const StaticType& type = given.types[i];
    all_known &= type.known();
    elements.push_back(ElementOf(scope, {given.arguments[i].value, type}));
    if (type.kind != StaticType::kTuple) continue;
    if (tuple == nullptr || (!HasNames(*tuple) && HasNames(type))) tuple = &type;
  }
  if (tuple == nullptr) {
    return all_known ? StaticType::List(TupleOf(std::move(elements))) : StaticType();
  }
  std::vector<StaticType> parts;
  for (size_t field = 0; field < tuple->parts.size(); ++field) {
    std::vector<StaticType> pair = elements;
    for (size_t i = 0; i < pair.size(); ++i) {
      const StaticType& type = given.types[i];
      if (type.kind == StaticType::kTuple && field < type.parts.size()) pair[i] = type.parts[field];
    }
    parts.push_back(TupleOf(std::move(pair)));
  }
  return StaticType::Tuple(std::move(parts), tuple->names);
}

// Returns what items(xs) is: of a tuple a tuple of pairs with its names, of a list a list of pairs.
StaticType ItemsType(Scope& scope, const Arguments& given) {
  const StaticType& type = given.types[0];
  const StaticType element = ElementOf(scope, {given.arguments[0].value, type});
  if (!type.known()) return type;
  if (type.kind != StaticType::kTuple) {
    return StaticType::List(TupleOf({StaticType::Of(StaticType::kInt), element}));
  }
  std::vector<StaticType> parts;
  for (size_t i = 0; i < type.parts.size(); ++i) {
    const StaticType::Kind key = type.names[i].empty() ? StaticType::kInt : StaticType::kStr;
    parts.push_back(TupleOf({StaticType::Of(key), type.parts[i]}));
  }
  return StaticType::Tuple(std::move(parts), type.names);
}

StaticType BuiltinType(Scope& scope, Builtin builtin, const Arguments& given, Range range) {
  const auto [least, most] = CountsOf(builtin);
  if (given.types.size() < least || given.types.size() > most) {
    scope.Report(given.types.size() < least ? Code::kE0401 : Code::kE0402, range,
                 fmt::format("`{}` takes {}{} {}, and {} {} given", Spelling(builtin),
                             most == least ? "" : "at least ", least,
                             least == 1 ? "argument" : "arguments", given.types.size(),
                             given.types.size() == 1 ? "is" : "are"));
    return StaticType();
  }
  auto expect = [&](size_t i, StaticType::Kind kind, const char* what) {
    if (!given.types[i].known() || given.types[i].kind == kind) return;
    scope.Report(Code::kE0406, given.arguments[i].range,
                 fmt::format("`{}` takes {}; this is {}", Spelling(builtin), what,
                             scope.Describe(given.types[i])));
  };
  switch (builtin) {
    case Builtin::kZip:
      return ZipType(scope, given);
    case Builtin::kItems:
      return ItemsType(scope, given);
    case Builtin::kLen:
      if (given.types[0].kind != StaticType::kPlaces && given.types[0].kind != StaticType::kTuple) {
        expect(0, StaticType::kList,
               given.types[0].kind == StaticType::kTensor
                   ? "a list, a tuple or an array of places, and a tensor's dimensions have names "
                     "in its type, x: f32[n, m]"
                   : "a list, a tuple or an array of places");
      }
      return StaticType::Of(StaticType::kInt);
    case Builtin::kAssert:
      expect(0, StaticType::kBool,
             given.types[0].kind == StaticType::kTensor
                 ? "a condition that is known while compiling (`check` of std.debug asks while "
                   "running)"
                 : "a condition, such as h % parts == 0");
      expect(1, StaticType::kStr, "the text of the error as a string");
      return StaticType::Of(StaticType::kNothing);
    case Builtin::kGrad:
    case Builtin::kUpdateAll:
    case Builtin::kGlobalNorm:
      break;  // ResolveGradientCall
    case Builtin::kWidth:
      return StaticType::Of(StaticType::kInt);
    case Builtin::kBounded:
      return StaticType::Of(StaticType::kBool);
    case Builtin::kTotal:
      expect(0, StaticType::kDims, "the dimension `n` of elements that have `each n`");
      return StaticType::Of(StaticType::kInt);
    case Builtin::kSize:
    case Builtin::kRank:
      if (!given.types[0].is_list_of_ints()) expect(0, StaticType::kDims, "a run of dimensions");
      if (given.types.size() > 1) expect(1, StaticType::kInt, "the number of a dimension");
      return StaticType::Of(StaticType::kInt);
    case Builtin::kDrop:
      expect(0, StaticType::kDims, "a run of dimensions");
      if (!given.types[1].is_list_of_ints()) {
        expect(1, StaticType::kInt, "the number of the dimension to drop, or a list of several");
      }
      if (given.types.size() > 2) expect(2, StaticType::kBool, "whether a 1 stays there");
      return StaticType::Of(StaticType::kDims);
    case Builtin::kInsert:
      expect(0, StaticType::kDims, "a run of dimensions");
      expect(1, StaticType::kInt, "the number of the new dimension");
      expect(2, StaticType::kInt, "its extent");
      return StaticType::Of(StaticType::kDims);
    case Builtin::kInferred:
      expect(0, StaticType::kList, "a list of ints");
      expect(1, StaticType::kInt, "the number of elements");
      return StaticType::Of(StaticType::kDims);
    case Builtin::kPermuted:
      expect(0, StaticType::kDims, "a run of dimensions");
      expect(1, StaticType::kList, "the list of the dimensions' numbers");
      return StaticType::Of(StaticType::kDims);
    case Builtin::kBroadcast:
      for (size_t i = 0; i < given.types.size(); ++i) {
        expect(i, StaticType::kDims, "runs of dimensions");
      }
      return StaticType::Of(StaticType::kDims);
  }
  return StaticType();
}

}  // namespace

std::optional<Builtin> FindBuiltin(const std::string& name) {
  static const std::map<std::string, Builtin> kBuiltins = {{"zip", Builtin::kZip},
                                                           {"items", Builtin::kItems},
                                                           {"len", Builtin::kLen},
                                                           {"grad", Builtin::kGrad},
                                                           {"update_all", Builtin::kUpdateAll},
                                                           {"global_norm", Builtin::kGlobalNorm},
                                                           {"assert", Builtin::kAssert},
                                                           {"broadcast", Builtin::kBroadcast},
                                                           {"drop", Builtin::kDrop},
                                                           {"insert", Builtin::kInsert},
                                                           {"inferred", Builtin::kInferred},
                                                           {"total", Builtin::kTotal},
                                                           {"permuted", Builtin::kPermuted},
                                                           {"size", Builtin::kSize},
                                                           {"rank", Builtin::kRank},
                                                           {"width", Builtin::kWidth},
                                                           {"bounded", Builtin::kBounded}};
  auto found = kBuiltins.find(name);
  return found == kBuiltins.end() ? std::nullopt : std::optional<Builtin>(found->second);
}

bool IsOfGradients(Builtin builtin) {
  return builtin == Builtin::kGrad || builtin == Builtin::kUpdateAll ||
         builtin == Builtin::kGlobalNorm;
}

bool IsOfDimensions(Builtin builtin) { return builtin > Builtin::kAssert; }

Value ResolveBuiltinCall(Scope& scope, const syntax::CallExpr& node, Builtin builtin, Range range) {
  RefuseTypeArgument(scope, node, fmt::format("`{}`", Spelling(builtin)));
  Arguments given;
  for (const syntax::Argument& argument : node.arguments) {
    if (argument.label) {
      scope.Report(Code::kE0403, argument.label->range,
                   fmt::format("`{}` has no labels", Spelling(builtin)));
    }
    const auto* name = std::get_if<syntax::NameExpr>(&scope.Written(argument.value).node);
    auto generic =
        name && builtin == Builtin::kWidth ? scope.FindGeneric(name->name) : std::nullopt;
    Range at = scope.Written(argument.value).range;
    Value value = generic ? scope.Make(GenericRef{*generic}, at, StaticType())
                          : Resolve(scope, argument.value);
    if (builtin == Builtin::kWidth && !generic) {
      scope.Report(Code::kE0406, at, "width(T) is the bytes of an element of a dtype variable T");
    }
    given.arguments.push_back({"", value.id, at});
    given.types.push_back(std::move(value.type));
  }
  StaticType type = BuiltinType(scope, builtin, given, range);
  return scope.Make(program::CallBuiltin{builtin, std::move(given.arguments)}, range,
                    std::move(type));
}

}  // namespace cgraph::check

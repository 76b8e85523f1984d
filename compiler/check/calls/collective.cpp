#include "compiler/check/calls/calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

constexpr const char* kSplitDim = "split_dim";
constexpr const char* kConcatDim = "concat_dim";

// Returns the parameters in the order in which they may be given without a label.
std::vector<std::string> ParametersOf(const CollectiveTraits& traits) {
  if (traits.from == CollectiveTraits::kNobody) return {"places"};
  std::vector<std::string> names = {"xs"};
  if (traits.from == CollectiveTraits::kRoot) names = {"x", "to"};
  if (traits.reduces) names.push_back("reduction");
  if (traits.from == CollectiveTraits::kEach && traits.to == CollectiveTraits::kRoot) {
    names.push_back("root");
  }
  if (traits.divides() && traits.joins()) names.insert(names.end(), {kSplitDim, kConcatDim});
  if (traits.divides() || traits.joins()) names.push_back(kDimParameter);
  return names;
}

bool MayBeLeftOut(const std::string& name) {
  return name == "root" || name == kDimParameter || name == kSplitDim || name == kConcatDim;
}

// Returns the label here of one that other libraries write; empty where there is none.
std::string LabelHere(const CollectiveTraits& traits, const std::string& theirs) {
  if (theirs == "op" && traits.reduces) return "reduction";
  const bool to_root = traits.from == CollectiveTraits::kEach &&
                       traits.to == CollectiveTraits::kRoot;
  const bool is_root = theirs == "dst" || theirs == "dest" || theirs == "group_dst" ||
                       theirs == "src" || theirs == "to";
  if (to_root && is_root) return "root";
  const bool are_places = theirs == "group" || theirs == "comm" || theirs == "process_group";
  if (are_places && traits.from == CollectiveTraits::kRoot) return "to";
  if (are_places && traits.from == CollectiveTraits::kNobody) return "places";
  const bool exchanges = traits.divides() && traits.joins();
  if (exchanges && theirs == "split_axis") return kSplitDim;
  if (exchanges && theirs == "concat_axis") return kConcatDim;
  const bool moves = traits.divides() || traits.joins();
  const bool is_dim = theirs == "axis" || theirs == "gather_dim" || theirs == "scatter_dim" ||
                      theirs == "scatter_dimension" || theirs == kConcatDim || theirs == kSplitDim;
  return moves && is_dim ? kDimParameter : "";
}

// Says what does without a label that other libraries write; empty where nothing is known.
const char* WithoutLabel(const CollectiveTraits& traits, llvm::StringRef theirs) {
  const auto is = [&](std::initializer_list<llvm::StringRef> labels) {
    return llvm::is_contained(labels, theirs);
  };
  const bool of_root = traits.from == CollectiveTraits::kRoot;
  if (of_root && is({"root", "src", "source", "from", "group_src"})) {
    return "its root is the place where the value lives";
  }
  const bool of_list = traits.from == CollectiveTraits::kEach;
  if (of_list && is({"group", "comm", "process_group", "axis_name", "mesh", "device_mesh"})) {
    return "its participants are the places where the values of the list live";
  }
  if (is({"async_op", "async", "stream", "request", "blocking"})) {
    return "it is waited for where its results are used";
  }
  if (is({"output", "output_tensor", "output_tensor_list", "gather_list", "tensor_list", "recvbuf",
          "out", "inplace"})) {
    return "its results are the value of the call: let ys = ...";
  }
  return is({"count", "datatype", "dtype", "recvcount"}) ? "its values say their types" : "";
}

// Returns the argument of each parameter, -1 for none; reports mismatches.
std::vector<int> DistributeCollective(Scope& scope, const syntax::CallExpr& node,
                                      const CollectiveTraits& traits, Range range) {
  const std::vector<std::string> names = ParametersOf(traits);
  std::vector<int> argument_of(names.size(), -1);
  bool complete = true;
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const syntax::Argument& argument = node.arguments[i];
    const Range at = argument.label ? argument.label->range : scope.Written(argument.value).range;
    size_t target = i;
    if (argument.label) {
      target = std::find(names.begin(), names.end(), argument.label->text) - names.begin();
    }
    if (target >= names.size()) {
      complete = false;
      if (argument.label) {
        const std::string without = WithoutLabel(traits, argument.label->text);
        Diagnostic& diagnostic = scope.Report(
            Code::kE0403, at,
            fmt::format("`{}` has no parameter `{}`; {}{}", traits.name, argument.label->text,
                        without.empty() ? "it takes " : without,
                        fmt::join(without.empty() ? names : std::vector<std::string>(), ", ")));
        const std::string here = LabelHere(traits, argument.label->text);
        if (here == "reduction") {
          diagnostic.message += "; the reduction is written `reduction: sum`, or `sum` alone";
          diagnostic.AddFix(at, here);
        } else if (!here.empty()) {
          diagnostic.message += fmt::format(" (here it is `{}`)", here);
          diagnostic.AddFix(at, here);
        } else if (without.empty()) {
          scope.checker.Suggest(diagnostic, at, argument.label->text, names);
        }
      } else {
        scope.Report(Code::kE0402, at,
                     fmt::format("`{}` takes {}: {} {}", traits.name, fmt::join(names, ", "),
                                 node.arguments.size(), "arguments are given"));
      }
    } else if (argument_of[target] >= 0) {
      scope.Report(Code::kE0404, at, fmt::format("`{}` is given twice", names[target]));
    } else {
      argument_of[target] = static_cast<int>(i);
    }
  }
  for (size_t i = 0; complete && i < names.size(); ++i) {
    if (argument_of[i] >= 0 || MayBeLeftOut(names[i])) continue;
    scope.Report(Code::kE0401, range,
                 fmt::format("`{}` takes `{}`, which is not given{}", traits.name, names[i],
                             names[i] == "reduction" ? ": sum, prod, min, max or avg" : ""));
    break;
  }
  return argument_of;
}

// Returns the reduction that other libraries write so: `ReduceOp.SUM`, `MPI_MAX`, `ncclSum`, "sum".
std::optional<Reduction> ReductionElsewhere(llvm::StringRef theirs) {
  theirs = theirs.rsplit('.').second.empty() ? theirs : theirs.rsplit('.').second;
  theirs.consume_front("MPI_") || theirs.consume_front("nccl");
  const std::string word = theirs.trim('"').lower();
  return ParseReduction(word == "mean" ? "avg" : word == "product" ? "prod" : word);
}

std::optional<Reduction> ResolveReduction(Scope& scope, const CollectiveTraits& traits,
                                          syntax::ExprId id) {
  const syntax::Expr& expr = scope.Written(id);
  const auto* name = std::get_if<syntax::NameExpr>(&expr.node);
  if (name) {
    if (auto reduction = ParseReduction(name->name)) return reduction;
  }
  const std::vector<std::string> names(std::begin(kReductionNames), std::end(kReductionNames));
  Diagnostic& diagnostic =
      scope.Report(Code::kE0406, expr.range,
                   fmt::format("`{}` reduces by sum, prod, min, max or avg", traits.name));
  const bool quoted = std::holds_alternative<syntax::StringLiteral>(expr.node);
  const auto meant = ReductionElsewhere(scope.checker.sources.Text(expr.range));
  if (meant) {
    diagnostic.message += quoted ? ", written without quotes"
                                 : fmt::format(" (here it is `{}`)", ReductionName(*meant));
    diagnostic.AddFix(expr.range, ReductionName(*meant));
  } else if (name != nullptr) {
    scope.checker.Suggest(diagnostic, expr.range, name->name, names);
  }
  return std::nullopt;
}

ExprId ResolvePlaces(Scope& scope, const CollectiveTraits& traits, syntax::ExprId id) {
  Value places = ResolveValue(scope, id);
  const StaticType& type = places.type;
  const bool fits = !type.known() || type.kind == StaticType::kPlaces ||
                    (type.kind == StaticType::kList &&
                     (!type.parts[0].known() || type.parts[0].kind == StaticType::kPlace ||
                      type.parts[0].kind == StaticType::kDevice));
  if (!fits) {
    const bool of_ints = type.kind == StaticType::kList && type.parts[0].kind == StaticType::kInt;
    scope.Report(Code::kE0406, scope.Written(id).range,
                 fmt::format("`{}` takes a list of places, [stage[0], stage[1]]; this is {}",
                             traits.name, of_ints ? "a list of ints" : scope.Describe(type)));
  }
  return places.id;
}

// PyTorch's gather is another op; returns the words that say so.
const char* IndexedElements(CollectiveKind kind) {
  return kind == CollectiveKind::kGather
             ? "; elements by their index are take_along_dim(x, indices, dim: 0)"
             : "";
}

}  // namespace

std::string UsageOf(CollectiveKind kind) {
  const CollectiveTraits& traits = TraitsOf(kind);
  if (traits.from == CollectiveTraits::kNobody) return fmt::format("{}(places)", traits.name);
  const bool of_list = traits.from == CollectiveTraits::kEach;
  const bool has_root = of_list && traits.to == CollectiveTraits::kRoot;
  return fmt::format("{}({}{}{}){}{}", traits.name, of_list ? "[...]" : "x, to: places",
                     traits.reduces ? ", sum" : "", has_root ? ", root: 0" : "",
                     of_list ? ", of a list with a value of each place" : "",
                     IndexedElements(kind));
}

Value ResolveCollective(Scope& scope, const syntax::CallExpr& node, CollectiveKind kind,
                        Range name_range, Range range) {
  using Traits = CollectiveTraits;
  const Traits& traits = TraitsOf(kind);
  RefuseTypeArgument(scope, node, fmt::format("`{}`", traits.name));
  if (!scope.MayUsePlaces()) {
    scope.Report(
        Code::kE0316, name_range,
        fmt::format("`{}` works between places; only graphs, and fns that graphs call, can use "
                    "it: actors know nothing of each other{}",
                    traits.name, IndexedElements(kind)));
  }
  const std::vector<std::string> names = ParametersOf(traits);
  const std::vector<int> argument_of = DistributeCollective(scope, node, traits, range);
  CallCollective call{.kind = kind};
  bool whole = true;
  const auto given = [&](size_t i) {
    whole &= argument_of[i] >= 0;
    return argument_of[i] >= 0 ? node.arguments[argument_of[i]].value : syntax::ExprId();
  };
  if (traits.from == Traits::kNobody) {
    if (auto id = given(0); id.valid()) call.places = ResolvePlaces(scope, traits, id);
    return whole ? scope.Make(call, range, StaticType::Of(StaticType::kNothing))
                 : scope.Poison(range);
  }
  StaticType element;
  bool fits = true;
  if (auto id = given(0); id.valid()) {
    Value values = ResolveValue(scope, id);
    call.values = values.id;
    element = values.type;
    if (traits.from == Traits::kEach) {
      element = values.type.kind == StaticType::kList ? values.type.parts[0] : StaticType();
      if (values.type.known() && values.type.kind != StaticType::kList) {
        fits = false;
        scope.Report(Code::kE0406, scope.Written(id).range,
                     fmt::format("`{}` takes a list with one value of each participant; this is "
                                 "{}{}",
                                 traits.name, scope.Describe(values.type), IndexedElements(kind)));
      }
    }
  }
  if (traits.from == Traits::kRoot) {
    if (auto id = given(1); id.valid()) call.places = ResolvePlaces(scope, traits, id);
  }
  if (traits.reduces) {
    if (auto id = given(1); id.valid()) {
      call.reduction = ResolveReduction(scope, traits, id);
      whole &= call.reduction.has_value();
    }
  }
  const auto resolve_int = [&](const std::string& name, const char* what) {
    const size_t i = std::find(names.begin(), names.end(), name) - names.begin();
    if (i == names.size() || argument_of[i] < 0) return ExprId();
    return ResolveInt(scope, node.arguments[argument_of[i]].value, what).id;
  };
  call.root = resolve_int("root", "the root");
  call.dim = resolve_int(kDimParameter, "a dimension's number");
  call.split_dim = resolve_int(kSplitDim, "a dimension's number");
  call.concat_dim = resolve_int(kConcatDim, "a dimension's number");
  const bool has_one = call.split_dim.valid() || call.concat_dim.valid();
  const bool has_both = call.split_dim.valid() && call.concat_dim.valid();
  if (has_one && (!has_both || call.dim.valid())) {
    scope.Report(
        has_both ? Code::kE0404 : Code::kE0401, range,
        fmt::format("`{}` takes `split_dim` and `concat_dim`, or `dim` for both", traits.name));
    return scope.Poison(range);
  }
  if (!whole) return scope.Poison(range);
  if (!fits)
    return scope.Make(call, range, StaticType());  // what was meant may give something else
  return scope.Make(call, range, traits.to == Traits::kEach ? StaticType::List(element) : element);
}

}  // namespace cgraph::check

#include "compiler/check/static_types/match.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

namespace {

bool InClass(DType dtype, DTypeBound bound) {
  switch (bound) {
    case DTypeBound::kAny:
      return true;
    case DTypeBound::kNumber:
      return ClassOf(dtype) != DTypeClass::kBoolean;
    case DTypeBound::kFloat:
      return ClassOf(dtype) == DTypeClass::kFloating;
    case DTypeBound::kInt:
      return ClassOf(dtype) == DTypeClass::kInteger;
  }
  return false;
}

int FixedDims(const TensorType& type) {
  return static_cast<int>(std::count_if(type.dims.begin(), type.dims.end(),
                                        [](const Dim& d) { return d.kind != Dim::kRun; }));
}

bool MayBeTensor(const StaticType& type) {
  return !type.known() || type.is_number() || type.kind == StaticType::kBool ||
         type.kind == StaticType::kTensor ||
         (type.kind == StaticType::kList && MayBeTensor(type.parts[0]));
}

bool Fits(CompileTimeKind expected, StaticType::Kind given) {
  switch (expected) {
    case CompileTimeKind::kInt:
      return given == StaticType::kInt;
    case CompileTimeKind::kFloat:
      return given == StaticType::kInt || given == StaticType::kFloat;
    case CompileTimeKind::kBool:
      return given == StaticType::kBool;
    case CompileTimeKind::kStr:
      return given == StaticType::kStr;
  }
  return false;
}

// Whether an int stands for the whole list: `stride: 2`, where [int; 2] is declared.
bool TakesOneInt(const Program& program, const ListType& list) {
  const auto* element = std::get_if<CompileTimeType>(&program.types[list.element].node);
  return element && element->kind == CompileTimeKind::kInt &&
         !std::holds_alternative<DimRef>(program.exprs[list.length].node);
}

}  // namespace

std::optional<Mismatch> Matcher::Match(TypeId expected, const StaticType& given) {
  if (!given.known()) return std::nullopt;
  const Type& type = program_.types[expected];
  if (IsPoison(type)) return std::nullopt;
  if (const auto* tensor = std::get_if<TensorType>(&type.node)) return MatchTensor(*tensor, given);
  if (const auto* compile_time = std::get_if<CompileTimeType>(&type.node)) {
    if (Fits(compile_time->kind, given.kind)) return std::nullopt;
    bool late = given.kind == StaticType::kTensor;
    return Mismatch{Code::kE0406, late ? "a tensor is not known at compile time" : ""};
  }
  if (const auto* list = std::get_if<ListType>(&type.node)) {
    if (given.kind == StaticType::kInt && TakesOneInt(program_, *list)) return std::nullopt;
    if (given.kind != StaticType::kList) return Mismatch{Code::kE0406, ""};
    return Match(list->element, given.parts[0]);
  }
  return MatchTuple(std::get<TupleType>(type.node), given);
}

std::optional<Mismatch> Matcher::MatchTuple(const TupleType& expected, const StaticType& given) {
  if (given.kind != StaticType::kTuple) {
    const bool may_be_any = given.kind == StaticType::kTensor && !given.dtype && given.rank < 0;
    return Mismatch{Code::kE0406,
                    may_be_any ? fmt::format("(zeros() for i in 0..{}) makes one for each field",
                                             expected.fields.size())
                               : ""};
  }
  if (given.parts.size() != expected.fields.size()) {
    return Mismatch{Code::kE0406,
                    fmt::format("{} where the type has {}", Counted(given.parts.size(), "field"),
                                expected.fields.size())};
  }
  for (size_t i = 0; i < expected.fields.size(); ++i) {
    const std::string& declared = expected.fields[i].name;
    if (!declared.empty() && !given.names[i].empty() && declared != given.names[i]) {
      return Mismatch{Code::kE0406, fmt::format("field {} is declared as `{}` and given as `{}`", i,
                                                declared, given.names[i])};
    }
    if (auto mismatch = Match(expected.fields[i].type, given.parts[i])) {
      std::string field = declared.empty() ? std::to_string(i) : "`" + declared + "`";
      mismatch->reason = "field " + field + " is " + Describe(program_, given.parts[i]) +
                         (mismatch->reason.empty() ? "" : ", " + mismatch->reason);
      return mismatch;
    }
  }
  return std::nullopt;
}

// ---- tensors ------------------------------------------------------------------------------------

std::optional<Mismatch> Matcher::MatchTensor(const TensorType& expected, const StaticType& given) {
  if (given.is_number() || given.kind == StaticType::kBool) return MatchNumber(expected, given);
  if (given.kind == StaticType::kTuple && !given.parts.empty() && MayBeTensor(given.parts[0])) {
    const bool has_name = !given.names.empty() && !given.names[0].empty();
    return Mismatch{Code::kE0406, fmt::format("t{} is one part of a tuple t",
                                              has_name ? "." + given.names[0] : "[0]")};
  }
  if (given.kind != StaticType::kTensor) {
    const bool numbers = given.kind == StaticType::kList && MayBeTensor(given.parts[0]);
    return Mismatch{
        Code::kE0406,
        numbers ? "stack([a, b]) makes a tensor of a list, xs[0] is one of its elements" : ""};
  }
  if (given.dtype) {
    if (auto mismatch = MatchDType(expected, *given.dtype)) return mismatch;
  }
  return given.rank >= 0 ? MatchRank(expected, given.rank) : std::nullopt;
}

std::optional<DType> Matcher::KnownDType(const TensorType& type) const {
  if (type.dtype) return type.dtype;
  auto found = dtypes_.find(type.generic);
  return found == dtypes_.end() ? std::nullopt : std::optional<DType>(found->second);
}

std::optional<DType> Matcher::DTypeOfNamed(const Generic& generic) const {
  auto found = generic.of.valid() ? dtypes_.find(generic.of) : dtypes_.end();
  return found == dtypes_.end() ? std::nullopt : std::optional<DType>(found->second);
}

std::optional<Mismatch> Matcher::MatchDType(const TensorType& expected, DType given) {
  if (auto known = KnownDType(expected)) {
    if (*known == given) return std::nullopt;
    std::string reason = fmt::format("cast<{}>(...) converts", DTypeName(*known));
    if (!expected.dtype) {
      reason = fmt::format("`{}` is {} by another argument; ",
                           signature_->generics[expected.generic].name, DTypeName(*known)) +
               reason;
    }
    return Mismatch{Code::kE0407, reason};
  }
  const Generic& generic = signature_->generics[expected.generic];
  if (!InClass(given, generic.bound)) {
    return Mismatch{Code::kE0529, fmt::format("`{}` stands for the dtypes of class {}",
                                              generic.name, Spelling(generic.bound))};
  }
  if (const auto named = DTypeOfNamed(generic); named && !MayWeigh(given, *named)) {
    std::string reason =
        fmt::format("`{}` is {} by another argument; cast<{}>(...) converts",
                    signature_->generics[generic.of].name, DTypeName(*named), DTypeName(*named));
    if (MayWeigh(*named, given)) {
      reason += fmt::format(", or cast<{}>(...) the other", DTypeName(given));
    }
    return Mismatch{Code::kE0407, reason};
  }
  if (!rigid_) dtypes_[expected.generic] = given;
  return std::nullopt;
}

std::optional<Mismatch> Matcher::MatchNumber(const TensorType& expected, const StaticType& given) {
  std::optional<DType> dtype = KnownDType(expected);
  if (!dtype && signature_) dtype = DTypeOfNamed(signature_->generics[expected.generic]);
  DTypeBound bound = DTypeBound::kAny;
  if (!dtype && signature_) bound = signature_->generics[expected.generic].bound;
  bool fits = true;
  if (given.kind == StaticType::kBool) {
    fits = dtype ? *dtype == DType::kBool : bound == DTypeBound::kAny;
  } else if (given.kind == StaticType::kFloat) {
    fits = dtype ? ClassOf(*dtype) == DTypeClass::kFloating : bound != DTypeBound::kInt;
  } else {
    fits = !dtype || *dtype != DType::kBool;
  }
  if (!fits) {
    std::string wanted =
        dtype ? std::string(DTypeName(*dtype)) : std::string("class ") + Spelling(bound);
    return Mismatch{Code::kE0407, "a constant takes the dtype of where it stands, " + wanted +
                                      ", and this one does not fit it"};
  }
  // A number alone is a scalar; beside tensors it takes their dtype.
  if (FixedDims(expected) == 0 && expected.dims.size() == 1 && !rigid_) {
    if (expected.dims[0].variable.valid()) run_ranks_.emplace(expected.dims[0].variable, 0);
  }
  return std::nullopt;
}

std::optional<Mismatch> Matcher::MatchRank(const TensorType& expected, int given) {
  int fixed = FixedDims(expected);
  size_t runs = expected.dims.size() - fixed;
  if (given < fixed || (runs == 0 && given != fixed)) {
    return Mismatch{Code::kE0408, fmt::format("rank {} where {}{} is declared", given,
                                              runs == 0 ? "" : "at least ", fixed)};
  }
  if (runs != 1 || rigid_) return std::nullopt;
  for (const Dim& dim : expected.dims) {
    if (dim.kind != Dim::kRun || !dim.variable.valid()) continue;
    auto [bound, added] = run_ranks_.emplace(dim.variable, given - fixed);
    if (!added && bound->second != given - fixed) {
      return Mismatch{Code::kE0408,
                      fmt::format("`*{}` is {} by another argument, and {} here",
                                  signature_->dim_variables[dim.variable].name,
                                  Counted(bound->second, "dimension"), given - fixed)};
    }
  }
  return std::nullopt;
}

// ---- results ------------------------------------------------------------------------------------

int Matcher::RunRank(const Dim& run) const {
  if (!run.variable.valid()) return RunRank(run.expr);
  auto found = run_ranks_.find(run.variable);
  return found == run_ranks_.end() ? -1 : found->second;
}

// Returns whether an argument is a list, as far as it says so: written as one, or a parameter.
bool Matcher::IsList(ExprId argument) const {
  const auto& node = program_.exprs[argument].node;
  const auto* local = std::get_if<LocalRef>(&node);
  if (local == nullptr || signature_ == nullptr) return std::holds_alternative<List>(node);
  return llvm::any_of(signature_->parameters, [&](const Parameter& parameter) {
    return parameter.local == local->local &&
           std::holds_alternative<ListType>(program_.types[parameter.type].node);
  });
}

int Matcher::RunRank(ExprId function_of_runs) const {
  const auto& node = program_.exprs[function_of_runs].node;
  if (const auto* ref = std::get_if<DimRef>(&node)) {
    auto found = run_ranks_.find(ref->variable);
    return found == run_ranks_.end() ? -1 : found->second;
  }
  const auto* call = std::get_if<CallBuiltin>(&node);
  if (!call || call->arguments.empty()) return -1;
  int rank = RunRank(call->arguments[0].value);
  if (call->builtin == Builtin::kPermuted) return rank;
  if (call->builtin == Builtin::kInsert) return rank < 0 ? -1 : rank + 1;
  if (call->builtin == Builtin::kDrop) {  // a dimension, or each of a list
    const bool is_one = call->arguments.size() == 2 && !IsList(call->arguments[1].value);
    return rank > 0 && is_one ? rank - 1 : -1;
  }
  if (call->builtin != Builtin::kBroadcast) return -1;
  for (const Argument& argument : call->arguments) {
    int other = RunRank(argument.value);
    rank = rank < 0 || other < 0 ? -1 : std::max(rank, other);
  }
  return rank;
}

StaticType Matcher::Bound(TypeId id) const {
  const Type& type = program_.types[id];
  if (const auto* list = std::get_if<ListType>(&type.node)) {
    return StaticType::List(Bound(list->element));
  }
  if (const auto* tuple = std::get_if<TupleType>(&type.node)) {
    std::vector<StaticType> parts;
    std::vector<std::string> names;
    for (const TupleType::Field& field : tuple->fields) {
      parts.push_back(Bound(field.type));
      names.push_back(field.name);
    }
    return StaticType::Tuple(std::move(parts), std::move(names));
  }
  const auto* tensor = std::get_if<TensorType>(&type.node);
  if (!tensor || IsPoison(type)) return StaticOf(program_, id);
  int rank = FixedDims(*tensor);
  for (const Dim& dim : tensor->dims) {
    if (dim.kind != Dim::kRun) continue;
    int run = RunRank(dim);
    rank = run < 0 || rank < 0 ? -1 : rank + run;
  }
  return StaticType::Tensor(KnownDType(*tensor), rank);
}

}  // namespace cgraph::check

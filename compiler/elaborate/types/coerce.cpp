#include "compiler/elaborate/types/coerce.h"

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/elaborate/types/unify.h"
#include "compiler/elaborate/values/arithmetic.h"
#include "compiler/elaborate/values/make.h"
#include "compiler/elaborate/values/quotients.h"

namespace cgraph::elaborate {
namespace {

Value FloatOf(ElaborationContext& elaboration, const Value& value, const Frame& frame,
              const Subject& subject, Range range) {
  WarnOfQuotientAsFloat(elaboration, value, range);
  const std::string problem = EncodeNumber(value, DType::kF64).problem;
  if (problem.empty()) return Value(static_cast<double>(*value.As<int64_t>()));
  Report(elaboration, Code::kE0515, range,
         fmt::format("{}: {} is a compile-time float, which has 53 bits", problem,
                     Describe(elaboration, subject, frame)))
      .AddNote(subject.declared, "declared here");
  return Value();
}

Value CoerceCompileTime(ElaborationContext& elaboration, const Value& value,
                        program::CompileTimeKind kind, Frame& frame, const Subject& subject,
                        Range range) {
  using Kind = program::CompileTimeKind;
  switch (kind) {
    case Kind::kInt:
      if (value.As<int64_t>()) return value;
      break;
    case Kind::kFloat:
      if (value.As<double>()) return value;
      if (value.As<int64_t>()) return FloatOf(elaboration, value, frame, subject, range);
      break;
    case Kind::kBool:
      if (value.As<bool>()) return value;
      break;
    case Kind::kStr:
      if (value.As<std::string>()) return value;
      break;
  }
  const std::string late = LateText(elaboration, value);
  Report(elaboration, Code::kE0406, range,
         fmt::format("{} is a compile-time {}; {}", Describe(elaboration, subject, frame),
                     Spelling(kind),
                     late.empty() ? "this is " + Describe(elaboration, value)
                                  : late + "; flatten, unflatten, squeeze and unsqueeze leave "
                                           "such a dimension as it is"))
      .AddNote(subject.declared, "declared here");
  return Value();
}

Value CoerceTensor(ElaborationContext& elaboration, const Value& value, program::TypeId type_id,
                   Frame& frame, const Subject& subject, Range range) {
  const auto& type = std::get<program::TensorType>(elaboration.program.types[type_id].node);
  if (const Tensor* tensor = value.As<Tensor>()) {
    const graph::Type actual = elaboration.builder->type(tensor->value);
    if (!BindDType(elaboration, type, actual.dtype, frame, subject, range)) return Value();
    return MatchDims(elaboration, {type_id, actual, frame, subject, range}) ? value : Value();
  }
  if (!IsNumber(value)) {
    const bool list = value.As<List>() || value.As<IntRange>();
    Report(elaboration, Code::kE0406, range,
           fmt::format("{} is {}; this is {}{}", Describe(elaboration, subject, frame),
                       Declared(elaboration, type_id, frame), Describe(elaboration, value),
                       list ? "; stack([a, b]) makes a tensor of a list, xs[0] is one of its "
                              "elements"
                            : ""))
        .AddNote(subject.declared, "declared here");
    return Value();
  }
  std::optional<DType> dtype = type.dtype;
  if (!dtype && frame.generics[type.generic.index]) {
    dtype = frame.generics[type.generic.index]->dtype;
  }
  if (!dtype) {
    const program::GenericId of = frame.signature->generics[type.generic].of;
    if (of.valid() && frame.generics[of.index]) dtype = frame.generics[of.index]->dtype;
  }
  graph::Type actual{dtype ? *dtype : NaturalDType(value), {}};
  if (!BindDType(elaboration, type, actual.dtype, frame, subject, range)) return Value();
  if (ClassOf(actual.dtype) == DTypeClass::kFloating) {
    WarnOfQuotientAsFloat(elaboration, value, range);
  }
  Encoded encoded = EncodeNumber(value, actual.dtype);
  if (!encoded.problem.empty()) {
    Report(elaboration, Code::kE0515, range,
           fmt::format("{}: {} is {}", encoded.problem, Describe(elaboration, subject, frame),
                       Declared(elaboration, type_id, frame)))
        .AddNote(subject.declared, "declared here");
    return Value();
  }
  Match match{type_id, actual, frame, subject, range};
  match.is_number = true;
  if (!MatchDims(elaboration, match)) return Value();
  if (!elaboration.builder) return value;  // a const of a scalar type stays a number
  return Value(
      Tensor{elaboration.builder->AddConstant(actual.dtype, encoded.bytes, ScalarText(value))});
}

// Returns an int as many times as a list of ints is declared to have; nothing where it cannot stand
// for such a list.
std::optional<std::vector<Value>> RepeatedInt(ElaborationContext& elaboration, const Value& value,
                                              const program::ListType& type, Frame& frame) {
  const auto* element =
      std::get_if<program::CompileTimeType>(&elaboration.program.types[type.element].node);
  const program::ExprId length = Reduce(elaboration, type.length, frame);
  if (!value.As<int64_t>() || !element || element->kind != program::CompileTimeKind::kInt ||
      std::holds_alternative<program::DimRef>(elaboration.program.exprs[length].node)) {
    return std::nullopt;
  }
  const auto count = EvaluateDimInt(elaboration, length, frame, "a list's length");
  const Range range = elaboration.program.types[type.element].range;
  if (!count || !CheckListLength(elaboration, *count, range)) return std::nullopt;
  return std::vector<Value>(static_cast<size_t>(*count), value);
}

Value CoerceList(ElaborationContext& elaboration, const Value& value, const program::ListType& type,
                 Frame& frame, const Subject& subject, Range range) {
  std::optional<std::vector<Value>> items = RepeatedInt(elaboration, value, type, frame);
  if (!items && (value.As<List>() || value.As<IntRange>())) {
    items = ListItems(elaboration, value, range);
    if (!items) return Value();
  }
  if (!items) {
    Report(elaboration, Code::kE0406, range,
           fmt::format("{} is a list; this is {}", Describe(elaboration, subject, frame),
                       Describe(elaboration, value)))
        .AddNote(subject.declared, "declared here");
    return Value();
  }
  graph::Dim length{static_cast<int64_t>(items->size()), {}};
  program::ExprId length_expr = Reduce(elaboration, type.length, frame);
  auto* variable = std::get_if<program::DimRef>(&elaboration.program.exprs[length_expr].node);
  if (variable && !frame.dims[variable->variable.index]) {
    frame.dims[variable->variable.index] = BoundDims{{length}, subject.name, range};
  } else {
    std::optional<int64_t> wanted =
        EvaluateDimInt(elaboration, length_expr, frame, "a list's length");
    if (!wanted) return Value();
    if (*wanted != length.extent) {
      Report(elaboration, Code::kE0513, range,
             fmt::format("{} is a list of {}; this is a list of {}",
                         Describe(elaboration, subject, frame), *wanted, length.extent))
          .AddNote(subject.declared, "declared here");
      return Value();
    }
  }
  // Numbers come last: they take the dtype that a tensor beside them has bound.
  for (bool numeric : {false, true}) {
    for (Value& item : *items) {
      if (IsNumeric(elaboration, range, item) != numeric) continue;
      item = Coerce(elaboration, item, type.element, frame, subject, range);
      if (item.poisoned()) return Value();
    }
  }
  return MakeList(elaboration, range, std::move(*items));
}

Value CoerceTuple(ElaborationContext& elaboration, const Value& value, program::TypeId type_id,
                  Frame& frame, const Subject& subject, Range range) {
  const auto& type = std::get<program::TupleType>(elaboration.program.types[type_id].node);
  const Tuple* tuple = value.As<Tuple>();
  if (!tuple || tuple->items->values.size() != type.fields.size()) {
    Report(elaboration, Code::kE0513, range,
           fmt::format("{} is {}; this is {}", Describe(elaboration, subject, frame),
                       Declared(elaboration, type_id, frame), Describe(elaboration, value)))
        .AddNote(subject.declared, "declared here");
    return Value();
  }
  std::vector<std::string> names;
  std::vector<Value> values;
  Subject part = subject;
  if (!elaboration.program.types[type_id].name.empty()) part.whole = type_id;
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const program::TupleType::Field& field = type.fields[i];
    if (part.whole == type_id) part.field = i;
    const std::vector<std::string>& given = tuple->items->names;
    if (!given.empty() && !given[i].empty() && !field.name.empty() && given[i] != field.name) {
      Report(elaboration, Code::kE0513, range,
             fmt::format("field {} of {} is `{}`; this has `{}` there", i,
                         Describe(elaboration, subject, frame), field.name, given[i]))
          .AddNote(subject.declared, "declared here");
      return Value();
    }
    Value item = Coerce(elaboration, tuple->items->values[i], field.type, frame, part, range);
    if (item.poisoned()) return Value();
    values.push_back(std::move(item));
    names.push_back(field.name);
  }
  return MakeTuple(elaboration, range, std::move(names), std::move(values));
}

// Returns the variables that a hint introduces (`t <= S`), which mean something new in each
// iteration: those that no parameter bound and that first occur in it.
void DefinedBy(const program::Program& program, program::TypeId type_id, const Frame& frame,
               std::vector<program::DimVariableId>& variables) {
  const auto& type = program.types[type_id].node;
  if (auto* tensor = std::get_if<program::TensorType>(&type)) {
    for (const program::Dim& dim : tensor->dims) {
      if (!dim.variable.valid() || frame.rigid[dim.variable.index]) continue;
      Range first = frame.signature->dim_variables[dim.variable].range;
      bool brings = first.source == dim.range.source && first.begin >= dim.range.begin &&
                    first.end <= dim.range.end;
      if (brings) variables.push_back(dim.variable);
    }
  } else if (auto* list = std::get_if<program::ListType>(&type)) {
    DefinedBy(program, list->element, frame, variables);
  } else if (auto* tuple = std::get_if<program::TupleType>(&type)) {
    for (const auto& field : tuple->fields) DefinedBy(program, field.type, frame, variables);
  }
}

}  // namespace

Value Coerce(ElaborationContext& elaboration, const Value& value, program::TypeId type_id,
             Frame& frame, const Subject& subject, Range range) {
  if (value.poisoned() || elaboration.budget.stopped) return Value();
  const auto& type = elaboration.program.types[type_id].node;
  if (auto* scalar = std::get_if<program::CompileTimeType>(&type)) {
    return CoerceCompileTime(elaboration, value, scalar->kind, frame, subject, range);
  }
  if (std::holds_alternative<program::TensorType>(type)) {
    return CoerceTensor(elaboration, value, type_id, frame, subject, range);
  }
  if (auto* list = std::get_if<program::ListType>(&type)) {
    return CoerceList(elaboration, value, *list, frame, subject, range);
  }
  return CoerceTuple(elaboration, value, type_id, frame, subject, range);
}

Value AdaptHint(ElaborationContext& elaboration, const Value& value, program::TypeId type,
                Frame& frame, const Subject& subject, Range range) {
  std::vector<program::DimVariableId> variables;
  frame.rigid.resize(frame.dims.size());
  DefinedBy(elaboration.program, type, frame, variables);
  for (program::DimVariableId variable : variables) frame.dims[variable.index].reset();
  Value adapted = Coerce(elaboration, value, type, frame, subject, range);
  return CheckDeferred(elaboration, frame) ? adapted : Value();
}

std::optional<Value> MakeParts(
    ElaborationContext& elaboration, const program::Type& type, const std::string& name,
    Frame& frame, llvm::function_ref<Value(program::TypeId, const std::string&)> make) {
  if (auto* list = std::get_if<program::ListType>(&type.node)) {
    std::optional<int64_t> length =
        EvaluateDimInt(elaboration, list->length, frame, "a list's length");
    if (!length || !CheckListLength(elaboration, *length, type.range)) return Value();
    std::vector<Value> items;
    for (int64_t i = 0; i < *length && !elaboration.budget.stopped; ++i) {
      items.push_back(make(list->element, fmt::format("{}[{}]", name, i)));
    }
    return MakeList(elaboration, type.range, std::move(items));
  }
  if (auto* tuple = std::get_if<program::TupleType>(&type.node)) {
    std::vector<std::string> names;
    std::vector<Value> items;
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      const std::string& field = tuple->fields[i].name;
      std::string item = field.empty() ? fmt::format("{}[{}]", name, i) : name + "." + field;
      items.push_back(make(tuple->fields[i].type, item));
      names.push_back(field);
    }
    return MakeTuple(elaboration, type.range, std::move(names), std::move(items));
  }
  return std::nullopt;
}

bool BindDType(ElaborationContext& elaboration, const program::TensorType& type, DType dtype,
               Frame& frame, const Subject& subject, Range range) {
  std::string name(DTypeName(dtype));
  if (type.dtype) {
    if (*type.dtype == dtype) return true;
    std::string wanted(DTypeName(*type.dtype));
    Report(elaboration, Code::kE0407, range,
           fmt::format("{} is of {}; this is of {}: dtypes are not converted silently, write "
                       "cast<{}>(...)",
                       Describe(elaboration, subject, frame), wanted, name, wanted))
        .AddNote(subject.declared, "declared here");
    return false;
  }
  std::optional<BoundDType>& bound = frame.generics[type.generic.index];
  const program::Generic& generic = frame.signature->generics[type.generic];
  if (bound) {
    if (bound->dtype == dtype) return true;
    std::string first(DTypeName(bound->dtype));
    Report(elaboration, Code::kE0407, range,
           fmt::format("{} is of {} like `{}`; this is of {}: dtypes are not converted silently, "
                       "write cast<{}>(...)",
                       Describe(elaboration, subject, frame), first,
                       bound->from ? *bound->from : generic.name, name, first))
        .AddNote(bound->range, fmt::format("`{}` is {} by this", generic.name, first));
    return false;
  }
  DTypeClass of = ClassOf(dtype);
  bool allowed = generic.bound == program::DTypeBound::kAny ||
                 (generic.bound == program::DTypeBound::kNumber && of != DTypeClass::kBoolean) ||
                 (generic.bound == program::DTypeBound::kFloat && of == DTypeClass::kFloating) ||
                 (generic.bound == program::DTypeBound::kInt && of == DTypeClass::kInteger);
  if (!allowed) {
    Report(elaboration, Code::kE0529, range,
           fmt::format("{} takes dtypes of the class {}; this is of {}",
                       Describe(elaboration, subject, frame), Spelling(generic.bound), name))
        .AddNote(subject.declared, "declared here");
    return false;
  }
  const std::optional<BoundDType>* named =
      generic.of.valid() ? &frame.generics[generic.of.index] : nullptr;
  if (named && *named && !program::MayWeigh(dtype, (*named)->dtype)) {
    const std::string first(DTypeName((*named)->dtype));
    const std::string& of = frame.signature->generics[generic.of].name;
    const std::string other = program::MayWeigh((*named)->dtype, dtype)
                                  ? fmt::format(", or cast<{}>(...) of the other", name)
                                  : "";
    Report(elaboration, Code::kE0407, range,
           fmt::format("{} is of {} like `{}`; this is of {}: dtypes are not converted silently, "
                       "write cast<{}>(...){}",
                       Describe(elaboration, subject, frame), first,
                       (*named)->from ? *(*named)->from : of, name, first, other))
        .AddNote((*named)->range, fmt::format("`{}` is {} by this", of, first));
    return false;
  }
  bound = BoundDType{dtype, subject.name, range};
  return true;
}

}  // namespace cgraph::elaborate

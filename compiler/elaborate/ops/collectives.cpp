#include "compiler/elaborate/ops/ops.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/ops/participants.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "compiler/graph/transports.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

using Traits = CollectiveTraits;

constexpr int64_t kStepsPerCollective = 16;

// Returns `tensors` in the shape of `shape`; takes them from the front.
Value InShape(ElaborationContext& elaboration, Range range, const Value& shape,
              llvm::ArrayRef<graph::ValueId>& tensors) {
  return MapLeaves(elaboration, range, shape, [&](const Value&) {
    const graph::ValueId value = tensors.front();
    tensors = tensors.drop_front();
    return Value(Tensor{value});
  });
}

bool CheckReduction(ElaborationContext& elaboration, const CollectiveCall& call,
                    const Participants& found) {
  if (!call.reduction) return true;
  for (const Tensor& tensor : found.tensors[0]) {
    const DType dtype = elaboration.builder->type(tensor.value).dtype;
    const DTypeClass of = ClassOf(dtype);
    const bool average = *call.reduction == Reduction::kAvg;
    if (of == DTypeClass::kFloating || (of == DTypeClass::kInteger && !average)) continue;
    Report(elaboration, Code::kE0613, call.range,
           fmt::format("{} reduces {}; this is of {}", ReductionName(*call.reduction),
                       average ? "floats" : "numbers", DTypeName(dtype)));
    return false;
  }
  return true;
}

// Returns the result types by rank; nothing (reported) where dimension 0 cannot be cut or joined.
std::optional<std::vector<graph::Type>> CollectiveResults(ElaborationContext& elaboration,
                                                          const CollectiveCall& call,
                                                          const Participants& found) {
  const Traits& traits = TraitsOf(call.kind);
  const Range range = call.range;
  const auto members = static_cast<int64_t>(found.devices.size());
  std::vector<graph::Type> types;
  if (found.tensors.empty()) return types;
  for (const Tensor& tensor : found.tensors[0]) {
    graph::Type type = elaboration.builder->type(tensor.value);
    const auto refuse = [&](const std::string& why) {
      Report(elaboration, Code::kE0612, range,
             fmt::format("`{}` of {} on {} participants: {}", traits.name, Text(elaboration, type),
                         members, why));
      return std::nullopt;
    };
    if (traits.rows != Traits::kSame) {
      if (type.dims.empty()) return refuse("a scalar has no dimension 0; reshape it to [1]");
      if (type.dims[0].symbol.valid()) {
        return refuse("dimension 0 is known only while running, and must be a number");
      }
      if (traits.divides() && type.dims[0].extent % members != 0) {
        return refuse(fmt::format("dimension 0 is {}, which {} does not divide",
                                  type.dims[0].extent, members));
      }
      if (traits.rows == Traits::kOver) type.dims[0].extent /= members;
      if (traits.rows == Traits::kTimes &&
          __builtin_mul_overflow(type.dims[0].extent, members, &type.dims[0].extent)) {
        type.dims[0].extent = INT64_MAX;
      }
      if (!CheckTensorLimits(elaboration, type, range)) return std::nullopt;
    }
    types.push_back(std::move(type));
  }
  if (traits.to == Traits::kRoot) return types;
  const size_t tensors = types.size();
  for (size_t i = tensors; i < tensors * members; ++i) {
    types.push_back(graph::Type(types[i % tensors]));
  }
  return types;
}

void CheckGroupTransport(ElaborationContext& elaboration, const graph::Collective& collective,
                         Range range) {
  const TransportChoice choice =
      ChooseGroupTransport(elaboration.module, collective.participants, collective.via);
  if (choice.possible) return;
  Report(elaboration, Code::kE0601, range,
         fmt::format("{} cannot carry this `{}`: {}; possible here: {}",
                     TransportName(collective.via).str(), TraitsOf(collective.kind).name,
                     choice.reason, choice.could_serve));
}

// Returns the rank that gives, or that gets: the one that is written; else the one where the value
// is, if that is one of the places; else 0.
std::optional<uint32_t> RootOf(ElaborationContext& elaboration, const program::CallCollective& e,
                               const Participants& found, Frame& frame) {
  if (TraitsOf(e.kind).from == Traits::kRoot) {
    const graph::DeviceId home = elaboration.builder->value(found.tensors[0][0].value).home;
    const auto at = llvm::find(found.devices, home);
    if (at != found.devices.end()) return at - found.devices.begin();
  }
  if (!e.root.valid()) return 0;
  std::optional<int64_t> root = EvaluateInt(elaboration, e.root, frame, "the root");
  if (!root) return std::nullopt;
  if (*root >= 0 && *root < static_cast<int64_t>(found.devices.size())) return *root;
  Report(elaboration, Code::kE0511, elaboration.program.exprs[e.root].range,
         fmt::format("root {} of {} participants: ranks count from 0", *root,
                     found.devices.size()));
  return std::nullopt;
}

// Adds the operands. A value that is where it is needed travels by the collective, so its `via` is
// about that; a value that is elsewhere travels to the root first.
void TakeOperands(ElaborationContext& elaboration, const Participants& found, graph::Op& op) {
  graph::Collective& collective = *op.collective;
  const bool each = TraitsOf(collective.kind).from == Traits::kEach;
  for (const std::vector<Tensor>& tensors : found.tensors) {
    for (const Tensor& tensor : tensors) {
      const bool there = each || elaboration.builder->value(tensor.value).home == op.device;
      if (there && collective.via == TransportKind::kAuto) collective.via = tensor.via.transport;
      op.operands.push_back({tensor.value, there ? TransportRequest() : tensor.via, op.range});
      if (!there) CheckTransport(elaboration, op.operands.back(), op.device);
    }
  }
}

// ---- other dimensions than the first ----
//
// Participants divide and put together dimension 0 alone: their parts lie one behind the other in
// memory. Where a program names another dimension, each tensor goes in and comes out with the parts
// as a dimension of their own in front, [parts, ...]. A `permute` at the participant brings it
// there and back; where nothing but ones stands before the dimension, a view is enough.

// Axes: the dimensions of one tensor that are divided and put together.
struct Axes {
  size_t split = 0, concat = 0;

  bool move() const { return split != 0 || concat != 0; }
};

// Returns the number of a dimension of a tensor, counted from the end where it is below 0; nothing
// (reported) where the tensor has none such, or it cannot be cut or joined.
std::optional<size_t> AxisOf(ElaborationContext& elaboration, const CollectiveCall& call,
                             const graph::Type& type, int64_t dim, int64_t divisor) {
  const auto rank = static_cast<int64_t>(type.dims.size());
  const int64_t axis = dim < 0 ? dim + rank : dim;
  std::string why;
  if (axis < 0 || axis >= rank) {
    why = fmt::format("there is no dimension {}", dim);
  } else if (type.dims[axis].symbol.valid()) {
    why = fmt::format("dimension {} is known only while running, and must be a number", axis);
  } else if (type.dims[axis].extent % divisor != 0) {
    why = fmt::format("dimension {} is {}, which {} does not divide", axis, type.dims[axis].extent,
                      divisor);
  } else {
    return axis;
  }
  Report(elaboration, Code::kE0612, call.range,
         fmt::format("`{}` of {}: {}", TraitsOf(call.kind).name, Text(elaboration, type), why));
  return std::nullopt;
}

// Returns the axes of each tensor of a participant; nothing where that is reported.
std::optional<std::vector<Axes>> AxesOf(ElaborationContext& elaboration,
                                        const program::CallCollective& e,
                                        const CollectiveCall& call, const Participants& found,
                                        Frame& frame) {
  std::vector<Axes> axes(found.tensors.empty() ? 0 : found.tensors[0].size());
  if (!e.dim.valid() && !e.split_dim.valid()) return axes;
  const Traits& traits = TraitsOf(call.kind);
  const auto evaluate = [&](program::ExprId id) {
    return EvaluateInt(elaboration, id, frame, "a dimension's number");
  };
  const std::optional<int64_t> split = evaluate(e.dim.valid() ? e.dim : e.split_dim);
  const std::optional<int64_t> concat = e.dim.valid() ? split : evaluate(e.concat_dim);
  if (!split || !concat) return std::nullopt;
  const auto members = static_cast<int64_t>(found.devices.size());
  for (size_t t = 0; t < axes.size(); ++t) {
    const graph::Type type = elaboration.builder->type(found.tensors[0][t].value);
    std::optional<size_t> of_split = 0, of_concat = 0;
    if (traits.divides()) of_split = AxisOf(elaboration, call, type, *split, members);
    if (of_split && traits.joins()) of_concat = AxisOf(elaboration, call, type, *concat, 1);
    if (!of_split || !of_concat) return std::nullopt;
    axes[t] = {*of_split, *of_concat};
  }
  return axes;
}

// Returns the same elements in another shape.
Tensor InDims(ElaborationContext& elaboration, const Tensor& tensor, Dims dims, Range range) {
  const graph::Value& value = elaboration.builder->value(tensor.value);
  graph::Type type{value.type.dtype, {dims.begin(), dims.end()}};
  if (value.type == type) return tensor;
  Tensor view = tensor;
  const bool is_base =
      value.base.valid() && value.offset == 0 && elaboration.builder->type(value.base) == type;
  view.value =
      is_base ? value.base : elaboration.builder->AddView(tensor.value, 0, std::move(type), range);
  return view;
}

// Returns a tensor whose dimension `from` has become dimension `to`: where it lies, or a view where
// nothing moves. Nothing where that is reported.
std::optional<Tensor> MoveDim(ElaborationContext& elaboration, const Tensor& tensor, size_t from,
                              size_t to, Range range) {
  const graph::Type type = elaboration.builder->type(tensor.value);
  std::vector<int64_t> order(type.dims.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + static_cast<ptrdiff_t>(from));
  order.insert(order.begin() + static_cast<ptrdiff_t>(to), static_cast<int64_t>(from));
  bool stays = true;  // only dimensions of 1 change their place
  for (size_t i = std::min(from, to); i <= std::max(from, to); ++i) {
    stays &= i == from || (!type.dims[i].symbol.valid() && type.dims[i].extent == 1);
  }
  if (stays) {
    Dims dims;
    for (int64_t dim : order) dims.push_back(type.dims[dim]);
    return InDims(elaboration, tensor, dims, range);
  }
  Tensor operand = tensor;
  operand.via = {};  // the collective is what travels
  Value list = MakeList(elaboration, range, std::vector<Value>(order.begin(), order.end()));
  OpCall call{elaboration.program.permute_op};
  call.actuals = {{"", Value(operand), range}, {"", std::move(list), range}};
  call.range = range;
  const graph::DeviceId home = elaboration.builder->value(tensor.value).home;
  llvm::SaveAndRestore<std::optional<graph::DeviceId>> on(
      elaboration.on, home.valid() ? std::optional(home) : std::nullopt);
  const Value moved = CallOperation(elaboration, call);
  const Tensor* made = moved.As<Tensor>();
  if (made == nullptr) return std::nullopt;
  Tensor result = *made;
  result.via = tensor.via;
  return result;
}

// Turns what the participants give into [parts, ...]; false where that is reported.
bool PutPartsInFront(ElaborationContext& elaboration, const CollectiveCall& call,
                     const std::vector<Axes>& axes, Participants& found) {
  const bool divides = TraitsOf(call.kind).divides();
  const auto parts = static_cast<int64_t>(divides ? found.devices.size() : 1);
  for (std::vector<Tensor>& tensors : found.tensors) {
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (!axes[t].move()) continue;
      const size_t axis = divides ? axes[t].split : 0;
      const graph::Type type = elaboration.builder->type(tensors[t].value);
      Dims dims(type.dims.begin(), type.dims.end());
      if (divides) dims[axis].extent /= parts;
      dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), graph::Dim{parts, {}});
      const Tensor cut = InDims(elaboration, tensors[t], dims, call.range);
      const std::optional<Tensor> moved = MoveDim(elaboration, cut, axis, 0, call.range);
      if (!moved) return false;
      tensors[t] = *moved;
    }
  }
  return true;
}

// Turns results that are [parts, ...] into what the program sees; false where that is reported.
bool PutPartsInPlace(ElaborationContext& elaboration, const CollectiveCall& call,
                     const std::vector<Axes>& axes, std::vector<graph::ValueId>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const Axes& of = axes[i % axes.size()];
    if (!of.move()) continue;
    const size_t axis = TraitsOf(call.kind).joins() ? of.concat : 0;
    const std::optional<Tensor> moved =
        MoveDim(elaboration, Tensor{results[i]}, 0, axis, call.range);
    if (!moved) return false;
    const graph::Type type = elaboration.builder->type(moved->value);
    Dims dims(type.dims.begin(), type.dims.end());
    dims[axis + 1].extent *= dims[axis].extent;
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(axis));
    results[i] = InDims(elaboration, *moved, dims, call.range).value;
  }
  return true;
}

// Returns what the language sees of the results: for the root the tensors, else a list by rank.
Value ResultsOf(ElaborationContext& elaboration, Range range, const Traits& traits,
                const Participants& found, llvm::ArrayRef<graph::ValueId> results) {
  if (traits.to == Traits::kNobody) return Nothing();
  if (traits.to == Traits::kRoot) return InShape(elaboration, range, found.shape, results);
  std::vector<Value> values;
  for (size_t rank = 0; rank < found.devices.size(); ++rank) {
    values.push_back(InShape(elaboration, range, found.shape, results));
  }
  return MakeList(elaboration, range, std::move(values));
}

// Of one participant nothing goes anywhere: it gets what it gives. Where the program asks for
// gradients it gets a copy, which ShareCopies takes out again: as with several participants, the
// gradient of a result is not that of what was given.
std::vector<graph::ValueId> Alone(ElaborationContext& elaboration, const Traits& traits,
                                  const Participants& found, Range range) {
  std::vector<graph::ValueId> values;
  for (const Tensor& tensor : found.tensors[0]) {
    values.push_back(tensor.value);
    if (elaboration.tape == nullptr) continue;
    const graph::CallId call = elaboration.builder->AddCall(
        MakeCall(elaboration, {}, traits.name, found.devices[0], range));
    values.back() =
        elaboration.builder->AddCopy(call, graph::Use{tensor.value, tensor.via, range}, range);
    RecordCopy(elaboration, tensor, values.back(), {}, range);
  }
  return values;
}

// Warns of a sum of gradients of one variable, of which `grad` has made each the sum already.
void WarnOfSummedTwice(ElaborationContext& elaboration, const CollectiveCall& call,
                       const Participants& found) {
  if (elaboration.tape == nullptr || call.reduction != Reduction::kSum) return;
  const auto& variables = elaboration.tape->variables;
  for (size_t t = 0; t < found.tensors[0].size(); ++t) {
    const auto first = variables.find(found.tensors[0][t].value);
    const bool are_copies =
        first != variables.end() && llvm::all_of(found.tensors, [&](const auto& tensors) {
          const auto other = variables.find(tensors[t].value);
          return other != variables.end() && other->second == first->second;
        });
    if (!are_copies) continue;
    Report(elaboration, Code::kW0514, call.range,
           fmt::format("these are the gradients of one variable, whose copies are declared `equal "
                       "along` an index, so `grad` has given each the sum over all {0}; `{1}` adds "
                       "them once more, which is {0} times as much: leave it out",
                       found.devices.size(), TraitsOf(call.kind).name));
    return;
  }
}

}  // namespace

std::optional<graph::OpId> EmitCollective(ElaborationContext& elaboration,
                                          const CollectiveCall& call, const Participants& found) {
  const Traits& traits = TraitsOf(call.kind);
  graph::Op op;
  op.name = traits.name;
  op.kernel = kCollectiveKernel;
  op.device = found.devices[call.root];
  op.effect = traits.from == Traits::kNobody;
  op.range = call.range;
  op.collective =
      graph::Collective{call.kind, call.reduction, call.root, found.devices, call.via};
  TakeOperands(elaboration, found, op);
  std::optional<std::vector<graph::Type>> types = CollectiveResults(elaboration, call, found);
  if (!types || !CheckReduction(elaboration, call, found)) return std::nullopt;
  CheckGroupTransport(elaboration, *op.collective, call.range);
  if (!CheckOperands(elaboration, op.name, op.operands.size(), types->size(), op.range)) {
    return std::nullopt;
  }
  op.call = elaboration.builder->AddCall(MakeCall(elaboration, {}, op.name, op.device, call.range));
  const graph::OpId id = elaboration.builder->AddCollective(std::move(op), std::move(*types));
  RecordCollective(elaboration, id, call.range);
  return id;
}

Value CallCollective(ElaborationContext& elaboration, const program::CallCollective& e,
                     TransportKind via, const Context& context) {
  const Traits& traits = TraitsOf(e.kind);
  if (elaboration.method || !elaboration.builder) {
    Report(elaboration, Code::kE0604, context.range,
           fmt::format("`{}` works between places: only graphs use it, not methods or initial "
                       "values",
                       traits.name));
    return Value();
  }
  Participants found;
  const bool each = traits.from == Traits::kEach;
  if (!(each ? FindGivers(elaboration, e, context.frame, found)
             : FindPlaces(elaboration, e, context.frame, found)) ||
      !Step(elaboration, context.range, kStepsPerCollective * found.devices.size()) ||
      !CheckParticipants(elaboration, found, traits.name)) {
    return Value();
  }
  const std::optional<uint32_t> root = RootOf(elaboration, e, found, context.frame);
  if (!root) return Value();
  const CollectiveCall call{e.kind, e.reduction, *root, via, context.range};
  const std::optional<std::vector<Axes>> axes = AxesOf(elaboration, e, call, found, context.frame);
  if (!axes) return Value();
  if (each && found.devices.size() == 1) {
    if (!CheckReduction(elaboration, call, found)) return Value();
    return ResultsOf(elaboration, context.range, traits, found,
                     Alone(elaboration, traits, found, context.range));
  }
  WarnOfSummedTwice(elaboration, call, found);
  if (!PutPartsInFront(elaboration, call, *axes, found)) return Value();
  const std::optional<graph::OpId> id = EmitCollective(elaboration, call, found);
  if (!id) return Value();
  std::vector<graph::ValueId> results = elaboration.builder->graph().ops[*id].results;
  if (!PutPartsInPlace(elaboration, call, *axes, results)) return Value();
  return ResultsOf(elaboration, context.range, traits, found, results);
}

Value Eval(ElaborationContext& elaboration, const program::CallCollective& e,
           const Context& context) {
  return CallCollective(elaboration, e, TransportKind::kAuto, context);
}

}  // namespace cgraph::elaborate

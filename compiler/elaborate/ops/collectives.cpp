#include "compiler/elaborate/ops/ops.h"

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
  const std::optional<graph::OpId> id =
      EmitCollective(elaboration, {e.kind, e.reduction, *root, via, context.range}, found);
  if (!id) return Value();
  const std::vector<graph::ValueId> results = elaboration.builder->graph().ops[*id].results;
  return ResultsOf(elaboration, context.range, traits, found, results);
}

Value Eval(ElaborationContext& elaboration, const program::CallCollective& e,
           const Context& context) {
  return CallCollective(elaboration, e, TransportKind::kAuto, context);
}

}  // namespace cgraph::elaborate

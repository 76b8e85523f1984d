// Collectives: who takes part, what each gives, and what each gets.
//
// The participants are the homes of the values in the list, rank = position in it; of broadcast and
// scatter they are the places named, and the value first travels to the one that is its root. All
// must give tensors of the same types, so that what each gets is known from what the first gives.
#include <map>

#include "compiler/elaborate/elaborator.h"
#include "compiler/graph/transports.h"
#include "fmt/format.h"

namespace cgraph::elaboration {
namespace {

using Traits = CollectiveTraits;

constexpr int64_t kStepsPerCollective = 16;

std::string Participant(const graph::Module& module, graph::DeviceId device, size_t rank) {
  return fmt::format("participant {} ({})", rank, DeviceName(module.devices[device]));
}

// `tensors` in the shape of `shape`; takes them from the front.
Value InShape(const Value& shape, llvm::ArrayRef<graph::ValueId>& tensors) {
  return MapLeaves(shape, [&](const Value&) {
    const graph::ValueId value = tensors.front();
    tensors = tensors.drop_front();
    return Value(Tensor{value});
  });
}

}  // namespace

Value Elaborator::Eval(const program::CallCollective& e, const Context& context) {
  return Collect(e, Transport::kAuto, context);
}

// `via` around a collective says how the collective goes, not where its results go next.
Value Elaborator::EvaluateVia(program::ExprId base, const Journey& via, Frame& frame,
                              Expected expected) {
  const program::Expr& expr = program_.exprs[base];
  if (const auto* collective = std::get_if<program::CallCollective>(&expr.node)) {
    return Step(expr.range) ? Collect(*collective, via, {frame, expr.range, expected}) : Value();
  }
  return WithVia(Evaluate(base, frame, expected), via);
}

Value Elaborator::Collect(const program::CallCollective& e, Transport via,
                          const Context& context) {
  const Traits& traits = TraitsOf(e.kind);
  if (method_ || !builder_) {
    Report(Code::kE0604, context.range,
           fmt::format("`{}` works between places: only graphs use it, not methods or initial "
                       "values",
                       traits.name));
    return Value();
  }
  Participants found;
  const bool each = traits.from == Traits::kEach;
  if (!(each ? FindGivers(e, context.frame, found) : FindPlaces(e, context.frame, found)) ||
      !Step(context.range, kStepsPerCollective * found.devices.size()) ||
      !CheckParticipants(found, traits.name)) {
    return Value();
  }
  graph::Collective collective{e.kind, e.reduction, 0, found.devices, via};
  if (e.root.valid()) {
    std::optional<int64_t> root = EvaluateInt(e.root, context.frame, "the root");
    if (!root) return Value();
    if (*root < 0 || *root >= static_cast<int64_t>(found.devices.size())) {
      Report(Code::kE0511, program_.exprs[e.root].range,
             fmt::format("root {} of {} participants: ranks count from 0", *root,
                         found.devices.size()));
      return Value();
    }
    collective.root = static_cast<uint32_t>(*root);
  }
  graph::Op op;
  if (traits.from == Traits::kRoot) {  // where the value is, if that is one of the places
    const graph::DeviceId home = builder_->value(found.tensors[0][0].value).home;
    auto at = llvm::find(found.devices, home);
    if (at != found.devices.end()) collective.root = at - found.devices.begin();
  }
  const graph::DeviceId root = found.devices[collective.root];
  for (const std::vector<Tensor>& tensors : found.tensors) {
    for (const Tensor& tensor : tensors) {
      // What is where it is needed travels by the collective, so that is what its `via` is about.
      const graph::DeviceId home = builder_->value(tensor.value).home;
      const bool there = each || home == root;
      if (there && collective.via == Transport::kAuto) collective.via = tensor.via;
      op.operands.push_back({tensor.value, there ? Journey() : tensor.via, context.range});
      if (!there) CheckTransport(op.operands.back(), root);
    }
  }
  std::optional<std::vector<graph::Type>> types = CollectiveResults(e, found, context.range);
  if (!types || !CheckReduction(e, found, context.range)) return Value();
  CheckGroupTransport(collective, context.range);
  op.name = traits.name;
  op.kernel = "collective";
  op.device = root;
  op.effect = traits.from == Traits::kNobody;
  op.range = context.range;
  if (!CheckOperands(op.name, op.operands.size(), types->size(), op.range)) return Value();
  op.call = builder_->AddCall(MakeCall({}, op.name, root, context.range));
  op.collective = std::move(collective);
  const graph::OpId id = builder_->AddCollective(std::move(op), std::move(*types));
  const std::vector<graph::ValueId> results = builder_->graph().ops[id].results;
  llvm::ArrayRef<graph::ValueId> rest = results;
  if (traits.to == Traits::kNobody) return MakeTuple({}, {});
  if (traits.to == Traits::kRoot) return InShape(found.shape, rest);
  std::vector<Value> values;
  for (size_t rank = 0; rank < found.devices.size(); ++rank) {
    values.push_back(InShape(found.shape, rest));
  }
  return MakeList(std::move(values));
}

// ---- participants -------------------------------------------------------------------------------

bool Elaborator::FindGivers(const program::CallCollective& e, Frame& frame, Participants& found) {
  const program::Expr& list = program_.exprs[e.values];
  Value values = Evaluate(e.values, frame);
  std::optional<std::vector<Value>> items = ListItems(values, list.range);
  if (!items) return false;
  const auto* written = std::get_if<program::List>(&list.node);
  for (size_t rank = 0; rank < items->size(); ++rank) {
    const bool named = written && written->items.size() == items->size();
    const Range range = named ? program_.exprs[written->items[rank]].range : list.range;
    std::vector<Tensor> tensors;
    if (!TakeTensors((*items)[rank], range, tensors)) return false;
    std::optional<graph::DeviceId> home = HomeOf(tensors, range);
    if (!home) return false;
    found.devices.push_back(*home);
    found.tensors.push_back(std::move(tensors));
    found.ranges.push_back(range);
  }
  if (!items->empty()) {
    found.shape = (*items)[0];
    return true;
  }
  Report(Code::kE0610, list.range,
         fmt::format("`{}` over an empty list: there must be a participant", TraitsOf(e.kind).name));
  return false;
}

bool Elaborator::FindPlaces(const program::CallCollective& e, Frame& frame, Participants& found) {
  const Range range = program_.exprs[e.places].range;
  if (TraitsOf(e.kind).from == Traits::kRoot) {
    found.shape = Evaluate(e.values, frame);
    found.tensors.emplace_back();
    const Range at = program_.exprs[e.values].range;
    if (!TakeTensors(found.shape, at, found.tensors[0])) return false;
    if (found.tensors[0].empty()) {
      Report(Code::kE0610, at, fmt::format("`{}` of no tensor", TraitsOf(e.kind).name));
      return false;
    }
  }
  std::optional<std::vector<Value>> places = ListItems(Evaluate(e.places, frame), range);
  if (!places) return false;
  for (const Value& place : *places) {
    if (place.poisoned()) return false;
    if (!place.As<graph::InstanceId>() && !place.As<graph::DeviceId>()) {
      Report(Code::kE0406, range,
             fmt::format("`{}` takes a list of places; this has {} in it", TraitsOf(e.kind).name,
                         Describe(place)));
      return false;
    }
    std::optional<graph::DeviceId> device = DeviceOf(place, range);
    found.devices.push_back(*device);
    found.ranges.push_back(range);
  }
  if (!places->empty()) return true;
  Report(Code::kE0610, range,
         fmt::format("`{}` over an empty list: there must be a participant", TraitsOf(e.kind).name));
  return false;
}

// The tensors of one participant, in order.
bool Elaborator::TakeTensors(const Value& value, Range range, std::vector<Tensor>& tensors) {
  if (value.poisoned()) return false;
  if (const Tensor* tensor = value.As<Tensor>()) {
    tensors.push_back(*tensor);
    return true;
  }
  const List* list = value.As<List>();
  const Tuple* tuple = value.As<Tuple>();
  if (list || tuple) {
    return llvm::all_of(list ? *list->items : tuple->items->values, [&](const Value& item) {
      return TakeTensors(item, range, tensors);
    });
  }
  Report(Code::kE0406, range,
         fmt::format("what a participant gives is tensors; this is {}", Describe(value)));
  return false;
}

std::optional<graph::DeviceId> Elaborator::HomeOf(const std::vector<Tensor>& tensors,
                                                  Range range) {
  if (tensors.empty()) {
    Report(Code::kE0610, range, "a participant that gives no tensor");
    return std::nullopt;
  }
  const graph::DeviceId home = builder_->value(tensors[0].value).home;
  for (const Tensor& tensor : tensors) {
    const graph::DeviceId other = builder_->value(tensor.value).home;
    if (!other.valid()) {
      Report(Code::kE0610, range,
             "a constant is at home everywhere, so this names no participant; write `on`");
      return std::nullopt;
    }
    if (other == home) continue;
    Report(Code::kE0610, range,
           fmt::format("the tensors of one participant live on {} and {}; they must be together",
                       DeviceName(module_.devices[home]), DeviceName(module_.devices[other])));
    return std::nullopt;
  }
  return home;
}

bool Elaborator::CheckParticipants(const Participants& found, const char* name) {
  std::map<graph::DeviceId, size_t> ranks;
  for (size_t rank = 0; rank < found.devices.size(); ++rank) {
    auto [first, is_new] = ranks.try_emplace(found.devices[rank], rank);
    if (is_new) continue;
    Report(Code::kE0610, found.ranges[rank],
           fmt::format("{} takes part in `{}` twice, as ranks {} and {}; a device takes part once: put "
                       "the places on devices of their own",
                       DeviceName(module_.devices[found.devices[rank]]), name, first->second, rank))
        .AddNote(found.ranges[first->second], "the first time here");
    return false;
  }
  for (size_t rank = 1; rank < found.tensors.size(); ++rank) {
    const std::vector<Tensor>&first = found.tensors[0], &mine = found.tensors[rank];
    const std::string who = Participant(module_, found.devices[rank], rank);
    const std::string other = Participant(module_, found.devices[0], 0);
    std::string differ;
    if (mine.size() != first.size()) {
      differ = fmt::format("{} gives {} {} and {} gives {}", who, mine.size(),
                           mine.size() == 1 ? "tensor" : "tensors", other, first.size());
    }
    for (size_t t = 0; differ.empty() && t < mine.size(); ++t) {
      const graph::Type& type = builder_->type(mine[t].value);
      const graph::Type& expected = builder_->type(first[t].value);
      if (type == expected) continue;
      differ = fmt::format("{} gives {} and {} gives {}", who, Text(type), other, Text(expected));
    }
    if (differ.empty()) continue;
    Report(Code::kE0611, found.ranges[rank],
           fmt::format("{}; in `{}` all give the same", differ, name))
        .AddNote(found.ranges[0], fmt::format("{} gives this", other));
    return false;
  }
  return true;
}

// ---- what comes of it ---------------------------------------------------------------------------

bool Elaborator::CheckReduction(const program::CallCollective& e, const Participants& found,
                                Range range) {
  if (!e.reduction) return true;
  for (const Tensor& tensor : found.tensors[0]) {
    const DType dtype = builder_->type(tensor.value).dtype;
    const DTypeClass of = ClassOf(dtype);
    const bool average = *e.reduction == Reduction::kAvg;
    if (of == DTypeClass::kFloating || (of == DTypeClass::kInteger && !average)) continue;
    Report(Code::kE0613, range,
           fmt::format("{} reduces {}; this is of {}", ReductionName(*e.reduction),
                       average ? "floats" : "numbers", DTypeName(dtype).str()));
    return false;
  }
  return true;
}

// By rank; nothing (reported) where dimension 0 cannot be cut or joined.
std::optional<std::vector<graph::Type>> Elaborator::CollectiveResults(
    const program::CallCollective& e, const Participants& found, Range range) {
  const Traits& traits = TraitsOf(e.kind);
  const auto members = static_cast<int64_t>(found.devices.size());
  std::vector<graph::Type> types;
  if (found.tensors.empty()) return types;
  for (const Tensor& tensor : found.tensors[0]) {
    graph::Type type = builder_->type(tensor.value);
    const auto refuse = [&](const std::string& why) {
      Report(Code::kE0612, range,
             fmt::format("`{}` of {} on {} participants: {}", traits.name, Text(type), members,
                         why));
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
      if (!CheckTensorLimits(type, range)) return std::nullopt;
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

void Elaborator::CheckGroupTransport(const graph::Collective& collective, Range range) {
  const TransportChoice choice =
      ChooseGroupTransport(module_, collective.participants, collective.via);
  if (choice.possible) return;
  Report(Code::kE0601, range,
         fmt::format("{} cannot carry this `{}`: {}; possible here: auto, {}",
                     TransportName(collective.via).str(), TraitsOf(collective.kind).name,
                     choice.reason, choice.could_serve));
}

}  // namespace cgraph::elaboration

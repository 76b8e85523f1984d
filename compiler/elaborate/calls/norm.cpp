#include "compiler/elaborate/calls/optimizers.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/gradients/copies/copies.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

using graph::DeviceId;

// Norm: the tensors of a tree of gradients, by the device where they lie.
class Norm {
 public:
  Norm(ElaborationContext& elaboration, Range range)
      : elaboration_(elaboration), maker_(elaboration, range), range_(range) {}

  bool Collect(const Value& gradients) {
    const List* list = gradients.As<List>();
    const Tuple* tuple = gradients.As<Tuple>();
    if (list || tuple) {
      return llvm::all_of(list ? *list->items : tuple->items->values,
                          [&](const Value& item) { return Collect(item); });
    }
    const Tensor* tensor = gradients.As<Tensor>();
    const bool is_float =
        tensor != nullptr &&
        ClassOf(elaboration_.builder->type(tensor->value).dtype) == DTypeClass::kFloating;
    if (!is_float) {
      if (!gradients.poisoned()) {
        Report(elaboration_, Code::kE0910, range_,
               fmt::format("`global_norm` takes gradients, tensors of floats; this has {}",
                           Describe(elaboration_, gradients)));
      }
      return false;
    }
    if (IsFirstCopy(tensor->value)) {
      tensors_[elaboration_.builder->value(tensor->value).home].push_back(*tensor);
    }
    return true;
  }

  // Returns the norm, on the first of the devices.
  Value Make() {
    if (tensors_.empty()) {
      Report(elaboration_, Code::kE0910, range_, "`global_norm` of no tensor");
      return Value();
    }
    Participants found;
    for (auto& [device, tensors] : tensors_) {
      const std::optional<Tensor> sum =
          InCall(device, [&, on = tensors] { return SumOfSquares(on); });
      if (!sum) return Value();
      found.devices.push_back(device);
      found.tensors.push_back({*sum});
      found.ranges.push_back(range_);
    }
    Tensor total = found.tensors[0][0];
    if (found.devices.size() > 1) {
      const std::optional<graph::OpId> reduced = EmitCollective(
          elaboration_,
          {CollectiveKind::kReduce, Reduction::kSum, 0, TransportKind::kAuto, range_}, found);
      if (!reduced) return Value();
      total = Tensor{elaboration_.builder->graph().ops[*reduced].results[0]};
    }
    const std::optional<Tensor> norm =
        InCall(found.devices[0], [&] { return maker_.Sqrt(total); });
    return norm ? Value(*norm) : Value();
  }

 private:
  // Copies of a variable have equal gradients; the first one counts. A value may be the gradient of
  // several variables, each of which counts. Gradients that the program has changed are equal where
  // it has changed all copies alike.
  bool IsFirstCopy(graph::ValueId value) {
    if (elaboration_.tape->variables.empty()) return true;
    const std::set<std::string> variables = VariablesOf(value);
    if (variables.empty()) return true;
    const bool is_changed = elaboration_.tape->variables.count(value) == 0;
    if (is_changed && !numbers_) numbers_.emplace(NumberValues(elaboration_));
    const int64_t number = is_changed ? int64_t{(*numbers_)[value]} : -1;
    bool is_first = false;
    for (const std::string& variable : variables) {
      is_first |= counted_.insert({variable, number}).second;
    }
    return is_first;
  }

  // Returns the variables that a value is the gradient of, or is made of in the fewest steps: by
  // ops that keep its shape, so that a factor which depends on all gradients does not count.
  std::set<std::string> VariablesOf(graph::ValueId id) {
    const graph::Graph& graph = elaboration_.builder->graph();
    const auto& known = elaboration_.tape->variables;
    std::set<graph::ValueId> seen{id};
    std::vector<graph::ValueId> level{id};
    while (!level.empty()) {
      std::set<std::string> found;
      std::vector<graph::ValueId> next;
      elaboration_.budget.Charge(level.size());
      for (graph::ValueId value : level) {
        if (const auto of = known.find(value); of != known.end()) {
          found.insert(of->second.begin(), of->second.end());
        }
        const graph::Value& row = graph.values[value];
        if (row.base.valid() && seen.insert(row.base).second) next.push_back(row.base);
        if (row.base.valid() || !row.producer.valid()) continue;
        for (const graph::Use& use : graph.ops[row.producer].operands) {
          const bool keeps = graph.values[use.value].type.dims == row.type.dims;
          if (keeps && seen.insert(use.value).second) next.push_back(use.value);
        }
      }
      if (!found.empty()) return found;
      level = std::move(next);
    }
    return {};
  }

  // Runs `make` as one call on a device.
  template <typename Make>
  std::optional<Tensor> InCall(DeviceId device, Make make) {
    MethodScope scope{MakeCall(elaboration_, {}, Spelling(program::Builtin::kGlobalNorm), device,
                               range_)};
    llvm::SaveAndRestore<MethodScope*> inside(elaboration_.method, &scope);
    const Tensor made = make();
    if (!made.value.valid()) return std::nullopt;
    return made;
  }

  Tensor SumOfSquares(const std::vector<Tensor>& tensors) {
    const graph::Type scalar{DType::kF32, {}};
    std::optional<Tensor> sum;
    for (Tensor tensor : tensors) {
      if (maker_.type(tensor).dtype != DType::kF32) tensor = maker_.Cast(tensor, DType::kF32);
      tensor = maker_.SumTo(maker_.Multiply(tensor, tensor), scalar);
      sum = sum ? maker_.Add(*sum, tensor) : tensor;
    }
    return *sum;
  }

  ElaborationContext& elaboration_;
  OpMaker maker_;
  const Range range_;
  std::map<DeviceId, std::vector<Tensor>> tensors_;
  // Variables that have copies, with the number of the gradient if the program has changed it.
  std::set<std::pair<std::string, int64_t>> counted_;
  std::optional<ValueNumbers> numbers_;
};

}  // namespace

Value EvaluateGlobalNorm(ElaborationContext& elaboration, const program::CallBuiltin& e,
                         const Context& context) {
  const Value gradients = Evaluate(elaboration, e.arguments[0].value, context.frame);
  if (gradients.poisoned()) return gradients;
  if (elaboration.builder == nullptr || elaboration.method || elaboration.tape == nullptr) {
    Report(elaboration, Code::kE0604, context.range,
           "the norm of gradients is computed by graphs, not by methods or initial values");
    return Value();
  }
  Norm norm(elaboration, context.range);
  return norm.Collect(gradients) ? norm.Make() : Value();
}

}  // namespace cgraph::elaborate

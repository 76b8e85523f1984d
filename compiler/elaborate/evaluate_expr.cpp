// Expressions: scalars, names, operators, conditions, `via` and `on`.
#include "compiler/base/limits.h"
#include "compiler/elaborate/arithmetic.h"
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaboration {

Value Elaborator::Evaluate(program::ExprId id, Frame& frame, Expected expected) {
  const program::Expr& expr = program_.exprs[id];
  if (!Step(expr.range)) return Value();
  if (depth_ >= kMaxEvaluationDepth) {
    stopped_ = true;
    Report(Code::kE0522, expr.range, "expressions and calls are nested too deep to elaborate");
    return Value();
  }
  llvm::SaveAndRestore<int> deeper(depth_, depth_ + 1);
  const Context context{frame, expr.range, expected};
  return std::visit([&](const auto& node) { return Eval(node, context); }, expr.node);
}

std::optional<int64_t> Elaborator::EvaluateInt(program::ExprId id, Frame& frame,
                                               const char* what) {
  Value value = Evaluate(id, frame);
  if (const int64_t* number = value.As<int64_t>()) return *number;
  if (!value.poisoned()) {
    Report(Code::kE0406, program_.exprs[id].range,
           fmt::format("{} must be an int known at compile time, not {}", what, Describe(value)));
  }
  return std::nullopt;
}

std::optional<bool> Elaborator::EvaluateCondition(program::ExprId id, Frame& frame) {
  Value value = Evaluate(id, frame);
  if (const bool* truth = value.As<bool>()) return *truth;
  if (!value.poisoned()) {
    Report(Code::kE0415, program_.exprs[id].range,
           fmt::format("a condition must be a bool known at compile time, not {}",
                       Describe(value)));
  }
  return std::nullopt;
}

Value Elaborator::Eval(const program::IntLiteral& e, const Context&) { return Value(e.value); }
Value Elaborator::Eval(const program::FloatLiteral& e, const Context&) { return Value(e.value); }
Value Elaborator::Eval(const program::BoolLiteral& e, const Context&) { return Value(e.value); }
Value Elaborator::Eval(const program::NoneLiteral&, const Context&) { return Value(None()); }

Value Elaborator::Eval(const program::StringLiteral& e, const Context& context) {
  std::string text = e.texts[0];
  for (size_t i = 0; i < e.exprs.size(); ++i) {
    Value value = Evaluate(e.exprs[i], context.frame);
    if (value.poisoned()) return value;
    if (const std::string* part = value.As<std::string>()) {
      text += *part;
    } else if (IsNumber(value)) {
      text += ScalarText(value);
    } else {
      Report(Code::kE0406, program_.exprs[e.exprs[i]].range,
             fmt::format("a string interpolates scalars known at compile time, not {}",
                         Describe(value)));
      return Value();
    }
    text += e.texts[i + 1];
    if (text.size() > kMaxStringBytes) {
      Report(Code::kE0521, context.range,
             fmt::format("a string of more than {} bytes", kMaxStringBytes));
      return Value();
    }
  }
  return Step(context.range, text.size() / 64) ? Value(text) : Value();
}

Value Elaborator::Eval(const program::LocalRef& e, const Context& context) {
  const std::optional<Value>& value = context.frame.locals[e.local.index];
  if (!value) return Value();  // its binding failed, or stands in a branch that was not taken
  return *value;
}

Value Elaborator::Eval(const program::ConstRef& e, const Context&) {
  return ConstValue(e.constant);
}

Value Elaborator::Eval(const program::PlaceRef& e, const Context&) {
  const PlaceTable& place = places_[e.place];
  if (!place.indices.empty()) return Value(PlaceArray{e.place});
  return place.instances.empty() ? Value() : Value(place.instances[0]);
}

Value Elaborator::Eval(const program::DimRef& e, const Context& context) {
  const std::optional<BoundDims>& bound = context.frame.dims[e.variable.index];
  const program::DimVariable& variable = context.frame.signature->dim_variables[e.variable];
  if (!bound || bound->dims.size() != 1 || variable.run) {
    Report(Code::kE0509, context.range,
           fmt::format("dimension `{}` has no value here: nothing binds it", variable.name));
    return Value();
  }
  const graph::Dim& dim = bound->dims[0];
  if (!dim.symbol.valid() || mode_ == Mode::kCost) return Value(dim.extent);
  if (mode_ == Mode::kNormal) {
    return Value(Tensor{builder_->graph().symbols[dim.symbol].extent});
  }
  Report(Code::kE0508, context.range,
         fmt::format("`{}` is known only while running (at most {}): it can be a dimension as it "
                     "stands, but not be computed with",
                     variable.name, dim.extent));
  return Value();
}

Value Elaborator::Eval(const program::GenericRef&, const Context& context) {
  Report(Code::kE0406, context.range, "a dtype is only meant inside width()");
  return Value();
}

Value Elaborator::Eval(const program::DeviceRef& e, const Context& context) {
  std::optional<int64_t> index = EvaluateInt(e.index, context.frame, "a device's index");
  std::optional<int64_t> node =
      e.node.valid() ? EvaluateInt(e.node, context.frame, "a node") : std::optional<int64_t>(0);
  if (!index || !node) return Value();
  if (*node != 0) {
    Report(Code::kE0602, context.range,
           fmt::format("node[{}]: runs are of one machine so far, which is node[0]", *node));
    return Value();
  }
  if (*index < 0 || *index >= kMaxDeviceIndex) {
    Report(Code::kE0605, context.range,
           fmt::format("a device's index is between 0 and {}, not {}", kMaxDeviceIndex - 1,
                       *index));
    return Value();
  }
  graph::DeviceKind kind = e.kind == program::DeviceRef::kCpu ? graph::DeviceKind::kCpu
                                                              : graph::DeviceKind::kGpu;
  const Value device(Intern({kind, 0, static_cast<uint32_t>(*index)}));
  if (module_.devices.size() <= kMaxDevices) return device;
  if (!stopped_) {
    Report(Code::kE0605, context.range,
           fmt::format("a program has at most {} devices; this is one more", kMaxDevices - 1));
  }
  stopped_ = true;
  return Value();
}

Value Elaborator::Eval(const program::Unary& e, const Context& context) {
  Value operand = Evaluate(e.operand, context.frame, context.expected);
  if (operand.poisoned()) return operand;
  if (operand.As<Tensor>()) {
    OpCall call{e.is_not ? program_.not_op : program_.negate_op};
    call.actuals = {{"", operand, program_.exprs[e.operand].range}};
    call.expected = context.expected;
    call.range = context.range;
    return CallOperation(call);
  }
  if (e.is_not && operand.As<bool>()) return Value(!*operand.As<bool>());
  Folded folded = e.is_not ? Folded{} : FoldNegate(operand);
  if (folded.value) return *folded.value;
  if (!folded.problem.empty()) {
    Report(Code::kE0503, context.range, folded.problem);
  } else {
    Report(Code::kE0406, context.range,
           fmt::format("`{}` does not apply to {}", e.is_not ? "not" : "-", Describe(operand)));
  }
  return Value();
}

Value Elaborator::Eval(const program::Chain& e, const Context& context) {
  Range so_far = program_.exprs[e.operands[0]].range;
  Value value = Evaluate(e.operands[0], context.frame, context.expected);
  for (size_t i = 0; i < e.operators.size(); ++i) {
    BinaryOperator op = e.operators[i];
    if (const bool* truth = value.As<bool>()) {  // what is decided is not evaluated further
      if (op == BinaryOperator::kAnd && !*truth) continue;
      if (op == BinaryOperator::kOr && *truth) continue;
    }
    program::ExprId right = e.operands[i + 1];
    bool arithmetic = op >= BinaryOperator::kAdd && op <= BinaryOperator::kModulo;
    Range right_range = program_.exprs[right].range;
    Value right_value =
        Evaluate(right, context.frame, arithmetic ? context.expected : Expected());
    Actual a{"", value, so_far};
    Actual b{"", right_value, right_range};
    so_far.end = right_range.end;
    value = Binary(op, a, b, {context.frame, so_far, context.expected});
  }
  return value;
}

Value Elaborator::Binary(BinaryOperator op, const Actual& a, const Actual& b,
                         const Context& context) {
  if (a.value.poisoned() || b.value.poisoned()) return Value();
  const int64_t* begin = a.value.As<int64_t>();
  const int64_t* end = b.value.As<int64_t>();
  if (op == BinaryOperator::kRange && begin && end) return Value(IntRange{*begin, *end});
  bool lists = (a.value.As<List>() || a.value.As<IntRange>()) &&
               (b.value.As<List>() || b.value.As<IntRange>());
  if (op == BinaryOperator::kAdd && lists) {
    std::optional<std::vector<Value>> items = ListItems(a.value, context.range);
    std::optional<std::vector<Value>> more = ListItems(b.value, context.range);
    if (!items || !more || !CheckListLength(items->size() + more->size(), context.range)) {
      return Value();
    }
    items->insert(items->end(), more->begin(), more->end());
    return MakeList(std::move(*items));
  }
  auto on_tensors = program_.operator_ops.find(op);
  if ((a.value.As<Tensor>() || b.value.As<Tensor>()) &&
      on_tensors != program_.operator_ops.end()) {
    OpCall call{on_tensors->second, {a, b}};
    call.expected = context.expected;
    call.range = context.range;
    return CallOperation(call);
  }
  Folded folded = FoldBinary(op, a.value, b.value);
  bool exact = op != BinaryOperator::kDivide || mode_ != Mode::kDims || !begin || !end;
  if (folded.value && !exact && *begin % *end != 0) {
    Report(Code::kE0504, context.range,
           fmt::format("{} is not divisible by {}: a dimension must divide exactly", *begin, *end));
    return Value();
  }
  if (folded.value) return *folded.value;
  if (!folded.problem.empty()) {
    Report(Code::kE0503, context.range,
           fmt::format("{} {} {}: {}", ScalarText(a.value), Spelling(op), ScalarText(b.value),
                       folded.problem));
  } else {
    Report(Code::kE0406, context.range,
           fmt::format("`{}` does not apply to {} and {}", Spelling(op), Describe(a.value),
                       Describe(b.value)));
  }
  return Value();
}

Value Elaborator::Eval(const program::If& e, const Context& context) {
  std::optional<bool> condition = EvaluateCondition(e.condition, context.frame);
  if (!condition) return Value();
  return Evaluate(*condition ? e.then_value : e.else_value, context.frame, context.expected);
}

Value Elaborator::Eval(const program::Via& e, const Context& context) {
  return EvaluateVia(e.base, JourneyOf(e.route), context.frame, context.expected);
}

Value Elaborator::Eval(const program::On& e, const Context& context) {
  Value where = Evaluate(e.where, context.frame);
  if (where.poisoned()) return where;
  std::optional<graph::DeviceId> device = DeviceOf(where, program_.exprs[e.where].range);
  if (!device) return Value();
  if (method_ && method_->call.device != *device) {
    Report(Code::kE0603, context.range,
           fmt::format("a method's ops run where its actor is, on {}; `on` belongs outside methods",
                       DeviceName(module_.devices[method_->call.device])));
    return Value();
  }
  llvm::SaveAndRestore<std::optional<graph::DeviceId>> nearer(on_, device);
  return Evaluate(e.base, context.frame, context.expected);
}

// What made `done` comes first in program order too, so that it is there to be waited for.
Value Elaborator::Eval(const program::After& e, const Context& context) {
  if (!builder_ || method_) return Value();  // Check has refused it
  const graph::Graph& graph = builder_->graph();
  const size_t before_done = graph.calls.size();
  Value done = Evaluate(e.done, context.frame);
  if (done.poisoned()) return done;
  std::vector<graph::CallId> calls = after_;
  MapLeaves(done, [&](const Value& leaf) {
    const graph::OpId producer = builder_->value(leaf.As<Tensor>()->value).producer;
    if (producer.valid()) calls.push_back(graph.ops[producer].call);
    return leaf;
  });
  const Tuple* nothing = done.As<Tuple>();
  if (nothing && nothing->items->values.empty()) {  // a call without a result: what it did
    for (size_t i = before_done; i < graph.calls.size(); ++i) calls.push_back(graph::CallId(i));
  }
  llvm::sort(calls);
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  const size_t before_base = graph.calls.size();
  llvm::SaveAndRestore<std::vector<graph::CallId>> later(after_, std::move(calls));
  Value base = Evaluate(e.base, context.frame, context.expected);
  if (base.poisoned() || graph.calls.size() > before_base) return base;
  Report(Code::kE0532, context.range,
         "`after` holds back the calls and ops of its expression, and this has none; write it where "
         "the value is made");
  return Value();
}

}  // namespace cgraph::elaboration

// Calls that run at compile time: fns and graphs are inlined, zip and len are computed.
#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaboration {

Value Elaborator::Eval(const program::CallFn& e, const Context& context) {
  const program::Fn& fn = program_.fns[e.fn];
  Frame callee(fn.name, &fn.signature, &fn.body.locals);
  std::vector<Actual> actuals =
      EvaluateArguments(e.arguments, &fn.signature.parameters, callee, context.frame);
  if (!BindParameters(fn.signature.parameters, actuals, callee, context.range)) return Value();
  return Inline(fn.signature, fn.body, callee, context.range);
}

Value Elaborator::Eval(const program::CallGraph& e, const Context& context) {
  const program::Graph& graph = program_.graphs[e.graph];
  if (method_ || !builder_) {
    Report(Code::kE0604, context.range,
           "graphs are called by graphs, not by methods or initial values");
    return Value();
  }
  Frame callee(graph.name, &graph.signature, &graph.body.locals);
  std::vector<Actual> actuals =
      EvaluateArguments(e.arguments, &graph.signature.parameters, callee, context.frame);
  if (!BindParameters(graph.signature.parameters, actuals, callee, context.range)) return Value();
  return Inline(graph.signature, graph.body, callee, context.range);
}

Value Elaborator::Inline(const program::Signature& signature, const program::Body& body,
                         Frame& callee, Range site) {
  Value result = CallBody(signature, body, callee, site);
  return signature.via ? WithVia(result, JourneyOf(*signature.via)) : result;
}

// Runs a body whose parameters are bound; the result has the declared type.
Value Elaborator::CallBody(const program::Signature& signature, const program::Body& body,
                           Frame& callee, Range site) {
  if (inlined_.size() >= static_cast<size_t>(kMaxCallDepth)) {
    stopped_ = true;
    Report(Code::kE0522, site,
           fmt::format("calls are nested more than {} deep", kMaxCallDepth));
    return Value();
  }
  inlined_.push_back({&callee, site});
  auto leave = llvm::make_scope_exit([&] { inlined_.pop_back(); });
  llvm::SaveAndRestore<Mode> usual(mode_, Mode::kNormal);  // also where a dimension calls a fn
  ExecuteBlock(body.statements, callee);
  if (stopped_) return Value();
  if (!signature.result.valid()) return MakeTuple({}, {});
  Range declared = program_.types[signature.result].range;
  CGRAPH_CHECK(callee.result, "elaborate",
               callee.subject + " ends without return, which Check refuses");
  const Subject subject{"the result", nullptr, declared};
  return AdaptHint(*callee.result, signature.result, callee, subject, callee.result_range);
}

Value Elaborator::Eval(const program::CallBuiltin& e, const Context& context) {
  if (e.builtin != program::Builtin::kZip && e.builtin != program::Builtin::kLen) {
    return DimFunction(e, context);
  }
  std::vector<Actual> actuals =
      EvaluateArguments(e.arguments, nullptr, context.frame, context.frame);
  for (const Actual& actual : actuals) {
    if (actual.value.poisoned()) return Value();
  }
  if (e.builtin == program::Builtin::kZip) return Zip(actuals, context.range);
  const Value& list = actuals[0].value;
  if (const IntRange* range = list.As<IntRange>()) {
    int64_t length = 0;
    if (!__builtin_sub_overflow(range->end, range->begin, &length)) {
      return Value(std::max<int64_t>(length, 0));
    }
  }
  if (const Tuple* tuple = list.As<Tuple>()) {
    return Value(static_cast<int64_t>(tuple->items->values.size()));
  }
  std::optional<std::vector<Value>> items = ListItems(list, actuals[0].range);
  return items ? Value(static_cast<int64_t>(items->size())) : Value();
}

}  // namespace cgraph::elaboration

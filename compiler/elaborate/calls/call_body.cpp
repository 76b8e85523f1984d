#include "compiler/elaborate/calls/calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/statements/statements.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

// The steps for a call, in expressions: so fns that call themselves twice end soon.
constexpr int64_t kStepsPerCall = 10;

// Describes the circle of calls, where the innermost call is one of those that are open: "`a` calls
// `b`, and `b` calls `a`".
std::string Circle(const ElaborationContext& elaboration, const std::string& callee) {
  constexpr size_t kMost = 5;
  std::vector<std::string> names = {callee};
  for (size_t i = elaboration.backtrace.calls.size(); i > 0 && names.size() <= kMost; --i) {
    names.push_back(elaboration.backtrace.calls[i - 1].frame->subject);
    if (names.back() == callee) break;
  }
  if (names.size() < 2 || names.back() != callee) return "";
  std::reverse(names.begin(), names.end());
  if (names.size() == 2) {
    return fmt::format(": `{}` calls itself; recursion ends by an `if` on what is known while "
                       "compiling",
                       callee);
  }
  std::string circle;
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    circle += fmt::format("{}`{}` calls `{}`", i == 0 ? "" : ", ", names[i], names[i + 1]);
  }
  return ": " + circle + "; recursion ends by an `if` on what is known while compiling";
}

}  // namespace

Value CallBody(ElaborationContext& elaboration, const program::Signature& signature,
               const program::Body& body, Frame& callee, Range site) {
  const int64_t cost =
      kStepsPerCall + callee.locals.size() / 8 + StepsOfBytes(callee.subject.size());
  if (!Step(elaboration, site, cost)) return Value();
  if (elaboration.backtrace.calls.size() >= static_cast<size_t>(kMaxCallDepth)) {
    elaboration.budget.stopped = true;
    Report(elaboration, Code::kE0522, site,
           fmt::format("calls are nested more than {} deep{}", kMaxCallDepth,
                       Circle(elaboration, callee.subject)));
    return Value();
  }
  elaboration.backtrace.calls.push_back({&callee, site});
  auto leave = llvm::make_scope_exit([&] { elaboration.backtrace.calls.pop_back(); });
  llvm::SaveAndRestore<ArithmeticMode> usual(
      elaboration.arithmetic,
      ArithmeticMode::kNormal);  // also where a dimension calls a fn
  ExecuteBlock(elaboration, body.statements, callee);
  if (elaboration.budget.stopped) return Value();
  return ResultOf(elaboration, signature, callee);
}

Value ResultOf(ElaborationContext& elaboration, const program::Signature& signature,
               Frame& callee) {
  if (!signature.result.valid()) return Nothing();
  Range declared = elaboration.program.types[signature.result].range;
  CGRAPH_CHECK(callee.result, "elaborate",
               callee.subject + " ends without return, which Check refuses");
  const Subject subject{"the result", nullptr, declared};
  Value result = AdaptHint(elaboration, *callee.result, signature.result, callee, subject,
                           callee.result_range);
  CallByLabels(elaboration, result);
  return result;
}

Value Travelling(ElaborationContext& elaboration, const program::Signature& signature,
                 const Value& result, Range site) {
  return signature.via ? WithVia(elaboration, site, result, JourneyOf(elaboration, *signature.via))
                       : result;
}

Value RunBody(ElaborationContext& elaboration, const program::Signature& signature,
              const program::Body& body, Frame& callee, Range site) {
  return Travelling(elaboration, signature, CallBody(elaboration, signature, body, callee, site),
                    site);
}

Value Eval(ElaborationContext& elaboration, const program::CallFn& e, const Context& context) {
  const program::Fn& fn = elaboration.program.fns[e.fn];
  Frame callee(fn.name, &fn.signature, &fn.body.locals);
  callee.takes_extents = true;
  std::vector<Actual> actuals =
      EvaluateArguments(elaboration, e.arguments, &fn.signature.parameters, callee, context.frame);
  if (!BindParameters(elaboration, fn.signature.parameters, actuals, callee, context.range))
    return Value();
  const size_t interior = TapeSize(elaboration);
  Value result = RunBody(elaboration, fn.signature, fn.body, callee, context.range);
  return RecordFn(elaboration, e.fn, callee, std::move(result), interior, context.range);
}

Value Eval(ElaborationContext& elaboration, const program::CallGraph& e, const Context& context) {
  const program::Graph& graph = elaboration.program.graphs[e.graph];
  if (elaboration.method || !elaboration.builder) {
    Report(elaboration, Code::kE0604, context.range,
           "graphs are called by graphs, not by methods or initial values");
    return Value();
  }
  Frame callee(graph.name, &graph.signature, &graph.body.locals);
  std::vector<Actual> actuals = EvaluateArguments(
      elaboration, e.arguments, &graph.signature.parameters, callee, context.frame);
  if (!BindParameters(elaboration, graph.signature.parameters, actuals, callee, context.range))
    return Value();
  return RunBody(elaboration, graph.signature, graph.body, callee, context.range);
}

}  // namespace cgraph::elaborate

#include "compiler/elaborate/calls/call_body.h"

#include <fmt/format.h>

#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/places/routes.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/statements/execute.h"
#include "compiler/elaborate/types/adapt.h"
#include "compiler/elaborate/work.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

// A call takes as long as this many expressions: fns that call themselves twice end soon.
constexpr int64_t kStepsPerCall = 10;

}  // namespace

Value CallBody(Work& work, const program::Signature& signature, const program::Body& body,
               Frame& callee, Range site) {
  if (!Step(work, site, kStepsPerCall)) return Value();
  if (work.trail.calls.size() >= static_cast<size_t>(kMaxCallDepth)) {
    work.budget.stopped = true;
    Report(work, Code::kE0522, site,
           fmt::format("calls are nested more than {} deep", kMaxCallDepth));
    return Value();
  }
  work.trail.calls.push_back({&callee, site});
  auto leave = llvm::make_scope_exit([&] { work.trail.calls.pop_back(); });
  llvm::SaveAndRestore<Numbers> usual(work.numbers,
                                      Numbers::kNormal);  // also where a dimension calls a fn
  ExecuteBlock(work, body.statements, callee);
  if (work.budget.stopped) return Value();
  if (!signature.result.valid()) return MakeTuple({}, {});
  Range declared = work.program.types[signature.result].range;
  CGRAPH_CHECK(callee.result, "elaborate",
               callee.subject + " ends without return, which Check refuses");
  const Subject subject{"the result", nullptr, declared};
  return AdaptHint(work, *callee.result, signature.result, callee, subject, callee.result_range);
}

Value RunBody(Work& work, const program::Signature& signature, const program::Body& body,
              Frame& callee, Range site) {
  Value result = CallBody(work, signature, body, callee, site);
  return signature.via ? WithVia(result, JourneyOf(work, *signature.via)) : result;
}

Value Eval(Work& work, const program::CallFn& e, const Context& context) {
  const program::Fn& fn = work.program.fns[e.fn];
  Frame callee(fn.name, &fn.signature, &fn.body.locals);
  std::vector<Actual> actuals =
      EvaluateArguments(work, e.arguments, &fn.signature.parameters, callee, context.frame);
  if (!BindParameters(work, fn.signature.parameters, actuals, callee, context.range))
    return Value();
  return RunBody(work, fn.signature, fn.body, callee, context.range);
}

Value Eval(Work& work, const program::CallGraph& e, const Context& context) {
  const program::Graph& graph = work.program.graphs[e.graph];
  if (work.method || !work.builder) {
    Report(work, Code::kE0604, context.range,
           "graphs are called by graphs, not by methods or initial values");
    return Value();
  }
  Frame callee(graph.name, &graph.signature, &graph.body.locals);
  std::vector<Actual> actuals =
      EvaluateArguments(work, e.arguments, &graph.signature.parameters, callee, context.frame);
  if (!BindParameters(work, graph.signature.parameters, actuals, callee, context.range))
    return Value();
  return RunBody(work, graph.signature, graph.body, callee, context.range);
}

}  // namespace cgraph::elaborate

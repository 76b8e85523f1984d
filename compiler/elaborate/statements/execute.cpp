#include "compiler/elaborate/statements/statements.h"

#include "compiler/base/check.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/types/coerce.h"

namespace cgraph::elaborate {
namespace {

bool Execute(ElaborationContext& elaboration, const program::Bind& s, Frame& frame, Range) {
  Range range = elaboration.program.exprs[s.value].range;
  Expected expected;
  if (s.type.valid()) expected = {s.type, &frame};
  Value value =
      s.via ? EvaluateVia(elaboration, s.value, JourneyOf(elaboration, *s.via), frame, expected)
            : Evaluate(elaboration, s.value, frame, expected);
  const std::string* name = s.tuple_pattern ? nullptr : &(*frame.names)[s.pattern[0]].name;
  if (s.type.valid()) {
    Subject subject{s.is_var ? "the type hint of var" : "the type hint of let", name,
                    elaboration.program.types[s.type].range};
    value = AdaptHint(elaboration, value, s.type, frame, subject, range);
  }
  BindPattern(elaboration, s.pattern, s.tuple_pattern, value, frame, range);
  for (program::LocalId local : s.pattern) {
    const std::optional<Value>& bound = frame.locals[local.index];
    if (bound) CallByName(elaboration, *bound, (*frame.names)[local].name);
  }
  return true;
}

bool Execute(ElaborationContext& elaboration, const program::For& s, Frame& frame, Range) {
  bool on = Iterate(elaboration, s.pattern, s.tuple_pattern, s.list, frame,
                    [&](const std::string&) { return ExecuteBlock(elaboration, s.body, frame); });
  if (!on && !frame.result) frame.result = Value();
  return on;
}

bool Execute(ElaborationContext& elaboration, const program::IfStatement& s, Frame& frame, Range) {
  std::optional<bool> condition = EvaluateCondition(elaboration, s.condition, frame);
  if (condition) return ExecuteBlock(elaboration, *condition ? s.then_body : s.else_body, frame);
  frame.result = Value();
  return false;
}

bool Execute(ElaborationContext& elaboration, const program::Return& s, Frame& frame, Range) {
  Expected expected;
  if (frame.signature && frame.signature->result.valid()) {
    expected = {frame.signature->result, &frame};
  }
  frame.result = Evaluate(elaboration, s.value, frame, expected);
  frame.result_range = elaboration.program.exprs[s.value].range;
  return false;
}

bool Execute(ElaborationContext&, const program::Repeat&, Frame&, Range) {
  CGRAPH_CHECK(false, "elaborate", "a `repeat` within a body, which Check refuses");
  return false;
}

bool Execute(ElaborationContext& elaboration, const program::Evaluate& s, Frame& frame, Range) {
  const Value value = Evaluate(elaboration, s.call, frame);
  const auto* call = std::get_if<program::CallBuiltin>(&elaboration.program.exprs[s.call].node);
  const bool asserts = call != nullptr && call->builtin == program::Builtin::kAssert;
  if (!asserts || !value.poisoned()) return true;
  frame.result = Value();
  return false;
}

bool Execute(ElaborationContext& elaboration, const program::Assign& s, Frame& frame, Range range) {
  if (s.state.valid()) {
    AssignState(elaboration, s, frame, range);
  } else {
    AssignLocal(elaboration, s, frame, range);
  }
  return true;
}

}  // namespace

bool ExecuteBlock(ElaborationContext& elaboration,
                  const std::vector<program::StatementId>& statements, Frame& frame) {
  for (program::StatementId id : statements) {
    const program::Statement& statement = elaboration.program.statements[id];
    if (!Step(elaboration, statement.range)) return false;
    bool on =
        std::visit([&](const auto& s) { return Execute(elaboration, s, frame, statement.range); },
                   statement.node);
    if (!on) return false;
  }
  return true;
}

}  // namespace cgraph::elaborate

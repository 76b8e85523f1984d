#include "compiler/elaborate/expressions/evaluate.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

// The steps for a turn, in expressions: so a loop without end ends soon.
constexpr int64_t kStepsPerTurn = 5;

constexpr const char* kItemsMend =
    "; items(t) gives each field of a tuple t with its name: for (name, x) in items(t)";

// Adds an element for each turn. `field`: the name of what the turn is for; only a comprehension of
// one clause keeps it.
bool RunClauses(ElaborationContext& elaboration, const program::Comprehension& e, size_t index,
                const std::string& field, const Context& context, TupleItems& made) {
  if (index == e.clauses.size()) {
    const Expected expected = e.makes_tuple
                                  ? FieldExpected(elaboration, context, made.values.size())
                                  : ElementExpected(elaboration, context);
    made.values.push_back(Evaluate(elaboration, e.element, context.frame, expected));
    made.names.push_back(e.clauses.size() == 1 ? field : "");
    return CheckListLength(elaboration, made.values.size(), context.range);
  }
  const program::Comprehension::Clause& clause = e.clauses[index];
  return Iterate(elaboration, clause.pattern, clause.tuple_pattern, clause.list, context.frame,
                 [&](const std::string& name) {
                   if (clause.condition.valid()) {
                     std::optional<bool> taken =
                         EvaluateCondition(elaboration, clause.condition, context.frame);
                     if (!taken) return false;
                     if (!*taken) return true;
                   }
                   return RunClauses(elaboration, e, index + 1, name, context, made);
                 });
}

// Charges all turns before the first one, since a loop ends early only by a failure: a loop that is
// far too long is refused before it has made anything.
bool StepTurns(ElaborationContext& elaboration, Range range, const IntRange& bounds) {
  if (bounds.end <= bounds.begin) return true;
  const uint64_t turns = static_cast<uint64_t>(bounds.end) - static_cast<uint64_t>(bounds.begin);
  return Step(elaboration, range, kStepsPerTurn * std::min<uint64_t>(turns, kMaxElaborationSteps));
}

}  // namespace

bool Iterate(ElaborationContext& elaboration, const std::vector<program::LocalId>& pattern,
             bool tuple_pattern, program::ExprId list_id, Frame& frame,
             llvm::function_ref<bool(const std::string& field)> turn) {
  Range range = elaboration.program.exprs[list_id].range;
  Value list = Evaluate(elaboration, list_id, frame);
  if (list.poisoned()) return false;
  if (!tuple_pattern)
    elaboration.backtrace.loops.push_back({&(*frame.names)[pattern[0]].name, &frame, pattern[0]});
  bool going = true;
  if (const IntRange* bounds = list.As<IntRange>()) {  // not written out: it may be long
    going = StepTurns(elaboration, range, *bounds);
    for (int64_t i = bounds->begin; going && i < bounds->end; ++i) {
      going = BindPattern(elaboration, pattern, tuple_pattern, Value(i), frame, range) && turn("");
    }
  } else if (std::optional<std::vector<Value>> items = ElementsOf(elaboration, list, range)) {
    going = Step(elaboration, range, kStepsPerTurn * static_cast<int64_t>(items->size()));
    const Tuple* tuple = list.As<Tuple>();
    const bool has_names = tuple != nullptr && !tuple->items->names.empty();
    for (size_t i = 0; going && i < items->size(); ++i) {
      const std::string field = has_names ? tuple->items->names[i] : "";
      going = BindPattern(elaboration, pattern, tuple_pattern, (*items)[i], frame, range,
                          tuple != nullptr ? kItemsMend : "") &&
              turn(field);
    }
  } else {
    going = false;
  }
  if (!tuple_pattern) elaboration.backtrace.loops.pop_back();
  return going;
}

bool BindPattern(ElaborationContext& elaboration, const std::vector<program::LocalId>& pattern,
                 bool tuple_pattern, const Value& value, Frame& frame, Range range,
                 const char* mend) {
  if (!tuple_pattern) {
    frame.locals[pattern[0].index] = value;
    return true;
  }
  const Tuple* tuple = value.As<Tuple>();
  if (tuple && tuple->items->values.size() == pattern.size()) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      frame.locals[pattern[i].index] = tuple->items->values[i];
    }
    return true;
  }
  for (program::LocalId local : pattern) frame.locals[local.index] = Value();
  if (!value.poisoned()) {
    Report(elaboration, Code::kE0513, range,
           fmt::format("a pattern of {} names does not match {}{}", pattern.size(),
                       Describe(elaboration, value), mend));
  }
  return false;
}

Value Eval(ElaborationContext& elaboration, const program::Comprehension& e,
           const Context& context) {
  TupleItems made;
  if (!RunClauses(elaboration, e, 0, "", context, made)) return Value();
  if (!e.makes_tuple) return MakeList(elaboration, context.range, std::move(made.values));
  return MakeTuple(elaboration, context.range, std::move(made.names), std::move(made.values));
}

}  // namespace cgraph::elaborate

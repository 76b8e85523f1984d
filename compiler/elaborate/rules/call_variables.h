// CallVariables: the values of a schedule's variables for one call: the loop variables around it,
// the innermost first, then the indices of its place; or what `with` makes of them.
#ifndef CGRAPH_COMPILER_ELABORATE_RULES_CALL_VARIABLES_H_
#define CGRAPH_COMPILER_ELABORATE_RULES_CALL_VARIABLES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Returns a call's loop variable by name, the innermost; nothing where it has none.
std::optional<int64_t> LoopVariableOf(const graph::Call& call, const std::string& name);
// Returns a call's loop variable, or an index of its place, by name; nothing where it has none.
std::optional<int64_t> VariableOf(const ElaborationContext& elaboration, const graph::Call& call,
                                  const std::string& name);

class CallVariables {
 public:
  CallVariables(ElaborationContext& elaboration, const program::Using& use,
                const program::Schedule& schedule);

  // Returns the value of `variable`, one of the schedule's. Without a value an error was reported:
  // a call of `rule` lacks it, or its `with` is wrong.
  std::optional<int64_t> ValueOf(const graph::Call& call, program::LocalId variable, Range rule);

  // The values of some variables at a call.
  using Turn = std::vector<int64_t>;
  // Returns the micro-batch of a call, as `per:` or `mb` says, with the turns of the loops around
  // that which counts it; nothing where none says it, or an error was reported.
  std::optional<Turn> MicrobatchOf(const graph::Call& call);

  // Names a call: "stage[2].forward (m = 3)".
  std::string CallText(const graph::Call& call) const;

 private:
  std::optional<int64_t> Evaluated(const graph::Call& call,
                                   const program::Using::Variable& variable, Range rule,
                                   const char* what);
  std::optional<int64_t> Find(const graph::Call& call, const std::string& name, Range rule);
  std::optional<int64_t> MicrobatchNumber(const graph::Call& call);
  void ReportMissing(const graph::Call& call, const std::string& name, Range rule);

  ElaborationContext& elaboration_;
  const program::Using& use_;
  const program::Schedule& schedule_;
  Frame frame_;  // of what `with` says
  std::map<program::LocalId, const program::Using::Variable*> renamed_;
  program::LocalId microbatch_;         // the schedule's `mb`, if `per:` does not say it
  std::vector<std::string> counters_;   // the names of a call that count micro-batches
  bool is_wrong_ = false;               // a call lacks what `per:` names, which was reported
};

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_RULES_CALL_VARIABLES_H_

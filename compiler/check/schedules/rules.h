// The rules of a schedule.
//
// They name methods and variables of programs that the schedule does not know. So every method that
// a rule names is a kind of calls, and in keys every name that nothing declares is a variable of
// calls; where a graph uses the schedule, both become what they are in that program.
#ifndef CGRAPH_COMPILER_CHECK_SCHEDULES_RULES_H_
#define CGRAPH_COMPILER_CHECK_SCHEDULES_RULES_H_

#include "compiler/check/checker.h"

namespace cgraph::check {

void ReadRules(Checker& checker, program::ScheduleId id);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_SCHEDULES_RULES_H_

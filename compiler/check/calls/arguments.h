// Arguments to parameters: which goes where, and whether it fits.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_ARGUMENTS_H_
#define CGRAPH_COMPILER_CHECK_CALLS_ARGUMENTS_H_

#include <string>
#include <vector>

#include "compiler/check/scope/scope.h"
#include "compiler/check/static_types/static_type.h"

namespace cgraph::check {

// What is called: for arity, labels and types of arguments, and for messages.
struct Callee {
  std::string what;  // "method `hidden`"
  const std::vector<program::Parameter>* parameters;
  const program::Signature* signature;                    // null: an actor's parameters
  const Table<program::LocalId, program::Local>* locals;  // in the types of the parameters
  Range declared;
  std::string mend = "";  // said of arguments that it does not take
};

struct Arguments {
  std::vector<program::Argument> arguments;
  std::vector<StaticType> types;
};

Arguments ResolveArguments(Scope& scope, const std::vector<syntax::Argument>& arguments);

// Says of each argument which parameter it is for. The result's type (what is known of it) after
// all were matched.
StaticType CheckArguments(Scope& scope, Arguments& given, const Callee& callee, Range call);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_ARGUMENTS_H_

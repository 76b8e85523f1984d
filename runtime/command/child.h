// Another program, which cgrun runs to its end.
#ifndef CGRAPH_RUNTIME_COMMAND_CHILD_H_
#define CGRAPH_RUNTIME_COMMAND_CHILD_H_

#include <string>
#include <utility>
#include <vector>

#include "runtime/command/signals.h"

namespace cgraph::command {

// Runs the words of `line`, the first of which is the program's path, and waits. An interrupt ends
// it by SIGTERM. `descriptors` are its own, in this order: each a descriptor of ours, and the
// number that it has there. Returns 0 and its status, as waitpid() gives it, or the errno of a
// program that cannot be started.
int RunChild(const std::vector<std::string>& line,
             const std::vector<std::pair<int, int>>& descriptors, Signals& signals, int& status);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_CHILD_H_

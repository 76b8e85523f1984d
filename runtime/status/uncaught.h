// What a command says when the system refuses it memory or a thread, wherever that happens: one
// sentence on standard error and the exit code of a missing resource, instead of an abort.
//
// Memory can run out in any function, also in one that may not throw (a destructor, a thread's
// first function, code that was compiled without exceptions). So every way out is covered: main()
// catches what reaches it and asks UncaughtNow(), and what cannot reach main() ends in
// std::terminate(), whose handler says the same.
#ifndef CGRAPH_RUNTIME_STATUS_UNCAUGHT_H_
#define CGRAPH_RUNTIME_STATUS_UNCAUGHT_H_

#include "runtime/status/exit_code.h"

namespace cgraph {

// Nothing here allocates: there may be no memory.
struct Uncaught {
  ExitCode code = kBug;
  char text[512] = {};
};
// Of the exception that is being handled: memory and threads are kEnvironment, others are bugs.
Uncaught UncaughtNow();

// Before anything else. `command` is "cgc" or "cgrun", in static memory.
void DiagnoseUncaught(const char* command);

// "COMMAND: error: TEXT" to standard error past all buffers, and the end of the process.
[[noreturn]] void EndWith(ExitCode code, const char* text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_UNCAUGHT_H_

// What main() does before anything else, for whatever the system may hand it.
#ifndef CGRAPH_RUNTIME_BASE_PROCESS_H_
#define CGRAPH_RUNTIME_BASE_PROCESS_H_

#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/exit_code.h"

namespace cgraph {

// Must be the first call in main.
//
// Protection of standard input, output and error, which may be closed when a program starts. A file
// that is opened then gets the number of a closed stream, and text meant for the terminal goes into
// it. So a closed stream is opened on /dev/null in the wrong direction: its number is taken, and
// using it is still an error.
inline void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one, as those below it are open by now.
    (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// ---- what a command says when the system refuses it memory or a thread
//
// Wherever that happens, it is one sentence on standard error and the exit code of a missing
// resource, instead of an abort.
//
// Memory can run out in any function, also in one that may not throw (a destructor, a thread's
// first function, code that was compiled without exceptions). So every way out is covered: main()
// catches the exceptions that reach it and asks UncaughtNow(), and those that cannot reach main()
// end in std::terminate(), whose handler says the same.

// Nothing here allocates: there may be no memory.
struct Uncaught {
  ExitCode code = kBug;
  char text[512] = {};
};
// Describes the exception that is being handled: memory and threads are kEnvironment, others are
// bugs.
Uncaught UncaughtNow();

// Installs the handler; must be called before anything else. `command` is "cgc" or "cgrun", in
// static memory.
void DiagnoseUncaught(const char* command);

// Writes "COMMAND: error: TEXT" to standard error past all buffers, and ends the process.
[[noreturn]] void EndWith(ExitCode code, const char* text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_PROCESS_H_

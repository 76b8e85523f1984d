// cgc: the compiler's command. This file prepares the process; compiler/command reads the command
// line (docs: README.md).
#include "compiler/command/commands.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "runtime/base/process.h"

namespace {

// Runs before objects of static storage are made, since making them takes memory, too.
__attribute__((constructor(101))) void DiagnoseFromTheStart() { cgraph::DiagnoseUncaught("cgc"); }

// Handles the two cases in which LLVM ends a process: no memory, and errors that it calls fatal. A
// thread that cannot be made is of the second kind.
void HandleFatalErrors() {
  llvm::install_bad_alloc_error_handler(
      [](void*, const char*, bool) { cgraph::EndWith(cgraph::kEnvironment, "out of memory"); });
  llvm::install_fatal_error_handler([](void*, const char* reason, bool) {
    const bool thread = llvm::StringRef(reason).contains("pthread_");
    cgraph::EndWith(thread ? cgraph::kEnvironment : cgraph::kBug,
                    thread ? "the system refuses a thread, or the memory for its stack" : reason);
  });
}

}  // namespace

int main(int argc, char** argv) {
  cgraph::OccupyStandardStreams();
  HandleFatalErrors();
  try {
    return cgraph::command::RunCommandLine(argc, argv);
  } catch (...) {
    const cgraph::Uncaught uncaught = cgraph::UncaughtNow();
    cgraph::EndWith(uncaught.code, uncaught.text);
  }
}

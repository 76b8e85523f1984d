// cgrun: runs a cgraph program or plan. Reads the command line and ends with an exit code; what it
// does is in command/.
#include <cstdio>

#include "runtime/command/execute.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/signals.h"
#include "runtime/status/standard_streams.h"
#include "runtime/status/uncaught.h"

namespace {

// Before objects of static storage are made, which take memory, too.
__attribute__((constructor(101))) void DiagnoseFromTheStart() { cgraph::DiagnoseUncaught("cgrun"); }

}  // namespace

int main(int argc, char** argv) {
  using namespace cgraph;
  using namespace cgraph::command;
  OccupyStandardStreams();
  ParsedOptions parsed;
  try {
    parsed = ParseOptions(argc, argv);
    if (!parsed.run) return parsed.exit_code;
    Signals signals;
    const ExitCode code = Execute(parsed.options, signals);
    // A full disk or a closed pipe shows only now: what was printed is not there.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return Report(parsed.options, kEnvironment, "cannot write to standard output");
    }
    return code;
  } catch (...) {
    const Uncaught uncaught = UncaughtNow();
    return Fail(parsed.options, uncaught.code, uncaught.text);
  }
}

// cgrun: runs a cgraph program or plan. Reads the command line and ends with an exit code; what it
// does is in command/.
#include <cstdio>
#include <new>

#include "runtime/command/execute.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/signals.h"
#include "runtime/status/standard_streams.h"

int main(int argc, char** argv) {
  using namespace cgraph;
  using namespace cgraph::command;
  OccupyStandardStreams();
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.run) return parsed.exit_code;
  Signals signals;
  try {
    const ExitCode code = Execute(parsed.options, signals);
    // A full disk or a closed pipe shows only now: what was printed is not there.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return Report(parsed.options, kEnvironment, "cannot write to standard output");
    }
    return code;
  } catch (const std::bad_alloc&) {
    return Fail(parsed.options, kEnvironment, "out of memory");
  }
}

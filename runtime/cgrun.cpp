// cgrun: runs a cgraph program or plan. Reads the command line and ends with an exit code; what it
// does is in command/.
#include <cstdio>
#include <cstdlib>

#include "runtime/command/execute.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/signals.h"
#include "runtime/engine/rank.h"
#include "runtime/ranks/lifeline.h"
#include "runtime/status/process.h"

namespace {

// Runs before objects of static storage are made, since making them takes memory, too.
__attribute__((constructor(101))) void DiagnoseFromTheStart() { cgraph::DiagnoseUncaught("cgrun"); }

}  // namespace

int main(int argc, char** argv) {
  using namespace cgraph;
  using namespace cgraph::command;
  OccupyStandardStreams();
  ParsedOptions parsed;
  try {
    // Before there is a thread: OpenBLAS reads it while it is loaded (device/libraries/blas.cpp).
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (const auto rank = ranks::RankOf(argc, argv)) engine::ServeRank(*rank);
    parsed = ParseOptions(argc, argv);
    if (!parsed.run) return parsed.exit_code;
    Signals signals;
    const ExitCode code = Execute(parsed.options, signals);
    // A full disk or a closed pipe shows only at this flush: what was printed never arrived.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return Report(parsed.options, kEnvironment, "cannot write to standard output");
    }
    return code;
  } catch (...) {
    const Uncaught uncaught = UncaughtNow();
    return Fail(parsed.options, uncaught.code, uncaught.text);
  }
}

// cgrun: runs a cgraph program or plan. Reads the command line and ends with an exit code; what it
// does is in command/.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/base/process.h"
#include "runtime/cluster/processes.h"
#include "runtime/command/gpus.h"
#include "runtime/command/machines.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/phases.h"
#include "runtime/command/signals.h"
#include "runtime/engine/ranks/serve.h"
#include "runtime/native/running_call.h"

namespace {

using namespace cgraph;

// Runs before objects of static storage are made, since making them takes memory, too.
__attribute__((constructor(101))) void DiagnoseFromTheStart() { DiagnoseUncaught("cgrun"); }

ExitCode Run(const command::Options& options, int argc, char** argv, cluster::Peers* machines,
             const sigset_t& mask) {
  command::Signals signals(mask);
  if (options.check_effects && machines != nullptr) {
    return command::Fail(options, kUsage,
                         "--check-effects is of one machine: it starts cgrun three times; leave "
                         "the launcher of ranks out");
  }
  const ExitCode code = options.check_effects
                            ? command::CheckEffects(options, argc, argv, signals)
                            : command::Execute(options, machines, signals);
  // A full disk or a closed pipe shows only at this flush: what was printed never arrived.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return command::Report(options, kEnvironment, "cannot write to standard output");
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace command;
  OccupyStandardStreams();
  ParsedOptions parsed;
  cluster::Peers* machines = nullptr;
  ExitCode code = kSuccess;
  std::chrono::nanoseconds timeout(0);
  try {
    // Before there is a thread: OpenBLAS reads it while it is loaded (device/cpu/libraries/).
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    native::ReportCrashes();
    if (const auto rank = cluster::RankOf(argc, argv)) engine::ServeRank(*rank);
    const sigset_t mask = BlockSignals();
    timeout = TimeoutOf(argc, argv);
    const ExitCode failed = ConnectMachines(timeout, &machines);
    if (failed != kSuccess) return failed;
    if (machines != nullptr && machines->messenger.rank() != 0) {
      return ServeMachine(*machines, timeout);
    }
    parsed = ParseOptions(argc, argv);
    code = parsed.run            ? Run(parsed.options, argc, argv, machines, mask)
           : parsed.list_devices ? ListMachines(parsed.options, machines)
                                 : parsed.exit_code;
  } catch (...) {
    const Uncaught uncaught = UncaughtNow();
    code = Fail(parsed.options, uncaught.code, uncaught.text);
    if (machines != nullptr && machines->messenger.rank() != 0) _exit(code);  // rank 0 hears of it
  }
  if (machines != nullptr) EndMachines(*machines, code, timeout);
  return code;
}

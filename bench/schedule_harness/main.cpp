// bench/schedule: runs the compiler's own phases on inputs from files or generated ones; each
// command prints a table of its own. CSV goes to standard output and nothing else; errors go to
// standard error, with the exit codes of cgc.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/schedule_harness/commands.h"

namespace cgraph::bench {

ExitCode Fail(const Status& status) {
  fmt::print(stderr, "bench/schedule: error: {}\n", status.message());
  return ExitCodeOf(status.code());
}

}  // namespace cgraph::bench

int main(int argc, char** argv) {
  using namespace cgraph;
  CLI::App app("The scheduler's figures, as CSV on standard output", "bench/schedule");
  app.require_subcommand(1);
  ExitCode exit_code = kSuccess;
  bench::AddZeroBubbleCommand(app, exit_code);
  bench::AddPipelineCommand(app, exit_code);
  bench::AddStepsCommand(app, exit_code);
  bench::AddBuffersCommand(app, exit_code);
  bench::AddScaleCommand(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fputs("bench/schedule: cannot write to standard output\n", stderr);
    return kEnvironment;
  }
  return exit_code;
}

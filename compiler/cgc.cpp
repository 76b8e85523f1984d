// cgc: the compiler's command. Every subcommand is a function of its own in command/; this file
// only reads the command line and turns what went wrong into an exit code (docs: README.md).
#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "compiler/command/commands.h"

int main(int argc, char** argv) {
  using namespace cgraph;
  CLI::App cgc("cgc compiles, proves, simulates and draws cgraph programs", "cgc");
  cgc.set_version_flag("--version", "cgc " CGRAPH_VERSION);
  cgc.require_subcommand(1);

  std::vector<std::pair<const char*, Command>> commands = {
      {"compile", AddCompileCommand(cgc)},   {"check", AddCheckCommand(cgc)},
      {"verify", AddVerifyCommand(cgc)},     {"plan", AddPlanCommand(cgc)},
      {"simulate", AddSimulateCommand(cgc)}, {"viz", AddVizCommand(cgc)},
      {"explain", AddExplainCommand(cgc)},
  };
  try {
    cgc.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    cgc.exit(error);
    return asked ? kSuccess : kUsage;
  }
  for (auto& [name, run] : commands) {
    if (cgc.got_subcommand(name)) return run();
  }
  return kUsage;
}

// cgc: the compiler's command. Every subcommand is a function of its own in command/; this file
// only reads the command line and turns what went wrong into an exit code (docs: README.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/diagnostics.h"
#include "compiler/command/commands.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/status/standard_streams.h"

namespace {

// Says what is wrong with the command line: a word for a command that there is not, or a flag.
void Complain(const CLI::App& cgc, const std::vector<std::string>& commands,
              const std::string& first, const CLI::ParseError& error) {
  std::string help = "cgc";
  std::string what = error.what();
  if (std::find(commands.begin(), commands.end(), first) != commands.end()) {
    help += " " + first;
  } else if (!first.empty() && first[0] != '-') {
    const std::string near = cgraph::DidYouMean(first, commands);
    what = fmt::format("there is no command `{}`{}", first,
                       near.empty() ? "" : fmt::format("; did you mean `{}`?", near));
  }
  llvm::errs() << fmt::format("{}: {}\n`{} --help` says what there is\n", cgc.get_name(), what, help);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cgraph;
  OccupyStandardStreams();
  CLI::App cgc("cgc compiles, proves, simulates and draws cgraph programs", "cgc");
  cgc.set_version_flag("--version", "cgc " CGRAPH_VERSION);
  cgc.require_subcommand(1);

  std::vector<std::pair<const char*, Command>> commands = {
      {"compile", AddCompileCommand(cgc)},   {"check", AddCheckCommand(cgc)},
      {"fmt", AddFmtCommand(cgc)},
      {"verify", AddVerifyCommand(cgc)},     {"plan", AddPlanCommand(cgc)},
      {"simulate", AddSimulateCommand(cgc)}, {"viz", AddVizCommand(cgc)},
      {"explain", AddExplainCommand(cgc)},
  };
  try {
    cgc.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // help or version
      cgc.exit(error);
      return kSuccess;
    }
    std::vector<std::string> names;
    for (const auto& [name, run] : commands) names.push_back(name);
    Complain(cgc, names, argc > 1 ? argv[1] : "", error);
    return kUsage;
  }
  ExitCode exit_code = kUsage;
  for (auto& [name, run] : commands) {
    if (cgc.got_subcommand(name)) exit_code = run();
  }
  // A full disk or a closed pipe shows only now: what was printed is not there.
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::outs().clear_error();
    llvm::errs() << "cgc: cannot write to standard output\n";
    return kEnvironment;
  }
  return exit_code;
}

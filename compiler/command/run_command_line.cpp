// The command line of cgc: every subcommand is a function of its own; this file reads which one it
// is, says what is wrong with the line, and turns errors into an exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/check.h"
#include "compiler/command/commands.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/base/usage_text.h"

namespace cgraph::command {
namespace {

// Names the first flag that `command` does not have, with the flag that was probably meant.
std::string UnknownFlag(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  SourceNames names;
  for (const std::string& word : words) {
    if (word.ends_with(".cgraph")) names = ReadSourceNames(word);
  }
  const bool defines = std::find(flags.begin(), flags.end(), "-D") != flags.end();
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string flag = word.substr(0, word.find('='));
    const bool known = std::find(flags.begin(), flags.end(), flag) != flags.end();
    if (flag[0] != '-' || known) continue;
    const std::string named = defines ? NamedFlagHint(words, i, names.consts, "-D") : "";
    const std::string foreign = named.empty() ? ForeignFlagHint(flag) : named;
    if (foreign.empty() && !flag.starts_with("--")) continue;
    return fmt::format("there is no flag `{}`{}", flag,
                       foreign.empty() ? NearFlagHint(flag, flags) : foreign);
  }
  return "";
}

// Returns, for a command that other tools have, the one that does it here.
std::string ForeignCommandHint(const std::string& word) {
  constexpr std::pair<const char*, const char*> kForeign[] = {
      {"run", "`cgrun FILE` runs a program or a plan"},
      {"exec", "`cgrun FILE` runs a program or a plan"},
      {"build", "`cgc compile FILE` makes a plan"},
      {"lint", "`cgc check FILE` says what is wrong"},
      {"format", "`cgc fmt FILE` lays a file out"},
      {"prove", "`cgc verify PLAN` proves a plan"},
      {"draw", "`cgc viz FILE` draws"},
      {"help", "`cgc --help` lists the commands"},
  };
  for (const auto& [foreign, hint] : kForeign) {
    if (word == foreign) return fmt::format("; {}", hint);
  }
  return "";
}

// Says what is wrong with the command line: an unknown command or an unknown flag.
void Complain(const CLI::App& cgc, const std::vector<std::string>& commands,
              const std::vector<std::string>& words, const CLI::ParseError& error) {
  std::string help = "cgc";
  std::string what = UsageText(error.what());
  const std::string first = words.empty() ? "" : words[0];
  if (std::find(commands.begin(), commands.end(), first) != commands.end()) {
    help += " " + first;
    const std::string flag = UnknownFlag(*cgc.get_subcommand(first), words);
    if (!flag.empty()) what = flag;
  } else if (!first.empty() && first[0] != '-') {
    const std::string foreign = ForeignCommandHint(first);
    what = fmt::format("there is no command `{}`{}", first,
                       foreign.empty() ? DidYouMeanHint(first, commands) : foreign);
    if (first.ends_with(".cgraph")) {
      what = fmt::format("a command comes before the file: `cgc check {0}`, `cgc compile {0}`; "
                         "`cgrun {0}` runs it",
                         first);
    }
  } else if (first.empty()) {
    what = fmt::format("name a command: {}", fmt::join(commands, ", "));
  }
  Say(fmt::format("cgc: error: {}\n`{} --help` says what there is\n", what, help));
}

// A full disk or a closed pipe shows only at this flush: what was printed never arrived.
ExitCode FlushOutput(ExitCode exit_code) {
  llvm::errs().clear_error();  // a closed stream, for which LLVM would end the process
  llvm::outs().flush();
  if (!llvm::outs().has_error()) return exit_code;
  llvm::outs().clear_error();
  llvm::errs() << "cgc: error: cannot write to standard output\n";
  llvm::errs().clear_error();
  return kEnvironment;
}

}  // namespace

ExitCode RunCommandLine(int argc, char** argv) {
  CLI::App cgc("cgc compiles, proves, simulates and draws cgraph programs", "cgc");
  cgc.set_version_flag("--version", "cgc " CGRAPH_VERSION);
  cgc.require_subcommand(1);

  std::vector<std::pair<const char*, Command>> commands = {
      {"compile", AddCompileCommand(cgc)},   {"check", AddCheckCommand(cgc)},
      {"fmt", AddFmtCommand(cgc)},           {"fix", AddFixCommand(cgc)},
      {"verify", AddVerifyCommand(cgc)},     {"plan", AddPlanCommand(cgc)},
      {"simulate", AddSimulateCommand(cgc)}, {"viz", AddVizCommand(cgc)},
      {"import-schedule", AddImportScheduleCommand(cgc)},
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
    Complain(cgc, names, {argv + std::min(argc, 1), argv + argc}, error);
    return kUsage;
  }
  ExitCode exit_code = kUsage;
  try {
    for (auto& [name, run] : commands) {
      if (cgc.got_subcommand(name)) exit_code = run();
    }
  } catch (const InternalError& error) {
    llvm::outs().flush();
    Say(fmt::format("cgc: {}", error.what()));
    exit_code = kBug;
  }
  return FlushOutput(exit_code);
}

}  // namespace cgraph::command

#include "compiler/command/flags/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "llvm/Support/Process.h"

namespace cgraph::command {
namespace {

// Returns what is wrong with the name of a warning; nothing: it is one.
std::string CheckWarning(const std::string& name) {
  const std::optional<Code> code = ParseCode(name);
  if (code && CodeSeverity(*code) == Severity::kWarning) return "";
  if (code) return name + " is an error, and only warnings can be left out";
  std::vector<std::string> warnings;
  for (Code each : AllCodes()) {
    if (CodeSeverity(each) == Severity::kWarning) warnings.push_back(CodeName(each).str());
  }
  // UsageText() turns this form into a sentence.
  return fmt::format("{} not in {{{}}}", name, fmt::join(warnings, ","));
}

}  // namespace

std::vector<Code> OutputFlags::suppressed_warnings() const {
  std::vector<Code> codes;
  for (const std::string& name : no_warn) codes.push_back(*ParseCode(name));
  return codes;
}

bool OutputFlags::use_color() const {
  if (color == "always") return true;
  if (color == "never") return false;
  return llvm::sys::Process::StandardErrIsDisplayed();
}

void AddOutputFlags(CLI::App& command, OutputFlags& flags) {
  command.add_flag("--json", flags.json, "machine-readable result on standard output");
  command.add_flag("-q,--quiet", flags.quiet, "errors only");
  command.add_flag("-v,--verbose", flags.verbose, "say more");
  command.add_option("--color", flags.color, "colours in messages")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command.add_option("--max-errors", flags.max_errors, "errors to print; 0: all")
      ->check(CLI::Range(size_t{0}, size_t{1} << 40))
      ->capture_default_str();
  command.add_option("--no-warn", flags.no_warn, "leave out this warning, as W0504 (repeatable)")
      ->type_name("CODE")->delimiter(',')->allow_extra_args(false)->check(CheckWarning, "");
}

void AddWerrorFlag(CLI::App& command, OutputFlags& flags) {
  command.add_flag("--Werror", flags.warnings_are_errors, "treat warnings as errors");
}

}  // namespace cgraph::command

#include "compiler/command/flags/flags.h"

#include "llvm/Support/Process.h"

namespace cgraph::command {

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
  command.add_flag("--Werror", flags.warnings_are_errors, "treat warnings as errors");
}

}  // namespace cgraph::command

#include "runtime/command/messages.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cgraph::command {

ExitCode Report(const Options& options, ExitCode code, const std::string& message) {
  const char* label = code == kBug ? "internal error: " : "error: ";
  const std::string text =
      fmt::format("cgrun: {}{}{}{}\n", options.use_color() ? "\033[1;31m" : "", label,
                  options.use_color() ? "\033[0m" : "", Printable(message));
  std::fputs(text.c_str(), stderr);  // not what throws where standard error is closed
  if (code == kBug) Say(kReportBug);
  return code;
}

ExitCode Report(const Options& options, const Status& status) {
  return Report(options, ExitCodeOf(status.code()), status.message());
}

void SayNote(const Options& options, const std::string& text) {
  if (!options.quiet && !text.empty()) Say(fmt::format("cgrun: note: {}\n", text));
}

void PrintJson(const nlohmann::ordered_json& json) {
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::puts(ForStandardOutput(line).c_str());
}

ExitCode Fail(const Options& options, ExitCode code, const std::string& message) {
  if (options.json) PrintJson({{"error", message}, {"exit_code", static_cast<int>(code)}});
  return Report(options, code, message);
}

ExitCode Fail(const Options& options, const Status& status) {
  return Fail(options, ExitCodeOf(status.code()), status.message());
}

}  // namespace cgraph::command

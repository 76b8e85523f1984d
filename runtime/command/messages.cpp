#include "runtime/command/messages.h"

#include <cstdio>

#include <fmt/format.h>

namespace cgraph::command {

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kSuccess;
    case StatusCode::kNotFound: return kEnvironment;
    case StatusCode::kInternal: return kBug;
    default: return kFailure;
  }
}

ExitCode Report(const Options& options, ExitCode code, const std::string& message) {
  const char* label = code == kBug ? "internal error: " : "error: ";
  fmt::print(stderr, "{}{}{}{}\n", options.use_color() ? "\033[1;31m" : "", label,
             options.use_color() ? "\033[0m" : "", message);
  if (code == kBug) fmt::print(stderr, "this is a bug of cgraph; please report it with the program\n");
  return code;
}

ExitCode Report(const Options& options, const Status& status) {
  return Report(options, ExitCodeOf(status), status.message());
}

}  // namespace cgraph::command

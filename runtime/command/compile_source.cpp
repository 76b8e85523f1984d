#include "runtime/command/phases.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/command/child.h"
#include "runtime/command/memory_file.h"
#include "runtime/command/messages.h"
#include "runtime/plan/load.h"

namespace cgraph::command {
namespace {

// The compiler's descriptor of the plan.
constexpr int kPlanDescriptor = 3;

std::string BesideUs(const char* name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

// With --json the result holds the diagnostics that cgc wrote, and what every failure says.
ExitCode FailToCompile(const Options& options, ExitCode code, const MemoryFile& diagnostics) {
  using nlohmann::ordered_json;
  const std::string error = fmt::format("{} does not compile", options.file);
  ordered_json list = ordered_json::array();
  std::ifstream file(diagnostics.path());
  if (file) list = ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  std::string text = error;
  for (const ordered_json& each : list.is_array() ? list : ordered_json::array()) {
    text += "\n" + each.value("message", "");
  }
  PrintJson({{"error", error},
             {"exit_code", static_cast<int>(code)},
             {"diagnostics", list.is_array() ? list : ordered_json::array()}});
  return Report(options, code, text);
}

// Reports a compiler that was ended by a signal. It is called a bug only where the compiler did
// something that no program may do: a kill comes from outside, most often because memory is short.
ExitCode FailByStatus(const Options& options, const std::string& compiler, int status) {
  if (WIFEXITED(status)) {
    return Fail(options, kEnvironment, fmt::format("{} cannot start: exit code {}", compiler,
                                                   WEXITSTATUS(status)));
  }
  switch (const int signal = WTERMSIG(status)) {
    case SIGINT:
    case SIGTERM: return Fail(options, kInterrupted, "interrupted");
    case SIGKILL:
      return Fail(options, kEnvironment,
                  fmt::format("{} was killed while it compiled {}; where memory is short, the "
                              "system does that",
                              compiler, options.file));
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
      return Fail(options, kBug, fmt::format("{} ended with signal {}", compiler, signal));
    default:
      return Fail(options, kEnvironment, fmt::format("{} ended with signal {}", compiler, signal));
  }
}

bool Documented(int code) {
  switch (code) {
    case kSuccess:
    case kFailure:
    case kUsage:
    case kEnvironment:
    case kBug:
    case kInterrupted: return true;
    default: return false;
  }
}

ExitCode Compile(const Options& options, const MemoryFile& plan, const MemoryFile& diagnostics,
                 Signals& signals) {
  const std::string compiler = BesideUs("cgc");
  std::vector<std::string> line = {compiler, "compile", options.file, "-o",
                                   fmt::format("/dev/fd/{}", kPlanDescriptor)};
  line.insert(line.end(), options.compile_flags.begin(), options.compile_flags.end());
  if (options.engine.workers > 0) {
    line.insert(line.end(), {"--workers", std::to_string(options.engine.workers)});
  }
  if (options.json) line.push_back("--json");
  // Messages belong on standard error. Standard output is replaced first: its descriptor may be the
  // plan's number.
  const int out = options.json ? diagnostics.descriptor() : STDERR_FILENO;
  int status = 0;
  if (const int error =
          RunChild(line, {{out, STDOUT_FILENO}, {plan.descriptor(), kPlanDescriptor}}, signals,
                   status);
      error != 0) {
    return Fail(options, kEnvironment,
                fmt::format("cannot run {}, which compiles .cgraph files: {}; run a .cgplan "
                            "instead, or put cgc there",
                            compiler, std::strerror(error)));
  }
  if (signals.interrupted()) return Fail(options, kInterrupted, "interrupted");
  if (!WIFEXITED(status) || !Documented(WEXITSTATUS(status))) {
    return FailByStatus(options, compiler, status);
  }
  const auto code = static_cast<ExitCode>(WEXITSTATUS(status));
  return code != kSuccess && options.json ? FailToCompile(options, code, diagnostics) : code;
}

plan::PlanOrExit Read(const Options& options, const std::string& path) {
  Result<std::unique_ptr<plan::Plan>> plan = plan::ReadFile(path, options.engine.timeout);
  if (!plan.ok()) return {nullptr, Fail(options, plan.status())};
  return {std::move(*plan), kSuccess};
}

}  // namespace

plan::PlanOrExit LoadPlan(const Options& options, Signals& signals) {
  if (!options.is_source()) return Read(options, options.file);
  const MemoryFile plan("cgrun plan"), diagnostics("cgrun diagnostics");
  if (plan.descriptor() < 0 || diagnostics.descriptor() < 0) {
    return {nullptr, Fail(options, kEnvironment,
                          fmt::format("cannot make a file in memory for the plan: {}",
                                      std::strerror(errno)))};
  }
  const ExitCode code = Compile(options, plan, diagnostics, signals);
  if (code != kSuccess) return {nullptr, code};
  return Read(options, plan.path());
}

}  // namespace cgraph::command

#include "runtime/command/phases.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

// Starts `line` with the signal mask `mask` and the plan's file as kPlanDescriptor. Its standard
// output goes to the file `out` or, for -1, to our standard error, where messages belong. Returns 0
// and the pid, or errno.
int Spawn(const std::vector<std::string>& line, const sigset_t& mask, int plan, int out,
          pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (const int error = posix_spawn_file_actions_init(&files); error != 0) return error;
  // Standard output is replaced first: its descriptor may be the plan's number.
  int error = posix_spawn_file_actions_adddup2(&files, out < 0 ? STDERR_FILENO : out,
                                               STDOUT_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&files, plan, kPlanDescriptor);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  if (error == 0) {
    error = posix_spawn(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
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
  pid_t pid;
  if (const int error = Spawn(line, signals.original_mask(), plan.descriptor(),
                              options.json ? diagnostics.descriptor() : -1, pid);
      error != 0) {
    return Fail(options, kEnvironment,
                fmt::format("cannot run {}, which compiles .cgraph files: {}; run a .cgplan "
                            "instead, or put cgc there",
                            compiler, std::strerror(error)));
  }
  signals.OnInterrupt([pid] { kill(pid, SIGTERM); });
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  signals.OnInterrupt(nullptr);
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

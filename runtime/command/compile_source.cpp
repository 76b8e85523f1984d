#include "runtime/command/compile_source.h"

#include <fcntl.h>
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

#include "runtime/command/messages.h"
#include "runtime/plan/load.h"

namespace cgraph::command {
namespace {

namespace fs = std::filesystem;

// A folder of our own, so that whatever a killed compiler leaves in it goes with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    const fs::path base = fs::temp_directory_path(error);
    std::string name = (error ? fs::path("/tmp") : base) / "cgrun.XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }  // empty when it could not be made

 private:
  std::string path_;
};

std::string BesideUs(const char* name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

// Starts `line` with the signals as they were and its standard output in the file `out`, or where
// none is named on our standard error, where messages belong. 0 and the pid, or errno.
int Spawn(const std::vector<std::string>& line, const sigset_t& mask, const std::string& out,
          pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  if (out.empty()) {
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// With --json: the diagnostics that cgc wrote, beside what every failure says.
ExitCode FailToCompile(const Options& options, ExitCode code, const std::string& diagnostics) {
  using nlohmann::ordered_json;
  const std::string error = fmt::format("{} does not compile", options.file);
  ordered_json list = ordered_json::array();
  std::ifstream file(diagnostics);
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

ExitCode Compile(const Options& options, const std::string& plan, Signals& signals) {
  const std::string compiler = BesideUs("cgc");
  std::vector<std::string> line = {compiler, "compile", options.file, "-o", plan};
  line.insert(line.end(), options.compile_flags.begin(), options.compile_flags.end());
  const std::string diagnostics = options.json ? plan + ".json" : "";
  if (options.json) line.push_back("--json");
  pid_t pid;
  if (const int error = Spawn(line, signals.original_mask(), diagnostics, pid); error != 0) {
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
  if (WIFEXITED(status)) {
    const auto code = static_cast<ExitCode>(WEXITSTATUS(status));
    return code != kSuccess && options.json ? FailToCompile(options, code, diagnostics) : code;
  }
  return Fail(options, kBug, fmt::format("{} ended with signal {}", compiler, WTERMSIG(status)));
}

plan::LoadedPlan Read(const Options& options, const std::string& path) {
  Result<std::unique_ptr<plan::Plan>> plan = plan::ReadFile(path);
  if (!plan.ok()) return {nullptr, Fail(options, plan.status())};
  return {std::move(*plan), kSuccess};
}

}  // namespace

plan::LoadedPlan LoadPlan(const Options& options, Signals& signals) {
  if (!options.is_source()) return Read(options, options.file);
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return {nullptr, Fail(options, kEnvironment,
                          fmt::format("cannot make a temporary folder: {}", std::strerror(errno)))};
  }
  const std::string plan = folder.path() + "/plan.cgplan";
  const ExitCode code = Compile(options, plan, signals);
  if (code != kSuccess) return {nullptr, code};
  return Read(options, plan);
}

}  // namespace cgraph::command

#include "runtime/command/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace cgraph::command {
namespace {

// Starts the program with the signal mask that this one had.
int Start(const std::vector<std::string>& line,
          const std::vector<std::pair<int, int>>& descriptors, const sigset_t& mask, pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&files);
  if (error != 0) return error;
  for (const auto& [ours, there] : descriptors) {
    if (error == 0) error = posix_spawn_file_actions_adddup2(&files, ours, there);
  }
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

}  // namespace

int RunChild(const std::vector<std::string>& line,
             const std::vector<std::pair<int, int>>& descriptors, Signals& signals, int& status) {
  pid_t pid = 0;
  const int error = Start(line, descriptors, signals.original_mask(), pid);
  if (error != 0) return error;
  signals.OnInterrupt([pid] { kill(pid, SIGTERM); });
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  signals.OnInterrupt(nullptr);
  return 0;
}

}  // namespace cgraph::command

// The program `dot` reads the drawing from a file in memory and writes the picture into another, so
// nothing is left over, however it ends.
#include "runtime/command/outcome/wait_graph.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "runtime/base/output_files.h"
#include "runtime/command/memory_file.h"

extern char** environ;

namespace cgraph::command {
namespace {

// The most time for a layout, whose time grows much faster than the graph: a run waits for it.
constexpr std::chrono::seconds kLayoutPatience(20);

// Starts `dot`; returns 0 and the pid, or errno.
int StartDot(const std::string& format, const MemoryFile& in, const MemoryFile& out,
             const MemoryFile& messages, pid_t& pid) {
  std::string name = "dot", flag = "-T" + format;
  char* const line[] = {name.data(), flag.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (const int error = posix_spawn_file_actions_init(&files); error != 0) return error;
  posix_spawn_file_actions_adddup2(&files, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, messages.descriptor(), STDERR_FILENO);
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawnp(&pid, name.c_str(), &files, &attributes, line, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Whether a signal has come that ends the run, which all threads of cgrun block.
bool Interrupted() {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

// Waits for the end of a process; ends it where that takes too long. Returns what is wrong.
std::string AwaitEnd(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + kLayoutPatience;
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) return "";  // SIGCHLD was ignored when cgrun started
    if (ended == pid && WIFSIGNALED(status)) {
      return fmt::format("`dot` was killed by signal {}", WTERMSIG(status));
    }
    if (ended == pid && WEXITSTATUS(status) != 0) {
      return fmt::format("`dot` has ended with exit code {}", WEXITSTATUS(status));
    }
    if (ended == pid) return "";
    const bool late = std::chrono::steady_clock::now() > end;
    if (late || Interrupted()) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return late ? fmt::format("`dot` could not lay it out in {} s", kLayoutPatience.count())
                  : "an interrupt came before `dot` had laid it out";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Returns a graph in the language of `dot` as a picture: "svg", "png" or "pdf". kNotFound where the
// program cannot be started; kFailed where it fails, takes too long, or an interrupt comes first.
Result<std::string> LayOut(const std::string& dot, const std::string& format) {
  const MemoryFile in("cgrun graph"), out("cgrun picture"), messages("cgrun messages");
  if (in.descriptor() < 0 || out.descriptor() < 0 || messages.descriptor() < 0 || !in.Write(dot)) {
    return Status(StatusCode::kNotFound,
                  fmt::format("no file in memory can be made: {}", std::strerror(errno)));
  }
  pid_t pid = -1;
  if (const int error = StartDot(format, in, out, messages, pid); error != 0) {
    return Status(StatusCode::kNotFound,
                  fmt::format("the program `dot`, of Debian's package graphviz, lays it out and "
                              "cannot be started: {}; install it, or name a file that ends in .dot",
                              std::strerror(error)));
  }
  std::string wrong = AwaitEnd(pid);
  std::string picture = out.Read();
  if (wrong.empty() && picture.empty()) wrong = "`dot` has written nothing";
  if (wrong.empty()) return picture;
  const std::string said = messages.Read();
  if (!said.empty()) wrong += fmt::format(" ({})", said.substr(0, said.find('\n')));
  return Status(StatusCode::kFailed,
                fmt::format("{}; name a file that ends in .dot, for a tool of your own", wrong));
}

}  // namespace

std::string WaitGraphFormat(const std::string& path) {
  for (const char* format : {"dot", "svg", "png", "pdf"}) {
    if (path.ends_with(std::string(".") + format)) return format;
  }
  return "";
}

std::string WriteWaitGraph(const Options& options, const Engine* engine) {
  const std::string& path = options.wait_graph;
  if (path.empty()) return "";
  if (engine == nullptr) {
    return fmt::format("cgrun: note: {} is not written, as states are not initialised yet\n", path);
  }
  const std::string format = WaitGraphFormat(path);
  Result<std::string> picture = engine->WaitReportDot();
  if (format != "dot") picture = LayOut(*picture, format);
  Status written = picture.status();
  if (written.ok()) {
    OutputFiles files;
    written = files.Add(path, *picture);
    if (written.ok()) written = files.Commit();
  }
  if (!written.ok()) {
    return fmt::format("cgrun: note: {} is not written: {}\n", path, written.message());
  }
  return options.quiet ? "" : fmt::format("cgrun: note: {} shows who waits for whom\n", path);
}

}  // namespace cgraph::command

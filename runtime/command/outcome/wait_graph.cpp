// The program `dot` reads the drawing from a file in memory and writes the picture into another, so
// nothing is left over, however it ends.
#include "runtime/command/outcome/wait_graph.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "runtime/status/output_files.h"

extern char** environ;

namespace cgraph::command {
namespace {

// The most time for a layout, whose time grows much faster than the graph: a run waits for it.
constexpr std::chrono::seconds kLayoutPatience(20);

// PictureFile: a file that has no name.
class PictureFile {
 public:
  PictureFile() : descriptor_(memfd_create("cgrun wait graph", MFD_CLOEXEC)) {}
  ~PictureFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  PictureFile(const PictureFile&) = delete;
  PictureFile& operator=(const PictureFile&) = delete;
  int descriptor() const { return descriptor_; }

  bool Write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count <= 0 && errno != EINTR) return false;
      text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  std::string Read() const {
    std::string text;
    char bytes[1 << 16];
    lseek(descriptor_, 0, SEEK_SET);
    for (ssize_t count; (count = read(descriptor_, bytes, sizeof(bytes))) > 0;) {
      text.append(bytes, static_cast<size_t>(count));
    }
    return text;
  }

 private:
  const int descriptor_;
};

// Starts `dot`; returns 0 and the pid, or errno.
int StartDot(const std::string& format, const PictureFile& in, const PictureFile& out, pid_t& pid) {
  std::string name = "dot", flag = "-T" + format;
  char* const line[] = {name.data(), flag.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (const int error = posix_spawn_file_actions_init(&files); error != 0) return error;
  posix_spawn_file_actions_adddup2(&files, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
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

// Waits for the end of a process; ends it where that takes too long.
bool EndsWell(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + kLayoutPatience;
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    if (std::chrono::steady_clock::now() > end) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Result<std::string> LayOut(const std::string& dot, const std::string& format) {
  const PictureFile in, out;
  if (in.descriptor() < 0 || out.descriptor() < 0 || !in.Write(dot)) {
    return Status(StatusCode::kNotFound,
                  fmt::format("no file in memory can be made: {}", std::strerror(errno)));
  }
  pid_t pid = -1;
  if (const int error = StartDot(format, in, out, pid); error != 0) {
    return Status(StatusCode::kNotFound,
                  fmt::format("the program `dot`, of Debian's package graphviz, lays it out and "
                              "cannot be started: {}; install it, or name a file that ends in .dot",
                              std::strerror(error)));
  }
  if (!EndsWell(pid)) {
    return Status(StatusCode::kFailed,
                  fmt::format("`dot` could not lay it out in {} s; name a file that ends in .dot, "
                              "for a tool of your own",
                              kLayoutPatience.count()));
  }
  return out.Read();
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

// Whether a piece of a test ends its process, and with which sentence: it runs in a child.
#ifndef CGRAPH_TESTS_EMULATION_DEATH_H_
#define CGRAPH_TESTS_EMULATION_DEATH_H_

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace cgraph::emulation {

// Returns the misuse of which the child aborted; empty when it did not abort. (ThreadSanitizer
// takes fibers for threads, of which it does not follow a fork, and may have written before.)
inline std::string DeathOf(const std::function<void()>& piece) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the test's reporter is the parent's
    dup2(ends[1], STDERR_FILENO);
    piece();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const size_t start = text.find("emulated GPU: misuse: ");
  const bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return aborted && start != text.npos ? text.substr(start) : std::string();
}

// Ends the process as a misuse does.
[[noreturn]] inline void DieOf(const char* sentence) {
  std::fprintf(stderr, "emulated GPU: misuse: %s\n", sentence);
  std::abort();
}

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DEATH_H_

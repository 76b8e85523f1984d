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

// How a child ended, and what it wrote to standard error.
struct ChildEnd {
  int status = 0;  // as waitpid gives it
  std::string error;
};
inline ChildEnd RunInChild(const std::function<void()>& piece) {
  ChildEnd end;
  int ends[2];
  if (pipe(ends) != 0) return end;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the test's reporter is the parent's
    dup2(ends[1], STDERR_FILENO);
    piece();
    _exit(0);
  }
  close(ends[1]);
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    end.error.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  waitpid(child, &end.status, 0);
  return end;
}

// Returns the misuse of which the child aborted; empty when it did not abort. (ThreadSanitizer
// takes fibers for threads, of which it does not follow a fork, and may have written before.)
inline std::string DeathOf(const std::function<void()>& piece) {
  const ChildEnd end = RunInChild(piece);
  const size_t start = end.error.find("emulated GPU: misuse: ");
  const bool aborted = WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT;
  return aborted && start != end.error.npos ? end.error.substr(start) : std::string();
}

// Ends the process as a misuse does.
[[noreturn]] inline void DieOf(const char* sentence) {
  std::fprintf(stderr, "emulated GPU: misuse: %s\n", sentence);
  std::abort();
}

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DEATH_H_

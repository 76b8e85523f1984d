#include "runtime/command/signals.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "runtime/command/options.h"

namespace cgraph::command {
namespace {

constexpr timespec kForever = {3600, 0};
// After an interrupt: until it is said what is waited for, and until the process ends, whatever
// still runs.
constexpr timespec kPatience = {0, 300'000'000};
constexpr timespec kTeardown = {10, 0};

// Without stdio, whose locks another thread may hold.
void Say(const char* what) { (void)!write(STDERR_FILENO, what, __builtin_strlen(what)); }

[[noreturn]] void EndNow(const char* why) {
  Say(why);
  _exit(kInterrupted);
}

}  // namespace

Signals::Signals() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &original_);
  thread_ = std::thread([this] { Loop(); });
}

Signals::~Signals() {
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);  // wakes the loop
  thread_.join();
  if (teardown_.joinable()) teardown_.join();
}

void Signals::OnInterrupt(std::function<void()> end) {
  std::lock_guard lock(mutex_);
  end_ = std::move(end);
  if (interrupted_ && end_) std::exchange(end_, nullptr)();
}

void Signals::OnReport(std::function<std::string()> report) {
  std::lock_guard lock(mutex_);
  report_ = std::move(report);
}

void Signals::Loop() {
  bool told = false;
  for (;;) {
    const timespec wait = !interrupted_ ? kForever : told ? kTeardown : kPatience;
    const int signal = sigtimedwait(&signals_, nullptr, &wait);
    if (signal == SIGUSR2) {
      if (done_) return;
    } else if (signal == SIGUSR1) {
      // Not while the run is being torn down, which may take long.
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock && report_) std::fprintf(stderr, "%s\n", report_().c_str());
    } else if (signal == SIGINT || signal == SIGTERM) {
      if (interrupted_.exchange(true)) EndNow("\ninterrupted twice: ended at once\n");
      // On a thread of its own: another signal must still be heard meanwhile.
      teardown_ = std::thread([this] {
        std::lock_guard lock(mutex_);
        if (end_) std::exchange(end_, nullptr)();
      });
    } else if (interrupted_ && !told) {
      told = true;
      Say("\ninterrupted: waiting for the kernel that runs, at most 10 seconds; interrupt again to "
          "end at once\n");
    } else if (interrupted_) {
      EndNow("\ninterrupted: a kernel that still runs is abandoned\n");
    }
  }
}

}  // namespace cgraph::command

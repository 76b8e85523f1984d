#include "runtime/command/signals.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "runtime/command/options.h"

namespace cgraph::command {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kIdle = std::chrono::hours(1);
// After an interrupt: until it is said what is waited for, and from then on until the process ends,
// whatever still runs.
constexpr auto kPatience = std::chrono::milliseconds(300);
constexpr auto kTeardown = std::chrono::seconds(10);

timespec Timespec(Clock::duration duration) {
  const auto left = std::max(duration, Clock::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
}

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

// On a thread of its own: another signal must still be heard meanwhile.
void Signals::TearDown() {
  try {
    teardown_ = std::thread([this] {
      std::lock_guard lock(mutex_);
      if (end_) std::exchange(end_, nullptr)();
    });
  } catch (const std::system_error&) {
    EndNow("\ninterrupted: ended at once, as the system refuses a thread\n");
  }
}

void Signals::Loop() {
  bool told = false;
  Clock::time_point deadline;  // of the next thing to say after an interrupt
  for (;;) {
    const timespec wait = Timespec(interrupted_ ? deadline - Clock::now() : kIdle);
    const int signal = sigtimedwait(&signals_, nullptr, &wait);
    if (signal == SIGUSR2) {
      if (done_) return;
    } else if (signal == SIGUSR1) {
      // Not while the run is being torn down, which may take long.
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock && report_) std::fprintf(stderr, "%s\n", report_().c_str());
    } else if (signal == SIGINT || signal == SIGTERM) {
      if (told) EndNow("\ninterrupted twice: ended at once\n");
      // timeout(1) sends one to the process and one to its group: until it is said what a second
      // one does, it is the first one again.
      if (interrupted_.exchange(true)) continue;
      deadline = Clock::now() + kPatience;
      TearDown();
    } else if (interrupted_ && Clock::now() < deadline) {
      continue;  // woken by nothing
    } else if (interrupted_ && !told) {
      told = true;
      deadline = Clock::now() + kTeardown;
      Say("\ninterrupted: waiting for the kernel that runs, at most 10 seconds; interrupt again to "
          "end at once\n");
    } else if (interrupted_) {
      EndNow("\ninterrupted: a kernel that still runs is abandoned\n");
    }
  }
}

}  // namespace cgraph::command

#include "runtime/command/signals.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/command/options.h"

namespace cgraph::command {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kIdle = std::chrono::hours(1);
// The time after an interrupt until the first message says what is waited for; and, from then on,
// until the process ends, whatever still runs.
constexpr auto kPatience = std::chrono::milliseconds(300);
constexpr auto kTeardown = std::chrono::seconds(10);

timespec Timespec(Clock::duration duration) {
  const auto left = std::max(duration, Clock::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
}

// Writes without stdio, whose locks another thread may hold.
void Say(const char* what) { (void)!write(STDERR_FILENO, what, __builtin_strlen(what)); }

sigset_t Handled() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
  return signals;
}

[[noreturn]] void EndNow(const char* why) {
  Say(why);
  _exit(kInterrupted);
}

}  // namespace

sigset_t BlockSignals() {
  const sigset_t signals = Handled();
  sigset_t original;
  pthread_sigmask(SIG_BLOCK, &signals, &original);
  return original;
}

Signals::Signals(const sigset_t& original) : original_(original) {
  thread_ = std::thread([this] { Loop(); });
}

Signals::~Signals() {
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);  // wakes the loop
  thread_.join();
  if (teardown_.joinable()) teardown_.join();
}

void Signals::OnInterrupt(std::function<void()> end, Patience patience) {
  std::lock_guard lock(mutex_);
  patience_ = patience;
  end_ = std::move(end);
  if (interrupted_ && end_) std::exchange(end_, nullptr)();
}

void Signals::OnReport(std::function<std::string()> report) {
  std::lock_guard lock(mutex_);
  report_ = std::move(report);
}

// Runs on a thread of its own, so that another signal is still heard meanwhile.
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
  const sigset_t signals = Handled();
  bool told = false;
  Clock::time_point deadline;  // of the next thing to say after an interrupt
  for (;;) {
    const timespec wait = Timespec(interrupted_ ? deadline - Clock::now() : kIdle);
    const int signal = sigtimedwait(&signals, nullptr, &wait);
    if (signal == SIGUSR2) {
      if (done_) return;
    } else if (signal == SIGUSR1) {
      // No report while the run is being torn down, which may take long: the lock is only tried.
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock && report_) cgraph::Say(report_() + "\n");
    } else if (signal == SIGINT || signal == SIGTERM) {
      if (told) EndNow("\ninterrupted twice: ended at once\n");
      // Ignores a second interrupt until the message says what a second one does. timeout(1) sends
      // one to the process and one to its group, which must count as one.
      if (interrupted_.exchange(true)) continue;
      deadline = Clock::now() + kPatience;
      TearDown();
    } else if (interrupted_ && Clock::now() < deadline) {
      continue;  // woken without a signal
    } else if (interrupted_ && !told) {
      told = true;
      deadline = Clock::now() + kTeardown;
      Say(patience_ == Patience::kForWhole
              ? "\ninterrupted: waiting for the executions in flight, and for states to be saved; "
                "interrupt again to end at once\n"
              : "\ninterrupted: waiting for the kernel that runs, or for files, at most 10 "
                "seconds; interrupt again to end at once\n");
    } else if (interrupted_ && patience_ == Patience::kForWhole) {
      deadline = Clock::now() + kTeardown;  // of what comes once the states are saved
    } else if (interrupted_) {
      EndNow("\ninterrupted: a kernel that still runs is abandoned\n");
    }
  }
}

}  // namespace cgraph::command

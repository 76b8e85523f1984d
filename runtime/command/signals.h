// Signals, handled by a thread: SIGINT and SIGTERM end the run in order, SIGUSR1 prints a report.
//
// The three are blocked in every thread from the first line of main() on, and one thread waits for
// them, so the code that handles them is ordinary code. Once a message has said what is waited for,
// a second SIGINT or SIGTERM ends the process at once. So does a teardown that takes too long:
// it does not wait for a kernel that never returns. A run that saves its states when it is
// interrupted has all the time that it needs.
#ifndef CGRAPH_RUNTIME_COMMAND_SIGNALS_H_
#define CGRAPH_RUNTIME_COMMAND_SIGNALS_H_

#include <csignal>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cgraph::command {

// Blocks the signals in this thread and in those that it starts from now on, and returns the mask
// that it had. Called before any library starts a thread: one that left a signal unblocked would
// get it, and the process would end without a word.
sigset_t BlockSignals();

class Signals {
 public:
  // `original`: what BlockSignals() returned.
  explicit Signals(const sigset_t& original);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Patience: how long the process may take to end after an interrupt.
  enum class Patience {
    kSeconds,   // ten
    kForWhole,  // until its executions in flight are over and states are saved, however long
  };
  // Sets what the first SIGINT or SIGTERM does from now on, on a thread of this class. When this
  // returns, the function that was set before is not running any more. An interrupt that has come
  // already is answered here.
  void OnInterrupt(std::function<void()> end, Patience patience = Patience::kSeconds);
  // Sets the function that makes the text for SIGUSR1.
  void OnReport(std::function<std::string()> report);

  bool interrupted() const { return interrupted_; }
  // The signal mask that other processes should start with.
  const sigset_t& original_mask() const { return original_; }

 private:
  void Loop();
  void TearDown();

  const sigset_t original_;
  std::atomic<bool> interrupted_ = false;
  std::atomic<bool> done_ = false;
  std::atomic<Patience> patience_ = Patience::kSeconds;
  std::mutex mutex_;  // guards the two functions, and is held while one runs
  std::function<void()> end_;
  std::function<std::string()> report_;
  std::thread thread_, teardown_;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_SIGNALS_H_

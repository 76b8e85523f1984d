// EngineHandle: an engine as Python holds it, with what outlives the calls of its user: executions
// whose futures were dropped, and inputs that an engine which has ended may still read.
//
// Members are touched with the GIL held, which is their lock. Two are not: the engine, which has
// locks of its own, is used without the GIL as well, and `closing_` is taken without it.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_ENGINE_HANDLE_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_ENGINE_HANDLE_H_

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "runtime/engine/engine.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/forks.h"
#include "runtime/python/binding/tensors/borrow.h"

namespace cgraph::python {

// Returns a time that Python gives in seconds; the longest where it is longer than that.
std::chrono::nanoseconds Seconds(double seconds);

// Running: an execution that was submitted, with the inputs that it may read.
struct Running {
  OfThisProcess<Execution> execution;
  BorrowedInputs inputs;
};

// Whether what failed so may still read its inputs: the engine has ended, and only its teardown
// ends the reading.
inline bool MayStillRead(const Status& status) {
  return !status.ok() && status.code() != StatusCode::kFailed;
}

class EngineHandle {
 public:
  // `patience`: how long Close() waits for what runs; 0: for ever. `timed_out`: set when a time-out
  // has ended the engine.
  EngineHandle(std::unique_ptr<Engine> engine, bool may_hang, std::chrono::nanoseconds patience,
               std::shared_ptr<std::atomic<bool>> timed_out);
  EngineHandle(const EngineHandle&) = delete;
  ~EngineHandle();  // Close()

  // Returns the engine. Raises in a process that was forked from the one that made it.
  Engine& Use();
  // Raises what the engine has returned, and adds that the engine has ended, if it has.
  [[noreturn]] void RaiseStatus(const Status& status, During during) const;
  [[noreturn]] void RaiseStatus(const Status& status, During during,
                                nanobind::handle cause) const;
  bool usable() const { return engine_.usable(); }
  // Whether anything that the plan runs may take for ever, whatever its inputs are.
  bool may_hang() const { return may_hang_; }

  // Keeps an execution until it is over, and inputs until the engine is torn down.
  void Adopt(Running running) noexcept {
    if (!torn_down_) AddOrLeak(orphans_, std::move(running));
  }
  void Keep(BorrowedInputs inputs) noexcept {
    if (!torn_down_) AddOrLeak(kept_, std::move(inputs));
  }
  // Where a time-out has ended the engine, waits until nothing runs any more: then its states can
  // be read. Raises what Ctrl-C does.
  void AwaitRest();
  // Lets go of adopted executions that are over.
  void Sweep();

  // Tears the engine down, without the GIL. Again does nothing. A kernel that does not end in time,
  // or before Ctrl-C, is abandoned with the engine, which stays as it is; a warning says so.
  void Close();

 private:
  // Where there is no memory for the list to grow, `what` is never freed: it may still be read.
  template <typename T>
  static void AddOrLeak(std::vector<T>& to, T&& what) noexcept {
    try {
      to.push_back(std::move(what));
    } catch (const std::bad_alloc&) {  // nothing was moved
      alignas(T) std::byte never_destroyed[sizeof(T)];
      new (never_destroyed) T(std::move(what));
    }
  }

  // Ends the engine on a thread of its own.
  void EndLater();
  // `patience`: 0: for ever.
  bool TearDownInTime(std::chrono::nanoseconds patience);
  void Abandon();

  OfThisProcess<std::unique_ptr<Engine>> engine_;
  const int pid_;
  const bool may_hang_;
  bool keeps_states_ = false;  // when a time-out ends it: they lie in this process's host memory
  const std::chrono::nanoseconds patience_;
  const std::shared_ptr<std::atomic<bool>> timed_out_;
  std::mutex closing_;
  bool closed_ = false;     // Close() was called; under closing_
  bool torn_down_ = false;  // nothing runs any more
  bool abandoned_ = false;
  std::vector<Running> orphans_;
  std::vector<BorrowedInputs> kept_;
};

void BindEngine(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_ENGINE_HANDLE_H_

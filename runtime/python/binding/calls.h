// Calls: a graph of an engine as a function of Python, and the futures of what was submitted.
//
// Every wait is without the GIL. On the main thread, which hears of signals, an execution that may
// take long is waited for in slices, so that Ctrl-C ends the wait. One that is sure to be short is
// waited for in one go: then the caller drives the engine's worker 0 itself, which is faster by the
// time that waking a thread takes, but nothing ends it before a kernel does. Sure are those of a
// plan whose every kernel ends (EngineHandle::may_hang), with no more input than one had before
// that was short.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_CALLS_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_CALLS_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "runtime/engine/engine.h"
#include "runtime/python/binding/engine_handle.h"

namespace cgraph::python {

struct Graph : std::enable_shared_from_this<Graph> {
  std::shared_ptr<EngineHandle> engine;
  uint32_t index = 0;
  std::string name;
  std::vector<InputPort> inputs;
  // What makes the value of an execution of the tuple of its arrays: a subclass of tuple, or a
  // function of the tuple. None: the value is the only array.
  nanobind::object pack;
  bool repeats = false;   // executed round after round: a call returns a list of the rows
  std::string signature;  // "classify(x: f32[n <= 64, 64]) -> (scores: f32[n, 10])"
  // The most elements that the inputs of an execution had which was short; -1: none was, or one was
  // not since.
  std::atomic<int64_t> short_with{-1};
};

// Future: one submitted execution. For any number of threads.
class Future {
 public:
  Future(std::shared_ptr<Graph> graph, Running running)
      : graph_(std::move(graph)), running_(std::move(running)) {}
  Future(const Future&) = delete;
  ~Future();

  // `timeout`: in seconds; none: never.
  nanobind::object Result(std::optional<double> timeout);
  nanobind::object Exception(std::optional<double> timeout);
  bool Done();
  std::string Repr();
  std::shared_ptr<Graph> graph() const { return graph_; }

 private:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Waits until it is settled; raises where the time-out comes first.
  void Await(std::optional<double> timeout);
  bool Lock(const Deadline& deadline);
  [[noreturn]] void RaiseTimeout(double seconds, const std::string& why);
  void Settle(cgraph::Result<Outputs> result);

  const std::shared_ptr<Graph> graph_;
  std::timed_mutex mutex_;          // of running_; taken without the GIL
  std::optional<Running> running_;  // until it is over
  // With the GIL; once it is settled, the error and its cause, or the value:
  bool settled_ = false;
  Status status_;
  nanobind::object cause_ = nanobind::none(), value_;
};

// RowIterator: a run of a graph that repeats, as an iterator of its rows. A round begins when its
// row is asked for, and is waited for whole: what Ctrl-C raises comes behind it. Its lock is held
// meanwhile, without the GIL.
class RowIterator {
 public:
  RowIterator(std::shared_ptr<Graph> graph, nanobind::handle args, nanobind::handle kwargs);
  RowIterator(const RowIterator&) = delete;
  ~RowIterator();

  // Returns the next row; an invalid object behind the last one.
  nanobind::object TakeNext();
  bool done() const { return done_; }
  uint64_t made() const { return made_; }
  std::shared_ptr<Graph> graph() const { return graph_; }

 private:
  const std::shared_ptr<Graph> graph_;
  std::optional<BorrowedInputs> inputs_;
  std::mutex mutex_;                            // of rounds_
  std::optional<OfThisProcess<Rounds>> rounds_;
  std::atomic<bool> done_ = false;
  std::atomic<uint64_t> made_ = 0;
};

void BindCalls(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_CALLS_H_

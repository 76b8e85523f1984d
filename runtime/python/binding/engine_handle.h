// EngineHandle: an engine as Python holds it, with what outlives the calls of its user: executions
// whose futures were dropped, and inputs that an engine which has ended may still read.
//
// All members but `engine` are touched with the GIL held, which is their lock.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_ENGINE_HANDLE_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_ENGINE_HANDLE_H_

#include <unistd.h>

#include <memory>
#include <mutex>
#include <vector>

#include <nanobind/nanobind.h>

#include "runtime/engine/engine.h"
#include "runtime/python/binding/borrow.h"
#include "runtime/python/binding/forks.h"

namespace cgraph::python {

// Running: an execution that was submitted, with the inputs that it may read.
struct Running {
  OfThisProcess<Execution> execution;
  BorrowedInputs inputs;
};

class EngineHandle {
 public:
  explicit EngineHandle(std::unique_ptr<Engine> engine)
      : engine_(std::move(engine)), pid_(getpid()) {}
  EngineHandle(const EngineHandle&) = delete;
  ~EngineHandle();  // Close()

  // Returns the engine. Raises in a process that was forked from the one that made it.
  Engine& Use();
  bool usable() const { return engine_.usable(); }

  // Keeps an execution until it is over, and inputs until the engine is torn down.
  void Adopt(Running running) {
    if (!torn_down_) orphans_.push_back(std::move(running));
  }
  void Keep(BorrowedInputs inputs) {
    if (!torn_down_) kept_.push_back(std::move(inputs));
  }
  // Lets go of adopted executions that are over.
  void Sweep();

  // Tears the engine down, without the GIL. Again does nothing.
  void Close();

 private:
  OfThisProcess<std::unique_ptr<Engine>> engine_;
  const int pid_;
  std::mutex closing_;  // taken without the GIL
  bool torn_down_ = false;
  std::vector<Running> orphans_;
  std::vector<BorrowedInputs> kept_;
};

void BindEngine(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_ENGINE_HANDLE_H_

// Machine: the emulated GPUs of a process, and the rules that every call of the driver keeps.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_MACHINE_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_MACHINE_H_

#include <cuda.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "tests/emulation/driver/memory.h"
#include "tests/emulation/driver/objects.h"
#include "tests/emulation/driver/options.h"
#include "tests/emulation/driver/scheduler.h"

namespace cgraph::emulation {

// Rules of calls; calls.def says what they mean.
enum CallRule : uint32_t {
  kContext = 1,
  kMakes = 2,
  kUnsafe = 4,
  kSetup = 8,
  kAsks = 16,
  kApart = 32,
  kDrains = 64,
};

struct CallKind {
  const char* name;
  uint32_t rules;
};

namespace calls {
#define CALL(function, rules) inline constexpr CallKind k_##function{#function, (rules)};
#include "tests/emulation/driver/calls.def"
#undef CALL
}  // namespace calls

using Lock = std::unique_lock<std::mutex>;

// All members under `mutex`.
struct Machine {
  explicit Machine(const Options& options);

  const Options options;
  std::mutex mutex;
  Memory memory;
  Scheduler scheduler;

  bool initialised = false;
  bool ended = false;  // the process is about to end
  std::array<CUctx_st, kMostDevices> contexts;
  Handles<CUstream_st> streams;
  Handles<CUevent_st> events;
  Handles<CUmod_st> modules;
  Handles<CUfunc_st> functions;
  Handles<CUgraph_st> graphs;
  Handles<CUgraphExec_st> execs;
  std::set<std::shared_ptr<Capture>> captures;  // that have begun and not ended

  uint64_t instantiating = 0;  // graphs, at the moment
  uint64_t most_instantiating = 0;
  uint64_t calls = 0;
  uint64_t fail_at = 0;
  bool fail_sticky = false;
  bool steady = false;
  std::condition_variable drained;  // a context is not draining any more
};

// Made by the first call, with the options of the environment; then it stays.
Machine& TheMachine();
// The context that is current in the calling thread; null when there is none.
CUcontext& CurrentContext();

// Waits until the calling thread's call is not held up by one that drains its context.
void WaitForDrain(Machine& machine, Lock& lock, const CallKind& kind);
// Returns what the call fails with before it does anything, or CUDA_SUCCESS.
CUresult BeginCall(Machine& machine, const CallKind& kind);
CUresult EndCall(Machine& machine, Lock& lock, const CallKind& kind, CUresult result);

// Carries out a call of the driver: `body(machine, lock)` under the machine's lock.
template <typename Body>
CUresult Serve(const CallKind& kind, const Body& body) {
  Machine& machine = TheMachine();
  Lock lock(machine.mutex);
  WaitForDrain(machine, lock, kind);
  const CUresult refused = BeginCall(machine, kind);
  if (refused != CUDA_SUCCESS) return refused;
  return EndCall(machine, lock, kind, body(machine, lock));
}

// Reports the use of a handle that is not one, and returns what the driver would.
CUresult BadHandle(const std::string& what);
// Waits for the work that was issued to a stream; CUDA_ERROR_LAUNCH_FAILED after a fault.
CUresult WaitForStream(Machine& machine, Lock& lock, CUstream stream);
// Waits until the device of a context has done all that was issued, as a driver does before it
// frees memory or loads code (seen on an H200 with the driver of CUDA 13.0). Meanwhile other
// threads' calls in the context wait, but for those that only ask or say nothing about its state. A
// misuse behind a kernel that never ends. CUDA_ERROR_LAUNCH_FAILED after a fault.
CUresult Drain(Machine& machine, Lock& lock, CUcontext context);

// Finds the stream of a handle, where null is the current context's default stream. One that was
// destroyed, or belongs to another context than the current one, is a misuse.
CUresult FindStream(Machine& machine, CUstream handle, CUstream& stream);
// As FindStream, but any context may be current.
CUresult FindStreamOfAny(Machine& machine, CUstream handle, CUstream& stream);

// Checks the memory that work touches and notes which devices' that is. CUDA_ERROR_INVALID_VALUE
// after a misuse.
CUresult CheckMemory(Machine& machine, Work& work);
// Reports a misuse where work on an allocation is not done that is `freed`, closed or unregistered;
// then CUDA_ERROR_INVALID_VALUE.
CUresult CheckIdle(const Machine& machine, const Allocation& allocation, const char* freed);
// Issues work to a stream: appends it or, where the stream is captured, makes a node of it.
CUresult Issue(Machine& machine, CUstream stream, Work work);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_MACHINE_H_

// The engine: runs a plan. This is the API for programs that embed cgraph.
//
//   auto engine = Engine::LoadFile("digits.cgplan", {.weights_dir = "weights"});
//   Execution run = *(*engine)->Execute("classify", {Input("x", images)});
//   Outputs out = *run.Get();
//
// Load checks the plan, proves it (unless told not to), allocates every arena, prepares every
// kernel, starts the workers and runs the start graph. From then on nothing of ours allocates,
// locks or calls the system, as long as executions keep coming.
//
// Threads: an Engine may be used from several threads; an Execution by one at a time. The caller's
// Get() without a time-out drives worker 0 itself, so that a caller and two workers never spin on
// two cores; with a time-out, a thread of the engine drives it meanwhile. The same thread takes
// over, within a fraction of a second, while nobody asks for the result of what was submitted.
//
// Graphs run in the order in which they are submitted. Where two of them share state that different
// workers touch, or that one of them touches in a later round than the one that began (plans with
// lags), Execute() of the second first waits until the first is finished.
#ifndef CGRAPH_RUNTIME_ENGINE_ENGINE_H_
#define CGRAPH_RUNTIME_ENGINE_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/device/kernel.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/trace.h"
#include "runtime/status/status.h"

namespace cgraph {

namespace engine {
class Core;
struct ExecutionState;
}  // namespace engine

struct EngineOptions {
  std::string weights_dir = ".";   // files named by `load` are looked up here, and nowhere else
  uint32_t workers = 0;            // threads that drive lanes, the caller among them; 0: the
                                   // plan's, at most as many as cores
  uint32_t inflight = 0;           // at most this many of each graph; 0: what the plan says. More
                                   // than any graph of the plan has is refused
  bool proved = true;  // false: skip the proof and run every lane as its own work queue, so
                       // that a wrong order really hangs
  std::chrono::nanoseconds stall_timeout = std::chrono::seconds(600);  // without any progress (a
                                                                       // kernel that goes on is
                                                                       // none) ends the run; 0:
                                                                       // never
  bool profile = false;            // measure calls: see Engine::Profile()
  bool trace = false;              // remember what lanes do and when: see Engine::Trace()
  // Called by a thread of the engine when a time-out, this one or a graph's, has ended the run. Who
  // is inside Get() learns of it there, unless that is inside a kernel that never returns. It may
  // call anything of the engine, Teardown() too, but must not destroy it.
  std::function<void(const Status&)> timed_out;
};

struct Input {
  std::string_view name;  // of the port: "x", "pair.x"
  const void* data;       // dense, row-major; copied by Execute unless it is lent
  plan::DType dtype;
  std::span<const int64_t> dims;
  // The data stays as it is until the execution is over, and is read where it lies: until Get()
  // returns anything but kTimeout, and where that is the end of the engine (kClosed, or a time-out
  // that ended it), until Teardown() returns. What is small, or not aligned to its elements, is
  // copied all the same.
  bool lent = false;
};

// The results of one execution. Holding them stalls nothing; they stay valid after the engine is
// torn down. Copies share the memory.
class Outputs {
 public:
  Outputs(const Outputs& other);
  Outputs(Outputs&& other) noexcept : run_(std::exchange(other.run_, nullptr)) {}
  Outputs& operator=(Outputs other) noexcept {
    std::swap(run_, other.run_);
    return *this;
  }
  ~Outputs();

  size_t size() const;
  const std::string& name(size_t i) const;
  const device::Tensor& operator[](size_t i) const;
  const device::Tensor* Find(std::string_view name) const;

 private:
  friend class Execution;
  explicit Outputs(engine::ExecutionState* run) : run_(run) {}  // takes over one reference
  engine::ExecutionState* run_;
};

// One submitted execution. Dropping it is allowed at any time: the execution still runs.
class Execution {
 public:
  Execution(Execution&& other) noexcept
      : run_(std::exchange(other.run_, nullptr)), spare_(other.spare_) {}
  Execution& operator=(Execution&& other) noexcept {
    std::swap(run_, other.run_);
    std::swap(spare_, other.spare_);
    return *this;
  }
  ~Execution();

  // Blocks until it is done, driving worker 0. kFailed: a method reported an error (actor, method,
  // source line and its text are in the message); the engine stays usable.
  Result<Outputs> Get();
  // kTimeout after `timeout`, with the report of who waits for whom; the result can still be
  // fetched later. A time-out of 0 or less means now or an error; one that the clock cannot tell
  // the end of means never.
  Result<Outputs> Get(std::chrono::nanoseconds timeout);
  // Whether Get() would return at once. Sees to it that it will at some time.
  bool Ready() const;

 private:
  friend class Engine;
  explicit Execution(engine::ExecutionState* run) : run_(run) {}  // takes over two references
  Result<Outputs> Fetch();

  engine::ExecutionState* run_;
  bool spare_ = true;  // the reference for the first Outputs is still here
};

// What Execute does when as many executions are in flight as the graph allows.
enum class WhenFull {
  kWait,   // drive worker 0 until there is room
  kError,  // kCapacity, with both numbers
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> Load(std::unique_ptr<plan::Plan> plan,
                                              const EngineOptions& options = {});
  static Result<std::unique_ptr<Engine>> LoadFile(const std::string& path,
                                                  const EngineOptions& options = {});
  ~Engine();  // Teardown()

  // By name, or by index into plan().graphs (no lookup: the fast way). Inputs in any order; all
  // ports must be given. kInvalid when a name, dtype, rank or dim does not fit.
  Result<Execution> Execute(std::string_view graph, std::span<const Input> inputs,
                            WhenFull when_full = WhenFull::kWait);
  Result<Execution> Execute(uint32_t graph, std::span<const Input> inputs,
                            WhenFull when_full = WhenFull::kWait);

  // Ends the run: executions that are not done fail with kClosed, workers are joined (a kernel that
  // runs is waited for). Afterwards every call gets kClosed. A second teardown does nothing.
  void Teardown();

  const plan::Plan& plan() const;

  // Who waits for whom right now, in words, one line per lane that has work left; and as Graphviz.
  std::string WaitReport() const;
  std::string WaitReportDot() const;

  struct Stats {
    uint64_t executions = 0, errors = 0;
    uint64_t allocations = 0;          // of ours since load: grows only while callers hold more
                                       // results than ever before
    uint64_t arena_bytes = 0;          // what Load allocated for the plan's arenas
    uint32_t workers = 0;
    struct Lane {
      std::string name;
      uint64_t busy_ns = 0;            // only when options.profile
    };
    std::vector<Lane> lanes;
  };
  Stats GetStats() const;
  // Mean nanoseconds per method call, by "Actor.method", and by "place.method" where an actor has
  // several instances: what `cgc --profile` reads.
  std::vector<std::pair<std::string, double>> Profile() const;
  // What lanes did in executions of a graph; of each worker as much as there is room for. At any
  // time: what is under way is not in it. Of a graph that the plan has not: nothing.
  plan::GraphTrace Trace(uint32_t graph) const;
  // Nothing that was measured up to now counts: it was for warming up. No execution is in flight.
  void ForgetMeasurements();

 private:
  Engine() = default;
  engine::Core* core_ = nullptr;
};

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_ENGINE_ENGINE_H_

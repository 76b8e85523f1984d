// The engine: runs a plan. This is the API for programs that embed cgraph.
//
//   auto engine = Engine::LoadFile("digits.cgplan", {.weights = "weights"});
//   Execution execution = *(*engine)->Execute("classify", {Input("x", images)});
//   Outputs out = *execution.Get();
//
// Load checks the plan, proves it (unless told not to), allocates every arena, prepares every
// kernel, starts the workers and runs the start graph. From then on nothing of ours allocates,
// locks or calls the system, as long as executions keep coming. (Between machines messages are sent
// under a lock, and the MPI does what it does.)
//
// Threads: an Engine may be used from several threads; an Execution by one at a time. The caller's
// Get() without a time-out drives worker 0 itself, so that a caller and two workers never spin on
// two cores; with a time-out, a thread of the engine drives it meanwhile. The same thread takes
// over, within a fraction of a second, while nobody asks for the result of what was submitted.
//
// Graphs run in the order in which they are submitted. Where two of them share state that different
// workers touch, or that one of them touches in a later round than the one that began (plans with
// lags), Execute() of the second first waits until the first is finished. An Execute() that waits,
// for that or for room, is overtaken by others at most a few dozen times.
#ifndef CGRAPH_ENGINE_H_
#define CGRAPH_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cgraph/status.h"
#include "cgraph/tensor.h"

namespace cgraph {

// The types of plans, which a program that embeds the engine hands on and does not read.
namespace wire {
struct PlanT;
}  // namespace wire
namespace plan {
using Plan = wire::PlanT;
struct GraphTrace;
struct TraceProcesses;
}  // namespace plan

namespace cluster {
struct Peers;
}  // namespace cluster

namespace option {  // the kinds of options.def

struct Switch {
  using Type = bool;
};
template <uint32_t most>
struct Count {
  using Type = uint32_t;
  static constexpr uint32_t kMost = most;
};
struct Processes {
  using Type = uint32_t;
};
struct Seconds {
  using Type = std::chrono::nanoseconds;
};
struct Text {
  using Type = std::string;
};
struct Texts {
  using Type = std::vector<std::string>;
};

}  // namespace option

inline constexpr uint32_t kProcessPerDevice = UINT32_MAX;

struct EngineOptions {
#define OPTION(kind, name, initial, known_by, flag, value, help) option::kind::Type name = initial;
#define EXCLUDES(one, other, why)
#include "cgraph/options.def"

  // The program that other processes run: cgrun, or one that calls engine::ServeRank() with the
  // number in its last argument (cluster/lifeline.h). It gets `rank_arguments` before that.
  std::string rank_program = "/proc/self/exe";
  std::vector<std::string> rank_arguments;
  // The processes that a launcher has started, this one the first (cluster/launcher.h): each serves
  // the devices of a node of the plan. Null: all nodes are served here.
  cluster::Peers* peers = nullptr;
  // Where the plan's gpus run: each on the GPU that `gpu_map` names, those that it leaves out on
  // CPU threads; where it is empty, each on one of its own, in order. All of them run on CPU
  // threads where this machine has no GPU that plans can run on (with `require_gpus` that is an
  // error), or `gpus` is false. With `peers`, all of this is said of each node's machine.
  bool gpus = true;
  std::map<uint32_t, uint32_t> gpu_map;
  // Called by a thread of the engine when a time-out, this one or a graph's, or a process that is
  // gone has ended the engine. A caller inside Get() learns of it there, unless it is inside a
  // kernel that never returns. The function may call anything of the engine, Teardown() too, but
  // must not destroy it.
  std::function<void(const Status&)> timed_out;
  // Asked from time to time by a thread that waits before it reads or sets states, or, where the
  // plan has methods in Python, for room: whether the program does not wait any more. Then that
  // fails with kFailed.
  std::function<bool()> interrupted;
  // Called by Load() when it begins with a part of its work that may take long, with what it does
  // then, as "making kernels".
  std::function<void(const std::string&)> loading;
  // Called by a teardown that has waited for a kernel of a GPU for as long as `timeout`. No
  // kernel can be ended, so it is abandoned: its stream and all memory of GPUs and pinned memory
  // that this process has then stay allocated, and inputs that were lent must stay as they are,
  // for it may still read and write. Where there is no function, standard error is told.
  std::function<void(const Status&)> abandoned;
};

namespace engine {
struct Parts;
struct ExecutionState;
}  // namespace engine

struct Input {
  std::string_view name;  // of the port: "x", "pair.x"
  const void* data;       // dense, row-major; copied by Execute unless it is lent. Booleans are
                          // bytes 0 and 1; on a GPU nobody looks at them
  plan::DType dtype;
  std::span<const int64_t> dims;
  // lent: the data stays as it is until the execution is over, and is read where it lies. The
  // execution is over when Get() returns anything but kTimeout and kUnsupported; where that was the
  // end of the engine (kClosed, or a time-out that ended it), when Teardown() returns. Data that is
  // small, or not aligned to its elements, is copied all the same.
  bool lent = false;
  // The GPU in whose memory the data lies, as the driver counts; none: it lies in the host's. Data
  // of a GPU is always lent: queues read it where it lies if they are that GPU's, and if nobody
  // else reads it; else Execute copies it to the host. It reads the data behind all that
  // Engine::HandoverStream(gpu) has been given by then.
  std::optional<uint32_t> gpu = std::nullopt;
};

// The results of one execution. Holding them stalls nothing; they stay valid after the engine is
// torn down. Copies share the memory.
class Outputs {
 public:
  Outputs(const Outputs& other);
  Outputs(Outputs&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)), size_(other.size_) {}
  Outputs& operator=(Outputs other) noexcept {
    std::swap(state_, other.state_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Outputs();

  size_t size() const;
  const std::string& name(size_t i) const;
  const device::Tensor& operator[](size_t i) const;
  const device::Tensor* Find(std::string_view name) const;

  // Returns the GPU in whose memory a result lies, as the driver counts; none: it lies in the
  // host's (EngineOptions::results_on_gpus).
  std::optional<uint32_t> gpu(size_t i) const;
  // Copies a result to the host, wherever it lies. kFailed with the device's error.
  Status CopyOut(size_t i, void* to) const;
  // Says that `stream` (a CUstream of the result's GPU) may still use it for what it has been given
  // up to now, though the last holder lets go: the memory takes no other result before that is
  // over. Nothing, where the result lies in the host's memory.
  void UsedBy(size_t i, void* stream) const;

 private:
  friend class Execution;
  friend class Rounds;
  explicit Outputs(engine::ExecutionState* state);  // takes over one reference
  engine::ExecutionState* state_;
  size_t size_;  // of a round: what the program sees
};

// One submitted execution. Dropping it is allowed at any time: the execution still runs.
class Execution {
 public:
  Execution(Execution&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)), spare_(other.spare_) {}
  Execution& operator=(Execution&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(spare_, other.spare_);
    return *this;
  }
  ~Execution();

  // Blocks until the execution is done, driving worker 0. kFailed: a method reported an error
  // (actor, method, source line and its text are in the message; of several errors the first in
  // program order); the engine stays usable. kUnsupported, at once, where the execution is not done
  // and Engine::CheckCaller() says so; the result can still be fetched later. kClosed,
  // or kTimeout with the report: the engine has ended, by Teardown() or by a time-out. kInvalid or
  // kNotFound, of a plan with lags: there is no memory for the rounds that finish the execution.
  Result<Outputs> Get();
  // As Get(), and returns kTimeout after `timeout`, with the report of who waits for whom; the
  // result can still be fetched later. A time-out of 0 or less means now or an error; one that ends
  // later than the clock can tell means never.
  Result<Outputs> Get(std::chrono::nanoseconds timeout);
  // Returns whether Get() would return at once. Makes sure that it will at some time.
  bool Ready() const;

 private:
  friend class Engine;
  friend class Rounds;
  explicit Execution(engine::ExecutionState* state) : state_(state) {}  // takes over two references
  Result<Outputs> Fetch();

  engine::ExecutionState* state_;
  bool spare_ = true;  // the reference for the first Outputs is still here
};

// Rounds: a run of a graph that repeats (`repeat until done limit N`). What stands before the
// rounds is one execution, and so is each round; each begins when the caller asks for its row, so
// between two calls of Next() nothing is in progress, and states are those of the last row. The
// engine must outlive it. One thread at a time.
class Rounds {
 public:
  // Executes what gives the next row, and returns it; nothing where the run is over. Errors are
  // those of Execute() and Get(). The first one ends the run: every later call returns it, too. An
  // execution that fails may leave states of two rounds. Engine::ReadState() and TakeSnapshot()
  // refuse the states of all actors that the graph uses from then on, until they are set.
  Result<std::optional<Outputs>> Next();
  // Returns whether the condition of the graph's `until` held; false at its limit.
  bool done() const { return done_; }
  // Returns how many rounds were made.
  uint64_t made() const { return made_; }

 private:
  friend class Engine;
  struct Given {  // an input of the program
    std::string name;
    std::vector<uint8_t> bytes;  // unless it is lent
    std::vector<int64_t> dims;
    plan::DType dtype;
    const void* data = nullptr;
    bool lent = false;
    std::optional<uint32_t> gpu;
    Input View() const;
  };
  Rounds(class Engine* engine, uint32_t graph) : engine_(engine), graph_(graph) {}
  Status Take(std::span<const Input> inputs);
  Result<std::optional<Outputs>> Before();
  Result<std::optional<Outputs>> Round();
  Result<Outputs> Execute(uint32_t graph, bool carries);
  Status Fail(Status why);

  class Engine* engine_;
  uint32_t graph_;
  std::vector<Given> inputs_;
  uint64_t limit_ = 0, made_ = 0;
  bool begun_ = false, done_ = false;
  std::optional<Outputs> before_, last_;  // with what they hand on
  Status failed_;
};

// WhenFull: what Execute does when as many executions are in flight as the graph allows.
enum class WhenFull {
  kWait,   // drive worker 0 until there is room
  kError,  // kCapacity, with both numbers
};

class Engine {
 public:
  // Returns an engine whose states are initialised.
  //   kInvalid: the plan breaks a rule, is not proved, does not fit the options, its kernels or its
  //     weight files, or asks for more memory than is free.
  //   kNotFound: a weight file or a library cannot be read, the machine has no GPUs or too few, or
  //     the system gives no more memory or threads.
  //   kUnsupported: this engine lacks a device, a transport, a kernel or a feature of the plan.
  //   kFailed: an initialisation reported an error.
  //   kTimeout: the initialisation stood still for options.timeout, or a file's system gave
  //     up.
  // LoadFile reads the plan first: kNotFound where the file cannot be read, kInvalid where it is no
  // plan, kTimeout where its system gives up.
  static Result<std::unique_ptr<Engine>> Load(std::unique_ptr<plan::Plan> plan,
                                              const EngineOptions& options = {});
  static Result<std::unique_ptr<Engine>> LoadFile(const std::string& path,
                                                  const EngineOptions& options = {});
  ~Engine();  // Teardown()

  // Submits an execution. A graph is named, or given as an index into plan().graphs (no lookup: the
  // fast way). Inputs come in any order; all ports must be given. kInvalid when a name, dtype, rank
  // or dim does not fit, data is null or a boolean neither 0 nor 1; kCapacity when as many are in
  // flight as the graph allows, with WhenFull::kError (which waits, even so, for another graph's
  // execution that has to be over first, and for states that are being read or set); kUnsupported
  // where CheckCaller() says so; kFailed where `interrupted` ends the wait of a plan with methods
  // in Python; kInvalid or kNotFound when there is no memory for a result or a copied input;
  // kClosed after Teardown(); kTimeout after a time-out that ended the engine.
  Result<Execution> Execute(std::string_view graph, std::span<const Input> inputs,
                            WhenFull when_full = WhenFull::kWait);
  Result<Execution> Execute(uint32_t graph, std::span<const Input> inputs,
                            WhenFull when_full = WhenFull::kWait);

  // Begins a run of a graph that repeats; executes nothing yet. Errors as of Execute(), which
  // refuses such a graph, as this refuses others; kInvalid where the limit is negative or above its
  // bound.
  Result<Rounds> Repeat(std::string_view graph, std::span<const Input> inputs);
  Result<Rounds> Repeat(uint32_t graph, std::span<const Input> inputs);

  // Returns a stream (a CUstream) of a GPU on which the engine runs, for the program to let wait
  // for what makes an input there. One for each GPU, the engine's. kUnsupported, with the GPUs that
  // there are, where the engine does not run on this one; kFailed with the driver's error.
  Result<void*> HandoverStream(uint32_t gpu) const;

  // A state of an actor, "stage[0].w"; bytes: dense, row-major.
  struct State {
    std::string name;
    plan::DType dtype = plan::DType::f32;
    std::vector<int64_t> dims;
    uint64_t bytes = 0;
  };
  const std::vector<State>& States() const;
  // Copy a state's bytes out, as the executions up to now have left it, or in, for those that
  // follow, and into all its copies where it is `equal along` an index (states/saved_states.h: all
  // states, as a file). Waits for executions that are in flight, those of other threads, too, and
  // lets none begin meanwhile. kNotFound where there is no such state; kInvalid when its size
  // differs, or what it is set to has booleans that are neither 0 nor 1; kUnsupported where
  // CheckCaller() says so; kFailed where `interrupted` ends the wait; kTimeout where another
  // process does not answer within `timeout`, which ends the engine.
  Status ReadState(std::string_view name, std::span<uint8_t> to);
  Status WriteState(std::string_view name, std::span<const uint8_t> from);

  // All states, and what objects of native code and Python keep, of one moment between executions.
  struct Snapshot {
    struct Tensor {
      std::string name;  // of a state, or of an object: "stage[0].native object", u8[n]
      plan::DType dtype = plan::DType::f32;
      std::vector<int64_t> dims;
      std::vector<uint8_t> bytes;
    };
    struct Unsaved {
      std::string place, why;
    };
    std::vector<Tensor> tensors;
    std::vector<Unsaved> unsaved;  // objects whose libraries cannot save them
  };
  // Waits, and fails, as above; kFailed where a library fails to save an object.
  Result<Snapshot> TakeSnapshot();
  // Sets all of these states and objects or none. Returns the names of the others, which keep their
  // values. Of copies of one variable (`equal along`) one sets those that have no tensor, even one
  // of a place that the plan lacks. As above, and: kInvalid where a tensor is none of the plan's
  // states and objects, or of another size, which of different copies counts is not known, or an
  // object cannot be restored; kFailed where a library refuses the bytes: then objects that were
  // restored already are put back, and where that fails, too, the engine ends.
  Result<std::vector<std::string>> RestoreSnapshot(std::span<const Snapshot::Tensor> tensors);

  // Returns kUnsupported inside a method that the engine calls, and inside what saves or restores
  // an object for it: nothing there can wait for the engine, submit to it, or tear it down.
  Status CheckCaller() const;

  // Ends the engine: executions that are not done fail with kClosed, workers are joined (a kernel
  // that runs is waited for; on a GPU for a time, see EngineOptions::abandoned). Afterwards every
  // call gets kClosed. A second teardown does nothing.
  void Teardown();
  // Returns whether the run has ended: by Teardown(), a time-out, a process that is lost, or a
  // device that has failed as a whole.
  bool Ended() const;

  const plan::Plan& plan() const;

  // Why the run has ended; kOk while it goes on.
  Status EndStatus() const;

  // Report who waits for whom right now: in words, or as a drawing for Graphviz. First comes whom
  // all others wait for, then each lane that has work left, those that do alike together. Once a
  // time-out has ended the run, the drawing is that of the moment before.
  std::string WaitReport() const;
  std::string WaitReportDot() const;

  struct Stats {
    uint64_t executions = 0, errors = 0;
    uint64_t allocations = 0;          // of ours since load: grows only while callers hold more
                                       // results than ever before
    uint64_t arena_bytes = 0;          // what Load allocated for the plan's arenas
    uint32_t workers = 0;
    struct Rank {
      int process = 0;                 // its number; 0: not known
      std::string host;                // its machine's name, where ranks are on several
      std::string devices;             // "gpu[0], gpu[1]"
      // Bytes of weights that it reads from its files, and those that rank 0 has sent, where ranks
      // are on several machines.
      uint64_t weights_read = 0, weights_sent = 0;
    };
    std::vector<Rank> ranks;           // of an engine with several processes, this one the first
    struct Lane {
      std::string name;
      uint64_t busy_ns = 0;            // only when options.profile
    };
    std::vector<Lane> lanes;
    std::map<uint32_t, uint32_t> gpus;  // of this machine: the GPU of each device on one
    struct Communicator {
      std::vector<std::string> members;  // as gpu[0], by rank
      // Counts over all graphs, on GPUs: collectives, and messages between machines, which are
      // carried out as broadcasts (runtime/plan/plan.h).
      uint32_t collectives = 0, messages = 0;
      uint32_t by_library = 0;         // of all these, carried out by NCCL
    };
    // Those among GPUs, but not of another machine alone.
    std::vector<Communicator> communicators;
    uint32_t captures = 0;             // CUDA graphs of an execution: each launched as one
  };
  Stats GetStats() const;
  // Says what it costs that EngineOptions::workers asks for more threads than this process may use
  // cores; "" where it does not, or where fewer are made.
  std::string NoteOfWorkers() const;
  // Returns mean nanoseconds per method call, by "Actor.method", and by "place.method" where an
  // actor has several instances: the form that `cgc --profile` reads.
  std::vector<std::pair<std::string, double>> Profile() const;
  // Returns what lanes did in executions of a graph, as much of each worker as there is room for.
  // May be called at any time; what is in progress is not in it. Empty for a graph that the plan
  // does not have.
  plan::GraphTrace Trace(uint32_t graph) const;
  // Returns which process has which lane; nothing where the engine has one process.
  plan::TraceProcesses TraceProcesses() const;
  // Discards all measurements up to now, which were a warm-up. No execution may be in flight.
  void ForgetMeasurements();

 private:
  friend class Rounds;
  Engine() = default;
  engine::Parts* parts_ = nullptr;
  std::vector<bool> repeats_;  // by graph: Repeat() alone executes it
};

}  // namespace cgraph

#endif  // CGRAPH_ENGINE_H_

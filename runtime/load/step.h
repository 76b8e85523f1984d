// Step: an instruction of a plan as it is prepared at load, with everything looked up.
//
// A *program* (StepList) is the in-order list of steps that one work queue issues for one graph.
// The work queue itself runs the steps of lanes whose device is immediate; the others go to a queue
// of their lane.
//
// A *frame* is the memory side of one execution in progress: where each step's operands lie, which
// of its values are poisoned, and the execution that it works for. A graph has as many frames as
// executions can be in progress; execution e uses frame e mod frames, so every address is known
// before the first one (those of outputs, which outlive the execution, are filled in when it is
// submitted).
//
// A *poison flag* is one byte per method call, copy or received message of a frame. 0 means not
// poisoned. A step first looks at the poison flags of what it reads, and a step whose own poison
// flag is set is skipped. In the frame of an empty execution, a round without a submitted one, all
// poison flags are set.
#ifndef CGRAPH_RUNTIME_LOAD_STEP_H_
#define CGRAPH_RUNTIME_LOAD_STEP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/sync/semaphore.h"
#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/device/operations.h"
#include "runtime/device/queue.h"
#include "runtime/load/failure_slot.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/collective.h"

namespace cgraph::engine {

using device::DynamicDim;
using device::Tensor;

class CommGroup;  // lane_queues.h

enum class Op : uint8_t { kCall, kCopy, kInput, kOutput, kComm, kSignal, kWait };

// Slice: entries [first, first + count) of a pool.
struct Slice {
  uint32_t first = 0;
  uint32_t count = 0;
};

struct alignas(64) Step {  // a cache line
  Op op = Op::kCall;
  bool into_output = false;  // output: the value does not lie in the output block yet
  bool queued = false;       // comm: its queue carries it out by itself
  // Comm: a communicator of devices carries out collectives of it. Call of a queue: native code is
  // called when it is issued.
  bool native = false;
  uint16_t lag = 0;  // works for execution (round - lag); wait, signal: 0
  uint16_t inputs = 0;
  uint16_t outputs = 0;
  uint16_t rounds_back = 0;  // wait: the signal is that of so many rounds before
  uint32_t instruction = 0;  // in the plan, for messages
  uint32_t poison_flag = 0;
  // Output: its port. Input: first of the program's `symbols`. Comm: how many steps from this one
  // on happen together, and are all begun before any is waited for.
  uint32_t subject = 0;
  Slice operands;            // of the frame's tensors; comm: of the program's parts
  Slice checks;              // of the program's `checks`
  Slice extents;             // of the program's `extents`
  uint32_t queue = 0;        // of the work queue: 0 is the work queue itself
  uint32_t segment = 0;      // of the program, from 1: the step is recorded; 0: it is issued
  union {
    device::Kernel* kernel = nullptr;      // a call that the work queue runs
    device::Executable* executable;        // a call that a queue runs
    TimelineSemaphore* semaphore;  // a signal, or a wait of a queue
    const std::atomic<uint64_t>* word;     // a wait of the work queue itself: of the semaphore
    CommGroup* group;                      // a comm that a queue runs
  };
};
static_assert(sizeof(Step) == 64);

// CommOp: one end of a transfer, or both ends where one work queue drives both; or one member's
// part of a collective.
struct CommOp {
  enum class Kind : uint8_t { kSend, kReceive, kMove, kCollective };
  Kind kind = Kind::kSend;
  uint16_t lag = 0;
  uint32_t instruction = 0;
  uint32_t message = 0;    // its number among the channel's messages of a round
  uint32_t per_round = 1;  // how many those are
  uint32_t poison_flag = 0;       // of what was received, if anything was
  Slice sources;           // of the frame's tensors
  Slice targets;
  Slice checks;
  Slice extents;
  transport::Channel* channel = nullptr;
  transport::Collective* collective = nullptr;
  uint32_t member = 0;     // of the collective
  Slice givers;            // of the program's `givers`: by member, where the queue communicates
  bool local = false;      // the local transport made the channel or collective: called directly
};

struct Timing {
  std::atomic<uint64_t> ns{0};
  std::atomic<uint64_t> count{0};

  void Add(uint64_t taken) {  // by one thread
    ns.store(ns.load(std::memory_order_relaxed) + taken, std::memory_order_relaxed);
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

// Segment: steps of one queue that are recorded at load, once per frame, and issued as one where
// the first of them stands.
struct Segment {
  std::vector<uint32_t> steps;
  std::vector<std::unique_ptr<device::Recording>> recordings;  // by frame
};

struct StepList {
  std::vector<Step> steps;
  std::vector<CommOp> parts;
  std::vector<uint32_t> checks;   // poison flags
  std::vector<DynamicDim> extents;
  std::vector<uint32_t> symbols;  // that inputs make extents of
  std::vector<uint32_t> givers;   // of collectives: the first tensor of a member; none
  std::vector<Segment> segments;
  uint32_t most_parts = 0;        // in one comm
  uint32_t most_spans = 0;       // in one part
  std::span<Timing> timings;      // per step; only when profiling
  std::vector<std::unique_ptr<device::Communication>> groups;  // comms that queues run: CommGroups

  Slice AddChecks(const std::vector<uint32_t>& poison_flags) {
    const Slice slice{static_cast<uint32_t>(checks.size()),
                      static_cast<uint32_t>(poison_flags.size())};
    checks.insert(checks.end(), poison_flags.begin(), poison_flags.end());
    return slice;
  }
  std::span<const uint32_t> Checks(const Slice& slice) const {
    return {checks.data() + slice.first, slice.count};
  }
  std::span<const DynamicDim> Dims(const Slice& slice) const {
    return {extents.data() + slice.first, slice.count};
  }
};

// FramedExecution: what work queues know of the execution that has a frame.
struct FramedExecution {
  uint64_t number = 0;                  // among the graph's executions
  std::vector<device::Memory> blocks;   // as LoadedGraph::result_blocks
  std::vector<device::Tensor> outputs;  // into the blocks; dims are set by `output`

  // Records an error; of several errors the first in program order is kept. `device_failed`: as a
  // whole, so memory that was written may hold anything; then the engine ends with the error.
  virtual void Fail(uint32_t program_order, Status status, bool device_failed) = 0;

 protected:
  ~FramedExecution() = default;
};

struct Frame {
  // Patch: an address that differs between executions, because the value lies in its output
  // block or in an input that may be lent.
  struct Patch {
    const void** where;
    uint64_t offset;
    uint32_t block = 0;  // of results: which of the execution's blocks
  };
  // InputBlock: where an execution finds a port's data, in the frame's own block or in the caller's
  // memory.
  struct InputBlock {
    void* own = nullptr;
    uint64_t untouched = 0;  // bytes of `own` that have taken no memory yet
    bool lent = false;
    std::vector<Patch> patches;  // of a port that may be lent
  };
  device::Bindings bindings;  // what follows, as operations see it
  std::span<Tensor> tensors;
  std::vector<const void*> extents;  // where each extent that steps use lies, as i64
  std::vector<Patch> patches;
  std::span<std::atomic<uint8_t>> poison_flags;
  // What lanes see of the frame beside values.
  struct Words {
    // True where some poison flag may be set; a thread that sees a poison flag set sees this set,
    // too. So it is always true where a device sets flags by itself
    // (LoadedGraph::flags_unannounced).
    std::atomic<bool> dirty{true};
    std::atomic<bool> empty{true};  // the execution that has the frame was not submitted
    // The execution before has failed: devices clear the flags that they keep for themselves.
    std::atomic<bool> failed{false};
  };
  Words* words = nullptr;
  // Whether the execution that the frame had last failed, and whether it has left flags behind,
  // since it failed or was empty. Under the lock of submission.
  bool failed = false;
  bool flagged = true;
  std::vector<InputBlock> inputs;  // per port
  std::span<int64_t> taken;        // per symbol: the extent that the inputs have
  FailureSlots failures;
  // This is written with each submission, so it is not in a line that workers read at every step.
  // Null at ranks other than the first.
  alignas(128) FramedExecution* execution = nullptr;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_STEP_H_

// Queue: in-order work of a device. The issuer appends operations and never assumes that issuing
// means done: an operation begins when those before it in its queue are over, at any later time.
//
// Everything that an operation needs stands in memory that stays where it is until the operation is
// over: the issuer's frame (*bindings*), and pools that are filled at load. So issuing copies a few
// words.
//
// An operation of an execution looks at poison flags first (*predicate*): when one of those that it
// checks is set, it sets its own and does nothing. An operation that fails sets its own flag, too,
// and its queue goes on; the issuer hears of it later, from Poll.
//
// Completion is a semaphore that the issuer lets the queue signal. Memory that an operation works
// on may be used again when a later signal of the queue has come, and not before.
#ifndef CGRAPH_RUNTIME_DEVICE_QUEUE_H_
#define CGRAPH_RUNTIME_DEVICE_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/kinds/collective.h"
#include "runtime/base/status.h"
#include "runtime/base/sync/semaphore.h"
#include "runtime/device/communicator.h"
#include "runtime/device/tensor.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

// The memory side of one execution in progress, as operations see it.
struct Bindings {
  Tensor* tensors = nullptr;
  const void* const* extents = nullptr;     // where each extent lies, as i64
  std::atomic<uint8_t>* flags = nullptr;    // poison
  std::atomic<bool>* poisoned = nullptr;    // whether any flag may be set
  const int64_t* given = nullptr;           // per symbol: the extent that the inputs have
  uint32_t graph = 0;                       // among the engine's graphs
  uint32_t frame = 0;                       // among the graph's frames

  // Relaxed: a lane that looks at a flag has waited for the operation that sets it, and the wait
  // orders everything.
  bool Poisoned(uint32_t flag) const { return flags[flag].load(std::memory_order_relaxed) != 0; }
  void Poison(uint32_t flag) const {
    poisoned->store(true, std::memory_order_relaxed);
    flags[flag].store(1, std::memory_order_relaxed);
  }
};

inline constexpr uint32_t kNoFlag = UINT32_MAX;
struct Predicate {
  std::span<const uint32_t> checks;  // flags
  uint32_t own = 0;                  // flag; kNoFlag: it never fails and looks at none
};

// A dimension that differs from one execution to the next: read when the operation begins. An
// extent that the inputs have given is known when the operation is issued.
struct DynamicDim {
  uint32_t tensor;  // of the bindings
  uint32_t dim;
  uint32_t extent;  // of the bindings
  uint32_t symbol;
  int64_t bound;
  bool given = false;
};

// Tag: how an issuer names an operation to itself.
struct Tag {
  uint32_t graph = 0;
  uint32_t step = 0;
  uint64_t round = 0;
};

// The fields that every operation on values has.
struct Operation {
  const Bindings* bindings = nullptr;
  Predicate predicate;
  std::span<const DynamicDim> dims;
  Tag tag;
};

class Executable;  // kernel.h

struct Launch : Operation {
  Executable* executable = nullptr;
  const Tensor* operands = nullptr;  // inputs, then outputs
  uint16_t inputs = 0;
  uint16_t outputs = 0;
};

struct Copy : Operation {
  const Tensor* from = nullptr;
  Tensor* to = nullptr;
  bool describes = false;  // gives `to` the dims of `from`, which the issuer must know
  bool moves = true;       // the bytes
  bool fills = false;      // `from` has room for more bytes than `to` has; else all of `from`
};

// A number that the host knows when it issues.
struct Store : Operation {
  Tensor* to = nullptr;  // i64
  int64_t number = 0;
};

// A member's part of a collective of one tensor, among the members of a communicator.
struct Collect : Operation {
  Communicator* communicator = nullptr;
  uint32_t member = 0;
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::optional<Reduction> reduction;  // of kinds that reduce
  uint32_t root = 0;
  plan::DType dtype = plan::DType::f32;
  uint64_t elements = 0;       // of a part that one member gives to one: the same at all members
  const void* from = nullptr;  // null: it gives nothing
  void* to = nullptr;          // null: it gets nothing
  // Set where members do not see each other's poison flags: the operation is an all_reduce by `max`
  // of a byte of this device's memory, in which each member says whether one of `checks` is set.
  // Where some member says so, the operation's own flag is set.
  bool tells_flags = false;
  std::span<const uint32_t> checks;
};

// A group of sends, receives and parts of collectives that happen together. The engine makes it for
// transports that a host drives; the group itself looks at poison and dims, since a message carries
// both.
class Communication {
 public:
  enum class Progress { kPending, kDone, kFailed };  // kFailed: done, with `error`
  virtual ~Communication() = default;
  // Begins the parts that have not begun and ends those that can be ended, in this round; never
  // blocks.
  virtual Progress Advance(uint64_t round, std::string& error) = 0;
};

struct Communicate {
  Communication* group = nullptr;
  Tag tag;
};

// Report: what an issuer hears of an operation after it is over.
struct Report {
  Tag tag;
  bool failed = false;
  std::string error;                  // of the kernel, the transport or the device
  const DynamicDim* beyond = nullptr;  // or: this dimension was beyond its bound
  int64_t extent = 0;                 // and had this extent
  uint64_t begun_ns = 0, ended_ns = 0;  // by the steady clock, where the queue measures
  bool waited = false;                  // these are the times of a wait for another queue
  bool device_failed = false;           // as a whole: nothing can run on it any more
};

// Recording: launches of one frame that a queue has recorded, to be launched as one.
class Recording {
 public:
  virtual ~Recording() = default;
  // Makes what is launched of it. Called once, by any thread, before it is replayed, while its
  // queue issues nothing; others may be finished at the same time. kFailed with what the device
  // refuses.
  virtual Status Finish() { return Status::Ok(); }
};

// Recorder: a queue that records (DeviceTraits::queues_record). What is issued to the queue between
// the first two calls is not done, but recorded: launches whose operands and extents are the same
// whenever their frame is used.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void BeginRecording() = 0;
  // Returns the recording, which is to be finished. kFailed with what could not be recorded.
  virtual Result<std::unique_ptr<Recording>> EndRecording() = 0;
  // Issues a recording. The tag is that of its first operation; the others have its round.
  virtual void Replay(Recording& recording, const Tag& tag) = 0;
};

// Head: the position of a queue, as other threads see it.
struct Head {
  Tag tag;  // of the first operation that is not known to be over
  bool running = false;
  uint64_t finished = 0;  // operations
  uint64_t pending = 0;   // that are issued and not known to be over
  // The last step that may be running: the queue learns of the operations from the first up to this
  // one at the same signal.
  uint32_t last_step = 0;
};

class Queue {
 public:
  virtual ~Queue() = default;  // Close()

  // Ends what is pending of communicators' collectives: some member will not come any more. Called
  // on all queues of an engine before the first of them is closed.
  virtual void AbortCollectives() {}
  // Ends the queue: what has not begun never will; what runs is waited for, at most for
  // QueueOptions::patience. False where it still runs then: the device keeps all that it may touch
  // for the rest of the process, but what the caller has lent.
  virtual bool Close() { return true; }

  // Issue operations. One thread at a time may call these; the operations' memory stays until they
  // are over.
  virtual void Launch(const device::Launch& launch) = 0;
  virtual void Copy(const device::Copy& copy) = 0;
  virtual void Store(const device::Store& store) = 0;
  virtual void Communicate(const device::Communicate& communicate) = 0;
  virtual void Wait(const TimelineSemaphore* semaphore, uint64_t value, const Tag& tag) = 0;
  virtual void Signal(TimelineSemaphore* semaphore, uint64_t value) = 0;

  // For queues whose device makes communicators (Device::communicators). Collectives begin when
  // EndCollectives is called: those since its last call are one group, whose parts do not wait for
  // each other.
  virtual void Collect(const device::Collect&) {}
  virtual void EndCollectives() {}
  // Sets the flag of an operation that is not issued, since the host knows that it is poisoned:
  // operations behind it in the queue, and those of other queues that wait for it, find it set.
  virtual void Poison(const Operation& operation) {
    if (operation.predicate.own != kNoFlag) operation.bindings->Poison(operation.predicate.own);
  }
  // Returns whether an operation would look at poison flags: false where nothing sets them.
  virtual bool Looks(const device::Operation&) const { return true; }

  // Null: this queue records nothing.
  virtual Recorder* recorder() { return nullptr; }

  // Appends the reports of operations since the last call, and gives a queue without a thread of
  // its own the chance to go on. True when anything has moved. A failed operation is reported no
  // later than when a signal behind it is seen.
  virtual bool Poll(std::vector<Report>& reports) = 0;
  // Returns the operation at the front; none when everything is over.
  virtual std::optional<device::Head> Head() = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_QUEUE_H_

// CudaQueue: a stream, and what the host remembers of the operations that it has issued to it.
//
// Issuing appends to the stream and returns. A signal writes the semaphore's word in host memory
// when everything before it is over; a wait holds the stream until the word is there. So operations
// up to a signal that has come are over, and forgotten. What fails on the device leaves an entry in
// the queue's log.
//
// Once the GPU has failed as a whole (an illegal access, a lost device), no signal comes any more:
// the queue then is *broken*, reports every operation as failed, and signals for itself, so that
// executions end. A queue with a collective in progress breaks when the collective's communicator
// fails, and aborts the communicator when it breaks itself or ends, so that no other GPU hangs.
//
// Three kinds of threads come here. The issuer, one at a time, issues and polls; what stands above
// `mutex_` below is its own, but for `clock_`. The device's watcher forgets what is over (Watch).
// Any thread asks for the head. Calls of the driver that append to the stream are the issuer's
// alone, so they need no lock.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_QUEUE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_QUEUE_H_

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/cuda/collectives/nccl_communicator.h"
#include "runtime/device/cuda/device/cuda_graph.h"
#include "runtime/device/cuda/device/poison_table.h"
#include "runtime/device/cuda/device/prepared.h"
#include "runtime/device/cuda/device/stream_clock.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/queue.h"

namespace cgraph::cuda {

class CudaDevice;

class CudaQueue : public device::Queue, public device::Recorder {
 public:
  // kFailed with the driver's error, kInvalid when there is no memory.
  static Result<std::unique_ptr<CudaQueue>> Open(CudaDevice& device,
                                                 const device::QueueOptions& options);
  ~CudaQueue() override { Close(); }
  void AbortCollectives() override;
  bool Close() override;

  void Launch(const device::Launch& launch) override;
  void Copy(const device::Copy& copy) override;
  void Store(const device::Store& store) override;
  void Communicate(const device::Communicate& communicate) override;
  void Wait(const TimelineSemaphore* semaphore, uint64_t value,
            const device::Tag& tag) override;
  void Signal(TimelineSemaphore* semaphore, uint64_t value) override;
  void Collect(const device::Collect& collect) override { collects_.push_back(collect); }
  void EndCollectives() override;
  void Poison(const device::Operation& operation) override;
  bool Looks(const device::Operation& operation) const override;
  device::Recorder* recorder() override { return this; }
  void BeginRecording() override;
  Result<std::unique_ptr<device::Recording>> EndRecording() override;
  void Replay(device::Recording& recording, const device::Tag& tag) override;
  bool Poll(std::vector<device::Report>& reports) override;
  std::optional<device::Head> Head() override;

  // Forgets what is over and wakes the listeners of the signals that have come. Called by the
  // device's watcher. Returns whether it should be called again soon: something is pending, or the
  // queue is broken and its stream not over.
  bool Watch();

 private:
  enum class Kind : uint8_t { kWork, kWait, kSignal };
  struct Issued {
    Kind kind;
    device::Tag tag;
    const TimelineSemaphore* semaphore;
    uint64_t value;
    CUevent begun = nullptr, ended = nullptr;  // of work that is measured
    NcclCommunicator* communicator = nullptr;  // of a collective
    const CudaGraph* graph = nullptr;          // that was launched: this is its first operation
  };
  // Step: what was issued last of a step that may fail.
  struct Step {
    uint64_t round = 0;
    uint32_t frame = 0;
    const Prepared* prepared = nullptr;
    std::span<const device::DynamicDim> dims;
  };

  explicit CudaQueue(CudaDevice& device) : device_(device) {}

  // Returns whether the operation is to be issued.
  bool Begins(const device::Operation& operation);
  // Makes the guard of an operation. Where it has more extents that kernels have made than one
  // guard has room for, the others are checked by a grid of their own, at once.
  Guard GuardOf(const device::Operation& operation, const Prepared* prepared);
  // Sets the operation's flag on the host where that knows already that it will be set: code of
  // others is not called then.
  void CarryOn(const device::Operation& operation) const;
  View ViewOf(const device::Operation& operation, const device::Tensor& tensor) const;
  void Check(CUresult result, const device::Operation& operation, const char* what);
  CUresult Upload(const device::Launch& launch, device::Source& source, std::string& error);
  // Lets code of others append the work of a launch. The host knows whether something that it
  // checks is poisoned: the issuer has waited for it.
  void CallCode(const device::Launch& launch, device::QueueCode& code);
  // Returns whether the stream is to have it: not when the queue is broken.
  bool Remember(Issued issued);
  // Remember work that is issued between the two calls; BeginWork returns what Remember does.
  bool BeginWork(const device::Operation& operation, NcclCommunicator* communicator = nullptr,
                 const CudaGraph* graph = nullptr);
  void EndWork();
  void ReportTimes(const Issued& work);  // under mutex_
  void Fail(const device::Operation& operation, std::string error);
  // Sets an operation's flag on the host now, and on the GPU where the operation would have stood.
  CUresult SetFlag(const device::Operation& operation);
  // Breaks the queue, for good: the GPU or a communicator has failed.
  void Break(std::string why);                // under mutex_
  void BreakBy(CUresult error);               // under mutex_
  // The poison flags that members of a collective tell each other, before and after it.
  void ShowFlags(const device::Collect& collect);
  void TakeFlags(const device::Collect& collect);
  void BreakByCollective(const Status& issued);  // which was not issued; under mutex_
  void AbortIssued(const std::string& why);  // the collectives; under mutex_
  // Breaks the queue where one of the first `count` entries is a collective whose communicator was
  // aborted; `asks`: NCCL about each communicator of them, too.
  void LookAtCollectives(size_t count, bool asks);  // under mutex_
  // Forgets what is over and, of a broken queue, all; under mutex_, as the two that do so. Appends
  // the semaphores whose signals have come. Returns whether anything was forgotten.
  bool Forget(std::vector<const TimelineSemaphore*>& come);
  bool ForgetOver(std::vector<const TimelineSemaphore*>& come);
  // Fails what was issued to a broken queue, and signals in its place.
  bool FailIssued(std::vector<const TimelineSemaphore*>& come);
  // Returns how many entries are over: those up to the last signal that has come, and itself. A
  // queue is in order, so what stands before a signal is over when the signal has come.
  size_t CountOver() const;
  CUresult StreamState() const;  // what the driver says of the stream, or of its context
  // Asks now and then whether the GPU or a communicator has failed; then the queue is broken.
  bool FindsFailure();  // under mutex_
  void ReadLog(std::vector<device::Report>& reports);
  // Signals in place of a queue that does not any more. Semaphores never go back. Returns whether
  // the value was not reached before.
  static bool Force(const TimelineSemaphore& semaphore, uint64_t value);
  // Waits until the stream is over, while nothing that it waits for comes from others any more.
  bool AwaitEnd();

  CudaDevice& device_;
  CUstream stream_ = nullptr;
  device::Memory scratch_;
  device::Memory log_memory_;
  FailureLog* log_ = nullptr;
  uint64_t failures_seen_ = 0;
  std::vector<View> views_;                // of the operation that is issued
  std::vector<device::Tensor> tensors_;    // likewise, where code of others appends it
  std::vector<device::Collect> collects_;  // since the last group
  std::unique_ptr<CudaGraph> recording_;  // while it is made
  std::chrono::nanoseconds stall_timeout_{0};
  std::unique_ptr<StreamClock> clock_;  // where operations are measured; under mutex_
  std::vector<std::vector<Step>> steps_;  // per graph

  std::mutex mutex_;  // of what follows
  std::deque<Issued> issued_;
  std::optional<device::Tag> last_tag_;  // of what was issued last: signals have none of their own
  uint64_t finished_ = 0;
  uint32_t looks_ = 0;  // in vain since something was over
  bool broken_ = false;
  std::string why_broken_;
  // What a broken queue has signalled for itself; what the stream may still wait for although it is
  // forgotten.
  std::map<const TimelineSemaphore*, uint64_t> forced_, awaited_;
  std::vector<device::Report> reports_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_QUEUE_H_

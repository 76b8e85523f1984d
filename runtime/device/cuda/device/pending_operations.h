// PendingOperations: what the host remembers of the operations that were issued to a stream, until
// they are over.
//
// A signal writes the semaphore's word in host memory when everything before it is over; a wait
// holds the stream until the word is there. So operations up to a signal that has come are over,
// and forgotten.
//
// Once the GPU has failed as a whole (an illegal access, a lost device), no signal comes any more:
// the stream then is *broken*. Every operation is reported as failed, and signals are made in its
// place, so that executions end. A stream with a collective in progress breaks when the
// collective's communicator fails. When it breaks itself or ends, it aborts the communicator, so
// that no other GPU hangs.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_PENDING_OPERATIONS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_PENDING_OPERATIONS_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/sync/semaphore.h"
#include "runtime/device/cuda/collectives/nccl_communicator.h"
#include "runtime/device/cuda/device/cuda_graph.h"
#include "runtime/device/cuda/device/logical_gpu.h"
#include "runtime/device/cuda/device/stream_clock.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"

namespace cgraph::cuda {

class PendingOperations {
 public:
  explicit PendingOperations(LogicalGpu& gpu) : gpu_(gpu) {}

  // Called once, before anything is issued. kFailed with the driver's error.
  Status Begin(CUstream stream, const device::QueueOptions& options);

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
  // Returns whether the caller is to append it to the stream: not when that is broken.
  bool Remember(Issued issued);
  // Remember work that is issued between the two calls; BeginWork returns what Remember does.
  bool BeginWork(const device::Operation& operation, NcclCommunicator* communicator = nullptr,
                 const CudaGraph* graph = nullptr);
  void EndWork();
  // Reports an operation as failed. `set`: what the driver says of setting its flag.
  void Fail(const device::Tag& tag, CUresult set, std::string error);
  // Breaks the stream, for good.
  void Break(std::string why);
  // Called behind a group of collectives. Where it could not be issued, the stream breaks.
  void EndCollectives(const Status& issued, std::span<const device::Collect> collects);

  // As those of Queue.
  bool Poll(std::vector<device::Report>& reports);
  std::optional<device::Head> Head();
  // Forgets what is over and wakes the listeners of the signals that have come. Called by the
  // device's watcher. Returns whether it should be called again soon: something is pending, or the
  // stream is broken and not over.
  bool Watch();

  void AbortCollectives();
  // Waits until the stream is over, while nothing that it waits for comes from others any more.
  // False where it still runs after the stall timeout: then it is given up, and its events stay.
  bool End();

 private:
  bool AwaitEnd();
  // All that follow are called under mutex_.
  void BreakLocked(std::string why);
  void AbortIssued(const std::string& why);  // the collectives
  void ReportTimes(const Issued& work);
  // Breaks the stream where one of the first `count` entries is a collective whose communicator was
  // aborted. `asks`: asks NCCL about each of their communicators first.
  void LookAtCollectives(size_t count, bool asks);
  // Forgets what is over and, of a broken stream, all; so do the two that follow. Appends the
  // semaphores whose signals have come. Returns whether anything was forgotten.
  bool Forget(std::vector<const TimelineSemaphore*>& come);
  bool ForgetOver(std::vector<const TimelineSemaphore*>& come);
  // Fails what was issued to a broken stream, and signals in its place.
  bool FailIssued(std::vector<const TimelineSemaphore*>& come);
  // Returns how many entries are over: those up to the last signal that has come, and itself. A
  // stream is in order, so what stands before a signal is over when the signal has come.
  size_t CountOver() const;
  CUresult StreamState() const;  // what the driver says of the stream, or of its context
  // Asks now and then whether the GPU or a communicator has failed; then the stream is broken.
  bool FindsFailure();

  LogicalGpu& gpu_;
  CUstream stream_ = nullptr;
  std::chrono::nanoseconds stall_timeout_{0};

  std::mutex mutex_;  // of what follows
  std::unique_ptr<StreamClock> clock_;  // where operations are measured
  std::deque<Issued> issued_;
  std::optional<device::Tag> last_tag_;  // of what was issued last: signals have none of their own
  uint64_t finished_ = 0;
  uint32_t looks_ = 0;  // in vain since something was over
  bool broken_ = false;
  std::string why_broken_;
  // What was signalled in place of the broken stream; what the stream may still wait for although
  // it is forgotten.
  std::map<const TimelineSemaphore*, uint64_t> forced_, awaited_;
  std::vector<device::Report> reports_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_PENDING_OPERATIONS_H_

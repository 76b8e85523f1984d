// CudaQueue: a stream, to which one thread issues operations.
//
// Issuing appends to the stream and returns. What the host remembers of it until it is over is in
// PendingOperations, which also says what happens where the GPU fails as a whole. What fails on the
// device leaves an entry in the queue's log (QueueLog).
//
// Three kinds of threads come here. The issuer, one at a time, issues and polls; what this class
// keeps beside `pending_` is its own. The device's watcher forgets what is over
// (PendingOperations::Watch). Any thread asks for the head. Calls of the driver that append to the
// stream are the issuer's alone, so they need no lock.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_QUEUE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_QUEUE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/cuda/device/cuda_graph.h"
#include "runtime/device/cuda/device/device_poison.h"
#include "runtime/device/cuda/device/logical_gpu.h"
#include "runtime/device/cuda/device/pending_operations.h"
#include "runtime/device/cuda/device/queue_log.h"
#include "runtime/device/cuda/device/queue_watcher.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"

namespace cgraph::cuda {

class CudaQueue : public device::Queue, public device::Recorder {
 public:
  // What belongs to the device outlives the queue. kFailed with the driver's error, kInvalid when
  // there is no memory.
  static Result<std::unique_ptr<CudaQueue>> Open(LogicalGpu& gpu, const DevicePoison& poison,
                                                 QueueWatcher& watcher,
                                                 const device::QueueOptions& options);
  ~CudaQueue() override { Close(); }
  void AbortCollectives() override { pending_.AbortCollectives(); }
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
  std::optional<device::Head> Head() override { return pending_.Head(); }

 private:
  using Kind = PendingOperations::Kind;
  CudaQueue(LogicalGpu& gpu, const DevicePoison& poison, QueueWatcher& watcher)
      : gpu_(gpu), poison_(poison), watcher_(watcher), pending_(gpu), log_(poison) {}

  // Makes the context current. False where that fails, or the operation's flag is set already.
  // While the queue records it does nothing and returns true.
  bool IsToBeIssued(const device::Operation& operation);
  // As those of PendingOperations; they do nothing while the queue records.
  bool BeginWork(const device::Operation& operation, NcclCommunicator* communicator = nullptr);
  void EndWork();
  // Makes the guard of an operation. Where it has more extents that kernels have made than one
  // guard has room for, the others are checked by a grid of their own, at once.
  Guard GuardOf(const device::Operation& operation, const Prepared* prepared);
  void Check(CUresult result, const device::Operation& operation, const char* what);
  // Reports an operation as failed, and sets its flag on the host and on the stream.
  void Fail(const device::Operation& operation, std::string error);
  CUresult Upload(const device::Launch& launch, device::Source& source, std::string& error);
  // Lets code of others append the work of a launch. The host knows whether something that it
  // checks is poisoned: the issuer has waited for it.
  void CallCode(const device::Launch& launch, device::QueueCode& code);

  LogicalGpu& gpu_;
  const DevicePoison& poison_;
  QueueWatcher& watcher_;
  CUstream stream_ = nullptr;
  device::Memory scratch_;
  std::vector<View> views_;                // of the operation that is issued
  std::vector<device::Tensor> tensors_;    // likewise, where code of others appends it
  std::vector<device::Collect> collects_;  // since the last group
  std::unique_ptr<CudaGraph> recording_;   // while it is made
  PendingOperations pending_;
  QueueLog log_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_QUEUE_H_

// NcclCommunicator: GPUs that carry out collectives by NCCL, a rank each. Some of them may be
// served by other processes, which have communicators of the same id.
//
// NCCL's handles take calls of one thread at a time. While collectives may be issued, those of a
// rank are under the rank's lock; one thread makes, registers and ends all ranks, before and after.
// No handle blocks. When something fails (NCCL reports an error, a GPU is lost, a queue ends with
// work pending), all ranks are *aborted*: their kernels end, with values that are worth nothing, so
// that no stream hangs. An aborted communicator carries nothing out any more. Each process aborts
// its own ranks. Several processes end a communicator in the same way, so that none waits for
// another.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_COMMUNICATOR_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_COMMUNICATOR_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/communicator.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/libraries/nccl.h"
#include "runtime/device/memory.h"
#include "runtime/device/queue.h"

namespace cgraph::cuda {

class NcclCommunicator : public device::Communicator {
 public:
  // Makes an id, for one communicator.
  static Status NewId(const Nccl& nccl, NcclId& id);
  // Makes and connects the ranks, on these GPUs, which differ unless NCCL may have two ranks on one
  // (NcclCommunicators::Of); null: another process's, one at least is not. What waits for others
  // ends where `gives_up` returns true, if there is such a function. kFailed with NCCL's error.
  static Result<std::shared_ptr<NcclCommunicator>> Make(const Nccl& nccl,
                                                        std::vector<std::shared_ptr<Gpu>> gpus,
                                                        const NcclId& id,
                                                        std::function<bool()> gives_up);
  ~NcclCommunicator() override;

  // Returns whether NCCL has a collective of this kind on elements of this type.
  static bool CarriesOut(CollectiveKind kind, std::optional<Reduction> reduction,
                         plan::DType dtype);

  Status Register(std::span<const device::Memory* const> blocks, uint64_t common) override;
  void Deregister() override;
  void Stop() override { stopped_ = true; }
  bool Close(std::chrono::nanoseconds stall_timeout) override;

  // Appends collectives of one GPU to its stream, as one group; they may be of several
  // communicators. The GPU's context is current. kFailed with NCCL's error; then each of the
  // communicators has to be aborted.
  static Status Issue(CUstream stream, std::span<const device::Collect> collects);

  // Begins to abort all ranks, once. Other threads that are issuing to it give up. Never blocks:
  // ncclCommAbort may wait for all that its GPU does, for ever behind a kernel that never ends, so
  // each rank has a thread that calls it.
  void Abort(const std::string& why);
  // Returns whether some rank is to be aborted and is not yet: collectives may still be at work.
  bool Aborting() const;
  // Returns whether results may be worth nothing, and why.
  bool aborted() const { return aborted_.load(); }
  std::string why_aborted() const;
  // Asks NCCL for errors that came after issuing. Ok where nothing is known.
  Status Look();

 private:
  struct Rank {
    std::mutex mutex;
    std::atomic<bool> aborting{false};  // a thread is to abort it, or does
    NcclComm handle = nullptr;  // null: ended
    // What NCCL knows the registered memory by: a window of all ranks, or this rank alone.
    NcclWindow window = nullptr;
    void* registered = nullptr;
  };
  NcclCommunicator(const Nccl& nccl, std::vector<std::shared_ptr<Gpu>> gpus,
                   std::function<bool()> gives_up)
      : nccl_(nccl), gpus_(std::move(gpus)), gives_up_(std::move(gives_up)) {
    for (uint32_t rank = 0; rank < gpus_.size(); ++rank) {
      ranks_.push_back(std::make_shared<Rank>());
      if (gpus_[rank] != nullptr) own_.push_back(rank);
    }
  }
  const Driver& driver() const { return gpus_[own_.front()]->driver(); }
  bool among_processes() const { return own_.size() != ranks_.size(); }

  Status Begin(const NcclId& id);
  // Lets every rank communicate with every other once, so that issuing later has nothing to set up.
  Status Connect();
  Status AwaitConnected(const std::vector<CUstream>& streams);
  Status IssueFirstCalls(uint32_t rank, CUstream stream, std::byte* room);
  Status End();
  static void AbortRank(const Nccl& nccl, Gpu& gpu, Rank& rank);
  int Call(const device::Collect& collect, CUstream stream);
  int CallWithPeers(const device::Collect& collect, int type, uint64_t count, CUstream stream);
  Status RegisterRank(uint32_t rank, const device::Memory& block, uint64_t window);
  // Waits until a rank does no more of what was called; kFailed with its error. `issuing`: gives up
  // where the others were stopped.
  Status Settle(Rank& rank, const char* what, bool issuing = false);
  Status SettleAll(const char* what);
  static Status Check(const Nccl& nccl, int status, const char* what);
  Status Check(int status, const char* what) const { return Check(nccl_, status, what); }

  const Nccl& nccl_;
  const std::vector<std::shared_ptr<Gpu>> gpus_;  // by rank; null: another process's
  const std::function<bool()> gives_up_;
  std::vector<uint32_t> own_;                 // ranks of this process
  std::vector<std::shared_ptr<Rank>> ranks_;  // a thread that aborts one may outlive this
  std::atomic<bool> aborted_{false};
  std::atomic<bool> stopped_{false};
  mutable std::mutex abort_mutex_;  // of what follows
  std::string why_aborted_;
  std::vector<std::thread> aborts_;
};

// Allocates memory that NCCL's collectives read and write where it lies, as AllocateOnGpu. The
// memory is NCCL's where NCCL is there and gives it, and where all GPUs that are open reach this
// one: what its allocator makes cannot be copied to others. Else it is the driver's.
Result<device::Memory> AllocateForCollectives(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                              device::MemoryKind kind, const std::string& what);

// Returns whether memory may be registered with communicators: its allocator was NCCL's.
bool IsOfNccl(const device::Memory& memory);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_COMMUNICATOR_H_

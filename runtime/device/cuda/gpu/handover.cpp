// What a GPU hands over to the program's own use of it, and takes from it (shared_gpu.h).
//
// Threads of the program's call this, whose current context says to CUDA's runtime which GPU they
// are at: it is put back.
#include <mutex>

#include "runtime/device/cuda/gpu/gpu.h"

namespace cgraph::cuda {
namespace {

// CurrentContext: a GPU's context as the calling thread's, until the end of the scope.
class CurrentContext {
 public:
  explicit CurrentContext(const Gpu& gpu) : driver_(gpu.driver()) {
    driver_.cuCtxGetCurrent(&before_);
    result_ = gpu.MakeCurrent();
  }
  ~CurrentContext() { driver_.cuCtxSetCurrent(before_); }
  CurrentContext(const CurrentContext&) = delete;

  CUresult result() const { return result_; }

 private:
  const Driver& driver_;
  CUcontext before_ = nullptr;
  CUresult result_;
};

class CudaFence : public device::Fence {
 public:
  CudaFence(std::shared_ptr<Gpu> gpu, CUevent event) : gpu_(std::move(gpu)), event_(event) {}
  ~CudaFence() override {
    if (gpu_->driver().abandoned()) return;
    const CurrentContext current(*gpu_);
    gpu_->driver().cuEventDestroy(event_);
  }

  bool Over() override {
    const CurrentContext current(*gpu_);
    return gpu_->driver().cuEventQuery(event_) != CUDA_ERROR_NOT_READY;
  }
  void Await() override {
    const CurrentContext current(*gpu_);
    gpu_->driver().cuEventSynchronize(event_);
  }

 private:
  const std::shared_ptr<Gpu> gpu_;
  const CUevent event_;
};

// Handover: the stream for what makes inputs, and fences of streams of the program's.
class Handover : public device::SharedGpu {
 public:
  explicit Handover(Gpu& gpu) : gpu_(gpu), driver_(gpu.driver()) {}
  ~Handover() override {
    if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  }

  uint32_t number() const override { return static_cast<uint32_t>(gpu_.ordinal()); }
  Result<void*> HandoverStream() override;
  Status AwaitHandover() override;
  bool Reads(const void* data) const override;
  Status Fetch(void* to, const void* from, uint64_t bytes) override;
  std::unique_ptr<device::Fence> MakeFence(void* stream) override;

 private:
  Gpu& gpu_;
  const Driver& driver_;
  std::mutex mutex_;
  CUstream stream_ = nullptr;  // made once; under mutex_
};

Result<void*> Handover::HandoverStream() {
  std::lock_guard lock(mutex_);
  if (stream_ == nullptr) {
    const CurrentContext current(gpu_);
    const char* const what = "making a stream for inputs";
    CGRAPH_RETURN_IF_ERROR(gpu_.Check(current.result(), what));
    CGRAPH_RETURN_IF_ERROR(
        gpu_.Check(driver_.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0), what));
  }
  return static_cast<void*>(stream_);
}

Status Handover::AwaitHandover() {
  CUstream stream = nullptr;
  {
    std::lock_guard lock(mutex_);
    stream = stream_;
  }
  if (stream == nullptr) return Status::Ok();
  const CurrentContext current(gpu_);
  const char* const what = "waiting for what makes an input";
  CGRAPH_RETURN_IF_ERROR(gpu_.Check(current.result(), what));
  // Usually it is over, and asking costs less than waiting.
  const CUresult state = driver_.cuStreamQuery(stream);
  if (state != CUDA_ERROR_NOT_READY) return gpu_.Check(state, what);
  return gpu_.Check(driver_.cuStreamSynchronize(stream), what);
}

bool Handover::Reads(const void* data) const {
  const CurrentContext current(gpu_);
  if (current.result() != CUDA_SUCCESS) return false;
  int owner = -1;
  const CUresult known =
      driver_.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, AddressOf(data));
  return known == CUDA_SUCCESS && owner == gpu_.ordinal();
}

// In a stream of its own: a copy in the default stream would wait for all that others have given to
// theirs.
Status Handover::Fetch(void* to, const void* from, uint64_t bytes) {
  if (bytes == 0) return Status::Ok();
  auto stream = HandoverStream();
  if (!stream.ok()) return stream.status();
  const CurrentContext current(gpu_);
  const char* const what = "copying to the host";
  const auto on = static_cast<CUstream>(*stream);
  CGRAPH_RETURN_IF_ERROR(gpu_.Check(current.result(), what));
  CGRAPH_RETURN_IF_ERROR(
      gpu_.Check(driver_.cuMemcpyAsync(AddressOf(to), AddressOf(from), bytes, on), what));
  return gpu_.Check(driver_.cuStreamSynchronize(on), what);
}

// Where the event cannot be had, the stream's work is waited for at once.
std::unique_ptr<device::Fence> Handover::MakeFence(void* stream) {
  if (driver_.abandoned()) return nullptr;
  const CurrentContext current(gpu_);
  CUevent event = nullptr;
  const auto of = static_cast<CUstream>(stream);
  if (driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
    if (driver_.cuEventRecord(event, of) == CUDA_SUCCESS) {
      return std::make_unique<CudaFence>(gpu_.shared_from_this(), event);
    }
    driver_.cuEventDestroy(event);
  }
  driver_.cuStreamSynchronize(of);
  return nullptr;
}

}  // namespace

std::unique_ptr<device::SharedGpu> MakeHandover(Gpu& gpu) {
  return std::make_unique<Handover>(gpu);
}

}  // namespace cgraph::cuda

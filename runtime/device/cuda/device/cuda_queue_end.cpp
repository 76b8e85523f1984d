// How a queue ends, whatever its stream still waits for or does.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/device/cuda/device/cuda_device.h"
#include "runtime/device/cuda/device/cuda_queue.h"

namespace cgraph::cuda {


namespace {

// How often it is looked whether the stream of a queue that ends is over.
constexpr auto kLookEvery = std::chrono::microseconds(20);

}  // namespace

// A read-modify-write: the stream, the watcher and the thread that closes may signal the same word
// at once, and a lower value must not replace a higher one.
bool CudaQueue::Force(const TimelineSemaphore& semaphore, uint64_t value) {
  auto* word = const_cast<std::atomic<uint64_t>*>(semaphore.word());
  uint64_t now = word->load();
  while (now < value) {
    if (word->compare_exchange_weak(now, value)) return true;
  }
  return false;
}

void CudaQueue::AbortCollectives() {
  std::lock_guard lock(mutex_);
  std::vector<const TimelineSemaphore*> come;
  Forget(come);
  AbortIssued("the engine was torn down");
}

bool CudaQueue::Close() {
  if (stream_ == nullptr) return true;
  device_.Remove(this);  // from here on the watcher does not come to it
  const Driver& driver = device_.gpu()->driver();
  AbortCollectives();
  {
    std::lock_guard lock(mutex_);
    for (const Issued& issued : issued_) {
      if (issued.kind == Kind::kWait) awaited_[issued.semaphore] = issued.value;
    }
  }
  device_.gpu()->MakeCurrent();
  if (!AwaitEnd()) {
    driver.Abandon();
    static_cast<void>(clock_.release());
    stream_ = nullptr;
    return false;
  }
  clock_.reset();
  driver.cuStreamDestroy(std::exchange(stream_, nullptr));
  return true;
}

// No thread signals any more what the stream waits for, so this one does; the operations behind the
// waits then work on memory that is not read. The stream of a broken queue may still write the
// lower value that it was to signal, which takes a semaphore back. So all are signalled again and
// again until the stream is over, or the driver reports an error of it.
bool CudaQueue::AwaitEnd() {
  const Driver& driver = device_.gpu()->driver();
  const auto begun = std::chrono::steady_clock::now();
  int unknown = 0;
  while (unknown < 2) {
    for (const auto& [semaphore, value] : awaited_) Force(*semaphore, value);
    const CUresult state = driver.cuStreamQuery(stream_);
    if (state == CUDA_SUCCESS) return true;
    if (state != CUDA_ERROR_NOT_READY) ++unknown;
    const std::chrono::nanoseconds most = driver.StallTimeout(stall_timeout_);
    if (most.count() != 0 && std::chrono::steady_clock::now() - begun > most) return false;
    std::this_thread::sleep_for(kLookEvery);
  }
  return true;
}

}  // namespace cgraph::cuda

// SharedGpu: a GPU that the program uses beside the engine, in the same process. Tensors of the
// program's lie in its memory, such as PyTorch's, and results of ours may.
//
// The program hands such memory over with a *stream* of the GPU's, a queue of its own (CUDA's
// CUstream). The memory holds its values when the stream has come so far, so its next reader waits
// for that.
#ifndef CGRAPH_RUNTIME_DEVICE_SHARED_GPU_H_
#define CGRAPH_RUNTIME_DEVICE_SHARED_GPU_H_

#include <cstdint>
#include <memory>

#include "runtime/base/status.h"

namespace cgraph::device {

// Fence: what a stream had to do at one time.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool Over() = 0;
  virtual void Await() = 0;  // also returns where the GPU has failed
};

class SharedGpu {
 public:
  virtual ~SharedGpu() = default;

  // As the driver counts GPUs.
  virtual uint32_t number() const = 0;
  // Returns a stream of this GPU for others to let wait for what makes an input; it is made when it
  // is first asked for. Thread-safe, as all that follows. kFailed with the driver's error.
  virtual Result<void*> HandoverStream() = 0;
  // Waits until that stream has come to its end. kFailed with the driver's error: work of others
  // may have failed, and the GPU with it.
  virtual Status AwaitHandover() = 0;
  // Returns whether copies in queues of this GPU may read the program's memory where it lies: it is
  // this GPU's.
  virtual bool Reads(const void* data) const = 0;
  // Copies from memory of this GPU to the host; done when it returns. kFailed with the driver's
  // error.
  virtual Status Fetch(void* to, const void* from, uint64_t bytes) = 0;
  // Returns a fence behind all that a stream of the program's on this GPU has been given up to now.
  // Null where that is over for sure.
  virtual std::unique_ptr<Fence> MakeFence(void* stream) = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SHARED_GPU_H_

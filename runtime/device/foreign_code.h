// Code of the host that gives a queue its work in the device's own terms, such as a method in
// native code that launches kernels on a CUDA stream.
#ifndef CGRAPH_RUNTIME_DEVICE_FOREIGN_CODE_H_
#define CGRAPH_RUNTIME_DEVICE_FOREIGN_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/kernel.h"
#include "runtime/device/tensor.h"

namespace cgraph::device {

class QueueCode {
 public:
  virtual ~QueueCode() = default;

  // A queue, as the device's own functions name it: of CUDA a stream, and the number of the GPU.
  struct Stream {
    void* handle = nullptr;
    int32_t device = 0;
  };
  // An output that starts with the bytes of an input of the same type, in memory of its own or not.
  struct Kept {
    uint16_t input = 0;
    uint16_t output = 0;
  };
  virtual std::span<const Kept> kept() const = 0;

  // Appends the work of one call to the stream, without waiting for it. Called by the thread that
  // issues to the queue, when nothing that the operands depend on has failed; they have the extents
  // of this execution. False, with `error`, when the call has failed.
  virtual bool Append(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                      const Stream& stream, std::string& error) = 0;
  // What the queue then stores in the first element of the last output, an i64; none: the code's
  // work has made it.
  virtual std::optional<int64_t> stored() const { return std::nullopt; }
};

// ForeignCode: a device whose memory the host does not reach, and to whose queues code of the host
// gives work.
class ForeignCode {
 public:
  virtual ~ForeignCode() = default;
  // Makes an executable that calls the code. It is never recorded.
  virtual Result<std::unique_ptr<Executable>> MakeQueueCode(std::unique_ptr<QueueCode> code) = 0;
  // Makes the device current in the calling thread, for code that uses what it has taken of the
  // device, as CUDA's context is. False where nothing of it may be used or freed any more, since a
  // kernel was abandoned.
  virtual bool MakeCurrent() = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_FOREIGN_CODE_H_

// QueueCode: code of the host that gives a queue its work in the device's own terms, as a method in
// native code does that launches kernels on a CUDA stream.
#ifndef CGRAPH_RUNTIME_DEVICE_QUEUE_CODE_H_
#define CGRAPH_RUNTIME_DEVICE_QUEUE_CODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

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
  // What the queue then stores in the last output, an i64; none: the code's work has made it.
  virtual std::optional<int64_t> stored() const { return std::nullopt; }
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_QUEUE_CODE_H_

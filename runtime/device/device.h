// Device: where memory lies and executables run, behind one interface for every kind of device.
//
// At load the engine asks a device for the memory of its arenas, for executables, and for a queue
// per lane. Everything that runs afterwards is an operation of a queue (queue.h).
//
// An *immediate* device does its work on the issuing thread: nothing is ever pending. The worker
// that drives its lanes may then run operations itself, in the order in which it would issue them,
// without a queue in between (operations.h): all lanes of a worker are one in-order queue. The CPU
// is an immediate device. Its executables are Kernels (kernel.h).
#ifndef CGRAPH_RUNTIME_DEVICE_DEVICE_H_
#define CGRAPH_RUNTIME_DEVICE_DEVICE_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "runtime/device/executable.h"
#include "runtime/device/memory.h"
#include "runtime/device/queue.h"
#include "runtime/device/tensor.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::device {

struct QueueOptions {
  EventCount* on_report = nullptr;    // notified when Poll has something to report
  uint64_t scratch = 0;    // most bytes that an executable needs
  bool measured = false;   // report when operations began and ended
};

// Source: bytes that come from outside, such as a slice of a weight file.
class Source {
 public:
  virtual ~Source() = default;
  virtual Status Read(std::span<uint8_t> to) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual Result<Memory> Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) = 0;

  // Copies between the host and this device's memory; done when it returns. No operation may be at
  // work on that memory.
  void CopyIn(const Memory& to, uint64_t offset, const void* from, uint64_t bytes) {
    if (bytes == 0) return;
    if (!to.host_visible()) return Upload(to.data() + offset, from, bytes);
    std::memcpy(to.data() + offset, from, bytes);
  }
  void CopyOut(void* to, const Memory& from, uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return;
    if (!from.host_visible()) return Download(to, from.data() + offset, bytes);
    std::memcpy(to, from.data() + offset, bytes);
  }

  virtual Result<std::unique_ptr<Executable>> MakeKernel(const plan::Kernel& kernel,
                                                         std::span<const OperandType> inputs,
                                                         std::span<const OperandType> outputs) = 0;
  // Makes an executable that fills its one output from `source`.
  virtual Result<std::unique_ptr<Executable>> MakeUpload(std::unique_ptr<Source> source) = 0;

  virtual bool immediate() const { return false; }
  virtual Result<std::unique_ptr<Queue>> OpenQueue(const QueueOptions& options) = 0;
  // The event count of this device's own thread, which is notified when something that its queues
  // wait for has come. Null when there is no such thread: then the thread that polls the queue is
  // notified.
  virtual EventCount* driver() { return nullptr; }

 private:
  virtual void Upload(std::byte* to, const void* from, uint64_t bytes) = 0;
  virtual void Download(void* to, const std::byte* from, uint64_t bytes) = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_DEVICE_H_

// Device: where memory lies and executables run, behind one interface for every kind of device.
//
// At load the engine asks a device for the memory of its arenas, for executables, and for a queue
// per lane. Everything that runs afterwards is an operation of a queue (queue.h).
//
// What only some devices do is a facet, which a device returns or has none of: communicators
// (communicator.h), memory that other processes reach (shared_memory.h), code of others for its
// queues (foreign_code.h), a GPU that the program uses, too (shared_gpu.h).
//
// An *immediate* device does its work on the issuing thread: nothing is ever pending. The worker
// that drives its lanes may then run operations itself, in the order in which it would issue them,
// without a queue in between (operations.h): all lanes of a worker are one in-order queue. The CPU
// is an immediate device. Its executables are Kernels (kernel.h).
#ifndef CGRAPH_RUNTIME_DEVICE_DEVICE_H_
#define CGRAPH_RUNTIME_DEVICE_DEVICE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/communicator.h"
#include "runtime/device/foreign_code.h"
#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/device/queue.h"
#include "runtime/device/shared_gpu.h"
#include "runtime/device/shared_memory.h"
#include "runtime/device/tensor.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

struct QueueOptions {
  EventCount* on_report = nullptr;    // notified when Poll has something to report
  uint64_t scratch = 0;               // most bytes that an executable needs
  bool measured = false;              // report when operations began and ended
  std::chrono::nanoseconds stall_timeout{0};  // for what runs, when the queue ends; 0: none
};

// Source: bytes that come from outside, such as a slice of a weight file.
class Source {
 public:
  virtual ~Source() = default;
  // Fills `to`. kNotFound when the bytes cannot be read; kInvalid when there are fewer, or others,
  // than there were at load; kTimeout when the file's system gives up.
  virtual Status Read(std::span<uint8_t> to) = 0;
};

// What a device is told of a graph at load, before queues run it.
struct GraphLayout {
  uint32_t graph = 0;                    // among the engine's graphs
  uint32_t device = 0;                   // this one's number in the plan
  std::span<const uint32_t> setters;     // per poison flag: the number of the device that sets it
  const std::vector<bool>* may_fail = nullptr;  // per poison flag: may an execution set it
  std::vector<const Bindings*> frames;
  std::vector<std::span<const uint32_t>> checks;  // the pools that predicates point into
  uint32_t steps = 0;                    // tags of its operations have lower steps
};

// What a device is like. The engine chooses by it how steps are issued and what carries values.
struct DeviceTraits {
  bool immediate = false;
  // Whether waits for a signal of the host's may be issued to queues. Else the issuer itself waits
  // for it before it issues what is behind, so that nothing of a queue hangs on the host.
  bool queues_host_waits = true;
  // Whether queues carry out communications by themselves, between their own waits and signals.
  // Else the host drives them.
  bool queues_communicate = false;
  // Whether instructions of the host's lanes may touch this device's memory where it lies.
  bool host_reaches_memory = true;
  // Whether queues can record launches and issue them as one (Queue::recorder).
  bool queues_record = false;
};

class Device {
 public:
  explicit Device(const DeviceTraits& traits = {}) : traits_(traits) {}
  virtual ~Device() = default;

  const DeviceTraits& traits() const { return traits_; }

  // Returns zeroed memory (memory.h). kInvalid, with `what`, when it is more than is free or than
  // the system gives.
  virtual Result<Memory> Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) = 0;

  // Copies between the host and this device's memory; done when it returns. No operation may be at
  // work on that memory. kFailed with the device's error.
  Status CopyIn(const Memory& to, uint64_t offset, const void* from, uint64_t bytes) {
    if (bytes == 0) return Status::Ok();
    if (!to.host_visible()) return Upload(to.data() + offset, from, bytes);
    CopyBytes(to.data() + offset, from, bytes);
    return Status::Ok();
  }
  Status CopyOut(void* to, const Memory& from, uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return Status::Ok();
    if (!from.host_visible()) return Download(to, from.data() + offset, bytes);
    CopyBytes(to, from.data() + offset, bytes);
    return Status::Ok();
  }

  // Makes an executable for operands of these types. kUnsupported when there is no such kernel for
  // them; kInvalid when they break one of its rules; kNotFound when a library that it needs cannot
  // be loaded.
  virtual Result<std::unique_ptr<Executable>> MakeKernel(const plan::Kernel& kernel,
                                                         std::span<const OperandType> inputs,
                                                         std::span<const OperandType> outputs) = 0;
  // Makes an executable that fills its one output from `source`; it fails where the source does.
  // The CPU never refuses to make one.
  virtual Result<std::unique_ptr<Executable>> MakeUpload(std::unique_ptr<Source> source) = 0;

  // Whether queues of this device may read the memory of another one of its backend where it lies.
  virtual bool Reaches(const Device&) const { return true; }
  // Called at load, once per graph, after its executables and before its queues are made.
  // kInvalid when there is no memory for its poison flags.
  virtual Status AddGraph(const GraphLayout&) { return Status::Ok(); }
  // Called before a frame in which an execution has failed takes the next one: clears this device's
  // own poison flags of it. No operation of the frame is pending. kFailed ends the engine.
  virtual Status ClearPoison(const Bindings&) { return Status::Ok(); }
  // kFailed with the error, as soon as this device has failed as a whole, or what its queues
  // communicate by: before anybody can see what has come of it.
  virtual Status Failure() const { return Status::Ok(); }
  // Returns whether queues may read this host memory of the caller's while the caller goes on.
  virtual bool CanLend(const void*) const { return true; }
  // kInvalid when there is no memory for the scratch.
  virtual Result<std::unique_ptr<Queue>> OpenQueue(const QueueOptions& options) = 0;
  // The event count of this device's own thread, which is notified when something that its queues
  // wait for has come. Null when there is no such thread: then the thread that polls the queue is
  // notified.
  virtual EventCount* event_count() { return nullptr; }

  // The facets; null: this device has none.
  virtual Communicators* communicators() { return nullptr; }
  virtual SharedMemory* shared_memory() { return nullptr; }
  virtual HostReach* host_reach() { return nullptr; }
  virtual ForeignCode* foreign_code() { return nullptr; }
  virtual std::shared_ptr<SharedGpu> shared_gpu() const { return nullptr; }

 private:
  virtual Status Upload(std::byte* to, const void* from, uint64_t bytes) = 0;
  virtual Status Download(void* to, const std::byte* from, uint64_t bytes) = 0;

  const DeviceTraits traits_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_DEVICE_H_

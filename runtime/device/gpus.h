// The GPUs of this machine, of all makers: what there is, which device of a plan is on
// which, and what a process that uses them, too, must find as it was.
//
// A platform knows the GPUs of one maker; backends.h registers it together with its backend.
#ifndef CGRAPH_RUNTIME_DEVICE_GPUS_H_
#define CGRAPH_RUNTIME_DEVICE_GPUS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace cgraph::device {

// GpuMap: which GPU of this machine each logical gpu of a plan is. The key is the number of the
// plan's device, the value that of the GPU as the driver counts. Several may be one GPU.
using GpuMap = std::map<uint32_t, uint32_t>;

struct Gpu {
  std::string name;    // "NVIDIA H200"
  uint64_t bytes = 0;  // of memory
  int major = 0;       // compute capability, as 9.0
  int minor = 0;
  std::string pci;     // "0000:1b:00.0"
  int copy_engines = 0;  // how many copies run at once beside kernels, as the driver says
  // Whether it reaches host memory that processes share, once it is registered, by the host's
  // address.
  bool reaches_registered = false;
};

// GpuLibrary: one that the kernels call, as cuBLASLt.
struct GpuLibrary {
  std::string name;
  std::string version;  // "2.28.9"; empty: it cannot be used
  std::string problem;  // why, or why not for all; where there is a second line, what to do
};

// GpuReport: what this machine has to run plans on GPUs. The messages of `usable` have two lines:
// what was seen, and what to do about it.
struct GpuReport {
  Status usable;              // Ok: plans can run on `gpus`
  std::string driver;         // "CUDA 13.0"; empty: there is none that can be used
  std::vector<Gpu> gpus;      // as the driver counts them
};

// GpuPlatform: the driver and the libraries of one maker's GPUs. All is thread-safe.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;
  // Returns what this machine has, found out once a process. It opens the driver, and none of the
  // libraries that a program may have of its own.
  virtual const GpuReport& Find() = 0;
  // Returns the libraries that kernels and collectives use; an empty list where there can be none.
  // It opens them, so what the process loads later gets these where it would bring its own.
  virtual std::vector<GpuLibrary> FindLibraries() = 0;
  // Returns what libraries that are there did not do since this was asked last, a sentence about
  // each; plans run without them.
  virtual std::vector<std::string> TakeWarnings() = 0;
  // Returns what the driver has current in the calling thread, as CUDA's context; null: nothing.
  // Returns none where the process has not opened the driver.
  virtual std::optional<void*> CurrentContext() = 0;
  virtual void SetCurrentContext(void* context) = 0;
};

// Report the GPUs and libraries of the platform whose GPUs plans can run on: the first of those
// registered that has some. Where none has, the report of the last one says why.
const GpuReport& FindGpus();
std::vector<GpuLibrary> FindGpuLibraries();
// Takes the warnings of all platforms.
std::vector<std::string> TakeGpuWarnings();

// CallersContext: what is current of GPUs in the calling thread, put back at the end of the scope.
// It says to a program's own code, as PyTorch's, which GPU the thread is at, and our own work on
// GPUs changes it.
class CallersContext {
 public:
  // `uses_gpus`: whether anything of the scope may change it. Else nothing is done.
  explicit CallersContext(bool uses_gpus);
  ~CallersContext();
  CallersContext(const CallersContext&) = delete;

  static constexpr size_t kMostPlatforms = 4;

 private:
  std::array<std::optional<void*>, kMostPlatforms> contexts_;  // by platform
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_GPUS_H_

// What the driver's handles stand for. A handle is the address of its object; objects are kept when
// they are destroyed, so that no address is given out twice and a dead handle is known as one.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_OBJECTS_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_OBJECTS_H_

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/emulation/driver/memory.h"
#include "tests/emulation/driver/work.h"
#include "tests/emulation/grid/kernel_table.h"

namespace cgraph::emulation {

// Capture: the graph that is being made of what is called on streams.
struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  std::set<CUstream> streams;  // the origin, and those that have joined
  GraphNodes nodes;
  bool invalid = false;
};

// Where a stream or an event of a capture stands: the nodes that what comes next depends on.
struct CapturePoint {
  std::shared_ptr<Capture> capture;
  std::set<size_t> nodes;
};

}  // namespace cgraph::emulation

// The types' names are cuda.h's.

struct CUctx_st {
  int device = 0;
  int retained = 0;
  cgraph::emulation::DeviceSet peers = 0;  // whose memory it has access to
  CUstream default_stream = nullptr;
  bool draining = false;  // a call waits until the device has done everything
};

struct CUstream_st {
  CUcontext context = nullptr;
  int number = 0;  // in the order in which streams were made
  bool removed = false;  // from the scheduler, as soon as its work is done
  std::deque<cgraph::emulation::Work> works;
  bool busy = false;      // the first of them is being carried out
  bool refused = false;   // a wait of it or a written value was refused
  uint64_t priority = 0;  // the emulation's
  std::chrono::steady_clock::time_point held_until;  // nothing of it begins before
  cgraph::emulation::CapturePoint capture;
};

struct CUevent_st {
  CUcontext context = nullptr;
  bool timing = true;
  std::shared_ptr<cgraph::emulation::Completion> last;  // null: never recorded, or in a capture
  cgraph::emulation::CapturePoint capture;              // of the last record
};

struct CUmod_st {
  CUcontext context = nullptr;
  // The kernels of code that was compiled while the program runs; null: those of our build.
  const cgraph::emulation::HostKernels* kernels = nullptr;
  std::map<std::string, CUfunction> functions;
};

struct CUfunc_st {
  CUmodule module = nullptr;
  CUcontext context = nullptr;
  const cgraph::emulation::HostKernel* kernel = nullptr;
  int most_shared_bytes = 48 << 10;  // of dynamic shared memory
  bool loaded = false;               // its code is on the device
};

struct CUgraph_st {
  cgraph::emulation::GraphNodes nodes;
  int instantiated = 0;  // by so many threads at the moment
};

struct CUgraphExec_st {
  CUcontext context = nullptr;
  cgraph::emulation::GraphNodes nodes;
  std::vector<std::vector<size_t>> dependents;  // of each node
  uint64_t launched = 0;
  uint64_t finished = 0;
};

namespace cgraph::emulation {

// Handles of one type.
template <typename T>
class Handles {
 public:
  T* Make() {
    objects_.push_back(std::make_unique<T>());
    live_.insert(objects_.back().get());
    return objects_.back().get();
  }
  // Returns how many were ever made.
  size_t made() const { return objects_.size(); }
  void Destroy(T* object) { live_.erase(object); }
  bool Lives(T* object) const { return live_.count(object) != 0; }
  const std::set<T*>& live() const { return live_; }

 private:
  std::vector<std::unique_ptr<T>> objects_;
  std::set<T*> live_;
};

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_OBJECTS_H_

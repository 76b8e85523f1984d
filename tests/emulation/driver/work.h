// Work: one operation of a stream or one node of a graph.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_WORK_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_WORK_H_

#include <cuda.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/emulation/driver/memory.h"
#include "tests/emulation/grid/kernel_table.h"
#include "tests/emulation/grid/meet.h"
#include "tests/emulation/library_work.h"

namespace cgraph::emulation {

struct GraphRun;

// Completion: one record of an event.
struct Completion {
  bool done = false;
  std::chrono::steady_clock::time_point when;
};

struct LaunchGrid {
  const HostKernel* kernel = nullptr;
  dim3 grid, block;
  size_t shared_bytes = 0;
  // The arguments as they were when the launch was called: values at multiples of 16.
  std::vector<std::byte> arguments;
};
struct Copy {
  Range to;
  const std::byte* from = nullptr;
  // What pageable memory held when the copy was called; then `from` is null.
  std::vector<std::byte> staged;
};
struct Fill {
  Range to;
  uint8_t value = 0;
};
struct WriteValue {
  uint64_t* address = nullptr;
  uint64_t value = 0;
};
struct WaitForValue {
  const uint64_t* address = nullptr;
  uint64_t value = 0;
  unsigned comparison = CU_STREAM_WAIT_VALUE_GEQ;
};
struct RecordEvent {
  std::shared_ptr<Completion> completion;
};
struct WaitForEvent {
  std::shared_ptr<const Completion> completion;
};
struct RunGraph {
  std::shared_ptr<GraphRun> run;
};

struct Work {
  std::variant<LaunchGrid, Copy, Fill, WriteValue, WaitForValue, RecordEvent, WaitForEvent,
               RunGraph, LibraryWork>
      what;
  int device = 0;         // that carries it out
  DeviceSet reaches = 0;  // the devices whose memory it may touch
  uint64_t number = 0;    // in the order in which the program issued it
};

// GraphNode: work that begins when the nodes it depends on are done.
struct GraphNode {
  Work work;
  std::vector<size_t> dependencies;  // all before it in the graph, each once
};
using GraphNodes = std::vector<GraphNode>;

// GraphRun: one launch of a graph.
struct GraphRun {
  struct Ready {
    size_t node = 0;
    uint64_t priority = 0;
  };
  CUgraphExec exec = nullptr;  // outlives the run
  uint64_t number = 0;         // of the launches of the exec, from 0
  bool begun = false;
  size_t done = 0;
  std::vector<size_t> missing;  // of each node's dependencies, those that are not done
  std::vector<Ready> ready;     // nodes that miss none and have not begun
};

// What is said of work that waits or is refused: "the kernel row_sum", "a copy of 12 bytes".
std::string NameOf(const Work& work);
// Returns what memory the work reads or writes by itself, which its kernel's arguments are not.
std::vector<Range> RangesOf(const Work& work);
// Returns the words of a kernel's arguments that may be addresses; none of other work.
std::vector<const void*> AddressesOf(const Work& work);
// Returns whether the value that the work waits for is there, by CUDA's comparisons.
bool Arrived(const WaitForValue& wait);
// Does what takes time and needs no lock: grids, copies, fills, written values. `seed` decides in
// which order a grid's threads run.
void CarryOut(const Work& work, uint64_t seed);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_WORK_H_

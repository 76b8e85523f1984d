// Run: one submitted execution, from Execute until the last holder of its results lets go.
//
// A run owns the block that its outputs are given into, so a result stays valid for as long as it is
// held, whatever the engine does meanwhile. Runs are recycled: the engine makes a few at load, and
// more only while callers hold more results than ever before.
#ifndef CGRAPH_RUNTIME_ENGINE_RUN_H_
#define CGRAPH_RUNTIME_ENGINE_RUN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/bell.h"
#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/status/status.h"

namespace cgraph::engine {

class Core;

struct Run {
  Core* core = nullptr;
  uint32_t graph = 0;
  uint64_t execution = 0;               // number among the graph's executions
  bool empty = false;                   // nobody submitted it
  std::atomic<uint32_t> refs{0};        // the engine's while it is in progress, and the callers'
  // Per participating strand of the graph: done when the strand has finished so many entries.
  std::unique_ptr<std::atomic<uint64_t>[]> until;

  std::atomic<bool> failed{false};
  device::Mutex mutex;                  // of the two below
  uint32_t written = 0;                 // where in program order the error was made
  Status error;

  device::Memory block;
  std::vector<device::Tensor> outputs;  // into the block; dims are set by `give`
  Run* next = nullptr;                  // of a free list

  // Of several errors the first in program order is kept.
  void Fail(uint32_t position, Status status);
  Status Error();
  void Ref() { refs.fetch_add(1, std::memory_order_relaxed); }
  void Unref();  // the last one gives the run back to its core
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RUN_H_

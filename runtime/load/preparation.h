// Preparation: what the graphs of a plan are prepared from, once memory is laid out.
#ifndef CGRAPH_RUNTIME_LOAD_PREPARATION_H_
#define CGRAPH_RUNTIME_LOAD_PREPARATION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cluster/links.h"
#include "runtime/device/device.h"
#include "runtime/device/shared_heap.h"
#include "runtime/load/arenas.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/load/kernels.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/load/queue_map.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct Preparation {
  const plan::Plan* plan = nullptr;
  const plan::Placement* placement = nullptr;
  const std::vector<std::unique_ptr<device::Device>>* devices = nullptr;
  const Arenas* arenas = nullptr;
  device::SharedHeap* heap = nullptr;
  const NativeCollectives* native = nullptr;
  Kernels* kernels = nullptr;
  const QueueMap* queues = nullptr;
  bool proved = true;
  bool profile = false;
  bool capture = true;
  bool results_on_gpus = false;
  uint32_t rank = 0;                             // this process
  std::span<const uint32_t> rank_of_worker;      // none: this process has all
  cluster::Links* links = nullptr;               // to ranks that share no memory; null: none
  const RankView* view = nullptr;                // of ranks that share some
  std::span<const plan::GraphTotals> totals;     // by graph, where there are machines
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_PREPARATION_H_

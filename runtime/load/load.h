// Load: turns a plan into what runs. Everything that can be decided before the first execution is
// decided by these passes, in this order:
//
//   PlaceRanks       which rank has which worker and device
//   ImportModules    the modules of methods in Python
//   OpenDevices      the devices of the plan; stand-ins for those of other ranks
//   MakeGraphs       how many executions of each graph may be in progress, in how many frames
//   NativeCollectives::Find   the collectives that communicators of devices carry out
//   Arenas::Allocate          where every value lies (arenas.h)
//   MapQueues        which in-order queue carries out each lane (queue_map.h)
//   PrepareGraph     of each graph kernels, poison flags, waits, frames and steps (prepare.cpp)
//   FindConflicts    which graphs must wait for each other (rank 0)
#ifndef CGRAPH_RUNTIME_LOAD_LOAD_H_
#define CGRAPH_RUNTIME_LOAD_LOAD_H_

#include <chrono>
#include <functional>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/cluster/links.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/device/backends.h"
#include "runtime/device/gpus.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

// LoadContext: what a plan is loaded with.
struct LoadContext {
  const EngineOptions& options;
  // Where ranks share no memory: what their messages go through, and how this rank asks rank 0 for
  // weights (empty at rank 0).
  cluster::Links* links = nullptr;
  AskFirstRank ask_first_rank;
  // Where they share some: what they tell each other in it.
  cluster::Control* control = nullptr;
  // What devices get to know of other ranks.
  device::AmongProcesses among;
  // How long others are waited for; 0: for ever.
  std::chrono::nanoseconds patience{0};

  void Tell(const char* what) const {
    if (options.loading) options.loading(what);
  }
  // Returns whether calls are measured.
  bool measures() const { return options.profile || options.trace; }
};

// Deals the workers to the ranks and finds the rank of each device, where there are several ranks.
// The plan, its placement, its GPUs and the rank must be set.
void PlaceRanks(LoadedPlan& loaded);

// Loads the plan, which is placed. kInvalid where it does not fit the options, its kernels or its
// weights, or asks for more memory than there is; kNotFound where a file, a library or a GPU is
// missing; kUnsupported where nothing here does what it says; kLost and kTimeout where another rank
// does not come.
Status Load(const LoadContext& context, LoadedPlan& loaded);

// Prepares one of the loaded graphs, whose plan, frames, inflight, lag and depth must be set.
Status PrepareGraph(const LoadContext& context, const LoadedPlan& loaded, LoadedGraph& graph);

// Finds the graphs that must wait for each other.
void FindConflicts(LoadedPlan& loaded);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_LOAD_H_

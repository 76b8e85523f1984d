// Ranks: the processes of an engine, as each of them has them. Rank 0 is the process that loads the
// plan, submits and gives results.
//
// Those of one machine share a region: worker k is rank k. Every rank loads the plan in the same
// order, so everything that lanes share has one address in all of them (cluster/shared/region.h). A
// rank makes kernels for its own work queue only. Objects in the region are made by each rank, with
// the same content; so nobody uses one before all have loaded. All ranks map host memory at one
// address, and each registers it with the driver for its own GPUs; memory of a GPU is opened by
// those that read it (load/peers/peer_memory.h).
//
// Ranks of several machines, one for each node of the plan, are apart: they load their parts of the
// plan (machines/plan_message.h), and messages say what the others read in the region.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/cluster/processes.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/cluster/shared/region.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/machines/engine_view.h"
#include "runtime/engine/machines/machines.h"
#include "runtime/load/load.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

class Ranks {
 public:
  Ranks(const EngineOptions& options, LoadedPlan& loaded, Ending& ending)
      : options_(options), loaded_(loaded), ending_(ending) {}

  // Returns how long a rank waits for others while the plan is loaded; 0: for ever.
  static std::chrono::nanoseconds LoadPatience(const EngineOptions& options);

  // At rank 0: starts the other ranks, where there are any, which load the plan while this one
  // does. The plan must be placed. kUnsupported where they cannot run it, kNotFound where the
  // system starts none.
  Status Start(const EngineView& engine);
  // At another rank: takes the region that it shares with rank 0, or gets to know who is apart.
  void Join(uint32_t rank, std::shared_ptr<cluster::Region> region, cluster::Control& control);
  void Join(const EngineView& engine, uint32_t first_tag, std::vector<uint32_t> weights);
  // Returns what loading has to know of them.
  LoadContext Context();
  // At rank 0: waits until all ranks have loaded the plan, and lets them begin.
  Status AwaitLoaded();
  // At rank 0, which does not load the plan: returns what is to be said; another rank may be why.
  Status WithRefusals(Status own);

  // Null where no ranks share memory, and where none are apart.
  cluster::Control* control() { return control_; }
  Machines* machines() { return machines_.get(); }

  // Returns the error of a device of another rank, which shares memory with this one, that has
  // failed as a whole; and tells others of one of this rank.
  std::optional<Status> DeviceFailure() const;
  void TellDeviceFailure(const Status& failure);
  // Returns whether a device may notice that another rank has gone.
  bool LosesPeers() const {
    return (processes_ != nullptr && loaded_.among_gpu_ranks()) || loaded_.native.apart();
  }

  // Returns "rank 1: process 123 on node7", as far as it is known.
  std::string TextOf(uint32_t rank) const;
  // Returns whether a rank is known to stand still, or has told nothing for long; and a line for
  // each that does.
  bool IsHalted(uint32_t rank) const;
  std::string HaltedText() const;
  std::vector<Engine::Stats::Rank> Stats() const;
  // Returns how many bytes of weights this rank reads, and was sent.
  std::pair<uint64_t, uint64_t> WeightBytes() const;
  // Returns how many captures other ranks of this machine have.
  uint32_t CapturesOfOthers() const;
  // Brings what other machines have measured, and discards it.
  void GatherMeasurements();
  void ForgetMeasurements();

  // Called once this rank's queues are closed, where ranks have GPUs: lets go of other ranks'
  // memory, and waits until all ranks have, since a GPU that ends with its process may be read
  // until then.
  void CloseShared();
  // Ends the other ranks. What one of them still computes is for nobody.
  void End();

 private:
  Status CheckProcesses() const;
  Status SendParts(const EngineView& engine);
  Status StartProcesses(const EngineView& engine);
  void TakeRegion(uint32_t rank, uint32_t count, std::shared_ptr<cluster::Region> region,
                  cluster::Control& control);
  device::AmongProcesses Among();
  OtherRanks* others() const { return machines_ == nullptr ? nullptr : machines_->others(); }

  const EngineOptions& options_;
  LoadedPlan& loaded_;
  Ending& ending_;
  cluster::Control* control_ = nullptr;  // in the region
  std::unique_ptr<Machines> machines_;
  mutable std::mutex mutex_;  // of the next, once the plan is loaded
  std::unique_ptr<cluster::Processes> processes_;  // at rank 0
};

// The first block of a region: what its ranks tell each other.
Result<cluster::Control*> TakeControl(cluster::Region& region);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_H_

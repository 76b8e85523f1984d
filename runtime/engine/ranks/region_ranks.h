// RegionRanks: the ranks of one machine, which share a region: worker k is rank k.
//
// Every rank loads the plan in the same order, so everything that lanes share has one address in
// all of them (cluster/shared/region.h). A rank makes kernels for its own work queue only. Each
// rank makes the objects in the region, with the same content, so no rank uses one before all have
// loaded. All ranks map host memory at one address, and each registers it with the driver for its
// own GPUs. The ranks that read memory of a GPU open it (load/peers/peer_memory.h).
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_REGION_RANKS_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_REGION_RANKS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/cluster/processes.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/cluster/shared/region.h"
#include "runtime/engine/ranks/ranks.h"

namespace cgraph::engine {

class RegionRanks final : public Ranks {
 public:
  using Ranks::Ranks;  // at rank 0; Start() makes the region and the other ranks
  // At another rank, which was started with the region.
  RegionRanks(const EngineOptions& options, const EngineView& engine, uint32_t rank,
              std::shared_ptr<cluster::Region> region, cluster::Control& control);

  void TakePlace() override;
  uint32_t WorkersOf(const plan::Plan& plan) const override;
  void Deal(plan::Plan& plan) const override;
  Status Start() override;
  LoadContext Context() override;
  void Configure(Workers::Settings& settings) override;
  Status AwaitLoaded() override;
  Status WithRefusals(Status own) override;
  void ReportLoaded(const Status& status) override;
  void AwaitStart() override;
  // At another rank with GPUs: the thread publishes the positions of its queues, for reports.
  Status StartThread() override;
  void EndThread() override;

  bool AskStates(uint32_t rank, cluster::StateRequest& request, std::span<uint8_t> piece,
                 const std::function<bool()>& patient) override;
  bool IsAskedStates() const override;
  void AnswerStates(const StateAnswer& answer) override;
  uint32_t CapturesOfOthers() const override;

  std::optional<Status> DeviceFailure() const override;
  bool LosesPeers() const override;
  bool IsHalted(uint32_t rank) const override;
  std::string HaltedText() const override;
  std::optional<cluster::Process> ProcessOf(uint32_t rank) const override;

  void CloseShared() override;
  void End() override;

 private:
  Status CheckProcesses() const;
  Status StartProcesses();
  void TakeRegion(uint32_t rank, uint32_t count, std::shared_ptr<cluster::Region> region,
                  cluster::Control& control);
  void TellDeviceFailure(const Status& failure);
  void BeginRound(Frame& frame);

  // At another rank, until it takes its place.
  uint32_t own_rank_ = 0;
  std::shared_ptr<cluster::Region> own_region_;
  // In the region; null at rank 0 before Start(), and where one process is enough.
  cluster::Control* control_ = nullptr;
  mutable std::mutex mutex_;             // of the next, once the plan is loaded
  std::unique_ptr<cluster::Processes> processes_;  // at rank 0
  std::thread heads_;
};

// Returns the first block of a region, which has what its ranks tell each other.
Result<cluster::Control*> TakeControl(cluster::Region& region);
// At a rank other than the first, where there may be no engine: as RegionRanks::ReportLoaded().
void ReportLoaded(cluster::Control& control, uint32_t rank, const Status& status);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_REGION_RANKS_H_

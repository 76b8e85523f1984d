#include "runtime/engine/rank.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/cluster/processes.h"
#include "runtime/engine/parts.h"
#include "runtime/plan/load.h"

namespace cgraph::engine {
namespace {

// How often a rank tells where its queues are, for reports.
constexpr auto kBetweenHeads = std::chrono::milliseconds(20);

void ReportLoaded(cluster::Control& control, uint32_t rank, const Status& status) {
  cluster::RankState& state = control.states[rank];
  state.code = status.code();
  state.text.Set(status.message());
  state.phase.store(status.ok() ? cluster::RankState::kLoaded : cluster::RankState::kFailed,
                    std::memory_order_release);
  control.changed.Notify();
}

Result<EngineOptions> OptionsOf(const cluster::Control& control) {
  EngineOptions options;
  if (!ReadTextForRanks(control.options.text.Get(), options)) {
    return Status(StatusCode::kInvalid, "rank 0 has told no options");
  }
  for (uint64_t i = 0; i < control.gpu_count; ++i) {
    options.gpu_map.emplace(control.gpus[i].device, control.gpus[i].gpu);
  }
  options.processes = control.options.ranks;
  return options;
}

// Makes the parts of the engine at this rank. Memory of the region is taken in the order in which
// rank 0 has taken it.
Result<Parts*> MakeParts(uint32_t rank, std::shared_ptr<cluster::Region> region,
                         cluster::Control& control) {
  auto copy = region->Allocate(control.plan_bytes, device::MemoryKind::plain, "the plan");
  auto table = region->Allocate(control.gpu_count * sizeof(cluster::GpuOfDevice),
                                device::MemoryKind::plain, "which devices run on GPUs");
  auto plan = copy.ok() ? plan::FromBytes({control.plan, control.plan_bytes}) : copy.status();
  auto options = OptionsOf(control);
  for (const Status& status : {plan.status(), table.status(), options.status()}) {
    CGRAPH_RETURN_IF_ERROR(status);
  }
  Parts* parts = new Parts(std::move(*plan), *options);  // goes with the process
  parts->ranks.Join(rank, std::move(region), control);
  return parts;
}

// Drives the rank's worker until the engine has ended.
void Run(Parts& parts, cluster::Control& control) {
  const uint32_t rank = parts.loaded.rank;
  const auto ended = [&] { return parts.ending.has_ended(); };
  const auto begins = [&] { return control.started.load(std::memory_order_acquire) || ended(); };
  while (!begins()) control.changed.Wait(begins);
  std::thread heads;
  if (parts.loaded.among_gpu_ranks()) {
    heads = std::thread([&] {
      while (!ended()) {
        parts.workers.workers[rank]->work_queues.front()->positions().TellHeads();
        control.changed.Wait(ended, std::chrono::steady_clock::now() + kBetweenHeads);
      }
    });
  }
  StateAccess& states = parts.state_access;
  while (!ended()) {
    parts.workers.workers[rank]->Drive(parts.workers.yields,
                                       [&] { return ended() || states.IsAsked(); });
    if (states.IsAsked() && !ended()) states.Answer();
  }
  if (parts.loaded.among_gpu_ranks()) {
    heads.join();
    parts.loaded.native.Stop();
    parts.CloseRank();
  }
  parts.loaded.kernels->EndObjects();
}

// Serves the rank once the region is mapped; returns the exit code. What goes wrong before it is
// loaded is told to rank 0.
int Serve(uint32_t rank, std::shared_ptr<cluster::Region> region, cluster::Control& control) try {
  auto parts = MakeParts(rank, std::move(region), control);
  const Status status = parts.ok() ? (*parts)->LoadRank() : parts.status();
  // What another rank has brought about is that one's to say.
  if (parts.ok() && !status.ok() && control.ended) return 1;
  ReportLoaded(control, rank, status);
  if (!status.ok()) return 1;
  Run(**parts, control);
  return 0;
} catch (const std::bad_alloc&) {
  ReportLoaded(control, rank, OutOfMemory());
  return 1;
}

}  // namespace

void ServeRank(uint32_t rank) {
  auto region = cluster::Region::Attach(cluster::kRegionDescriptor);
  auto control = region.ok() ? TakeControl(**region) : region.status();
  if (!control.ok()) {
    Say(fmt::format("cgrun: error: rank {}: {}; cgrun starts such processes itself (--processes)\n",
                    rank, control.status().message()));
    std::_Exit(1);
  }
  cluster::EndWithRankZero();
  (*control)->changed.ShareAmongProcesses();
  std::_Exit(Serve(rank, std::move(*region), **control));
}

}  // namespace cgraph::engine

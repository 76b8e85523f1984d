#include "runtime/engine/ranks/serve.h"

#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/death.h"
#include "runtime/base/text.h"
#include "runtime/base/wait_point.h"
#include "runtime/cluster/message.h"
#include "runtime/cluster/processes.h"
#include "runtime/engine/options.h"
#include "runtime/engine/parts.h"
#include "runtime/engine/ranks/machines.h"
#include "runtime/engine/ranks/plan_message.h"
#include "runtime/engine/ranks/rank_reporter.h"
#include "runtime/engine/ranks/region_ranks.h"
#include "runtime/plan/load.h"

namespace cgraph::engine {
namespace {

using cluster::Messenger;

// Loads the plan at this rank and starts what runs it.
Status LoadRank(Parts& parts) try {
  CGRAPH_RETURN_IF_ERROR(parts.LoadRank());
  parts.workers.Start(parts.loaded, [&parts] { return parts.ending.has_ended(); });
  return parts.ranks->StartThread();
} catch (const std::bad_alloc&) {
  return OutOfMemory();
} catch (const std::system_error& error) {
  return Status(StatusCode::kNotFound,
                fmt::format("a rank needs more threads than the system makes: {}",
                            error.code().message()));
}

// Serves one engine until it has ended. False where the plan could not be loaded, which rank 0 was
// told.
bool ServeEngine(Parts& parts) {
  Ranks& ranks = *parts.ranks;
  const auto ended = [&] { return parts.ending.has_ended(); };
  const auto until = [&] { return ended() || ranks.IsAskedStates(); };
  const Status loaded = LoadRank(parts);
  ranks.ReportLoaded(loaded);
  if (!loaded.ok()) return false;
  for (ranks.AwaitStart(); !ended();) {
    if (Worker* worker = parts.workers.First(parts.loaded); worker != nullptr) {
      worker->Drive(parts.workers.yields, until);
    } else {
      ranks.Idle(until);
    }
    if (ranks.IsAskedStates() && !ended()) parts.state_access.Answer();
  }
  return true;
}

// ---- a rank that rank 0 has started -------------------------------------------------------------

Result<EngineOptions> OptionsOf(const cluster::Control& control) {
  EngineOptions options;
  if (!ReadTextForRanks(control.options.Get(), options)) {
    return Status(StatusCode::kInvalid, "rank 0 has told no options");
  }
  for (uint64_t i = 0; i < control.gpu_count; ++i) {
    options.gpu_map.emplace(control.gpus[i].device, control.gpus[i].gpu);
  }
  options.processes = control.ranks;
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
  // They go with the process.
  return new Parts(std::move(*plan), *options, [&](const auto& given, const EngineView& engine) {
    return std::make_unique<RegionRanks>(given, engine, rank, std::move(region), control);
  });
}

// Serves the rank once the region is mapped; returns the exit code. What goes wrong before it is
// loaded is told to rank 0.
int Serve(uint32_t rank, std::shared_ptr<cluster::Region> region, cluster::Control& control) try {
  auto parts = MakeParts(rank, std::move(region), control);
  if (!parts.ok()) {
    ReportLoaded(control, rank, parts.status());
    return 1;
  }
  if (!ServeEngine(**parts)) return 1;
  (*parts)->Teardown();
  (*parts)->loaded.kernels->EndObjects();
  return 0;
} catch (const std::bad_alloc&) {
  ReportLoaded(control, rank, OutOfMemory());
  return 1;
}

// ---- a rank that a launcher has started ---------------------------------------------------------

// Inbox: takes rank 0's messages at another rank, and passes them on to the engine while there is
// one.
class Inbox final : private cluster::Listener {
 public:
  explicit Inbox(Messenger& messenger) : messenger_(messenger) {
    messenger_.Listen(cluster::kMachineTag, this);
  }
  ~Inbox() override { messenger_.Listen(cluster::kMachineTag, nullptr); }

  // Waits for the next message.
  std::vector<std::byte> Await() {
    PollUntil(messenger_, [&] { return !messages_.empty(); });
    return Take();
  }
  void PassOnTo(RankReporter* reporter) {
    reporter_ = reporter;
    while (reporter_ != nullptr && !messages_.empty()) reporter_->Dispatch(Take());
  }

 private:
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override { return buffers_.New(bytes); }
  bool OnMessage(uint32_t, std::span<const std::byte>) override {
    if (reporter_ == nullptr) {
      messages_.push_back(buffers_.Take());
      return true;
    }
    std::vector<std::byte> message = buffers_.Take();
    reporter_->Dispatch(message);
    buffers_.Return(std::move(message));
    return true;
  }
  std::vector<std::byte> Take() {
    std::vector<std::byte> first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }

  Messenger& messenger_;
  RankReporter* reporter_ = nullptr;
  cluster::ReceiveBuffers buffers_;
  std::deque<std::vector<std::byte>> messages_;
};

// Serves one engine, whose plan is a part of the plan, until it has ended or could not be loaded.
// Calls `begun` as soon as messages about the engine are heard.
void ServePart(cluster::Peers& peers, PlanMessage told,
               const std::function<void(RankReporter&)>& begun) {
  RankReporter* reporter = nullptr;
  const auto make = [&](const EngineOptions& given, const EngineView& engine) {
    auto ranks = std::make_unique<RankReporter>(given, engine, told.first_tag,
                                                std::move(told.part.weights));
    reporter = ranks.get();
    return ranks;
  };
  Parts* parts = new Parts(std::move(told.part.plan), told.options, make);
  parts->loaded.placement = std::move(told.placement);
  parts->loaded.totals = std::move(told.totals);
  begun(*reporter);
  ServeEngine(*parts);
  Messenger& messenger = peers.messenger;
  PollUntil(messenger, [parts] { return parts->ending.has_ended(); });
  parts->Teardown();
  // What the workers have sent has left before the memory that it is in goes.
  PollUntil(messenger, [&] { return messenger.AllSent(); });
  parts->Release();
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

int ServeMachine(cluster::Peers& peers, const std::function<std::string()>& describe,
                 const std::function<void(int)>& ending) {
  Messenger& messenger = peers.messenger;
  Inbox inbox(messenger);
  int exit_code = 0;
  for (;;) {
    std::vector<std::byte> bytes = inbox.Await();
    const auto [message, text] = cluster::ReadMessage(bytes);
    if (message.kind == cluster::MachineMessage::kQuit) {
      exit_code = message.quit.exit_code;
      break;
    }
    if (message.kind == cluster::MachineMessage::kGpus) TellGpus(messenger);
    if (message.kind == cluster::MachineMessage::kDescribe) {
      const std::string description = describe == nullptr ? "" : describe();
      SendMessage(messenger, 0, {.kind = cluster::MachineMessage::kDescribe}, description);
    }
    if (message.kind != cluster::MachineMessage::kPlan) continue;
    auto told = ReadPlanMessage(text);
    // The part is unpacked now.
    std::vector<std::byte>().swap(bytes);
    if (told.ok()) {
      told->options.peers = &peers;
      ServePart(peers, std::move(*told),
                [&](RankReporter& reporter) { inbox.PassOnTo(&reporter); });
      inbox.PassOnTo(nullptr);
    } else {
      SendMessage(messenger, 0,
                  {.kind = cluster::MachineMessage::kLoaded, .code = told.status().code()},
                  told.status().message());
    }
    SendMessage(messenger, 0, {.kind = cluster::MachineMessage::kEnded});
  }
  if (ending != nullptr) ending(exit_code);
  // Rank 0 may die before all have come together for the last time.
  HangWhereTold(messenger.rank(), "end");
  messenger.wire().Finish();
  peers.supervision.reset();
  return exit_code;
}

bool EndMachines(cluster::Peers& peers, int exit_code) {
  Messenger& messenger = peers.messenger;
  // A rank may have gone while there was no engine.
  const auto lost = [&] { return messenger.given_up() || peers.FirstLost().has_value(); };
  cluster::MachineMessage quit{.kind = cluster::MachineMessage::kQuit};
  quit.quit = {exit_code};
  for (uint32_t rank = 1; rank < messenger.count() && !lost(); ++rank) {
    SendMessage(messenger, rank, quit);
  }
  PollUntil(messenger, [&] { return lost() || messenger.AllSent(); });
  if (lost()) return false;
  if (peers.supervision != nullptr && !Omits(WaitPoint::kLostAtEnd)) {
    peers.supervision->OnLost([&](const auto&) {
      peers.supervision->SayEnds();
      messenger.EndAll(exit_code);
    });
  }
  HangWhereTold(0, "end");
  messenger.wire().Finish();
  peers.supervision.reset();
  return true;
}

}  // namespace cgraph::engine

// The ranks other than the first: they serve engines of rank 0, one after the other.
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/core.h"
#include "runtime/engine/machines/machine_gpus.h"
#include "runtime/engine/machines/machines.h"
#include "runtime/engine/machines/message.h"
#include "runtime/plan/load.h"

namespace cgraph::engine {
namespace {

using ranks::Messenger;

EngineOptions OptionsOf(const MachineMessage& message, std::string_view text,
                        ranks::Peers& peers) {
  EngineOptions options;
  options.peers = &peers;
  options.inflight = message.options.inflight;
  options.proved = message.options.proved;
  options.profile = message.options.profile;
  options.trace = message.options.trace;
  options.stall_timeout = std::chrono::nanoseconds(message.options.stall_timeout_ns);
  options.capture = message.options.capture;
  options.weights_dir = text.substr(0, message.options.weights_dir_bytes);
  text.remove_prefix(std::min<uint64_t>(message.options.weights_dir_bytes, text.size()));
  const uint64_t gpus = std::min<uint64_t>(message.options.gpus, text.size() / sizeof(MappedGpu));
  for (uint64_t i = 0; i < gpus; ++i) {
    MappedGpu mapped;
    std::memcpy(&mapped, text.data() + i * sizeof(mapped), sizeof(mapped));
    options.gpu_map.emplace(mapped.device, mapped.gpu);
  }
  return options;
}

std::string_view PlanIn(const MachineMessage& message, std::string_view text) {
  const uint64_t before =
      message.options.weights_dir_bytes + message.options.gpus * sizeof(MappedGpu);
  return text.substr(std::min<uint64_t>(before, text.size()));
}

// Inbox: takes rank 0's messages at another rank, and passes them on to the engine while there is
// one.
class Inbox final : private ranks::Listener {
 public:
  explicit Inbox(Messenger& messenger) : messenger_(messenger) {
    messenger_.Listen(kMachineTag, this);
  }
  ~Inbox() override { messenger_.Listen(kMachineTag, nullptr); }

  // Waits for the next message.
  std::vector<std::byte> Await() {
    PollUntil(messenger_, [&] { return !messages_.empty(); });
    return Take();
  }
  void PassOnTo(Machines* machines) {
    machines_ = machines;
    while (machines_ != nullptr && !messages_.empty()) machines_->Dispatch(0, Take());
  }

 private:
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override { return buffers_.New(bytes); }
  void OnMessage(uint32_t, std::span<const std::byte>) override {
    if (machines_ == nullptr) return messages_.push_back(buffers_.Take());
    std::vector<std::byte> message = buffers_.Take();
    machines_->Dispatch(0, message);
    buffers_.Return(std::move(message));
  }
  std::vector<std::byte> Take() {
    std::vector<std::byte> first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }

  Messenger& messenger_;
  Machines* machines_ = nullptr;
  ranks::ReceiveBuffers buffers_;
  std::deque<std::vector<std::byte>> messages_;
};

}  // namespace

// Serves one engine, until it has ended or could not be loaded.
void Core::ServeMachine(ranks::Peers& peers, std::unique_ptr<plan::Plan> plan,
                        const EngineOptions& options, uint32_t first_tag,
                        const std::function<void(Machines&)>& begun) {
  Core* core = new Core(std::move(plan), options);
  core->machines_ = std::make_unique<Machines>(*core, peers, first_tag);
  Messenger& messenger = peers.messenger;
  begun(*core->machines_);
  core->ranks_.rank = messenger.rank();
  core->ranks_.count = messenger.count();
  Status status;
  try {
    status = core->LoadRank();
    if (status.ok()) status = core->StartWorkers();
    if (status.ok()) status = core->machines_->StartThread();
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  } catch (const std::system_error& error) {
    status = Status(StatusCode::kNotFound,
                    fmt::format("a rank needs {} threads, and the system made fewer: {}",
                                core->workers_.size() + 1, error.code().message()));
  }
  core->machines_->Loaded(status);
  if (Worker* worker = core->PollingWorker(); status.ok() && worker != nullptr) {
    worker->Drive(core->spins_, [core] { return core->ended(); });
  }
  PollUntil(messenger, [&] { return core->ended(); });
  core->Teardown();
  // What the workers have sent has left before the memory that it is in goes.
  PollUntil(messenger, [&] { return messenger.AllSent(); });
  core->Release();
}

int ServeMachine(ranks::Peers& peers, const std::function<std::string()>& describe) {
  Messenger& messenger = peers.messenger;
  Inbox inbox(messenger);
  for (;;) {
    const std::vector<std::byte> bytes = inbox.Await();
    const auto [message, text] = Read(bytes);
    if (message.kind == MachineMessage::kQuit) break;
    if (message.kind == MachineMessage::kGpus) TellGpus(messenger);
    if (message.kind == MachineMessage::kDescribe) {
      const std::string description = describe == nullptr ? "" : describe();
      SendMessage(messenger, 0, {.kind = MachineMessage::kDescribe}, description);
    }
    if (message.kind != MachineMessage::kPlan) continue;
    const std::string_view copy = PlanIn(message, text);
    auto plan = plan::FromBytes({reinterpret_cast<const uint8_t*>(copy.data()), copy.size()});
    if (plan.ok()) {
      Core::ServeMachine(peers, std::move(*plan), OptionsOf(message, text, peers),
                         message.options.first_tag,
                         [&](Machines& machines) { inbox.PassOnTo(&machines); });
      inbox.PassOnTo(nullptr);
    } else {
      MachineMessage refusal{.kind = MachineMessage::kLoaded};
      refusal.loaded = {plan.status().code()};
      SendMessage(messenger, 0, refusal, plan.status().message());
    }
    SendMessage(messenger, 0, {.kind = MachineMessage::kEnded});
  }
  peers.supervision.reset();  // says that this rank ends
  messenger.wire().Finish();
  return 0;
}

}  // namespace cgraph::engine

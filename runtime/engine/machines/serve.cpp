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

#include "runtime/cluster/message.h"
#include "runtime/engine/machines/machine_gpus.h"
#include "runtime/engine/machines/machines.h"
#include "runtime/engine/machines/plan_message.h"
#include "runtime/engine/parts.h"

namespace cgraph::engine {
namespace {

using cluster::Messenger;

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
void ServeEngine(cluster::Peers& peers, PlanMessage told,
                 const std::function<void(RankReporter&)>& begun) {
  Parts* parts = new Parts(std::move(told.part.plan), told.options);
  LoadedPlan& loaded = parts->loaded;
  loaded.placement = std::move(told.placement);
  loaded.totals = std::move(told.totals);
  parts->ranks.Join(parts->view, told.first_tag, std::move(told.part.weights));
  Machines& machines = *parts->ranks.machines();
  Messenger& messenger = peers.messenger;
  const auto ended = [parts] { return parts->ending.has_ended(); };
  begun(*machines.reporter());
  Status status;
  try {
    status = parts->LoadRank();
    if (status.ok()) parts->workers.Start(loaded, ended);
    if (status.ok()) status = machines.StartThread();
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  } catch (const std::system_error& error) {
    status = Status(StatusCode::kNotFound,
                    fmt::format("a rank needs {} threads, and the system made fewer: {}",
                                parts->workers.workers.size() + 1, error.code().message()));
  }
  const auto [read_bytes, sent_bytes] = parts->ranks.WeightBytes();
  machines.reporter()->ReportLoaded(status, read_bytes, sent_bytes);
  StateAccess& states = parts->state_access;
  const auto until = [&] { return ended() || states.IsAsked(); };
  while (status.ok() && !ended()) {
    if (Worker* worker = parts->workers.First(loaded); worker != nullptr) {
      worker->Drive(parts->workers.yields, until);
    } else {
      PollUntil(messenger, until);
    }
    if (states.IsAsked() && !ended()) states.Answer();
  }
  PollUntil(messenger, ended);
  parts->Teardown();
  // What the workers have sent has left before the memory that it is in goes.
  PollUntil(messenger, [&] { return messenger.AllSent(); });
  parts->Release();
}

}  // namespace

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
      ServeEngine(peers, std::move(*told),
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
  peers.supervision.reset();  // says that this rank ends
  messenger.wire().Finish();
  return exit_code;
}

}  // namespace cgraph::engine

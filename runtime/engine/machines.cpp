#include "runtime/engine/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "runtime/engine/core.h"
#include "runtime/plan/load.h"

namespace cgraph::engine {

// MachineMessage: the beginning of a message; a text follows.
struct MachineMessage {
  enum Kind : uint32_t {
    kPlan,      // load this plan
    kLoaded,    // it is loaded, or why not
    kRound,     // run a round of a graph
    kProgress,  // of a work queue
    kFailure,   // of an execution
    kEnd,       // the engine has ended
    kEnded,     // and nothing of it is under way from here any more
    kQuit,      // end the process
  };
  Kind kind = kQuit;
  uint32_t graph = 0, frame = 0, work_queue = 0;
  uint64_t text_bytes = 0;
  union {
    struct {
      uint32_t inflight, first_tag;
      bool proved, profile, trace;
      int64_t stall_timeout_ns;
      uint64_t weights_dir_bytes;  // of the text; the plan follows
    } options{};
    struct {
      bool empty, flagged;
    } round;
    struct {
      uint64_t done, at, round;
    } progress;
    struct {
      uint32_t program_order;
    } failure;
    struct {
      StatusCode code;
    } loaded;
  };
};

namespace {

using Clock = std::chrono::steady_clock;
using ranks::Messenger;

constexpr uint32_t kTag = 0;
// How long the others are given to end an engine: one may be inside a kernel.
constexpr auto kGrace = std::chrono::seconds(1);
// How often a work queue's position is told while it finishes nothing; reports show it.
constexpr auto kPositionInterval = std::chrono::milliseconds(20);

void Tell(Messenger& messenger, uint32_t to, MachineMessage message, std::string_view text = {}) {
  std::vector<std::byte> bytes(sizeof(message) + text.size());
  message.text_bytes = text.size();
  std::memcpy(bytes.data(), &message, sizeof(message));
  std::memcpy(bytes.data() + sizeof(message), text.data(), text.size());
  messenger.SendCopy(to, kTag, bytes);
}

// Returns the beginning of a message; its text is the second, and lies in it.
std::pair<MachineMessage, std::string_view> Read(std::span<const std::byte> bytes) {
  MachineMessage message;
  if (bytes.size() < sizeof(message)) return {message, {}};
  std::memcpy(&message, bytes.data(), sizeof(message));
  const uint64_t text = std::min<uint64_t>(message.text_bytes, bytes.size() - sizeof(message));
  return {message, {reinterpret_cast<const char*>(bytes.data()) + sizeof(message), text}};
}

// Sleeps a little longer each time until something happens.
class Naps {
 public:
  void Reset() { nap_ = kShortest; }
  void Sleep() {
    std::this_thread::sleep_for(nap_);
    nap_ = std::min(2 * nap_, kLongest);
  }

 private:
  static constexpr std::chrono::microseconds kShortest{20}, kLongest{1000};
  std::chrono::microseconds nap_ = kShortest;
};

template <typename Until>
void PollUntil(Messenger& messenger, Until&& until) {
  Naps naps;
  while (!until()) {
    if (messenger.Poll()) {
      naps.Reset();
    } else {
      naps.Sleep();
    }
  }
}

EngineOptions OptionsOf(const MachineMessage& message, std::string_view text,
                        Messenger& messenger) {
  EngineOptions options;
  options.messenger = &messenger;
  options.inflight = message.options.inflight;
  options.proved = message.options.proved;
  options.profile = message.options.profile;
  options.trace = message.options.trace;
  options.stall_timeout = std::chrono::nanoseconds(message.options.stall_timeout_ns);
  options.weights_dir = text.substr(0, message.options.weights_dir_bytes);
  return options;
}

// Inbox: takes rank 0's messages at another rank, and passes them on to the engine while there is
// one.
class Inbox final : private ranks::Listener {
 public:
  explicit Inbox(Messenger& messenger) : messenger_(messenger) {
    messenger_.Listen(kTag, this);
  }
  ~Inbox() override { messenger_.Listen(kTag, nullptr); }

  // Waits for the next message.
  std::vector<std::byte> Await() {
    PollUntil(messenger_, [&] { return !messages_.empty(); });
    return Take();
  }
  void PassOnTo(Machines* machines) {
    machines_ = machines;
    while (machines_ != nullptr && !messages_.empty()) machines_->Hear(Take());
  }

 private:
  std::span<std::byte> RoomFor(uint32_t, uint64_t bytes) override { return rooms_.New(bytes); }
  void OnMessage(uint32_t, std::span<const std::byte>) override {
    if (machines_ == nullptr) return messages_.push_back(rooms_.Take());
    std::vector<std::byte> message = rooms_.Take();
    machines_->Hear(message);
    rooms_.Return(std::move(message));
  }
  std::vector<std::byte> Take() {
    std::vector<std::byte> first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }

  Messenger& messenger_;
  Machines* machines_ = nullptr;
  ranks::Rooms rooms_;
  std::deque<std::vector<std::byte>> messages_;
};

}  // namespace

Machines::Machines(Core& core, Messenger& messenger, uint32_t first_tag)
    : core_(core), messenger_(messenger), next_tag_(first_tag), rooms_(messenger.count()) {
  if (messenger_.rank() == 0) messenger_.Listen(kTag, this);
}

Result<uint32_t> Machines::NewTags(uint32_t count) {
  const uint32_t first = next_tag_;
  if (count > messenger_.wire().most_tag() - first) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("the plan has more than {} channels and collectives between machines, "
                              "which is what {} has tags for",
                              messenger_.wire().most_tag(), messenger_.wire().library()));
  }
  next_tag_ += count;
  messenger_.UseTagsBelow(next_tag_);
  return first;
}

void Machines::TellAll(const MachineMessage& message, std::string_view text) {
  for (uint32_t rank = 1; rank < messenger_.count(); ++rank) {
    Tell(messenger_, rank, message, text);
  }
}

// ---- rank 0 -------------------------------------------------------------------------------------

void Machines::SendPlan(const std::vector<uint8_t>& plan, const EngineOptions& options) {
  MachineMessage message{.kind = MachineMessage::kPlan};
  message.options = {options.inflight, next_tag_, options.proved, options.profile, options.trace,
                     options.stall_timeout.count(), options.weights_dir.size()};
  std::string text = options.weights_dir;
  text.append(reinterpret_cast<const char*>(plan.data()), plan.size());
  TellAll(message, text);
}

Status Machines::AwaitLoaded(std::chrono::nanoseconds timeout) {
  const auto end = Clock::now() + timeout;
  const uint32_t others = messenger_.count() - 1;
  bool late = false;
  PollUntil(messenger_, [&] {
    late = timeout.count() > 0 && Clock::now() > end;
    return late || core_.ended() || loaded_.load(std::memory_order_acquire) == others;
  });
  if (core_.ended()) return core_.EndStatus();
  std::lock_guard lock(mutex_);
  if (!load_error_.ok() || !late) return load_error_;
  return Status(StatusCode::kTimeout,
                fmt::format("{} of {} other ranks have not loaded the plan in {} s",
                            others - loaded_.load(), others,
                            std::chrono::duration<double>(timeout).count()));
}

void Machines::Submitted(uint32_t graph, bool empty, bool flagged) {
  MachineMessage message{.kind = MachineMessage::kRound, .graph = graph};
  message.round = {empty, flagged};
  TellAll(message, {});
}

void Machines::End() {
  TellAll({.kind = MachineMessage::kEnd}, {});
  const auto end = Clock::now() + kGrace;
  const uint32_t others = messenger_.count() - 1;
  PollUntil(messenger_, [&] {
    return Clock::now() > end || (ended_.load(std::memory_order_acquire) == others &&
                                  messenger_.AllSent());
  });
  // This may outlive its engine, as long as callers hold results; the next engine listens then.
  messenger_.Listen(kTag, nullptr);
  if (ended_.load(std::memory_order_acquire) != others) return messenger_.GiveUp();
  messenger_.Unclaim();
}

void Machines::OnFailure(const MachineMessage& message, std::string_view text) {
  if (message.graph >= core_.graphs_.size()) return;
  LoadedGraph& graph = *core_.graphs_[message.graph];
  if (message.frame >= graph.frames.size()) return;
  Frame& frame = graph.frames[message.frame];
  if (message.work_queue >= frame.failures.slots.size()) return;
  frame.failures.slots[message.work_queue].Set(message.failure.program_order, text);
  frame.failures.any_set->store(true, std::memory_order_release);
}

// ---- the others ---------------------------------------------------------------------------------

void Machines::Loaded(const Status& status) {
  MachineMessage message{.kind = MachineMessage::kLoaded};
  message.loaded = {status.code()};
  Tell(messenger_, 0, message, status.message());
}

// An execution's failures are told before the progress that ends it.
void Machines::Report() {
  told_.resize(core_.work_queues_.size());
  for (uint32_t w = 0; w < told_.size(); ++w) {
    if (!core_.IsHere(core_.placement_.worker_of_work_queue[w])) continue;
    const WorkQueue& work_queue = *core_.work_queues_[w];
    const WorkQueue::Progress progress = work_queue.progress();
    Told& told = told_[w];
    if (const uint64_t failures = work_queue.failures(); failures != told.failures) {
      told.failures = failures;
      ReportFailures(w);
    }
    if (progress.done == told.done) {
      if (progress.at == told.at) continue;
      const auto now = Clock::now();
      if (now - told.when < kPositionInterval) continue;
      told.when = now;
    }
    told.done = progress.done;
    told.at = progress.at;
    MachineMessage message{.kind = MachineMessage::kProgress, .work_queue = w};
    message.progress = {progress.done, progress.at, progress.round};
    Tell(messenger_, 0, message);
  }
}

// Tells the failures that the work queue has noted since. Those before are over at rank 0, which may
// have given their frames to other executions.
void Machines::ReportFailures(uint32_t work_queue) {
  for (uint32_t g = 0; g < core_.graphs_.size(); ++g) {
    std::vector<Frame>& frames = core_.graphs_[g]->frames;
    for (uint32_t f = 0; f < frames.size(); ++f) {
      const auto failure = frames[f].failures.slots[work_queue].GetNew();
      if (!failure) continue;
      MachineMessage message{.kind = MachineMessage::kFailure, .graph = g, .frame = f,
                             .work_queue = work_queue};
      message.failure = {failure->program_order};
      Tell(messenger_, 0, message, failure->text);
    }
  }
}

// ---- all ----------------------------------------------------------------------------------------

bool Machines::Poll() {
  const bool any = messenger_.Poll();
  if (messenger_.rank() != 0) Report();
  // Workers that wait for a message to leave are not notified of that otherwise.
  for (size_t w = 0; w < core_.workers_.size() && any; ++w) {
    if (core_.IsHere(static_cast<uint32_t>(w))) core_.workers_[w]->event_count->Notify();
  }
  return any;
}

void Machines::Hear(std::span<const std::byte> bytes) {
  const auto [message, text] = Read(bytes);
  switch (message.kind) {
    case MachineMessage::kLoaded:
      if (message.loaded.code != StatusCode::kOk) {
        std::lock_guard lock(mutex_);
        if (load_error_.ok()) load_error_ = Status(message.loaded.code, std::string(text));
      }
      loaded_.fetch_add(1, std::memory_order_release);
      break;
    case MachineMessage::kRound:
      core_.AcceptRound(message.graph, message.round.empty, message.round.flagged);
      break;
    case MachineMessage::kProgress:
      if (message.work_queue < core_.work_queues_.size()) {
        const auto& [done, at, round] = message.progress;
        core_.work_queues_[message.work_queue]->SetProgress({done, at, round});
      }
      break;
    case MachineMessage::kFailure: OnFailure(message, text); break;
    case MachineMessage::kEnd:
      core_.End(Status(StatusCode::kClosed, "rank 0 has ended the engine"));
      break;
    case MachineMessage::kEnded: ended_.fetch_add(1, std::memory_order_release); break;
    case MachineMessage::kPlan:
    case MachineMessage::kQuit: break;  // while there is an engine neither comes
  }
}

uint32_t NodesOf(const plan::Plan& plan) {
  uint32_t nodes = 1;
  for (const auto& device : plan.devices) nodes = std::max(nodes, device->node + 1);
  return nodes;
}

// Serves one engine, until it has ended or could not be loaded.
void Core::ServeMachine(Messenger& messenger, std::unique_ptr<plan::Plan> plan,
                        const EngineOptions& options, uint32_t first_tag,
                        const std::function<void(Machines&)>& begun) {
  Core* core = new Core(std::move(plan), options);
  core->machines_ = std::make_unique<Machines>(*core, messenger, first_tag);
  begun(*core->machines_);
  core->ranks_.rank = messenger.rank();
  core->ranks_.count = messenger.count();
  Status status;
  try {
    status = core->LoadRank();
    if (status.ok()) status = core->StartWorkers();
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  }
  core->machines_->Loaded(status);
  if (Worker* worker = core->PollingWorker(); status.ok() && worker != nullptr) {
    worker->Drive(core->spins_, [core] { return core->ended(); });
  }
  // What others may still wait for has left before the memory that it is in goes.
  PollUntil(messenger, [&] { return core->ended() && messenger.AllSent(); });
  core->Teardown();
  core->Release();
}

int ServeMachine(Messenger& messenger) {
  Inbox inbox(messenger);
  for (;;) {
    const std::vector<std::byte> bytes = inbox.Await();
    const auto [message, text] = Read(bytes);
    if (message.kind == MachineMessage::kQuit) break;
    if (message.kind != MachineMessage::kPlan) continue;
    const std::string_view copy = text.substr(
        std::min<uint64_t>(message.options.weights_dir_bytes, text.size()));
    auto plan = plan::FromBytes({reinterpret_cast<const uint8_t*>(copy.data()), copy.size()});
    if (plan.ok()) {
      Core::ServeMachine(messenger, std::move(*plan), OptionsOf(message, text, messenger),
                         message.options.first_tag,
                         [&](Machines& machines) { inbox.PassOnTo(&machines); });
    }
    inbox.PassOnTo(nullptr);
    Tell(messenger, 0, {.kind = MachineMessage::kEnded});
  }
  messenger.wire().Finish();
  return 0;
}

bool EndMachines(Messenger& messenger) {
  if (messenger.given_up()) return false;
  for (uint32_t rank = 1; rank < messenger.count(); ++rank) {
    Tell(messenger, rank, {.kind = MachineMessage::kQuit});
  }
  PollUntil(messenger, [&] { return messenger.AllSent(); });
  messenger.wire().Finish();
  return true;
}

}  // namespace cgraph::engine

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
    kAlive,     // nothing else is to be told
    kClock,     // what time is it? or: it is
    kMeasure,   // tell what was measured
    kTimings,   // of a work queue's steps in a graph
    kTrace,     // steps of a work queue
    kMeasured,  // that was all
    kForget,    // what was measured
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
    struct {
      int64_t now_ns;
    } clock;
  };
};

namespace {

using Clock = std::chrono::steady_clock;
using ranks::Messenger;

constexpr uint32_t kTag = 0;

// What is told of a step's Timing.
struct TimedStep {
  uint64_t ns = 0, count = 0;
};
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

// How often a rank tells that it is alive, and after how long without a word reports say so.
constexpr auto kAliveInterval = std::chrono::milliseconds(500);
constexpr auto kSilence = std::chrono::seconds(2);
// The pauses of the thread that polls while no worker does.
constexpr std::chrono::milliseconds kShortestPause{1}, kLongestPause{10};

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
                        ranks::Peers& peers) {
  EngineOptions options;
  options.peers = &peers;
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
    while (machines_ != nullptr && !messages_.empty()) machines_->Hear(0, Take());
  }

 private:
  std::span<std::byte> RoomFor(uint32_t, uint64_t bytes) override { return rooms_.New(bytes); }
  void OnMessage(uint32_t, std::span<const std::byte>) override {
    if (machines_ == nullptr) return messages_.push_back(rooms_.Take());
    std::vector<std::byte> message = rooms_.Take();
    machines_->Hear(0, message);
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

Machines::Machines(Core& core, ranks::Peers& peers, uint32_t first_tag)
    : core_(core),
      peers_(peers),
      messenger_(peers.messenger),
      next_tag_(first_tag),
      rooms_(messenger_.count()),
      heard_ns_(messenger_.count()),
      clocks_(messenger_.count()) {
  for (std::atomic<int64_t>& heard : heard_ns_) heard = NowNs();
  if (messenger_.rank() != 0) return;
  messenger_.Listen(kTag, this);
  if (peers_.supervision != nullptr) {
    peers_.supervision->OnLost([this](const auto& lost) { OnLost(lost); });
  }
}

Machines::~Machines() {
  if (messenger_.rank() != 0) return;
  if (peers_.supervision != nullptr) peers_.supervision->OnLost(nullptr);
  messenger_.Listen(kTag, nullptr);
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
    return late || messenger_.given_up() ||
           loaded_.load(std::memory_order_acquire) == others;
  });
  std::lock_guard lock(mutex_);
  if (!load_error_.ok()) return load_error_;
  started_ = !late;
  if (!late) return Status::Ok();
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

// Called by a thread of the supervision. A rank that goes before all have started is found by
// AwaitLoaded(): until then there is half an engine, which nobody else may touch.
void Machines::OnLost(const ranks::Supervision::Lost& lost) {
  bool started = false;
  {
    std::lock_guard lock(mutex_);
    started = started_;
    if (!started) {
      load_error_ = Status(StatusCode::kLost,
                           fmt::format("rank {} ({}) {} before it had loaded the plan", lost.rank,
                                       lost.process, lost.how));
    }
  }
  messenger_.GiveUp();
  if (started) core_.EndWithout(lost.rank, lost.process, lost.how);
}

void Machines::End() {
  TellAll({.kind = MachineMessage::kEnd}, {});
  const auto end = Clock::now() + kGrace;
  const uint32_t others = messenger_.count() - 1;
  PollUntil(messenger_, [&] {
    return messenger_.given_up() || Clock::now() > end || (ended_.load(std::memory_order_acquire) == others &&
                                  messenger_.AllSent());
  });
  if (ended_.load(std::memory_order_acquire) != others) messenger_.GiveUp();
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

// ---- measurements -------------------------------------------------------------------------------

// Of several round trips to a rank the shortest counts: it says best what time it is there.
void Machines::AlignClocks() {
  constexpr int kTimes = 10;
  for (int i = 0; i < kTimes; ++i) {
    answers_.store(0, std::memory_order_relaxed);
    asked_ns_ = NowNs();
    TellAll({.kind = MachineMessage::kClock}, {});
    if (!AwaitAnswers()) return;
  }
}

void Machines::OnClock(uint32_t from, int64_t there_ns) {
  const int64_t now = NowNs(), round_trip = now - asked_ns_;
  if (round_trip < clocks_[from].round_trip_ns) {
    clocks_[from] = {there_ns - (asked_ns_ + round_trip / 2), round_trip};
  }
  answers_.fetch_add(1, std::memory_order_release);
}

bool Machines::AwaitAnswers() {
  const auto end = Clock::now() + kGrace;
  const uint32_t others = messenger_.count() - 1;
  const auto all = [&] { return answers_.load(std::memory_order_acquire) == others; };
  PollUntil(messenger_, [&] { return all() || messenger_.given_up() || Clock::now() > end; });
  return all();
}

void Machines::Gather() {
  std::lock_guard lock(gather_mutex_);
  if (ended_.load(std::memory_order_acquire) != 0 || messenger_.given_up()) return;
  AlignClocks();
  answers_.store(0, std::memory_order_relaxed);
  TellAll({.kind = MachineMessage::kMeasure}, {});
  AwaitAnswers();
}

void Machines::ForgetMeasurements() { TellAll({.kind = MachineMessage::kForget}, {}); }

void Machines::OnTimings(const MachineMessage& message, std::string_view text) {
  if (message.graph >= core_.graphs_.size()) return;
  std::vector<StepList>& programs = core_.graphs_[message.graph]->programs;
  if (message.work_queue >= programs.size()) return;
  const std::span<Timing> timings = programs[message.work_queue].timings;
  for (size_t i = 0; i < timings.size() && text.size() >= (i + 1) * sizeof(TimedStep); ++i) {
    TimedStep timed;
    std::memcpy(&timed, text.data() + i * sizeof(timed), sizeof(timed));
    timings[i].ns.store(timed.ns, std::memory_order_relaxed);
    timings[i].count.store(timed.count, std::memory_order_relaxed);
  }
}

void Machines::OnTrace(uint32_t from, const MachineMessage& message, std::string_view text) {
  if (message.work_queue >= core_.work_queues_.size()) return;
  const auto offset = static_cast<uint64_t>(clocks_[from].offset_ns);
  for (; text.size() >= sizeof(TracedStep); text.remove_prefix(sizeof(TracedStep))) {
    TracedStep traced;
    std::memcpy(&traced, text.data(), sizeof(traced));
    traced.start_ns -= offset;
    traced.end_ns -= offset;
    core_.work_queues_[message.work_queue]->AddTraced(traced);
  }
}

std::string Machines::SilentRanks() const {
  std::string text;
  for (uint32_t rank = 1; rank < messenger_.count() && messenger_.rank() == 0; ++rank) {
    const std::chrono::nanoseconds silence(NowNs() -
                                           heard_ns_[rank].load(std::memory_order_relaxed));
    if (silence < kSilence) continue;
    const std::string process =
        peers_.supervision == nullptr ? "" : peers_.supervision->ProcessOf(rank);
    text += fmt::format("rank {} ({}{}{}) has told nothing for {:.1f} s: it is stopped by a signal, "
                        "or its machine cannot be reached\n",
                        rank, process, process.empty() ? "" : ": ", core_.DevicesOf(rank),
                        std::chrono::duration<double>(silence).count());
  }
  return text;
}

// ---- the others ---------------------------------------------------------------------------------

void Machines::Loaded(const Status& status) {
  MachineMessage message{.kind = MachineMessage::kLoaded};
  message.loaded = {status.code()};
  Tell(messenger_, 0, message, status.message());
}

// An execution's failures are told before the progress that ends it.
void Machines::Report() {
  std::unique_lock lock(report_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
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

// Tells all failures that the work queue has noted: rank 0 knows the same one again.
void Machines::ReportFailures(uint32_t work_queue) {
  for (uint32_t g = 0; g < core_.graphs_.size(); ++g) {
    std::vector<Frame>& frames = core_.graphs_[g]->frames;
    for (uint32_t f = 0; f < frames.size(); ++f) {
      const auto failure = frames[f].failures.slots[work_queue].Get();
      if (!failure) continue;
      MachineMessage message{.kind = MachineMessage::kFailure, .graph = g, .frame = f,
                             .work_queue = work_queue};
      message.failure = {failure->program_order};
      Tell(messenger_, 0, message, failure->text);
    }
  }
}

// Answers what rank 0 has asked: whoever hears a question must not send.
void Machines::Answer() {
  if (asked_clock_.exchange(false, std::memory_order_acquire)) {
    MachineMessage message{.kind = MachineMessage::kClock};
    message.clock = {NowNs()};
    Tell(messenger_, 0, message);
  }
  if (asked_measurements_.exchange(false, std::memory_order_acquire)) TellMeasurements();
}

void Machines::TellMeasurements() {
  traced_.resize(core_.work_queues_.size());
  for (uint32_t w = 0; w < traced_.size(); ++w) {
    if (!core_.IsHere(core_.placement_.worker_of_work_queue[w])) continue;
    for (uint32_t g = 0; g < core_.graphs_.size(); ++g) {
      std::string text;
      for (const Timing& timing : core_.graphs_[g]->programs[w].timings) {
        const TimedStep timed{timing.ns.load(std::memory_order_relaxed),
                              timing.count.load(std::memory_order_relaxed)};
        text.append(reinterpret_cast<const char*>(&timed), sizeof(timed));
      }
      if (text.empty()) continue;
      Tell(messenger_, 0,
           {.kind = MachineMessage::kTimings, .graph = g, .work_queue = w}, text);
    }
    const TraceLog& log = core_.work_queues_[w]->traced();
    std::string text;
    for (const size_t size = log.size(); traced_[w] < size; ++traced_[w]) {
      text.append(reinterpret_cast<const char*>(&log[traced_[w]]), sizeof(TracedStep));
    }
    if (!text.empty()) {
      Tell(messenger_, 0, {.kind = MachineMessage::kTrace, .work_queue = w}, text);
    }
  }
  Tell(messenger_, 0, {.kind = MachineMessage::kMeasured});
}

// ---- all ----------------------------------------------------------------------------------------

bool Machines::Poll() {
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return PollOnce();
}

bool Machines::PollOnce() {
  const bool any = messenger_.Poll();
  if (messenger_.rank() != 0) {
    Report();
    Answer();
  }
  // Workers that wait for a message to leave are not notified of that otherwise.
  for (size_t w = 0; w < core_.workers_.size() && any; ++w) {
    if (core_.IsHere(static_cast<uint32_t>(w))) core_.workers_[w]->event_count->Notify();
  }
  return any;
}

Status Machines::StartThread() try {
  thread_ = std::thread([this] { RunThread(); });
  return Status::Ok();
} catch (const std::system_error& error) {
  return Status(StatusCode::kNotFound,
                fmt::format("a rank needs a thread for its messages, and the system makes none: {}",
                            error.code().message()));
}

void Machines::EndThread() {
  {
    std::lock_guard lock(thread_mutex_);
    ends_ = true;
  }
  thread_ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Goes on without a pause while messages move and the worker does not poll.
void Machines::RunThread() {
  std::unique_lock lock(thread_mutex_);
  std::chrono::milliseconds pause = kShortestPause;
  uint64_t polls = 0;
  Clock::time_point told = Clock::now();
  while (!thread_ends_.wait_for(lock, pause, [this] { return ends_; })) {
    const uint64_t now = polls_.load(std::memory_order_relaxed);
    const bool polled = std::exchange(polls, now) != now;
    lock.unlock();
    bool moved = false;
    if (const auto time = Clock::now(); messenger_.rank() != 0 && time - told >= kAliveInterval) {
      told = time;
      Tell(messenger_, 0, {.kind = MachineMessage::kAlive});
    }
    while (!polled && PollOnce()) {
      moved = true;
      if (polls_.load(std::memory_order_relaxed) != now) break;
    }
    lock.lock();
    pause = moved ? kShortestPause : std::min(2 * pause, kLongestPause);
  }
}

void Machines::Hear(uint32_t from, std::span<const std::byte> bytes) {
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
    case MachineMessage::kAlive: break;
    case MachineMessage::kClock:
      if (messenger_.rank() != 0) {
        asked_clock_.store(true, std::memory_order_release);
      } else {
        OnClock(from, message.clock.now_ns);
      }
      break;
    case MachineMessage::kMeasure:
      asked_measurements_.store(true, std::memory_order_release);
      break;
    case MachineMessage::kTimings: OnTimings(message, text); break;
    case MachineMessage::kTrace: OnTrace(from, message, text); break;
    case MachineMessage::kMeasured: answers_.fetch_add(1, std::memory_order_release); break;
    case MachineMessage::kForget: core_.ForgetMeasurements(); break;
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
  }
  core->machines_->Loaded(status);
  if (Worker* worker = core->PollingWorker(); status.ok() && worker != nullptr) {
    worker->Drive(core->spins_, [core] { return core->ended(); });
  }
  // What others may still wait for has left before the memory that it is in goes.
  PollUntil(messenger, [&] { return core->ended() && messenger.AllSent(); });
  core->machines_->EndThread();
  core->Teardown();
  core->Release();
}

int ServeMachine(ranks::Peers& peers) {
  Messenger& messenger = peers.messenger;
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
      Core::ServeMachine(peers, std::move(*plan), OptionsOf(message, text, peers),
                         message.options.first_tag,
                         [&](Machines& machines) { inbox.PassOnTo(&machines); });
    }
    inbox.PassOnTo(nullptr);
    Tell(messenger, 0, {.kind = MachineMessage::kEnded});
  }
  peers.supervision.reset();  // says that this rank ends
  messenger.wire().Finish();
  return 0;
}

bool EndMachines(ranks::Peers& peers) {
  Messenger& messenger = peers.messenger;
  if (messenger.given_up()) return false;
  for (uint32_t rank = 1; rank < messenger.count(); ++rank) {
    Tell(messenger, rank, {.kind = MachineMessage::kQuit});
  }
  PollUntil(messenger, [&] { return messenger.AllSent(); });
  messenger.wire().Finish();
  peers.supervision.reset();
  return true;
}

}  // namespace cgraph::engine

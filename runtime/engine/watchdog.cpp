#include "runtime/engine/watchdog.h"

#include <fmt/format.h>

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMinLook = std::chrono::milliseconds(1);
constexpr auto kMaxLook = std::chrono::milliseconds(50);

}  // namespace

void Watchdog::Start() {
  ending_.Wake(wakeup_);
  positions_.resize(2 * workers_.work_queues.size(), 0);
  graphs_.resize(loaded_.graphs.size());
  reporter_.positions().Reserve(workers_.work_queues.size());
  now_ = last_look_ = moved_ = Clock::now();
  thread_ = std::thread([this] { Run(); });
}

void Watchdog::Join() {
  cgraph::Join(WaitPoint::kEndWatchdog, thread_);
}

// Returns the time between two looks: so short that a stall or a graph's own deadline is noticed
// late by a fraction of it only.
std::chrono::nanoseconds Watchdog::LookInterval() const {
  std::chrono::nanoseconds look = kMaxLook;
  if (options_.timeout.count() > 0) look = std::min(look, options_.timeout / 8);
  for (const auto& graph : loaded_.graphs) {
    const uint64_t deadline = graph->plan->deadline_ps / 1000;
    if (deadline == 0) continue;
    look = std::min(look, std::chrono::nanoseconds(deadline) / 8);
  }
  return std::max<std::chrono::nanoseconds>(look, kMinLook);
}

void Watchdog::Run() {
  id_ = std::this_thread::get_id();
  const std::chrono::nanoseconds look = LookInterval();
  while (!ending_.has_ended()) {
    wakeup_.Wait([&] { return ending_.has_ended(); }, Clock::now() + look);
    if (ending_.has_ended()) break;
    if (Stalled()) {
      const double seconds = std::chrono::duration<double>(options_.timeout).count();
      TimeOut(fmt::format("nothing has moved for {} s\n", seconds));
    } else if (auto overdue = LookAtGraphs()) {
      TimeOut(*overdue);
    }
  }
  // A caller inside a kernel does not hear of it otherwise.
  const Status why = ending_.why();
  if (why.code() == StatusCode::kLost && options_.timed_out) options_.timed_out(why);
}

void Watchdog::TimeOut(const std::string& why) {
  Status status(StatusCode::kTimeout, why + reporter_.TextOfEnd());
  ending_.End(status);
  if (options_.timed_out) options_.timed_out(status);
}

// Returns the time as this thread has seen it pass: it stands still while the process is stopped.
Watchdog::Time Watchdog::Tick() {
  constexpr auto kLongestTick = std::chrono::milliseconds(100);  // two looks
  const Time time = Clock::now();
  now_ += std::min<std::chrono::nanoseconds>(time - last_look_, kLongestTick);
  last_look_ = time;
  return now_;
}

bool Watchdog::Stalled() {
  bool pending = false, moved = false;
  for (size_t s = 0; s < workers_.work_queues.size(); ++s) {
    const WorkQueue& work_queue = *workers_.work_queues[s];
    const Position position = work_queue.positions().Where();
    const uint64_t at = static_cast<uint64_t>(position.graph) << 32 | position.step;
    const bool this_moved = positions_[2 * s] != position.done || positions_[2 * s + 1] != at;
    NotePosition(static_cast<uint32_t>(s), position, this_moved);
    moved |= this_moved;
    positions_[2 * s] = position.done;
    positions_[2 * s + 1] = at;
    pending |= work_queue.inbox().pending();
  }
  const Time now = Tick();
  if (!pending || moved) moved_ = now;
  if (!moved && driver_.Unattended()) {
    driver_.EnsureProgress();
    moved_ = now;
  }
  return options_.timeout.count() > 0 && now - moved_ >= options_.timeout;
}

// Notes where a work queue is, for reports; and, where it has not moved, its queues.
void Watchdog::NotePosition(uint32_t w, const Position& position, bool moved) {
  const auto now = Clock::now();
  PositionLog& log = reporter_.positions();
  if (!position.of_queue) log.Note(w, position, now);
  if (moved || loaded_.queue_map.queues.size() == workers_.work_queues.size()) return;
  for (const Position& queue : workers_.work_queues[w]->positions().OfQueues()) {
    const StepList& program = loaded_.graphs[queue.graph]->programs[w];
    if (queue.step >= program.steps.size()) continue;
    log.NoteQueue(w, program.steps[queue.step].queue, queue, now);
  }
}

// Returns what is to be said of a graph that is overdue.
std::optional<std::string> Watchdog::LookAtGraphs() {
  for (const auto& graph : loaded_.graphs) {
    if (graph->plan->deadline_ps == 0 && graph->lag == 0) continue;
    SeenGraph& before = graphs_[graph->index];
    const Submitter::Seen now = submitter_.Look(graph->index, before.seen.submitted);
    const bool overdue = graph->plan->deadline_ps != 0 && Overdue(*graph, now, before);
    before.seen = now;
    if (!overdue) continue;
    const std::chrono::nanoseconds deadline(graph->plan->deadline_ps / 1000);
    return fmt::format("an execution of `{}` has taken longer than its timeout, {} s\n",
                       graph->plan->name, std::chrono::duration<double>(deadline).count());
  }
  return std::nullopt;
}

// Returns whether the oldest execution is at work for longer than the graph's deadline. Its time
// counts from the first look that finds it at work: before that perhaps no thread drove worker 0,
// and an execution without its last rounds waits for nothing but them.
bool Watchdog::Overdue(const LoadedGraph& graph, const Submitter::Seen& now,
                       SeenGraph& before) const {
  const auto time = Clock::now();
  const bool same = before.seen.pending && now.retired == before.seen.retired;
  if (!same || !now.pending) before.since = time;
  return time - before.since >= std::chrono::nanoseconds(graph.plan->deadline_ps / 1000);
}

}  // namespace cgraph::engine

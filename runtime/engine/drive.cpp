// Driving worker 0, and the watchdog.
//
// The holder of the driver lock drives. A caller without a deadline takes the lock and drives until
// its result is there; if the lock is taken, the caller sleeps until its result is there or the
// lock is free. A caller with a deadline may not take it (a kernel could outlast the deadline). It
// calls the fallback driver instead, which drives for as long as worker 0 has anything left to do.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/core.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMinLook = std::chrono::milliseconds(1);
constexpr auto kMaxLook = std::chrono::milliseconds(50);

}  // namespace

bool Worker::PollMachines() { return machines->Poll(); }

template <typename Until>
void Core::DriveUntil(Until&& until) {
  struct Release {  // also where there is no memory left, and something throws
    ~Release() { core->ReleaseDriverLock(); }
    Core* core;
  };
  Worker& worker = *workers_[0];
  while (!until()) {
    if (driver_lock_.try_lock()) {
      const Release release{this};
      worker.Drive(yields_, until);
    } else {
      worker.event_count->Wait([&] { return until() || !driver_lock_.held(); });
    }
  }
}

// Returns whether there is something for worker 0 to do: its own work and, where ranks share no
// memory, to hear of that of others.
bool Core::Pending() const {
  if (workers_[0]->Pending()) return true;
  return machines_ != nullptr &&
         std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->Pending(); });
}

void Core::Await(ExecutionState& run) {
  DriveUntil([&] { return ended() || run.Over(); });
}

// Returns false where the program was interrupted first: it is asked between slices, in which this
// thread does not drive, since a kernel may take longer.
bool Core::AwaitDone(const ExecutionState& run, bool interruptible) {
  constexpr auto kSlice = std::chrono::milliseconds(100);
  const auto over = [&] { return ended() || run.Done(); };
  if (!interruptible || !options_.interrupted) {
    DriveUntil(over);
    return true;
  }
  while (!over()) {
    AwaitWithoutDriving(over, Clock::now() + kSlice);
    if (!over() && options_.interrupted()) return false;
  }
  return true;
}

void Core::AwaitUntil(ExecutionState& run, const Deadline& deadline) {
  AwaitWithoutDriving([&] { return ended() || run.Over(); }, deadline);
}

template <typename Over>
void Core::AwaitWithoutDriving(Over&& over, const Deadline& deadline) {
  while (!over()) {
    const bool unattended = !driver_lock_.held() && Pending();
    if (unattended) EnsureProgress();
    const bool in_time = workers_[0]->event_count->Wait(
        [&] { return over() || (!driver_lock_.held() && Pending()); }, deadline);
    if (!in_time) return;
  }
}

void Core::ReleaseDriverLock() {
  driver_lock_.unlock();
  workers_[0]->event_count->Notify();
}

void Core::EnsureProgress() {
  fallback_driver_called_.store(true, std::memory_order_release);
  fallback_driver_wakeup_.Notify();
}

void Core::RunFallbackDriver() {
  Worker& worker = *workers_[0];
  while (!ended()) {
    if (!fallback_driver_called_.exchange(false, std::memory_order_seq_cst)) {
      fallback_driver_wakeup_.Wait(
          [&] { return ended() || fallback_driver_called_.load(std::memory_order_acquire); });
      continue;
    }
    FlushWanted();
    if (Pending() && driver_lock_.try_lock()) {
      worker.Drive(yields_, [&] { return ended() || !Pending(); });
      ReleaseDriverLock();
    }
  }
}

// Returns the time between two looks: so short that a stall or a graph's own deadline is noticed
// late by a fraction of it only.
std::chrono::nanoseconds Core::LookInterval() const {
  std::chrono::nanoseconds look = kMaxLook;
  if (options_.timeout.count() > 0) look = std::min(look, options_.timeout / 8);
  for (const auto& graph : graphs_) {
    const uint64_t deadline = graph->plan->deadline_ps / 1000;
    if (deadline == 0) continue;
    look = std::min(look, std::chrono::nanoseconds(deadline) / 8);
  }
  return std::max<std::chrono::nanoseconds>(look, kMinLook);
}

// Looks from time to time whether anything moves, whether some thread drives worker 0 and submits
// the rounds that executions end with, and whether a graph's own deadline has passed.
void Core::Watch(Progress progress) {
  watchdog_id_ = std::this_thread::get_id();
  const std::chrono::nanoseconds look = LookInterval();
  while (!ended()) {
    watchdog_wakeup_.Wait([&] { return ended(); }, Clock::now() + look);
    if (ended()) break;
    if (Stalled(progress)) {
      const double seconds = std::chrono::duration<double>(options_.timeout).count();
      TimeOut(fmt::format("nothing has moved for {} s\n", seconds));
    } else if (auto overdue = LookAtGraphs(progress)) {
      TimeOut(*overdue);
    }
  }
  // A caller inside a kernel does not hear of it otherwise.
  const Status status = EndStatus();
  if (status.code() == StatusCode::kLost && options_.timed_out) options_.timed_out(status);
}

void Core::TimeOut(const std::string& why) {
  std::string report;
  {
    std::lock_guard lock(report_mutex_);
    const std::vector<WaitingLane> lanes = WaitingLanes();
    report = ReportOf(lanes);
    end_drawing_ = ReportDot(lanes);
  }
  Status status(StatusCode::kTimeout, why + report);
  End(status);
  if (options_.timed_out) options_.timed_out(status);
}

bool Core::Stalled(Progress& progress) {
  bool pending = false, moved = false;
  for (size_t s = 0; s < work_queues_.size(); ++s) {
    const Position position = work_queues_[s]->Where();
    const uint64_t at = static_cast<uint64_t>(position.graph) << 32 | position.step;
    const bool this_moved = progress.seen[2 * s] != position.done || progress.seen[2 * s + 1] != at;
    NotePosition(static_cast<uint32_t>(s), position, this_moved);
    moved |= this_moved;
    progress.seen[2 * s] = position.done;
    progress.seen[2 * s + 1] = at;
    pending |= work_queues_[s]->pushed() != work_queues_[s]->done();
  }
  const auto now = progress.Tick();
  if (!pending || moved) progress.since = now;
  if (!moved && !driver_lock_.held() && Pending()) {
    EnsureProgress();
    progress.since = now;
  }
  return options_.timeout.count() > 0 && now - progress.since >= options_.timeout;
}

// Notes where a work queue is, for reports; and, where it has not moved, its queues.
void Core::NotePosition(uint32_t w, const Position& position, bool moved) {
  const auto now = Clock::now();
  if (!position.of_queue) positions_.Note(w, position, now);
  if (moved || queue_map_.queues.size() == work_queues_.size()) return;
  for (const Position& queue : work_queues_[w]->Everywhere()) {
    const StepList& program = graphs_[queue.graph]->programs[w];
    if (queue.step >= program.steps.size()) continue;
    positions_.NoteQueue(w, program.steps[queue.step].queue, queue, now);
  }
}

// Submits the last rounds of an execution, where nobody else does and nothing of its graph has
// moved from one look to the next.
std::optional<std::string> Core::LookAtGraphs(Progress& progress) {
  std::lock_guard lock(submission_);
  for (auto& graph : graphs_) {
    if (graph->plan->deadline_ps == 0 && graph->lag == 0) continue;
    Retire(*graph);
    Progress::Graph& seen = progress.graphs[graph->index];
    if (graph->idle() && graph->in_progress != 0 && graph->submitted == seen.submitted) {
      graph->flush_until = graph->submitted;
      EnsureProgress();
    }
    seen.submitted = graph->submitted;
    if (graph->plan->deadline_ps != 0 && Overdue(*graph, seen)) {
      const std::chrono::nanoseconds deadline(graph->plan->deadline_ps / 1000);
      return fmt::format("an execution of `{}` has taken longer than its timeout, {} s\n",
                         graph->plan->name, std::chrono::duration<double>(deadline).count());
    }
  }
  return std::nullopt;
}

// Returns whether the oldest execution is at work for longer than the graph's deadline. Its time
// counts from the first look that finds it at work: before that perhaps nobody drove worker 0, and
// an execution without its last rounds waits for nothing but them.
bool Core::Overdue(const LoadedGraph& graph, Progress::Graph& seen) const {
  const auto now = Clock::now();
  const bool same = seen.pending && graph.retired == seen.retired;
  seen.retired = graph.retired;
  seen.pending = !graph.idle();
  if (!same || !seen.pending) seen.since = now;
  return now - seen.since >= std::chrono::nanoseconds(graph.plan->deadline_ps / 1000);
}

}  // namespace cgraph::engine

#include "tests/emulation/driver/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace cgraph::emulation {
namespace {

thread_local const Work* in_hand = nullptr;

}  // namespace

const Work* Scheduler::InHand() { return in_hand; }

Scheduler::Scheduler(const Options& options, Memory& memory, std::mutex& mutex)
    : options_(options),
      memory_(memory),
      mutex_(mutex),
      last_progress_(std::chrono::steady_clock::now()),
      random_(options.seed) {
  DrawHabits();
}

void Scheduler::DrawHabits() {
  change_every_ = uint64_t{1} << (random_() % 6);   // 1 .. 32
  eager_one_in_ = uint64_t{1} << (random_() % 12);  // often none at all
  lazy_one_in_ = uint64_t{1} << (random_() % 6);
  strict_ = random_() % 2 == 0;
  pause_one_in_ = uint64_t{1} << (random_() % 8);
  pause_most_us_ = uint64_t{1} << (random_() % 10);
}

void Scheduler::Reseed(uint64_t seed) {
  random_.seed(seed);
  DrawHabits();
  next_low_ = 1 << 20;
  for (CUstream stream : streams_) stream->priority = DrawPriority();
}

void Scheduler::Start() {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { WorkInThread(); });
}

void Scheduler::Stop() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  appended_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Scheduler::Fault() {
  faulted_ = true;
  finished_.notify_all();
}

void Scheduler::Add(CUstream stream) {
  stream->priority = DrawPriority();
  streams_.push_back(stream);
}

void Scheduler::Remove(CUstream stream) {
  stream->removed = true;
  if (Idle(*stream)) std::erase(streams_, stream);
}

void Scheduler::Append(CUstream stream, Work work) {
  work.number = ++issued_;
  if (pending_++ == 0) last_progress_ = std::chrono::steady_clock::now();
  stream->works.push_back(std::move(work));
  appended_.notify_one();
}

bool Scheduler::BehindOthersOfItsChannel(const CUstream_st& stream) const {
  if (options_.channels == 0) return false;
  return std::any_of(streams_.begin(), streams_.end(), [&](const CUstream_st* other) {
    return other != &stream && other->context->device == stream.context->device &&
           other->number % options_.channels == stream.number % options_.channels &&
           !other->works.empty() && other->works.front().number < stream.works.front().number;
  });
}

bool Scheduler::CanBegin(const Work& work) {
  if (const auto* wait = std::get_if<WaitForEvent>(&work.what)) return wait->completion->done;
  if (const auto* wait = std::get_if<WaitForValue>(&work.what)) {
    if (work.reaches == 0) return Arrived(*wait);
    memory_.Open(work.reaches);
    const bool arrived = Arrived(*wait);
    memory_.Close(work.reaches);
    return arrived;
  }
  if (const auto* graph = std::get_if<RunGraph>(&work.what)) {
    return graph->run->exec->finished == graph->run->number;
  }
  if (const auto* library = std::get_if<LibraryWork>(&work.what)) {
    return library->may_begin == nullptr || library->may_begin();
  }
  return true;
}

void Scheduler::Consider(std::optional<Candidate>& best, const Candidate& candidate) const {
  if (!best || candidate.priority > best->priority) best = candidate;
}

void Scheduler::ConsiderNodes(std::optional<Candidate>& best, CUstream stream, GraphRun& run) {
  for (const auto& [node, priority] : run.ready) {
    if (CanBegin(run.exec->nodes[node].work)) Consider(best, {stream, node, priority});
  }
}

void Scheduler::Begin(GraphRun& run) {
  run.begun = true;
  for (const GraphNode& node : run.exec->nodes) {
    run.missing.push_back(node.dependencies.size());
    if (run.missing.back() == 0) run.ready.push_back({run.missing.size() - 1, DrawPriority()});
  }
}

std::optional<Scheduler::Candidate> Scheduler::Choose() {
  const auto now = std::chrono::steady_clock::now();
  std::optional<Candidate> best;
  for (CUstream stream : streams_) {
    if (stream->works.empty() || stream->busy || stream->held_until > now ||
        BehindOthersOfItsChannel(*stream)) {
      continue;
    }
    const Work& head = stream->works.front();
    auto* const graph = std::get_if<RunGraph>(&head.what);
    if (graph != nullptr && graph->run->begun) {
      ConsiderNodes(best, stream, *graph->run);
    } else if (CanBegin(head)) {
      Consider(best, {stream, std::nullopt, stream->priority});
    }
  }
  if (!strict_ || !best) return best;
  const bool behind = std::any_of(streams_.begin(), streams_.end(), [&](CUstream stream) {
    return stream->busy && stream->priority > best->priority;
  });
  return behind ? std::nullopt : best;
}

// Called when work begins.
bool Scheduler::NeverEnds(const Work& work) {
  if (!std::holds_alternative<LaunchGrid>(work.what)) return false;
  if (options_.only >= 0 && work.device != options_.only) return false;
  if (++grids_ != options_.endless) return false;
  endless_ = work;
  return true;
}

// Carries out one operation, if any may begin.
bool Scheduler::RunOne(std::unique_lock<std::mutex>& lock) {
  if (faulted_) return false;
  const auto chosen = Choose();
  if (!chosen) return false;
  CUstream stream = chosen->stream;
  Work* work = &stream->works.front();
  auto* const graph = std::get_if<RunGraph>(&work->what);
  if (graph != nullptr && !chosen->node) {
    Begin(*graph->run);
    if (graph->run->missing.empty()) Finish(*chosen);
    return true;
  }
  if (chosen->node) {
    std::erase_if(graph->run->ready,
                  [&](const GraphRun::Ready& ready) { return ready.node == *chosen->node; });
    work = &graph->run->exec->nodes[*chosen->node].work;
  } else {
    stream->busy = true;
  }
  const uint64_t seed = random_() % 4 == 0 ? 0 : random_();
  const DeviceSet reaches = work->reaches;
  memory_.Open(reaches);
  if (NeverEnds(*work)) return true;
  lock.unlock();
  in_hand = work;
  CarryOut(*work, seed);
  in_hand = nullptr;
  lock.lock();
  memory_.Close(reaches);
  Finish(*chosen);
  return true;
}

void Scheduler::Finish(const Candidate& candidate) {
  CUstream stream = candidate.stream;
  last_progress_ = std::chrono::steady_clock::now();
  stuck_reported_ = false;
  if (candidate.node) {
    GraphRun& run = *std::get<RunGraph>(stream->works.front().what).run;
    for (const size_t node : run.exec->dependents[*candidate.node]) {
      if (--run.missing[node] == 0) run.ready.push_back({node, DrawPriority()});
    }
    appended_.notify_one();
    if (++run.done < run.missing.size()) return;
  }
  FinishHead(stream);
}

void Scheduler::FinishHead(CUstream stream) {
  const Work& head = stream->works.front();
  if (const auto* record = std::get_if<RecordEvent>(&head.what)) {
    record->completion->done = true;
    record->completion->when = last_progress_;
  } else if (const auto* graph = std::get_if<RunGraph>(&head.what)) {
    ++graph->run->exec->finished;
  }
  stream->works.pop_front();
  stream->busy = false;
  --pending_;
  if (random_() % change_every_ == 0) stream->priority = --next_low_;
  if (stream->removed && Idle(*stream)) std::erase(streams_, stream);
  finished_.notify_all();
  appended_.notify_one();
}

// Questions keep the program asking while nothing moves.
void Scheduler::AfterCall(std::unique_lock<std::mutex>& lock, bool asks) {
  constexpr uint64_t kMost = 50;
  if (options_.threads != 0) return;
  if (!asks) {
    if (random_() % eager_one_in_ == 0) RunOne(lock);
    return;
  }
  if (random_() % lazy_one_in_ != 0 && ++put_off_ < kMost) return;
  put_off_ = 0;
  if (!RunOne(lock)) ReportIfStuck();
}

bool Scheduler::WaitUntil(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
  int idle_turns = 0;
  while (!done()) {
    if (faulted_) return false;
    if (options_.threads == 0 && RunOne(lock)) {
      idle_turns = 0;
    } else {
      WaitForChange(lock, finished_, idle_turns);
    }
  }
  return true;
}

// Returns whether some work waits for memory that somebody may write without a call.
bool Scheduler::AnyWaitsForMemory() const {
  const auto waits = [](const Work& work) {
    // A library's work may wait for that of another process.
    const auto* library = std::get_if<LibraryWork>(&work.what);
    return std::holds_alternative<WaitForValue>(work.what) ||
           (library != nullptr && library->may_begin != nullptr);
  };
  return std::any_of(streams_.begin(), streams_.end(), [&](const CUstream_st* stream) {
    if (stream->works.empty()) return false;
    const auto* graph = std::get_if<RunGraph>(&stream->works.front().what);
    if (graph == nullptr) return waits(stream->works.front());
    const GraphNodes& nodes = graph->run->exec->nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const GraphNode& node) { return waits(node.work); });
  });
}

bool Scheduler::AnyHeld() const {
  const auto now = std::chrono::steady_clock::now();
  return std::any_of(streams_.begin(), streams_.end(), [&](const CUstream_st* stream) {
    return !stream->works.empty() && stream->held_until > now;
  });
}

// Nobody tells when memory changes, so it is looked at again and again, less often as time goes by.
void Scheduler::WaitForChange(std::unique_lock<std::mutex>& lock,
                              std::condition_variable& condition, int& idle_turns) {
  if (pending_ == 0) {
    condition.wait(lock);
    return;
  }
  const int shift = std::min(idle_turns++, 5);
  condition.wait_for(lock, AnyWaitsForMemory() || AnyHeld()
                               ? std::chrono::microseconds(20 << shift)
                               : std::chrono::milliseconds(100));
  ReportIfStuck();
}

void Scheduler::WorkInThread() {
  std::unique_lock lock(mutex_);
  int idle_turns = 0;
  while (!ended_) {
    if (pending_ != 0 && random_() % pause_one_in_ == 0) Pause(lock);
    if (RunOne(lock)) {
      idle_turns = 0;
    } else if (!ended_) {
      WaitForChange(lock, appended_, idle_turns);
    }
  }
}

// A device, or one stream of it, that is busy with something else for a while.
void Scheduler::Pause(std::unique_lock<std::mutex>& lock) {
  const auto pause = std::chrono::microseconds(random_() % pause_most_us_);
  if (random_() % 4 != 0) {
    CUstream stream = streams_[random_() % streams_.size()];
    stream->held_until = std::chrono::steady_clock::now() + 4 * pause;
    return;
  }
  lock.unlock();
  std::this_thread::sleep_for(pause);
  lock.lock();
}

void Scheduler::ReportIfStuck() {
  const std::chrono::duration<double> still = std::chrono::steady_clock::now() - last_progress_;
  if (pending_ == 0 || stuck_reported_ || still.count() < options_.stuck) return;
  stuck_reported_ = true;
  for (const CUstream_st* stream : streams_) {
    if (stream->works.empty()) continue;
    fmt::print(stderr, "emulated GPU: no progress for {:.0f} s: stream {} of device {} has {} "
               "operations, first {}\n", still.count(), stream->number, stream->context->device,
               stream->works.size(), NameOf(stream->works.front()));
  }
  std::fflush(stderr);
}

}  // namespace cgraph::emulation

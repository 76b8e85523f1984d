#include "runtime/engine/submitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/assert.h"
#include "runtime/base/wait_point.h"
#include "runtime/engine/inputs.h"
#include "runtime/engine/round_receiver.h"

namespace cgraph::engine {
namespace {

constexpr uint64_t kNotYet = UINT64_MAX;

// Unlocked: gives a lock up for as long as it lives.
struct Unlocked {
  explicit Unlocked(Mutex& mutex) : mutex(mutex) { mutex.unlock(); }
  ~Unlocked() { mutex.lock(); }
  Mutex& mutex;
};

}  // namespace

// Of each graph as many executions are made as can be in progress, its lag among them, and one for
// a caller that still holds the last result.
Status Submitter::Prepare() {
  ending_.Wake(turns_.changed());
  progress_.resize(loaded_.graphs.size());
  for (uint32_t g = 0; g < loaded_.graphs.size(); ++g) {
    LoadedGraph& graph = *loaded_.graphs[g];
    progress_[g].graph = &graph;
    CGRAPH_RETURN_IF_ERROR(pool_.Reserve(g, uint64_t{graph.inflight} + graph.lag + 1));
    CGRAPH_RETURN_IF_ERROR(BeginEmpty(progress_[g]));
    given_.resize(std::max(given_.size(), graph.inputs.size()));
  }
  return Status::Ok();
}

// Begins the empty executions that the first `lag` rounds finish. Their frames are the last ones,
// and their poison flags are all set.
Status Submitter::BeginEmpty(Progress& at) {
  LoadedGraph& graph = *at.graph;
  const size_t frames = graph.frames.size();
  for (size_t f = frames - graph.lag; f < frames; ++f) {
    auto execution = pool_.Take(graph.index);
    if (!execution.ok()) return execution.status();
    ExecutionState& empty = **execution;
    empty.empty = true;
    empty.refs.store(1, std::memory_order_relaxed);
    empty.number = at.submitted++;
    for (uint32_t i = 0; i < empty.target_count; ++i) {
      empty.targets[i].until.store(kNotYet, std::memory_order_relaxed);
    }
    graph.frames[f].execution = &empty;
  }
  at.oldest_frame = static_cast<uint32_t>((frames - graph.lag) % frames);
  return Status::Ok();
}

Result<ExecutionState*> Submitter::Submit(uint32_t g, std::span<const Input> inputs,
                                          WhenFull when_full) {
  Progress& at = progress_[g];
  LoadedGraph& graph = *at.graph;
  CGRAPH_RETURN_IF_ERROR(gpus_.AwaitProducers(inputs));
  CGRAPH_RETURN_IF_ERROR(CheckCaller());
  std::lock_guard lock(lock_);
  if (ending_.has_ended()) return ending_.why();
  CGRAPH_RETURN_IF_ERROR(MatchInputs(*loaded_.plan, graph, inputs, given_));
  bool waited = false;
  CGRAPH_RETURN_IF_ERROR(AwaitCapacity(at, when_full, waited));
  if (!Passed(WaitPoint::kMatchAgain, !waited)) {  // another thread may have been here
    CGRAPH_RETURN_IF_ERROR(MatchInputs(*loaded_.plan, graph, inputs, given_));
  }
  Frame& frame = graph.frames[at.next_frame];
  bool any_lent = false;
  CGRAPH_RETURN_IF_ERROR(PutInputs(graph, given_, gpus_, frame, any_lent));
  ExecutionState* execution = pool_.TakeFree(g);
  if (execution == nullptr) {
    auto taken = pool_.Take(g);
    if (!taken.ok()) return taken;
    execution = *taken;
  }
  for (const auto& [symbol, tensor] : graph.given_extents) {
    *frame.bindings.tensors[tensor].as<int64_t>() = frame.taken[symbol];
  }
  for (const LoadedGraph::GivenDim& given : graph.given_dims) {
    execution->outputs[given.output].dims[given.dim] = frame.taken[given.symbol];
  }
  execution->lent = any_lent;
  execution->empty = false;
  // The caller's two and the engine's.
  execution->refs.store(Omits(WaitPoint::kInProgress) ? 2 : 3, std::memory_order_relaxed);
  ++at.in_progress;
  SubmitRound(at, execution);
  at.begun = at.submitted;
  return execution;
}

Status Submitter::AwaitCapacity(Progress& at, WhenFull when_full, bool& waited) {
  Turns::Caller self{at.graph->index};
  Status status = TryCapacity(at, when_full, self, waited);
  if (waited) turns_.Remove(self);
  return status;
}

// A caller that waited once stays listed until it is admitted, or gives up.
Status Submitter::TryCapacity(Progress& at, WhenFull when_full, Turns::Caller& self,
                              bool& listed) {
  const LoadedGraph& graph = *at.graph;
  for (;;) {
    if (ending_.has_ended()) return ending_.why();
    Retire(at);
    Progress* other = Conflicting(at);
    bool overtakes = false;
    if (other == nullptr) {
      const bool few = Passed(WaitPoint::kInflight, at.in_progress < graph.inflight);
      const bool room = Passed(WaitPoint::kFrame, !at.full());
      overtakes = few && room && turns_.any() && turns_.MustWait(graph, self);
      if (few && room && !overtakes && !turns_.paused()) {
        if (turns_.any()) turns_.Overtake(graph, self);
        return Status::Ok();
      }
      if (when_full == WhenFull::kError && at.in_progress >= graph.inflight) {
        return Status(StatusCode::kCapacity,
                      fmt::format("{} executions of `{}` are in flight, and it may have {}; get a "
                                  "result first, or wait",
                                  at.in_progress, graph.plan->name, graph.inflight));
      }
    }
    if (!std::exchange(listed, true)) turns_.Add(self);
    if (overtakes || turns_.paused()) {
      turns_.Await(lock_, [this] { return ending_.has_ended(); });
    } else {
      // Python runs handlers of signals in whatever its main thread does: no method is to be that.
      CGRAPH_RETURN_IF_ERROR(AwaitOldest(other != nullptr ? *other : at,
                                         /*interruptible=*/loaded_.kernels->CallsPython()));
    }
  }
}

// Returns a graph whose executions have to be over before this graph's next one starts, if there is
// one. Its empty executions touch no state: they may be in progress.
Submitter::Progress* Submitter::Conflicting(const Progress& at) {
  for (uint32_t c : at.graph->conflicts) {
    Retire(progress_[c]);
    if (!Passed(WaitPoint::kConflict, progress_[c].in_progress == 0)) return &progress_[c];
  }
  return nullptr;
}

// Waits for the oldest execution; gives the lock up meanwhile. `interruptible`: kFailed where the
// program does not wait any more.
Status Submitter::AwaitOldest(Progress& at, bool interruptible) {
  while (at.round() <= at.retired) CGRAPH_RETURN_IF_ERROR(SubmitEmpty(at));
  ExecutionState* oldest = at.ExecutionIn(at.oldest_frame);
  oldest->Ref();
  bool done = false;
  {
    const Unlocked unlocked(lock_);
    done = driver_.AwaitDone(*oldest, interruptible ? options_.interrupted : nullptr);
  }
  oldest->Unref();
  return done ? Status::Ok() : Status(StatusCode::kFailed, "the wait was interrupted");
}

// Submits a round for an execution that no caller asked for, which brings those before it nearer to
// their end.
Status Submitter::SubmitEmpty(Progress& at) {
  Stretch(WaitPoint::kEndSubmission);
  auto execution = pool_.Take(at.graph->index);
  if (!execution.ok()) return execution.status();
  (*execution)->empty = true;
  (*execution)->refs.store(1, std::memory_order_relaxed);
  SubmitRound(at, *execution);
  return Status::Ok();
}

// Retires executions that are finished: their frames can be used again.
void Submitter::Retire(Progress& at) {
  while (at.retired < at.submitted) {
    Frame& frame = at.graph->frames[at.oldest_frame];
    ExecutionState* execution = at.ExecutionIn(at.oldest_frame);
    if (!Passed(WaitPoint::kRetire, execution->Done())) return;
    if (loaded_.several_ranks()) execution->CollectFailures();
    if (!execution->empty) {
      frame.failed = execution->failed.load(std::memory_order_relaxed);
      --at.in_progress;
      ++counts_.executions;
      counts_.errors += frame.failed;
    }
    frame.flagged = execution->empty || frame.failed;
    ++at.retired;
    at.Advance(at.oldest_frame);
    if (Omits(WaitPoint::kInProgress) && !execution->empty) continue;
    if (Passed(WaitPoint::kHeldResult, execution->refs.load(std::memory_order_acquire) == 1) ||
        execution->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      pool_.Put(execution);  // no caller holds it
    }
  }
}

// Asserts what loaded_graph.h states about rounds, and FindConflicts() about graphs that share
// state.
void Submitter::AssertSubmittable([[maybe_unused]] const Progress& at,
                                  [[maybe_unused]] const ExecutionState& execution) const {
#if CGRAPH_ASSERTS
  const LoadedGraph& graph = *at.graph;
  CGRAPH_ASSERT(!at.full());
  CGRAPH_ASSERT(at.in_progress <= graph.inflight);
  for (uint32_t work_queue : graph.participants) {
    // A work queue of another machine counts its rounds there.
    if (loaded_.apart && !loaded_.HasWorkQueue(work_queue)) continue;
    const uint64_t finished = graph.rounds_finished[work_queue].load(std::memory_order_acquire);
    CGRAPH_ASSERT(at.round() < finished + graph.depth);
  }
  for (uint32_t c : graph.conflicts) {
    CGRAPH_ASSERT(execution.empty || progress_[c].in_progress == 0);
  }
#endif
}

void Submitter::SubmitRound(Progress& at, ExecutionState* execution) {
  AssertSubmittable(at, *execution);
  LoadedGraph& graph = *at.graph;
  Frame& frame = graph.frames[at.next_frame];
  frame.execution = execution;
  execution->remote_failures = frame.failures;
  execution->collected = false;
  execution->number = at.submitted;
  if (execution->empty) {  // its communications move no caller's data
    execution->lent = false;
    ReturnLent(frame);
  }
  const cluster::RoundMessage round{execution->empty, execution->empty || frame.flagged,
                                    frame.failed};
  if (loaded_.among_gpu_ranks()) {
    frame.words->failed.store(frame.failed, std::memory_order_relaxed);
  }
  if (round.flagged) {
    if (Status reset = ResetFlags(loaded_, graph, round, frame); !reset.ok()) {
      ending_.End(std::move(reset));
    }
    frame.failed = false;
  }
  for (const Frame::Patch& patch : frame.patches) {
    // The object is often the one that the frame had last: then nothing is written, and other cores
    // keep the line.
    const void* data = execution->blocks[patch.block].data() + patch.offset;
    if (*patch.where != data) *patch.where = data;
  }
  // This round is the last one of the execution `lag` rounds before it.
  ExecutionState* ending = execution;
  if (graph.lag != 0) {
    for (size_t i = 0; i < graph.participants.size(); ++i) {
      execution->targets[i].until.store(kNotYet, std::memory_order_relaxed);
    }
    const size_t frames = graph.frames.size();
    ending = at.ExecutionIn(static_cast<uint32_t>((at.next_frame + frames - graph.lag) % frames));
  }
  CGRAPH_ASSERT(ending->number == at.round());
  for (size_t i = 0; i < graph.participants.size(); ++i) {
    WorkQueue& work_queue = *workers_.work_queues[graph.participants[i]];
    ending->targets[i].until.store(work_queue.inbox().pushed() + 1, std::memory_order_relaxed);
    work_queue.inbox().Push(execution->graph);
  }
  if (loaded_.apart) {
    const bool tells = loaded_.has_queues && !execution->empty;
    ranks_.TellRound(graph.index, round, tells ? frame.taken : std::span<const int64_t>());
  }
  ++at.submitted;
  at.Advance(at.next_frame);
}

Status Submitter::Flush(const ExecutionState& execution) {
  std::lock_guard lock(lock_);
  return FlushUntil(progress_[execution.graph], execution.number + 1);
}

// Submits the rounds that finish all executions before `until`; waits for room where there is none.
Status Submitter::FlushUntil(Progress& at, uint64_t until, bool interruptible) {
  while (!ending_.has_ended() && at.round() < until) {
    Retire(at);
    const bool room = Passed(WaitPoint::kEmptyFrame, !at.full());
    CGRAPH_RETURN_IF_ERROR(room ? SubmitEmpty(at) : AwaitOldest(at, interruptible));
  }
  return Status::Ok();
}

Status Submitter::Hasten(const ExecutionState& execution) {
  Progress& at = progress_[execution.graph];
  bool all = true;
  {
    std::lock_guard lock(lock_);
    if (ending_.has_ended()) return Status::Ok();  // there may be no frames any more
    Retire(at);
    while (!ending_.has_ended() && at.round() <= execution.number &&
           Passed(WaitPoint::kEmptyFrame, !at.full())) {
      CGRAPH_RETURN_IF_ERROR(SubmitEmpty(at));
    }
    all = at.round() > execution.number;
    if (!all) at.flush_until = std::max(at.flush_until, execution.number + 1);
  }
  if (!all) driver_.EnsureProgress();
  return Status::Ok();
}

void Submitter::FlushWanted() {
  std::lock_guard lock(lock_);
  for (Progress& at : progress_) {
    if (at.graph->lag != 0 && !FlushUntil(at, at.flush_until).ok()) return;
  }
}

Submitter::Seen Submitter::Look(uint32_t graph, uint64_t submitted_before) {
  std::lock_guard lock(lock_);
  Progress& at = progress_[graph];
  Retire(at);
  if (at.idle() && at.in_progress != 0 && at.submitted == submitted_before) {
    at.flush_until = at.submitted;
    driver_.EnsureProgress();
  }
  return {at.retired, at.submitted, !at.idle()};
}

Submitter::Counts Submitter::GetCounts() {
  std::unique_lock lock(lock_, std::defer_lock);
  if (!IsLibraryCaller()) lock.lock();
  for (Progress& at : progress_) Retire(at);
  return counts_;
}

void Submitter::RetireStart() {
  std::lock_guard lock(lock_);
  Retire(progress_.back());
  counts_ = {};
}

// Where a time-out has ended the engine and it is torn down, nothing touches the states of this
// process any more: they can still be read, as the executions that were interrupted left them.
Status Submitter::AwaitIdle() {
  if (Omits(WaitPoint::kIdle)) return Status::Ok();
  if (ending_.has_ended()) {
    const bool at_rest = ending_.at_rest() && !loaded_.has_queues && !loaded_.several_ranks();
    const Status end = ending_.why();
    return at_rest && end.code() == StatusCode::kTimeout ? Status::Ok() : end;
  }
  const Turns::Pause pause(turns_);
  return DriveToIdle();
}

// Gives the lock up while it waits; a pause keeps executions from beginning then, so that this ends
// although other threads go on submitting.
Status Submitter::DriveToIdle() {
  for (;;) {
    // Of a graph with lags an execution may wait for rounds that are not submitted yet.
    for (Progress& at : progress_) {
      CGRAPH_RETURN_IF_ERROR(FlushUntil(at, at.begun, /*interruptible=*/true));
    }
    if (ending_.has_ended()) return ending_.why();
    Progress* busy = nullptr;
    for (Progress& at : progress_) {
      Retire(at);
      if (!at.idle()) busy = &at;
    }
    if (busy == nullptr) return Status::Ok();
    CGRAPH_RETURN_IF_ERROR(AwaitOldest(*busy, /*interruptible=*/true));
  }
}

Status Submitter::CheckCallerInside() const {
  if (loaded_.kernels->objects().AnyIsCalledHere()) {
    return Status(StatusCode::kUnsupported,
                  "a method cannot read or set states of the engine that calls it, execute its "
                  "graphs, wait for them, or close it: that would wait for its own execution");
  }
  if (!IsLibraryCaller()) return Status::Ok();
  return Status(StatusCode::kUnsupported,
                "what saves or restores an object cannot use the engine that asks for it: that "
                "would wait for itself");
}

void Submitter::AwaitCallers() {
  if (Omits(WaitPoint::kEndSubmission)) return;
  std::lock_guard lock(lock_);  // a caller that was submitting has seen the end
}

void Submitter::DropExecutions() {
  for (Progress& at : progress_) {
    for (; at.retired < at.submitted; ++at.retired) {
      at.ExecutionIn(at.oldest_frame)->Unref();
      at.Advance(at.oldest_frame);
    }
  }
}

}  // namespace cgraph::engine

// Submission: an execution's inputs are checked and copied into its frame, and one entry goes to
// every work queue that has work in its graph. All of it is under one lock, so that every work
// queue sees the same order of all graphs.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/base/omission.h"
#include "runtime/device/cpu/reserved_memory.h"
#include "runtime/engine/core.h"
#include "runtime/load/operand_type.h"
#include "runtime/plan/booleans.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

constexpr uint64_t kNotYet = UINT64_MAX;

// Makes the frame read an input from what the caller lends, or (null) from the frame's own block.
void ReadFrom(Frame::InputBlock& input, const void* lent) {
  input.lent = lent != nullptr;
  const auto* from = static_cast<const std::byte*>(input.lent ? lent : input.own);
  for (const Frame::Patch& patch : input.patches) *patch.where = from + patch.offset;
}

// Unlocked: gives a lock up for as long as it lives.
struct Unlocked {
  explicit Unlocked(Mutex& mutex) : mutex(mutex) { mutex.unlock(); }
  ~Unlocked() { mutex.lock(); }
  Mutex& mutex;
};

// Returns whether an execution reads the input where the caller has it.
bool IsLent(const InputPort& port, const Input& input) {
  if (reinterpret_cast<uintptr_t>(input.data) % port.width != 0) return false;
  if (input.gpu.has_value()) return port.ReadOnGpus(input.data);
  return input.lent && port.lendable && port.device->CanLend(input.data);
}

std::string TypeOf(const Input& input) {
  if (input.dims.empty()) return std::string(plan::DTypeName(input.dtype));
  return fmt::format("{}[{}]", plan::DTypeName(input.dtype), fmt::join(input.dims, ", "));
}

}  // namespace

Result<ExecutionState*> Core::Submit(uint32_t g, std::span<const Input> inputs,
                                     WhenFull when_full) {
  LoadedGraph& graph = *graphs_[g];
  CGRAPH_RETURN_IF_ERROR(AwaitProducers(inputs));
  CGRAPH_RETURN_IF_ERROR(CheckCaller());
  std::lock_guard lock(submission_);
  if (ended()) return EndStatus();
  CGRAPH_RETURN_IF_ERROR(Match(graph, inputs));
  bool waited = false;
  CGRAPH_RETURN_IF_ERROR(AwaitCapacity(graph, when_full, waited));
  Frame& frame = graph.frames[graph.next_frame];
  if (waited && !Omits(Omission::kMatchAgain)) {  // another thread may have been here
    CGRAPH_RETURN_IF_ERROR(Match(graph, inputs));
  }
  bool any_lent = false;
  for (size_t p = 0; p < graph.inputs.size(); ++p) {
    for (size_t d = 0; d < given_[p]->dims.size(); ++d) {
      const InputPort::Dim& dim = graph.inputs[p].dims[d];
      if (dim.first) frame.taken[dim.symbol] = given_[p]->dims[d];
    }
    const bool lent = IsLent(graph.inputs[p], *given_[p]);
    if (lent || frame.inputs[p].lent) ReadFrom(frame.inputs[p], lent ? given_[p]->data : nullptr);
    if (!lent) CGRAPH_RETURN_IF_ERROR(CopyInput(graph, frame.inputs[p], p));
    any_lent |= lent;
  }
  auto run = TakeRun(graph);
  if (!run.ok()) return run;
  for (const LoadedGraph::GivenExtent& extent : graph.given_extents) {
    *frame.bindings.tensors[extent.tensor].as<int64_t>() = frame.taken[extent.symbol];
  }
  for (const LoadedGraph::GivenDim& given : graph.given_dims) {
    (*run)->outputs[given.output].dims[given.dim] = frame.taken[given.symbol];
  }
  (*run)->lent = any_lent;
  (*run)->empty = false;
  // The caller's two and the engine's.
  (*run)->refs.store(Omits(Omission::kInProgress) ? 2 : 3, std::memory_order_relaxed);
  ++graph.in_progress;
  SubmitRound(graph, *run);
  graph.begun = graph.submitted;
  return run;
}

// Copies the input of a port into its place in a frame.
Status Core::CopyInput(const LoadedGraph& graph, Frame::InputBlock& at, size_t p) {
  const InputPort& port = graph.inputs[p];
  const Input& input = *given_[p];
  uint64_t bytes = port.width;
  for (const int64_t dim : input.dims) bytes *= static_cast<uint64_t>(dim);
  const uint64_t all = graph.plan->values[graph.plan->inputs[p]->value].bytes();
  if (const uint64_t touched = all - at.untouched; bytes > touched) {
    CGRAPH_RETURN_IF_ERROR(device::TakeReserved(
        static_cast<std::byte*>(at.own) + touched, bytes - touched,
        fmt::format("the input `{}` of `{}`", port.name, graph.plan->name)));
    at.untouched = all - bytes;
  }
  return input.gpu.has_value() ? FetchInput(port, at, input, bytes)
                               : port.Write(at.own, input.data, bytes);
}

// Finds each port's input, in given_, and checks its type.
Status Core::Match(LoadedGraph& graph, std::span<const Input> inputs) {
  const uint32_t ports = static_cast<uint32_t>(graph.inputs.size());
  std::fill_n(given_.begin(), ports, nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t port = 0;
    if (i < ports && inputs[i].name == graph.inputs[i].name) {
      port = static_cast<uint32_t>(i);  // usually they come in order
    } else {
      while (port < ports && graph.inputs[port].name != inputs[i].name) ++port;
    }
    if (port == ports || given_[port] != nullptr) {
      return Status(StatusCode::kInvalid, fmt::format("`{}` {} `{}`", graph.plan->name,
                                                      port == ports ? "has no input"
                                                                    : "was given twice the input",
                                                      inputs[i].name));
    }
    given_[port] = &inputs[i];
  }
  for (uint32_t port = 0; port < ports; ++port) {
    if (given_[port] == nullptr) {
      return Status(StatusCode::kInvalid, fmt::format("`{}` was not given its input `{}`",
                                                      graph.plan->name, graph.inputs[port].name));
    }
    CGRAPH_RETURN_IF_ERROR(MatchPort(graph, port, *given_[port]));
  }
  return Status::Ok();
}

Status Core::MatchPort(const LoadedGraph& graph, uint32_t port, const Input& input) {
  const InputPort& expected = graph.inputs[port];
  bool fits = input.dtype == expected.dtype && input.dims.size() == expected.dims.size();
  for (size_t d = 0; fits && d < input.dims.size(); ++d) {
    const InputPort::Dim& dim = expected.dims[d];
    fits = dim.symbol == plan::kNone ? input.dims[d] == dim.extent
                                     : input.dims[d] >= 0 && input.dims[d] <= dim.extent;
  }
  if (!fits) {
    return Status(StatusCode::kInvalid,
                  fmt::format("`{}` takes `{}` as {}, and was given {}", graph.plan->name,
                              expected.name,
                              plan::TypeText(*plan_, *graph.plan, graph.plan->inputs[port]->value),
                              TypeOf(input)));
  }
  for (size_t d = 0; d < input.dims.size(); ++d) {
    const InputPort::Dim& dim = expected.dims[d];
    if (dim.symbol == plan::kNone || dim.first) continue;
    // Where the same symbol occurs elsewhere, the two extents must agree.
    for (uint32_t p = 0; p <= port; ++p) {
      for (size_t e = 0; e < graph.inputs[p].dims.size(); ++e) {
        const InputPort::Dim& other = graph.inputs[p].dims[e];
        if (!other.first || other.symbol != dim.symbol) continue;
        if (given_[p]->dims[e] == input.dims[d]) continue;
        return Status(StatusCode::kInvalid,
                      fmt::format("`{}` is {} in `{}` and {} in `{}`; it is one dimension",
                                  plan_->names[graph.plan->symbols[dim.symbol].name()],
                                  given_[p]->dims[e], graph.inputs[p].name, input.dims[d],
                                  expected.name));
      }
    }
  }
  return CheckData(graph, port, input);
}

// Checks the elements of an input whose type fits. Those on a GPU are not looked at.
Status Core::CheckData(const LoadedGraph& graph, uint32_t port, const Input& input) const {
  const uint64_t bytes = *plan::TensorBytes(input.dtype, input.dims);
  const char* wrong = nullptr;
  if (input.data == nullptr) {
    wrong = bytes == 0 ? nullptr : "no data";
  } else if (!input.gpu.has_value() &&
             !plan::ValidElements(input.dtype, {static_cast<const uint8_t*>(input.data), bytes})) {
    wrong = plan::kWrongBooleans;
  }
  if (wrong == nullptr) return Status::Ok();
  return Status(StatusCode::kInvalid,
                fmt::format("`{}` takes `{}` as {}, and was given {}", graph.plan->name,
                            graph.inputs[port].name,
                            plan::TypeText(*plan_, *graph.plan, graph.plan->inputs[port]->value),
                            wrong));
}

Status Core::AwaitCapacity(LoadedGraph& graph, WhenFull when_full, bool& waited) {
  Turns::Caller self{graph.index};
  Status status = TryCapacity(graph, when_full, self, waited);
  if (waited) turns_.Remove(self);
  return status;
}

// A caller that waited once stays listed until it is admitted, or gives up.
Status Core::TryCapacity(LoadedGraph& graph, WhenFull when_full, Turns::Caller& self,
                         bool& listed) {
  for (;;) {
    if (ended()) return EndStatus();
    Retire(graph);
    LoadedGraph* other = Conflicting(graph);
    bool overtakes = false;
    if (other == nullptr) {
      const bool few = graph.in_progress < graph.inflight || Omits(Omission::kInflight);
      const bool room = !graph.full() || Omits(Omission::kFrame);
      overtakes = few && room && turns_.any() && turns_.MustWait(graph, self);
      if (few && room && !overtakes && !turns_.paused()) {
        if (turns_.any()) turns_.Overtake(graph, self);
        return Status::Ok();
      }
      if (when_full == WhenFull::kError && graph.in_progress >= graph.inflight) {
        return Status(StatusCode::kCapacity,
                      fmt::format("{} executions of `{}` are in flight, and it may have {}; get a "
                                  "result first, or wait",
                                  graph.in_progress, graph.plan->name, graph.inflight));
      }
    }
    if (!std::exchange(listed, true)) turns_.Add(self);
    if (overtakes || turns_.paused()) {
      turns_.Await(submission_, [this] { return ended(); });
    } else {
      // Python runs handlers of signals in whatever its main thread does: no method is to be that.
      CGRAPH_RETURN_IF_ERROR(AwaitOldest(other != nullptr ? *other : graph,
                                         /*interruptible=*/kernels_->CallsPython()));
    }
  }
}

// Returns a graph whose executions have to be over before this graph's next one starts, if there is
// one. Its empty executions touch no state: they may be in progress.
LoadedGraph* Core::Conflicting(const LoadedGraph& graph) {
  for (uint32_t c : graph.conflicts) {
    Retire(*graphs_[c]);
    if (Omits(Omission::kConflict)) continue;
    if (graphs_[c]->in_progress != 0) return graphs_[c].get();
  }
  return nullptr;
}

// Waits for the oldest execution; gives the lock up meanwhile. `interruptible`: kFailed where the
// program does not wait any more.
Status Core::AwaitOldest(LoadedGraph& graph, bool interruptible) {
  while (graph.round() <= graph.retired) {
    CGRAPH_RETURN_IF_ERROR(SubmitEmpty(graph));
  }
  ExecutionState* oldest = graph.frames[graph.oldest_frame].run;
  oldest->Ref();
  bool done = false;
  {
    const Unlocked unlocked(submission_);
    done = AwaitDone(*oldest, interruptible);
  }
  oldest->Unref();
  return done ? Status::Ok() : Status(StatusCode::kFailed, "the wait was interrupted");
}

// Submits a round for an execution that nobody asked for, which brings those before it nearer to
// their end.
Status Core::SubmitEmpty(LoadedGraph& graph) {
  Stretch(Omission::kEndSubmission);
  auto run = TakeRun(graph);
  if (!run.ok()) return run.status();
  (*run)->empty = true;
  (*run)->refs.store(1, std::memory_order_relaxed);
  SubmitRound(graph, *run);
  return Status::Ok();
}

// Retires executions that are finished: their frames can be used again.
void Core::Retire(LoadedGraph& graph) {
  while (graph.retired < graph.submitted) {
    Frame& frame = graph.frames[graph.oldest_frame];
    ExecutionState* run = frame.run;
    if (!run->Done() && !Omits(Omission::kRetire)) return;
    if (several_ranks()) run->CollectFailures();
    if (!run->empty) {
      frame.failed = run->failed.load(std::memory_order_relaxed);
      --graph.in_progress;
      ++executions_;
      errors_ += frame.failed;
    }
    frame.flagged = run->empty || frame.failed;
    ++graph.retired;
    if (++graph.oldest_frame == graph.frames.size()) graph.oldest_frame = 0;
    if (Omits(Omission::kInProgress) && !run->empty) continue;
    if (Omits(Omission::kHeldResult) || run->refs.load(std::memory_order_acquire) == 1 ||
        run->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      run->next = graph.free;  // nobody holds it
      graph.free = run;
    }
  }
}

// Begins the empty executions that the first `lag` rounds finish. Their frames are the last ones,
// and their poison flags are all set.
Status Core::BeginEmpty(LoadedGraph& graph) {
  const size_t frames = graph.frames.size();
  for (size_t at = frames - graph.lag; at < frames; ++at) {
    auto run = TakeRun(graph);
    if (!run.ok()) return run.status();
    ExecutionState& empty = **run;
    empty.empty = true;
    empty.refs.store(1, std::memory_order_relaxed);
    empty.execution = graph.submitted++;
    for (uint32_t i = 0; i < empty.target_count; ++i) {
      empty.targets[i].until.store(kNotYet, std::memory_order_relaxed);
    }
    graph.frames[at].run = &empty;
  }
  graph.oldest_frame = static_cast<uint32_t>((frames - graph.lag) % frames);
  return Status::Ok();
}

// Asserts what loaded_graph.h states about rounds, and core.cpp about graphs that share state.
void Core::AssertSubmittable([[maybe_unused]] const LoadedGraph& graph,
                             [[maybe_unused]] const ExecutionState& run) const {
#if CGRAPH_ASSERTS
  CGRAPH_ASSERT(!graph.full());
  CGRAPH_ASSERT(graph.in_progress <= graph.inflight);
  for (uint32_t work_queue : graph.participants) {
    // A work queue of another machine counts its rounds there.
    if (machines_ != nullptr && !IsHere(placement_.worker_of_work_queue[work_queue])) continue;
    const uint64_t finished = graph.rounds_finished[work_queue].load(std::memory_order_acquire);
    CGRAPH_ASSERT(graph.round() < finished + graph.depth);
  }
  for (uint32_t c : graph.conflicts) CGRAPH_ASSERT(run.empty || graphs_[c]->in_progress == 0);
#endif
}

void Core::SubmitRound(LoadedGraph& graph, ExecutionState* run) {
  AssertSubmittable(graph, *run);
  Frame& frame = graph.frames[graph.next_frame];
  frame.run = run;
  run->remote_failures = frame.failures;
  run->collected = false;
  run->execution = graph.submitted;
  if (run->empty) {  // its communications move no caller's data
    run->lent = false;
    for (Frame::InputBlock& input : frame.inputs) {
      if (input.lent) ReadFrom(input, nullptr);
    }
  }
  const cluster::RoundMessage round{run->empty, run->empty || frame.flagged, frame.failed};
  if (AmongGpuRanks()) frame.words->failed.store(frame.failed, std::memory_order_relaxed);
  if (round.flagged) {
    ResetFlags(frame, graph, run->empty);
    if (std::exchange(frame.failed, false)) ClearPoison(frame);
  }
  for (const Frame::Patch& patch : frame.patches) {
    // The run is often the same as last time: then nothing is written, and other cores keep the
    // line.
    const void* data = run->blocks[patch.block].data() + patch.offset;
    if (*patch.where != data) *patch.where = data;
  }
  // This round is the last one of the execution `lag` rounds before it.
  ExecutionState* ending = run;
  if (graph.lag != 0) {
    for (size_t i = 0; i < graph.participants.size(); ++i) {
      run->targets[i].until.store(kNotYet, std::memory_order_relaxed);
    }
    const size_t frames = graph.frames.size();
    ending = graph.frames[(graph.next_frame + frames - graph.lag) % frames].run;
  }
  CGRAPH_ASSERT(ending->execution == graph.round());
  for (size_t i = 0; i < graph.participants.size(); ++i) {
    WorkQueue& work_queue = *work_queues_[graph.participants[i]];
    ending->targets[i].until.store(work_queue.pushed() + 1, std::memory_order_relaxed);
    work_queue.Push(run->graph);
  }
  if (machines_ != nullptr) {
    const bool tells = has_queues_ && !run->empty;
    machines_->others()->SendRound(graph.index, round,
                                   tells ? frame.taken : std::span<const int64_t>());
  }
  ++graph.submitted;
  if (++graph.next_frame == graph.frames.size()) graph.next_frame = 0;
}

// Makes the poison flags of a frame those of an execution that begins.
void Core::ResetFlags(Frame& frame, const LoadedGraph& graph, bool empty) {
  for (std::atomic<uint8_t>& poison_flag : frame.poison_flags) {
    poison_flag.store(empty, std::memory_order_relaxed);
  }
  frame.words->dirty.store(empty || graph.flags_unannounced, std::memory_order_relaxed);
  frame.words->empty.store(empty, std::memory_order_relaxed);
}

// Clears the flags of a frame that devices keep for themselves.
void Core::ClearPoison(Frame& frame) {
  for (auto& device : devices_) {
    Status cleared = device->ClearPoison(frame.bindings);
    if (!cleared.ok()) End(std::move(cleared));
  }
}

// Takes a round that rank 0 has submitted, at a rank that shares no memory with it. `flagged`: the
// frame has flags of another execution, or is to have those of an empty one. `extents`: bytes of
// those that the inputs have.
void Core::AcceptRound(uint32_t g, const cluster::RoundMessage& round, std::string_view extents) {
  if (g >= graphs_.size() || ended()) return;
  LoadedGraph& graph = *graphs_[g];
  Frame& frame = graph.frames[graph.next_frame];
  if (g < plan_->graphs.size()) kernels_->weights().Release();  // the start graph is over
  if (round.flagged) {
    ResetFlags(frame, graph, round.empty);
    for (FailureSlot& slot : frame.failures.slots) slot.Clear();
    if (round.failed) ClearPoison(frame);
  }
  if (!extents.empty()) {
    std::memcpy(frame.taken.data(), extents.data(),
                std::min(extents.size(), frame.taken.size_bytes()));
  }
  for (uint32_t work_queue : graph.participants) {
    if (IsHere(placement_.worker_of_work_queue[work_queue])) work_queues_[work_queue]->Push(g);
  }
  if (++graph.next_frame == graph.frames.size()) graph.next_frame = 0;
}

// Submits what a run still needs to be finished: nothing, but for graphs with lags.
Status Core::Flush(const ExecutionState& run) {
  LoadedGraph& graph = *graphs_[run.graph];
  std::lock_guard lock(submission_);
  return FlushUntil(graph, run.execution + 1);
}

// Submits the rounds that finish all executions before `until`; waits for room where there is none.
Status Core::FlushUntil(LoadedGraph& graph, uint64_t until, bool interruptible) {
  while (!ended() && graph.round() < until) {
    Retire(graph);
    const bool full = graph.full() && !Omits(Omission::kEmptyFrame);
    CGRAPH_RETURN_IF_ERROR(full ? AwaitOldest(graph, interruptible) : SubmitEmpty(graph));
  }
  return Status::Ok();
}

// As Flush(), without waiting: rounds that there is no room for are left to the fallback driver.
Status Core::Hasten(const ExecutionState& run) {
  LoadedGraph& graph = *graphs_[run.graph];
  bool all = true;
  {
    std::lock_guard lock(submission_);
    if (ended()) return Status::Ok();  // there may be no frames any more
    Retire(graph);
    while (!ended() && graph.round() <= run.execution &&
           (!graph.full() || Omits(Omission::kEmptyFrame))) {
      CGRAPH_RETURN_IF_ERROR(SubmitEmpty(graph));
    }
    all = graph.round() > run.execution;
    if (!all) graph.flush_until = std::max(graph.flush_until, run.execution + 1);
  }
  if (!all) EnsureProgress();
  return Status::Ok();
}

// Submits the rounds that Hasten() and the watchdog left to the fallback driver.
void Core::FlushWanted() {
  std::lock_guard lock(submission_);
  for (auto& graph : graphs_) {
    if (graph->lag != 0 && !FlushUntil(*graph, graph->flush_until).ok()) return;
  }
}

Result<ExecutionState*> Core::TakeRun(LoadedGraph& graph) {
  if (graph.free == nullptr) {
    for (ExecutionState* run = runs_.TakeReturned(); run != nullptr;) {
      ExecutionState* next = run->next;
      LoadedGraph& owner = *graphs_[run->graph];
      run->next = owner.free;
      owner.free = run;
      run = next;
    }
  }
  if (graph.free == nullptr) {
    allocations_.fetch_add(1, std::memory_order_relaxed);
    return MakeRun(graph.index);
  }
  ExecutionState** unused = &graph.free;
  while (*unused != nullptr && !(*unused)->Unused()) unused = &(*unused)->next;
  if (*unused == nullptr) unused = &graph.free;
  ExecutionState* run = *unused;
  run->AwaitUnused();
  *unused = run->next;
  if (run->failed.load(std::memory_order_relaxed)) {
    run->failed.store(false, std::memory_order_relaxed);
    run->error = Status::Ok();
  }
  return run;
}

Result<ExecutionState*> Core::MakeRun(uint32_t g) try {
  const LoadedGraph& graph = *graphs_[g];
  auto run = std::make_unique<ExecutionState>();
  run->core = this;
  run->graph = g;
  run->lags = graph.lag != 0;
  run->target_count = static_cast<uint32_t>(graph.participants.size());
  run->targets = std::make_unique<ExecutionState::Target[]>(run->target_count);
  for (uint32_t i = 0; i < run->target_count; ++i) {
    run->targets[i].finished = &work_queues_[graph.participants[i]]->finished_counter();
    run->targets[i].first_failure = graph.first_failures[i];
  }
  for (const auto& [device, bytes] : graph.result_blocks) {
    auto block = devices_[device]->Allocate(bytes, plan::Memory::plain,
                                            "the results of " + graph.plan->name);
    if (!block.ok()) return block.status();
    run->blocks.push_back(std::move(*block));
  }
  for (size_t i = 0; i < graph.plan->outputs.size(); ++i) {
    const device::OperandType type = OperandTypeOf(*graph.plan, graph.plan->outputs[i]->value);
    device::Tensor& output = run->outputs.emplace_back();
    output.data = run->blocks[graph.results[i].block].data() + graph.results[i].offset;
    output.dtype = type.dtype;
    output.rank = type.rank;
    std::copy_n(type.dims, type.rank, output.dims);
  }
  return runs_.Add(std::move(run));
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

}  // namespace cgraph::engine

#include "runtime/device/cuda/device/cuda_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/device/cuda/device/cuda_device.h"
#include "runtime/device/cuda/device/cuda_graph.h"
#include "runtime/device/operations.h"

namespace cgraph::cuda {

using device::Bindings;
using device::DynamicDim;
using device::Report;
using device::Tag;

namespace {

// How often a queue is looked at in vain before the driver is asked whether the GPU has failed.
constexpr uint32_t kLooksPerQuery = 64;
// Room of a queue's log: 3 MB. Greater graphs can fail in more places at once, but do not.
constexpr uint64_t kMostFailures = 1 << 16;

}  // namespace

Result<std::unique_ptr<CudaQueue>> CudaQueue::Open(CudaDevice& device,
                                                   const device::QueueOptions& options) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(device));
  queue->stall_timeout_ = options.stall_timeout;
  const std::shared_ptr<Gpu>& gpu = device.gpu();
  const Driver& driver = gpu->driver();
  CGRAPH_RETURN_IF_ERROR(device.Check(gpu->MakeCurrent(), "opening a queue"));
  auto scratch = AllocateOnGpu(gpu, device.most_scratch(), device::MemoryKind::plain,
                               "a queue's scratch");
  if (!scratch.ok()) return scratch.status();
  queue->scratch_ = std::move(*scratch);
  const uint64_t room = std::clamp<uint64_t>(device.most_failures(), 1, kMostFailures);
  auto log = AllocatePinned(gpu, sizeof(FailureLog) + room * sizeof(Failure),
                            device::MemoryKind::pinned, "a queue's log");
  if (!log.ok()) return log.status();
  queue->log_memory_ = std::move(*log);
  auto* entries = new (queue->log_memory_.data() + sizeof(FailureLog)) Failure[room];
  queue->log_ = new (queue->log_memory_.data()) FailureLog{0, room, entries};
  queue->steps_.resize(device.graphs());
  for (uint32_t graph = 0; graph < device.graphs(); ++graph) {
    queue->steps_[graph].resize(device.steps(graph));
  }
  CGRAPH_RETURN_IF_ERROR(device.Check(
      driver.cuStreamCreateWithPriority(&queue->stream_, CU_STREAM_NON_BLOCKING, 0),
      "opening a queue"));
  if (options.measured) {
    queue->clock_ = std::make_unique<StreamClock>(*gpu);
    auto anchor = gpu->Anchor(queue->stream_);
    if (!anchor.ok()) return anchor.status();
    CGRAPH_RETURN_IF_ERROR(queue->clock_->Start(queue->stream_, **anchor));
  }
  device.Add(queue.get());
  return queue;
}

// ---- issuing ------------------------------------------------------------------------------------

// An operation whose flag is set already is not issued: nothing of it is left to do. Signals and
// waits are operations of their own, so no other queue misses it.
bool CudaQueue::Begins(const device::Operation& operation) {
  if (recording_ != nullptr) return true;
  const uint32_t own = operation.predicate.own;
  if (own != device::kNoFlag && operation.bindings->Poisoned(own)) return false;
  const CUresult current = device_.gpu()->MakeCurrent();
  Check(current, operation, "reaching the context");
  return current == CUDA_SUCCESS;
}

Guard CudaQueue::GuardOf(const device::Operation& operation, const Prepared* prepared) {
  if (operation.predicate.own == device::kNoFlag) return {};
  const PoisonTable& table = device_.table(operation.bindings->graph);
  Guard guard = table.GuardOf(*operation.bindings, operation.predicate);
  guard.log = log_;
  guard.step = operation.tag.step;
  // What the log will name by graph and step alone is remembered for ReadLog(). A recorded launch
  // has a round only when it is replayed.
  if (guard.looks && recording_ == nullptr) {
    steps_[operation.tag.graph][operation.tag.step] = {operation.tag.round,
                                                       operation.bindings->frame, prepared,
                                                       operation.dims};
  }
  const auto* const* extents =
      reinterpret_cast<const int64_t* const*>(operation.bindings->extents);
  for (uint32_t i = 0; i < operation.dims.size(); ++i) {
    const DynamicDim& dim = operation.dims[i];
    if (dim.given) continue;
    const int64_t* where = extents[dim.extent];
    const auto same = [&](const Bound& bound) {
      return bound.where == where && bound.most == dim.bound;
    };
    if (std::any_of(guard.bounds, guard.bounds + guard.bound_count, same)) continue;
    if (guard.bound_count == kMostBounds) {
      Check(device_.PassPoison(stream_, guard), operation, "checking extents");
      guard.bound_count = 0;
    }
    guard.bounds[guard.bound_count++] = {where, dim.bound, i};
  }
  return guard;
}

void CudaQueue::CarryOn(const device::Operation& operation) const {
  const auto& [checks, own] = operation.predicate;
  if (!device_.calls_code() || own == device::kNoFlag) return;
  if (device::AnyPoisoned(checks, *operation.bindings)) {
    operation.bindings->Poison(own);
  }
}

View CudaQueue::ViewOf(const device::Operation& operation, const device::Tensor& tensor) const {
  View view;
  view.data = tensor.data;
  view.rank = tensor.rank;
  for (int d = 0; d < tensor.rank; ++d) view.dims[d].number = tensor.dims[d];
  const auto number = static_cast<uint32_t>(&tensor - operation.bindings->tensors);
  for (const DynamicDim& dim : operation.dims) {
    if (dim.tensor != number) continue;
    Extent& extent = view.dims[dim.dim];
    if (dim.given) {
      extent.number = operation.bindings->given[dim.symbol];
    } else {
      extent.number = dim.bound;
      extent.where = static_cast<const int64_t*>(operation.bindings->extents[dim.extent]);
    }
  }
  return view;
}

// The work is remembered before it is appended: a report names it while the driver, or code of
// others, takes long over that; and a queue that breaks meanwhile fails it.
void CudaQueue::Launch(const device::Launch& launch) {
  if (!Begins(launch)) return;
  const auto& prepared = static_cast<const Prepared&>(*launch.executable);
  if (!BeginWork(launch)) return;
  if (prepared.source != nullptr) {
    std::string error;
    const CUresult result = Upload(launch, *prepared.source, error);
    if (!error.empty()) Fail(launch, std::move(error));
    Check(result, launch, "copying");
    return EndWork();
  }
  if (prepared.code != nullptr) {
    CallCode(launch, *prepared.code);
    return EndWork();
  }
  views_.clear();
  for (int i = 0; i < launch.inputs + launch.outputs; ++i) {
    views_.push_back(ViewOf(launch, launch.operands[i]));
  }
  const std::span<const View> views = views_;
  if (recording_ != nullptr) {
    recording_->Add(launch, &prepared);
  } else {
    CarryOn(launch);
  }
  const Call call{stream_, GuardOf(launch, &prepared), views.first(launch.inputs),
                  views.subspan(launch.inputs), scratch_.data()};
  Check(prepared.kernel->Launch(call), launch, "launching a kernel");
  EndWork();
}

// Reads the source into pinned memory and copies it from there. Only loading a plan does this, so
// it may wait for its own copy.
CUresult CudaQueue::Upload(const device::Launch& launch, device::Source& source,
                           std::string& error) {
  const Driver& driver = device_.gpu()->driver();
  const device::Tensor& to = launch.operands[launch.inputs];
  auto staging = AllocatePinned(device_.gpu(), to.bytes(), device::MemoryKind::pinned,
                                "a weight on its way to the GPU");
  if (!staging.ok()) {
    error = staging.status().message();
    return CUDA_SUCCESS;
  }
  const Status read = source.Read({reinterpret_cast<uint8_t*>(staging->data()), to.bytes()});
  if (!read.ok()) {
    error = read.message();
    return CUDA_SUCCESS;
  }
  if (to.bytes() == 0) return CUDA_SUCCESS;
  const CUresult copied = driver.cuMemcpyAsync(AddressOf(to.data), AddressOf(staging->data()),
                                               to.bytes(), stream_);
  if (copied != CUDA_SUCCESS) return copied;
  return driver.cuStreamSynchronize(stream_);
}

// Code of others cannot look at flags on the GPU, and must not run on values that are poisoned. So
// the host decides, by flags that it sees (CarryOn); the issuer has waited for the queue where only
// the GPU knows (load/poison/native_calls.h).
void CudaQueue::CallCode(const device::Launch& launch, device::QueueCode& code) {
  if (recording_ != nullptr) return recording_->Refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const device::Bindings& bindings = *launch.bindings;
  if (device::AnyPoisoned(launch.predicate.checks, bindings)) {
    return Check(SetFlag(launch), launch, "passing errors on");
  }
  tensors_.assign(launch.operands, launch.operands + launch.inputs + launch.outputs);
  const auto first = static_cast<uint32_t>(launch.operands - bindings.tensors);
  for (const DynamicDim& dim : launch.dims) {
    tensors_[dim.tensor - first].dims[dim.dim] = bindings.given[dim.symbol];
  }
  const std::span<const device::Tensor> inputs(tensors_.data(), launch.inputs);
  const std::span<const device::Tensor> outputs(tensors_.data() + launch.inputs, launch.outputs);
  const Gpu& gpu = *device_.gpu();
  for (const auto [input, output] : code.kept()) {
    const device::Tensor &from = inputs[input], &to = outputs[output];
    if (from.data == to.data || to.bytes() == 0) continue;
    const CUresult copied =
        gpu.driver().cuMemcpyAsync(AddressOf(to.data), AddressOf(from.data), to.bytes(), stream_);
    if (copied != CUDA_SUCCESS) return Check(copied, launch, "copying");
  }
  std::string error;
  const bool well = code.Append(inputs, outputs, {stream_, gpu.ordinal()}, error);
  Check(gpu.MakeCurrent(), launch, "reaching the context");  // the code may have left another
  if (!well) return Fail(launch, std::move(error));
  if (const std::optional<int64_t> number = code.stored()) {
    Check(gpu.driver().cuStreamWriteValue64(stream_, AddressOf(outputs.back().data),
                                            static_cast<cuuint64_t>(*number), 0),
          launch, "storing a number");
  }
}

void CudaQueue::Copy(const device::Copy& copy) {
  if (!Begins(copy)) return;
  const View sized = ViewOf(copy, copy.fills ? *copy.to : *copy.from);
  if (copy.describes) {
    for (int d = 0; d < sized.rank; ++d) copy.to->dims[d] = sized.dims[d].number;
  }
  if (!BeginWork(copy)) return;
  const Guard guard = GuardOf(copy, nullptr);
  const device::Tensor& whole = copy.fills ? *copy.to : *copy.from;
  const auto width = copy.moves ? static_cast<uint32_t>(plan::DTypeBytes(whole.dtype)) : 0;
  Check(device_.Copy(stream_, guard, copy.to->data, copy.from->data, sized, width), copy,
        "copying");
  EndWork();
}

void CudaQueue::Store(const device::Store& store) {
  if (!Begins(store)) return;
  if (!Remember({Kind::kWork, store.tag, nullptr, 0})) return;
  const Driver& driver = device_.gpu()->driver();
  Check(driver.cuStreamWriteValue64(stream_, AddressOf(store.to->data),
                                    static_cast<cuuint64_t>(store.number), 0),
        store, "storing a number");
}

void CudaQueue::Poison(const device::Operation& operation) {
  if (!Begins(operation)) return;
  if (!Remember({Kind::kWork, operation.tag, nullptr, 0})) return;
  Check(SetFlag(operation), operation, "passing errors on");
}

// The queues of a GPU communicate by themselves (DeviceTraits::queues_communicate).
void CudaQueue::Communicate(const device::Communicate& communicate) {
  std::lock_guard lock(mutex_);
  Report report;
  report.tag = communicate.tag;
  report.failed = true;
  report.error = "a GPU's queue takes no communication that the host drives";
  reports_.push_back(std::move(report));
}

void CudaQueue::Wait(const TimelineSemaphore* semaphore, uint64_t value, const Tag& tag) {
  if (semaphore->Reached(value)) return;  // what it stands for is over already
  CUresult result = device_.gpu()->MakeCurrent();
  if (!Remember({Kind::kWait, tag, semaphore, value})) return;
  if (result == CUDA_SUCCESS) {
    result = device_.gpu()->driver().cuStreamWaitValue64(
        stream_, AddressOf(semaphore->word()), value, CU_STREAM_WAIT_VALUE_GEQ);
  }
  if (result == CUDA_SUCCESS) return EndWork();
  std::lock_guard lock(mutex_);
  BreakBy(result);
}

void CudaQueue::Signal(TimelineSemaphore* semaphore, uint64_t value) {
  if (Remember({Kind::kSignal, {}, semaphore, value})) {
    CUresult result = device_.gpu()->MakeCurrent();
    if (result == CUDA_SUCCESS) {
      result = device_.gpu()->driver().cuStreamWriteValue64(stream_, AddressOf(semaphore->word()),
                                                            value, 0);
    }
    if (result != CUDA_SUCCESS) {
      std::lock_guard lock(mutex_);
      BreakBy(result);
    }
  }
  // The watcher sleeps while nothing is pending; from here on somewhere a thread may sleep until
  // this signal comes, and the GPU wakes none.
  device_.Wake();
}

// A broken queue remembers, too, and appends nothing: FailIssued() then reports the operation and
// makes the signal, so that executions in progress end.
bool CudaQueue::Remember(Issued issued) {
  std::lock_guard lock(mutex_);
  if (issued.kind != Kind::kSignal) last_tag_ = issued.tag;
  issued_.push_back(issued);
  if (last_tag_.has_value()) issued_.back().tag = *last_tag_;
  if (clock_ != nullptr && issued.kind == Kind::kWait) {
    issued_.back().begun = clock_->Record(stream_);
  }
  return !broken_;
}

bool CudaQueue::BeginWork(const device::Operation& operation, NcclCommunicator* communicator,
                          const CudaGraph* graph) {
  if (recording_ != nullptr) return true;
  std::lock_guard lock(mutex_);
  last_tag_ = operation.tag;
  issued_.push_back({Kind::kWork, operation.tag, nullptr, 0,
                     clock_ != nullptr ? clock_->Record(stream_) : nullptr, nullptr, communicator,
                     graph});
  return !broken_;
}

void CudaQueue::EndWork() {
  if (clock_ == nullptr || recording_ != nullptr) return;
  std::lock_guard lock(mutex_);
  if (!issued_.empty()) issued_.back().ended = clock_->Record(stream_);
}

void CudaQueue::ReportTimes(const Issued& work) {
  // The watcher's thread has no context.
  if (device_.gpu()->MakeCurrent() != CUDA_SUCCESS) return;
  Report report;
  report.tag = work.tag;
  report.waited = work.kind == Kind::kWait;
  report.begun_ns = clock_->Take(work.begun);
  report.ended_ns = clock_->Take(work.ended);
  reports_.push_back(std::move(report));
}

// ---- recording ----------------------------------------------------------------------------------

// Thread-local: other threads of the process, such as the program's, may go on with calls that a
// capture in progress would otherwise forbid them.
void CudaQueue::BeginRecording() {
  recording_ = std::make_unique<CudaGraph>(device_.gpu());
  recording_->Refuse(device_.gpu()->MakeCurrent());
  recording_->Refuse(device_.gpu()->driver().cuStreamBeginCapture(
      stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

Result<std::unique_ptr<device::Recording>> CudaQueue::EndRecording() {
  std::unique_ptr<CudaGraph> made = std::move(recording_);
  CGRAPH_RETURN_IF_ERROR(made->End(stream_));
  return std::unique_ptr<device::Recording>(std::move(made));
}

void CudaQueue::Replay(device::Recording& recording, const Tag& tag) {
  auto& graph = static_cast<CudaGraph&>(recording);
  const CUresult current = device_.gpu()->MakeCurrent();
  device::Operation first = graph.launches().front().operation;
  first.tag = tag;
  if (!BeginWork(first, nullptr, &graph)) return;
  for (const CudaGraph::Launched& launch : graph.launches()) {
    steps_[tag.graph][launch.operation.tag.step] = {tag.round, launch.operation.bindings->frame,
                                                    launch.prepared, launch.operation.dims};
    CarryOn(launch.operation);
  }
  const CUresult result = current == CUDA_SUCCESS ? graph.Launch(stream_) : current;
  if (result == CUDA_SUCCESS) return;
  for (const CudaGraph::Launched& launch : graph.launches()) {
    device::Operation operation = launch.operation;
    operation.tag.round = tag.round;
    Check(result, operation, "launching a CUDA graph");
  }
}

// ---- errors -------------------------------------------------------------------------------------

void CudaQueue::Check(CUresult result, const device::Operation& operation, const char* what) {
  if (recording_ != nullptr) return recording_->Refuse(result);
  if (result == CUDA_SUCCESS) return;
  Fail(operation, device_.ErrorText(result, what));
}

// Fails an operation that was not issued.
void CudaQueue::Fail(const device::Operation& operation, std::string error) {
  const CUresult set = SetFlag(operation);
  std::lock_guard lock(mutex_);
  if (set != CUDA_SUCCESS) BreakBy(set);
  Report report;
  report.tag = operation.tag;
  report.failed = true;
  // The GPU as a whole is the cause, though it shows here as the refusal of one call.
  report.device_failed = broken_;
  report.error = broken_ ? why_broken_ : std::move(error);
  reports_.push_back(std::move(report));
}

CUresult CudaQueue::SetFlag(const device::Operation& operation) {
  const uint32_t own = operation.predicate.own;
  if (own == device::kNoFlag) return CUDA_SUCCESS;
  operation.bindings->Poison(own);
  const PoisonTable& table = device_.table(operation.bindings->graph);
  uint8_t* flag = table.FlagsOf(operation.bindings->frame) + own;
  return device_.gpu()->driver().cuMemsetD8Async(AddressOf(flag), 1, 1, stream_);
}

// The device's failure is set before any signal is made in place of the stream's: a thread that
// sees such a signal and asks Device::Failure() must not take the values for good.
void CudaQueue::Break(std::string why) {
  if (broken_) return;
  broken_ = true;
  why_broken_ = std::move(why);
  device_.SetFailure(why_broken_);
  AbortIssued(why_broken_);
}

void CudaQueue::BreakBy(CUresult error) {
  Break(device_.FailureText(error));
}

// ---- hearing ------------------------------------------------------------------------------------

bool CudaQueue::Forget(std::vector<const TimelineSemaphore*>& come) {
  const bool any = !broken_ && ForgetOver(come);
  if (!broken_ && (any || issued_.empty())) {
    looks_ = 0;
    return any;
  }
  if (!broken_ && !FindsFailure()) return false;
  // NCCL may write to memory until it has aborted, so operations are not failed before: their
  // signals would say that the memory is free.
  const bool aborting = std::any_of(issued_.begin(), issued_.end(), [](const Issued& issued) {
    return issued.communicator != nullptr && issued.communicator->Aborting();
  });
  return (!aborting && FailIssued(come)) || any;
}

size_t CudaQueue::CountOver() const {
  size_t over = 0;
  for (size_t i = 0; i < issued_.size(); ++i) {
    if (issued_[i].kind != Kind::kSignal) continue;
    if (!issued_[i].semaphore->Reached(issued_[i].value)) break;
    over = i + 1;
  }
  return over;
}

bool CudaQueue::ForgetOver(std::vector<const TimelineSemaphore*>& come) {
  const size_t over = CountOver();
  // Where a communicator was aborted, values did not come, whatever the stream says.
  LookAtCollectives(over, /*asks=*/false);
  if (broken_) return false;
  for (size_t i = 0; i < over; ++i) {
    const Issued& front = issued_.front();
    if (front.kind == Kind::kSignal) come.push_back(front.semaphore);
    if (front.begun != nullptr) {
      ReportTimes(front);
    } else if (clock_ != nullptr) {
      clock_->Drop(front.ended);
    }
    // A signal that another queue has made in place of this one comes before what it stands
    // behind.
    if (front.kind == Kind::kWait && !front.semaphore->Reached(front.value)) {
      awaited_[front.semaphore] = front.value;
    }
    issued_.pop_front();
    ++finished_;
  }
  return over != 0;
}

// The reports are there before the signals are made, as for a queue that works: the issuer reads
// signals first and then polls for reports (WorkQueue::FinishEntries).
bool CudaQueue::FailIssued(std::vector<const TimelineSemaphore*>& come) {
  const bool any = !issued_.empty();
  for (; !issued_.empty(); issued_.pop_front()) {
    const Issued& front = issued_.front();
    const bool work = front.kind == Kind::kWork;
    // A wait that does not hold, and a signal that comes too early, fail what stands before them:
    // other queues go on where they should have waited, on values that are not there.
    if (last_tag_.has_value() && (work || !front.semaphore->Reached(front.value))) {
      Report report;
      report.tag = front.tag;
      report.failed = true;
      report.device_failed = true;
      report.error = why_broken_;
      reports_.push_back(std::move(report));
    }
    if (front.kind == Kind::kSignal) {
      forced_[front.semaphore] = front.value;
      come.push_back(front.semaphore);
    }
    if (front.kind == Kind::kWait) awaited_[front.semaphore] = front.value;
    if (clock_ != nullptr) {
      clock_->Drop(front.begun);
      clock_->Drop(front.ended);
    }
    ++finished_;
  }
  // The stream may go on, and write what it was to write before. Who listens may have looked since.
  for (const auto& [semaphore, value] : forced_) {
    if (Force(*semaphore, value)) come.push_back(semaphore);
  }
  return any;
}

CUresult CudaQueue::StreamState() const {
  const CUresult current = device_.gpu()->MakeCurrent();
  return current == CUDA_SUCCESS ? device_.gpu()->driver().cuStreamQuery(stream_) : current;
}

// Asking the driver takes far longer than reading a word, and a GPU seldom fails: so it is asked
// only after looks in vain, every so many of them.
bool CudaQueue::FindsFailure() {
  if (++looks_ % kLooksPerQuery != 0) return false;
  const CUresult state = StreamState();
  if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) BreakBy(state);
  LookAtCollectives(issued_.size(), /*asks=*/true);
  return broken_;
}

// Listeners are notified without the lock, since a thread that wakes may poll at once.
bool CudaQueue::Poll(std::vector<Report>& reports) {
  std::vector<const TimelineSemaphore*> come;
  bool any;
  {
    std::lock_guard lock(mutex_);
    any = Forget(come);
    for (Report& report : reports_) reports.push_back(std::move(report));
    reports_.clear();
  }
  for (const TimelineSemaphore* semaphore : come) semaphore->NotifyListeners();
  ReadLog(reports);
  return any;
}

bool CudaQueue::Watch() {
  std::vector<const TimelineSemaphore*> come;
  bool pending;
  {
    std::lock_guard lock(mutex_);
    Forget(come);
    // What a broken queue's stream still signals may be less than what others wait for by now.
    pending = !issued_.empty() || (broken_ && StreamState() == CUDA_ERROR_NOT_READY);
  }
  for (const TimelineSemaphore* semaphore : come) semaphore->NotifyListeners();
  return pending;
}

// The log is a ring in pinned memory. Kernels of this stream write it, one after another: an entry,
// then a fence, then the count. So the count alone says which entries can be read, and the signal
// behind a kernel comes after both.
void CudaQueue::ReadLog(std::vector<Report>& reports) {
  const uint64_t count = std::atomic_ref<uint64_t>(log_->count).load(std::memory_order_acquire);
  if (count - failures_seen_ > log_->room) {  // what was overwritten is not known to have failed
    std::lock_guard lock(mutex_);
    Break(fmt::format("more than {} operations failed before the host could look", log_->room));
    failures_seen_ = count - log_->room;
  }
  for (; failures_seen_ != count; ++failures_seen_) {
    const Failure& failure = log_->entries[failures_seen_ % log_->room];
    const Step& step = steps_[failure.graph][failure.step];
    const uint32_t frames = device_.table(failure.graph).frames();
    Report report;
    // The step may have been issued for later frames since.
    const uint64_t later = (step.frame + frames - failure.frame) % frames;
    report.tag = {failure.graph, failure.step, step.round - later};
    report.failed = true;
    if (failure.code == kBeyondBound) {
      report.beyond = &step.dims[static_cast<size_t>(failure.numbers[0])];
      report.extent = failure.numbers[1];
    } else {
      report.error = step.prepared->kernel->ErrorText(failure);
    }
    reports.push_back(std::move(report));
  }
}

std::optional<device::Head> CudaQueue::Head() {
  std::lock_guard lock(mutex_);
  const auto passed = [](const Issued& issued) {  // a signal is never what is waited for
    return issued.kind == Kind::kSignal ||
           (issued.kind == Kind::kWait && issued.semaphore->Reached(issued.value));
  };
  const auto first = std::find_if_not(issued_.begin(), issued_.end(), passed);
  if (first == issued_.end()) return std::nullopt;
  const bool runs = first->kind == Kind::kWork && first->communicator == nullptr;
  device::Head head{first->tag, runs, finished_, issued_.size(), first->tag.step};
  for (auto at = first; at != issued_.end() && at->kind != Kind::kSignal; ++at) {
    if (at->kind == Kind::kWait && !passed(*at)) break;  // it is not over before
    if (at->kind != Kind::kWork) continue;
    head.last_step =
        at->graph == nullptr ? at->tag.step : at->graph->launches().back().operation.tag.step;
  }
  return head;
}

}  // namespace cgraph::cuda

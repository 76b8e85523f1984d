#include "runtime/device/cuda/device/cuda_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/device/operations.h"

namespace cgraph::cuda {

using device::DynamicDim;
using device::Report;
using device::Tag;

namespace {

View ViewOf(const device::Operation& operation, const device::Tensor& tensor) {
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

}  // namespace

Result<std::unique_ptr<CudaQueue>> CudaQueue::Open(LogicalGpu& gpu, const DevicePoison& poison,
                                                   QueueWatcher& watcher,
                                                   const device::QueueOptions& options) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(gpu, poison, watcher));
  const Driver& driver = gpu.driver();
  CGRAPH_RETURN_IF_ERROR(gpu.Check(gpu.gpu()->MakeCurrent(), "opening a queue"));
  auto scratch = AllocateOnGpu(gpu.gpu(), options.scratch, device::MemoryKind::plain,
                               "a queue's scratch");
  if (!scratch.ok()) return scratch.status();
  queue->scratch_ = std::move(*scratch);
  CGRAPH_RETURN_IF_ERROR(queue->log_.Open(gpu.gpu()));
  CGRAPH_RETURN_IF_ERROR(gpu.Check(
      driver.cuStreamCreateWithPriority(&queue->stream_, CU_STREAM_NON_BLOCKING, 0),
      "opening a queue"));
  CGRAPH_RETURN_IF_ERROR(queue->pending_.Begin(queue->stream_, options));
  watcher.Add(&queue->pending_);
  return queue;
}

bool CudaQueue::Close() {
  if (stream_ == nullptr) return true;
  watcher_.Remove(&pending_);  // from here on the watcher does not come to it
  AbortCollectives();
  const CUstream stream = std::exchange(stream_, nullptr);
  if (!pending_.End()) {
    gpu_.driver().Abandon();
    return false;
  }
  gpu_.driver().cuStreamDestroy(stream);
  return true;
}

// ---- issuing ------------------------------------------------------------------------------------

// An operation whose flag is set already is not issued: nothing of it is left to do. Signals and
// waits are operations of their own, so no other queue misses it.
bool CudaQueue::IsToBeIssued(const device::Operation& operation) {
  if (recording_ != nullptr) return true;
  const uint32_t own = operation.predicate.own;
  if (own != device::kNoFlag && operation.bindings->Poisoned(own)) return false;
  const CUresult current = gpu_.gpu()->MakeCurrent();
  Check(current, operation, "reaching the context");
  return current == CUDA_SUCCESS;
}

bool CudaQueue::BeginWork(const device::Operation& operation, NcclCommunicator* communicator) {
  return recording_ != nullptr || pending_.BeginWork(operation, communicator);
}

void CudaQueue::EndWork() {
  if (recording_ == nullptr) pending_.EndWork();
}

Guard CudaQueue::GuardOf(const device::Operation& operation, const Prepared* prepared) {
  if (operation.predicate.own == device::kNoFlag) return {};
  Guard guard = poison_.GuardOf(operation);
  guard.log = log_.log();
  guard.step = operation.tag.step;
  // The log names a failure by graph and step alone, so QueueLog remembers the rest. A recorded
  // launch has a round only when it is replayed.
  if (guard.looks && recording_ == nullptr) {
    log_.SetStep(operation, operation.tag.round, prepared);
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
      Check(poison_.Pass(stream_, guard), operation, "checking extents");
      guard.bound_count = 0;
    }
    guard.bounds[guard.bound_count++] = {where, dim.bound, i};
  }
  return guard;
}

// The work is remembered before it is appended: a report names it while the driver, or code of
// others, takes long over that; and a queue that breaks meanwhile fails it.
void CudaQueue::Launch(const device::Launch& launch) {
  if (!IsToBeIssued(launch)) return;
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
    recording_->Add(launch, &prepared);  // Replay() passes poison on, each time
  } else {
    poison_.PassPoisonOn(launch);
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
  const Driver& driver = gpu_.driver();
  const device::Tensor& to = launch.operands[launch.inputs];
  auto staging = AllocatePinned(gpu_.gpu(), to.bytes(), device::MemoryKind::pinned,
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
// the host decides, by flags that it sees (DevicePoison::PassPoisonOn); the issuer has waited for
// the queue where only the GPU knows (load/poison/native_calls.h).
void CudaQueue::CallCode(const device::Launch& launch, device::QueueCode& code) {
  if (recording_ != nullptr) return recording_->Refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const device::Bindings& bindings = *launch.bindings;
  if (device::AnyPoisoned(launch.predicate.checks, bindings)) {
    return Check(poison_.SetFlag(stream_, launch), launch, "passing errors on");
  }
  tensors_.assign(launch.operands, launch.operands + launch.inputs + launch.outputs);
  const auto first = static_cast<uint32_t>(launch.operands - bindings.tensors);
  for (const DynamicDim& dim : launch.dims) {
    tensors_[dim.tensor - first].dims[dim.dim] = bindings.given[dim.symbol];
  }
  const std::span<const device::Tensor> inputs(tensors_.data(), launch.inputs);
  const std::span<const device::Tensor> outputs(tensors_.data() + launch.inputs, launch.outputs);
  const Gpu& gpu = *gpu_.gpu();
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
  if (!IsToBeIssued(copy)) return;
  const device::Tensor& whole = copy.fills ? *copy.to : *copy.from;
  const View sized = ViewOf(copy, whole);
  if (copy.describes) {  // now, since the host reads them when it issues what follows
    for (int d = 0; d < sized.rank; ++d) copy.to->dims[d] = sized.dims[d].number;
  }
  if (!BeginWork(copy)) return;
  const Guard guard = GuardOf(copy, nullptr);
  // 0: the guard alone is looked at.
  const auto width = copy.moves ? static_cast<uint32_t>(plan::DTypeBytes(whole.dtype)) : 0;
  Check(poison_.Copy(stream_, guard, copy.to->data, copy.from->data, sized, width), copy,
        "copying");
  EndWork();
}

void CudaQueue::Store(const device::Store& store) {
  if (!IsToBeIssued(store)) return;
  if (!pending_.Remember({Kind::kWork, store.tag, nullptr, 0})) return;
  const Driver& driver = gpu_.driver();
  Check(driver.cuStreamWriteValue64(stream_, AddressOf(store.to->data),
                                    static_cast<cuuint64_t>(store.number), 0),
        store, "storing a number");
}

void CudaQueue::Poison(const device::Operation& operation) {
  if (!IsToBeIssued(operation)) return;
  if (!pending_.Remember({Kind::kWork, operation.tag, nullptr, 0})) return;
  Check(poison_.SetFlag(stream_, operation), operation, "passing errors on");
}

// The queues of a GPU communicate by themselves (DeviceTraits::queues_communicate).
void CudaQueue::Communicate(const device::Communicate& communicate) {
  pending_.Fail(communicate.tag, CUDA_SUCCESS,
                "a GPU's queue takes no communication that the host drives");
}

void CudaQueue::Wait(const TimelineSemaphore* semaphore, uint64_t value, const Tag& tag) {
  if (semaphore->Reached(value)) return;  // what it stands for is over already
  CUresult result = gpu_.gpu()->MakeCurrent();
  if (!pending_.Remember({Kind::kWait, tag, semaphore, value})) return;
  if (result == CUDA_SUCCESS) {
    result = gpu_.driver().cuStreamWaitValue64(stream_, AddressOf(semaphore->word()), value,
                                               CU_STREAM_WAIT_VALUE_GEQ);
  }
  if (result == CUDA_SUCCESS) return EndWork();
  pending_.Break(gpu_.FailureText(result));
}

void CudaQueue::Signal(TimelineSemaphore* semaphore, uint64_t value) {
  if (pending_.Remember({Kind::kSignal, {}, semaphore, value})) {
    CUresult result = gpu_.gpu()->MakeCurrent();
    if (result == CUDA_SUCCESS) {
      result =
          gpu_.driver().cuStreamWriteValue64(stream_, AddressOf(semaphore->word()), value, 0);
    }
    if (result != CUDA_SUCCESS) pending_.Break(gpu_.FailureText(result));
  }
  // The watcher sleeps while nothing is pending. From here on a thread may sleep until this signal
  // comes, and the GPU wakes none.
  watcher_.Wake();
}

// ---- collectives --------------------------------------------------------------------------------

bool CudaQueue::Looks(const device::Operation& operation) const {
  if (operation.predicate.own == device::kNoFlag) return false;
  return poison_.GuardOf(operation).looks;
}

// Every member takes part, whether or not its values are poisoned: the others wait for it. The
// flags of the results can be set before, as far as the flags of the members are known by now;
// those of members of other machines come with the collective.
void CudaQueue::EndCollectives() {
  if (collects_.empty()) return;
  const CUresult current = gpu_.gpu()->MakeCurrent();
  bool issues = true;
  for (size_t i = 0; i < collects_.size(); ++i) {
    const device::Collect& collect = collects_[i];
    auto* communicator = static_cast<NcclCommunicator*>(collect.communicator);
    // The group is one operation of the stream: its last entry has the times of all.
    if (i + 1 == collects_.size()) {
      issues = BeginWork(collect, communicator);
    } else {
      issues = pending_.Remember(
          {Kind::kWork, collect.tag, nullptr, 0, nullptr, nullptr, communicator});
    }
    if (!issues) continue;
    if (collect.tells_flags) Check(poison_.Show(stream_, collect), collect, "passing errors on");
    const Guard guard = GuardOf(collect, nullptr);
    if (guard.looks) Check(poison_.Pass(stream_, guard), collect, "passing errors on");
  }
  Status issued = gpu_.Check(current, "reaching the context");
  if (issues && issued.ok()) issued = NcclCommunicator::Issue(stream_, collects_);
  for (const device::Collect& collect : collects_) {
    if (!issues || !issued.ok() || !collect.tells_flags) continue;
    Check(poison_.Take(stream_, collect), collect, "passing errors on");
  }
  EndWork();
  pending_.EndCollectives(issued, collects_);
  collects_.clear();
}

// ---- recording ----------------------------------------------------------------------------------

// Thread-local: other threads of the process, such as the program's, may go on with calls that a
// capture in progress would otherwise forbid them.
void CudaQueue::BeginRecording() {
  recording_ = std::make_unique<CudaGraph>(gpu_.gpu());
  recording_->Refuse(gpu_.gpu()->MakeCurrent());
  recording_->Refuse(gpu_.driver().cuStreamBeginCapture(
      stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

Result<std::unique_ptr<device::Recording>> CudaQueue::EndRecording() {
  std::unique_ptr<CudaGraph> made = std::move(recording_);
  CGRAPH_RETURN_IF_ERROR(made->End(stream_));
  return std::unique_ptr<device::Recording>(std::move(made));
}

void CudaQueue::Replay(device::Recording& recording, const Tag& tag) {
  auto& graph = static_cast<CudaGraph&>(recording);
  const CUresult current = gpu_.gpu()->MakeCurrent();
  device::Operation first = graph.launches().front().operation;
  first.tag = tag;
  if (!pending_.BeginWork(first, nullptr, &graph)) return;
  for (const CudaGraph::Launched& launch : graph.launches()) {
    log_.SetStep(launch.operation, tag.round, launch.prepared);
    poison_.PassPoisonOn(launch.operation);
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
  Fail(operation, gpu_.ErrorText(result, what));
}

void CudaQueue::Fail(const device::Operation& operation, std::string error) {
  pending_.Fail(operation.tag, poison_.SetFlag(stream_, operation), std::move(error));
}

bool CudaQueue::Poll(std::vector<Report>& reports) {
  const bool any = pending_.Poll(reports);
  if (!log_.Read(reports)) {
    pending_.Break(fmt::format("more than {} operations failed before the host could look",
                               log_.log()->room));
  }
  return any;
}

}  // namespace cgraph::cuda

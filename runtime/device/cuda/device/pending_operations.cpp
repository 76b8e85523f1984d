#include "runtime/device/cuda/device/pending_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>

namespace cgraph::cuda {

using device::Report;

namespace {

// How often a stream is looked at in vain before the driver is asked whether the GPU has failed.
constexpr uint32_t kLooksPerQuery = 64;
// How often it is looked whether a stream that ends is over.
constexpr auto kLookEvery = std::chrono::microseconds(20);

// Signals in place of a stream that does not any more. Returns whether the value was not reached
// before. A read-modify-write: the stream, the watcher and the thread that closes may signal the
// same word at once, and a lower value must not replace a higher one.
bool Force(const TimelineSemaphore& semaphore, uint64_t value) {
  auto* word = const_cast<std::atomic<uint64_t>*>(semaphore.word());
  uint64_t now = word->load();
  while (now < value) {
    if (word->compare_exchange_weak(now, value)) return true;
  }
  return false;
}

}  // namespace

Status PendingOperations::Begin(CUstream stream, const device::QueueOptions& options) {
  stream_ = stream;
  stall_timeout_ = options.stall_timeout;
  if (!options.measured) return Status::Ok();
  clock_ = std::make_unique<StreamClock>(*gpu_.gpu());
  auto anchor = gpu_.gpu()->Anchor(stream_);
  if (!anchor.ok()) return anchor.status();
  return clock_->Start(stream_, **anchor);
}

// ---- issuing ------------------------------------------------------------------------------------

// A broken stream remembers, too, and nothing is appended to it: FailIssued() then reports the
// operation and makes the signal, so that executions in progress end.
bool PendingOperations::Remember(Issued issued) {
  std::lock_guard lock(mutex_);
  if (issued.kind != Kind::kSignal) last_tag_ = issued.tag;
  issued_.push_back(issued);
  if (last_tag_.has_value()) issued_.back().tag = *last_tag_;
  if (clock_ != nullptr && issued.kind == Kind::kWait) {
    issued_.back().begun = clock_->Record(stream_);
  }
  return !broken_;
}

bool PendingOperations::BeginWork(const device::Operation& operation,
                                  NcclCommunicator* communicator, const CudaGraph* graph) {
  std::lock_guard lock(mutex_);
  last_tag_ = operation.tag;
  issued_.push_back({Kind::kWork, operation.tag, nullptr, 0,
                     clock_ != nullptr ? clock_->Record(stream_) : nullptr, nullptr, communicator,
                     graph});
  return !broken_;
}

void PendingOperations::EndWork() {
  if (clock_ == nullptr) return;
  std::lock_guard lock(mutex_);
  if (!issued_.empty()) issued_.back().ended = clock_->Record(stream_);
}

void PendingOperations::Fail(const device::Tag& tag, CUresult set, std::string error) {
  std::lock_guard lock(mutex_);
  if (set != CUDA_SUCCESS) BreakLocked(gpu_.FailureText(set));
  Report report;
  report.tag = tag;
  report.failed = true;
  // The GPU as a whole is the cause, though it shows here as the refusal of one call.
  report.device_failed = broken_;
  report.error = broken_ ? why_broken_ : std::move(error);
  reports_.push_back(std::move(report));
}

void PendingOperations::Break(std::string why) {
  std::lock_guard lock(mutex_);
  BreakLocked(std::move(why));
}

// The device's failure is set before any signal is made in place of the stream's: a thread that
// sees such a signal and asks Device::Failure() must not take the values for good.
void PendingOperations::BreakLocked(std::string why) {
  if (broken_) return;
  broken_ = true;
  why_broken_ = std::move(why);
  gpu_.SetFailure(why_broken_);
  AbortIssued(why_broken_);
}

// NCCL fails where the GPU has failed, too, and says less about it than the driver does. Where a
// communicator was aborted, the status says why, and names whose fault that was.
void PendingOperations::EndCollectives(const Status& issued,
                                       std::span<const device::Collect> collects) {
  const auto communicator_of = [](const device::Collect& collect) {
    return static_cast<NcclCommunicator*>(collect.communicator);
  };
  std::lock_guard lock(mutex_);
  if (!issued.ok()) {
    const bool aborted = std::any_of(collects.begin(), collects.end(), [&](const auto& collect) {
      return communicator_of(collect)->aborted();
    });
    const CUresult state = aborted ? CUDA_SUCCESS : StreamState();
    if (aborted) {
      BreakLocked(issued.message());
    } else if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) {
      BreakLocked(gpu_.FailureText(state));
    } else {
      BreakLocked(fmt::format("{}: {}", gpu_.name(), issued.message()));
    }
  }
  // The stream may have broken since BeginWork(), while NCCL was called without the lock. What was
  // remembered of them may be forgotten already: the watcher looks at broken streams, too.
  for (const device::Collect& collect : collects) {
    if (broken_) communicator_of(collect)->Abort(why_broken_);
  }
}

// ---- hearing ------------------------------------------------------------------------------------

bool PendingOperations::Forget(std::vector<const TimelineSemaphore*>& come) {
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

size_t PendingOperations::CountOver() const {
  size_t over = 0;
  for (size_t i = 0; i < issued_.size(); ++i) {
    if (issued_[i].kind != Kind::kSignal) continue;
    if (!issued_[i].semaphore->Reached(issued_[i].value)) break;
    over = i + 1;
  }
  return over;
}

bool PendingOperations::ForgetOver(std::vector<const TimelineSemaphore*>& come) {
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

// The reports are there before the signals are made, as for a stream that works: the issuer reads
// signals first and then polls for reports (WorkQueue::FinishEntries).
bool PendingOperations::FailIssued(std::vector<const TimelineSemaphore*>& come) {
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
  // The stream may go on, and write the lower value that it was to write. A listener may have
  // looked since.
  for (const auto& [semaphore, value] : forced_) {
    if (Force(*semaphore, value)) come.push_back(semaphore);
  }
  return any;
}

void PendingOperations::ReportTimes(const Issued& work) {
  // The watcher's thread has no context.
  if (gpu_.gpu()->MakeCurrent() != CUDA_SUCCESS) return;
  Report report;
  report.tag = work.tag;
  report.waited = work.kind == Kind::kWait;
  report.begun_ns = clock_->Take(work.begun);
  report.ended_ns = clock_->Take(work.ended);
  reports_.push_back(std::move(report));
}

CUresult PendingOperations::StreamState() const {
  const CUresult current = gpu_.gpu()->MakeCurrent();
  return current == CUDA_SUCCESS ? gpu_.driver().cuStreamQuery(stream_) : current;
}

// Asking the driver takes far longer than reading a word, and a GPU seldom fails: so it is asked
// only after looks in vain, every so many of them.
bool PendingOperations::FindsFailure() {
  if (++looks_ % kLooksPerQuery != 0) return false;
  const CUresult state = StreamState();
  if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) BreakLocked(gpu_.FailureText(state));
  LookAtCollectives(issued_.size(), /*asks=*/true);
  return broken_;
}

void PendingOperations::LookAtCollectives(size_t count, bool asks) {
  std::set<const NcclCommunicator*> asked;
  for (size_t i = 0; i < count && !broken_; ++i) {
    NcclCommunicator* communicator = issued_[i].communicator;
    if (communicator == nullptr) continue;
    const bool first = asks && asked.insert(communicator).second;
    const Status state = first ? communicator->Look() : Status::Ok();
    if (!state.ok()) communicator->Abort(state.message());
    if (communicator->aborted()) BreakLocked(communicator->why_aborted());
  }
}

// Listeners are notified without the lock, since a thread that wakes may poll at once.
bool PendingOperations::Poll(std::vector<Report>& reports) {
  std::vector<const TimelineSemaphore*> come;
  bool any;
  {
    std::lock_guard lock(mutex_);
    any = Forget(come);
    for (Report& report : reports_) reports.push_back(std::move(report));
    reports_.clear();
  }
  for (const TimelineSemaphore* semaphore : come) semaphore->NotifyListeners();
  return any;
}

bool PendingOperations::Watch() {
  std::vector<const TimelineSemaphore*> come;
  bool pending;
  {
    std::lock_guard lock(mutex_);
    Forget(come);
    // What a broken stream still signals may be less than what others wait for by now.
    pending = !issued_.empty() || (broken_ && StreamState() == CUDA_ERROR_NOT_READY);
  }
  for (const TimelineSemaphore* semaphore : come) semaphore->NotifyListeners();
  return pending;
}

std::optional<device::Head> PendingOperations::Head() {
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

// ---- ending -------------------------------------------------------------------------------------

void PendingOperations::AbortIssued(const std::string& why) {
  for (const Issued& issued : issued_) {
    if (issued.communicator != nullptr) issued.communicator->Abort(why);
  }
}

void PendingOperations::AbortCollectives() {
  std::lock_guard lock(mutex_);
  std::vector<const TimelineSemaphore*> come;
  Forget(come);
  AbortIssued("the engine was torn down");
}

bool PendingOperations::End() {
  {
    std::lock_guard lock(mutex_);
    for (const Issued& issued : issued_) {
      if (issued.kind == Kind::kWait) awaited_[issued.semaphore] = issued.value;
    }
  }
  gpu_.gpu()->MakeCurrent();
  const bool over = AwaitEnd();
  if (!over) static_cast<void>(clock_.release());
  clock_.reset();
  stream_ = nullptr;
  return over;
}

// No thread signals any more what the stream waits for, so this one does; the operations behind the
// waits then work on memory that is not read. A broken stream may still write the lower value that
// it was to signal, which takes a semaphore back. So all are signalled again and again until the
// stream is over, or the driver reports an error of it.
bool PendingOperations::AwaitEnd() {
  const Driver& driver = gpu_.driver();
  const auto begun = std::chrono::steady_clock::now();
  int unknown = 0;
  while (unknown < 2) {
    for (const auto& [semaphore, value] : awaited_) Force(*semaphore, value);
    const CUresult state = driver.cuStreamQuery(stream_);
    if (state == CUDA_SUCCESS) return true;
    if (state != CUDA_ERROR_NOT_READY) ++unknown;
    const std::chrono::nanoseconds most = driver.StallTimeout(stall_timeout_);
    if (most.count() != 0 && std::chrono::steady_clock::now() - begun > most) return false;
    std::this_thread::sleep_for(kLookEvery);
  }
  return true;
}

}  // namespace cgraph::cuda

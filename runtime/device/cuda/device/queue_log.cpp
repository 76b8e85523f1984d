#include "runtime/device/cuda/device/queue_log.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace cgraph::cuda {
namespace {

// Room of a queue's log: 3 MB. Greater graphs can fail in more places at once, but do not.
constexpr uint64_t kMostFailures = 1 << 16;

}  // namespace

Status QueueLog::Open(const std::shared_ptr<Gpu>& gpu) {
  const uint64_t room = std::clamp<uint64_t>(poison_.most_failures(), 1, kMostFailures);
  auto memory = AllocatePinned(gpu, sizeof(FailureLog) + room * sizeof(Failure),
                               device::MemoryKind::pinned, "a queue's log");
  if (!memory.ok()) return memory.status();
  memory_ = std::move(*memory);
  auto* entries = new (memory_.data() + sizeof(FailureLog)) Failure[room];
  log_ = new (memory_.data()) FailureLog{0, room, entries};
  steps_.resize(poison_.graphs());
  for (uint32_t graph = 0; graph < poison_.graphs(); ++graph) {
    steps_[graph].resize(poison_.table(graph).steps());
  }
  return Status::Ok();
}

// The log is a ring in pinned memory. Kernels of this stream write it, one after another: an entry,
// then a fence, then the count. So the count alone says which entries can be read, and the signal
// behind a kernel comes after both.
bool QueueLog::Read(std::vector<device::Report>& reports) {
  const uint64_t count = std::atomic_ref<uint64_t>(log_->count).load(std::memory_order_acquire);
  const bool whole = count - seen_ <= log_->room;
  if (!whole) seen_ = count - log_->room;
  for (; seen_ != count; ++seen_) {
    const Failure& failure = log_->entries[seen_ % log_->room];
    const Step& step = steps_[failure.graph][failure.step];
    const uint32_t frames = poison_.table(failure.graph).frames();
    device::Report report;
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
  return whole;
}

}  // namespace cgraph::cuda

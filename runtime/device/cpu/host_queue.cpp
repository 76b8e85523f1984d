#include "runtime/device/cpu/host_queue.h"

#include <chrono>
#include <string>

#include "runtime/device/kernel.h"
#include "runtime/device/operations.h"

namespace cgraph::device {
namespace {

uint64_t SteadyNow() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

void HostQueue::Append(Item item) {
  {
    std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
  }
  Appended();
}

void HostQueue::Launch(const device::Launch& launch) {
  if (recorded_ == nullptr) return Append(launch);
  recorded_->launches.push_back(launch);
}

// The launches run one by one: the recorder of a host is there for tests of captures.
void HostQueue::Replay(Recording& recording, const Tag& tag) {
  for (device::Launch launch : static_cast<Recorded&>(recording).launches) {
    launch.tag.round = tag.round;
    Append(launch);
  }
}

// A report is added while the operation runs, before it is taken off the queue: so it is there
// before any signal behind it is made, as Queue::Poll promises.
HostQueue::Outcome HostQueue::RunHead() {
  Item* front;
  {
    std::lock_guard lock(mutex_);
    if (items_.empty() || running_) return Outcome::kNone;
    front = &items_.front();  // stays where it is while others are appended
    running_ = true;
    if (measured_ && begun_ns_ == 0) begun_ns_ = SteadyNow();
  }
  const bool done = std::visit([&](const auto& item) { return Run(item); }, *front);
  std::lock_guard lock(mutex_);
  running_ = false;
  if (!done) return Outcome::kBlocked;
  begun_ns_ = 0;
  ++finished_;
  items_.pop_front();
  return Outcome::kDone;
}

std::optional<device::Head> HostQueue::Head() {
  std::lock_guard lock(mutex_);
  for (const Item& item : items_) {
    if (std::holds_alternative<SignalTo>(item)) continue;  // a signal is never what is waited for
    const Tag tag = std::visit([](const auto& at) { return at.tag; }, item);
    const bool runs = running_ && std::holds_alternative<device::Launch>(item);
    return device::Head{tag, runs, finished_, items_.size(), tag.step};
  }
  return std::nullopt;
}

void HostQueue::TakeReports(std::vector<Report>& reports) {
  std::lock_guard lock(mutex_);
  for (Report& report : reports_) reports.push_back(std::move(report));
  reports_.clear();
}

void HostQueue::AddReport(Report report) {
  {
    std::lock_guard lock(mutex_);
    report.begun_ns = begun_ns_;
    report.ended_ns = measured_ ? SteadyNow() : 0;
    reports_.push_back(std::move(report));
  }
  if (on_report_ != nullptr) on_report_->Notify();
}

void HostQueue::Fail(const Operation& operation, Report report) {
  operation.bindings->Poison(operation.predicate.own);
  report.tag = operation.tag;
  report.failed = true;
  AddReport(std::move(report));
}

bool HostQueue::Begins(const Operation& operation) {
  if (Skipped(operation.predicate, *operation.bindings)) return false;
  const DynamicDim* beyond = FillDims(operation.dims, *operation.bindings);
  if (beyond == nullptr) return true;
  Report report;
  report.beyond = beyond;
  report.extent = ExtentOf(*beyond, *operation.bindings);
  Fail(operation, std::move(report));
  return false;
}

bool HostQueue::Run(const device::Launch& launch) {
  if (!Begins(launch)) return true;
  Report report;
  const Tensor* outputs = launch.operands + launch.inputs;
  if (!static_cast<Kernel*>(launch.executable)
           ->Run({launch.operands, launch.inputs}, {outputs, launch.outputs}, scratch_.data(),
                 report.error)) {
    Fail(launch, std::move(report));
  } else if (measured_) {
    report.tag = launch.tag;
    AddReport(std::move(report));
  }
  return true;
}

bool HostQueue::Run(const device::Copy& copy) {
  if (!Begins(copy)) return true;
  RunCopy(copy);
  if (measured_) AddReport({copy.tag});
  return true;
}

bool HostQueue::Run(const device::Store& store) {
  if (Begins(store)) *store.to->as<int64_t>() = store.number;
  return true;
}

// The group looks at poison and dims itself. It keeps what it has done, so a blocked one goes on
// where it was.
bool HostQueue::Run(const device::Communicate& communicate) {
  std::string error;
  const auto progress = communicate.group->Advance(communicate.tag.round, error);
  if (progress == Communication::Progress::kPending) return false;
  const bool failed = progress == Communication::Progress::kFailed;
  if (failed || measured_) AddReport({communicate.tag, failed, std::move(error)});
  return true;
}

}  // namespace cgraph::device

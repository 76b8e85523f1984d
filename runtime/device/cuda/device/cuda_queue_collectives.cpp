// The collectives of a queue, which NCCL carries out.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include <fmt/format.h>

#include "runtime/device/cuda/device/cuda_device.h"
#include "runtime/device/cuda/device/cuda_queue.h"

namespace cgraph::cuda {

bool CudaQueue::Looks(const device::Operation& operation) const {
  if (operation.predicate.own == device::kNoFlag) return false;
  return device_.table(operation.bindings->graph)
      .GuardOf(*operation.bindings, operation.predicate)
      .looks;
}

// Every member takes part, whether or not its values are poisoned: the others wait for it. The
// flags of the results can be set before, as far as the flags of the members are known by now;
// those of members of other machines come with the collective.
void CudaQueue::EndCollectives() {
  if (collects_.empty()) return;
  const CUresult current = device_.gpu()->MakeCurrent();
  bool issues = true;
  for (size_t i = 0; i < collects_.size(); ++i) {
    const device::Collect& collect = collects_[i];
    auto* communicator = static_cast<NcclCommunicator*>(collect.communicator);
    // The group is one operation of the stream: its last entry has the times of all.
    if (i + 1 == collects_.size()) {
      issues = BeginWork(collect, communicator);
    } else {
      issues = Remember({Kind::kWork, collect.tag, nullptr, 0, nullptr, nullptr, communicator});
    }
    if (!issues) continue;
    if (collect.tells_flags) ShowFlags(collect);
    const Guard guard = GuardOf(collect, nullptr);
    if (guard.looks) Check(device_.PassPoison(stream_, guard), collect, "passing errors on");
  }
  Status issued = device_.Check(current, "reaching the context");
  if (issues && issued.ok()) issued = NcclCommunicator::Issue(stream_, collects_);
  for (const device::Collect& collect : collects_) {
    if (issues && issued.ok() && collect.tells_flags) TakeFlags(collect);
  }
  EndWork();
  std::lock_guard lock(mutex_);
  if (!issued.ok()) BreakByCollective(issued);
  // The queue may have broken since BeginWork(), while NCCL was called without the lock. What was
  // remembered of them may be forgotten already: the watcher looks at broken queues, too.
  for (const device::Collect& collect : collects_) {
    if (broken_) static_cast<NcclCommunicator*>(collect.communicator)->Abort(why_broken_);
  }
  collects_.clear();
}

// NCCL fails where the GPU has failed, too, and says less about it than the driver does. Where a
// communicator was aborted, the status says why, and names whose fault that was.
void CudaQueue::BreakByCollective(const Status& issued) {
  for (const device::Collect& collect : collects_) {
    if (static_cast<const NcclCommunicator*>(collect.communicator)->aborted()) {
      return Break(issued.message());
    }
  }
  const CUresult state = StreamState();
  if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) return BreakBy(state);
  Break(fmt::format("{}: {}", device_.name(), issued.message()));
}

void CudaQueue::ShowFlags(const device::Collect& collect) {
  const Guard guard = device_.table(collect.bindings->graph)
                          .GuardOf(*collect.bindings, {collect.checks, device::kNoFlag});
  Check(device_.ShowPoison(stream_, guard, collect.to), collect, "passing errors on");
}

// What another member has shown is known behind the collective.
void CudaQueue::TakeFlags(const device::Collect& collect) {
  const uint32_t own = collect.predicate.own;
  const PoisonTable& table = device_.table(collect.bindings->graph);
  if (own == device::kNoFlag || !table.MayFail(own)) return;
  const Guard guard = table.GuardOf(*collect.bindings, {{}, own});
  Check(device_.TakePoison(stream_, guard, collect.to), collect, "passing errors on");
}

void CudaQueue::AbortIssued(const std::string& why) {
  for (const Issued& issued : issued_) {
    if (issued.communicator != nullptr) issued.communicator->Abort(why);
  }
}

void CudaQueue::LookAtCollectives(size_t count, bool asks) {
  std::set<const NcclCommunicator*> asked;
  for (size_t i = 0; i < count && !broken_; ++i) {
    NcclCommunicator* communicator = issued_[i].communicator;
    if (communicator == nullptr) continue;
    const bool first = asks && asked.insert(communicator).second;
    const Status state = first ? communicator->Look() : Status::Ok();
    if (!state.ok()) communicator->Abort(state.message());
    if (communicator->aborted()) Break(communicator->why_aborted());
  }
}

}  // namespace cgraph::cuda
